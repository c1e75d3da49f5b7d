/** One task through the real edit step: a scratch copy, a run, approvals given, what came of it. */
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  decide,
  readJobFile,
  resolveRun,
  runEvents,
  showRun,
  startStep,
  type Emend,
  type ResolvedRun,
  type StepEvent,
} from '../../../src/client/index.js';
import { attemptsOfStep, usageOfEnded } from '../../../src/model/journal/calls.js';
import type { Format } from '../../../src/shared/formats.js';
import { answersOf, type KeptAnswer, type Verdict } from './answers.js';
import { abort_ms, maxApprovals, poll_ms } from './limits.js';
import type { PeerFormat } from './peer.js';
import { check, type Checked, filesOf, judged, makeScratch } from './scratch.js';
import type { Files, Task } from './task.js';

export type WantedFormat = Format | 'auto';

export interface Attempt extends Pick<
  KeptAnswer,
  'role' | 'file' | 'format' | 'outputBudget_tokens'
> {
  readonly input_tokens: number;
  readonly output_tokens: number;
  readonly seconds: number;
  readonly verdict: Verdict | null;
}
export interface TaskRun {
  readonly v: 1;
  readonly task: string;
  readonly taskHash: string;
  readonly format: WantedFormat | PeerFormat;
  readonly kind: string;
  readonly small: boolean;
  readonly lines: number;
  readonly at: string;
  /** `solved`; `wrong`: applied, and the check fails; else how the run ended or what it paused for; `time_limit`. */
  readonly outcome: string;
  /** A person was asked about what was applied, though approval was automatic. */
  readonly asked: boolean;
  readonly message: string;
  readonly attempts: readonly Attempt[];
  /** Fallbacks taken, in words. */
  readonly fallback: readonly string[];
  readonly refusals: readonly string[];
  readonly calls: number;
  readonly unknownCalls: number;
  readonly input_tokens: number;
  readonly output_tokens: number;
  readonly usd: number | null;
  readonly seconds: number;
  readonly before: Checked;
  readonly after: Checked;
  /** Files that changed and should not have; of a run that was not applied, any file that changed. Always expected empty. */
  readonly outside: readonly string[];
}

export interface RunOptions {
  readonly emend: Emend;
  /** Holds a directory a run; made here, removed afterwards. */
  readonly dir: string;
  readonly format: WantedFormat;
  readonly model: string | null;
  /** `emend.yaml` of the scratch copies. */
  readonly config: string | null;
  readonly limit_ms: number;
}

