/** Answers questions about the state of a step. Pure functions of the state, which no stage owns. */
import type { Progress } from '../../shared/events.js';
import type { BlobRef } from '../../shared/ids.js';
import { hostOfQueue } from '../../shared/names.js';
import type { ProposalFileSummary, SelectedFiles } from '../../shared/proposal-activities.js';
import { defaultChunks } from '../../shared/rules.js';
import type { FileStatus, OpenOnHost } from '../../shared/run.js';
import { PASSED } from '../../shared/test-activities.js';
import { type MoneyBudget, moneyBudget } from '../../shared/usage.js';
import type { CallProgress, FileEntry, StepState } from './state.js';

export const auditOf = ({ audit }: StepState): NonNullable<StepState['audit']> =>
  audit ?? { regeneration: 1 };

/** Returns whether commands still need a consent to run without a sandbox. */
export const lacksConsent = ({ base, sandbox }: StepState): boolean =>
  base.ready?.noSandbox !== undefined && sandbox?.without === undefined;

export const maxChunks = ({ base, edits, input }: StepState): number =>
  base.limits?.maxTotalChunks ?? defaultChunks(input.rules, edits.files.length);

/** Returns the money that the run may use now. An answer may have set another budget, or a model without a price was used. */
export const budgetOf = ({ base, usage }: StepState): MoneyBudget | null => {
  const { limits, budget = null } = base;
  const set_usd = limits?.budget_usd ?? null;
  const default_usd = budget?.isDefault === true && usage.usd !== null ? budget.usd : null;
  return moneyBudget(set_usd, default_usd);
};

/** Returns the calls that count against `maxTotalChunks`: chunks that began, or calls that were paid for. A deleted file needs no call. */
export const callsUsed = ({ edits: { chunks, unanswered, calls, files } }: StepState): number =>
  Math.max(
    chunks -
      unanswered -
      files.filter(({ deletes, status }) => deletes && status === 'done').length,
    calls,
  );

export const chunksLeft = (state: StepState): number =>
  Math.max(0, maxChunks(state) - callsUsed(state));

export const attemptsLeft = ({ base }: StepState, { attempts }: CallProgress): number =>
  (base.limits?.maxAttemptsPerFile ?? 2) - attempts;

export const answersLeft = ({ base }: StepState, { answers }: CallProgress): number =>
  (base.limits?.maxCallsPerFile ?? Infinity) - answers;

/** Returns whether the model may be asked about findings in its response. */
export const mayRepair = (state: StepState, attempt: CallProgress): boolean =>
  attemptsLeft(state, attempt) > 1 && answersLeft(state, attempt) > 0;

export const isUnfinished = ({ status }: { readonly status: FileStatus }): boolean =>
  status === 'pending' || status === 'in_progress';

/** Returns the paths that still need a response of the model. */
export const unfinishedPaths = (state: StepState): readonly string[] =>
  state.edits.files.filter(isUnfinished).map((file) => file.path);

export const hasFailed = ({ edits }: StepState): boolean =>
  edits.files.some((file) => file.status === 'failed');

/** Returns whether the proposal is only that of the finished files, and others are asked about. */
export const isPart = ({ stage, proposal }: StepState): boolean =>
  stage.at === 'propose' && stage.part === true && proposal !== null;

export const progressOf = (state: StepState): Progress => {
  const { files } = state.edits;
  const count = (status: string): number => files.filter((file) => file.status === status).length;
  return {
    done: count('done'),
    failed: count('failed'),
    skipped: count('skipped'),
    total: files.length,
  };
};

/** Returns whether the file was edited by hand, which reviews it. */
const isManual = (file: ProposalFileSummary, entries: ReadonlyMap<string, FileEntry>): boolean =>
  file.by === 'person' && entries.get(file.path)?.unreviewed !== true;

/** Returns the files of the proposal that are approved. */
const approvedPaths = (state: StepState): readonly string[] => {
  const proposal = state.proposal;
  if (proposal === null) return [];
  const entries = new Map(state.edits.files.map((file) => [file.path, file]));
  return proposal.files
    .filter(
      (file) =>
        isManual(file, entries) || entries.get(file.to ?? file.path)?.verdict?.answer === 'approve',
    )
    .map((file) => file.path);
};

