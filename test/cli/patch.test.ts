/** `emend patch` and `emend undo` as a person runs them, in this process; patch-kill.test.ts kills them. */
import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { main } from '../../src/cli/main.js';
import { realSys } from '../../src/system/sys.js';
import { openRecord } from '../../src/workspace/apply/record.js';
import { damaged } from '../support/json-schema.js';
import { sampled } from '../support/seeded.js';
import { fakeIo } from './io.js';

let dir: string;
let work: string;
beforeEach(() => {
  dir = realpathSync(mkdtempSync(join(tmpdir(), 'emend patch ')));
  work = join(dir, 'work');
  mkdirSync(work);
});
afterEach(() => {
  rmSync(dir, { recursive: true, force: true });
});

const put = (path: string, text: string | Uint8Array): void => {
  mkdirSync(dirname(join(work, path)), { recursive: true });
  writeFileSync(join(work, path), text);
};
const get = (path: string): string => readFileSync(join(work, path), 'latin1');
const home = (): string => join(dir, 'home');
const env = () => ({
  EMEND_HOME: home(),
  HOME: dir,
  PATH: process.env.PATH,
  GIT_CONFIG_NOSYSTEM: '1',
});
const git = (...args: string[]): string =>
  execFileSync('git', ['-c', 'user.name=t', '-c', 'user.email=t@localhost', ...args], {
    cwd: work,
    encoding: 'utf8',
    env: env(),
    stdio: ['pipe', 'pipe', 'pipe'],
  });

const emend = async (args: readonly string[], stdin = '', cwd = work) => {
  const io = fakeIo({ env: env(), cwd, stdin: Buffer.from(stdin, 'latin1') });
  const exit = await main(args, io);
  return { exit, ...io.printed };
};
const patch = (answer: string, ...more: string[]) => emend(['patch', '-', ...more], answer);
const jsonOf = ({ out }: { out: string }): Record<string, unknown> =>
  JSON.parse(out) as Record<string, unknown>;

const DIFF = '--- a/a.txt\n+++ b/a.txt\n@@ -1,3 +1,3 @@\n one\n-two\n+TWO\n three\n';

