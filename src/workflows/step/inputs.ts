/** Inputs of the activities of a step, from its state: one function for each activity. */
import type { BlobRef } from '../../shared/ids.js';
import type { LimitName, Limits } from '../../shared/limits.js';
import type { ActivityBase, ApplyInput, SandboxChoice } from '../../shared/proposal-activities.js';
import { configurationOf } from '../../shared/run.js';
import type { TestSubject } from '../../shared/test-activities.js';
import type { Asked } from '../frame/activities.js';
import type { Chunk, EffectOf } from './protocol.js';
import {
  auditOf,
  baseChoice,
  lacksConsent,
  leftOut,
  repairable,
  resultOn,
  selectedFiles,
} from './selectors.js';
import type { StepState } from './state.js';

const DEFAULT_TEST_TIMEOUT_S = 600; // bound: Seconds for the tests of a step whose limits are not known.

export const preflightInput = ({ input, base, stage }: StepState): Asked<'preflight'> => ({
  workspace: input.workspace,
  job: input.job,
  jobPath: input.jobPath,
  snapshotNumber: base.number,
  overrides: { ...input.overrides, ...base.early },
  approval: input.approval ?? null,
  hints: input.hints,
  picked: base.picked,
  ...(input.pick === undefined ? {} : { pick: input.pick }),
  ...(base.lookFor?.length ? { lookFor: base.lookFor } : {}),
  ...(base.made === undefined ? {} : { made: base.made }),
  ...configurationOf(input),
  ...(base.trusts === undefined ? {} : { trusts: base.trusts }),
  only: stage.at === 'preflight' ? stage.only : null,
  ...(input.given === undefined || base.ready !== null ? {} : { given: true as const }),
});

/** Throws Error outside the place `pick`. */
export function pickInput(state: StepState): Asked<'pickFiles'> {
  const { stage, base } = state;
  if (stage.at !== 'pick') throw new Error(`files are picked at ${stage.at}`);
  return {
    snapshot: stage.snapshot,
    regeneration: base.pickRegeneration,
    ...limitsOf(state),
  };
}

export const briefInput = (state: StepState): Asked<'writeBrief'> => ({
  snapshot: snapshotOf(state),
  ...limitsOf(state),
});

export function editInput(
  state: StepState,
  { file, seq, heads, attempt }: Chunk,
): Asked<'proposeEdit'> {
  const { region, linesAsked: lines } = attempt;
  return {
    snapshot: snapshotOf(state),
    file,
    seq,
    brief: state.edits.brief,
    accepted: heads,
    regeneration: attempt.regeneration,
    format: attempt.format,
    outputBudget_tokens: attempt.outputBudget_tokens,
    model: attempt.model,
    note: attempt.note,
    refusal: attempt.refusal,
    ...(region === null ? {} : { region }),
    ...(lines === null ? {} : { lines }),
    ...(attempt.unmarkedAsked ? { markerAsked: true as const } : {}),
    ...(state.secrets === undefined ? {} : { secrets: state.secrets }),
    ...limitsOf(state),
  };
}

export function buildInput(state: StepState): Asked<'buildProposal'> {
  const { input, edits, applied } = state;
  const selected = selectedFiles(state);
  return {
    workspace: input.workspace,
    snapshot: snapshotOf(state),
    accepted: edits.accepted,
    ...leftOut(state),
    repairable: repairable(state),
    ...(selected === undefined ? {} : { selected }),
    ...(applied.staged === null ? {} : { staged: applied.staged }),
    ...formatterChoice(state),
  };
}

/** Returns the input without the owner of the transaction. */
export const applyInput = (
  state: StepState,
  { files, releaseAfter }: EffectOf<'apply'>,
): Omit<Asked<'applyProposal'>, 'workflowId' | 'namespace'> => ({
  workspace: state.input.workspace,
  proposal: proposalOf(state),
  decision: state.applied.decision,
  files: files.length === state.proposal?.files.length ? null : files,
  releaseAfter,
  jobPath: state.input.jobPath,
  ...testedOn(state, files),
  ...unapprovedOf(state, files),
});

export const rebaseInput = (state: StepState): Asked<'rebaseProposal'> => ({
  workspace: state.input.workspace,
  proposal: proposalOf(state),
  snapshot: snapshotOf(state),
  files: state.stage.at === 'rebase' ? state.stage.files : null,
  exclude: leftOut(state).exclude,
  decision: state.applied.decision,
});

/** Returns the tests of the base. `again` makes them run again after an answer. */
export function baseSubject({ tests, resolved }: StepState): TestSubject {
  const again = resolved.filter(
    ({ reason }) => reason === 'baseline' || reason === 'sandbox_blocks_tests',
  ).length;
  return { kind: 'base', again, ...(tests.outside === true ? { outside: true } : {}) };
}

/** Returns the tests of these files of the proposal. */
export const proposalSubject = (
  state: StepState,
  { files, isFresh }: EffectOf<'test_proposal'>,
): TestSubject => ({
  kind: 'proposal',
  proposal: proposalOf(state),
  files,
  applications: state.applied.all,
  run: state.tests.runs ?? 0,
  ...(isFresh ? { isFresh } : {}),
});

/** Returns the tests of what is applied. */
export const appliedSubject = ({ applied, tests }: StepState): TestSubject => ({
  kind: 'applied',
  applications: applied.all,
  run: tests.runs ?? 0,
});

