/** What a run says of itself: from its worker where one answers, else from the archive. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { PauseReason } from '../../shared/decisions.js';
import { planOf, shownKey, type StepKey } from '../../shared/ids.js';
import { type ResolvedRun, withLive, eventsFrom, noteClosed } from './resolve.js';
import {
  needRuns,
  noServerNote,
  type DescribedRun,
  type Emend,
  type RunGateway,
} from '../types.js';
import { checkVersion, nullOn, problemOn, sentence } from '../../shared/problems.js';
import type { StepEvent } from '../../shared/events.js';
import { allQueues, QUERIES, workflowQueues, type Queues } from '../../shared/names.js';
import type { Follows, FullStatus, LedgerRow, StepStatus } from '../../shared/run.js';
import type { ProposalSummary } from '../../shared/proposal-activities.js';
import { PASSED, type TestOutput } from '../../shared/test-activities.js';
import { getJson } from '../../stores/ports.js';
import { arrangeTestOutput, wholeTestOutput } from '../../workspace/test-output/index.js';
import { withRecordedUsage } from '../archive/recorded-usage.js';
import { testsOf, type ReportVerification } from '../archive/report.js';
import type { ArchivedRun, ProposalVersion } from '../archive/run.js';
import { ledgerOfEvents } from '../archive/ledger.js';
import { archivedStatus, cutOff } from '../archive/status.js';
import { hideSecrets } from './proposal.js';
import { earlierCommit, earlierCommitNote } from './earlier-commit.js';
import { aboutHost, runHost, silentNote, type RunHost } from './hosts.js';

export const SHOW_QUERY_MS = 5_000; // bound: A worker that is there answers in milliseconds; a stopped one would be waited for 30 s.
const ASK_AGAIN_MS = 500; // bound: Between two calls of a command that has patience with a busy machine.
const TEST_OUTPUT_BYTES = 16 * 1024; // bound: Maximum size of a test run's output as `--tests`, the page and the report show it; `--whole` shows all.

const PASSED_OUTPUT_BYTES = 1024; // bound: The same for tests that passed: their output must not hide that of tests that failed.

/** What is known of a run. */
export interface RunView {
  readonly v: 1;
  readonly stepKey: string;
  readonly workflowId: string | null;
  readonly runId: string | null;
  /** Address in the Temporal UI; null where none is known or the server has forgotten the run. */
  readonly link: string | null;
  /** `run`: asked of the run itself; `archive`: what this machine has on disk, which may lag behind. */
  readonly source: 'run' | 'archive';
  /** Why it is not asked of the run, or that nobody serves a queue that the run needs, and what to type; null otherwise. */
  readonly note: string | null;
  /** Null: not known. */
  readonly host: RunHost | null;
  readonly status: StepStatus;
  readonly ledger: readonly LedgerRow[];
  readonly proposal: ProposalSummary | null;
  readonly follows?: Follows;
  /** Its proposals by number from 1, the last of them `proposal`. */
  readonly versions: readonly ProposalVersion[];
}

export interface ShowOptions {
  /** False: status only. Of a run that has ended, none instead of one. */
  readonly full?: boolean;
  /** How long a worker that polls may take to answer; until then a call that fails is made again. */
  readonly patience_ms?: number;
}

