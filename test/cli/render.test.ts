import { stripVTControlCharacters } from 'node:util';
import { describe, expect, test } from '@jest/globals';
import { commandFor, decisionLines } from '../../src/cli/render/decision.js';
import { findingText } from '../../src/shared/event-text.js';
import {
  printDiff,
  eventText,
  isWorthALine,
  folded,
  line,
  plain,
  table,
} from '../../src/cli/render/text.js';
import { LiveBlock, progressLines } from '../../src/cli/live.js';
import { resultLines, viewLines } from '../../src/cli/render/run.js';
import type { ShownRun } from '../../src/client/runs/show.js';
import {
  ANSWERS_BY_REASON,
  type DecisionPoint,
  type PauseReason,
} from '../../src/shared/decisions.js';
import type { LedgerRow, StepResult } from '../../src/shared/run.js';
import { NO_USAGE } from '../../src/shared/usage.js';
import { statusOf } from '../client/fake.js';
import pc from 'picocolors';
import { combinedDiff } from '../../src/edits/index.js';
import { fakeIo } from './io.js';

const KEY = 'abcd1234'.padEnd(32, '0');
const decision = (more: Partial<DecisionPoint> = {}): DecisionPoint => ({
  id: '1-abcd1234-99999999',
  n: 1,
  reason: 'approval',
  message: 'the proposal is ready',
  files: [
    { path: 'a.ts', reason: 'approval', message: '' },
    { path: 'b.ts', reason: 'approval', message: '' },
  ],
  accepts: ['approve', 'skip', 'revise', 'abort'],
  proposalId: '9'.repeat(64),
  answered: {},
  openedAt: 0,
  subject: null,
  ...more,
});
const row = (
  path: string,
  status: LedgerRow['status'],
  more: Partial<LedgerRow> = {},
): LedgerRow => ({
  path,
  status,
  attempts: 0,
  format: 'whole-file',
  bucket: 'A',
  lines: 10,
  isNew: false,
  outputBudget_tokens: 1,
  reason: null,
  verdict: null,
  ...more,
});
const result = (more: Partial<StepResult>): StepResult => ({
  v: 2,
  stepKey: KEY,
  outcome: 'committed',
  files: ['a.ts'],
  skipped: [],
  pausedFor_ms: 0,
  wasSplit: false,
  usage: { ...NO_USAGE, calls: 3, input_tokens: 12_000, output_tokens: 345, usd: 0.0412 },
  commit: 'c'.repeat(40),
  proposalId: null,
  verification: 'pass',
  problem: null,
  ...more,
});

describe('text of others', () => {
  test('cannot move the cursor, colour or reorder what is read', () => {
    expect(plain('a\u001b[2Jb\r\u0007\u009b1m\u202ec\u2066')).toBe(
      'a\\x1b[2Jb\\x0d\\x07\\x9b1m\\u{202E}c\\u{2066}',
    );
    expect(plain('tab\there\nnext ✓ é')).toBe('tab\there\nnext ✓ é');
    expect(folded('a long word', 6, 2)).toEqual(['a long', '  word']);
    expect(folded('https://example.org is long', 8, 2)).toEqual([
      'https://example.org',
      '  is',
      '  long',
    ]);
    expect(line('one\ntwo\u001b[0m three', 12)).toBe('one two\\x1b…');
  });

  test('a table pads all but the last column', () => {
    expect(
      table([
        ['a', 'bb', 'c'],
        ['aaa', 'b', 'cc'],
      ]),
    ).toEqual(['a    bb  c', 'aaa  b   cc']);
  });
});

