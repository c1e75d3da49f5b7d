/** A line of the worker's log in a terminal: words, and nothing that moves the cursor. */
import { expect, test } from '@jest/globals';
import { plainLogLine } from '../../src/worker/log-line.js';

const COMMON = { time: Date.UTC(2026, 0, 2, 3, 4, 5), pid: 7, hostname: 'h', name: 'emend-worker' };
const lineOf = (entry: object): string =>
  plainLogLine(`${JSON.stringify({ ...COMMON, ...entry })}\n`);

test.each([
  [{ level: 30, msg: 'worker ready' }, '03:04:05 UTC  info  worker ready\n'],
  [
    { level: 40, workspace: '/w', holder: 'ab', msg: 'took over a lock' },
    '03:04:05 UTC  warning  took over a lock: workspace /w, holder ab\n',
  ],
  [
    {
      level: 50,
      err: { type: 'Error', message: 'no\nspace', stack: 'Error: at x' },
      msg: 'failed',
    },
    '03:04:05 UTC  error  failed: err no space\n',
  ],
  [
    { level: 30, queues: { workflow: 'emend', host: 'emend-h' }, roles: ['a', 'b'], msg: 'ready' },
    '03:04:05 UTC  info  ready: roles a b\n',
  ],
  [
    { level: 40, path: '/w/\u001b[2J', msg: 'odd' },
    '03:04:05 UTC  warning  odd: path /w/\\x1b[2J\n',
  ],
])('%j', (entry, expected) => {
  expect(lineOf(entry)).toBe(expected);
});

test('a line that is no JSON stays as it is', () => {
  expect(plainLogLine('plain words\n')).toBe('plain words\n');
});