describe('emend patch', () => {
  test('a new name that is another in other letters is told; one that emend.yaml refuses is not made', async () => {
    put('Readme.md', 'hello\n');
    put('docs/a.md', 'a\n');
    const answer = (path: string): string => `FILE ${path}\nnew\nEND FILE\n`;
    expect((await patch(answer('README.MD'), '--check')).err).toContain(
      'README.MD is new, and Readme.md is the same name where letter case is ignored',
    );
    expect((await patch(answer('Docs/b.md'), '--check')).err).toContain(
      'Docs is new, and docs is the same name',
    );
    expect((await patch(answer('docs/b.md'), '--check')).err).not.toContain('is new, and');
    put('emend.yaml', 'guards: { file_name: refuse }\n');
    expect(await patch(answer('DOCS/b.md'))).toMatchObject({ exit: 4 });
    expect(existsSync(join(work, 'DOCS'))).toBe(false);
  });

  test('a path with a prefix means the only file that it can; new files end their lines each as its path wants', async () => {
    put('src/a.txt', 'one\n');
    put('b/a.bat', 'x\r\n');
    const edit = (path: string, before: string, after: string): string =>
      JSON.stringify({ file_path: path, old_string: before, new_string: after });
    const answer = [
      edit(join(work, 'src/a.txt'), 'one', 'two'),
      edit('src/n.txt', '', 'n\n'),
      edit('b/n.bat', '', 'n\n'),
    ];
    expect(await patch(answer.join('\n'))).toMatchObject({ exit: 0 });
    expect([get('src/a.txt'), get('src/n.txt'), get('b/n.bat')]).toEqual(['two\n', 'n\n', 'n\r\n']);
    const second = 'FILE a.txt\ntwo\nthree\nEND FILE\n';
    put('src/a.txt', 'two\nthree\n');
    const refusal = await patch(second);
    expect(refusal).toMatchObject({ exit: 4 });
    expect(existsSync(join(work, 'a.txt'))).toBe(false);
  });

  test('a file with another name (hard link) is refused, unless emend.yaml lets the names part', async () => {
    put('a.txt', 'one\ntwo\nthree\n');
    linkSync(join(work, 'a.txt'), join(work, 'b.txt'));
    const refused = await patch(DIFF);
    expect(refused).toMatchObject({
      exit: 4,
      out: expect.stringContaining('a.txt is a hard link'),
    });
    expect(get('a.txt')).toBe('one\ntwo\nthree\n');
    put('emend.yaml', 'guards: { hard_link: note }\n');
    expect(await patch(DIFF)).toMatchObject({ exit: 0 });
    expect([get('a.txt'), get('b.txt')]).toEqual(['one\nTWO\nthree\n', 'one\ntwo\nthree\n']);
  });

  test('a pointer of Git LFS is refused as in a job; it may be deleted', async () => {
    const pointer = `version https://git-lfs.github.com/spec/v1\noid sha256:${'4d7a2146'.repeat(8)}\nsize 1\n`;
    put('a.csv', pointer);
    const answer = 'a.csv\n<<<<<<< SEARCH\nsize 1\n=======\nsize 2\n>>>>>>> REPLACE\n';
    const words =
      'a.csv is a pointer of Git LFS, not what the file holds. Fetch it with `git lfs pull`';
    expect(await patch(answer)).toMatchObject({ exit: 4, out: expect.stringContaining(words) });
    // The text of the file itself is not there to be found.
    expect(await patch(answer.replace('size 1', 'x,y'))).toMatchObject({
      exit: 4,
      out: expect.stringContaining(words),
    });
    expect(get('a.csv')).toBe(pointer);
    const gone = '*** Begin Patch\n*** Delete File: a.csv\n*** End Patch\n';
    expect(await patch(gone)).toMatchObject({ exit: 0 });
    expect(existsSync(join(work, 'a.csv'))).toBe(false);
  });

  test('what a sparse checkout leaves out is refused as in a job, new or edited', async () => {
    git('init', '-q');
    put('lib/a.txt', 'a\n');
    put('docs/d.txt', 'd\n');
    git('add', '.');
    git('commit', '-qm', 'a');
    git('sparse-checkout', 'set', '--no-cone', '/lib/');
    const words = 'docs/d.txt is tracked by git but outside the sparse checkout (skip-worktree).';
    const edit = 'docs/d.txt\n<<<<<<< SEARCH\nd\n=======\ne\n>>>>>>> REPLACE\n';
    for (const answer of ['FILE docs/d.txt\nnew\nEND FILE\n', edit])
      expect(await patch(answer)).toMatchObject({ exit: 4, out: expect.stringContaining(words) });
    expect(existsSync(join(work, 'docs'))).toBe(false);
    expect(await patch('FILE lib/b.txt\nnew\nEND FILE\n')).toMatchObject({ exit: 0 });
  });

  test('JSON that no longer parses is reported, and emend.yaml can refuse it', async () => {
    put('package.json', '{\n  "version": "1.0.0"\n}\n');
    const answer =
      'package.json\n<<<<<<< SEARCH\n  "version": "1.0.0"\n=======\n  "version": "1.0.1",\n>>>>>>> REPLACE\n';
    const words = 'Line 3 of the new package.json is not valid (JSON)';
    expect((await patch(answer, '--check')).err).toContain(words);
    put('emend.yaml', 'guards: { syntax: refuse }\n');
    expect(await patch(answer)).toMatchObject({ exit: 4, out: expect.stringContaining(words) });
  });

  test('a git directory is refused whatever it is called, and so is work in one', async () => {
    git('init', '-q', '--separate-git-dir=.repo', '.');
    git('init', '-q', '--bare', 'bare.git');
    const hook = (dir: string): string => `FILE ${dir}hooks/post-commit\nnew\nEND FILE\n`;
    for (const place of ['.repo/', 'bare.git/'])
      expect(await patch(hook(place))).toMatchObject({
        exit: 4,
        out: expect.stringContaining('in a `.git` folder'),
      });
    for (const place of ['.repo', 'bare.git', 'bare.git/hooks']) {
      const said = {
        exit: 2,
        err: expect.stringContaining(`The workspace ${join(work, place)} is in a git directory`),
      };
      expect(await emend(['patch', '-'], hook(''), join(work, place))).toMatchObject(said);
    }
    expect(
      ['.repo', 'bare.git'].filter((place) => existsSync(join(work, place, 'hooks/post-commit'))),
    ).toEqual([]);
    // A working tree may lie in one.
    put('a.txt', 'a\n');
    git('add', 'a.txt');
    git('commit', '-qm', 'a');
    git('push', '-q', 'bare.git', 'HEAD:refs/heads/tree');
    git('-C', 'bare.git', 'worktree', 'add', '-q', 'tree', 'tree');
    expect(
      await emend(['patch', '-'], 'FILE b.txt\nb\nEND FILE\n', join(work, 'bare.git/tree')),
    ).toMatchObject({
      exit: 0,
    });
  });

  test('applies a diff from stdin outside git, and undo puts it back byte for byte', async () => {
    put('a.txt', 'one\r\ntwo\r\nthree');
    const done = await patch(DIFF.replace('@@ -1,3 +1,3', '@@ -5,3 +5,3'));
    expect(done).toEqual({
      exit: 0,
      out: `  a.txt  edit  +1  -1
  used line_drift in a.txt:1: right text, wrong line number
Applied to 1 file in ${work}. \`emend undo\` reverts it.
`,
      err: '',
    });
    expect(get('a.txt')).toBe('one\r\nTWO\r\nthree');
    expect(await emend(['undo'])).toMatchObject({ exit: 0, err: '' });
    expect(get('a.txt')).toBe('one\r\ntwo\r\nthree');
    const again = await emend(['undo']);
    expect(again).toMatchObject({ exit: 0, out: `Nothing to undo in ${work}.\n` });
    expect(readdirSync(work)).toEqual(['a.txt']);
  });

  const TOLD = [
    ['whole-file', 'FILE a.txt\none\nTWO\nthree\nEND FILE\nEMEND-COMPLETE 1 1\n'],
    ['whole-file', 'FILE a.txt k3f9\none\nTWO\nthree\nEND FILE k3f9\nEMEND-COMPLETE k3f9 1 1\n'],
    ['unified-diff', DIFF],
    ['unified-diff', `Here you are:\n\`\`\`diff\n${DIFF}\`\`\`\n`],
    [
      'structured-edit',
      '{"operations":[{"type":"replace","file_path":"a.txt","start_line":2,"end_line":2,"content":"TWO\\n"}]}',
    ],
    ['search-replace', 'FILE: a.txt\nFIND:\ntwo\nREPLACE:\nTWO\nEND\n'],
    ['search-blocks', 'a.txt\n<<<<<<< SEARCH\ntwo\n=======\nTWO\n>>>>>>> REPLACE\n'],
    [
      'begin-patch',
      '*** Begin Patch\n*** Update File: a.txt\n@@\n one\n-two\n+TWO\n*** End Patch\n',
    ],
    ['string-replace', '{ "file_path": "a.txt", "old_string": "two", "new_string": "TWO" }'],
  ] as const;
  test.each(sampled('formats told', TOLD, 3))(
    'tells %s by its first lines',
    async (format, answer) => {
      put('a.txt', 'one\ntwo\nthree\n');
      const done = await patch(answer, '--json');
      expect(jsonOf(done)).toMatchObject({
        v: 1,
        outcome: 'applied',
        format,
        exit: 0,
        checked: false,
      });
      expect(get('a.txt')).toBe('one\nTWO\nthree\n');
    },
  );

  test('--check writes nothing, not even a home, and its stdout is what git apply takes', async () => {
    put('a.txt', 'one\ntwo\nthree\n');
    put('old.sh', '#!/bin/sh\n');
    const answer = `${DIFF}diff --git a/new.txt b/new.txt\nnew file mode 100755\n--- /dev/null\n+++ b/new.txt\n@@ -0,0 +1 @@\n+x\ndiff --git a/old.sh b/old.sh\ndeleted file mode 100644\n--- a/old.sh\n+++ /dev/null\n@@ -1 +0,0 @@\n-#!/bin/sh\n`;
    const checked = await patch(answer, '--check');
    expect(checked.exit).toBe(0);
    expect(checked.err).toContain('Would apply to 3 files');
    expect(existsSync(home())).toBe(false);
    expect(readdirSync(work).sort()).toEqual(['a.txt', 'old.sh']);
    expect(get('a.txt')).toBe('one\ntwo\nthree\n');
    git('init', '-q');
    execFileSync('git', ['apply', '-'], { cwd: work, input: checked.out });
    expect(get('a.txt')).toBe('one\nTWO\nthree\n');
    expect(readdirSync(work).sort()).toEqual(['.git', 'a.txt', 'new.txt']);
    expect(statSync(join(work, 'new.txt')).mode & 0o111).not.toBe(0);
  });

  test('a binary file is moved byte for byte and deleted, and undo takes both back', async () => {
    const bytes = '\x89PNG\r\n\x1a\n\0\xff\xfe';
    put('logo.png', Buffer.from(bytes, 'latin1'));
    put('old.png', Buffer.from([0, 1, 2]));
    const moved = 'rename from logo.png\nrename to assets/logo.png\n';
    const answer = `diff --git a/logo.png b/assets/logo.png\nsimilarity index 100%\n${moved}diff --git a/old.png b/old.png\ndeleted file mode 100644\nindex 1111111..0000000\nBinary files a/old.png and /dev/null differ\n`;
    const done = await patch(answer, '--json');
    expect(jsonOf(done)).toMatchObject({
      outcome: 'applied',
      files: [
        { path: 'assets/logo.png', change: 'move', from: 'logo.png', added: 0, removed: 0 },
        { path: 'old.png', change: 'delete', added: 0, removed: 0 },
      ],
      diff: expect.stringContaining(moved),
    });
    expect(get('assets/logo.png')).toBe(bytes);
    expect([existsSync(join(work, 'logo.png')), existsSync(join(work, 'old.png'))]).toEqual([
      false,
      false,
    ]);
    expect((await emend(['undo'])).exit).toBe(0);
    expect([get('logo.png'), get('old.png')]).toEqual([bytes, '\0\x01\x02']);
    expect(existsSync(join(work, 'assets'))).toBe(false);
  });

  test('a deleted and a similar new file are one move', async () => {
    const text = Array.from({ length: 10 }, (_, i) => `line ${i}\n`).join('');
    put('old.txt', text);
    const added = text.replace('line 3', 'third').trimEnd().replace(/^/gm, '+');
    const answer = `*** Begin Patch\n*** Delete File: old.txt\n*** Add File: docs/new.txt\n${added}\n*** End Patch\n`;
    expect(jsonOf(await patch(answer, '--json'))).toMatchObject({
      outcome: 'applied',
      files: [{ path: 'docs/new.txt', change: 'move', from: 'old.txt', added: 1, removed: 1 }],
      findings: [],
    });
    expect(existsSync(join(work, 'old.txt'))).toBe(false);
  });

  test('makes, deletes, moves and sets modes; undo takes all of it back, made folders too', async () => {
    put('a.sh', '#!/bin/sh\n');
    put('keep/b.txt', 'b\n');
    put('gone.txt', 'x\n');
    chmodSync(join(work, 'gone.txt'), 0o640);
    const answer = [
      'diff --git a/a.sh b/a.sh\nold mode 100644\nnew mode 100755\n',
      'diff --git a/keep/b.txt b/far/away/b.txt\nsimilarity index 100%\nrename from keep/b.txt\nrename to far/away/b.txt\n',
      'diff --git a/gone.txt b/gone.txt\ndeleted file mode 100644\n--- a/gone.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n',
      'diff --git a/n/new.txt b/n/new.txt\nnew file mode 100644\n--- /dev/null\n+++ b/n/new.txt\n@@ -0,0 +1 @@\n+n\n',
    ].join('');
    const done = jsonOf(await patch(answer, '--json'));
    expect(done).toMatchObject({
      outcome: 'applied',
      files: [
        { path: 'a.sh', change: 'edit' },
        { path: 'far/away/b.txt', change: 'move', from: 'keep/b.txt' },
        { path: 'gone.txt', change: 'delete', removed: 1 },
        { path: 'n/new.txt', change: 'create', added: 1 },
      ],
    });
    expect(statSync(join(work, 'a.sh')).mode & 0o777).toBe(0o755);
    expect([existsSync(join(work, 'gone.txt')), existsSync(join(work, 'keep/b.txt'))]).toEqual([
      false,
      false,
    ]);
    expect(await emend(['undo'])).toMatchObject({ exit: 0 });
    expect(readdirSync(work).sort()).toEqual(['a.sh', 'gone.txt', 'keep']);
    expect(statSync(join(work, 'gone.txt')).mode & 0o777).toBe(0o640);
    expect(statSync(join(work, 'a.sh')).mode & 0o111).toBe(0);
    expect(get('keep/b.txt')).toBe('b\n');
  });

  test('two files that swap their names: git applies the printed diff to the same bytes, and undo swaps back', async () => {
    const rename = (from: string, to: string, hunk = ''): string =>
      `diff --git a/${from} b/${to}\nsimilarity index 60%\nrename from ${from}\nrename to ${to}\n${hunk}`;
    put('a.txt', 'one\nsame\n');
    put('b.txt', 'two\n');
    const answer =
      rename('a.txt', 'b.txt', '--- a/a.txt\n+++ b/b.txt\n@@ -1,2 +1,2 @@\n-one\n+ONE\n same\n') +
      rename('b.txt', 'a.txt');
    const checked = await patch(answer, '--check');
    expect(checked).toMatchObject({ exit: 0 });
    expect(jsonOf(await patch(answer, '--json'))).toMatchObject({
      outcome: 'applied',
      files: [
        { path: 'a.txt', change: 'move', from: 'b.txt', added: 0, removed: 0 },
        { path: 'b.txt', change: 'move', from: 'a.txt', added: 1, removed: 1 },
      ],
    });
    expect([get('a.txt'), get('b.txt')]).toEqual(['two\n', 'ONE\nsame\n']);
    expect(await emend(['undo'])).toMatchObject({ exit: 0 });
    expect([get('a.txt'), get('b.txt')]).toEqual(['one\nsame\n', 'two\n']);
    git('init', '-q');
    execFileSync('git', ['apply', '-'], { cwd: work, input: checked.out });
    expect([get('a.txt'), get('b.txt')]).toEqual(['two\n', 'ONE\nsame\n']);
  });

  test('what does not fit is refused with the reason, exit 4, and nothing is written', async () => {
    put('a.txt', 'one\n2\nthree\n');
    put('b.txt', 'b\n');
    const answer = `${DIFF}--- a/b.txt\n+++ b/b.txt\n@@ -1 +1 @@\n-b\n+B\n`;
    const refused = await patch(answer, '--json');
    expect(refused.exit).toBe(4);
    expect(jsonOf(refused)).toMatchObject({
      outcome: 'refused',
      patch: null,
      reasons: [{ code: 'context_mismatch', path: 'a.txt' }],
    });
    expect([get('a.txt'), get('b.txt')]).toEqual(['one\n2\nthree\n', 'b\n']);
    expect((await emend(['undo'])).out).toContain('Nothing to undo');
  });

  test('a path below a file, there or in the same answer, or at a broken link is refused, with --check too', async () => {
    put('a.txt', 'a\n');
    symlinkSync('nowhere', join(work, 'broken'));
    const write = (...paths: readonly string[]) =>
      paths.map((path) => `FILE ${path}\nx\nEND FILE\n`).join('');
    for (const [answer, says] of [
      [write('a.txt/x'), 'a.txt is not a directory'],
      [write('broken'), 'it is a broken symbolic link'],
      [write('n', 'n/b.txt'), 'n/b.txt would be below n, which is a file'],
      [`DELETE a.txt\n${write('a.txt/x')}`, 'a.txt is not a directory'],
    ] as const)
      for (const flags of [[], ['--check']]) {
        const { exit, out, err } = await patch(answer, ...flags);
        expect({ answer, exit, said: out + err }).toEqual({
          answer,
          exit: 4,
          said: expect.stringContaining(says),
        });
      }
  });

  test('a path that is only tried as a reading of a prefix may lie below a file', async () => {
    put('b', 'b\n');
    const made = '--- /dev/null\n+++ b/new.txt\n@@ -0,0 +1 @@\n+n\n';
    expect(await patch(made)).toMatchObject({ exit: 0 });
    expect(get('new.txt')).toBe('n\n');
  });

  const OUTSIDE = [
    ['above the workspace', '../a.txt', 'bad_path'],
    ['an absolute path', '/etc/passwd', 'bad_path'],
    ["git's own folder", '.git/hooks/pre-commit', 'bad_path'],
    ['a link that leads out', 'out/a.txt', 'target_outside'],
    ['a linked file outside', 'link.txt', 'target_outside'],
    ['a device name', 'con.txt', 'bad_path'],
    ['a folder', 'folder', 'target_not_a_file'],
  ] as const;
  test.each(sampled('paths outside', OUTSIDE, 3))(
    '%s is refused, and nothing is read there',
    async (_what, path, code) => {
      mkdirSync(join(dir, 'outside'));
      mkdirSync(join(work, 'folder'));
      writeFileSync(join(dir, 'outside/a.txt'), 'secret\n');
      symlinkSync(join(dir, 'outside'), join(work, 'out'));
      symlinkSync(join(dir, 'outside/a.txt'), join(work, 'link.txt'));
      const refused = await patch(`FILE: ${path}\nFIND:\nsecret\nREPLACE:\nx\nEND\n`, '--json');
      expect({ exit: refused.exit, reasons: jsonOf(refused).reasons }).toMatchObject({
        exit: 4,
        reasons: [{ code }],
      });
      const made = await patch(`FILE ${path}\nx\nEND FILE\n`, '--json');
      expect({ exit: made.exit, reasons: jsonOf(made).reasons }).toMatchObject({
        exit: 4,
        reasons: [{ code }],
      });
      expect(readFileSync(join(dir, 'outside/a.txt'), 'utf8')).toBe('secret\n');
    },
  );

  test('bare line numbers are used and printed; emend.yaml turns the tolerance off', async () => {
    put('a.txt', 'one\ntwo\n');
    const answer =
      '{"operations":[{"type":"delete","file_path":"a.txt","start_line":2,"end_line":2}]}';
    put('emend.yaml', 'tolerances:\n  unchecked_lines: false\n');
    expect(await patch(answer)).toMatchObject({ exit: 4 });
    put('emend.yaml', '');
    const used = await patch(answer);
    expect(used).toMatchObject({ exit: 0 });
    expect(used.out).toContain('used unchecked_lines in a.txt:2');
  });

  test('a place by symbol is found through its tree', async () => {
    put('a.py', 'def one():\n    return 1\n\n\ndef two():\n    return 2\n');
    const answer = '{"operations":[{"type":"delete","file_path":"a.py","at":{"symbol":"one"}}]}';
    expect(await patch(answer)).toMatchObject({ exit: 0 });
    expect(get('a.py')).toBe('\n\ndef two():\n    return 2\n');
  });

  test('a new file is looked at through its tree, too', async () => {
    const done = await patch(
      '--- /dev/null\n+++ b/new.py\n@@ -0,0 +1,2 @@\n+def one(:\n+    return 1\n',
    );
    expect(done).toMatchObject({ exit: 0 });
    expect(done.out + done.err).toContain('Line 1 of the new new.py lacks ")" (Python)');
  });

  test('a file in Latin-1 is edited in its bytes, by a diff of its bytes', async () => {
    put('a.txt', Buffer.from('caf\xe9\ntwo\n', 'latin1'));
    expect(
      await patch('--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,2 @@\n caf\xe9\n-two\n+TWO\n'),
    ).toMatchObject({ exit: 0 });
    expect(get('a.txt')).toBe('caf\xe9\nTWO\n');
  });

  test('wrong usage ends with 2: no format, no file, no folder', async () => {
    expect((await patch('hello')).err).toContain('--format');
    for (const args of [
      ['patch', '-'],
      ['patch', '-', '--format', 'nonsense'],
      ['patch', 'gone.diff'],
      ['patch', 'work'],
      ['patch', '-', '--workspace', 'gone'],
    ])
      expect({ args, ...(await emend(args, 'hello', dir)) }).toMatchObject({ args, exit: 2 });
    expect(existsSync(home())).toBe(false);
  });

  test('an answer over maxAnswer_bytes is refused by size, from a file as from stdin', async () => {
    put('emend.yaml', 'limits:\n  maxAnswer_bytes: 1024\n');
    put('big.diff', 'x'.repeat(1025));
    expect(await emend(['patch', 'big.diff'])).toMatchObject({ exit: 6 });
    expect(await patch('x'.repeat(1025))).toMatchObject({ exit: 6 });
  });

  const MANY = [
    [
      'string-replace',
      (n: number) =>
        JSON.stringify({
          edits: Array.from({ length: n }, (_, i) => ({
            file_path: `f${i}`,
            old_string: 'x',
            new_string: 'y',
          })),
        }),
    ],
    [
      'begin-patch',
      (n: number) =>
        `*** Begin Patch\n${Array.from({ length: n }, (_, i) => `*** Update File: f${i}\n@@\n-x\n+y\n`).join('')}*** End Patch\n`,
    ],
    [
      'search-blocks',
      (n: number) =>
        Array.from(
          { length: n },
          (_, i) => `f${i}\n<<<<<<< SEARCH\nx\n=======\ny\n>>>>>>> REPLACE\n`,
        ).join(''),
    ],
    [
      'unified-diff',
      (n: number) =>
        Array.from({ length: n }, (_, i) => `--- f${i}\n+++ f${i}\n@@ -1 +1 @@\n-x\n+y\n`).join(''),
    ],
  ] as const;
  test.each(sampled('answers of many files', MANY, 1))(
    'many files in one %s answer, all or none',
    async (format, answer) => {
      const n = 40;
      for (let i = 0; i < n; i++) put(`f${i}`, 'x\n');
      put('f7', 'z\n');
      expect(await patch(answer(n), '--format', format)).toMatchObject({ exit: 4 });
      expect(get('f0')).toBe('x\n');
      put('f7', 'x\n');
      expect(await patch(answer(n), '--format', format)).toMatchObject({ exit: 0 });
      expect(Array.from({ length: n }, (_, i) => get(`f${i}`))).toEqual(
        Array.from({ length: n }, () => 'y\n'),
      );
    },
  );

  test('a file that the answer leaves as it is: nothing to change, exit 0', async () => {
    put('a.txt', 'one\n');
    expect(await patch('FILE a.txt\none\nEND FILE\n')).toMatchObject({ exit: 0 });
    expect((await emend(['undo'])).out).toContain('Nothing to undo');
  });

  test('a cut answer is not applied', async () => {
    put('a.txt', 'one\ntwo\nthree\n');
    expect(await patch('FILE: a.txt\nFIND:\ntwo\nREPLACE:\nTW')).toMatchObject({ exit: 4 });
    expect(get('a.txt')).toBe('one\ntwo\nthree\n');
  });
});

