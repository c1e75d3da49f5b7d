/** New files that a model makes: named when it picks, named in a brief, made in an answer, in a job, in a plan. */
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, test } from '@jest/globals';
import { main } from '../../src/cli/main.js';
import { fakeIo } from '../cli/io.js';
import { longOnly } from '../support/skipped.js';
import { phaseRun, startDemo } from './plan-support.js';
import { requestsOf, scene, whole, type Scene } from './support.js';

const long = longOnly('each starts a run of its own; the test that stays shows the promise');

const LIST = 'Files of the project';
const MENU = 'src/menu.js';
const TEA = 'src/tea/leaf.js';
const OLD = 'export const price = 1;\n';
const NEW = 'export const price = 2;\n';
const LEAF = "import { price } from '../menu.js';\nexport const leaf = price;\n";
const FILES = { [MENU]: OLD, '.gitignore': 'dist/\n' };
const BOTH = whole({ [MENU]: NEW, [TEA]: LEAF });

let open: Scene | null = null;
afterEach(async () => {
  await open?.close();
  open = null;
});
const begun = async (
  files: Record<string, string>,
  rules: Parameters<typeof scene>[1],
): Promise<Scene> => {
  open = await scene(files, rules);
  await open.worker();
  return open;
};
const said = (answer: object): string =>
  `${JSON.stringify(answer)}\nEMEND-COMPLETE {{nonce}} 0 0\n`;
const job = (keys: string, text: string): string => `---\n${keys}\n---\n# ${text}\n`;
const refusedIn = async (
  s: Scene,
  run: Parameters<Scene['events']>[0],
): Promise<readonly string[]> =>
  (await s.events(run)).flatMap((event) =>
    event.type === 'answer_refused' ? [event.message] : [],
  );
/** The text of the request that has these words. */
const request = async (s: Scene, ...words: readonly string[]): Promise<string> =>
  (await requestsOf(s))
    .map((each) => JSON.stringify(each))
    .find((text) => words.every((word) => text.includes(word))) ?? '';

test('by a pick: told as new, first in the review, asked about under `approval: auto`, with a policy not', async () => {
  const fresh = [TEA, '../x.js', '.git/hooks/pre-commit', 'Makefile', 'SRC/Menu.js'];
  const picks = {
    files: [{ path: MENU, why: 'the price' }],
    new_files: fresh.map((path) => ({ path, why: 'tea is new' })),
  };
  const s = await begun(FILES, [
    { name: 'pick', match: { contains: [LIST, '"new_files"'] }, answer: said(picks) },
    { name: 'no brief', match: { contains: 'Now write the brief' }, answer: said({}) },
    { name: 'menu', match: { contains: `- ${MENU}` }, answer: whole({ [MENU]: NEW }) },
    { name: 'tea', match: { contains: `- ${TEA}` }, answer: whole({ [TEA]: LEAF }) },
  ]);
  const run = await s.start('tea.md', job('create: true\napproval: auto', 'The price of tea'));
  const { status, proposal } = await s.settle(run);
  const picked = (await s.events(run)).filter(({ type }) => type === 'files_picked');
  const files = [
    { path: MENU, why: 'the price' },
    { path: TEA, why: 'new file: tea is new', isNew: true },
  ];
  expect(picked).toMatchObject([{ file_count: 2, files }]);
  expect(status.decision).toMatchObject({
    reason: 'approval',
    message: expect.stringContaining(`must review: new file ${TEA}: a model chose to make it`),
  });
  expect(proposal?.files.map(({ path, change }) => [path, change])).toEqual([
    [TEA, 'create'],
    [MENU, 'edit'],
  ]);
  await s.answer(run, 'approve');
  expect(await s.end(run)).toMatchObject({ outcome: 'applied', files: [TEA, MENU] });
  expect(s.read(TEA)).toBe(LEAF);

  s.git('checkout', '-q', MENU);
  s.git('clean', '-qfd', 'src');
  s.write('again.md', job('create: true\napproval: auto', 'The price of tea, once more'));
  s.write('no.yaml', 'paths: ["src/**"]\nchanges: [edit, create]\n');
  s.write('yes.yaml', 'paths: ["src/**"]\ncreate: ["src/tea/"]\n');
  const by = async (policy: string) => {
    const terminal = fakeIo({ env: s.env, cwd: s.repo });
    return {
      exit: await main(['run', 'again.md', '--policy', policy], terminal),
      ...terminal.printed,
    };
  };
  const no = await by('no.yaml');
  expect(no).toMatchObject({ exit: 3 });
  expect(no.out + no.err).toContain(
    `picked to edit: ${MENU} (the price); ${TEA} (new file: tea is new)`,
  );
  expect(no.out + no.err).toContain(`new file ${TEA}: a model chose to make it`);
  expect(await by('yes.yaml')).toMatchObject({ exit: 0 });
  expect(s.read(TEA)).toBe(LEAF);
});

