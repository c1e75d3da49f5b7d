/** RUN in every command: the first 4 or more digits of a stepKey, or a workflow id (its newest run). */
import { BOUNDS } from '../../shared/limits.js';
import { fail, nullOn } from '../../shared/problems.js';
import { SEARCH_ATTRIBUTES } from '../../shared/names.js';
import { isStepKey, planOf, type StepKey, shownKey } from '../../shared/ids.js';
import { archivedRun, type ArchivedRun } from '../archive/run.js';
import { looksLikeWorkflowId } from './start.js';
import { OUR_WORKFLOWS, type DescribedRun, type Emend } from '../types.js';

const SCANNED_RUNS = 1000; // bound: Without search attributes this many runs are looked through by their memo.
const RUN_CANDIDATES = 10; // bound: Runs named where the digits given fit several.

/** A plan's child has a longer key, of which its plan's is a part. */
const WHOLE_KEY_chars = 32;

export interface ResolvedRun {
  readonly stepKey: StepKey;
  /** As the server knows it; null: no server, or it has forgotten the run. */
  readonly live: DescribedRun | null;
  readonly archived: ArchivedRun;
}

/** Null: no run of that name. */
export const findRun = (emend: Emend, text: string): Promise<ResolvedRun | null> =>
  resolveRun(emend, text).catch(nullOn('run_unknown'));

/** Throws ProblemError `run_unknown`, `run_ambiguous` (lists the candidates) or, where it is in no archive and no server answers, `no_server`. */
export const resolveRun = async (emend: Emend, text: string): Promise<ResolvedRun> => {
  const typed = text.trim();
  if (looksLikeWorkflowId(typed)) return byWorkflowId(emend, typed);
  const prefix = typed.toLowerCase();
  if (!/^[0-9a-z-]+$/.test(prefix) || prefix.length < BOUNDS.runPrefix_chars)
    return fail(
      'run_unknown',
      `"${typed.slice(0, 80)}" does not name a run; expected at least the first ${BOUNDS.runPrefix_chars} digits of a run's id, or a workflow id (emend/…).`,
    );
  // `1234abcd-p2-1`: a phase's run as it is shown.
  const [, plan, phase = ''] = /^([0-9a-f]{4,32})(-p\d+-\d+)$/.exec(prefix) ?? [];
  if (plan !== undefined) {
    const isPhase = (key: StepKey): boolean => key.endsWith(phase) && planOf(key).startsWith(plan);
    return byPrefix(emend, plan, isPhase, `No run is called "${prefix}"`);
  }
  const whole = prefix.length >= WHOLE_KEY_chars && isStepKey(prefix) ? await byStepKey(emend, prefix) : null;
  if (whole !== null) return whole;
  // A plan's phases have longer names, of which the plan's is a part: without them the plan is meant.
  const isMeant = (key: StepKey, keys: ReadonlySet<StepKey>): boolean => planOf(key) === key || !keys.has(planOf(key));
  return byPrefix(emend, prefix, isMeant, `No run starts with "${prefix}"`);
};

/** The one that is meant of all whose keys begin so; `none`: what is said where there is no such run. */
const byPrefix = async (
  emend: Emend,
  prefix: string,
  isMeant: (key: StepKey, known: ReadonlySet<StepKey>) => boolean,
  none: string,
): Promise<ResolvedRun> => {
  const onServer = await serverRuns(emend, prefix);
  const known = new Set([
    ...(await emend.archive.find(prefix)),
    ...onServer.flatMap(({ memo }) => memo?.stepKey ?? []),
  ]);
  const keys = [...known].filter((key) => isMeant(key, known));
  const [stepKey, ...others] = keys;
  if (stepKey === undefined) return unknown(emend, none);
  if (others.length > 0) return ambiguous(emend, prefix, keys.sort());
  return withLive(emend, stepKey, onServer.find((run) => run.memo?.stepKey === stepKey) ?? null);
};

/** A whole key names one run: no list is needed where this machine's archive knows it. */
const byStepKey = async (emend: Emend, stepKey: StepKey): Promise<ResolvedRun | null> => {
  const run = await withLive(emend, stepKey, null);
  return run.archived.started === null ? null : run;
};