describe('a decision', () => {
  test('shows the exact commands, each naming the decision that was looked at', () => {
    expect(decisionLines('abcd1234', decision())).toEqual([
      'waiting for you: approval   (decision 1-abcd1234-99999999)',
      '  the proposal is ready',
      '  a.ts',
      '  b.ts',
      '',
      '  emend diff abcd1234',
      '  emend review abcd1234   hunk by hunk, in a terminal',
      '  emend approve abcd1234 --decision 1-abcd1234-99999999            apply the proposed change',
      '  emend skip abcd1234 --decision 1-abcd1234-99999999               leave these files unchanged',
      '  emend revise abcd1234 --decision 1-abcd1234-99999999 --note "…"  ask the model again, with your note and the rejected edit in the prompt',
      '  emend abort abcd1234 --decision 1-abcd1234-99999999              end the run and roll back uncommitted changes',
      '  --file PATH (repeatable) answers for these files only',
    ]);
    const ofPhase = decisionLines(
      'abcd1234',
      decision({ reason: 'replan_limit', files: [], ofPlan: true }),
    );
    expect(ofPhase).toContain(
      '  emend skip abcd1234 --decision 1-abcd1234-99999999               skip the phase',
    );
    const merge = {
      reason: 'merge_conflict',
      files: [],
      ofPlan: true,
      accepts: ['regenerate', 'manual'],
    } as const;
    const merging = decisionLines('abcd1234', decision(merge));
    expect(merging.join('\n')).toMatch(
      /regenerate .* do the phase again.*\n.*manual .* the phase is merged by you/,
    );
  });

  test('failed tests of a plan: answers say what they do to its phases; those of a job speak of files', () => {
    const means = (
      of: Pick<DecisionPoint, 'ofPlan'>,
      accepts: DecisionPoint['accepts'],
      reason = 'tests_failed',
    ): string =>
      decisionLines(
        'abcd1234',
        decision({ reason: reason as PauseReason, files: [], ...of, accepts }),
      ).join('\n');
    const plan = { ofPlan: true } as const;
    const before = means(plan, ['revise', 'continue', 'manual', 'skip', 'abort']);
    expect(before).toContain('start the phases although these tests fail');
    expect(before).toContain('run the tests again, on the branch as you fixed it');
    expect(before).toContain('skip the first of these phases');
    expect(means(plan, ['revise', 'keep', 'manual'])).toContain('continue with what is merged');
    expect(before).not.toContain('these files');
    const failed = means(plan, ['retry', 'manual', 'skip'], 'engine_failed');
    for (const words of ['count it as done by you', 'skip the phase'])
      expect(failed).toContain(words);
    // Nor does that of a job, or of a phase's own run, name any.
    const ofJob = means({}, ['revise', 'keep', 'manual', 'skip']);
    for (const words of [
      'ask the model again',
      'marked [INCOMPLETE]',
      'as you edited them',
      'end the run; the files stay unchanged',
    ])
      expect(ofJob).toContain(words);
  });

  test('of a question with parts each one, and the command that says the first answer of each', () => {
    const parts = [
      { name: 'expand', message: 'Phase 2', accepts: ['all', 'none', '2'] },
      { name: 'tests', message: 'npm test (package.json)', accepts: ['run', 'none'] },
    ] as const;
    const more = {
      reason: 'plan_start',
      message: '',
      files: [],
      accepts: ['start', 'abort'],
      proposalId: null,
    } as const;
    expect(decisionLines('abcd1234', decision({ ...more, parts }))).toEqual([
      'waiting for you: plan_start   (decision 1-abcd1234-99999999)',
      '  expand (all, none, 2): Phase 2',
      '  tests (run, none, or command=…): npm test (package.json)',
      '',
      expect.stringContaining(
        'emend decide abcd1234 start --decision 1-abcd1234-99999999 --set expand=all --set tests=run  ',
      ),
      expect.stringContaining('emend abort abcd1234'),
    ]);
  });

  test('on a narrow terminal what a command means stands below it', () => {
    const lines = decisionLines('abcd1234', decision(), { width: 72 });
    expect(lines).toContain('  emend approve abcd1234 --decision 1-abcd1234-99999999');
    expect(lines).toContain('      apply the proposed change');
    expect(lines).toContain('      end the run and roll back uncommitted changes');
    expect(Math.max(...lines.map((text) => text.length))).toBeLessThanOrEqual(72);
    expect(decisionLines('abcd1234', decision(), { width: 200 })).toEqual(
      decisionLines('abcd1234', decision()),
    );
  });

  test.each(Object.keys(ANSWERS_BY_REASON) as (keyof typeof ANSWERS_BY_REASON)[])(
    '%s: every answer has its command',
    (reason) => {
      const accepts = [...ANSWERS_BY_REASON[reason], 'abort'] as const;
      const text = decisionLines('abcd1234', decision({ reason, accepts, proposalId: null })).join(
        '\n',
      );
      for (const answer of accepts)
        expect(text).toContain(commandFor('abcd1234', decision(), answer));
      expect(text).not.toContain('emend diff');
    },
  );

  test('says what is answered already, and what the proposal wants a look at', () => {
    const proposal = {
      id: '9'.repeat(64),
      ref: 'sha256:0' as const,
      diff: 'sha256:0' as const,
      files: [
        {
          path: 'a.ts',
          change: 'delete' as const,
          by: 'model' as const,
          added: 0,
          removed: 4,
          key: 'k',
        },
      ],
      findings: [
        { guard: 'deletion', severity: 'ask' as const, path: 'a.ts', message: 'is deleted' },
      ],
      tolerances: ['line_drift a.ts'],
      mustAsk: ['a file is deleted'],
    };
    const text = decisionLines('abcd1234', decision({ answered: { 'b.ts': 'skip' } }), {
      proposal,
    }).join('\n');
    expect(text).toContain('proposal 99999999: 1 file, +0 -4');
    expect(text).toContain('a.ts  +0 -4  delete');
    expect(text).toContain('ask: deletion in a.ts: is deleted');
    const found = { guard: 'syntax', severity: 'note' as const, path: 'b.ts', message: 'lacks )' };
    expect(findingText({ ...found, lines: [3, 3] })).toBe('note: syntax in b.ts, line 3: lacks )');
    expect(findingText({ ...found, lines: [3, 5] })).toBe(
      'note: syntax in b.ts, lines 3 to 5: lacks )',
    );
    expect(text).toContain('check: a file is deleted');
    expect(text).toContain('deletion in a.ts: is deleted');
    expect(text).toContain('tolerance used: line_drift in a.ts: right text, wrong line number');
    expect(text).toContain('1 file already answered, 1 left');
  });
});

