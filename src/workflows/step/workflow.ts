/**
 * The edit step: one job, from its Markdown to a tested commit. The state says what comes next (`nextEffect`), one activity does it,
 * and what came of it is folded into the state (`reduce`). This file is the protocol; every rule that will be improved lives in an
 * activity, so that a better rule breaks no paused run.
 */
import * as check from '../frame/input.js';
import { CancellationScope } from '@temporalio/workflow';
import { type BlobRef, isBlobRef } from '../../shared/ids.js';
import { configurationOf, type StepResult } from '../../shared/run.js';
import type { EditStepInput } from '../../shared/start-input.js';
import type { TestSubject } from '../../shared/test-activities.js';
import { owner } from '../frame/activities.js';
import type { FrameEffect, Machine, RunIo } from '../frame/machine.js';
import { runMachine } from '../frame/run.js';
import {
  formatterChoice,
  heldToken,
  limitsOf,
  onHost,
  proposalOf,
  sandboxChoice,
  snapshotOf,
  testedOn,
  unapprovedOf,
} from './inputs.js';
import { moveOf } from './move.js';
import type { Chunk, Effect, Fact } from './protocol.js';
import { reduce } from './reduce.js';
import { auditOf, baseChoice, leftOut, repairable, selectedFiles } from './selectors.js';
import { nextEffect } from './stages/index.js';
import { baseQuestion } from './stages/verify/base.js';
import { initialState, type StepState } from './state.js';
import { detailsOf, ledgerOf, resultOf, statusOf } from './views.js';

const DEFAULT_TEST_TIMEOUT_S = 600;

// bound: Seconds for the tests of a step whose limits are not known.
type OwnEffect = Exclude<Effect, FrameEffect>;

type StepRun = RunIo<StepState, Fact, Chunk>;

/** `editStep(input) -> result`; see src/shared/start-input.ts for the input, src/shared/run.ts for the result, docs/architecture.md for the picture. */
export async function editStep(
  input: EditStepInput,
  ...others: readonly never[]
): Promise<StepResult> {
  return runMachine(step, [input, ...others]);
}

const step: Machine<StepState, Fact, OwnEffect, Chunk> = {
  kind: 'job',
  setupFields: {
    job: check.orNull('a reference to a stored job (sha256:…)', isBlobRef),
    jobPath: check.text,
  },
  initial: initialState,
  next: nextEffect,
  reduce,
  perform,
  onHost,
  move: moveOf,
  failed: (fact, chunk) => ({ ...fact, chunk: chunk ?? null }),
  end,
  views: {
    status: statusOf,
    ledger: ledgerOf,
    proposal: ({ proposal }) => proposal,
    details: detailsOf,
    result: resultOf,
  },
  abortsBetweenEffects: false,
};

