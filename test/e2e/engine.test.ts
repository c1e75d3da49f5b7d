/**
 * What the engine's settings and commands mean for whole runs: a guard's severity from emend.yaml, guards on what a rebase made, a
 * workspace that a killed `emend patch` holds, and `emend undo` after a run. Real server, one worker, the built command.
 */
import { execFile } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { ResolvedRun } from '../../src/client/index.js';
import { transpile } from '../support/transpile.js';
import { emendCommand, lockOf } from './ends.js';
import { scene, structured, whole, type Scene } from './support.js';

const twice = (n: number): string => `function twice() {\n  return ${n};\n}\n`;
const BEFORE = 'const a = 1;\n\nconst b = 2;\n\nconst c = 3;\n';
/** What an answer makes that defines a function twice. */
const DOUBLED = BEFORE + twice(1) + twice(2);
const ONCE = twice(1) + BEFORE;
const ANSWERS = {
  'note.js': DOUBLED,
  'ask.js': DOUBLED,
  'refuse.js': DOUBLED,
  'shown.js': ONCE,
  'stopped.js': ONCE,
  'both.js': BEFORE.replace('b = 2', 'b = 20'),
  'a.js': ONCE,
  'b.js': ONCE,
};
const edit = (path: string, content: string) => ({
  name: path,
  match: { contains: `- ${path}` },
  answer: whole({ [path]: content }),
});
const AUTO = 'approval: auto';

/** Only where a language is known may an answer name a definition. */
const OFFER = 'A whole definition may be named instead of lines';
const OFFERS = [
  {
    name: 'named',
    match: { contains: ['- named.js', OFFER] },
    answer: structured([
      { type: 'replace', file_path: 'named.js', at: { symbol: 'twice' }, content: twice(4) },
      { type: 'replace', file_path: 'named.js', at: { symbol: 'c' }, content: 'const c = 4;\n' },
    ]),
  },
  { name: 'offered', match: { contains: ['- plain.txt', OFFER] }, answer: structured([], 'None.') },
  {
    name: 'plain',
    match: { contains: '- plain.txt' },
    answer: structured([{ type: 'append', file_path: 'plain.txt', content: 'two\n' }]),
  },
];

let s: Scene;
beforeAll(async () => {
  const files = Object.fromEntries(Object.keys(ANSWERS).map((path) => [path, BEFORE]));
  const rules = Object.entries(ANSWERS).map(([path, content]) => edit(path, content));
  s = await scene(
    { ...files, 'p.txt': 'old\n', 'named.js': ONCE, 'plain.txt': 'one\n', 'lib/there.js': BEFORE },
    [...OFFERS, ...rules, edit('LIB/new.js', BEFORE)],
  );
  await s.worker();
}, 60_000);
afterAll(() => s.close());
const start = (path: string, ...keys: readonly string[]): Promise<ResolvedRun> =>
  s.start(
    `${path}.md`,
    ['---', `target_files: [${path}]`, ...keys, '---', '# Twice', '', 'Add it.', ''].join('\n'),
  );
const setTo = (severity: string): void => {
  s.write('emend.yaml', `guards: { doubled_block: ${severity} }\n`);
};