describe('a run on one screen', () => {
  const view: ShownRun = {
    v: 1,
    phasesWaiting: [],
    versions: [],
    stepKey: KEY,
    workflowId: 'emend-1',
    runId: 'r',
    link: 'http://ui/x',
    host: null,
    source: 'run',
    note: null,
    status: {
      ...statusOf(KEY),
      state: 'waiting',
      doing: 'waiting for a decision: approval',
      decision: decision(),
      ignored: ['approve: too late'],
      chunksLeft: 7,
    },
    ledger: [
      row('a.ts', 'done', { verdict: 'approve' }),
      row('b.ts', 'failed', {
        attempts: 2,
        attemptsLeft: 0,
        callsLeft: 6,
        reason: 'refused: no such line',
        isNew: true,
      }),
    ],
    proposal: null,
  };

  test('holds state, place, files with their reasons, what did not count, and the decision', () => {
    const lines = viewLines(view, 'abcd1234', 100);
    expect(lines.length).toBeLessThanOrEqual(35);
    const text = lines.join('\n');
    expect(text).toContain('abcd1234  A job');
    expect(text).toMatch(/state +waiting: waiting for a decision: approval/);
    expect(text).toMatch(/Temporal UI +http:\/\/ui\/x/);
    expect(text).toMatch(/a\.ts +done, approve +whole-file +10 lines/);
    expect(text).toMatch(
      /b\.ts +failed +whole-file +new +2 \(0 and 6 left\) +refused: no such line/,
    );
    expect(text).toMatch(/so far +.*; 7 edit calls left/);
    expect(text).toContain('approve: too late');
    expect(text).toContain('emend approve abcd1234 --decision 1-abcd1234-99999999');
  });

  test('of a plan that has ended the state is said once', () => {
    const status = { ...view.status, state: 'aborted', doing: 'aborted' } as const;
    expect(viewLines({ ...view, status }, 'abcd1234', 100).join('\n')).toMatch(/state +aborted$/m);
  });

  test('a pipe has no columns: nothing is cut', () => {
    const long = `src/${'deep/'.repeat(30)}a.ts`;
    const wide = {
      ...view,
      ledger: view.ledger.map((row) => ({ ...row, path: long, reason: 'because '.repeat(40) })),
    };
    const piped = viewLines(wide, 'abcd1234', Infinity).join('\n');
    expect(piped).toContain(`${long}  `);
    expect(piped).toContain('because '.repeat(40).trimEnd());
    expect(piped).not.toMatch(/…$/m);
    expect(viewLines(wide, 'abcd1234', 80).join('\n')).not.toContain(long);
  });

  test('says where it has its knowledge from when nobody answers', () => {
    const text = viewLines(
      { ...view, source: 'archive', note: 'No worker serves the task queue emend.' },
      'abcd1234',
      100,
    ).join('\n');
    expect(text).toContain('No worker serves the task queue emend.');
    expect(text).toContain('it may be out of date');
  });

  test('a result names each warning of the tests and of the audit, and what tests wrote by sandbox.write', () => {
    const finding = { guard: 'audit', severity: 'note', path: 'a.ts', message: 'x is not used' };
    const lines = resultLines(
      result({
        verification: 'pass_with_warnings',
        testWarnings: ['x is deprecated', '2 that failed before the change: a, b'],
        written: ['reports/r.txt'],
        audit: {
          verdict: 'pass_with_warnings',
          findings: [{ ...finding, lines: [3, 3] }],
          partly: [],
        } as NonNullable<StepResult['audit']>,
      }),
      'abcd1234',
      '/w',
    );
    expect(lines).toEqual([
      'abcd1234  committed 1 file as cccccccccccc',
      '  git show cccccccccccc',
      '  tests: pass_with_warnings',
      '  audit: pass_with_warnings',
      '    a.ts:3: x is not used',
      '  3 model calls, 12,000 tokens in, 345 out, $0.0412',
      '  warning of the tests: x is deprecated',
      '  warning of the tests: 2 that failed before the change: a, b',
      '  written by the tests, as `sandbox.write` allows it: reports/r.txt',
    ]);
  });

  test('a result says what came of it, what it cost and where to look', () => {
    expect(resultLines(result({ note: 'your index lags' }), 'abcd1234', '/w')).toEqual([
      'abcd1234  committed 1 file as cccccccccccc',
      '  git show cccccccccccc',
      '  tests: pass',
      '  3 model calls, 12,000 tokens in, 345 out, $0.0412',
      '  note: your index lags',
    ]);
    // What was pushed is in no clone yet.
    expect(resultLines(result({}), 'abcd1234', "https://example.org/it's.git")[1]).toBe(
      `  git fetch 'https://example.org/it'\\''s.git' '+refs/heads/emend/*:refs/remotes/emend/*' && git show cccccccccccc`,
    );
    const twice = decision({
      message: 'a.ts: why',
      files: [{ path: 'a.ts', reason: 'conflict', message: 'why' }],
    });
    expect(decisionLines('abcd1234', twice).join('\n').match(/why/g)).toHaveLength(1);
    const aborted = { outcome: 'aborted', commit: null, verification: null } as const;
    const text = (more: Partial<StepResult>) =>
      resultLines(result({ ...aborted, ...more }), 'abcd1234', '/w').slice(0, 2);
    expect(text({})[0]).toBe('abcd1234  aborted: uncommitted changes were rolled back');
    expect(text({ notRestored: ['a.ts'] })).toEqual([
      'abcd1234  aborted',
      '  not restored, as it changed in the meantime: a.ts',
    ]);
    const refused = resultLines(
      result({
        outcome: 'refused',
        commit: null,
        verification: null,
        problem: { code: 'target_binary', message: 'a.png is binary', next: 'Omit it.' },
      }),
      'abcd1234',
      '/w',
    );
    expect(refused.slice(0, 3)).toEqual([
      'abcd1234  refused; nothing was written',
      '  a.png is binary',
      '  Omit it.',
    ]);
  });
});