function perform(move: OwnEffect, run: StepRun): Promise<void> | void {
  const { state } = run;
  const { input, proposal, stage, base, edits, applied, tests } = state;
  const { workspace } = input;
  switch (move.kind) {
    case 'preflight':
      return run.call(
        'preflight',
        `read the files (snapshot ${base.number})`,
        {
          workspace,
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
        },
        (result) => ({ type: 'preflighted', result }),
      );
    case 'pick':
      return run.callInterruptibly(
        'pickFiles',
        'ask the model which files to edit',
        {
          snapshot: snapshotToPick(state),
          regeneration: base.pickRegeneration,
          ...limitsOf(state),
        },
        (result) => ({ type: 'picked', result }),
      );
    case 'brief':
      return run.callInterruptibly(
        'writeBrief',
        'agree on names and parts',
        { snapshot: snapshotOf(state), ...limitsOf(state) },
        (result) => ({ type: 'briefed', result }),
      );
    case 'propose':
      return propose(move.chunks, run);
    case 'build': {
      const selected = selectedFiles(state);
      return run.call(
        'buildProposal',
        {
          summary: 'check and build the proposal',
          files: edits.files.length,
          isLong: base.ready?.quickBuild !== true,
        },
        {
          workspace,
          snapshot: snapshotOf(state),
          accepted: edits.accepted,
          ...leftOut(state),
          repairable: repairable(state),
          // Files of which a person chose among the changes: taken from the proposal that they looked at.
          ...(selected === undefined ? {} : { selected }),
          ...(applied.staged === null ? {} : { staged: applied.staged }),
          ...formatterChoice(state),
        },
        (result) => ({ type: 'proposal_built', result }),
      );
    }
    case 'approve_by_policy':
      return run.dispatch({ type: 'approved_by_policy' });
    case 'apply':
      return run.call(
        'applyProposal',
        `write ${move.files.length} files`,
        {
          ...owner(),
          workspace,
          proposal: proposalOf(state),
          decision: applied.decision,
          files: move.files.length === proposal?.files.length ? null : move.files,
          releaseAfter: move.releaseAfter,
          jobPath: input.jobPath,
          ...testedOn(state, move.files),
          ...unapprovedOf(state, move.files),
        },
        (result) => ({ type: 'applied', result }),
      );
    case 'rebase':
      return run.call(
        'rebaseProposal',
        'rebase the proposal onto the current files',
        {
          workspace,
          proposal: proposalOf(state),
          snapshot: snapshotOf(state),
          files: stage.at === 'rebase' ? stage.files : null,
          exclude: leftOut(state).exclude,
          decision: applied.decision,
        },
        (result) => ({ type: 'rebased', result }),
      );
    case 'verify': {
      const on = { kind: 'applied', applications: applied.all, run: tests.runs ?? 0 } as const;
      return runTests(run, on, tests.commands.join(' && '));
    }
    case 'try_base':
      return tryBase(move.beside, run);
    case 'test_proposal': {
      const on = {
        kind: 'proposal',
        proposal: proposalOf(state),
        files: move.files,
        applications: applied.all,
        run: tests.runs ?? 0,
        ...(move.isFresh ? { isFresh: true as const } : {}),
      } as const;
      return runTests(run, on, `${tests.commands.join(' && ')}: on the proposal`);
    }
    case 'audit': {
      // Before it is applied the proposal is judged with what of the change is on disk.
      const next = {
        proposal: proposalOf(state),
        decision: 0,
        files: proposal?.files.map(({ path }) => path) ?? [],
      };
      return run.callInterruptibly(
        'auditChange',
        'ask a model to audit the change',
        {
          snapshot: snapshotOf(state),
          applications:
            base.ready?.audit === 'before_approval' ? [...applied.all, next] : applied.all,
          regeneration: auditOf(state).regeneration,
          calls: move.calls,
          ...(state.secrets === undefined ? {} : { secrets: state.secrets }),
          ...limitsOf(state),
        },
        (result) => ({ type: 'audited', result }),
      );
    }
    case 'release':
      return run.call(
        'releaseWorkspace',
        'unlock the workspace',
        { workspace, ...heldToken(state) },
        () => ({ type: 'released' }),
      );
    case 'roll_back':
      return run.call(
        'rollBack',
        'restore the files',
        { ...owner(), workspace, applications: applied.all, ...heldToken(state) },
        (result) => ({ type: 'rolled_back', result }),
      );
    case 'commit':
      return commit(run);
  }
}

/** Throws Error outside the stage `pick`. */
function snapshotToPick({ stage }: StepState): BlobRef {
  if (stage.at !== 'pick') throw new Error(`files are picked at ${stage.at}`);
  return stage.snapshot;
}

/** The call that comes next waits for the tests of the base a while: nothing is paid for where a person is to be asked. */
async function tryBase(
  beside: Extract<Effect, { kind: 'try_base' }>['beside'],
  run: StepRun,
): Promise<void> {
  let over = false;
  const tests = testBase(run).finally(() => (over = true));
  const call = async (): Promise<void> => {
    const wait_s = run.state.base.limits?.baselineWait_s ?? 0;
    await run.interruptibly(async () => {
      const summary = 'wait for the tests of the untouched files';
      if (wait_s > 0) await run.long.wait(() => over, { ms: wait_s * 1000, summary });
    });
    if (!run.aborting && baseQuestion(run.state) === null && beside !== null)
      await perform(beside, run);
  };
  // Both have ended when this does, whatever cut them short.
  for (const each of await Promise.allSettled([tests, call()]))
    if (each.status === 'rejected') throw each.reason;
}