/** Returns the files of the proposal without a verdict on exactly these bytes. The old path of a moved file is not asked about. */
export const undecidedPaths = (state: StepState): readonly string[] => {
  const entries = new Map(state.edits.files.map((file) => [file.path, file]));
  return (state.proposal?.files ?? [])
    .filter((file) => {
      if (file.to !== undefined || isManual(file, entries)) return false;
      const verdict = entries.get(file.path)?.verdict ?? null;
      return verdict?.key !== file.key;
    })
    .map((file) => file.path);
};

/** Returns the paths that this step has applied. */
export const appliedPaths = (state: StepState): readonly string[] =>
  state.applied.all.flatMap((done) => done.files);

/**
 * Returns the paths of the proposal to apply now: approved, not skipped since, not applied yet. An edit by hand on top of an earlier
 * application is recorded with this proposal too.
 */
export const pathsToApply = (state: StepState): readonly string[] => {
  const { files } = state.edits;
  const asManual = new Set(files.filter((file) => file.manual).map((file) => file.path));
  const skipped = new Set(
    files.filter((file) => file.status === 'skipped').map((file) => file.path),
  );
  const applied = new Set(appliedPaths(state));
  const current = new Set(
    state.applied.all
      .filter((done) => done.proposal === state.proposal?.ref)
      .flatMap((done) => done.files),
  );
  return approvedPaths(state).filter(
    (path) => !skipped.has(path) && !(asManual.has(path) ? current.has(path) : applied.has(path)),
  );
};

/** Returns the paths that would be applied if the reviewer approved every file without a verdict. */
export const pathsIfApproved = (state: StepState): readonly string[] => {
  const approved = new Set([...undecidedPaths(state), ...pathsToApply(state)]);
  return (state.proposal?.files ?? [])
    .filter(({ path, to }) => approved.has(to ?? path))
    .map(({ path }) => path);
};

/** Returns the files that the next proposal leaves out (skipped, failed, applied already), and those that it takes as they are on disk. */
export const leftOut = (
  state: StepState,
): { readonly exclude: readonly string[]; readonly manual: readonly string[] } => {
  const applied = new Set(appliedPaths(state));
  const { files } = state.edits;
  const out = files.filter(
    (file) => file.status !== 'done' || (applied.has(file.path) && !file.manual),
  );
  const manual = files.filter((file) => file.manual && file.status === 'done');
  return { exclude: out.map((file) => file.path), manual: manual.map((file) => file.path) };
};

/** Returns the files of the next proposal that the model may be asked about once more. */
export const repairable = (state: StepState): readonly string[] => {
  const { exclude, manual } = leftOut(state);
  const out = new Set([...exclude, ...manual]);
  return state.edits.files
    .filter(
      (file) =>
        !out.has(file.path) && !file.deletes && file.selected === null && mayRepair(state, file),
    )
    .map((file) => file.path);
};

/** Returns the selected changes that the next proposal takes from earlier ones, by proposal. Undefined: none were selected. */
export const selectedFiles = (state: StepState): readonly SelectedFiles[] | undefined => {
  const { exclude, manual } = leftOut(state);
  const out = new Set([...exclude, ...manual]);
  const groups = new Map<
    BlobRef,
    { readonly diff: BlobRef; readonly files: SelectedFiles['files'][number][] }
  >();
  for (const { path, selected } of state.edits.files) {
    if (selected === null || out.has(path)) continue;
    const group = groups.get(selected.proposal) ?? { diff: selected.diff, files: [] };
    group.files.push({ path, changes: selected.changes });
    groups.set(selected.proposal, group);
  }
  return groups.size === 0
    ? undefined
    : [...groups].map(([proposal, group]) => ({ proposal, ...group }));
};

/** Returns the paths, with the files whose responses made them. */
export const withMakers = (
  { edits: { files } }: StepState,
  paths: readonly string[],
): readonly string[] => {
  const sources = files.filter(({ path }) => paths.includes(path)).map(({ madeBy }) => madeBy);
  const makers = files.filter(({ path, status }) => sources.includes(path) && status !== 'skipped');
  return [...new Set([...paths, ...makers.map(({ path }) => path)])];
};

/** Returns the files that the model may be asked for again: those that it changed in this proposal, and those approved before it. */
export const regenerable = (state: StepState): readonly string[] => {
  const changed = new Set((state.proposal?.files ?? []).map((file) => file.path));
  return state.edits.files
    .filter((file) => file.status === 'done' && !file.manual)
    .filter((file) => changed.has(file.path) || file.verdict?.answer === 'approve')
    .map((file) => file.path);
};

