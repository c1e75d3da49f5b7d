/** What guards find in an answer goes to the model first; a person is asked about what it leaves. */
import { linkSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, test } from '@jest/globals';
import { scene, whole, type Scene } from './support.js';
import { longOnly } from '../support/skipped.js';

const long = longOnly('each starts a run of its own; the tests that stay show the promise');

let open: Scene | null = null;
afterEach(async () => {
  await open?.close();
  open = null;
});

const A = 'def calc(x):\n    return x + 1\n';
const B = 'from a import calc\n\nprint(calc(2))\n';
const C = 'import a\n\nprint(a.calc(3))\n';
const renamed = (text: string): string => text.replaceAll('calc', 'compute');
const once = (name: string, answer: string) => ({ name, match: { times: 1 }, answer });
const job = (front: string): string =>
  `---\n${front}\napproval: auto\ncommit: true\n---\n# Rename calc to compute everywhere\n`;
const refusals = async (
  s: Scene,
  run: Parameters<Scene['events']>[0],
): Promise<readonly string[]> =>
  (await s.events(run)).flatMap((event) =>
    event.type === 'answer_refused' ? [`${event.file} ${event.outcome} ${event.attempt}`] : [],
  );

test('a name that is left behind: its file is asked for again, a use outside of the targets goes to the person', async () => {
  const s = (open = await scene(
    { 'a.py': A, 'b.py': B, 'c.py': C, 'notes.md': 'calc stays in prose\n' },
    [
      {
        name: 'brief',
        match: { contains: 'Now write the brief' },
        answer: 'calc becomes compute.\nEMEND-COMPLETE {{nonce}}\n',
      },
      once('a', whole({ 'a.py': renamed(A) })),
      once('b forgets', 'NO-CHANGE: b.py is right.\nEMEND-COMPLETE {{nonce}} 0 0\n'),
      {
        name: 'b',
        match: { contains: 'Its name is still used: b.py:1, b.py:3, c.py:3.', times: 1 },
        answer: whole({ 'b.py': renamed(B) }),
      },
    ],
  ));
  await s.worker();
  const run = await s.start('job.md', job('target_files: [a.py, b.py]'));
  const view = await s.settle(run);
  expect(s.rehearsal.requests().map(({ rule }) => rule)).toEqual(['brief', 'a', 'b forgets', 'b']);
  expect(await refusals(s, run)).toEqual(['b.py findings 1']);
  expect(view.status.decision?.message).toContain('dangling_reference in a.py');
  expect(view.proposal?.findings).toContainEqual(
    expect.objectContaining({
      guard: 'dangling_reference',
      message: expect.stringMatching(
        /^calc \(function, line 1 .* Its name is still used: c\.py:3\.$/,
      ) as unknown,
    }),
  );
  await s.answer(run, 'approve');
  expect(await s.end(run)).toMatchObject({ outcome: 'committed', usage: { calls: 4 } });
  expect([s.read('a.py'), s.read('b.py')]).toEqual([renamed(A), renamed(B)]);
});

test('JSON that no longer parses goes to the model; a file with another name goes to the reviewer', async () => {
  const base = '{\n  "version": "1.0.0"\n}\n';
  const corrected = base.replace('1.0.0', '1.0.1');
  const s = (open = await scene({ 'package.json': base }, [
    once('a trailing comma', whole({ 'package.json': corrected.replace('1"', '1",') })),
    {
      name: 'without it',
      match: { contains: 'Line 3 of the new package.json is not valid (JSON)', times: 1 },
      answer: whole({ 'package.json': corrected }),
    },
  ]));
  linkSync(join(s.repo, 'package.json'), join(s.home, 'other.json'));
  await s.worker();
  const run = await s.start('job.md', job('target_files: [package.json]'));
  const view = await s.settle(run);
  expect(s.rehearsal.requests().map(({ rule }) => rule)).toEqual([
    'a trailing comma',
    'without it',
  ]);
  expect(await refusals(s, run)).toEqual(['package.json findings 1']);
  expect(view.proposal?.findings.map(({ guard, severity }) => `${guard} ${severity}`)).toEqual([
    'hard_link ask',
  ]);
  await s.answer(run, 'approve');
  expect(await s.end(run)).toMatchObject({ outcome: 'committed' });
  expect(s.read('package.json')).toBe(corrected);
});

const LONG = `"""What this module does,\nand why."""\n\n${Array.from({ length: 8 }, (_, i) => `LINE_${i} = ${i}\n`).join('')}LIMIT = 1\n`;
const wanted = LONG.replace('LIMIT = 1', 'LIMIT = 2');
const lost = wanted.slice(wanted.indexOf('LINE_0'));

long(
  'lines that a whole file lost: mended by the second answer, and applied without a person',
  async () => {
    const s = (open = await scene({ 'm.py': LONG }, [
      once('loses the docstring', whole({ 'm.py': lost })),
      { name: 'mended', match: { contains: 'distant_removal' }, answer: whole({ 'm.py': wanted }) },
    ]));
    await s.worker();
    const run = await s.start('job.md', job('target_files: [m.py]'));
    expect(await s.end(run)).toMatchObject({ outcome: 'committed', usage: { calls: 2 } });
    expect(s.read('m.py')).toBe(wanted);
  },
);

long(
  'the same answer twice is meant: the person is asked; with repair: false at once',
  async () => {
    const s = (open = await scene({ 'm.py': LONG }, [
      { name: 'loses it', match: {}, answer: whole({ 'm.py': lost }) },
    ]));
    await s.worker();
    for (const [name, front, calls] of [
      ['twice.md', 'target_files: [m.py]', 2],
      ['once.md', 'target_files: [m.py]\nrepair: false', 1],
    ] as const) {
      const run = await s.start(name, job(front));
      const view = await s.settle(run);
      expect(view.status).toMatchObject({ decision: { reason: 'approval' }, usage: { calls } });
      expect(view.status.decision?.message).toContain('distant_removal in m.py');
      await s.answer(run, 'skip');
      await s.end(run);
    }
  },
);

long(
  'a private method that is renamed where it is defined, and not where it is called',
  async () => {
    const before =
      'class A {\n  #old() {\n    return 1;\n  }\n  run() {\n    return this.#old();\n  }\n}\nnew A().run();\n';
    const half = before.replace('#old() {', '#now() {');
    const s = (open = await scene({ 'a.js': before }, [
      once('half', whole({ 'a.js': half })),
      {
        name: 'all',
        match: { contains: 'a.js:6.' },
        answer: whole({ 'a.js': before.replaceAll('#old', '#now') }),
      },
    ]));
    await s.worker();
    const run = await s.start(
      'job.md',
      job('target_files: [a.js]').replace('calc to compute', '#old to #now'),
    );
    expect(await s.end(run)).toMatchObject({ outcome: 'committed', usage: { calls: 2 } });
    expect(s.read('a.js')).toContain('this.#now()');
  },
);
