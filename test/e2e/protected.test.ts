/** A change to what some tool runs unasked: a person is asked under `approval: auto` and by a policy, and told why. */
import { execFileSync } from 'node:child_process';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { main } from '../../src/cli/main.js';
import { fakeIo } from '../cli/io.js';
import { scene, whole, type Scene } from './support.js';

const OBEYED = ['jobs/b.md', 'plans/release.md', 'other/review.yaml'];
const PATHS = [
  ...OBEYED,
  'tools/clean',
  'tools/build.js',
  'packages/a/conftest.py',
  'review.yaml',
  'free.js',
];
const MANY = [...Array.from({ length: 20 }, (_, n) => `a${n}.mk`), 'z.gradle'];
const job = (path: string, ...keys: readonly string[]): string =>
  ['---', `target_files: [${path}]`, ...keys, '---', '# Grow', '', 'Add a line.', ''].join('\n');

let s: Scene;
beforeAll(async () => {
  const manifest = JSON.stringify({ scripts: { build: 'node tools/build' } });
  s = await scene(
    {
      ...Object.fromEntries([...PATHS, ...MANY].map((path) => [path, 'one\n'])),
      'package.json': manifest,
    },
    [
      ...PATHS.map((path) => ({
        name: path,
        match: { contains: path },
        answer: whole({ [path]: 'one\ntwo\n' }),
      })),
    ],
  );
  await s.worker();
}, 60_000);
afterAll(() => s.close());

test('the program of a filter, which git runs outside the sandbox at the commit, asks under auto', async () => {
  const free = await s.start('before.md', job('tools/clean', 'approval: auto'));
  expect(await s.end(free)).toMatchObject({ outcome: 'applied' });
  execFileSync('git', ['config', 'filter.x.clean', 'sh ./tools/clean %f'], { cwd: s.repo });
  s.write('tools/clean', 'one\n');
  const run = await s.start('filter.md', job('tools/clean', 'approval: auto'));
  expect((await s.settle(run)).proposal?.mustAsk).toEqual([
    "protected path tools/clean: git's configuration uses it",
  ]);
  await s.answer(run, 'skip');
  expect(await s.end(run)).toMatchObject({ outcome: 'skipped' });
}, 60_000);

const BUILD = 'protected path tools/build.js: a script in package.json uses it';

test('under auto a protected path asks and says why, in terminal and report; another file does not ask', async () => {
  const free = await s.start('free.md', job('free.js', 'approval: auto'));
  expect(await s.end(free)).toMatchObject({ outcome: 'applied' });
  const run = await s.start('build.md', job('tools/build.js', 'approval: auto'));
  const { status, proposal } = await s.settle(run);
  expect(proposal?.mustAsk).toEqual([BUILD]);
  expect(status.decision).toMatchObject({
    reason: 'approval',
    message: expect.stringContaining(BUILD),
  });
  for (const command of ['show', 'report']) {
    const io = fakeIo({ env: s.env, cwd: s.repo });
    expect(await main([command, run.stepKey], io)).toBe(0);
    expect(io.printed.out).toContain(BUILD);
  }
  await s.answer(run, 'skip');
  expect(await s.end(run)).toMatchObject({ outcome: 'skipped' });
}, 120_000);

test.each(OBEYED)(
  'under auto a change to %s, which a later run obeys, asks',
  async (path) => {
    const run = await s.start(
      `${path.replaceAll('/', '-')}-change.md`,
      job(path, 'approval: auto'),
    );
    expect((await s.settle(run)).proposal?.mustAsk).toEqual([
      `protected path ${path}: Emend obeys it`,
    ]);
    expect(s.read(path)).toBe('one\n');
    await s.answer(run, 'skip');
    expect(await s.end(run)).toMatchObject({ outcome: 'skipped' });
  },
  60_000,
);

test('a policy passes the protected paths that it lists, and never a change of itself', async () => {
  const by = async (path: string, policy: string, exit: number): Promise<string> => {
    s.write('review.yaml', policy);
    s.write('job.md', job(path));
    const io = fakeIo({ env: s.env, cwd: s.repo });
    expect([
      await main(['run', 'job.md', '--policy', 'review.yaml', '--quiet'], io),
      io.printed,
    ]).toMatchObject([exit, {}]);
    return io.printed.out + io.printed.err;
  };
  const ALL = 'v: 1\npaths: ["**"]\n';
  const why = 'protected path packages/a/conftest.py: test runners, linters or bundlers run it';
  expect(await by('packages/a/conftest.py', ALL, 3)).toContain(why);
  expect(await by('packages/a/conftest.py', `${ALL}protected_paths: ["*.toml"]\n`, 3)).toContain(
    why,
  );
  await by('packages/a/conftest.py', `${ALL}protected_paths: [conftest.py]\n`, 0);
  expect(s.read('packages/a/conftest.py')).toBe('one\ntwo\n');
  expect(await by('review.yaml', ALL, 3)).toContain('review.yaml is the policy itself');
  expect(await by('free.js', `${ALL}protected_paths: true\n`, 2)).toContain(
    'as in `protected_paths: ["package.json"]`',
  );
}, 180_000);

test('what is beyond the reasons that are told is not approved unseen', async () => {
  s.write(
    'wide.yaml',
    'v: 1\npaths: ["**"]\nchanges: [delete]\nmax_files: 100\nprotected_paths: ["*.mk"]\n',
  );
  s.write('many.md', `---\ndelete_files: ${JSON.stringify(MANY)}\n---\n# Clear\n\nRemove them.\n`);
  const io = fakeIo({ env: s.env, cwd: s.repo });
  expect([await main(['run', 'many.md', '--policy', 'wide.yaml'], io), io.printed]).toMatchObject([
    3,
    {},
  ]);
  expect(io.printed.out + io.printed.err).toContain('22 more reasons');
}, 120_000);