describe('progress', () => {
  test('says which file of how many, and what each is doing, those at work first', () => {
    const status = { ...statusOf(KEY), doing: 'file 2/5: b.ts' };
    const ledger = [
      row('a.ts', 'done'),
      row('b.ts', 'in_progress', { format: 'unified-diff' }),
      row('c.ts', 'pending'),
      row('d.ts', 'failed', { reason: 'cut off' }),
    ];
    expect(progressLines(status, ledger, 80)).toEqual([
      'file 2/5: b.ts',
      '  > b.ts  calling the model (unified-diff)',
      '  + a.ts  answered',
      '    c.ts  waiting for its turn',
      '  ! d.ts  failed: cut off',
    ]);
  });

  test('is drawn over itself in a terminal and not at all elsewhere', () => {
    const tty = fakeIo({ isTty: true });
    const block = new LiveBlock(tty);
    block.draw(['one', 'two']);
    block.draw(['three']);
    expect(tty.printed.out).toBe('one\ntwo\n\u001b[2A\u001b[0Jthree\n');
    const pipe = fakeIo();
    new LiveBlock(pipe).draw(['one']);
    expect(pipe.printed.out).toBe('');
  });

  test('truncation and split are lines that stay, in the words of the docs', () => {
    const at = { seq: 1, at: 0 };
    const cut = {
      type: 'truncation_detected',
      file: '*',
      reason: 'max_tokens',
      partialLength: 900,
      stopReason: 'max_tokens',
      ...at,
    } as const;
    const split = {
      type: 'edit_split_triggered',
      reason: 'truncated',
      file_count: 3,
      ...at,
    } as const;
    expect([cut, split].every(isWorthALine)).toBe(true);
    expect(eventText(cut)).toBe('truncated: all files: max_tokens; 900 bytes discarded');
    expect(eventText(split)).toBe('split by file: 3 files: truncated');
  });

  test('an answer that is about no file counts none', () => {
    const decided = {
      type: 'decided',
      answer: 'continue',
      by: 'ann (cli)',
      seq: 1,
      at: 0,
      decision: '1-ab',
      skipped: [],
    } as const;
    expect(eventText({ ...decided, files: 0 })).toBe('continue by ann (cli)');
    expect(eventText({ ...decided, files: 2 })).toBe('continue for 2 files by ann (cli)');
  });
});