/** A run whose stepKey is known. `seen`: what a list just said of it. */
export const withLive = async (emend: Emend, stepKey: StepKey, seen: DescribedRun | null): Promise<ResolvedRun> => {
  const archived = archivedRun(stepKey, await emend.archive.read(stepKey));
  return { stepKey, archived, live: seen ?? (await describeArchived(emend, archived)) };
};

/** The newest run of the workflow id while it is still this step's (a reset keeps the memo), else the last one known to have ended, or that was started. */
const describeArchived = async (
  { runs, namespace }: Emend,
  { stepKey, started, closedRuns }: ArchivedRun,
): Promise<DescribedRun | null> => {
  if (runs === null || started?.namespace !== namespace) return null;
  const newest = await runs.describe({ workflowId: started.workflowId, runId: null });
  if (newest?.memo?.stepKey === stepKey) return newest;
  const own = await runs.describe({ workflowId: started.workflowId, runId: closedRuns.at(-1) ?? started.runId });
  return own?.memo?.stepKey === stepKey ? own : null;
};

const serverRuns = async ({ runs }: Emend, prefix: string): Promise<readonly DescribedRun[]> => {
  if (runs === null) return [];
  const type = OUR_WORKFLOWS;
  const mine = (run: DescribedRun): boolean => run.memo?.stepKey.startsWith(prefix) ?? false;
  const attributes = await runs.searchAttributes();
  const filter = attributes ? `${type} AND ${SEARCH_ATTRIBUTES.stepKey} STARTS_WITH "${prefix}"` : type;
  const found = (await runs.list(filter, SCANNED_RUNS)).filter(mine);
  // Runs from before the attributes were registered carry only a memo.
  if (found.length > 0 || !attributes) return found;
  return (await runs.list(`${type} AND ExecutionStatus = "Running"`, SCANNED_RUNS)).filter(mine);
};

const byWorkflowId = async (emend: Emend, workflowId: string): Promise<ResolvedRun> => {
  const live = (await emend.runs?.describe({ workflowId, runId: null })) ?? null;
  if (live?.memo) return withLive(emend, live.memo.stepKey, live);
  for (const stepKey of await emend.archive.list()) {
    const archived = archivedRun(stepKey, await emend.archive.read(stepKey));
    if (archived.started?.workflowId === workflowId) return { stepKey, archived, live: null };
  }
  return unknown(emend, `No run has the workflow id ${workflowId.slice(0, 80)}`);
};

/** Without a server no one can say that there is no such run: the missing server is what to fix. With one: `message` and `next`. */
export const unknown = (
  { runs, unreachable }: Emend,
  sentence: string,
  message = `${sentence}.`,
  next?: string,
): never =>
  runs === null && unreachable !== null
    ? fail('no_server', `${sentence} in the archive of this machine. ${unreachable.message}`, unreachable.next)
    : fail('run_unknown', message, next);

const ambiguous = async (emend: Emend, prefix: string, keys: readonly StepKey[]): Promise<never> => {
  const lines = await Promise.all(
    keys.slice(0, RUN_CANDIDATES).map(async (stepKey) => {
      const { started, firstAt } = archivedRun(stepKey, await emend.archive.read(stepKey));
      return `  ${distinct(stepKey, keys)}  ${started?.title ?? ''}  ${firstAt ?? ''}`.trimEnd();
    }),
  );
  const more = keys.length > RUN_CANDIDATES ? [`  and ${keys.length - RUN_CANDIDATES} more`] : [];
  return fail('run_ambiguous', [`"${prefix}" fits ${keys.length} runs:`, ...lines, ...more].join('\n'));
};

/** As many digits as tell it from the others, at least the shown 8. */
const distinct = (stepKey: StepKey, keys: readonly StepKey[]): string => {
  const others = keys.filter((other) => other !== stepKey);
  for (let length = shownKey(stepKey).length; length < stepKey.length; length++) {
    const short = stepKey.slice(0, length);
    if (!others.some((other) => other.startsWith(short))) return short;
  }
  return stepKey;
};

/** The same run as it is now: a reset or a closing may have come in between. */
export const refreshRun = async (emend: Emend, { stepKey, live }: ResolvedRun): Promise<ResolvedRun> => {
  const newest = live && (await emend.runs?.describe({ workflowId: live.workflowId, runId: null }));
  return withLive(emend, stepKey, newest?.memo?.stepKey === stepKey ? newest : null);
};