/** A stored JSON file as one that was never sealed: what is changed in it is found by its own checks. */
const withoutSum = (text: string): string => text.replace(/,"sum":"[0-9a-f]{8}"\}\n$/, '}\n');

describe('emend undo', () => {
  const twice = async (): Promise<void> => {
    put('a.txt', 'one\ntwo\nthree\n');
    await patch(DIFF);
    await patch(DIFF.replaceAll('TWO', '2').replace('-two', '-TWO'));
    expect(get('a.txt')).toBe('one\n2\nthree\n');
  };

  test('goes back one change at a time', async () => {
    await twice();
    expect((await emend(['undo'])).exit).toBe(0);
    expect(get('a.txt')).toBe('one\nTWO\nthree\n');
    expect((await emend(['undo'])).exit).toBe(0);
    expect(get('a.txt')).toBe('one\ntwo\nthree\n');
    expect((await emend(['undo'])).out).toContain('Nothing to undo');
  });

  test('the last change stays the last where the home is a copy, whose files are all new', async () => {
    put('a.txt', 'one\ntwo\nthree\n');
    put('b.txt', 'two\n');
    await patch(DIFF);
    const transactions = join(home(), 'transactions');
    const first = readdirSync(transactions);
    await patch('--- a/b.txt\n+++ b/b.txt\n@@ -1 +1 @@\n-two\n+2\n');
    for (const step of first)
      for (const path of readdirSync(join(transactions, step), {
        recursive: true,
        encoding: 'utf8',
      }))
        chmodSync(join(transactions, step, path), 0o700);
    expect(await emend(['undo'])).toMatchObject({ exit: 0 });
    expect([get('a.txt'), get('b.txt')]).toEqual(['one\nTWO\nthree\n', 'two\n']);
  });

  test('a file that was touched is named, and nothing is written', async () => {
    put('a.txt', 'one\ntwo\nthree\n');
    put('b.txt', 'two\n');
    await patch(`${DIFF}--- a/b.txt\n+++ b/b.txt\n@@ -1 +1 @@\n-two\n+2\n`);
    put('b.txt', '2\nmine\n');
    const kept = await emend(['undo', '--json']);
    expect(kept.exit).toBe(5);
    expect(jsonOf(kept)).toMatchObject({ outcome: 'touched', conflicts: [{ path: 'b.txt' }] });
    expect([get('a.txt'), get('b.txt')]).toEqual(['one\nTWO\nthree\n', '2\nmine\n']);
    expect((await emend(['undo'])).out).toContain('b.txt: expected a file');
  });

  test('--check only says what would be put back', async () => {
    await twice();
    const checked = await emend(['undo', '--check', '--json']);
    expect(jsonOf(checked)).toMatchObject({
      v: 1,
      outcome: 'would_undo',
      by: 'patch',
      files: [{ path: 'a.txt', change: 'restore' }],
    });
    expect(get('a.txt')).toBe('one\n2\nthree\n');
  });

  test("in a repository: from a folder below its top, by the top's paths; the index is left alone", async () => {
    git('init', '-q');
    put('a.txt', 'one\ntwo\nthree\n');
    put('sub/x', '');
    git('add', '-A');
    git('commit', '-qm', 'first');
    expect(await emend(['patch', '-'], DIFF, join(work, 'sub'))).toMatchObject({ exit: 0 });
    expect(git('diff', '--cached', '--name-only')).toBe('');
    expect(git('diff', '--name-only')).toBe('a.txt\n');
    expect(await emend(['undo'], '', join(work, 'sub'))).toMatchObject({ exit: 0 });
    expect(git('status', '--porcelain')).toBe('');
  });

  test('a record of the home that is damaged is named, by every command that reads it', async () => {
    put('a.txt', 'one\ntwo\nthree\n');
    await patch(DIFF);
    const transactions = join(home(), 'transactions');
    const found = readdirSync(transactions, { recursive: true, encoding: 'utf8' });
    const wrong: string[] = [];
    for (const name of ['plan-1.json', 'verdict-1.json', 'closed.json']) {
      const at = found.find((each) => each.endsWith(name))!;
      const path = join(transactions, at);
      const text = readFileSync(path, 'utf8');
      const { v, ...record } = JSON.parse(withoutSum(text)) as Record<string, unknown>;
      for (const value of damaged(record)) {
        writeFileSync(path, JSON.stringify({ v, ...(value as object) }));
        await openRecord(realSys, transactions, dirname(at))
          .load()
          .catch((error: unknown) => {
            if (!/[^/]+\.json is damaged: /.test(String(error)))
              wrong.push(`${JSON.stringify(value)}: ${String(error)}`);
          });
      }
      writeFileSync(
        path,
        withoutSum(text)
          .replace(/"files":\[.*?\]/, '"files":5')
          .replace('"committed"', '"x"'),
      );
      for (const command of ['undo', 'recover']) {
        const { out, err } = await emend([command]);
        if (name !== 'closed.json' || command === 'undo')
          expect(out + err).toContain(`${path} is damaged: a field is missing`);
        expect(err).not.toContain('Unexpected');
      }
      writeFileSync(path, text);
    }
    expect(wrong).toEqual([]);
    expect(await emend(['undo'])).toMatchObject({ exit: 0 });
  });

  test('a damaged record of one workspace keeps no other from being undone or recovered', async () => {
    put('a.txt', 'one\ntwo\nthree\n');
    await patch(DIFF);
    const transactions = join(home(), 'transactions');
    const other = join(dir, 'other');
    mkdirSync(other);
    writeFileSync(join(other, 'a.txt'), 'one\ntwo\nthree\n');
    const [step] = readdirSync(transactions);
    await emend(['patch', '-', '--workspace', other], DIFF);
    const files = readdirSync(join(transactions, step!), { recursive: true, encoding: 'utf8' });
    for (const name of ['closed.json', 'verdict-1.json', 'plan-1.json']) {
      const path = join(
        transactions,
        step!,
        files.find((each) => each.endsWith(name))!,
      );
      const text = readFileSync(path, 'utf8');
      for (const damage of ['empty', 'directory'] as const) {
        rmSync(path);
        if (damage === 'empty') writeFileSync(path, '');
        else mkdirSync(path);
        const { exit, out, err } = await emend(['recover']);
        expect({ name, damage, exit, err }).toEqual({
          name,
          damage,
          exit: 1,
          err: expect.any(String),
        });
        expect(out).toContain(`${step!.slice(0, 8)}  could not be recovered`);
        expect(out).toContain(
          damage === 'empty' ? `${path} is damaged: it is no JSON` : `${path} is a directory`,
        );
        const undone = await emend(['undo', '--check', '--workspace', other]);
        expect(undone).toMatchObject({ exit: 0, out: expect.stringContaining('Would undo') });
        expect((await emend(['undo', '--check'])).err).toContain(path);
        rmSync(path, { recursive: true });
        writeFileSync(path, text);
      }
    }
    // A later change of the same workspace can be undone; the one before it, whose plan is lost, cannot.
    put('c.txt', 'one\ntwo\nthree\n');
    await emend(['patch', '-'], DIFF.replaceAll('a.txt', 'c.txt'));
    const plan = join(
      transactions,
      step!,
      files.find((each) => each.endsWith('plan-1.json'))!,
    );
    const text = readFileSync(plan, 'utf8');
    writeFileSync(plan, '');
    expect(await emend(['undo'])).toMatchObject({
      exit: 0,
      out: expect.stringContaining('Undone'),
    });
    expect(await emend(['undo'])).toMatchObject({
      exit: 1,
      err: expect.stringContaining(`${plan} is damaged`),
    });
    rmSync(plan);
    expect(await emend(['undo'])).toMatchObject({
      exit: 1,
      err: expect.stringContaining('plan of this change is lost'),
    });
    expect(await emend(['undo', '--check', '--workspace', other])).toMatchObject({ exit: 0 });
    writeFileSync(plan, text);
    expect(await emend(['undo'])).toMatchObject({ exit: 0 });
  });

  test.each(['in a repository made since', 'behind four changes that were undone'])(
    'a damaged record of the last change is not passed over: %s',
    async (how) => {
      const made = async (name: string): Promise<string> => {
        put(name, 'one\ntwo\nthree\n');
        const before = new Set(existsSync(home()) ? readdirSync(join(home(), 'transactions')) : []);
        await patch(DIFF.replaceAll('a.txt', name));
        return readdirSync(join(home(), 'transactions')).find((step) => !before.has(step)) ?? '';
      };
      await made('a.txt');
      await made('b.txt');
      if (how.startsWith('in a repository')) git('init', '-q');
      const step = join(home(), 'transactions', await made('c.txt'));
      if (how.startsWith('behind'))
        for (const name of ['d.txt', 'e.txt', 'f.txt', 'g.txt']) {
          await made(name);
          expect(await emend(['undo'])).toMatchObject({ exit: 0 });
        }
      const files = readdirSync(step, { recursive: true, encoding: 'utf8' });
      const plan = join(step, files.find((each) => each.endsWith('plan-1.json')) ?? '');
      writeFileSync(plan, '');
      expect(await emend(['undo'])).toMatchObject({
        exit: 1,
        err: expect.stringContaining(`${plan} is damaged`),
      });
    },
  );

  test('a record whose names and paths lead elsewhere is refused, and nothing is written or removed there', async () => {
    put('a.txt', 'one\ntwo\nthree\n');
    put('../outside/b.txt', 'TWO\n');
    await patch(DIFF);
    const found = readdirSync(join(home(), 'transactions'), { recursive: true, encoding: 'utf8' });
    const [plan, verdict, closed] = ['plan-1', 'verdict-1', 'closed'].map((name) =>
      join(
        home(),
        'transactions',
        found.find((each) => each.endsWith(`${name}.json`))!,
      ),
    ) as [string, string, string];
    const text = withoutSum(readFileSync(plan, 'utf8'));
    const said = withoutSum(readFileSync(closed, 'utf8'));
    const { token } = JSON.parse(text) as { token: string };
    for (const forged of [
      text.replace('"real":"a.txt"', '"real":"../outside/b.txt"'),
      text.replace('"real":"a.txt"', `"real":"${join(dir, 'outside/b.txt')}"`),
      text.replace('"dirs":[]', '"dirs":["../outside"]'),
      text.replace('"dropDirs":[]', '"dropDirs":["../outside/empty"]'),
      text.replace(token, `/../../outside/${token}`),
      text.replace(/"workspace":"[^"]*"/, '"workspace":"work"'),
    ]) {
      expect(forged).not.toBe(text);
      mkdirSync(join(dir, 'outside/empty'), { recursive: true });
      writeFileSync(plan, forged);
      expect((await emend(['undo'])).err).toContain(`${plan} is damaged: `);
      rmSync(closed);
      for (const decided of ['committed', 'reverted']) {
        writeFileSync(verdict, JSON.stringify({ v: 2, verdict: decided }));
        const { out, err } = await emend(['recover']);
        expect(out + err).toContain(`${plan} is damaged: `);
      }
      writeFileSync(closed, said);
    }
    expect(readdirSync(join(dir, 'outside'))).toEqual(['b.txt', 'empty']);
    writeFileSync(plan, text);
    writeFileSync(verdict, JSON.stringify({ v: 2, verdict: 'committed' }));
    writeFileSync(closed, said.replace('["a.txt"]', '["../outside/b.txt"]'));
    expect((await emend(['undo'])).err).toContain(
      `${closed} is damaged: its plan has no file "../outside/b.txt"`,
    );
  });

  test('of another workspace it says nothing', async () => {
    put('a.txt', 'one\ntwo\nthree\n');
    await patch(DIFF);
    const other = join(dir, 'other');
    mkdirSync(other);
    expect((await emend(['undo', '--workspace', other])).out).toContain('Nothing to undo');
    expect(get('a.txt')).toBe('one\nTWO\nthree\n');
  });
});

