import { describe, expect, test } from '@jest/globals';
import {
  exitOfClosed,
  exitOfResult,
  explain,
  explanation,
  reportError,
} from '../../src/cli/errors.js';
import {
  problem,
  ProblemError,
  ProblemsError,
  type ProblemCode,
} from '../../src/shared/problems.js';
import type { StepOutcome, StepResult } from '../../src/shared/run.js';
import { NO_USAGE } from '../../src/shared/usage.js';
import { fakeIo } from './io.js';

const result = (outcome: StepOutcome, code: ProblemCode | null = null): StepResult => ({
  v: 2,
  stepKey: 'k',
  outcome,
  files: [],
  skipped: [],
  pausedFor_ms: 0,
  wasSplit: false,
  usage: NO_USAGE,
  commit: null,
  proposalId: null,
  verification: null,
  problem: code === null ? null : problem(code, 'why'),
});

describe('exit codes', () => {
  test.each([
    ['committed', null, 0],
    ['applied', null, 0],
    ['unchanged', null, 0],
    ['skipped', null, 0],
    ['aborted', null, 1],
    ['aborted', 'aborted', 1],
    ['failed', null, 1],
    ['failed', 'git_failed', 1],
    ['refused', null, 4],
    ['refused', 'target_binary', 4],
    ['refused', 'target_missing', 2],
    ['failed', 'conflict', 5],
    ['failed', 'limit_reached', 6],
    ['failed', 'model_rejected', 7],
    // What came well with a note is still well.
    ['committed', 'hook_failed', 0],
  ] as const)('%s with %s ends with %d', (outcome, code, exit) => {
    expect(exitOfResult(result(outcome, code))).toBe(exit);
    expect(
      exitOfClosed({ status: 'COMPLETED', result: result(outcome, code), message: null }),
    ).toBe(exit);
  });

  test('a run that was terminated has failed', () => {
    expect(exitOfClosed({ status: 'TERMINATED', result: null, message: 'x' })).toBe(1);
  });
});

describe('what went wrong', () => {
  test('is a sentence and the next step; several share a step they have in common', () => {
    const problems = [
      problem('job_invalid', 'job.md:2: a'),
      problem('job_invalid', 'job.md:3: b'),
      problem('target_missing', 'job.md:4: c'),
    ] as const;
    const explained = explain(new ProblemsError(problems));
    expect(explained.exit).toBe(2);
    expect(explanation(explained).split('\n')).toEqual([
      'emend: job.md:2: a',
      'emend: job.md:3: b',
      '  Fix the named line or key of the job; docs/jobs.md lists every key.',
      'emend: job.md:4: c',
      '  Correct the path, or name files to create under `new_files`.',
    ]);
  });

  test('of a bug is one sentence too; the stack only with EMEND_DEBUG', () => {
    const bug = new Error('boom\nand more');
    const quiet = fakeIo();
    expect(reportError(quiet, bug, false)).toBe(1);
    expect(quiet.printed.err).toBe(
      'emend: Unexpected error: boom\n  Run again with EMEND_DEBUG=1 for details.\n',
    );
    const loud = fakeIo({ env: { EMEND_DEBUG: '1' } });
    reportError(loud, bug, false);
    expect(loud.printed.err).toContain('errors.test');
  });

  test('of a disk is the disk', () => {
    const full = Object.assign(new Error('ENOSPC: no space left on device, write'), {
      code: 'ENOSPC',
    });
    expect(explain(full)).toMatchObject({ exit: 1, problems: [{ code: 'disk' }] });
  });

  test('never shows a key, nor control characters; --json gets it as data', () => {
    const io = fakeIo({ env: { ANTHROPIC_API_KEY: 'sk-very-secret' } });
    const exit = reportError(
      io,
      new ProblemError(problem('model_rejected', 'bad key sk-very-secret \u001b[31m')),
      true,
    );
    expect(exit).toBe(7);
    expect(io.printed.err + io.printed.out).not.toContain('sk-very-secret');
    expect(io.printed.err).not.toContain('\u001b');
    expect(JSON.parse(io.printed.out)).toMatchObject({
      exit: 7,
      error: { code: 'model_rejected' },
    });
  });
});
