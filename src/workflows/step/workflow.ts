/**
 * The edit step: one job, from its Markdown to a tested commit. The state says what comes next (`nextEffect`), one activity does it,
 * and what came of it is folded into the state (`reduce`). This file is the protocol; every rule that will be improved lives in an
 * activity, so that a better rule breaks no paused run.
 */
import { patched } from '@temporalio/workflow';
import type { EditStepInput, StepResult } from '../../shared/run.js';
import { owner } from '../frame/activities.js';
import type { FrameEffect, Machine, RunIo } from '../frame/machine.js';
import { runMachine } from '../frame/run.js';
import { appliedPaths, leftOut, nextEffect, selectedFiles, type Chunk, type Effect } from './effects.js';
import { reduce, type Fact } from './reduce.js';
import { changedLimits, initialState, type StepState } from './state.js';
import { detailsOf, ledgerOf, resultOf, statusOf } from './views.js';

type OwnEffect = Exclude<Effect, FrameEffect>;
type StepRun = RunIo<StepState, Fact, Chunk>;

/** `editStep(input) -> result`; see src/shared/run.ts for both, docs/architecture.md for the picture. */
export async function editStep(input: EditStepInput): Promise<StepResult> {
  return runMachine(step, input);
}

const step: Machine<StepState, Fact, OwnEffect, Chunk> = {
  initial: initialState,
  next: nextEffect,
  reduce,
  perform,
  failed: (fact, chunk) => ({ ...fact, chunk: chunk ?? null }),
  end: (run) => {
    run.fold({ type: 'finished' });
  },
  views: {
    status: statusOf,
    ledger: ledgerOf,
    proposal: ({ proposal }) => proposal,
    details: detailsOf,
    result: resultOf,
  },
  abortsBetweenMoves: false,
  tallied: (usage) => ({ type: 'tallied', usage }),
};

function perform(move: OwnEffect, run: StepRun): Promise<void> | void {
  const { state } = run;
  const { input, proposal } = state;
  const { workspace } = input;
  switch (move.kind) {
    case 'preflight':
      return run.call(
        'preflight',
        `look at the files (snapshot ${state.snapshotNumber})`,
        {
          workspace,
          job: input.job,
          jobPath: input.jobPath,
          snapshotNumber: state.snapshotNumber,
          overrides: { ...input.overrides, ...state.earlyLimits } as typeof input.overrides,
          approval: input.approval ?? null,
          hints: input.hints,
          picked: state.picked,
          only: state.snapshotOnly,
        },
        (result) => ({ type: 'preflighted', result }),
      );
    case 'pick':
      return run.callInterruptibly(
        'pick',
        'ask which files to edit',
        { snapshot: state.pickSnapshot ?? input.job, draw: state.pickDraw, ...limitsOf(state) },
        (result) => ({ type: 'picked', result }),
      );
    case 'brief':
      return run.callInterruptibly(
        'brief',
        'agree on names and parts',
        { snapshot: snapshotOf(state), ...limitsOf(state) },
        (result) => ({ type: 'briefed', result }),
      );
    case 'propose':
      return propose(move.chunks, run);
    case 'seal': {
      const pinned = selectedFiles(state);
      return run.call(
        'seal',
        { summary: 'check and seal the proposal', files: state.files.length },
        {
          retriesBusy: true,
          workspace,
          snapshot: snapshotOf(state),
          accepted: state.accepted,
          ...leftOut(state),
          // Files of which a person chose among the changes: taken from the proposal that they looked at.
          ...(pinned === undefined ? {} : { pinned }),
          ...(state.staged === undefined ? {} : { staged: state.staged }),
        },
        (result) => ({ type: 'sealed', result }),
      );
    }
    case 'approve_by_policy':
      return run.fold({ type: 'approved_by_policy' });
    case 'apply':
      return run.call(
        'apply',
        `write ${move.files.length} files`,
        {
          ...owner(),
          workspace,
          proposal: proposalOf(state),
          decision: state.approvalNumber,
          files: move.files.length === proposal?.files.length ? null : move.files,
          releaseAfter: move.releaseAfter,
        },
        (result) => ({ type: 'applied', result }),
      );
    case 'rebase':
      return run.call(
        'rebase',
        'carry the proposal over to the files as they are now',
        {
          workspace,
          proposal: proposalOf(state),
          snapshot: snapshotOf(state),
          files: state.rebaseFiles,
          exclude: leftOut(state).exclude,
          decision: state.approvalNumber,
        },
        (result) => ({ type: 'rebased', result }),
      );
    case 'verify':
      return run.callInterruptibly(
        'verify',
        state.testCommands.join(' && '),
        {
          workspace,
          commands: state.testCommands,
          timeout_s: move.timeout_s,
          maxOutput_bytes: state.limits?.testOutput_bytes ?? 0,
          files: appliedPaths(state),
          releaseOnPass: move.releaseOnPass,
          retriesBusy: true,
          remember: state.rememberTest,
          ...heldToken(state),
        },
        (result) => ({ type: 'verified', result }),
      );
    case 'rollback':
      return run.call(
        'rollback',
        'put the files back',
        { ...owner(), workspace, applications: state.applications, ...heldToken(state) },
        (result) => ({ type: 'rolled_back', result }),
      );
    case 'commit':
      return commit(run);
  }
}

