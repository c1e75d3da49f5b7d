/** A line of the worker's log in a terminal: words, and nothing that moves the cursor. */
import { expect, test } from '@jest/globals';
import { maskedLogLine, plainLogLine } from '../../src/worker/log-line.js';

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

const mask = (text: string): string => text.replaceAll('hunter22', '[redacted]');
test.each([
  ['a message', { msg: 'password hunter22' }, { msg: 'password [redacted]' }],
  ['a stack', { err: { stack: 'Error: hunter22' } }, { err: { stack: 'Error: [redacted]' } }],
  ['a list', { files: ['hunter22', 1] }, { files: ['[redacted]', 1] }],
  ['nothing', { msg: 'ready', pid: 7 }, { msg: 'ready', pid: 7 }],
])('secrets are masked in %s, and the line stays JSON', (_, entry, expected) => {
  const line = maskedLogLine(`${JSON.stringify(entry)}\n`, mask);
  expect(line.endsWith('\n')).toBe(true);
  expect(JSON.parse(line)).toEqual(expected);
});

test('a masked number leaves its line JSON', () => {
  const numbers = (text: string): string => text.replaceAll('123456', '[redacted]');
  const line = maskedLogLine('{"pid":123456,"msg":"of 123456"}\n', numbers);
  expect(JSON.parse(line)).toEqual({ pid: 123456, msg: 'of [redacted]' });
});
