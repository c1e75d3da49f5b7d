/** The client's stores on a real disk, and a server that is a map: runs open and close as the tests say. */
import { unbegunResult } from '../../src/workflows/frame/details.js';
import { runKey } from '../../src/shared/run-key.js';
import { mkdtemp, realpath } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { resolveTimings } from '../../src/temporal/settings.js';
import { createArchive } from '../../src/stores/directory/archive.js';
import { createBlobStore, diskFiles } from '../../src/stores/directory/blobs.js';
import { createCallLog, createRecordStore } from '../../src/stores/directory/records.js';
import { storePaths } from '../../src/stores/location.js';
import { ProblemError, problem, type Problem } from '../../src/shared/problems.js';
import { queueNames, QUERIES } from '../../src/shared/names.js';
import type { LedgerRow, StatusQuery, StepResult, StepStatus } from '../../src/shared/run.js';
import type { DecisionRequest } from '../../src/shared/decisions.js';
import type { ProposalSummary } from '../../src/shared/proposal-activities.js';
import type { StepEvent } from '../../src/shared/events.js';
import { NO_USAGE } from '../../src/shared/usage.js';
import type {
  ClosedRun,
  DescribedRun,
  Emend,
  News,
  RunGateway,
  StartRequest,
  UpdateOutcome,
} from '../../src/client/types.js';
import type { SeenWorker } from '../../src/temporal/live-workers.js';
import type { Unused } from '../../src/client/gc/index.js';
import type { ClosedRecord, TransactionPlan } from '../../src/workspace/apply/record.js';

export interface FakeRun {
  described: DescribedRun;
  status: StepStatus;
  closed: ClosedRun | null;
}

const LIVE: Omit<SeenWorker, 'queue'> = {
  said: 'a worker',
  host: null,
  boot: null,
  store: null,
  build: null,
  versioned: false,
  seen_ms: 0,
  is: 'live',
};

/** Returns what the server's record of a run says of its open decision. */
const waitsOf = ({ decision }: Partial<StepStatus>): DescribedRun['waits'] =>
  decision == null ? null : { reason: decision.reason, decision: decision.id };

export class FakeServer implements RunGateway {
  /** Newest last; several may share a workflow id, at most one of them open. */
  readonly runs: FakeRun[] = [];
  readonly queries: string[] = [];
  readonly updates: DecisionRequest[] = [];
  readonly signals: { name: string; payload: unknown }[] = [];
  workers = true;
  attributes = true;
  answer: UpdateOutcome = {
    kind: 'answered',
    outcome: { outcome: 'resolved', decision: 'd', message: 'done' },
  };
  /** News for `follow`, in order; each changes a run before it is told. */
  news: (() => void)[] = [];

  /** Puts a run there as if somebody had started it. */
  add(
    stepKey: string,
    workflowId: string,
    more: Partial<DescribedRun> = {},
    status: Partial<StepStatus> = {},
  ): FakeRun {
    const memo = { stepKey, jobPath: 'job.md', title: 'A job', workspace: '/w', host: 'h' };
    const run: FakeRun = {
      described: {
        workflowId,
        runId: `run-${this.runs.length + 1}`,
        type: 'editStep',
        status: 'RUNNING',
        open: true,
        memo,
        waits: waitsOf(status),
        outcome: null,
        historyLength: 3,
        startedAt: new Date(0),
        closedAt: null,
        queue: 'emend',
        ...more,
      },
      status: { ...statusOf(stepKey), ...status },
      closed: null,
    };
    this.runs.push(run);
    return run;
  }

  close(run: FakeRun, closed: ClosedRun): void {
    run.described = {
      ...run.described,
      open: false,
      status: closed.status,
      closedAt: new Date(1000),
    };
    run.closed = closed;
  }

  find({ workflowId, runId }: { workflowId: string; runId: string | null }): FakeRun | undefined {
    return this.runs
      .filter(
        (run) =>
          run.described.workflowId === workflowId &&
          (runId === null || run.described.runId === runId),
      )
      .at(-1);
  }

