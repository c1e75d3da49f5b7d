/** With the times that people run with: a worker dies in the middle of a model call, another takes over. */
import { afterEach, expect } from '@jest/globals';
import { TIMINGS } from '../../src/shared/limits.js';
import { timingVariable } from '../../src/temporal/settings.js';
import { longOnly } from '../support/skipped.js';
import { scene, whole, type Scene } from './support.js';

let open: Scene | null = null;
afterEach(async () => {
  await open?.close();
  open = null;
});
const LIMIT_S = 300;

longOnly('minutes long: the locks and time-outs that people run with')(
  'SIGKILL in the middle of a model call, default time-outs and locks: the step ends the same, both calls accounted for',
  async () => {
    const edit = {
      match: { contains: 'a.js' },
      answer: whole({ 'a.js': 'module.exports = 2;\n' }),
    };
    const held = {
      ...edit,
      name: 'held',
      match: { ...edit.match, times: 1 },
      fault: { kind: 'hold' as const, after_bytes: 400 },
    };
    // An empty variable means the default: none of the tests' own times is left.
    const names = (Object.keys(TIMINGS) as (keyof typeof TIMINGS)[]).map(timingVariable);
    const s = (open = await scene(
      { 'a.js': 'module.exports = 1;\n' },
      [held, { ...edit, name: 'again' }],
      {
        env: Object.fromEntries(names.map((name) => [name, ''])),
      },
    ));
    expect(s.emend.timings).toEqual(
      Object.fromEntries(Object.entries(TIMINGS).map(([name, spec]) => [name, spec.default])),
    );
    const dying = await s.worker();
    const run = await s.start(
      'job.md',
      '---\ntarget_files: [a.js]\ncommit: true\napproval: auto\n---\n# Raise\n\nRaise it.\n',
    );
    await s.until(() => s.rehearsal.requests().some((request) => request.rule === 'held'));
    await dying.kill('SIGKILL');
    await s.worker();
    expect(await s.end(run, LIMIT_S)).toMatchObject({
      outcome: 'committed',
      files: ['a.js'],
      usage: { calls: 2, unknownCalls: 1 },
    });
    expect(s.rehearsal.requests().map((request) => request.rule)).toEqual(['held', 'again']);
    expect(s.read('a.js')).toBe('module.exports = 2;\n');
    expect(s.git('rev-list', '--count', 'HEAD').trim()).toBe('2');
  },
  (LIMIT_S + 60) * 1000,
);