test('note, ask and refuse of a guard in emend.yaml: goes through, waits for a person, is refused to the model', async () => {
  setTo('note');
  const noted = await start('note.js', AUTO);
  expect(await s.end(noted)).toMatchObject({ outcome: 'applied', files: ['note.js'] });
  expect(s.read('note.js')).toBe(DOUBLED);
  expect((await s.show(noted)).proposal).toMatchObject({
    findings: [{ guard: 'doubled_block', severity: 'note', path: 'note.js' }],
    mustAsk: [],
  });

  setTo('ask');
  const asked = await start('ask.js', AUTO);
  const paused = await s.settle(asked);
  expect(paused.status.decision).toMatchObject({ reason: 'approval' });
  expect(paused.proposal).toMatchObject({ mustAsk: ['doubled_block in ask.js'] });
  expect(s.read('ask.js')).toBe(BEFORE);
  await s.answer(asked, 'approve');
  expect(await s.end(asked)).toMatchObject({ outcome: 'applied' });

  setTo('refuse');
  const refused = await start('refuse.js', AUTO);
  expect((await s.settle(refused)).status.decision).toMatchObject({ reason: 'attempts_exhausted' });
  expect(s.read('refuse.js')).toBe(BEFORE);
  const requests = s.rehearsal.requests().filter(({ rule }) => rule === 'refuse.js');
  expect(requests).toHaveLength(2);
  const told = (await s.events(refused)).filter(({ type }) => type === 'answer_refused');
  expect(told).toMatchObject([
    { outcome: 'refused', message: expect.stringContaining('doubled_block') },
    { outcome: 'refused' },
  ]);
}, 120_000);

test('a new file in a folder that is there in other letters waits for a person, who is told why', async () => {
  s.write('emend.yaml', '');
  const run = await s.start(
    'new.md',
    `---\noutput_file: LIB/new.js\n${AUTO}\n---\n# New\n\nMake it.\n`,
  );
  const paused = await s.settle(run);
  expect(paused.status.decision).toMatchObject({ reason: 'approval' });
  expect(paused.proposal).toMatchObject({
    findings: [
      {
        guard: 'file_name',
        severity: 'ask',
        message: expect.stringContaining('LIB is new, and lib is'),
      },
    ],
    mustAsk: ['file_name in LIB/new.js'],
  });
  await s.answer(run, 'skip');
  expect(await s.end(run)).toMatchObject({ outcome: 'skipped' });
}, 120_000);

test('a definition may be named where the language is known, and only there', async () => {
  const named = await start('named.js', AUTO, 'format: structured-edit');
  const plain = await start('plain.txt', AUTO, 'format: structured-edit');
  for (const run of [named, plain]) expect(await s.end(run)).toMatchObject({ outcome: 'applied' });
  expect(s.read('named.js')).toBe((twice(4) + BEFORE).replace('const c = 3', 'const c = 4'));
  expect(s.read('plain.txt')).toBe('one\ntwo\n');
  const rules = s.rehearsal.requests().map(({ rule }) => rule);
  expect(rules.filter((rule) => ['named', 'offered', 'plain'].includes(rule ?? '')).sort()).toEqual(
    ['named', 'plain'],
  );
}, 120_000);

test('what a person saved and the proposal make a function stand twice: the merge is guarded again', async () => {
  setTo('ask');
  const rebased = async (path: string) => {
    const run = await start(path);
    expect((await s.settle(run)).proposal).toMatchObject({ findings: [] });
    s.write(path, BEFORE + twice(2));
    await s.answer(run, 'approve');
    expect((await s.settle(run)).status.decision).toMatchObject({ reason: 'conflict' });
    await s.answer(run, 'rebase');
    return { run, view: await s.settle(run) };
  };

  const shown = await rebased('shown.js');
  expect(shown.view.status.decision).toMatchObject({ reason: 'approval' });
  expect(shown.view.proposal).toMatchObject({
    findings: [{ guard: 'doubled_block', severity: 'ask', path: 'shown.js' }],
    mustAsk: expect.arrayContaining([
      'doubled_block in shown.js',
      'files changed after the proposal',
    ]),
  });
  await s.answer(shown.run, 'approve');
  expect(await s.end(shown.run)).toMatchObject({ outcome: 'applied' });
  expect(s.read('shown.js')).toBe(ONCE + twice(2));

  setTo('refuse');
  const stopped = await rebased('stopped.js');
  expect(stopped.view.status.decision).toMatchObject({
    reason: 'conflict',
    message: expect.stringContaining('the guard doubled_block refuses it'),
  });
  await s.answer(stopped.run, 'take_theirs');
  expect(await s.end(stopped.run)).toMatchObject({ outcome: 'skipped' });
  expect(s.read('stopped.js')).toBe(BEFORE + twice(2));
}, 120_000);

