/** `emend run` on a pseudo-terminal: the change comes before the question, and keys act at once. */
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { constants } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, test } from '@jest/globals';
import { scene, whole, type Scene } from './support.js';
import { longOnly as longFor, testIf } from '../support/skipped.js';
import { onTerminal, unpainted } from './terminal.js';

const longOnly = longFor('the same at 200 columns, other keys, the pager');
let open: Scene | null = null;
afterEach(async () => {
  await open?.close();
  open = null;
});

const JOB = '---\ntarget_files: [greet.js]\ncommit: true\n---\n# Greet politely\n\nSay good day.\n';
/** `fault`: an execution of the worker that is held (test/support/crash-worker.js). */
const greeting = async (result: string, fault?: string): Promise<Scene> => {
  const s = (open = await scene(
    { 'greet.js': 'export const greet = () => "hello"; // as before\n' },
    [{ name: 'edit', match: { contains: 'greet.js' }, answer: whole({ 'greet.js': result }) }],
  ));
  writeFileSync(join(s.repo, 'job.md'), JOB);
  await s.worker(fault);
  return s;
};

const atColumns = (columns: number) => async (): Promise<void> => {
  const s = await greeting('export const greet = () => "good day"; // as before\n');
  // x would abort, and a approve: both were typed before there was a question.
  const left = await onTerminal(
    s,
    ['run', 'job.md'],
    [
      ['Greet politely', 'x'],
      ['', 'a\r'],
      ['\n> ', 'q'],
    ],
    { columns },
  );
  expect(left).toMatchObject({ exit: 3, missing: null });
  const text = unpainted(left.out);
  const [change, question] = [
    text.indexOf('\n+export const greet = () => "good day"'),
    text.indexOf('[a] approve'),
  ];
  expect(change).toBeGreaterThan(0);
  expect(question).toBeGreaterThan(change);
  expect(text.indexOf('waiting for you: approval')).toBeGreaterThan(change);
  expect(left.out).toContain('\u001b[35mexport\u001b[39m');
  expect(left.out).toContain('\u001b[33m"good day"\u001b[39m');
  // The question fits the window.
  const rows = text.slice(text.indexOf('waiting for you')).split('\n');
  expect(rows.filter((row) => row.length > columns && !row.startsWith('> '))).toEqual([]);

  const done = await onTerminal(s, ['run', 'job.md'], [['\n> ', 'a']], { columns });
  expect(done).toMatchObject({ exit: 0, missing: null });
  expect(unpainted(done.out)).toContain('\n> a\n');
  expect(s.git('log', '-1', '--format=%s').trim()).toBe('Greet politely');
};
test(
  'the diff in colours, then the question; what was typed before it is nothing, a key needs no Enter',
  atColumns(80),
);
longOnly('the same at 200 columns', atColumns(200));

longOnly(
  'an unknown key asks again; Ctrl-Z, Ctrl-C, the end of input, a hang-up leave the run waiting',
  async () => {
    const s = await greeting('export const greet = () => "good day"; // as before\n');
    const steps = (key: string) =>
      [
        ['\n> ', '\u001b[A'],
        ['is not a key here', ''],
        ['\n> ', 's greet.js'],
        ['is not a key here', ''],
        ['\n> ', key],
      ] as const;
    const stopped = await onTerminal(
      s,
      ['run', 'job.md'],
      [
        ['\n> ', '\u001a'],
        ['Stopped', ''],
        [' icanon', ''],
        ['\n> ', 'q'],
      ],
      { shell: '"$@"; stty -a; fg' },
    );
    expect(stopped).toMatchObject({ exit: 3, missing: null });
    const interrupted = await onTerminal(s, ['run', 'job.md'], steps('\u0003'));
    expect(interrupted).toMatchObject({ exit: 130, missing: null });
    const ended = await onTerminal(s, ['run', 'job.md'], steps('\u0004'));
    expect(ended).toMatchObject({ exit: 3, missing: null });
    // It dies of the signal: an exit would abort and dump core, as Node.js finds no terminal to restore.
    const closed = await onTerminal(s, ['review'], [['Take hunk', null]]);
    expect(closed).toMatchObject({ exit: -constants.signals.SIGHUP, missing: null });
    expect(s.git('log', '--oneline').trim().split('\n')).toHaveLength(1);
  },
);