export const runTask = async (
  task: Task,
  options: RunOptions,
): Promise<{ run: TaskRun; answers: KeptAnswer[] }> => {
  const { emend, format } = options;
  const dir = join(options.dir, `${task.id}.${format}`);
  rmSync(dir, { recursive: true, force: true });
  const extra: Files =
    options.config === null ? new Map() : new Map([['emend.yaml', Buffer.from(options.config)]]);
  const workspace = makeScratch(join(dir, 'workspace'), task, extra);
  try {
    const before = check(task, workspace);
    const files = filesOf(workspace);
    const jobPath = join(dir, 'job.md');
    mkdirSync(dir, { recursive: true });
    writeFileSync(jobPath, jobWith(task.jobText, format, options.model));
    const started = performance.now();
    const job = await readJobFile({ jobPath, workspace, cwd: dir });
    const { stepKey } = await startStep(emend, { job, approval: 'auto' });
    const run = await resolveRun(emend, stepKey);
    const end = await drive(emend, run, started + options.limit_ms);
    const seconds = (performance.now() - started) / 1000;
    const applied = end.kind === 'ended' && ['applied', 'committed'].includes(end.outcome);
    const usage = usageOfEnded(await attemptsOfStep(emend.calls, stepKey));
    const answers = await answersOf(emend.store, stepKey, task);
    return {
      answers,
      run: {
        ...headOf(task, format),
        ...judged(task, { workspace, files, applied, otherwise: end.outcome }),
        asked: end.asked,
        message: end.message,
        attempts: answers.map(attemptOf),
        ...toldBy(await runEvents(emend, run)),
        calls: usage.calls,
        unknownCalls: usage.unknownCalls,
        input_tokens: usage.input_tokens + usage.cacheRead_tokens + usage.cacheWrite_tokens,
        output_tokens: usage.output_tokens,
        usd: usage.usd,
        seconds,
        before,
      },
    };
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
};

/** Which task was done, in which format, and when it ended: now. */
export const headOf = (
  task: Task,
  format: TaskRun['format'],
): Pick<TaskRun, 'v' | 'task' | 'taskHash' | 'format' | 'kind' | 'small' | 'lines' | 'at'> => ({
  v: 1,
  task: task.id,
  taskHash: task.hash,
  format,
  kind: task.kind,
  small: task.small,
  lines: task.lines,
  at: new Date().toISOString(),
});

/** Formats go into the front matter; a job that writes output files says itself how. */
export const canBeIn = (task: Task, format: WantedFormat): boolean =>
  format === 'auto' ||
  (task.job.mode === null && task.job.outputFiles.length === 0 && task.job.format === null);

const jobWith = (text: string, format: WantedFormat, model: string | null): string => {
  const more = [
    ...(format === 'auto' ? [] : [`format: ${format}`]),
    ...(model === null ? [] : [`model: ${JSON.stringify(model)}`]),
  ];
  return more.length === 0 ? text : text.replace(/^---\n/, `---\n${more.join('\n')}\n`);
};

interface End {
  readonly kind: 'ended' | 'paused' | 'time_limit';
  readonly outcome: string;
  readonly asked: boolean;
  readonly message: string;
}

/** Approves what a person is asked to approve; aborts at any other pause and at the time limit, so that nothing is open afterwards. */
const drive = async (emend: Emend, run: ResolvedRun, until: number): Promise<End> => {
  let approvals = 0;
  for (;;) {
    const view = await showRun(emend, run, { full: false }).catch(() => null);
    const asked = approvals > 0;
    const result = view?.status.result ?? null;
    if (result !== null)
      return {
        kind: 'ended',
        outcome: result.outcome,
        asked,
        message: result.problem?.message ?? '',
      };
    const decision = view?.status.decision ?? null;
    if (decision?.reason === 'approval' && approvals < maxApprovals) {
      approvals += 1;
      await decide(emend, run, {
        answer: 'approve',
        decision: decision.id,
        by: { name: 'exam', from: 'cli' },
      });
    } else if (decision !== null) {
      await abort(emend, run);
      return { kind: 'paused', outcome: decision.reason, asked: true, message: decision.message };
    } else if (performance.now() > until) {
      await abort(emend, run);
      return {
        kind: 'time_limit',
        outcome: 'time_limit',
        asked,
        message: view?.status.doing ?? '',
      };
    } else {
      await sleep(poll_ms);
    }
  }
};

const abort = async (emend: Emend, run: ResolvedRun): Promise<void> => {
  await decide(emend, run, { answer: 'abort', by: { name: 'exam', from: 'cli' } });
  const end = performance.now() + abort_ms;
  while (performance.now() < end) {
    const view = await showRun(emend, run, { full: false }).catch(() => null);
    if ((view?.status.result ?? null) !== null) return;
    await sleep(poll_ms);
  }
  throw new Error(`the run ${run.stepKey} did not end within ${abort_ms / 1000} s of its abort`);
};

export const attemptOf = ({
  role,
  file,
  format,
  outputBudget_tokens,
  input_tokens,
  output_tokens,
  seconds,
  verdict,
}: KeptAnswer): Attempt => ({
  role,
  file,
  format,
  outputBudget_tokens,
  input_tokens,
  output_tokens,
  seconds,
  verdict,
});

const toldBy = (events: readonly StepEvent[]): Pick<TaskRun, 'fallback' | 'refusals'> => ({
  fallback: events.flatMap((event) =>
    event.type === 'fallback' ? [`${event.file}: ${event.to}`] : [],
  ),
  refusals: events.flatMap((event) =>
    event.type === 'answer_refused'
      ? [`${event.file}: ${event.outcome}: ${event.message.split('\n')[0] ?? ''}`]
      : [],
  ),
});
