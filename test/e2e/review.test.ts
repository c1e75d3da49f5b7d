/** Reviewing hunk by hunk: part of a proposal is taken, shown again and committed; on a pseudo-terminal and without one. */
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { afterEach, describe, expect, test } from '@jest/globals';
import { main } from '../../src/cli/main.js';
import { fakeIo, type FakeIo } from '../cli/io.js';
import { scene, whole, type Scene } from './support.js';
import { onTerminal, unpainted } from './terminal.js';

let open: Scene | null = null;
afterEach(async () => {
  await open?.close();
  open = null;
});

const body = Array.from({ length: 30 }, (_, i) => `// line ${i + 1}\n`);
const BASE = `${body.join('')}greet();\n`;
/** Hunk 1 brings `shout`, hunk 2 holds two changes, hunk 3 uses `shout`. */
const RESULT = [
  'const shout = () => "HEY";\n',
  ...body.slice(0, 14),
  '// line fifteen\n',
  ...body.slice(15, 17),
  '// line eighteen\n',
  ...body.slice(18),
  'shout();\n',
].join('');
const FILES = { 'a.js': BASE, 'b.js': 'const b = 1;\n' };
const JOB = '---\ntarget_files: [a.js, b.js]\ncommit: true\n---\n# Shout\n\nShout it.\n';
const RULES = [
  {
    name: 'brief',
    match: { contains: 'Now write the brief' },
    answer: 'All shout.\nEMEND-COMPLETE {{nonce}} 0 0\n',
  },
  {
    name: 'b-revised',
    match: { contains: ['- b.js', 'make it nine'] },
    answer: whole({ 'b.js': 'const b = 9;\n' }),
  },
  { name: 'a', match: { contains: '- a.js' }, answer: whole({ 'a.js': RESULT }) },
  { name: 'b', match: { contains: '- b.js' }, answer: whole({ 'b.js': 'const b = 2;\n' }) },
];

const waiting = async () => {
  const s = (open = await scene(FILES, RULES));
  await s.worker();
  const run = await s.start('job.md', JOB);
  const view = await s.settle(run);
  expect(view.status.decision?.accepts).toEqual(['approve', 'skip', 'revise', 'select', 'abort']);
  return { s, run, decision: view.status.decision!.id };
};
const typing = (
  s: Scene,
  typed: readonly string[],
  tool?: (args: readonly string[]) => number,
): FakeIo =>
  fakeIo({
    env: { ...s.env, GIT_EDITOR: 'my-editor', GIT_PAGER: 'my-pager' },
    cwd: s.repo,
    isTty: true,
    typed: [...typed],
    ...(tool === undefined ? {} : { tool }),
  });

