/** The package's door for other programs: runs on a Temporal server, and what this machine's store knows of them. */
import { planOfPath, startPlan } from './runs/start-plan.js';
import { startStep, type StartedStep, type StartOptions } from './runs/start.js';
import { decide, loginName, type DecideOptions, type DecideResult } from './runs/decide.js';
import { runDiff, runEvents, showRun, type RunDiff, type RunView } from './runs/show.js';
import { waitForRun, watchRun, type Waited, type WaitOptions } from './runs/watch.js';
import { jobOfText, readJobFile, type JobText } from '../workspace/documents/index.js';
import { listRuns, type ListOptions as AllListOptions, type RunList } from './runs/list.js';
import { openEmend, type OpenOptions } from './open.js';
import { resolveRun } from './runs/resolve.js';
import type { Emend as Opened } from './types.js';
import type { StepEvent } from '../shared/events.js';

export { ProblemError, ProblemsError } from '../shared/problems.js';
export type {
  DecideOptions,
  DecideResult,
  JobText,
  OpenOptions,
  RunDiff,
  RunList,
  RunView,
  StartedStep,
};
export type { StepEvent, Waited, WaitOptions };
export type { Answer, DecisionPoint } from '../shared/decisions.js';
export type { StepResult, StepStatus } from '../shared/run.js';
export type { EditStepInput, PlanInput } from '../shared/start-input.js';
export type { ProposalSummary } from '../shared/proposal-activities.js';

/** A job as a value, a job file, or a plan's document. Paths are relative to the working directory of the process. */
export type Work =
  | JobText
  | { readonly file: string; readonly workspace?: string }
  | { readonly plan: string };
/** How a run is started, beside its job or plan. */
export type RunOptions = Omit<StartOptions, 'job' | 'given'>;
/** Which runs are listed. */
export type ListOptions = Omit<AllListOptions, 'index'>;
/**
 * Emend, opened with `await Emend.open()`, closed with `await emend.close()`. `run` is a run's `stepKey`, at least 4 digits of it, or its
 * workflow id. Expected failures are thrown as ProblemError: its `problem` has a `code`, a `message` and what to do `next`. A job with
 * several faults throws ProblemsError with all of them.
 */
export class Emend {
  readonly #emend: Opened;
  private constructor(emend: Opened) {
    this.#emend = emend;
  }

  /** Without a server, `start` and `decide` throw `no_server`; `show`, `diff`, `events` and `list` answer from the store. */
  static async open(options: OpenOptions = {}): Promise<Emend> {
    return new Emend(await openEmend(options));
  }

  /** Starts a run. Where one of the same job is open already, that one is returned (`started` tells). */
  async start(work: Work, options: RunOptions = {}): Promise<StartedStep> {
    if ('plan' in work)
      return startPlan(this.#emend, {
        ...options,
        plan: await planOfPath(process.cwd(), work.plan),
      });
    return startStep(this.#emend, { ...options, job: await read(work) });
  }

  /** Waits for a decision (`waiting`), the end (`closed`) or your signal (`stopped`). While nothing changes it costs no action. */
  async wait(run: string, options?: WaitOptions): Promise<Waited> {
    return waitForRun(this.#emend, await this.#find(run), options);
  }

  /** Answers a decision, as a program under your login name (`by`). No key of this machine signs it unless `sign` is true. */
  async decide(run: string, answer: DecideOptions): Promise<DecideResult> {
    const by = { name: loginName(), from: 'program' };
    return decide(this.#emend, await this.#find(run), { by, sign: false, ...answer });
  }

  /** State, open decision, files and proposal of a run. */
  async show(run: string): Promise<RunView> {
    return showRun(this.#emend, await this.#find(run));
  }

  /** The proposal and its combined diff, as `git apply` takes it; null: there is none yet. */
  async diff(run: string): Promise<RunDiff | null> {
    return runDiff(this.#emend, await this.#find(run));
  }

  /** What happened after the event `after` (a `seq`), oldest first; `follow`: and what comes, until the run ends or `signal` aborts. */
  async *events(
    run: string,
    {
      after = 0,
      follow = false,
      ...until
    }: { after?: number; follow?: boolean; signal?: AbortSignal } = {},
  ): AsyncGenerator<StepEvent> {
    for (let last = after, open = follow; ;) {
      const found = await this.#find(run);
      for (const event of await runEvents(this.#emend, found, last)) {
        last = event.seq;
        yield event;
      }
      if (!open || found.live?.open !== true) return;
      const news = ({ status }: RunView) => (status.lastSeq > last ? 'stop' : undefined);
      open =
        (await watchRun(this.#emend, found, news, until)) === null &&
        until.signal?.aborted !== true;
    }
  }

  /** Open runs, then ended ones, newest first. The next page begins `before` what `older` of the list names. */
  async list(options: ListOptions = {}): Promise<RunList> {
    return listRuns(this.#emend, options);
  }

  /** Closes the connection; runs go on. */
  async close(): Promise<void> {
    await this.#emend.close();
  }

  #find(run: string) {
    return resolveRun(this.#emend, run);
  }
}

const read = (job: Exclude<Work, { readonly plan: string }>) =>
  'file' in job
    ? readJobFile({ jobPath: job.file, workspace: job.workspace ?? null, cwd: process.cwd() })
    : jobOfText(job);
