/** What queries, the Temporal UI and the faces read of a step's state. Pure. */
import { BOUNDS } from '../../shared/limits.js';
import { appliedPaths } from './effects.js';
import { outageText, type Outage } from '../../shared/outage.js';
import type { FileStatus, LedgerRow, RunState, StepResult, StepStatus } from '../../shared/run.js';
import { isUnfinished, type FileEntry, type StepState } from './state.js';
import { plain, decisionDetails, bounded } from '../frame/details.js';

/** One call for all files tells of each file what it does itself. */
export const ledgerOf = (state: StepState): readonly LedgerRow[] => {
  const outage = outageOf(state);
  return state.files.map((file) => ({
    path: file.path,
    status: file.status,
    attempts: state.whole?.attempts ?? file.attempts,
    format: state.whole?.format ?? file.format,
    bucket: file.bucket,
    lines: file.lines,
    isNew: file.isNew,
    ...(file.deletes === undefined ? {} : { deletes: file.deletes }),
    outputBudget_tokens: state.whole?.outputBudget_tokens ?? file.outputBudget_tokens,
    reason: reasonOf(file, outage),
    verdict: file.verdict?.answer ?? null,
  }));
};

/** Null: it is no wait that the run is in. */
const outageOf = ({ decision, stage, outage }: StepState): Outage | null =>
  decision === null && (stage === 'pick' || stage === 'propose') && outage?.over === false ? outage : null;

const shownOutage = (outage: Outage | null): { readonly outage?: Outage } => (outage === null ? {} : { outage });

const reasonOf = (file: FileEntry, outage: Outage | null): string | null => {
  if (file.failure !== null) return `${file.failure.reason}: ${file.failure.message}`;
  const concerned = outage !== null && isUnfinished(file) && (outage.file === '*' || outage.file === file.path);
  return concerned ? outageText(outage) : null;
};

const countsOf = (state: StepState): Record<FileStatus, number> => {
  const counts: Record<FileStatus, number> = { pending: 0, in_progress: 0, done: 0, failed: 0, skipped: 0 };
  for (const file of state.files) counts[file.status] += 1;
  return counts;
};

function doingOf(state: StepState): string {
  if (state.decision !== null) return `waiting for a decision: ${state.decision.reason}`;
  const outage = outageOf(state);
  if (outage !== null) return outageText(outage);
  const busy = state.files.filter((file) => file.status === 'in_progress').map((file) => file.path);
  const finished = state.files.filter((file) => file.status === 'done' || file.status === 'skipped').length;
  switch (state.stage) {
    case 'preflight':
      return 'looking at the files';
    case 'pick':
      return 'asking which files to edit';
    case 'propose':
      if (!state.files.some(isUnfinished)) return 'sealing the proposal';
      if (state.whole !== null) return `asking for all ${state.files.length} files in one call`;
      if (busy.length === 0)
        return state.briefWanted && state.brief === null ? 'writing a brief for all files' : 'choosing the next file';
      return `file ${Math.min(finished + 1, state.files.length)}/${state.files.length}: ${busy.slice(0, 3).join(', ')}`;
    case 'seal':
      return 'sealing the proposal';
    case 'review':
      return 'proposal ready';
    case 'apply':
      if (state.busyTries === 0) return 'applying';
      return `waiting for another step to leave the workspace${state.busyAdvice === null ? '' : `: ${state.busyAdvice}`}`;
    case 'rebase':
      return 'carrying the proposal over to the files as they are now';
    case 'verify':
      return `running ${state.testCommands.join(' && ')}`;
    case 'rollback':
      return 'rolling back';
    case 'commit':
      return 'committing';
    case 'closed':
      return state.outcome ?? 'done';
  }
}

const runStateOf = (state: StepState): RunState => {
  if (state.stage !== 'closed') return state.decision === null ? 'running' : 'waiting';
  if (state.outcome === 'aborted') return 'aborted';
  return state.outcome === 'failed' || state.outcome === 'refused' ? 'failed' : 'done';
};

const skippedOf = ({ files }: StepState): Pick<StepResult, 'skipped'> => {
  const skipped = files.filter(({ status }) => status === 'skipped').map(({ path }) => path);
  return skipped.length === 0 ? {} : { skipped };
};

export const resultOf = (state: StepState): StepResult => ({
  v: 1,
  stepKey: state.input.stepKey,
  outcome: state.outcome ?? 'failed',
  files: [...new Set(appliedPaths(state))],
  ...skippedOf(state),
  wasSplit: state.wasSplit,
  usage: state.usage,
  commit: state.commit,
  proposalId: state.proposal?.id ?? null,
  verification: state.verification,
  problem: state.problem,
  pausedFor_ms: state.pausedFor_ms,
  ...(state.failure === undefined || state.outcome !== 'tests_failed' ? {} : { failure: state.failure }),
  ...(state.openOnHost === undefined ? {} : { openOnHost: state.openOnHost }),
});

export const statusOf = (state: StepState): StepStatus => ({
  v: 1,
  stepKey: state.input.stepKey,
  workspace: state.input.workspace,
  jobPath: state.input.jobPath,
  title: state.input.title,
  state: runStateOf(state),
  doing: doingOf(state),
  stage: state.stage,
  counts: countsOf(state),
  decision: state.decision,
  ...shownOutage(outageOf(state)),
  proposalId: state.proposal?.id ?? null,
  usage: state.usage,
  wasSplit: state.wasSplit,
  ignored: state.ignored,
  ...(state.ignoredCount === undefined ? {} : { ignoredCount: state.ignoredCount }),
  lastSeq: state.nextSeq - 1,
  result: state.stage === 'closed' ? resultOf(state) : null,
});

/** Markdown for the Temporal UI (`setCurrentDetails`): what it does, what it waits for and exactly how to answer. */
export function detailsOf(state: StepState): string {
  const counts = countsOf(state);
  const head = `**${plain(doingOf(state))}**`;
  const summary = `${state.files.length} ${state.files.length === 1 ? 'file' : 'files'}: ${counts.done} done, ${counts.failed} failed, ${counts.skipped} skipped, ${counts.pending + counts.in_progress} open`;
  const decision = state.decision === null ? [] : decisionDetails(state.decision, state.input.stepKey);
  const rows = state.files
    .slice(0, BOUNDS.detailsFiles)
    .map(
      (file) =>
        `| ${plain(file.path)} | ${file.status} | ${file.format} | ${plain(file.failure?.message ?? '', 100)} |`,
    );
  const table = rows.length === 0 ? [] : ['| file | status | format | reason |', '|---|---|---|---|', ...rows];
  const ignored =
    state.ignored.length === 0
      ? []
      : ['', 'Did not count:', ...state.ignored.slice(-5).map((line) => `- ${plain(line)}`)];
  return bounded([head, '', summary, '', ...decision, ...ignored, '', ...table]);
}