/** A run that waits for the approval of five files. */
const fiveFiles = async () => {
  const names = ['one.js', 'two.js', 'three.js', 'four.js', 'five.js'];
  const text = (value: number): string => `export const value = ${value};\n`;
  const s = (open = await scene(Object.fromEntries(names.map((name) => [name, text(1)])), [
    {
      name: 'brief',
      match: { contains: 'Now write the brief' },
      answer: 'Numbers grow.\nEMEND-COMPLETE {{nonce}} 0 0\n',
    },
    ...names.map((name) => ({
      name,
      match: { contains: `- ${name}` },
      answer: whole({ [name]: text(2) }),
    })),
  ]));
  await s.worker();
  const job = `---\ntarget_files: [${names.join(', ')}]\n---\n# Raise\n\nRaise the number.\n`;
  const run = await s.start('job.md', job);
  expect((await s.settle(run)).status.decision).toMatchObject({ reason: 'approval' });
  return { s, run };
};

test('a key for five files asks again with their number and takes paths; Enter, Ctrl-D and Ctrl-C send nothing', async () => {
  const { s, run } = await fiveFiles();
  const question = 'Skip all 5 files? [y/N, or paths] ';
  const some = await onTerminal(
    s,
    ['run', 'job.md'],
    [
      ['\n> ', 's'],
      [question, '\r'],
      ['Nothing was sent', ''],
      ['\n> ', 'a'],
      ['Approve all 5 files? [y/N, or paths] ', '\u0004'],
      ['Nothing was sent', ''],
      ['\n> ', 'x'],
      ['[y/N] ', '\r'],
      ['Nothing was sent', ''],
      ['\n> ', 's'],
      [question, 'one.js nowhere.js\r'],
      ['nowhere.js is not one of', ''],
      [question, ' one.js\r'],
      ['4 files still need an answer', ''],
      ['\n> ', 's'],
      ['Skip the 4 files without an answer? [y/N, or paths] ', '\u0003'],
    ],
    { env: { GIT_PAGER: 'cat' } },
  );
  expect(some).toMatchObject({ exit: 130, missing: null });
  expect((await s.show(run)).status.decision?.answered).toEqual({ 'one.js': 'skip' });
  expect(s.git('status', '--porcelain', '--', '*.js')).toBe('');
});

/** A run that waits for an approval; its tests take two seconds. */
const waiting = async (verify = 'before_approval', fault?: string) => {
  const s = await greeting('export const greet = () => "good day"; // as before\n', fault);
  s.write('job.md', JOB.replace('commit: true', `commit: true\ntest: sleep 2\nverify: ${verify}`));
  const started = await s.start('job.md', s.read('job.md'));
  const { decision } = (await s.settle(started)).status;
  return { s, started, run: started.stepKey.slice(0, 8), decision: decision?.id ?? '' };
};
/** `emend` in a pipe. */
const inPipe = (s: Scene, ...args: string[]) =>
  spawnSync(process.execPath, ['dist/client.js', ...args], {
    encoding: 'utf8',
    env: { ...s.env, NODE_OPTIONS: '' },
  });

