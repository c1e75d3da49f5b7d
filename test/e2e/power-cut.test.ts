/**
 * A worker whose power is cut, as a start after it finds the home: another boot, and nothing of what was not synced where it lies. (What else a
 * power cut may leave, in any subset: test/stores/before.test.ts.)
 */
import { existsSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, test } from '@jest/globals';
import { OWN_STORE } from './homes.js';
import { scene, whole, type Scene } from './support.js';

let open: Scene | null = null;
afterEach(async () => {
  await open?.close();
  open = null;
});

const RULES = [
  { name: 'a', match: { contains: '- a.js' }, answer: whole({ 'a.js': 'let a = 2;\n' }) },
];
const JOB = '---\ntarget_files: [a.js]\ncommit: true\n---\n# Grow\n\nRaise it.\n';

/** Takes back all that the logs of the home name; how many files that were. */
const cutPower = (home: string): number => {
  const gone = new Set<string>();
  const dir = join(home, 'redo');
  for (const name of readdirSync(dir)) {
    for (const line of readFileSync(join(dir, name), 'utf8').trim().split('\n').slice(1)) {
      const { path, bytes } = JSON.parse(line) as { path: string; bytes: string };
      const file = join(home, path);
      // The client's lines of an archive were synced.
      const rest = path.startsWith('archive/')
        ? readFileSync(file, 'utf8').replace(Buffer.from(bytes, 'base64').toString(), '')
        : '';
      if (rest === '') rmSync(file, { force: true });
      else writeFileSync(file, rest);
      gone.add(path);
    }
    const [owner = '', random] = name.split('.');
    const who = {
      ...(JSON.parse(Buffer.from(owner, 'base64url').toString()) as object),
      boot: 'the boot before',
    };
    renameSync(
      join(dir, name),
      join(dir, `${Buffer.from(JSON.stringify(who)).toString('base64url')}.${random}`),
    );
  }
  return gone.size;
};

test('the run goes on: what was reported is there, and no recorded answer is asked for again', async () => {
  const s = (open = await scene({ 'a.js': 'let a = 1;\n' }, RULES, { env: OWN_STORE }));
  const first = await s.worker();
  const run = await s.start('job.md', JOB);
  expect(await s.settle(run)).toMatchObject({ status: { decision: { reason: 'approval' } } });
  const before = (await s.emend.archive.read(run.stepKey)).map(({ id }) => id);
  await first.kill('SIGKILL');
  const lost = cutPower(s.home);
  expect(lost).toBeGreaterThan(10);
  expect(
    existsSync(join(s.home, 'calls', run.stepKey)) &&
      readdirSync(join(s.home, 'calls', run.stepKey), { recursive: true }).length,
  ).toBe(1);

  await s.worker();
  expect((await s.emend.archive.read(run.stepKey)).map(({ id }) => id).sort()).toEqual(
    [...before].sort(),
  );
  await s.answer(run, 'approve');
  expect(await s.end(run)).toMatchObject({ outcome: 'committed', files: ['a.js'] });
  expect(s.read('a.js')).toBe('let a = 2;\n');
  expect(s.rehearsal.requests().map((request) => request.rule)).toEqual(['a']);
});
