/** The runs of a plan, whichever client started them and under whatever workflow id: looks them up, and signals them. */
import { runIndex, runsOfPlan } from '../run-index/index.js';
import { shownKey } from '../../shared/ids.js';
import { hostOfQueue, PLAN_SIGNALS, WORKFLOWS } from '../../shared/names.js';
import { fail } from '../../shared/problems.js';
import type { Report } from '../../shared/plan.js';
import type { RepositoryBase } from '../../shared/repository.js';
import { shellWord } from '../../shared/text.js';
import { readAmongOthers, type ArchivedRun } from '../archive/run.js';
import { needRuns, ourRuns, type DescribedRun, type Emend } from '../types.js';
import { resolveRun, unknown, withLive, type ResolvedRun } from './resolve.js';
import { hereId, queuesOfPlace, withoutSecrets } from './start.js';

const LISTED_PLANS = 1_000; // bound: Open runs of plans that are looked through for those of one plan, newest first.

export interface PlanFile {
  /** Real path of the top of the repository; of one that is nobody's working tree its URL. */
  readonly workspace: string;
  readonly repository?: RepositoryBase;
  /** Relative to it, without its level: `plans/010_demo`. */
  readonly planPath: string;
  readonly title: string;
  /** The workflow id under which Emend's own client starts the plan. */
  readonly workflowId: string;
}

/** A run of a plan on the server. */
export type PlanRun = DescribedRun & { readonly memo: object };

/** Two hosts on one namespace may have the plan at the same path: only runs of its own host are runs of the plan. */
interface PlanPlace extends Pick<PlanFile, 'workspace' | 'planPath'> {
  readonly host: string;
}
const placeOf = (emend: Emend, plan: PlanFile): PlanPlace => ({
  ...plan,
  host: hostOfQueue(queuesOfPlace(emend, plan.repository).host),
});

const isPlan = (run: DescribedRun | null): run is PlanRun =>
  run !== null && run.memo !== null && run.type === WORKFLOWS.plan;

const isRunOf =
  ({ workspace, planPath, host }: PlanPlace) =>
  (run: DescribedRun | null): run is PlanRun =>
    isPlan(run) &&
    run.memo.workspace === workspace &&
    run.memo.jobPath === planPath &&
    run.memo.host === host;

/** Returns the runs of the plan that the server knows: the open ones, and the newest of each of Emend's own workflow ids. */
const serverRunsOfPlan = async (emend: Emend, plan: PlanFile): Promise<readonly PlanRun[]> => {
  const runs = needRuns(emend);
  const place = placeOf(emend, plan);
  const isOurs = isRunOf(place);
  const filter = `${ourRuns(emend)} AND WorkflowType = "${WORKFLOWS.plan}" AND ExecutionStatus = "Running"`;
  const listed = (await runs.list(filter, LISTED_PLANS)).filter(isOurs);
  const ids = new Set([
    plan.workflowId,
    hereId(plan.workflowId, place.host),
    ...listed.map(({ workflowId }) => workflowId),
  ]);
  // Temporal's visibility store is eventually consistent, so the server describes each of them.
  const found = await Promise.all(
    [...ids].map((workflowId) => runs.describe({ workflowId, runId: null })),
  );
  return found.filter(isOurs);
};

/** Returns the command that reaches one of several open runs, by the key that is shown. */
type CommandFor = (key: string) => string;

/** Returns the open run of the plan; null: none is open. Throws ProblemError `run_ambiguous` with a command for each open run. */
export const openRunOfPlan = async (
  emend: Emend,
  plan: PlanFile,
  commandFor: CommandFor,
): Promise<PlanRun | null> =>
  onlyOne(
    plan,
    (await serverRunsOfPlan(emend, plan)).filter(({ open }) => open),
    commandFor,
  );

const onlyOne = (
  { planPath }: PlanFile,
  open: readonly PlanRun[],
  commandFor: CommandFor,
): PlanRun | null => {
  if (open.length < 2) return open[0] ?? null;
  const lines = open.map(
    ({ workflowId, memo }) => `  ${workflowId}: ${commandFor(shownKey(memo.stepKey))}`,
  );
  return fail(
    'run_ambiguous',
    [`${open.length} runs of ${planPath} are open:`, ...lines].join('\n'),
    'Type the command of the run that you mean.',
  );
};

