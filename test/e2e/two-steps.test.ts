/**
 * Two steps on one workspace, each with tests that fail when they see the other's file changed but not committed: one waits for the other,
 * both end right, in both orders; with two workers of one home, and with two homes that know nothing of each other.
 */
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, test } from '@jest/globals';
import { sampled } from '../support/seeded.js';
import { testIf } from '../support/skipped.js';
import { eventually, lockOf, pidsIn } from './ends.js';
import { scene, whole, type Scene } from './support.js';

const open = new Set<Scene>();
afterEach(async () => {
  await Promise.all([...open].map((s) => s.close()));
  open.clear();
});
const opened = async (repo?: string): Promise<Scene> => {
  const files = { 'a.js': 'module.exports = 1;\n', 'b.js': 'module.exports = 1;\n' };
  const rules = ['a', 'b'].map((x) => ({
    name: x,
    match: { contains: `- ${x}.js` },
    answer: whole({ [`${x}.js`]: 'module.exports = 2;\n' }),
  }));
  // Nobody dies here: a busy machine must not look like a dead worker.
  const env = {
    EMEND_HOSTHEARTBEATTIMEOUT_MS: '30000',
    EMEND_COMMANDHEARTBEATTIMEOUT_MS: '30000',
    EMEND_HEARTBEATTIMEOUT_MS: '30000',
  };
  const s = await scene(files, rules, { env, ...(repo === undefined ? {} : { repo }) });
  open.add(s);
  return s;
};
type Step = 'a' | 'b';

const ORDERS: readonly [string, Step, Step][] = [
  ['one', 'a', 'b'],
  ['one', 'b', 'a'],
  ['two', 'a', 'b'],
  ['two', 'b', 'a'],
];
test.each(sampled('orders', ORDERS, 1, ORDERS.slice(2, 3)))(
  '%s home(s), %s before %s',
  async (homes, first, second) => {
    const s = await opened();
    const t = homes === 'one' ? s : await opened(s.repo);
    await Promise.all([s.worker(), t.worker()]);
    const note = join(s.home, '..', 'ran');
    const job = (x: Step): string => {
      const alone = `git diff --quiet HEAD -- ${x === 'a' ? 'b' : 'a'}.js`;
      // The first one's tests hold the workspace until the second has met it; they note it beside the workspace.
      const command = `${alone} && echo $$ >> '${note}' && while [ ! -e '${note}-go' ]; do sleep 0.1; done && ${alone}`;
      const keys = [
        `target_files: [${x}.js]`,
        `test: ${JSON.stringify(command)}`,
        'commit: true',
        'approval: auto',
        'sandbox: off',
        'baseline: off',
      ];
      return ['---', ...keys, '---', '# Two', '', 'Two, please.', ''].join('\n');
    };
    const one = await s.start(`${first}.md`, job(first));
    await s.until(() => existsSync(note), 120);
    const two = await t.start(`${second}.md`, job(second));
    await eventually(
      'the second to wait for the first',
      async () => (await t.events(two)).some(({ type }) => type === 'apply_busy'),
      120,
    );
    expect(s.read(`${second}.js`)).toBe('module.exports = 1;\n');
    writeFileSync(`${note}-go`, '');
    expect(await s.end(one, 180)).toMatchObject({
      outcome: 'committed',
      verification: 'pass',
      files: [`${first}.js`],
    });
    expect(await t.end(two, 180)).toMatchObject({
      outcome: 'committed',
      verification: 'pass',
      files: [`${second}.js`],
    });
    expect(s.read('a.js') + s.read('b.js')).toBe('module.exports = 2;\nmodule.exports = 2;\n');
    // Each commit holds one file, in the order in which the workspace was held.
    const log = s.git('log', '--reverse', '--format=', '--name-only', '-2').trim().split(/\n+/);
    expect(log).toEqual([`${first}.js`, `${second}.js`]);
    expect(s.git('status', '--porcelain', '--ignored').trim().split('\n').sort()).toEqual([
      '?? a.md',
      '?? b.md',
    ]);
    expect(pidsIn(note)).toHaveLength(2);
    expect(await lockOf(s)).toBeNull();
    const asked = [...s.rehearsal.requests(), ...(t === s ? [] : t.rehearsal.requests())].map(
      ({ rule }) => rule,
    );
    expect(asked).toEqual([first, second]);
  },
  600_000,
);

testIf(process.env.EMEND_BWRAP !== undefined, 'there is no sandbox here').each(
  sampled('homes', ['one', 'two'], 0, ['two']),
)(
  'tested side by side before either is applied, with %s home(s): each sees only its own change, and the second is tested again on the first',
  async (homes) => {
    const s = await opened();
    const t = homes === 'one' ? s : await opened(s.repo);
    await Promise.all([s.worker(), t.worker()]);
    const job = (x: Step): string => {
      const command = `git diff --quiet HEAD -- ${x === 'a' ? 'b' : 'a'}.js && ! git diff --quiet HEAD -- ${x}.js; r=$?; touch built; exit $r`;
      const keys = [
        `target_files: [${x}.js]`,
        `test: ${JSON.stringify(command)}`,
        'commit: true',
        'baseline: off',
      ];
      return ['---', ...keys, '---', '# Two', '', 'Two, please.', ''].join('\n');
    };
    // The other job's file is part of the base, so it is there before the tests run.
    for (const x of ['a', 'b'] as const) s.write(`${x}.md`, job(x));
    const both = [
      [s, await s.start('a.md', job('a'))],
      [t, await t.start('b.md', job('b'))],
    ] as const;
    for (const [side, run] of both)
      expect((await side.settle(run, 120)).status.decision).toMatchObject({
        reason: 'approval',
        message: expect.stringContaining('tests of the proposal: pass'),
      });
    expect(await lockOf(s)).toBeNull();
    expect(s.git('status', '--porcelain', '--ignored').trim().split('\n').sort()).toEqual([
      '?? a.md',
      '?? b.md',
    ]);
    for (const [side, run] of both) {
      await side.answer(run, 'approve');
      expect(await side.end(run, 180)).toMatchObject({
        outcome: 'committed',
        verification: 'pass',
      });
    }
    const [[, first], [, second]] = both;
    expect((await s.events(first)).filter(({ type }) => type === 'verified')).toHaveLength(1);
    const events = await t.events(second);
    expect(events.flatMap((event) => (event.type === 'warning' ? [event.message] : []))).toContain(
      'files changed since the tests passed: the tests run again before the apply',
    );
    expect(events.filter(({ type }) => type === 'verified')).toHaveLength(2);
    expect(events.filter(({ type }) => ['apply_busy', 'rolled_back'].includes(type))).toEqual([]);
    expect(s.read('a.js') + s.read('b.js')).toBe('module.exports = 2;\nmodule.exports = 2;\n');
    expect(s.git('status', '--porcelain', '--ignored').trim().split('\n').sort()).toEqual([
      '?? a.md',
      '?? b.md',
    ]);
  },
  600_000,
);
