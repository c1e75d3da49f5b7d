import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { exitOfResult } from '../../src/cli/errors.js';
import type { ResolvedRun } from '../../src/client/index.js';
import { resultLines } from '../../src/cli/render/run.js';
import { numbered, scene, structured, whole, type Scene } from './support.js';
import { longOnly } from '../support/skipped.js';

const long = longOnly('each starts a run of its own; the tests that stay show the promise');

let open: Scene | null = null;
afterEach(async () => {
  await open?.close();
  open = null;
});

const front = (keys: string, text = '# Change it\n\nDo what is asked.\n'): string =>
  `---\n${keys}\n---\n${text}`;

/** The three that `npm test` has: one worker for all of them, as starting one takes longer than a run. */
const FILES = {
  'src/greet.js': 'export const greet = () => "hello";\n',
  ...Object.fromEntries(['a', 'b', 'c'].map((x) => [`${x}.js`, `const ${x} = 1;\n`])),
  'n.js': 'module.exports = 1;\n',
  'm.js': 'module.exports = 1;\n',
};
const RULES = [
  {
    name: 'edit',
    match: { contains: 'src/greet.js' },
    answer: whole({ 'src/greet.js': 'export const greet = () => "good day";\n' }),
  },
  {
    name: 'brief',
    match: { contains: 'Now write the brief' },
    answer: 'All constants become 2.\nEMEND-COMPLETE {{nonce}} 0 0\n',
  },
  {
    name: 'all',
    match: { contains: ['- a.js', '- b.js', '- c.js'] },
    answer: whole({ 'a.js': 'const a = 2;\n' }),
    fault: { kind: 'truncate' as const, bytes: 30 },
  },
  ...['a', 'b', 'c'].map((x) => ({
    name: x,
    match: { contains: [`- ${x}.js`, 'All constants become 2.'] },
    answer: whole({ [`${x}.js`]: `const ${x} = 2;\n` }),
  })),
  {
    name: 'revised',
    match: { contains: 'make it three' },
    answer: whole({ 'n.js': 'module.exports = 3;\n' }),
  },
  {
    name: 'wrong',
    match: { contains: '- n.js' },
    answer: whole({ 'n.js': 'module.exports = 2;\n' }),
  },
  {
    name: 'm wrong',
    match: { contains: '- m.js', times: 1 },
    answer: whole({ 'm.js': 'module.exports = 2;\n' }),
  },
  {
    name: 'm right',
    match: { contains: '- m.js' },
    answer: whole({ 'm.js': 'module.exports = 3;\n' }),
  },
];
let s: Scene;
let before = 0;
beforeAll(async () => {
  s = await scene(FILES, RULES);
  await s.worker();
});
afterAll(() => s.close());
beforeEach(() => {
  before = s.rehearsal.requests().length;
});
/** By which rule each request of this test was answered. */
const asked = () =>
  s.rehearsal
    .requests()
    .slice(before)
    .map(({ rule }) => rule);

/** How often the run has each of these events. */
const counts = async (
  run: ResolvedRun,
  ...types: readonly string[]
): Promise<readonly number[]> => {
  const events = await s.events(run);
  return types.map((type) => events.filter((event) => event.type === type).length);
};

