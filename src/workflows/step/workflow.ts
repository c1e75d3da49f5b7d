/**
 * The edit step: one job, from its Markdown to a tested commit. The state says what comes next (`nextEffect`), one activity does it, and the
 * reducer folds the fact that comes of it into the state (`reduce`). This file is the protocol: `CALLS` has the activity of each effect. The
 * rules are in `stages/`, one file or folder for each. Rules that will be improved are in activities, so that a better rule breaks no paused run.
 */
import * as check from '../frame/input.js';
import { CancellationScope } from '@temporalio/workflow';
import { isBlobRef } from '../../shared/ids.js';
import type { StepResult } from '../../shared/run.js';
import type { EditStepInput } from '../../shared/start-input.js';
import type { TestSubject } from '../../shared/test-activities.js';
import { owner } from '../frame/activities.js';
import type { Machine, RunIo } from '../frame/machine.js';
import { runMachine } from '../frame/run.js';
import * as inputs from './inputs.js';
import { moveOf } from './move.js';
import type { Chunk, EffectOf, Effects, Fact } from './protocol.js';
import { reduce } from './reduce.js';
import { nextEffect } from './stages/index.js';
import { baseQuestion } from './stages/verify/base.js';
import { initialState, type StepState } from './state.js';
import { detailsOf, ledgerOf, resultOf, statusOf } from './views.js';

type StepRun = RunIo<StepState, Fact, Chunk>;

/** `editStep(input) -> result`; see src/shared/start-input.ts for the input, src/shared/run.ts for the result, docs/architecture.md for the picture. */
export const editStep: (input: EditStepInput) => Promise<StepResult> = (
  ...args: readonly unknown[]
) => runMachine(step, args);