const BEFORE = [
  'the tests that ran before it, then follows the commit',
  'before_approval',
] as const;
const AFTER = ['that they have not run, then follows tests and commit', 'after_approval'] as const;
test.each([BEFORE, AFTER])('emend approve in a terminal shows %s', async (_, verify) => {
  const { s, run } = await waiting(verify);
  const { out, ...ended } = await onTerminal(s, ['approve', run], [['approve? [y/N] ', 'y']]);
  expect(ended).toMatchObject({ exit: 0, missing: null });
  expect(s.git('log', '-1', '--format=%s').trim()).toBe('Greet politely');
  const text = unpainted(out);
  expect(text).toContain(`${run}  committed`);
  const [before = '', after = ''] = text.split('approve? [y/N]');
  // Events from before the answer are not printed again.
  expect(after).toMatch(/^ y\n\w+ {2}approve: apply the proposed change\napprove for 1 file by /);
  const isBefore = verify === 'before_approval';
  expect(before).toContain(
    isBefore
      ? 'tests of the proposal: pass: sleep 2: passed'
      : 'the tests run on the approved files before they are applied',
  );
  expect(after.includes('tests: pass: sleep 2: passed')).toBe(!isBefore);
});

test('emend skip in a terminal ends with the run, revise with its next question, and --no-wait at once', async () => {
  const { s, run, started, decision } = await waiting();
  const note = ['--note', 'louder'];
  const args = ['revise', run, '--decision', decision, ...note, '--no-wait'];
  const atOnce = await onTerminal(s, args, []);
  expect(atOnce).toMatchObject({ exit: 0, missing: null });
  expect(unpainted(atOnce.out)).not.toContain('[a] approve');
  expect(unpainted(atOnce.out)).toMatch(/emend (watch|show) /);
  await s.until(() => s.rehearsal.requests().length === 2);
  await s.settle(started);
  const revised = await onTerminal(
    s,
    ['revise', run, ...note],
    [
      ['revise? [y/N] ', 'y'],
      ['[a] approve', ''],
      ['\n> ', 'q'],
    ],
  );
  expect(revised).toMatchObject({ exit: 3, missing: null });
  const skipped = await onTerminal(s, ['skip', run], [['skip? [y/N] ', 'y']]);
  expect(skipped).toMatchObject({ exit: 0, missing: null });
  expect(unpainted(skipped.out)).toContain(`${run}  skipped`);
});

test('emend approve without a terminal returns at once and names the command that waits', async () => {
  const { s, run, decision } = await waiting('before_approval', 'commit:hold-before:1');
  const piped = inPipe(s, 'approve', run, '--decision', decision);
  expect([piped.status, piped.stdout]).toEqual([0, `${run}  approve: apply the proposed change\n`]);
  expect(piped.stderr).toContain(`To wait for its end: emend watch ${run}`);
  expect(s.git('log', '--oneline').trim().split('\n')).toHaveLength(1);
  s.workers()[0]?.go();
  const watched = inPipe(s, 'watch', run);
  expect(watched.status).toBe(0);
  expect(s.git('log', '-1', '--format=%s').trim()).toBe('Greet politely');
});

const hasLess = spawnSync('less', ['--version']).status === 0;
testIf(hasLess && longOnly === test, 'needs less, and is long')(
  'a diff longer than the window opens in the pager, before the question',
  async () => {
    const long = Array.from({ length: 80 }, (_, i) => `export const line${i} = ${i};\n`).join('');
    const s = await greeting(long);
    const shown = await onTerminal(
      s,
      ['run', 'job.md'],
      [
        ['line0', ''],
        ['\u001b[K', 'q'],
        ['\n> ', 'q'],
      ],
    );
    expect(shown).toMatchObject({ exit: 3, missing: null });
    // The pager was left on its first screen.
    expect(unpainted(shown.out)).not.toContain('line79');
    expect(shown.out).toContain('[a] approve');
  },
);

test('in a pipe help has no width', () => {
  const { stdout } = spawnSync(process.execPath, ['dist/client.js', 'help', 'run'], {
    encoding: 'utf8',
  });
  expect(Math.max(...stdout.split('\n').map((row) => row.length))).toBeGreaterThan(100);
  expect(stdout.split('\n').filter((row) => /^ {10,}\S/.test(row))).toEqual([]);
});