/** Chunks of one turn run side by side; each is folded in as it comes back. */
async function propose(chunks: readonly Chunk[], run: StepRun): Promise<void> {
  await Promise.all(
    chunks.map((chunk) => {
      run.fold({ type: 'chunk_started', chunk });
      const { state } = run;
      const { format, draw, outputBudget_tokens, model, note, refusal, region, linesAsked } = chunk.attempt;
      const words = chunk.file === '*' ? `all ${state.files.length} files` : chunk.file;
      return run.callInterruptibly(
        'propose',
        { summary: `${words} (${format})`, about: chunk },
        {
          snapshot: snapshotOf(state),
          file: chunk.file,
          seq: chunk.seq,
          brief: state.brief,
          accepted: chunk.heads,
          ...{ draw, format, outputBudget_tokens, model, note, refusal },
          ...(region === undefined ? {} : { region }),
          ...(linesAsked === undefined ? {} : { lines: linesAsked }),
          ...limitsOf(state),
        },
        (result) => {
          // Asked only where it matters: a marker costs an event and an action.
          const everyCall = result.usage.calls > 1 && patched('every-call-counts-as-chunk');
          return { type: 'proposed', chunk, result, ...(everyCall ? { everyCall } : {}) };
        },
      );
    }),
  );
}

function commit(run: StepRun): Promise<void> {
  const { lease, preflight, incomplete, input, applications, ontoCurrent } = run.state;
  if (lease === null || preflight?.commitMessage == null) throw new Error('commit without a lease or a message');
  const message = incomplete ? `[INCOMPLETE] ${preflight.commitMessage}` : preflight.commitMessage;
  const { workspace } = input;
  return run.call(
    'commit',
    message.split('\n')[0] ?? '',
    { retriesBusy: true, workspace, snapshot: preflight.snapshot, applications, message, lease, ontoCurrent },
    (result) => ({ type: 'committed', result }),
  );
}

/** The lease that an activity may end: by its number, so that a late attempt ends no later one. Unknown after a failed apply. */
const heldToken = ({ lease, applying }: StepState): { readonly lease?: number } =>
  lease === null || applying !== null ? {} : { lease: lease.number };

function snapshotOf({ preflight }: StepState): NonNullable<StepState['preflight']>['snapshot'] {
  if (preflight === null) throw new Error('no preflight yet');
  return preflight.snapshot;
}

function proposalOf({ proposal }: StepState): NonNullable<StepState['proposal']>['ref'] {
  if (proposal === null) throw new Error('no proposal yet');
  return proposal.ref;
}

/** For activities that read the snapshot's limits: what decisions changed since. */
function limitsOf(state: StepState): { readonly limits?: NonNullable<ReturnType<typeof changedLimits>> } {
  const limits = changedLimits(state);
  return limits === null ? {} : { limits };
}
