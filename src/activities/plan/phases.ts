/** Worktrees of phases that run side by side, and the merges of their branches (src/workspace/git/worktrees.ts, merge.ts). */
import type { PrepareWorktreeInput, PrepareWorktreeResult } from '../../shared/plan-activities.js';
import type { Activity, ActivityScope } from '../frame/activity.js';
import type { ActivityPorts } from '../frame/ports.js';
import type { ProjectConfig } from '../../documents/job/index.js';
import { STORE_BOUNDS } from '../../shared/bounds.js';
import { fail, ProblemError } from '../../shared/problems.js';
import { planOf, shownKey } from '../../shared/ids.js';
import { noSandboxFor } from '../step/sandbox.js';
import { projectConfig, settingsIn } from '../step/snapshot.js';

const CHECKPOINT_DIGITS = 6; // bound: Digits in the names of checkpoints.

/** Made from HEAD as it is then; a retry finds the one that was begun. */
async function readyWorktree(
  ports: ActivityPorts,
  input: Omit<PrepareWorktreeInput, 'planPath' | 'settings'> & { readonly again?: boolean },
  { worktree, env, sandbox }: ProjectConfig,
  { signal, assertCurrent }: ActivityScope,
): Promise<PrepareWorktreeResult> {
  const { stepKey, workspace, name, base: before, timeout_s, maxOutput_bytes } = input;
  const { worktrees } = ports.repository;
  const base =
    before ??
    (await ports.repository.head(workspace))?.head ??
    fail('not_a_repository', `${workspace} has no commit.`);
  const again = input.again ?? false;
  const made = await worktrees.make(
    { plan: stepKey, name, workspace, base, again },
    { signal, assertCurrent },
  );
  // An attempt that stood still says nothing of the worktree.
  if (!made.ok && made.problem.code === 'busy') throw new ProblemError(made.problem);
  if (!made.ok) return { outcome: 'failed', why: made.problem.message };
  const command = worktree?.setup;
  const ready = {
    outcome: 'ready',
    workspace: made.value.workspace,
    base: made.value.base,
  } as const;
  if (command === undefined) return ready;
  assertCurrent();
  const none = sandbox === 'off' ? null : await ports.commands.withoutSandbox();
  if (none !== null) return { outcome: 'failed', why: noSandboxFor('worktree.setup', none) };
  const how = {
    command,
    env,
    timeout_s,
    maxOutput_bytes,
    commands: ports.commands,
    sandbox,
    signal,
  };
  const set = await worktrees.setUp(made.value, how);
  if (set.outcome === 'ready') return ready;
  return {
    outcome: 'failed',
    why: `worktree.setup (${command}): ${set.how}: ${set.output.slice(-500)}`,
  };
}

export const prepareWorktree: Activity<'prepareWorktree'> = async (ports, input, scope) => {
  const { repository, workspace } = input;
  // Each host makes the checkouts that it needs.
  if (repository !== undefined) {
    const base =
      input.base ??
      (await ports.repository.head(workspace))?.head ??
      fail('internal', 'a checkout of nothing');
    return { outcome: 'ready', workspace, base };
  }
  const config = await projectConfig(ports, workspace, settingsIn(input));
  return readyWorktree(ports, { ...input, again: input.base !== undefined }, config, scope);
};

export const removeWorktree: Activity<'removeWorktree'> = async (ports, { stepKey, name }) => {
  const removed = await ports.repository.worktrees.remove(planOf(stepKey), name);
  return { dropped: removed?.dropped ?? null, kept: removed?.kept ?? null };
};

export const mergePhase: Activity<'mergePhase'> = async (ports, input, { assertCurrent }) => {
  const { workspace, phase, commit, base, planPath, workflowId, namespace } = input;
  const { sign } = await projectConfig(ports, workspace);
  for (let number = 1; number < STORE_BOUNDS.markTries; number++) {
    const stepKey = `${input.stepKey}-${phase.id}-g${input.run}${number}`;
    const message = `Merge Phase ${phase.number}: ${phase.name}\n\nPlan ${planPath}.`;
    const request = {
      stepKey,
      workspace,
      theirs: commit,
      base,
      message,
      holder: { workflowId, namespace },
      sign,
    };
    const merged = await ports.repository.merge(request, assertCurrent);
    switch (merged.outcome) {
      case 'merged':
        return { outcome: 'merged', commit: merged.commit };
      case 'nothing':
        return { outcome: 'merged', commit: null };
      case 'busy':
        return { outcome: 'busy', holder: shownKey(merged.holder.stepKey) };
      case 'conflict':
        return { outcome: 'conflict', files: merged.files.map(({ path }) => path) };
      case 'dirty':
        return {
          outcome: 'failed',
          why: merged.files.map(({ path, why }) => `${path}: ${why}`).join('; '),
        };
      case 'failed':
        // An attempt that stood still is no failure of the merge, and a lock may be gone: the next one tries again.
        if (merged.problem.code === 'busy') throw new ProblemError(merged.problem);
        return { outcome: 'failed', why: merged.problem.message };
      // Somebody moved the branch meanwhile: a merge of its own into what is there now.
      case 'moved':
    }
  }
  return { outcome: 'failed', why: 'the branch kept moving' };
};

// Step 6: the checkpoint, a file in the archive that is written once under its number.

export const saveCheckpoint: Activity<'saveCheckpoint'> = async (
  { archive },
  { stepKey, number, checkpoint },
) => {
  const name = `checkpoint-${String(number).padStart(CHECKPOINT_DIGITS, '0')}`;
  return { path: (await archive.putFile(stepKey, name, checkpoint)).path };
};

// Waits for a phase's run that was started by an earlier run of the plan's workflow.

export const awaitChild: Activity<'awaitChild'> = async (
  { endOf, timings },
  { child },
  { signal },
) =>
  // Well within the activity's own time; it is asked again while the run is open.
  endOf(child, timings.hostActivityTimeout_ms / 2, signal);