/** Never throws for an absent server or worker: the view says so in `note`. */
export const showRun = async (
  emend: Emend,
  run: ResolvedRun,
  { full = true, patience_ms }: ShowOptions = {},
): Promise<RunView> => {
  // Whoever looks first at a run that has ended keeps how it ended: the server will forget it.
  const archived = run.live?.open === false ? await noteClosed(emend, run) : stillOpen(run);
  // The memo is there even when the archive is not (a run started from another machine).
  const { memo } = run.live ?? {};
  const named = memo && { workspace: memo.workspace, jobPath: memo.jobPath, title: memo.title };
  const look = async (ask: Ask) => {
    const answer = known(await ask<FullStatus>(QUERIES.status, ...(full ? [{ full }] : [])));
    const { ledger = [], proposal: current = null, ...status } = answer;
    return { ledger, status, proposal: current };
  };
  const asked =
    !full && isWhole(run)
      ? { ok: false as const, why: '' }
      : await askRun(emend, run, look, patience_ms);
  const host = await runHost(emend, run.live);
  const place = {
    host,
    v: 1 as const,
    stepKey: run.stepKey,
    workflowId: run.live?.workflowId ?? run.archived.started?.workflowId ?? null,
    runId: run.live?.runId ?? run.archived.started?.runId ?? null,
    link: linkOf(emend, run),
    ...(run.archived.started?.follows && { follows: run.archived.started.follows }),
  };
  if (asked.ok) {
    const status =
      run.live?.open === false
        ? await withRecordedUsage(emend, cutOff(asked.value.status, archived))
        : aboutHost(asked.value.status, host);
    const versions = versionsTo(run, asked.value.proposal);
    const earlier = run.live?.open === true ? await earlierCommit(archived) : null;
    const current = asked.value.proposal?.id ?? null;
    const notes = [asked.note, earlier && earlierCommitNote(earlier, current)];
    const note = notes.filter((text) => text !== null).join(' ') || null;
    return { ...place, source: 'run', note, ...asked.value, status, versions };
  }
  const ledger = ledgerOfEvents(archived.events);
  const status = { ...archivedStatus(archived, ledger), ...named };
  return {
    ...place,
    source: 'archive',
    note: noteOf(archived, asked.why),
    ledger,
    status: archived.closed === null ? status : await withRecordedUsage(emend, status),
    proposal: archived.proposal,
    versions: archived.versions,
  };
};

/** The run's proposals up to this one. The last is the one that is passed in: the archive may not have it yet, or not all of it. */
export const versionsTo = (
  { archived }: ResolvedRun,
  proposal: ProposalSummary | null,
): readonly ProposalVersion[] => {
  if (proposal === null) return [];
  const at = archived.versions.findLastIndex((version) => version.proposal.id === proposal.id);
  const { notes, answered } = archived.versions[at] ?? { notes: [], answered: false };
  const earlier = at < 0 ? archived.versions : archived.versions.slice(0, at);
  return [...earlier, { proposal, notes, answered }];
};

const noteOf = ({ closed, omitted }: ArchivedRun, why: string): string | null =>
  [closed === null ? why : '', omitted ?? ''].join(' ').trim() || null;

/** Throws ProblemError `version_unknown` for the status that a worker of another version answered. */
const known = (status: FullStatus): FullStatus => {
  checkVersion(status, 'The status of the run');
  return status;
};

/** What the archive knows of an earlier run that ended says nothing of the one that a reset made of it. */
const stillOpen = ({ live, archived }: ResolvedRun): ArchivedRun =>
  live?.open === true ? { ...archived, closed: null } : archived;

/** It ended as the run that was started, and its archive has heard every word of it. Its worker would replay it for each answer. */
const isWhole = ({ live, archived: { started, events } }: ResolvedRun): boolean =>
  live?.open === false &&
  live.runId === started?.runId &&
  events.at(-1)?.seq === events.length &&
  // A workflow task that the server refused may have told of an end before.
  events.findIndex(({ type }) => type === 'step_finished' || type === 'plan_finished') ===
    events.length - 1;

/** Events after `after` (a `seq`), oldest first. */
export const runEvents = (
  emend: Emend,
  run: ResolvedRun,
  after = 0,
): Promise<readonly StepEvent[]> =>
  eventsFrom(after, async (query) => {
    const of = (ask: Ask): Promise<readonly StepEvent[]> => ask(QUERIES.events, query);
    const asked = isWhole(run) ? null : await askRun(emend, run, of);
    return asked?.ok === true ? asked.value : run.archived.events;
  });

/** A proposal, and the combined diff of its files. */
export interface RunDiff {
  readonly proposal: ProposalSummary;
  readonly diff: string;
}

/** The current proposal, or the last one that the archive names; null: there is none (yet). */
export const runProposal = async (
  emend: Emend,
  run: ResolvedRun,
): Promise<ProposalSummary | null> => {
  const answer = await askRun(emend, run, (ask) => ask<ProposalSummary | null>(QUERIES.proposal));
  return answer.ok ? answer.value : run.archived.proposal;
};