  start = async ({ workflowId, memo }: StartRequest) => {
    if (this.find({ workflowId, runId: null })?.described.open === true)
      return { outcome: 'exists' as const };
    const stepKey = runKey({
      namespace: 'default',
      workflowId,
      firstRunId: `run-${this.runs.length + 1}`,
      cronRunId: null,
    });
    const run = this.add(stepKey, workflowId, { memo: { stepKey, ...memo } });
    return { outcome: 'started' as const, runId: run.described.runId, stepKey };
  };
  describe = async (ref: { workflowId: string; runId: string | null }) =>
    this.find(ref)?.described ?? null;
  /** Visibility queries, in the order of the lists. */
  readonly lists: string[] = [];
  list = async (filter: string, limit = Infinity) => (
    this.lists.push(filter),
    this.found(filter).slice(0, limit)
  );
  count = async (filter: string) => this.found(filter).length;
  private found(filter: string): readonly DescribedRun[] {
    const prefix = /STARTS_WITH "([^"]*)"/.exec(filter)?.[1] ?? '';
    const openOnly = filter.includes('"Running"');
    const isListed = (run: DescribedRun): boolean =>
      !filter.includes('"waiting"') || run.waits !== null;
    return this.runs
      .map((run) => run.described)
      .filter((run) => (run.memo?.stepKey ?? '').startsWith(prefix) && (run.open || !openOnly))
      .filter(isListed)
      .reverse();
  }
  ledger: readonly LedgerRow[] = [];
  proposal: ProposalSummary | null = null;
  query = async <T>(
    ref: { workflowId: string; runId: string | null },
    name: string,
    args: readonly unknown[] = [],
  ) => {
    this.queries.push(name);
    const run = this.find(ref);
    if (!this.workers || run === undefined)
      throw new ProblemError(problem('no_worker', 'No worker is running.'));
    const { ledger, proposal } = this;
    const status = {
      ...run.status,
      ...((args[0] as StatusQuery | undefined)?.full === true && { ledger, proposal }),
    };
    const answers: Record<string, unknown> = {
      [QUERIES.events]: this.events,
      [QUERIES.status]: status,
    };
    return { ...answers, [QUERIES.ledger]: ledger, [QUERIES.proposal]: proposal }[name] as T;
  };
  update = async (_ref: unknown, request: DecisionRequest) => {
    this.updates.push(request);
    return this.answer;
  };
  signal = async (_ref: unknown, name: string, payload: unknown) => {
    this.signals.push({ name, payload });
    return true;
  };
  polled = async (_queue?: string, _doubted?: boolean) => this.workers;
  runsCommands = async () => this.workers;
  silent = async (_group: string, queues: readonly string[], doubted = false) => {
    const served = await Promise.all(queues.map((queue) => this.polled(queue, doubted)));
    return queues.filter((_, index) => served[index] !== true);
  };
  untilLate = async (_ref: unknown, signal: AbortSignal) =>
    sleep(50, undefined, { signal }).catch(() => undefined);
  /** Workers by queue; a queue without any is served as `workers` says. */
  seen: Record<string, readonly Omit<SeenWorker, 'queue'>[]> = {};
  /** Queues that `seenAt` was asked about. */
  readonly looks: (readonly string[])[] = [];
  seenAt = async (_group: string, needed: readonly string[], others: readonly string[] = []) => {
    this.looks.push(needed);
    const workers = [...needed, ...others].flatMap((queue): readonly SeenWorker[] => {
      const found: readonly Omit<SeenWorker, 'queue'>[] | undefined = this.seen[queue];
      if (found !== undefined) return found.map((worker) => ({ ...worker, queue }));
      return this.workers && Object.keys(this.seen).length === 0 ? [{ ...LIVE, queue }] : [];
    });
    return { workers, unasked: [] };
  };
  follow = async (
    ref: { workflowId: string; runId: string | null },
    _after: number,
    signal: AbortSignal,
    onNews: (news: News) => Promise<void>,
  ) => {
    // As a history does, news of a run end when it is closed; the rest are another run's.
    while (this.news.length > 0 && !signal.aborted && this.find(ref)?.described.open === true) {
      this.news.shift()?.();
      const found = this.find(ref);
      const kind = found?.status.state === 'waiting' ? 'pause' : 'change';
      await onNews(newsOf(found?.described.open === true ? kind : 'end'));
    }
  };
  untilEnd = async () => undefined;
  closed = async (ref: { workflowId: string; runId: string | null }) => this.find(ref)!.closed!;
  /** What the history holds of a run's events, and what a worker knows of them. */
  told: StepEvent[] = [];
  events: StepEvent[] = [];
  taskFailure = async () => null;
  historyEvents = async () => this.told;
  historyText = async () => '';
  searchAttributes = async () => this.attributes;
}

