/** What activities are asked with, from the state. Pure. */
import type { BlobRef } from '../../shared/ids.js';
import type { LimitName, Limits } from '../../shared/limits.js';
import type { ActivityBase, ApplyInput, SandboxChoice } from '../../shared/proposal-activities.js';
import { lacksConsent, resultOn } from './selectors.js';
import type { StepState } from './state.js';

/** For the activities that run commands. */
export const sandboxChoice = ({ sandbox }: StepState): { readonly sandbox?: SandboxChoice } => {
  if (sandbox === undefined) return {};
  const { without, ...rest } = sandbox;
  return { sandbox: { ...rest, ...(without === undefined ? {} : { without: true }) } };
};

/** It runs nothing of the proposal's, and where a person approves afterwards, that person is told of the commands that do. */
export const formatterChoice = (state: StepState): { readonly sandbox?: SandboxChoice } =>
  state.base.ready?.approval === 'ask' && lacksConsent(state)
    ? { sandbox: { without: true } }
    : sandboxChoice(state);

/** Limits that people changed by their answers: the snapshot of the preflight does not know them. */
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

/** The base that the passed tests of these files are bound to, for the activity that applies them. */
export function testedOn(state: StepState, files: readonly string[]): Pick<ApplyInput, 'tested'> {
  const { baseHash = null, writes = [] } = resultOn(state, files)?.result ?? {};
  return baseHash === null ? {} : { tested: { baseHash, applications: state.applied.all, writes } };
}

/** The files among them that were approved without anybody seeing the change. */
export function unapprovedOf(
  { edits }: StepState,
  paths: readonly string[],
): Pick<ApplyInput, 'unapproved'> {
  const unapproved = edits.files
    .filter(({ path, verdict }) => paths.includes(path) && verdict?.isAutomatic === true)
    .map(({ path }) => path);
  return unapproved.length === 0 ? {} : { unapproved };
}

/** The lock that an activity may end: by its token, so that a late attempt ends no later one. Unknown after a failed apply. */
export const heldToken = ({
  applied: { lock, uncertain },
}: StepState): { readonly token: number | null } => ({
  token: lock === null || uncertain !== null ? null : lock.token,
});

export function snapshotOf({ base }: StepState): BlobRef {
  if (base.ready === null) throw new Error('no preflight yet');
  return base.ready.snapshot;
}

export function proposalOf({ proposal }: StepState): BlobRef {
  if (proposal === null) throw new Error('no proposal yet');
  return proposal.ref;
}

/** For activities that read the snapshot's limits: what decisions changed since. */
export function limitsOf(state: StepState): {
  readonly limits?: NonNullable<ReturnType<typeof changedLimits>>;
} {
  const limits = changedLimits(state);
  return limits === null ? {} : { limits };
}

/** Of a run on a repository: what it is, and what its checkout is to hold beside the base. */
export function onHost({ input, applied: { all: applications, lock } }: StepState) {
  const { repository } = input;
  if (repository === undefined) return {};
  const held =
    lock?.head == null || applications.length === 0 ? null : { commit: lock.head, applications };
  return { repository, ...(held === null ? {} : { held }) } satisfies Partial<ActivityBase>;
}