describe('E8: undo while the folder of a file is a link outside', () => {
  test.each(['undo', 'undo --check'])(
    '%s restores nothing, says so, and can be repeated once the folder is back',
    async (line) => {
      put('lib/a.txt', 'old\n');
      const diff = '--- a/lib/a.txt\n+++ b/lib/a.txt\n@@ -1 +1 @@\n-old\n+new\n';
      expect((await emend(['patch', '-'], diff)).exit).toBe(0);
      renameSync(join(work, 'lib'), join(dir, 'elsewhere'));
      symlinkSync(join(dir, 'elsewhere'), join(work, 'lib'));

      const refused = await emend(line.split(' '));
      expect(refused.exit).toBe(5);
      expect(refused.out).toContain('outside the workspace');
      expect(refused.out).toContain('then type: emend undo');
      expect(refused.out).not.toContain('Undone');
      expect(readFileSync(join(dir, 'elsewhere', 'a.txt'), 'utf8')).toBe('new\n');

      rmSync(join(work, 'lib'));
      renameSync(join(dir, 'elsewhere'), join(work, 'lib'));
      expect((await emend(['undo'])).out).toContain('Undone');
      expect(get('lib/a.txt')).toBe('old\n');
    },
  );
});

describe('F10: a name or a path that is too long', () => {
  const newFile = (path: string): string =>
    `diff --git a/${path} b/${path}\nnew file mode 100644\n--- /dev/null\n+++ b/${path}\n@@ -0,0 +1 @@\n+x\n`;

  test.each([
    ['a name of 256 bytes', 'n'.repeat(256)],
    ['a folder of 256 bytes', `${'n'.repeat(256)}/a.txt`],
    ['a name of 86 characters with 258 bytes', Buffer.from('\u20ac'.repeat(86)).toString('latin1')],
    ['a path over PATH_MAX', `${`${'d'.repeat(200)}/`.repeat(20)}${'n'.repeat(70)}`],
  ])('%s is refused as such', async (_, path) => {
    const { exit, out, err } = await emend(['patch', '-'], newFile(path));
    expect({ exit, files: readdirSync(work) }).toEqual({ exit: 4, files: [] });
    expect(out + err).toContain('too long for this file system');
    expect(out + err).not.toContain('Free disk space');
  });
});
