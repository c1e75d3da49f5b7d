/** What queries, the Temporal UI and the faces read of a step's state. Pure. */
import { shownKey, type StepKey } from '../../shared/ids.js';
import { BOUNDS } from '../../shared/limits.js';
import { type Outage, outageText } from '../../shared/outage.js';
import type { ProposalSummary } from '../../shared/proposal-activities.js';
import { countsOf, type LedgerRow, type StepResult, type StepStatus } from '../../shared/run.js';
import { codeSpan } from '../../shared/text.js';
import {
  listTolerances,
  toleranceFile,
  type ToleranceList,
  toleranceSentences,
} from '../../shared/tolerance-text.js';
import {
  bounded,
  decisionDetails,
  proposalChecks,
  resultBase,
  statusBase,
  titleLine,
} from '../frame/details.js';
import {
  answersLeft,
  appliedPaths,
  attemptsLeft,
  auditOf,
  budgetOf,
  chunksLeft,
  isUnfinished,
  wantsBase,
} from './selectors.js';
import { nextEffect } from './stages/index.js';
import type { Busy, CallProgress, FileEntry, StepState } from './state.js';

/** Returns a row for each file. During a call for all files each row has its format and attempts. */
export const ledgerOf = (state: StepState): readonly LedgerRow[] => {
  const outage = outageOf(state);
  const { files, combined } = state.edits;
  return files.map((file) => ({
    path: file.path,
    status: file.status,
    attempts: file.answered ?? 0,
    ...(isUnfinished(file) ? remainingOf(state, combined ?? file) : {}),
    format: combined?.format ?? file.format,
    bucket: file.bucket,
    lines: file.lines,
    isNew: file.isNew,
    ...(file.deletes ? { deletes: true } : {}),
    outputBudget_tokens: combined?.outputBudget_tokens ?? file.outputBudget_tokens,
    reason: reasonOf(file, outage),
    ...whyOf(state, file),
    verdict: file.verdict?.answer ?? null,
  }));
};

/** Returns the attempts and calls that remain. An answer may lower a limit, so they may be below zero. */
const remainingOf = (state: StepState, progress: CallProgress) => ({
  attemptsLeft: Math.max(0, attemptsLeft(state, progress)),
  callsLeft: Math.max(0, answersLeft(state, progress)),
});

/** Returns the outage that the run waits for. Null: it waits for none. */
const outageOf = ({ decision, stage, outage }: StepState): Outage | null =>
  decision === null && ['pick', 'propose', 'audit'].includes(stage.at) && outage?.over === false
    ? outage
    : null;

const shownOutage = (outage: Outage | null): { readonly outage?: Outage } =>
  outage === null ? {} : { outage };

const whyOf = ({ base }: StepState, { path }: FileEntry): Pick<LedgerRow, 'why'> => {
  const picked = base.picks?.find((file) => file.path === path);
  return picked === undefined ? {} : { why: picked.why };
};

const reasonOf = (file: FileEntry, outage: Outage | null): string | null => {
  if (file.failure !== null) return `${file.failure.reason}: ${file.failure.message}`;
  const unchanged = whyUnchanged(file);
  if (unchanged !== null) return `unchanged: ${unchanged}`;
  const concerned =
    outage !== null && isUnfinished(file) && (outage.file === '*' || outage.file === file.path);
  return concerned ? outageText(outage) : null;
};

/** Returns why the model changed nothing in the file. Null: it changed something, or the file was edited by hand or skipped since. */
const whyUnchanged = ({ status, manual, unchanged = null }: FileEntry): string | null =>
  status === 'done' && !manual ? unchanged : null;

/** Returns what the run does or waits for. */
function doingOf(state: StepState): string {
  if (state.decision !== null) return `waiting for a decision: ${state.decision.reason}`;
  const outage = outageOf(state);
  if (outage !== null) return outageText(outage);
  const { stage } = state;
  const tests = state.tests.commands.join(' && ');
  switch (stage.at) {
    case 'propose':
      return doingCalls(state, tests);
    case 'review':
      return testsProposal(state) ? `running ${tests} on the proposal` : 'proposal ready';
    case 'apply':
      if (stage.busy !== null) return busyText(stage.busy);
      return testsProposal(state) ? `running ${tests} on the proposal` : 'applying';
    case 'verify':
      return `running ${tests}`;
    case 'closed':
      return stage.outcome;
    default:
      return DOING[stage.at];
  }
}