/** The proposal of `runProposal` and its combined diff. */
export const runDiff = async (emend: Emend, run: ResolvedRun): Promise<RunDiff | null> => {
  const proposal = await runProposal(emend, run);
  return proposal && { proposal, diff: await diffText(emend, proposal) };
};

export const diffText = async (
  emend: Pick<Emend, 'blobs'>,
  proposal: ProposalSummary,
): Promise<string> => new TextDecoder().decode(await emend.blobs.get(proposal.diff));

/** Test commands that ran, and what they printed. */
export interface TestRun extends ReportVerification, Pick<TestOutput, 'failed'> {
  /**
   * Names of the failed tests, their output, the counts, then the rest, without colours; null: nothing was kept, or it is not in
   * reach.
   */
  readonly text: string | null;
  /** Lines of the output that the text does not have. */
  readonly leftOut: number;
}

/** Returns each run with its failed tests first and as much of the rest as fits, or whole. Oldest first, without recognized secrets. */
export const testRuns = async (
  { blobs }: Pick<Emend, 'blobs'>,
  { archived }: Pick<ResolvedRun, 'archived'>,
  { whole = false }: { readonly whole?: boolean | undefined } = {},
): Promise<readonly TestRun[]> => {
  const runs = await Promise.all(
    testsOf(archived).map(async (test) => {
      const kept =
        test.output &&
        (await getJson<TestOutput>(blobs, test.output, 'output of tests').catch(() => null));
      if (kept === null) return { ...test, failed: [], text: null, leftOut: 0 };
      const { failed, output } = kept;
      if (whole) return { ...test, failed, text: wholeTestOutput(output), leftOut: 0 };
      const { text, omitted } = arrangeTestOutput(
        output,
        PASSED.includes(test.outcome) ? PASSED_OUTPUT_BYTES : TEST_OUTPUT_BYTES,
      );
      return { ...test, failed, text, leftOut: omitted };
    }),
  );
  const shown = await hideSecrets(runs.map(({ failed, text }) => ({ failed, text })));
  return runs.map((run, index) => ({ ...run, ...shown[index] }));
};

type Ask = <T>(name: string, ...args: readonly unknown[]) => Promise<T>;
type Asked<T> = Readonly<{ ok: true; value: T; note: string | null } | { ok: false; why: string }>;

/** The task queues that an open run needs, one that has ended to tell of itself, and that no live worker serves. No action. */
export const unserved = async (
  { runs, queues: own }: { readonly runs: RunGateway; readonly queues: Queues },
  { queue, memo, open }: DescribedRun,
  doubted = false,
): Promise<readonly string[]> => {
  const isAtOwnServer = own.workflow === own.host && workflowQueues(own).includes(queue);
  const needed = (host: string): readonly string[] =>
    isAtOwnServer ? [...new Set([queue, own.host])] : allQueues(queue, host);
  const queues = open && memo !== null ? needed(memo.host) : [queue];
  return runs.silent(queue, queues, doubted);
};

/** Null: all are served. */
const unservedNote = async (
  emend: Emend,
  run: DescribedRun,
  silent: readonly string[],
): Promise<string | null> => {
  if (silent.length === 0) return null;
  const host = await runHost(emend, run);
  const prefix = run.queue.replace(/.*-host-.*/, ''); // who names no queue shares the host's
  const command = workflowQueues(emend.queues).includes(run.queue)
    ? 'emend worker'
    : `EMEND_QUEUE=${prefix} emend worker`;
  return silentNote(emend, silent, host === null ? [] : [host], command);
};

/**
 * Asks the run itself, where a worker answers. Looking for the worker first costs no action and no 30 s. With `patience_ms`, a call that
 * fails while a worker polls is made again until then: a machine at its limit answers late, or not every call.
 */
