/** Jobs whose `delete_files` go with the change: nobody is asked about them, a person is, and their bytes come back when asked for. */
import { existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { ResolvedRun } from '../../src/client/index.js';
import { scene, whole, type Scene } from './support.js';

const LEGACY = 'export const legacy = () => "a word of the file that goes";\n';
const SECRET = 'TOKEN=a-word-of-the-secret\n';
const BINARY = Buffer.from([0, 1, 2, 255, 10]);
const INDEX = "export { legacy } from './legacy.js';\n";
const MENDED = 'export const start = 1;\n';

let s: Scene;
beforeAll(async () => {
  s = await scene(
    {
      'legacy.js': LEGACY,
      '.env': SECRET,
      'logo.bin': BINARY,
      'index.js': INDEX,
      'a.js': 'a\n',
      'b.js': 'b\n',
      'c.js': 'c\n',
      'd.js': 'd\n',
      'e.js': 'e\n',
    },
    [
      { name: 'secret', match: { contains: 'a-word-of-the-secret' }, answer: 'never' },
      {
        name: 'index',
        match: {
          contains: ['- index.js', '- legacy.js\n- .env\n- logo.bin', '-export const legacy'],
        },
        answer: whole({ 'index.js': MENDED }),
      },
      {
        name: 'both',
        match: { contains: ['- a.js', '- b.js'] },
        answer: whole({ 'a.js': 'A\n', 'b.js': 'B\n' }),
      },
    ],
  );
  await s.worker();
}, 60_000);
afterAll(() => s.close());

const start = (name: string, ...keys: readonly string[]): Promise<ResolvedRun> =>
  s.start(
    `${name}.md`,
    ['---', ...keys, '---', '# Take it away', '', 'It is not used any more.', ''].join('\n'),
  );
const there = (path: string): boolean => existsSync(join(s.repo, path));
const asked = (): readonly (string | null)[] => s.rehearsal.requests().map(({ rule }) => rule);

test('the others are asked for with what goes before them, a secret aside; a person is asked even under auto; one commit', async () => {
  const run = await start(
    'index',
    'delete_files: [legacy.js, .env, logo.bin]',
    'target_files: [index.js]',
    'approval: auto',
    'maxTotalChunks: 1',
    'baseline: fix',
    'test: test ! -e legacy.js && test -e index.js',
    'commit: true',
  );
  const paused = await s.settle(run);
  expect(paused.status.decision).toMatchObject({ reason: 'approval' });
  expect(paused.proposal?.mustAsk).toEqual([
    expect.stringMatching(/^protected path \.env: /),
    ...['deletion of .env', 'deletion of legacy.js', 'deletion of logo.bin'],
  ]);
  expect(paused).toMatchObject({
    ledger: [
      { path: 'legacy.js', status: 'done', deletes: true },
      { path: '.env', deletes: true },
      { path: 'logo.bin', deletes: true },
      { path: 'index.js', status: 'done', attempts: 1 },
    ],
  });
  expect(['legacy.js', '.env', 'logo.bin'].filter(there)).toHaveLength(3);
  await s.answer(run, 'approve');
  expect(await s.end(run)).toMatchObject({ outcome: 'committed', usage: { calls: 1 } });
  expect(asked()).toEqual(['index']);
  expect(s.git('show', '--name-status', '--format=%s', 'HEAD').trim().split('\n')).toEqual([
    'Take it away',
    '',
    'D\t.env',
    'M\tindex.js',
    'D\tlegacy.js',
    'D\tlogo.bin',
  ]);
  expect(s.git('status', '--porcelain', '-uno')).toBe('');
  s.git('revert', '--no-edit', 'HEAD');
  expect([s.read('legacy.js'), s.read('.env')]).toEqual([LEGACY, SECRET]);
}, 120_000);

/** A job that deletes one file, whose tests want that file. */
const startDeletion = (name: string, ...keys: readonly string[]): Promise<ResolvedRun> =>
  start(
    name,
    'delete_files: [logo.bin]',
    'test: test -e logo.bin',
    'maxFailedVerifications: 1',
    ...keys,
  );

test('nothing but files that go: no call at all; tests that fail without them leave them as they are', async () => {
  const before = asked().length;
  const { mode, ino, mtimeMs } = statSync(join(s.repo, 'logo.bin'));
  const run = await startDeletion('nothing');
  const failed = await s.settle(run);
  expect(failed.status.decision).toMatchObject({ reason: 'tests_failed' });
  expect(statSync(join(s.repo, 'logo.bin'))).toMatchObject({ mode, ino, mtimeMs });
  await s.answer(run, 'abort');
  expect(await s.end(run)).toMatchObject({ outcome: 'aborted', usage: { calls: 0 } });
  expect((await s.events(run)).map(({ type }) => type)).not.toContain('applied');
  expect(asked()).toHaveLength(before);
}, 120_000);

test('without a sandbox failed tests bring the files back, bytes and mode', async () => {
  const before = asked().length;
  const { mode } = statSync(join(s.repo, 'logo.bin'));
  const run = await startDeletion('brought-back', 'sandbox: off');
  await s.settle(run);
  await s.answer(run, 'approve');
  const failed = await s.settle(run);
  expect(failed.status.decision).toMatchObject({ reason: 'tests_failed' });
  expect(statSync(join(s.repo, 'logo.bin'))).toMatchObject({ mode, size: BINARY.length });
  expect((await s.events(run)).map(({ type }) => type)).toContain('rolled_back');
  await s.answer(run, 'abort');
  expect(await s.end(run)).toMatchObject({ outcome: 'aborted', usage: { calls: 0 } });
  expect(asked()).toHaveLength(before);
}, 120_000);

test('one call for all the others; what a person saved into the file meanwhile is no loss', async () => {
  const before = asked().length;
  const run = await start(
    'both',
    'delete_files: [c.js]',
    'target_files: [a.js, b.js]',
    'maxFilesBeforeSplit: 2',
  );
  expect((await s.settle(run)).status.decision).toMatchObject({ reason: 'approval' });
  s.write('c.js', 'mine\n');
  await s.answer(run, 'approve');
  expect((await s.settle(run)).status.decision).toMatchObject({ reason: 'conflict' });
  expect(s.read('c.js')).toBe('mine\n');
  await s.answer(run, 'regenerate', { files: ['c.js'] });
  const again = await s.settle(run);
  expect(again.status.decision).toMatchObject({ reason: 'approval' });
  await s.answer(run, 'approve');
  expect(await s.end(run)).toMatchObject({ outcome: 'applied' });
  expect([there('c.js'), s.read('a.js'), s.read('b.js')]).toEqual([false, 'A\n', 'B\n']);
  expect(asked().slice(before)).toEqual(['both']);
}, 120_000);

test('a deletion may be sent back, and left out', async () => {
  const run = await start('revised', 'delete_files: [d.js, e.js]');
  await s.settle(run);
  await s.answer(run, 'revise', { note: 'are you sure?' });
  const again = await s.settle(run);
  expect(again.status.decision).toMatchObject({ reason: 'approval' });
  await s.answer(run, 'skip', { files: ['d.js'] });
  await s.answer(run, 'approve');
  expect(await s.end(run)).toMatchObject({ outcome: 'applied', files: ['e.js'] });
  expect([there('d.js'), there('e.js')]).toEqual([true, false]);
}, 120_000);