const busyText = ({ advice }: Busy): string =>
  `waiting for another step to unlock the workspace${advice === null ? '' : `: ${advice}`}`;

/** Returns which files the model is called for. */
function doingCalls(state: StepState, tests: string): string {
  const { files, combined, briefWanted, brief } = state.edits;
  if (!files.some(isUnfinished)) return DOING.build;
  const current = files.filter((file) => file.status === 'in_progress');
  if (current.length === 0 && wantsBase(state)) return `running ${tests} on the untouched files`;
  if (combined !== null) return `calling the model for all ${files.length} files`;
  if (current.length === 0)
    return briefWanted && brief === null
      ? 'writing a brief for all files'
      : 'choosing the next file';
  const finished = files.filter((file) => file.again === true || !isUnfinished(file)).length;
  const number = current.every((file) => file.again)
    ? 'asking again'
    : `file ${finished + 1}/${files.length}`;
  const paths = current.slice(0, 3).map((file) => file.path);
  return `${number}: ${paths.join(', ')}`;
}

/** Returns whether the next effect is a run of the tests on the proposal. That depends on no clock. */
const testsProposal = (state: StepState): boolean =>
  nextEffect(state, state.startedAt).kind === 'test_proposal';

/** Places whose description depends on nothing else. */
const DOING = {
  preflight: 'reading the files',
  pick: 'asking the model which files to edit',
  build: 'building the proposal',
  rebase: 'rebasing the proposal onto the current files',
  audit: 'a model audits the change',
  release: 'unlocking the workspace',
  roll_back: 'rolling back',
  commit: 'committing',
} as const;

/** Returns the result of the run. */
export function resultOf(state: StepState): StepResult {
  const { proposal, edits, tests, commit } = state;
  const { report } = auditOf(state);
  const note = state.events.findLast((event) => event.type === 'committed')?.note;
  return {
    ...resultBase(state),
    commit,
    ...(note == null ? {} : { note }),
    files: [...new Set(appliedPaths(state))],
    skipped: edits.files.filter(({ status }) => status === 'skipped').map(({ path }) => path),
    ...notRestored(state),
    ...usedTolerances(state),
    ...unchangedFiles(state),
    wasSplit: edits.split,
    proposalId: proposal?.id ?? null,
    verification: tests.last,
    ...testResults(state),
    ...(report === undefined ? {} : { audit: report }),
    ...(state.sandbox?.without === 'run' ? { withoutSandbox: true } : {}),
    ...(state.marks === undefined ? {} : { marks: true }),
  };
}

/** Returns the tolerances in files of the proposal that are applied. */
function usedTolerances(state: StepState): ToleranceList {
  const applied = new Set(appliedPaths(state));
  const used = state.proposal?.tolerances ?? [];
  return listTolerances(used.filter((tolerance) => applied.has(toleranceFile(tolerance))));
}

/** Returns the files that the last rollback left as they were, unless the change is committed. */
function notRestored({ events, commit }: StepState): Pick<StepResult, 'notRestored'> {
  const last = events.filter(({ type }) => type === 'applied' || type === 'rolled_back').at(-1);
  if (last?.type !== 'rolled_back' || commit !== null || last.leftAlone.length === 0) return {};
  return { notRestored: last.leftAlone.slice(0, BOUNDS.detailsFiles) };
}

/** Returns the files that the model left unchanged, and why. */
function unchangedFiles({ edits }: StepState): Pick<StepResult, 'unchanged'> {
  const unchanged = edits.files.flatMap((file) => {
    const reason = whyUnchanged(file);
    return reason === null ? [] : [{ path: file.path, reason }];
  });
  return unchanged.length === 0 ? {} : { unchanged: unchanged.slice(0, BOUNDS.detailsFiles) };
}