long(
  'by a brief: a call each, with the checks of a pick; what it says in another way is left',
  async () => {
    const parts = Array.from({ length: 4 }, (_, i) => `src/part${i}.js`);
    const brief = `- **Shared**: price
- **Files**: all of them
- **New files**:
  - \`notes/price.md\`: says what changed
  - \`notes/../../evil.md\`: leaves
  - notes/one.md and notes/two.md
  - \`src/other.js\`: outside of what may be made
- **Else**: \`notes/else.md\`
EMEND-COMPLETE {{nonce}} 0 0
`;
    const s = await begun({ ...FILES, ...Object.fromEntries(parts.map((path) => [path, OLD])) }, [
      { name: 'brief', match: { contains: ['Now write the brief', 'notes/**'] }, answer: brief },
      ...[...parts, 'notes/price.md'].map((path) => ({
        name: path,
        match: { contains: [`- ${path}`] },
        answer: whole({ [path]: path.endsWith('md') ? 'two\n' : NEW }),
      })),
    ]);
    const keys = `create: ["notes/**"]\ntarget_files: ${JSON.stringify(parts)}\nlimits: { maxFilesBeforeSplit: 2 }`;
    const run = await s.start('parts.md', job(keys, 'The price in all parts'));
    const { proposal, ledger } = await s.settle(run);
    expect(proposal?.files[0]).toMatchObject({ path: 'notes/price.md', change: 'create' });
    expect(ledger.find(({ path }) => path === 'notes/price.md')).toMatchObject({
      format: 'whole-file',
      isNew: true,
    });
    expect(proposal?.mustAsk).toEqual(['new file notes/price.md: a model chose to make it']);
    await s.answer(run, 'approve');
    expect(await s.end(run)).toMatchObject({
      outcome: 'applied',
      files: ['notes/price.md', ...parts],
      usage: { calls: 6 },
    });
    expect((await s.events(run)).filter(({ type }) => type === 'files_picked')).toHaveLength(1);
  },
);

long(
  'by an answer: a part of its change, asked for again with it; what may not be made is refused with the reason',
  async () => {
    const ignored = whole({ [MENU]: NEW, 'dist/out.js': OLD });
    const revised = whole({ [MENU]: NEW, [TEA]: `${LEAF}// green\n` });
    const s = await begun(FILES, [
      { name: 'revised', match: { contains: 'green, please' }, answer: revised },
      {
        name: 'told',
        match: { contains: ['Your last answer was refused', 'git ignores it'] },
        answer: BOTH,
      },
      {
        name: 'ignored',
        match: { contains: [`- ${MENU}`, 'create it in the same answer'] },
        answer: ignored,
      },
      { name: 'not allowed', match: { contains: `- ${MENU}` }, answer: BOTH },
    ]);
    const named = `target_files: [${MENU}]`;
    const plain = await s.start('plain.md', job(named, 'Tea'));
    expect((await s.settle(plain)).status.decision).toMatchObject({ reason: 'attempts_exhausted' });
    expect((await refusedIn(s, plain))[0]).toContain(
      `There is no file ${TEA}, and none may be created there.`,
    );
    expect(await request(s, '# Tea')).toContain('Do not create files that are not listed');

    const run = await s.start('made.md', job(`${named}\ncreate: true`, 'Tea, too'));
    const first = await s.settle(run);
    expect(await refusedIn(s, run)).toEqual([
      'new_file: dist/out.js may not be made: git ignores it. Leave it out.',
    ]);
    expect(await request(s, 'Tea, too')).not.toContain('Do not create files that are not listed');
    expect(first.proposal?.files.map(({ path }) => path)).toEqual([TEA, MENU]);
    expect(first.ledger).toMatchObject([
      { path: MENU },
      { path: TEA, isNew: true, status: 'done' },
    ]);
    await s.answer(run, 'revise', { files: [TEA], note: 'green, please' });
    await s.answer(run, 'approve', { files: [MENU] });
    await s.settle(run);
    await s.answer(run, 'approve');
    expect(await s.end(run)).toMatchObject({ outcome: 'applied', files: [TEA, MENU] });
    expect(s.read(TEA)).toBe(`${LEAF}// green\n`);
    expect(existsSync(join(s.repo, 'dist'))).toBe(false);
  },
);

