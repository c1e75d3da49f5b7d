/** Files that move: by a response, or deleted here and created there. And lines that look like placeholders, which a moved text may hold. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, test } from '@jest/globals';
import { runDiff } from '../../src/client/index.js';
import { longOnly } from '../support/skipped.js';
import { scene, whole, type Scene } from './support.js';

const long = longOnly('each starts a run of its own; the test that stays shows the promise');

const PLACEHOLDER = '// ... existing code ...';
const TIPS = `# Tips\n\n${Array.from({ length: 12 }, (_, i) => `Tip ${i + 1} for the reader.\n`).join('')}\nDo not send this:\n\n${PLACEHOLDER}\n`;
const MOVED = TIPS.replace('Tip 3', 'Third tip');
const LOGO = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0, 1, 2, 255]);

let open: Scene | null = null;
afterEach(async () => {
  await open?.close();
  open = null;
});
const begun = async (
  files: Parameters<typeof scene>[0],
  rules: Parameters<typeof scene>[1],
): Promise<Scene> => {
  open = await scene(files, rules);
  await open.worker();
  return open;
};
const job = (...keys: readonly string[]): string =>
  ['---', ...keys, '---', '# Move the tips to docs', ''].join('\n');
const isThere = (s: Scene, path: string): boolean => existsSync(join(s.repo, path));
const renamesIn = (s: Scene): string =>
  s.git('log', '-1', '--format=', '--find-renames', '--name-status').trim();

test('a response renames its target: one move in the proposal, its diff and the commit; guards compare with the old path', async () => {
  const answer = `diff --git a/got/tips.md b/docs/tips.md
similarity index 90%
rename from got/tips.md
rename to docs/tips.md
--- a/got/tips.md
+++ b/docs/tips.md
@@ -4,3 +4,3 @@
 Tip 2 for the reader.
-Tip 3 for the reader.
+Third tip for the reader.
 Tip 4 for the reader.
EMEND-COMPLETE {{nonce}} 1 1
`;
  const s = await begun({ 'got/tips.md': TIPS }, [{ name: 'move', match: {}, answer }]);
  const keys = ['target_files: [got/tips.md]', 'format: unified-diff', 'commit: true'];
  const run = await s.start('move.md', job(...keys, 'create: ["docs/**"]', 'approval: auto'));
  const { status, proposal } = await s.settle(run);
  expect(status.decision).toMatchObject({
    reason: 'approval',
    files: [{ path: 'docs/tips.md' }],
    message: expect.stringContaining('move of got/tips.md to docs/tips.md'),
  });
  expect(proposal?.findings).toEqual([]);
  expect(proposal?.files).toMatchObject([
    { path: 'docs/tips.md', change: 'move', from: 'got/tips.md', added: 1, removed: 1 },
    { path: 'got/tips.md', change: 'move', to: 'docs/tips.md', added: 0, removed: 0 },
  ]);
  const diff = (await runDiff(s.emend, run))?.diff ?? '';
  expect(diff).toContain('rename from got/tips.md\nrename to docs/tips.md\n');
  expect(diff.match(/^diff --git/gm)).toHaveLength(1);
  await s.answer(run, 'approve');
  expect(await s.end(run)).toMatchObject({
    outcome: 'committed',
    files: ['docs/tips.md', 'got/tips.md'],
  });
  expect([s.read('docs/tips.md'), isThere(s, 'got/tips.md')]).toEqual([MOVED, false]);
  expect(renamesIn(s)).toMatch(/^R\d+\tgot\/tips\.md\tdocs\/tips\.md$/);
});

test('a response renames a binary target byte for byte; the formatter is not run on it', async () => {
  const answer = `diff --git a/logo.png b/docs/logo.png
similarity index 100%
rename from logo.png
rename to docs/logo.png
EMEND-COMPLETE {{nonce}} 1 0
`;
  const s = await begun({ 'logo.png': LOGO, 'emend.yaml': 'formatCommand: "false {file}"\n' }, [
    { name: 'move', match: {}, answer },
  ]);
  const keys = ['target_files: [logo.png]', 'create: ["docs/**"]', 'commit: true'];
  const run = await s.start('move.md', job(...keys));
  const { status, proposal } = await s.settle(run);
  expect(status.decision).toMatchObject({ reason: 'approval', files: [{ path: 'docs/logo.png' }] });
  expect(proposal?.findings).toEqual([]);
  expect((await runDiff(s.emend, run))?.diff).toContain(
    'rename from logo.png\nrename to docs/logo.png\n',
  );
  await s.answer(run, 'approve');
  expect(await s.end(run)).toMatchObject({ outcome: 'committed', usage: { calls: 1 } });
  expect(readFileSync(join(s.repo, 'docs/logo.png'))).toEqual(LOGO);
  expect(isThere(s, 'logo.png')).toBe(false);
  expect(renamesIn(s)).toBe('R100\tlogo.png\tdocs/logo.png');
});

long(
  'a binary target is refused in a format that cannot rename, and its content may not change',
  async () => {
    const answer =
      'diff --git a/logo.png b/logo.png\nBinary files a/logo.png and b/logo.png differ\nEMEND-COMPLETE {{nonce}} 1 0\n';
    const s = await begun({ 'logo.png': LOGO }, [{ name: 'change', match: {}, answer }]);
    const keys = ['target_files: [logo.png]', 'create: true'];
    const whole = await s.start('whole.md', job(...keys, 'format: whole-file'));
    expect(await s.end(whole)).toMatchObject({
      outcome: 'refused',
      problem: { code: 'target_binary' },
    });
    const run = await s.start('change.md', job(...keys));
    expect((await s.settle(run)).status.decision).toMatchObject({ reason: 'attempts_exhausted' });
  },
);

long(
  'without `create` a rename is refused, and a move that is skipped leaves the file',
  async () => {
    const answer =
      'diff --git a/a.md b/docs/a.md\nrename from a.md\nrename to docs/a.md\nEMEND-COMPLETE {{nonce}} 1 0\n';
    const s = await begun({ 'a.md': TIPS }, [{ name: 'move', match: {}, answer }]);
    const keys = ['target_files: [a.md]', 'format: unified-diff'];
    const refused = await s.start('refused.md', job(...keys));
    expect((await s.settle(refused)).status.decision).toMatchObject({
      reason: 'attempts_exhausted',
    });
    const messages = (await s.events(refused)).flatMap((event) =>
      event.type === 'answer_refused' ? [event.message] : [],
    );
    expect(messages[0]).toMatch(
      /a\.md cannot be renamed to docs\/a\.md: no new file may be created there/,
    );
    await s.answer(refused, 'abort');
    await s.end(refused);
    const skipped = await s.start('skipped.md', job(...keys, 'create: true'));
    expect((await s.settle(skipped)).proposal?.files).toHaveLength(2);
    await s.answer(skipped, 'skip');
    expect(await s.end(skipped)).toMatchObject({ outcome: 'skipped' });
    expect([isThere(s, 'a.md'), isThere(s, 'docs')]).toEqual([true, false]);
  },
);

long(
  'a deleted file and a similar new one are a move, with the lines of the deleted file as text',
  async () => {
    const s = await begun({ 'got/tips.md': TIPS, 'logo.png': LOGO }, [
      { name: 'new', match: {}, answer: whole({ 'docs/tips.md': MOVED }) },
    ]);
    const keys = ['new_files: [docs/tips.md]', 'delete_files: [got/tips.md, logo.png]'];
    const run = await s.start('job.md', job(...keys, 'commit: true'));
    const { proposal } = await s.settle(run);
    expect(proposal?.findings).toMatchObject([{ guard: 'deletion', path: 'logo.png' }]);
    expect(proposal?.files).toMatchObject([
      { path: 'docs/tips.md', change: 'move', from: 'got/tips.md' },
      { path: 'got/tips.md', change: 'move', to: 'docs/tips.md' },
      { path: 'logo.png', change: 'delete' },
    ]);
    await s.answer(run, 'approve');
    expect(await s.end(run)).toMatchObject({ outcome: 'committed', usage: { calls: 1 } });
    expect(renamesIn(s).split('\n')).toEqual([
      expect.stringMatching(/^R\d+\tgot\/tips\.md\tdocs\/tips\.md$/),
      'D\tlogo.png',
    ]);
  },
);

const CODE = Array.from({ length: 8 }, (_, i) => `export const value${i} = ${i};\n`).join('');

const placeholderRule = {
  name: 'placeholder',
  match: {},
  answer: whole({ 'a.js': `${CODE}${PLACEHOLDER}\n` }),
};

test('a placeholder that no file has is refused in each format; if the model insists, the reviewer accepts it', async () => {
  const s = await begun({ 'b.js': 'export const b = 1;\n' }, [placeholderRule]);
  const run = await s.start('job.md', job('new_files: [a.js]', 'approval: auto'));
  const { status, proposal } = await s.settle(run);
  const refused = (await s.events(run)).flatMap((event) =>
    event.type === 'answer_refused' ? [`${event.outcome} ${event.message}`] : [],
  );
  expect(refused).toEqual([expect.stringMatching(/^refused .*elision/)]);
  expect(status.decision).toMatchObject({
    reason: 'approval',
    message: expect.stringContaining('elision in a.js'),
  });
  expect(proposal?.findings).toMatchObject([
    { guard: 'elision', severity: 'ask', path: 'a.js', lines: [9, 9] },
  ]);
  await s.answer(run, 'approve');
  expect(await s.end(run)).toMatchObject({ outcome: 'applied', usage: { calls: 2 } });
  expect(s.read('a.js')).toContain(PLACEHOLDER);
});

long('a placeholder that a context file has is text', async () => {
  const s = await begun({ 'notes.md': `Old code:\n\n    ${PLACEHOLDER}\n` }, [placeholderRule]);
  const run = await s.start('job.md', job('new_files: [a.js]', 'context_files: [notes.md]'));
  const { proposal } = await s.settle(run);
  expect(proposal).toMatchObject({ findings: [], files: [{ path: 'a.js' }] });
});

long('`elision: refuse` leaves no placeholder to accept', async () => {
  const s = await begun({ 'emend.yaml': 'guards: { elision: refuse }\n' }, [placeholderRule]);
  const run = await s.start('job.md', job('new_files: [a.js]'));
  expect((await s.settle(run)).status.decision).toMatchObject({ reason: 'attempts_exhausted' });
});