/** Returns warnings of the tests, files that they wrote, and the failure that the run ended with. */
function testResults({
  tests,
  stage,
}: StepState): Pick<StepResult, 'testWarnings' | 'written' | 'failure'> {
  const { warnings = [], written, failure } = tests;
  const hasFailed = stage.at === 'closed' && stage.outcome === 'tests_failed';
  return {
    ...(warnings.length === 0 ? {} : { testWarnings: warnings }),
    ...(written === undefined ? {} : { written: written.slice(0, BOUNDS.detailsFiles) }),
    ...(failure === null || !hasFailed ? {} : { failure }),
  };
}

export const statusOf = (state: StepState): StepStatus => ({
  ...statusBase(state),
  jobPath: state.input.jobPath,
  doing: doingOf(state),
  counts: countsOf(state.edits.files),
  ...shownOutage(outageOf(state)),
  proposalId: state.proposal?.id ?? null,
  wasSplit: state.edits.split,
  ...(state.base.estimate === undefined ? {} : { estimate: state.base.estimate }),
  ...(state.base.budget === undefined ? {} : { budget: budgetOf(state) }),
  ...(state.edits.files.length === 0 || state.stage.at === 'closed'
    ? {}
    : { chunksLeft: chunksLeft(state) }),
  result: state.stage.at === 'closed' ? resultOf(state) : null,
});

/** Markdown for the Temporal UI (`setCurrentDetails`): what it does, what it waits for and exactly how to answer. */
export function detailsOf(state: StepState): string {
  const { proposal, decision, ignored, input } = state;
  const { stepKey } = input;
  const checks = decision === null ? [] : proposalChecks(proposal, decision, stepKey);
  return bounded([
    titleLine(input),
    '',
    `**${codeSpan(doingOf(state))}**`,
    '',
    filesLine(state),
    '',
    ...(decision === null ? [] : decisionDetails(decision, stepKey, checks)),
    ...(checks.length === 0 ? toleranceLines(proposal) : []),
    ...(proposal === null || decision?.proposalId !== proposal.id
      ? []
      : proposalLines(proposal, stepKey)),
    ...(ignored.length === 0
      ? []
      : ['', 'Ignored answers:', '', ...ignored.slice(-5).map((line) => `- ${codeSpan(line)}`)]),
    '',
    ...fileLines(state),
  ]);
}

function filesLine({ edits: { files } }: StepState): string {
  const { done, failed, skipped, pending, in_progress } = countsOf(files);
  const total = `${files.length} ${files.length === 1 ? 'file' : 'files'}`;
  return `${total}: ${done} done, ${failed} failed, ${skipped} skipped, ${pending + in_progress} open`;
}

/** Lists the tolerances of a proposal for which no answer shows what to check. */
function toleranceLines(proposal: ProposalSummary | null): readonly string[] {
  const lines = toleranceSentences(listTolerances(proposal?.tolerances ?? []));
  return lines.length === 0 ? [] : ['', ...lines.map((text) => `- ${codeSpan(text)}`), ''];
}

function proposalLines({ id, files }: ProposalSummary, stepKey: StepKey): readonly string[] {
  const run = shownKey(stepKey);
  return [
    '',
    `Proposal \`${id.slice(0, 8)}\`; its combined diff: \`emend diff ${run}\``,
    '',
    ...files
      .slice(0, BOUNDS.detailsFiles)
      .map(
        ({ path, added, removed, change }) =>
          `- ${codeSpan(path)} +${added} -${removed}${change === 'edit' ? '' : `, ${change}`}`,
      ),
  ];
}

/** A list, as the Temporal UI draws the columns of a table without a gap. */
function fileLines(state: StepState): readonly string[] {
  const { files } = state.edits;
  if (files.length === 0) return [];
  const lines = files.slice(0, BOUNDS.detailsFiles).map((file) => {
    const reason = codeSpan(reasonOf(file, null) ?? whyOf(state, file).why ?? '', 100);
    return `- ${codeSpan(file.path)} ${file.status}, ${file.format}${reason === '' ? '' : `: ${reason}`}`;
  });
  return ['Files:', '', ...lines];
}