long(
  'a file that appears meanwhile is a conflict; a rollback takes the folders that were made',
  async () => {
    const s = await begun(FILES, [
      {
        name: 'taken',
        match: { contains: ['Your last answer was refused', `There is a file ${TEA}`] },
        answer: BOTH,
      },
      { name: 'edit', match: { contains: `- ${MENU}` }, answer: BOTH },
    ]);
    const keys = `target_files: [${MENU}]\ncreate: true`;
    const failing = await s.start('fails.md', job(`${keys}\ntest: "test ! -e ${TEA}"`, 'Tea'));
    // The model is asked once more before a person is.
    expect((await s.settle(failing)).status.decision).toMatchObject({ reason: 'tests_failed' });
    await s.answer(failing, 'skip');
    expect(await s.end(failing)).toMatchObject({ outcome: 'skipped' });
    expect(existsSync(join(s.repo, 'src/tea'))).toBe(false);

    const run = await s.start('meanwhile.md', job(keys, 'Tea again'));
    await s.settle(run);
    mkdirSync(join(s.repo, 'src/tea'));
    writeFileSync(join(s.repo, TEA), "a person's\n");
    await s.answer(run, 'approve');
    const { decision } = (await s.settle(run)).status;
    expect(decision).toMatchObject({ reason: 'conflict', files: [{ path: TEA }] });
    await s.answer(run, 'take_theirs');
    expect(await s.end(run)).toMatchObject({ files: [MENU] });
    expect([s.read(TEA), s.read(MENU)]).toEqual(["a person's\n", NEW]);
  },
);

long('two answers that make the same file: one of them is refused with the reason', async () => {
  const shared = 'src/shared.js';
  const [a, b] = ['src/a.js', 'src/b.js'];
  const making = (path: string) => whole({ [path]: NEW, [shared]: `// of ${path}\n` });
  const s = await begun({ [a]: OLD, [b]: OLD }, [
    {
      name: 'brief',
      match: { contains: 'Now write the brief' },
      answer: '- **New files**: none\nEMEND-COMPLETE {{nonce}} 0 0\n',
    },
    ...[a, b].map((path) => ({
      name: `again ${path}`,
      match: { contains: [`- ${path}`, 'makes it, too'] },
      answer: whole({ [path]: NEW }),
    })),
    ...[a, b].map((path) => ({
      name: path,
      match: { contains: `- ${path}` },
      answer: making(path),
    })),
  ]);
  const keys = `create: true\ntarget_files: [${a}, ${b}]\nlimits: { maxFilesBeforeSplit: 1 }`;
  const run = await s.start('two.md', job(keys, 'One price'));
  const { proposal } = await s.settle(run);
  expect(await refusedIn(s, run)).toEqual([
    expect.stringContaining(`${shared} may not be made: the answer for src/`),
  ]);
  expect(proposal?.files.map(({ path }) => path)).toEqual([shared, a, b]);
  await s.answer(run, 'approve');
  expect(await s.end(run)).toMatchObject({ outcome: 'applied', files: [shared, a, b] });
});

long('a task of a plan may make files that it does not name', async () => {
  const plan = `# Tea\n\n### Phase 1: Tea\n\n**Objective**: Tea\n\n- [ ] Sell tea in \`${MENU}\`\n`;
  const s = await begun(
    { ...FILES, 'plans/010_demo.md': plan, 'emend.yaml': 'test: [node -e 0]\n' },
    [{ name: 'edit', match: { contains: `- ${MENU}` }, answer: BOTH }],
  );
  const run = await startDemo(s, { approval: 'auto' });
  const phase = await phaseRun(s, run, 'p1-1');
  expect((await s.settle(phase)).status.decision?.message).toContain(`new file ${TEA}`);
  await s.answer(phase, 'approve');
  expect(await s.end(run)).toMatchObject({ outcome: 'completed' });
  expect(s.git('log', '--name-only', '--format=%s', '-3')).toContain(
    `Phase 1: Tea\n\n${MENU}\n${TEA}\n`,
  );
});