const askRun = async <T>(
  emend: Emend,
  run: ResolvedRun,
  of: (ask: Ask) => Promise<T>,
  patience_ms?: number,
): Promise<Asked<T>> => {
  const { runs } = emend;
  const { live } = run;
  if (runs === null) return { ok: false, why: noServerNote(emend) };
  if (live === null) return { ok: false, why: 'The server does not know this run, or no longer.' };
  const until_ms = performance.now() + (patience_ms ?? 0);
  for (;;) {
    const left_ms = until_ms - performance.now();
    try {
      const silent = await unserved({ runs, queues: emend.queues }, live);
      const note = await unservedNote(emend, live, silent);
      if (note !== null && silent.includes(live.queue)) return { ok: false, why: note };
      const timeout_ms = Math.max(SHOW_QUERY_MS, left_ms);
      return {
        ok: true,
        value: await of((name, ...args) => runs.query(live, name, args, timeout_ms)),
        note,
      };
    } catch (error) {
      const problem = problemOn()(error);
      const { code, message } = problem;
      if (code === 'version_unknown') return { ok: false, why: sentence(problem) };
      const why = code === 'no_worker' ? await whyUnanswered(emend, live) : null;
      if (why !== null || left_ms < ASK_AGAIN_MS) return { ok: false, why: why ?? message };
      await sleep(ASK_AGAIN_MS);
    }
  }
};

/**
 * A worker that is there may be unable to go on: what its workflow task fails of (a stored value that is lost, an unknown version). Or it
 * died a moment ago. Null: it is there, and busy.
 */
const whyUnanswered = async (emend: Emend, live: DescribedRun): Promise<string | null> => {
  const runs = needRuns(emend);
  const failure = await runs.taskFailure(live).catch(() => null);
  if (failure !== null) return `Its worker fails and keeps retrying: ${failure}`;
  const silent = await unserved({ runs, queues: emend.queues }, live, true);
  return silent.includes(live.queue) ? unservedNote(emend, live, silent) : null;
};

export const linkOf = ({ uiUrl, namespace }: Emend, { live }: ResolvedRun): string | null =>
  uiUrl === null || live === null
    ? null
    : `${uiUrl.replace(/\/$/, '')}/namespaces/${namespace}/workflows/${encodeURIComponent(live.workflowId)}/${live.runId}/history`;

// Which phases of a plan wait for a person: a phase's own run knows, the plan's knows only that it is at work.

export interface PhaseWaiting {
  /** The phase's number. */
  readonly phase: number;
  readonly run: StepKey;
  readonly reason: PauseReason;
}

/** A run as a person asks for it once: a plan's with what its phases wait for. */
export interface ShownRun extends RunView {
  /** In the order of the phases; of a run that is no plan's none. */
  readonly phasesWaiting: readonly PhaseWaiting[];
}

/** As `showRun`, and an action more for each phase that is under way: not for whoever asks again and again. */
export const showWithPhases = async (emend: Emend, run: ResolvedRun): Promise<ShownRun> => {
  const view = await showRun(emend, run);
  const note =
    [view.note, await leftNote(emend, run)].flatMap((each) => each ?? []).join(' ') || null;
  return { ...view, note, phasesWaiting: await phasesWaiting(emend, view) };
};

/** Of an open phase's run that its plan does not wait for. */
const leftNote = async (emend: Emend, { stepKey, live }: ResolvedRun): Promise<string | null> => {
  const key = planOf(stepKey);
  const plan =
    key === stepKey || live?.open !== true
      ? null
      : await withLive(emend, key, null).catch(nullOn('disk'));
  if (plan === null) return null;
  const { phases } = (await showRun(emend, plan, { full: false })).status.plan ?? {};
  const waits = phases?.some(({ run, status }) => run === stepKey && status === 'running') ?? true;
  if (plan.live?.open === true ? waits : plan.live === null) return null;
  return `Its plan ${shownKey(key)} does not wait for it: the plan has ended, or was reset to an earlier point. What you approve is committed anyway. To end this run: emend abort ${shownKey(stepKey)}`;
};

const phasesWaiting = async (
  emend: Emend,
  { status: { plan } }: Pick<RunView, 'status'>,
): Promise<readonly PhaseWaiting[]> => {
  const found: PhaseWaiting[] = [];
  for (const { number, run, status } of plan?.phases ?? []) {
    if (status !== 'running' || run === null) continue;
    const own = await withLive(emend, run, null).catch(nullOn('disk'));
    const decision = own && (await showRun(emend, own, { full: false })).status.decision;
    if (decision !== null) found.push({ phase: number, run, reason: decision.reason });
  }
  return found;
};