const step: Machine<StepState, Fact, EffectOf, Chunk> = {
  kind: 'job',
  setupFields: {
    job: check.orNull('a reference to a stored job (sha256:…)', isBlobRef),
    jobPath: check.text,
  },
  initial: initialState,
  next: nextEffect,
  reduce,
  perform,
  onHost: inputs.onHost,
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

/** Performs each effect: the activity that it calls, and the fact that comes of it. */
const CALLS: {
  readonly [Kind in keyof Effects]: (run: StepRun, effect: EffectOf<Kind>) => Promise<void> | void;
} = {
  preflight: (run) =>
    run.call(
      'preflight',
      `read the files (snapshot ${run.state.base.number})`,
      inputs.preflightInput(run.state),
      (result) => ({ type: 'preflighted', result }),
    ),
  pick: (run) =>
    run.callInterruptibly(
      'pickFiles',
      'ask the model which files to edit',
      inputs.pickInput(run.state),
      (result) => ({ type: 'picked', result }),
    ),
  brief: (run) =>
    run.callInterruptibly(
      'writeBrief',
      'agree on names and parts',
      inputs.briefInput(run.state),
      (result) => ({ type: 'briefed', result }),
    ),
  propose: (run, { chunks }) => propose(run, chunks),
  build: (run) =>
    run.call('buildProposal', buildWords(run.state), inputs.buildInput(run.state), (result) => ({
      type: 'proposal_built',
      result,
    })),
  approve_by_policy: (run) => run.dispatch({ type: 'approved_by_policy' }),
  apply: (run, effect) =>
    run.call(
      'applyProposal',
      `write ${effect.files.length} files`,
      { ...owner(), ...inputs.applyInput(run.state, effect) },
      (result) => ({ type: 'applied', result }),
    ),
  rebase: (run) =>
    run.call(
      'rebaseProposal',
      'rebase the proposal onto the current files',
      inputs.rebaseInput(run.state),
      (result) => ({ type: 'rebased', result }),
    ),
  verify: (run) => runTests(run, inputs.appliedSubject(run.state), ''),
  try_base: tryBase,
  test_proposal: (run, effect) =>
    runTests(run, inputs.proposalSubject(run.state, effect), ': on the proposal'),
  audit: (run, { calls }) =>
    run.callInterruptibly(
      'auditChange',
      'ask a model to audit the change',
      inputs.auditInput(run.state, calls),
      (result) => ({ type: 'audited', result }),
    ),
  release: (run) =>
    run.call('releaseWorkspace', 'unlock the workspace', inputs.releaseInput(run.state), () => ({
      type: 'released',
    })),
  roll_back: (run) =>
    run.call(
      'rollBack',
      'restore the files',
      { ...owner(), ...inputs.rollbackInput(run.state) },
      (result) => ({ type: 'rolled_back', result }),
    ),
  commit: (run) => commit(run, inputs.commitInput(run.state)),
};

function perform<Kind extends keyof Effects>(
  effect: EffectOf<Kind>,
  run: StepRun,
): Promise<void> | void {
  return CALLS[effect.kind](run, effect);
}

/** Calls the model for chunks side by side. Each result is folded in as it comes. */
async function propose(run: StepRun, chunks: readonly Chunk[]): Promise<void> {
  await Promise.all(
    chunks.map((chunk) => {
      run.dispatch({ type: 'chunk_started', chunk });
      const { state } = run;
      const { file, attempt } = chunk;
      const name = file === '*' ? `all ${state.edits.files.length} files` : file;
      return run.callInterruptibly(
        'proposeEdit',
        { summary: `${name} (${attempt.format})`, about: chunk },
        inputs.editInput(state, chunk),
        (result) => ({ type: 'proposed', chunk, result }),
      );
    }),
  );
}

const buildWords = ({ edits, base }: StepState) => ({
  summary: 'check and build the proposal',
  files: edits.files.length,
  runsCommands: base.ready?.formats === true,
});

/** Runs the tests of the base. The call next to them waits a while for their result: nothing is paid for before a question. */
async function tryBase(run: StepRun, { beside }: EffectOf<'try_base'>): Promise<void> {
  let isOver = false;
  const tests = runTests(
    run,
    inputs.baseSubject(run.state),
    ': before anything is applied',
  ).finally(() => (isOver = true));
  const call = async (): Promise<void> => {
    const wait_s = run.state.base.limits?.baselineWait_s ?? 0;
    await run.interruptibly(async () => {
      const summary = 'wait for the tests of the untouched files';
      if (wait_s > 0) await run.long.wait(() => isOver, { ms: wait_s * 1000, summary });
    });
    if (!run.aborting && baseQuestion(run.state) === null && beside !== null)
      await perform(beside, run);
  };
  // Both have ended when this returns, also after an abort.
  for (const outcome of await Promise.allSettled([tests, call()]))
    if (outcome.status === 'rejected') throw outcome.reason;
}

function runTests(run: StepRun, subject: TestSubject, place: string): Promise<void> {
  const { state } = run;
  return run.callInterruptibly(
    'runTests',
    `${state.tests.commands.join(' && ')}${place}`,
    inputs.testInput(state, subject),
    (result) => ({ type: 'tested', on: subject, result }),
  );
}

function commit(run: StepRun, input: ReturnType<typeof inputs.commitInput>): Promise<void> {
  const summary = input.message.split('\n')[0] ?? '';
  const runsCommands = run.state.base.ready?.runsHooks === true;
  return run.call('commit', { summary, runsCommands }, input, (result) => ({
    type: 'committed',
    result,
  }));
}

/** Ends the run. The outputs that the host keeps for its commands are removed. */
async function end(run: StepRun): Promise<void> {
  run.dispatch({ type: 'finished' });
  const { tests, openOnHost } = run.state;
  if (openOnHost !== null || !tests.keepsOutputs) return;
  const remove = run.calls('removeLayers', 'remove the outputs of its tests');
  // Outputs that remain are removed with those of other runs that have ended.
  await CancellationScope.nonCancellable(() =>
    remove({ stepKey: run.state.input.stepKey, log: [] }),
  ).catch(() => undefined);
}