describe('emend review', () => {
  test('takes one hunk and part of another: a new proposal, shown again, approved by its own hash, committed', async () => {
    const { s, run, decision } = await waiting();
    // a.js: not the definition, half of hunk 2, the use of what was left out; b.js as it is.
    const io = typing(s, ['n', 's', 'n', 'y', 'y', 'y', 'y', 'y', 'y']);
    expect(await main(['review'], io)).toBe(0);
    expect(io.asked.slice(0, 6)).toEqual([
      'Take hunk 1/3 [y,n,a,d,c,p,q,?]? ',
      'Take hunk 2/3 [y,n,a,d,s,c,p,q,?]? ',
      'Take part 1/2 of hunk 2/3 [y,n,a,d,c,p,q,?]? ',
      'Take part 2/2 of hunk 2/3 [y,n,a,d,c,p,q,?]? ',
      'Take hunk 3/3 [y,n,a,d,c,p,q,?]? ',
      'Take hunk 1/1 [y,n,a,d,c,p,q,?]? ',
    ]);
    expect(io.printed.out).toContain('  needs hunk 1 (shout), which you rejected\n');
    expect(io.printed.out).toContain(
      '  select   a.js: 2 of 4 changes; 2 rejected, not requested again\n',
    );
    expect(io.printed.out).toContain('  approve  b.js\n');
    // The second round: the part alone, with what was found in it.
    const again = io.printed.out.slice(io.printed.out.indexOf('now a separate proposal'));
    expect(again).toContain('  selection: 2 of 4 changes were selected; rejected: 1, 2\n');
    expect(again).toContain('uses shout, which only change 1 adds, but that one was rejected');
    expect(again).not.toContain('line fifteen');
    expect(io.asked.slice(7)).toEqual([
      'Take this file [y,n,a,d,s,c,p,q,?]? ',
      'Send these answers [y,n]? ',
    ]);

    const result = await s.end(run);
    expect(result).toMatchObject({ outcome: 'committed', files: ['a.js', 'b.js'] });
    const expected = BASE.replace('// line 18\n', '// line eighteen\n').replace('greet', 'shout');
    expect(s.git('show', 'HEAD:a.js')).toBe(expected);
    expect(s.git('show', 'HEAD:b.js')).toBe('const b = 2;\n');
    expect(s.git('status', '--porcelain', 'a.js', 'b.js')).toBe('');
    // What was approved is another proposal than the one that was chosen from.
    expect(result.proposalId?.slice(0, 8)).not.toBe(decision.slice(-8));
    await expect(s.answer(run, 'approve', { decision })).rejects.toThrow(/resolved|ended/);
  });

  test('a comment from the editor asks for that file again; leaving in the middle sends nothing that was not confirmed', async () => {
    const { s, run, decision } = await waiting();
    const editor = (args: readonly string[]): number => {
      if (args[0] !== undefined) writeFileSync(args[0], '\nmake it nine\n# File: b.js\n');
      return 0;
    };
    const left = typing(s, ['y', 'q', 'n']);
    expect(await main(['review', run.stepKey], left)).toBe(3);
    expect((await s.show(run)).status.decision?.id).toBe(decision);
    const none = typing(s, ['?', 'p', 'q']);
    expect(await main(['review', run.stepKey], none)).toBe(3);
    expect(none.printed.out).toContain('d - reject this hunk and the rest of this file\n');
    expect(none.tools).toMatchObject([{ command: 'my-pager' }]);
    expect(unpainted(none.tools[0]?.text ?? '')).toContain('+const b = 2;');

    const io = typing(s, ['a', 'c', 'y'], editor);
    expect(await main(['review', run.stepKey], io)).toBe(0);
    expect(io.tools.map(({ command }) => command)).toEqual(['my-editor']);
    // By that name clean-up finds what a killed terminal leaves.
    expect(io.tools[0]?.args[0]).toMatch(/emend-note\.[\da-f]{8}\.\d+\.[\da-f]{8}\.\w+\/NOTE$/);
    const second = await s.settle(run);
    expect(second.status.decision?.files.map(({ path }) => path)).toEqual(['b.js']);
    await s.answer(run, 'approve');
    expect((await s.end(run)).outcome).toBe('committed');
    expect(s.git('show', 'HEAD:b.js')).toBe('const b = 9;\n');
    expect(s.git('show', 'HEAD:a.js')).toBe(RESULT);
  });

  test('Enter at the last question keeps the answers and asks again', async () => {
    const { s, run } = await waiting();
    const io = typing(s, ['a', 'y', '', 'x', 'y']);
    expect(await main(['review', run.stepKey], io)).toBe(0);
    expect(io.asked.slice(2)).toEqual(Array(3).fill('Send these answers [y,n]? '));
    expect(io.printed.out).toContain(
      'Your answers are kept. y - send them; n - discard them and quit\n',
    );
    expect((await s.end(run)).outcome).toBe('committed');
  });

  test('without a terminal: the diff byte for byte, and how to answer; hunks by number', async () => {
    const { s, run, decision } = await waiting();
    const io = fakeIo({ env: s.env, cwd: s.repo });
    expect(await main(['review', run.stepKey], io)).toBe(3);
    const applied = spawnSync('git', ['apply', '--check'], { cwd: s.repo, input: io.printed.out });
    expect(applied.status).toBe(0);
    const shown = run.stepKey.slice(0, 8);
    expect(io.printed.err).toContain(
      `emend decide ${shown} select --decision ${decision} --hunk PATH:1,3`,
    );

    const wrong = async (args: string[], named = decision) => {
      const each = fakeIo({ env: s.env, cwd: s.repo });
      expect(await main(['decide', shown, 'select', '--decision', named, ...args], each)).toBe(2);
      return each.printed.err;
    };
    expect(await wrong([])).toContain('--hunk PATH:1,3');
    expect(await wrong(['--hunk', 'a.js:4'])).toContain('a.js has hunks 1 to 3');
    expect(await wrong(['--hunk', 'c.js:1'])).toContain('no file c.js');
    expect(await wrong(['--hunk', 'a.js:1,2,3'])).toContain('all of a.js is selected: approve it');
    expect(await wrong(['--hunk', 'b.js:1'])).toContain('cannot be accepted in part');
    expect(await wrong(['--hunk', 'a.js:2'], '9-00000000-00000000')).toContain('for this decision');
    const typed = fakeIo({ env: s.env, cwd: s.repo });
    expect(
      await main(['decide', shown, 'select', '--decision', decision, '--hunk', './a.js:2'], typed),
    ).toBe(0);
    expect(typed.printed.out).toContain('1 file still needs an answer');
    await s.answer(run, 'skip');
    const part = await s.settle(run);
    expect(part.proposal?.files.map(({ path }) => path)).toEqual(['a.js']);
    await s.answer(run, 'approve');
    expect((await s.end(run)).files).toEqual(['a.js']);
    const expected = BASE.replace('// line 15\n', '// line fifteen\n').replace(
      '// line 18\n',
      '// line eighteen\n',
    );
    expect(s.git('show', 'HEAD:a.js')).toBe(expected);
    expect(s.read('b.js')).toBe(FILES['b.js']);
  });

  test('on a pseudo-terminal of 80 columns: colours, Ctrl-C that sends nothing, the review to its commit', async () => {
    const { s, run, decision } = await waiting();
    const shown = run.stepKey.slice(0, 8);
    s.git('config', 'color.diff.new', 'blue');
    const pty = (steps: Parameters<typeof onTerminal>[2], env: Record<string, string> = {}) =>
      onTerminal(s, ['review', shown], steps, { env });
    const interrupted = await pty([['Take hunk 1/3', '\u0003']]);
    expect(interrupted).toMatchObject({ exit: 130, missing: null });
    expect(interrupted.out).toContain(`Nothing was sent; ${shown} waits on.`);
    expect((await s.show(run)).status.decision?.id).toBe(decision);

    const plain = await pty([['Take hunk 1/3', 'q']], { NO_COLOR: '1' });
    expect(plain.exit).toBe(3);
    expect(plain.out).toContain('+const shout');
    expect(plain.out).not.toContain('\u001b[34m+const shout');

    const done = await pty([
      ['Take hunk 1/3', 'y'],
      ['Take hunk 2/3', 'd'],
      ['Take hunk 1/1', 'n'],
      ['Send these answers', 'y'],
      ['now a separate proposal', ''],
      ['Take this file', 'y'],
      ['Send these answers', 'y'],
    ]);
    expect(done).toMatchObject({ exit: 0, missing: null });
    expect(done.out).toContain('\u001b[34m+const shout = () => "HEY";\u001b[m');
    // Nothing is wider than the terminal, but for commands to type and lines of files.
    const wide = done.out
      .split(/\r?\n/)
      // eslint-disable-next-line no-control-regex -- this removes control characters
      .filter((text) => text.replace(/\u001b\[[0-9;]*[A-Za-z]/g, '').length > 80);
    expect(wide.filter((text) => !text.includes('emend ') && !text.includes('select '))).toEqual(
      [],
    );
    expect((await s.end(run)).files).toEqual(['a.js']);
    expect(s.git('show', 'HEAD:a.js')).toBe(`const shout = () => "HEY";\n${BASE}`);
  });
});