test('a person and the proposal change the same line: rebase writes nothing and shows both sides', async () => {
  setTo('note');
  const run = await start('both.js');
  await s.settle(run);
  const saved = BEFORE.replace('b = 2', 'b = 7');
  s.write('both.js', saved);
  await s.answer(run, 'approve');
  expect((await s.settle(run)).status.decision).toMatchObject({ reason: 'conflict' });
  await s.answer(run, 'rebase');
  const { decision } = (await s.settle(run)).status;
  expect(decision).toMatchObject({ reason: 'conflict', files: [{ path: 'both.js' }] });
  expect(decision?.message).toContain(
    'lines 3 to 3 of the file now and lines 3 to 3 of the proposal',
  );
  expect(decision?.message).toContain('(now: "const b = 7;"; proposal: "const b = 20;")');
  expect(s.read('both.js')).toBe(saved);
  await s.answer(run, 'take_theirs');
  expect(await s.end(run)).toMatchObject({ outcome: 'skipped' });
  expect(s.read('both.js')).toBe(saved);
}, 120_000);

test('a job in a workspace that a killed `emend patch` holds; then `emend undo` of applied and of committed runs', async () => {
  const child = transpile('engine', 'test/crash/patch-child.ts');
  const answer = join(s.home, '..', 'answer');
  writeFileSync(answer, 'FILE p.txt\nnew\nEND FILE\n');
  // After the point of no return: `p.txt` lies aside under its backup name.
  const patch = (plan: object) =>
    new Promise<{ signal: string | null }>((resolve) => {
      const args = [child.path, 'patch', s.repo, answer, JSON.stringify(plan)];
      execFile(process.execPath, args, { env: { ...s.env, NODE_OPTIONS: '' } }, (error) => {
        resolve({ signal: error?.signal ?? null });
      });
    });
  try {
    const aside = { only: ['rename'], below: s.repo };
    const killed = await patch({ at: 1, when: 'after', fault: 'kill', ...aside });
    expect(killed).toMatchObject({ signal: 'SIGKILL' });
  } finally {
    child.remove();
  }
  expect(existsSync(join(s.repo, 'p.txt'))).toBe(false);
  expect(await lockOf(s)).not.toBeNull();

  const applied = await start('a.js', AUTO);
  expect(await s.end(applied)).toMatchObject({ outcome: 'applied', files: ['a.js'] });
  expect((await s.events(applied)).map(({ type }) => type)).not.toContain('apply_busy');
  expect([s.read('p.txt'), s.read('a.js'), await lockOf(s)]).toEqual(['new\n', ONCE, null]);

  const id = applied.stepKey.slice(0, 8);
  s.write('a.js', `${ONCE}// mine\n`);
  const touched = await emendCommand(s, 'undo');
  expect(touched).toMatchObject({ code: 5, out: expect.stringContaining('a.js: expected a file') });
  expect(s.read('a.js')).toBe(`${ONCE}// mine\n`);
  s.write('a.js', ONCE);
  expect(await emendCommand(s, 'undo')).toMatchObject({
    code: 0,
    out: expect.stringContaining(`Undone: run ${id} `),
  });
  expect(s.read('a.js')).toBe(BEFORE);

  const committed = await start('b.js', AUTO, 'commit: true');
  expect(await s.end(committed)).toMatchObject({ outcome: 'committed' });
  const head = s.git('rev-parse', 'HEAD').trim();
  const revert = await emendCommand(s, 'undo');
  expect(revert).toMatchObject({ code: 4, out: expect.stringContaining(`  git revert ${head}\n`) });
  expect(s.read('b.js')).toBe(ONCE);
  // What it says to type does it.
  s.git('revert', '--no-edit', head);
  expect(s.read('b.js')).toBe(BEFORE);
}, 120_000);