describe('a diff', () => {
  const hostile = '--- a\n+++ b\n-x\n+\u001b[2Jy\n';
  test('goes out byte for byte into a pipe, and without control characters to a terminal', async () => {
    const pipe = fakeIo();
    await printDiff(pipe, hostile, '/');
    expect(pipe.printed.out).toBe(hostile);
    const tty = fakeIo({ isTty: true, env: { ...process.env, GIT_PAGER: 'cat' } });
    await printDiff(tty, hostile, '/');
    expect(tty.printed.out).toContain('+\\x1b[2Jy');
  });

  const painted = async (diff: string, env: Record<string, string> = {}): Promise<string> => {
    const io = fakeIo({
      isTty: true,
      env: { ...process.env, TERM: 'xterm', GIT_PAGER: 'cat', ...env },
    });
    await printDiff({ ...io, colors: pc.createColors(true) }, diff, '/');
    return io.printed.out;
  };
  const bytes = (text: string) => new TextEncoder().encode(text);
  const bare = stripVTControlCharacters;

  test('has the colours of its language in a terminal; every character stays', async () => {
    const file = (path: string, base: string, result: string) => ({
      path,
      base: bytes(base),
      result: bytes(result),
    });
    const diff = combinedDiff([
      file(
        'a.ts',
        'const a = 1; // one\n@@ -1 +1 @@\n-- a/x\nend',
        'const a = "two"; // \u202e two\n',
      ),
      file('notes.txt', 'const a\n', 'const b\n'),
      file('b.py', 'def f():\n    return 1\n', 'def f():\n    return "\u{1f600}"\n'),
      { path: 'gone.js', base: bytes('const gone = 1;\n'), result: null },
    ]);
    const out = await painted(diff);
    expect(bare(out)).toBe(diff.split('\n').map(plain).join('\n'));
    expect(out).toContain('\u001b[35mconst\u001b[39m');
    expect(out).toContain('\u001b[33m"two"\u001b[39m');
    expect(out).toContain('\u001b[36m1\u001b[39m');
    expect(out).toContain('\u001b[35mdef\u001b[39m');
    // No grammar, no words.
    expect(out).toContain('+const b\u001b[m');
    expect(await painted(diff, { NO_COLOR: '1' })).toBe(bare(out));
  });

  test('a diff of a million characters and more keeps the colours of its lines', async () => {
    const long = 'const a = 1;\n'.repeat(80_000);
    const diff = combinedDiff([{ path: 'a.ts', base: bytes('x\n'), result: bytes(long) }]);
    expect(diff.length).toBeGreaterThan(1_000_000);
    const out = await painted(diff);
    expect(out).toContain('+const a = 1;\u001b[m');
    expect(out).not.toContain('\u001b[35m');
  });
});