export function testInput(state: StepState, subject: TestSubject): Asked<'runTests'> {
  const { input, tests, base } = state;
  const limit_s = base.limits?.testTimeout_s ?? DEFAULT_TEST_TIMEOUT_S;
  return {
    workspace: input.workspace,
    jobPath: input.jobPath,
    on: subject,
    commands: tests.commands,
    snapshot: snapshotOf(state),
    timeout_s: tests.longer ? limit_s * 2 : limit_s,
    maxOutput_bytes: base.limits?.testOutput_bytes ?? 0,
    ...(tests.remember === null ? {} : { remember: tests.remember }),
    ...sandboxChoice(state),
    ...baseChoice(state),
  };
}

export function auditInput(state: StepState, calls: number): Asked<'auditChange'> {
  const { applied, base, proposal, secrets } = state;
  // An audit before the approval judges the proposal on top of what is on disk.
  const whole = {
    proposal: proposalOf(state),
    decision: 0,
    files: proposal?.files.map(({ path }) => path) ?? [],
  };
  return {
    snapshot: snapshotOf(state),
    applications: base.ready?.audit === 'before_approval' ? [...applied.all, whole] : applied.all,
    regeneration: auditOf(state).regeneration,
    calls,
    ...(secrets === undefined ? {} : { secrets }),
    ...limitsOf(state),
  };
}

export const releaseInput = (state: StepState): Asked<'releaseWorkspace'> => ({
  workspace: state.input.workspace,
  ...heldToken(state),
});

/** Returns the input without the owner of the transaction. */
export const rollbackInput = (
  state: StepState,
): Omit<Asked<'rollBack'>, 'workflowId' | 'namespace'> => ({
  workspace: state.input.workspace,
  applications: state.applied.all,
  ...heldToken(state),
});

/** Throws Error if the step has no lock, or is not to commit. */
export function commitInput(state: StepState): Asked<'commit'> {
  const { input, base, applied } = state;
  const { all: applications, lock, onto: ontoCurrent, incomplete } = applied;
  const { report } = auditOf(state);
  const snapshot = snapshotOf(state);
  const message = base.ready?.commitMessage ?? null;
  if (lock === null || message === null) throw new Error('commit without a lock or a message');
  return {
    workspace: input.workspace,
    snapshot,
    applications,
    message: incomplete ? `[INCOMPLETE] ${message}` : message,
    lock,
    ontoCurrent,
    ...sandboxChoice(state),
    ...(input.marks === undefined ? {} : { marks: input.marks }),
    ...(report === undefined ? {} : { audit: report }),
  };
}

/** Returns the sandbox for the activities that run commands. */
const sandboxChoice = ({ sandbox }: StepState): { readonly sandbox?: SandboxChoice } => {
  if (sandbox === undefined) return {};
  const { without, ...rest } = sandbox;
  return { sandbox: { ...rest, ...(without === undefined ? {} : { without: true }) } };
};

/** Returns the sandbox of the formatter. It runs nothing of the proposal, and the approval that follows names the commands that do. */
const formatterChoice = (state: StepState): { readonly sandbox?: SandboxChoice } =>
  state.base.ready?.approval === 'ask' && lacksConsent(state)
    ? { sandbox: { without: true } }
    : sandboxChoice(state);

/** Returns the limits that answers changed, which the snapshot of the preflight does not have. Null: none. */
const changedLimits = ({ base: { limits, ready, early } }: StepState): Partial<Limits> | null => {
  const resolved: Partial<Limits> = ready?.limits ?? {};
  const known: Partial<Limits> = limits ?? early;
  const changed = (Object.keys(known) as LimitName[]).filter(
    (name) => known[name] !== resolved[name],
  );
  return changed.length === 0
    ? null
    : Object.fromEntries(changed.map((name) => [name, known[name]]));
};

/** Returns the base on which the tests of these files passed. The apply compares it with the files. */
function testedOn(state: StepState, files: readonly string[]): Pick<ApplyInput, 'tested'> {
  const { baseHash = null, writes = [] } = resultOn(state, files)?.result ?? {};
  return baseHash === null ? {} : { tested: { baseHash, applications: state.applied.all, writes } };
}

/** Returns the files among these that a policy approved. */
function unapprovedOf(
  { edits }: StepState,
  paths: readonly string[],
): Pick<ApplyInput, 'unapproved'> {
  const unapproved = edits.files
    .filter(({ path, verdict }) => paths.includes(path) && verdict?.isAutomatic === true)
    .map(({ path }) => path);
  return unapproved.length === 0 ? {} : { unapproved };
}

/** Returns the token of the lock that an activity ends, so that a late attempt ends no later lock. It is unknown after a failed apply. */
const heldToken = ({
  applied: { lock, uncertain },
}: StepState): { readonly token: number | null } => ({
  token: lock === null || uncertain !== null ? null : lock.token,
});

function snapshotOf({ base }: StepState): BlobRef {
  if (base.ready === null) throw new Error('no preflight yet');
  return base.ready.snapshot;
}

function proposalOf({ proposal }: StepState): BlobRef {
  if (proposal === null) throw new Error('no proposal yet');
  return proposal.ref;
}

/** Returns the changed limits, for activities that read the limits of the snapshot. */
function limitsOf(state: StepState): {
  readonly limits?: NonNullable<ReturnType<typeof changedLimits>>;
} {
  const limits = changedLimits(state);
  return limits === null ? {} : { limits };
}

/** Returns the repository of a run on one, and the applications that its checkout has on top of the base. */
export function onHost({ input, applied: { all: applications, lock } }: StepState) {
  const { repository } = input;
  if (repository === undefined) return {};
  if (lock?.head == null || applications.length === 0) return { repository };
  return { repository, held: { commit: lock.head, applications } } satisfies Partial<ActivityBase>;
}