describe('a job, end to end', () => {
  test('one file: proposed, approved, applied, verified, committed', async () => {
    const job = front(
      'target_files: [src/greet.js]\ntest: node --check src/greet.js\ncommit: true',
      '# Greet politely\n\nSay good day.\n',
    );
    const run = await s.start('job.md', job);
    const paused = await s.settle(run);
    expect(paused.status.decision?.reason).toBe('approval');
    expect(paused.proposal?.files).toMatchObject([
      { path: 'src/greet.js', change: 'edit', added: 1, removed: 1 },
    ]);
    // Tested before anybody is asked, with nothing applied.
    expect(paused.status.decision?.message).toContain('; tests of the proposal: pass: ');
    expect(s.read('src/greet.js')).toContain('hello');

    expect(await s.answer(run, 'approve')).toMatchObject({ outcome: 'resolved', via: 'update' });
    const result = await s.end(run);
    expect(result).toMatchObject({
      outcome: 'committed',
      files: ['src/greet.js'],
      verification: 'pass',
      wasSplit: false,
    });
    expect(s.read('src/greet.js')).toBe('export const greet = () => "good day";\n');
    const said = s
      .git('log', '-1', '--format=%s%n%(trailers:key=Emend-Step,valueonly)')
      .trim()
      .split('\n');
    expect(said).toEqual(['Greet politely', run.stepKey]);
    expect(s.git('status', '--porcelain', 'src')).toBe('');
    expect(asked()).toEqual(['edit']);
    const types = (await s.events(run)).map(({ type }) => type);
    const order = ['base_tested', 'verified', 'decided', 'applied', 'committed'];
    expect(types.filter((type) => order.includes(type))).toEqual(order);
  });

  test('a whole step is cut off, split by file, and each file is asked for alone with the brief', async () => {
    const run = await s.start(
      'job.md',
      front('target_files: [a.js, b.js, c.js]\nlimits: { maxFilesBeforeSplit: 3 }\napproval: auto'),
    );
    const result = await s.end(run);
    expect(result).toMatchObject({
      outcome: 'applied',
      files: ['a.js', 'b.js', 'c.js'],
      wasSplit: true,
      verification: 'no_tests',
      commit: null,
    });
    expect(['a.js', 'b.js', 'c.js'].map((path) => s.read(path)).join('')).toBe(
      'const a = 2;\nconst b = 2;\nconst c = 2;\n',
    );
    const types = (await s.events(run)).map((event) => event.type);
    const seen = (type: string): number => types.filter((each) => each === type).length;
    expect(seen('truncation_detected')).toBe(1);
    expect(seen('edit_split_triggered')).toBe(1);
    expect(seen('edit_chunk_started')).toBe(4);
    expect(seen('edit_chunk_completed')).toBe(3);
    expect(types[0]).toBe('preflight_complete');
    expect(asked()).toEqual(['all', 'brief', 'a', 'b', 'c']);
    // The second file's call sees the first one's accepted diff.
    expect(result.usage.calls).toBe(5);
  });

  long(
    'a file of each larger class: a diff that is refused and repaired, and, without search-replace, operations on checked lines',
    async () => {
      const files = {
        'mid.txt': numbered(700),
        'big.txt': numbered(3000),
        'emend.yaml': 'formats: { search-replace: false }\n',
      };
      const s = (open = await scene(files, [
        {
          name: 'brief',
          match: { contains: 'Now write the brief' },
          answer: 'Nothing shared.\nEMEND-COMPLETE {{nonce}} 0 0\n',
        },
        {
          name: 'mid-repaired',
          match: { contains: ['- mid.txt', 'Your last answer was refused'] },
          answer:
            '--- a/mid.txt\n+++ b/mid.txt\n@@ -600,3 +600,3 @@\n line 600\n-line 601\n+line six hundred and one\n line 602\nEMEND-COMPLETE {{nonce}} 1 1\n',
        },
        {
          name: 'mid',
          match: { contains: '- mid.txt' },
          answer:
            '--- a/mid.txt\n+++ b/mid.txt\n@@ -600,3 +600,3 @@\n line 600\n-line 6o1\n+line six hundred and one\n line 602\nEMEND-COMPLETE {{nonce}} 1 1\n',
        },
        {
          name: 'big',
          match: { contains: '- big.txt' },
          answer: structured([
            {
              type: 'replace',
              file_path: 'big.txt',
              start_line: '{{line:1500}}',
              end_line: '{{line:1500}}',
              content: 'line MD\n',
            },
          ]),
        },
      ]));
      await s.worker();
      const run = await s.start(
        'job.md',
        front('target_files: [mid.txt, big.txt]\napproval: auto\ncommit: Count on'),
      );
      const result = await s.end(run);
      expect(result).toMatchObject({
        outcome: 'committed',
        files: ['big.txt', 'mid.txt'],
        wasSplit: true,
      });
      expect(s.read('mid.txt')).toBe(
        numbered(700).replace('line 601\n', 'line six hundred and one\n'),
      );
      expect(s.read('big.txt')).toBe(numbered(3000).replace('line 1500\n', 'line MD\n'));
      const events = await s.events(run);
      expect(events.filter((event) => event.type === 'answer_refused')).toMatchObject([
        { file: 'mid.txt', outcome: 'refused', attempt: 1 },
      ]);
      expect(events.filter((event) => event.type === 'format_chosen')).toMatchObject([
        { file_path: 'mid.txt', bucket: 'B', line_count: 700, format: 'unified-diff' },
        { file_path: 'big.txt', bucket: 'C', line_count: 3000, format: 'structured-edit' },
      ]);
    },
  );

  test('a large file is shown without numbers and edited in blocks', async () => {
    const answer =
      'FILE: big.txt\nFIND:\nline 1500\nREPLACE:\nline MD\nEND {{nonce}}\nEMEND-COMPLETE {{nonce}} 1 1\n';
    const s = (open = await scene({ 'big.txt': numbered(3000) }, [
      { name: 'big', match: { contains: ['- big.txt', '\nline 1500\n'] }, answer },
    ]));
    await s.worker();
    const run = await s.start('job.md', front('target_files: [big.txt]\napproval: auto'));
    expect(await s.end(run)).toMatchObject({ outcome: 'applied', files: ['big.txt'] });
    expect(s.read('big.txt')).toBe(numbered(3000).replace('line 1500\n', 'line MD\n'));
    expect((await s.events(run)).filter((event) => event.type === 'format_chosen')).toMatchObject([
      { bucket: 'C', format: 'search-replace' },
    ]);
  });

  long('mode edit: FIND and REPLACE, with output keys beside it', async () => {
    const s = (open = await scene(
      { 'src/main.rs': 'struct A {\n        no_stream: bool,\n    },\n' },
      [
        {
          name: 'edit',
          match: { contains: 'src/main.rs' },
          answer:
            'FILE: src/main.rs\nFIND:\n        no_stream: bool,\n    },\nREPLACE:\n        no_stream: bool,\n        verbose: bool,\n    },\nEND {{nonce}}\nEMEND-COMPLETE {{nonce}} 1 1\n',
        },
      ],
    ));
    await s.worker();
    const run = await s.start(
      'job.md',
      front(
        'mode: edit\ntarget_files:\n  - src/main.rs\noutput_dir: src/\noutput_file: main.rs\napproval: auto',
      ),
    );
    expect(await s.end(run)).toMatchObject({ outcome: 'applied', files: ['src/main.rs'] });
    expect(s.read('src/main.rs')).toBe(
      'struct A {\n        no_stream: bool,\n        verbose: bool,\n    },\n',
    );
  });

  long(
    'NO-CHANGE: a file stays with the reason shown; without a reason the answer is refused; nothing else ends so',
    async () => {
      const none = (why: string) => `NO-CHANGE:${why}\nEMEND-COMPLETE {{nonce}} 0 0\n`;
      const files = { 'a.txt': 'one\n', 'b.txt': 'two\n' };
      const s = (open = await scene(files, [
        {
          name: 'a again',
          match: { contains: ['- a.txt', '(no_edits)'] },
          answer: none(' a.txt says one already.'),
        },
        { name: 'a without a reason', match: { contains: '- a.txt' }, answer: none('') },
        { name: 'b', match: { contains: ['- b.txt', 'Alone'] }, answer: none(' b.txt is right.') },
        { name: 'b too', match: { contains: '- b.txt' }, answer: whole({ 'b.txt': 'three\n' }) },
      ]));
      await s.worker();
      const keys = 'limits: { maxFilesBeforeSplit: 1 }\napproval: auto';
      const both = await s.start('both.md', front(`target_files: [a.txt, b.txt]\n${keys}`));
      const reason = 'a.txt says one already.';
      expect(await s.end(both)).toMatchObject({
        outcome: 'applied',
        files: ['b.txt'],
        unchanged: [{ path: 'a.txt', reason }],
      });
      const shown = await s.show(both);
      expect(shown.ledger).toMatchObject([
        { path: 'a.txt', status: 'done', attempts: 2, reason: `unchanged: ${reason}` },
        { path: 'b.txt', status: 'done', attempts: 1, reason: null },
      ]);
      const told = await s.events(both);
      expect(told.filter(({ type }) => type === 'answer_refused')).toMatchObject([
        { outcome: 'invalid', attempt: 1 },
      ]);
      expect(told).toContainEqual(
        expect.objectContaining({ type: 'edit_chunk_completed', file: 'a.txt', unchanged: reason }),
      );

      const alone = await s.start(
        'alone.md',
        front('target_files: [b.txt]\napproval: auto', '# Alone\n\nDo it.\n'),
      );
      const result = await s.end(alone);
      expect(result).toMatchObject({
        outcome: 'unchanged',
        unchanged: [{ path: 'b.txt', reason: 'b.txt is right.' }],
      });
      expect(resultLines(result, 'x', '/w')).toContain('  unchanged: b.txt: b.txt is right.');
      expect(exitOfResult(result)).toBe(0);
    },
  );

  long('a file that comes back as it was is asked for once more', async () => {
    const files = { 'a.txt': 'one\n', 'b.txt': 'two\n' };
    const s = (open = await scene(files, [
      {
        name: 'a told',
        match: { contains: ['- a.txt', 'The answer repeats'] },
        answer: whole({ 'a.txt': '1\n' }),
      },
      { name: 'a', match: { contains: '- a.txt' }, answer: whole({ 'a.txt': 'one\n' }) },
      {
        name: 'b, told or not',
        match: { contains: '- b.txt' },
        answer: whole({ 'b.txt': 'two\n' }),
      },
    ]));
    await s.worker();
    const keys = 'limits: { maxFilesBeforeSplit: 1 }\napproval: auto';
    const both = await s.start('both.md', front(`target_files: [a.txt, b.txt]\n${keys}`));
    expect(await s.end(both)).toMatchObject({ outcome: 'applied', files: ['a.txt'] });
    expect((await s.show(both)).ledger).toMatchObject([
      { path: 'a.txt', status: 'done', attempts: 2 },
      { path: 'b.txt', status: 'done', attempts: 2 },
    ]);
  });

  long('sequential: new files one after the other, the second sees the first', async () => {
    const s = (open = await scene({ 'readme.txt': 'x\n' }, [
      {
        name: 'two',
        match: { contains: ['- lib/two.js', 'export const one = 1;'] },
        answer: whole({
          'lib/two.js': 'import { one } from "./one.js";\nexport const two = one + 1;\n',
        }),
      },
      {
        name: 'one',
        match: { contains: '- lib/one.js' },
        answer: whole({ 'lib/one.js': 'export const one = 1;\n' }),
      },
    ]));
    await s.worker();
    const run = await s.start(
      'job.md',
      front(
        'mode: sequential\noutput_dir: lib\noutput_files: [one.js, two.js]\ncommit: true\napproval: auto',
      ),
    );
    expect(await s.end(run)).toMatchObject({
      outcome: 'committed',
      files: ['lib/one.js', 'lib/two.js'],
    });
    expect(s.read('lib/two.js')).toContain('one + 1');
    expect(s.rehearsal.requests().map((request) => request.rule)).toEqual(['one', 'two']);
    expect(s.git('show', '--stat', '--format=%s', 'HEAD')).toContain('lib/two.js');
  });

  long(
    'standard: whole new files into output_dir in one call, with a context file to go by',
    async () => {
      const s = (open = await scene({ 'style.md': 'Constants in capitals.\n' }, [
        {
          name: 'both',
          match: { contains: ['- lib/a.js', '- lib/b.js', 'Constants in capitals.'] },
          answer: whole({
            'lib/a.js': 'export const A = 1;\n',
            'lib/b.js': 'export const B = 2;\n',
          }),
        },
      ]));
      await s.worker();
      const run = await s.start(
        'job.md',
        front(
          'context_files: [style.md]\noutput_dir: lib\noutput_files: [a.js, b.js]\nlimits: { maxFilesBeforeSplit: 2 }\napproval: auto',
        ),
      );
      expect(await s.end(run)).toMatchObject({
        outcome: 'applied',
        files: ['lib/a.js', 'lib/b.js'],
        wasSplit: false,
      });
      expect(s.read('lib/a.js') + s.read('lib/b.js')).toBe(
        'export const A = 1;\nexport const B = 2;\n',
      );
      expect(s.rehearsal.requests()).toHaveLength(1);
    },
  );

  long('two files swap their names in one diff: approved, applied and committed', async () => {
    const answer = [
      'diff --git a/one.js b/two.js\nsimilarity index 50%\nrename from one.js\nrename to two.js\n',
      '--- a/one.js\n+++ b/two.js\n@@ -1,2 +1,2 @@\n-const one = 1;\n+const first = 1;\n const same = 0;\n',
      'diff --git a/two.js b/one.js\nsimilarity index 100%\nrename from two.js\nrename to one.js\n',
      'EMEND-COMPLETE {{nonce}} 2 1\n',
    ].join('');
    const s = (open = await scene(
      { 'one.js': 'const one = 1;\nconst same = 0;\n', 'two.js': 'const two = 2;\n' },
      [{ name: 'swap', match: { contains: ['- one.js', '- two.js'] }, answer }],
    ));
    await s.worker();
    const keys =
      'target_files: [one.js, two.js]\nformat: unified-diff\nlimits: { maxFilesBeforeSplit: 2 }\ncommit: true';
    const run = await s.start('job.md', front(keys));
    const paused = await s.settle(run);
    expect(paused.proposal?.files.map(({ path, change }) => `${change} ${path}`)).toEqual([
      'move one.js',
      'move two.js',
    ]);
    await s.answer(run, 'approve');
    expect(await s.end(run)).toMatchObject({ outcome: 'committed', files: ['one.js', 'two.js'] });
    expect(s.git('show', 'HEAD:one.js') + s.git('show', 'HEAD:two.js')).toBe(
      s.read('one.js') + s.read('two.js'),
    );
    expect([s.read('one.js'), s.read('two.js')]).toEqual([
      'const two = 2;\n',
      'const first = 1;\nconst same = 0;\n',
    ]);
  });

  long('files called as what every object has are files like any other', async () => {
    const names = ['__proto__', 'constructor', 'toString', 'src/__proto__'];
    const all = (text: string) => Object.fromEntries(names.map((name) => [name, text]));
    const s = (open = await scene(all('one\n'), [
      {
        name: 'brief',
        match: { contains: 'Now write the brief' },
        answer: 'Two.\nEMEND-COMPLETE {{nonce}} 0 0\n',
      },
      ...names.map((name) => ({
        name,
        match: { contains: `- ${name}` },
        answer: whole({ [name]: 'two\n' }),
      })),
    ]));
    await s.worker();
    const run = await s.start(
      'job.md',
      front(`target_files: [${names.join(', ')}]\ncommit: true\napproval: auto`),
    );
    expect(await s.end(run)).toMatchObject({ outcome: 'committed', files: names.sort() });
    for (const name of names) expect(s.read(name)).toBe('two\n');
  });

  long('no file named: the model picks from the list, and only from it', async () => {
    const s = (open = await scene(
      { 'x.js': 'const x = 1;\n', 'y.js': 'const y = 1;\n', '.env': 'SECRET_TOKEN=abc\n' },
      [
        {
          name: 'pick',
          match: { contains: 'Files of the project' },
          answer:
            '{"files": [{"path": "y.js", "why": "holds it"}, {"path": "../etc/passwd"}, {"path": ".env"}]}\nEMEND-COMPLETE {{nonce}} 0 0\n',
        },
        {
          name: 'edit',
          match: { contains: '- y.js' },
          answer: whole({ 'y.js': 'const y = 2;\n' }),
        },
      ],
    ));
    await s.worker();
    const run = await s.start('job.md', '# Raise it\n\nThe second constant shall be two.\n');
    const paused = await s.settle(run);
    expect(paused.proposal?.files.map((file) => file.path)).toEqual(['y.js']);
    expect(JSON.stringify(s.rehearsal.requests())).not.toContain('SECRET_TOKEN');
    await s.answer(run, 'skip');
    expect(await s.end(run)).toMatchObject({ outcome: 'skipped', files: [] });
    expect(s.read('y.js')).toBe('const y = 1;\n');
  });

  test('tests of the proposal fail: asked again with nothing applied; the same failure again asks the reviewer; revise mends it', async () => {
    const check = `node -e "require('assert').strictEqual(require('./n.js'), 3)"`;
    const run = await s.start(
      'job.md',
      front(
        `target_files: [n.js]\nbaseline: fix\ntest: ${JSON.stringify(check)}\ncommit: true\napproval: auto`,
      ),
    );
    const failed = await s.settle(run);
    expect(failed.status.decision?.reason).toBe('tests_failed');
    expect(s.read('n.js')).toBe('module.exports = 1;\n');
    expect(asked()).toEqual(['wrong', 'wrong']);
    expect(await counts(run, 'verified', 'applied', 'rolled_back')).toEqual([2, 0, 0]);
    await s.answer(run, 'revise', { note: 'make it three' });
    expect(await s.end(run)).toMatchObject({ outcome: 'committed', verification: 'pass' });
    expect(s.read('n.js')).toBe('module.exports = 3;\n');
    expect(await counts(run, 'verified', 'applied', 'rolled_back')).toEqual([3, 1, 0]);
  });

  test('without a sandbox the tests run after the apply: failures are rolled back, and the approval says so', async () => {
    const check = `node -e "require('assert').strictEqual(require('./m.js'), 3)"`;
    const run = await s.start(
      'job.md',
      front(
        `target_files: [m.js]\nsandbox: off\nbaseline: fix\ntest: ${JSON.stringify(check)}\ncommit: true`,
      ),
    );
    const paused = await s.settle(run);
    expect(paused.status.decision?.message).toContain(
      '; the tests run in the workspace after the change is applied: `sandbox: off`',
    );
    expect(await counts(run, 'verified', 'applied')).toEqual([0, 0]);
    await s.answer(run, 'approve');
    const again = await s.settle(run);
    expect(again.status.decision?.reason).toBe('approval');
    expect(s.read('m.js')).toBe('module.exports = 1;\n');
    expect(await counts(run, 'verified', 'applied', 'rolled_back')).toEqual([1, 1, 1]);
    await s.answer(run, 'approve');
    expect(await s.end(run)).toMatchObject({ outcome: 'committed', verification: 'pass' });
    expect(asked()).toEqual(['m wrong', 'm right']);
    expect(s.read('m.js')).toBe('module.exports = 3;\n');
    expect(await counts(run, 'verified', 'applied', 'rolled_back')).toEqual([2, 2, 1]);
  });
});