function testBase(run: StepRun): Promise<void> {
  const { tests, resolved } = run.state;
  const again = resolved.filter(
    ({ reason }) => reason === 'baseline' || reason === 'sandbox_blocks_tests',
  ).length;
  const on = {
    kind: 'base',
    again,
    ...(tests.outside === true ? { outside: true as const } : {}),
  } as const;
  return runTests(run, on, `${tests.commands.join(' && ')}: before anything is applied`);
}

function runTests(run: StepRun, on: TestSubject, summary: string): Promise<void> {
  const { state } = run;
  const { input, tests, base } = state;
  const limit_s = base.limits?.testTimeout_s ?? DEFAULT_TEST_TIMEOUT_S;
  const wanted = {
    workspace: input.workspace,
    jobPath: input.jobPath,
    on,
    commands: tests.commands,
    snapshot: snapshotOf(state),
    timeout_s: tests.longer ? limit_s * 2 : limit_s,
    maxOutput_bytes: base.limits?.testOutput_bytes ?? 0,
    ...(tests.remember === null ? {} : { remember: tests.remember }),
    ...sandboxChoice(state),
    ...baseChoice(state),
  };
  return run.callInterruptibly('runTests', summary, wanted, (result) => ({
    type: 'tested',
    on,
    result,
  }));
}

/** Outputs that the host keeps for the commands of the run are removed with it. */
async function end(run: StepRun): Promise<void> {
  run.dispatch({ type: 'finished' });
  const { tests, openOnHost } = run.state;
  if (openOnHost !== null || !tests.keepsOutputs) return;
  const remove = run.calls('removeLayers', 'remove the outputs of its tests');
  // What stays is removed with that of other runs that have ended.
  await CancellationScope.nonCancellable(() =>
    remove({ stepKey: run.state.input.stepKey, log: [] }),
  ).catch(() => undefined);
}

/** Chunks of one turn run side by side; each is folded in as it comes back. */
async function propose(chunks: readonly Chunk[], run: StepRun): Promise<void> {
  await Promise.all(
    chunks.map((chunk) => {
      run.dispatch({ type: 'chunk_started', chunk });
      const { state } = run;
      const {
        format,
        regeneration,
        outputBudget_tokens,
        model,
        note,
        refusal,
        region,
        linesAsked,
      } = chunk.attempt;
      const words = chunk.file === '*' ? `all ${state.edits.files.length} files` : chunk.file;
      return run.callInterruptibly(
        'proposeEdit',
        { summary: `${words} (${format})`, about: chunk },
        {
          snapshot: snapshotOf(state),
          file: chunk.file,
          seq: chunk.seq,
          brief: state.edits.brief,
          accepted: chunk.heads,
          regeneration,
          format,
          outputBudget_tokens,
          model,
          note,
          refusal,
          ...(region === null ? {} : { region }),
          ...(linesAsked === null ? {} : { lines: linesAsked }),
          ...(state.secrets === undefined ? {} : { secrets: state.secrets }),
          ...limitsOf(state),
        },
        (result) => ({ type: 'proposed', chunk, result }),
      );
    }),
  );
}

function commit(run: StepRun): Promise<void> {
  const { input, base, applied } = run.state;
  const { all: applications, lock, onto: ontoCurrent, incomplete } = applied;
  const { report } = auditOf(run.state);
  const snapshot = snapshotOf(run.state);
  if (lock === null || base.ready?.commitMessage == null)
    throw new Error('commit without a lock or a message');
  const message = incomplete
    ? `[INCOMPLETE] ${base.ready.commitMessage}`
    : base.ready.commitMessage;
  const { workspace, marks } = input;
  return run.call(
    'commit',
    message.split('\n')[0] ?? '',
    {
      workspace,
      snapshot,
      applications,
      message,
      lock,
      ontoCurrent,
      ...sandboxChoice(run.state),
      ...(marks === undefined ? {} : { marks }),
      ...(report === undefined ? {} : { audit: report }),
    },
    (result) => ({ type: 'committed', result }),
  );
}