/** News as a history tells them that holds no events. */
export const newsOf = (kind: News['kind'], more: Partial<News> = {}): News => ({
  kind,
  events: [],
  activity: null,
  ...more,
});

export const statusOf = (stepKey: string): StepStatus => ({
  v: 2,
  stepKey,
  workspace: '/w',
  jobPath: 'job.md',
  title: 'A job',
  state: 'running',
  doing: 'reading the files',
  stage: 'preflight',
  counts: { pending: 0, in_progress: 0, done: 0, failed: 0, skipped: 0 },
  decision: null,
  proposalId: null,
  usage: NO_USAGE,
  wasSplit: false,
  ignored: [],
  lastSeq: 0,
  result: null,
});

export const refusedResult = (stepKey: string, refusal: Problem): StepResult => ({
  ...unbegunResult(stepKey, 'refused'),
  problem: refusal,
});

export const tempDir = async (): Promise<string> =>
  realpath(await mkdtemp(join(tmpdir(), 'emend-client-')));

/** `server` null: none answers. */
export const fakeEmend = async (server: FakeServer | null): Promise<Emend> => {
  const home = await tempDir();
  const paths = storePaths(home);
  return {
    home,
    store: home,
    archive: createArchive({ dir: paths.archive }),
    blobs: createBlobStore({ dir: paths.blobs }),
    records: createRecordStore({ dir: paths.records }),
    calls: createCallLog({ dir: paths.calls }),
    files: diskFiles,
    timings: resolveTimings({}),
    queues: queueNames('emend', 'abc'),
    namespace: 'default',
    address: 'localhost:7233',
    uiUrl: 'http://localhost:8233',
    runs: server,
    unreachable:
      server === null ? problem('no_server', 'No Temporal server at localhost:7233.') : null,
    close: () => Promise.resolve(),
  };
};

/** The problem that `work` throws; fails the test where it throws none. */
/** What the archive keeps of a run's start. */
export const startedData = (data: object): object => ({
  workflowId: 'emend-1',
  runId: 'run-1',
  namespace: 'default',
  address: '',
  queues: queueNames('emend', 'h'),
  workspace: '/nowhere',
  jobPath: 'job.md',
  title: 'T',
  ...data,
});

export const problemOf = async (work: () => Promise<unknown>): Promise<ProblemError['problem']> => {
  try {
    await work();
  } catch (error) {
    if (error instanceof ProblemError) return error.problem;
    throw error;
  }
  throw new Error('expected a problem, nothing was thrown');
};

/** What `findUnused` says where nothing may go. */
export const NOTHING_UNUSED: Unused = {
  steps: [],
  blobs: [],
  temps: [],
  caches: [],
  named: [],
  hosts: [],
  layers: [],
  isMore: false,
  notes: [],
};

/** A transaction's plan as a home holds it, of no files. */
export const planRecord = (
  stepKey: string,
  changes: Partial<TransactionPlan> = {},
): TransactionPlan => ({
  stepKey,
  proposalId: 'p',
  decision: 1,
  kind: 'apply',
  generation: 1,
  workspace: '/gone',
  token: 'ab',
  attempt: 'cd',
  process: { boot: 'b', pid: 1, started: '1' },
  lock: {
    stepKey,
    workflowId: 'w',
    namespace: 'default',
    token: 1,
    head: null,
    headRef: null,
    takenAt: '',
  },
  files: [],
  dirs: [],
  dropDirs: [],
  ...changes,
});
export const closedRecord = (stepKey: string): ClosedRecord => ({
  outcome: 'applied',
  files: [],
  conflicts: [],
  lock: planRecord(stepKey).lock,
});