export const toRegenerate = (state: StepState): readonly string[] =>
  withMakers(state, regenerable(state));

/** Returns whether a model audits the change at this moment. A change that is kept in spite of a failed verification is not audited again. */
export const wantsAudit = (
  { base, applied }: StepState,
  when: 'after_tests' | 'before_approval',
): boolean => base.ready?.audit === when && !applied.incomplete;

export const wantsCommit = ({ base }: StepState): boolean =>
  (base.ready?.commitMessage ?? null) !== null;

/** Returns whether nothing comes after apply and tests. */
export const isLast = (state: StepState): boolean =>
  !wantsCommit(state) && !wantsAudit(state, 'after_tests');

const isUntouched = ({ tests, applied }: StepState): boolean =>
  tests.commands.length > 0 && applied.all.length === 0 && applied.uncertain === null;

/** Returns whether the tests of the base are still to run. */
export const wantsBase = (state: StepState): boolean =>
  state.base.ready?.baseline !== undefined &&
  isUntouched(state) &&
  state.tests.base?.number !== state.base.number;

/** Returns whether the tests of the base failed in the sandbox and have not run outside it. */
export const mayRunOutside = ({ tests: { base } }: StepState): boolean =>
  base !== undefined && 'base' in base && base.outside !== undefined;

/** Returns what activities that judge a change know of the base: its failed tests, and whether these are accepted. */
export const baseChoice = ({ base: { ready }, tests: { base, answered } }: StepState) => ({
  ...(base !== undefined && 'base' in base ? { base: base.base } : {}),
  ...((answered ?? ready?.baseline) === 'known' ? { known: true as const } : {}),
});

/** Returns whether the change is to be tested at all. */
export const wantsTests = ({ tests, applied }: StepState): boolean =>
  tests.commands.length > 0 && !applied.incomplete;

/** Returns why the tests run in the workspace after the apply. Null: they run before it, on an overlay. */
export const testsAfterApply = ({ base, tests, sandbox }: StepState): string | null =>
  base.ready?.testsAfterApply ??
  tests.afterApply ??
  (sandbox?.without === undefined ? null : 'the commands run without a sandbox');

export const wantsTestsFirst = (state: StepState): boolean =>
  wantsTests(state) && testsAfterApply(state) === null;

export const verifiesAfterApply = (state: StepState): boolean =>
  wantsTests(state) && testsAfterApply(state) !== null;

/** Returns the last run of the tests on exactly these files of the proposal. Null: they have not run on them. */
export function resultOn(
  { tests: { proposed }, proposal }: StepState,
  files: readonly string[],
): StepState['tests']['proposed'] {
  if (proposed === null || proposed.proposal !== proposal?.id) return null;
  const isSame =
    proposed.files.length === files.length && files.every((path) => proposed.files.includes(path));
  return isSame ? proposed : null;
}

/** Returns whether the tests passed on exactly these files of the proposal. */
export function havePassed(state: StepState, files: readonly string[]): boolean {
  const proposed = resultOn(state, files);
  return proposed !== null && PASSED.includes(proposed.result.outcome);
}

/** Returns whether these files may be applied: the tests passed on them, on a base that can be compared, or right now. */
export function isProven(state: StepState, files: readonly string[]): boolean {
  const proposed = resultOn(state, files);
  if (proposed === null || !havePassed(state, files)) return false;
  return proposed.isFresh || proposed.result.baseHash !== null;
}

/** Returns the last run of the tests on this proposal. Null: none. */
export const testsOfProposal = ({ tests: { proposed }, proposal }: StepState) =>
  proposed !== null && proposed.proposal === proposal?.id ? proposed.result : null;

/** Returns what is applied on the host of the step and not committed, or may be. */
export const openThere = (state: StepState): OpenOnHost => {
  const { input, applied, stage } = state;
  const begun = [
    ...(applied.uncertain?.files ?? []),
    ...(stage.at === 'apply' ? pathsToApply(state) : []),
  ];
  const files = [...new Set([...appliedPaths(state), ...begun])];
  return { host: hostOfQueue(input.queues.host), workspace: input.workspace, files };
};