/**
 * Returns the open run of the plan, else its newest. With `commandFor` several open runs are refused as by `openRunOfPlan`. Throws
 * ProblemError `run_unknown`, or `no_server` if only a server could tell.
 */
export const runOfPlan = async (
  emend: Emend,
  plan: PlanFile,
  commandFor: CommandFor | null = null,
): Promise<ResolvedRun> => {
  const onServer = emend.runs === null ? [] : await serverRunsOfPlan(emend, plan);
  const open = onServer.filter((run) => run.open);
  const current = commandFor === null ? open[0] : onlyOne(plan, open, commandFor);
  if (current != null) return withLive(emend, current.memo.stepKey, current);
  const [ended] = onServer.toSorted((a, b) => b.startedAt.getTime() - a.startedAt.getTime());
  const archived = await newestInArchive(emend, placeOf(emend, plan));
  if (ended !== undefined && !isNewer(archived, ended))
    return withLive(emend, ended.memo.stepKey, ended);
  if (archived !== null) return withLive(emend, archived.stepKey, null);
  return unknown(
    emend,
    `No run of ${plan.planPath} is`,
    `${plan.planPath} has not been run yet.`,
    `Start it with: emend plan run ${shellWord(plan.planPath)}`,
  );
};

const isNewer = (archived: ArchivedRun | null, { startedAt }: PlanRun): boolean =>
  archived?.firstAt != null && Date.parse(archived.firstAt) > startedAt.getTime();

const newestInArchive = async (emend: Emend, place: PlanPlace): Promise<ArchivedRun | null> => {
  const [newest] = runsOfPlan(await runIndex(emend), place);
  return newest === undefined ? null : readAmongOthers(emend, newest);
};

/** Returns the run of a plan by its key or its workflow id. Throws as `resolveRun` does, and ProblemError `usage` for the run of a job. */
export const planRunNamed = async (emend: Emend, text: string): Promise<ResolvedRun> => {
  const run = await resolveRun(emend, text);
  if (run.live !== null && !isPlan(run.live))
    fail(
      'usage',
      `${text} is the run of a job, not of a plan.`,
      'See `emend list` for the runs of plans.',
    );
  return run;
};

// Messages to the run of a plan.

type PlanControl = keyof typeof PLAN_SIGNALS;
/** The author of the signal, and its text. */
export type PlanMessage = Pick<Report, 'by'> & Partial<Pick<Report, 'text'>>;

/** Returns the command that sends a signal to one run. */
const COMMANDS: Readonly<Record<PlanControl, (key: string, text: string) => string>> = {
  pause: (key) => `emend plan pause ${key}`,
  resume: (key) => `emend plan resume ${key}`,
  stop: (key) => `emend plan stop ${key} --after-phase`,
  drift: (key, text) => `emend plan drift ${key} ${shellWord(text)}`,
  replan: (key, text) => `emend plan revise ${key} ${shellWord(text)}`,
};

/** Signals the open run of the plan and returns it; null: none is open. Throws as `openRunOfPlan` does. */
export const signalPlan = async (
  emend: Emend,
  plan: PlanFile,
  control: PlanControl,
  message: PlanMessage,
): Promise<PlanRun | null> => {
  const commandFor = (key: string): string => COMMANDS[control](key, message.text ?? '');
  const run = await openRunOfPlan(emend, plan, commandFor);
  return run !== null && (await signalPlanRun(emend, run, control, message)) ? run : null;
};

/** Signals a run of a plan. False: it has ended. */
export const signalPlanRun = async (
  emend: Emend,
  { workflowId, memo }: PlanRun,
  control: PlanControl,
  message: PlanMessage,
): Promise<boolean> => {
  const text = message.text && (await withoutSecrets(message.text, memo.workspace));
  return needRuns(emend).signal(
    { workflowId, runId: null },
    PLAN_SIGNALS[control],
    text === undefined ? message : { ...message, text },
  );
};
