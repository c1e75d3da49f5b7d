/** A replan of a phase: what a model proposes for it, and what that does to the plan's documents. */
import { readFiles } from './read-files.js';
import { readPlan } from './read-plan.js';
import { getJson, putJson } from '../../stores/ports.js';
import { refuseFaults } from '../../workspace/documents/index.js';
import * as plans from '../../documents/plan/index.js';
import type {
  ApplyReplanInput,
  PlanCallInput,
  ProposeReplanInput,
} from '../../shared/replan-activities.js';
import { fail, problemOn } from '../../shared/problems.js';
import type { Activity } from '../frame/activity.js';
import type { ActivityPorts } from '../frame/ports.js';
import { getText } from '../step/snapshot.js';
import { textsInWorkspace, writePlan, type PlanTexts } from './write-plan.js';
import type { BlobRef } from '../../shared/ids.js';
import type { ReplanMeasures } from '../../shared/plan.js';
import type { PhaseTexts, ReadPlanResult } from '../../shared/plan-activities.js';
import { buildReplanRequest, type RevisionContext } from '../../model/prompts/index.js';
import { hidesSecret } from '../../system/vault.js';
import { askForPlan, failuresShown, phaseAsked, type PlanCall } from './plan-call.js';

/** Asks a model for a replan of a phase, and checks its response. Another activity writes what it proposes. */
export const proposeReplan: Activity<'proposeReplan'> = async (ports, input, scope) => {
  const { others = [] } = input;
  const advised = await askForPlan(ports, input, await replanCall(ports, input), scope);
  if (!advised.ok) return { outcome: 'failed', ...advised.told };
  const { action, why: reason, phase: number } = advised.value;
  const other = others.find((phase) => phase.number === number);
  const replan = await putJson(ports.blobs, { ...advised.value });
  return {
    outcome: 'proposed',
    replan,
    action,
    phase: other?.id ?? input.phase.id,
    why: reason,
    usage: advised.usage,
  };
};

/** Returns the call: what the model is shown, and which responses can be used. */
async function replanCall(
  ports: ActivityPorts,
  input: ProposeReplanInput,
): Promise<PlanCall<plans.Replan>> {
  const { asked: phaseWords, phase } = await phaseAsked(ports, input);
  const tasks = phaseWords?.tasks ?? [];
  const failures = await failuresShown(ports, input.failures);
  const report = input.report === null ? '' : await getText(ports.blobs, input.report);
  const context: RevisionContext = {
    trigger: input.trigger,
    phase: phase.number,
    complexity_score: input.score,
    task_count: tasks.length,
    test_failures: failures.length,
    user_description: input.words,
  };
  // A phase with stages is not split (docs/decisions/0020): the model is not asked for what would be refused.
  const actions = (input.actions as readonly plans.ReplanAction[]).filter(
    (action) => action !== 'split_phase' || phaseWords?.stages !== true,
  );
  const { outline, others: named = [] } = input;
  const others = await othersShown(ports, input.texts, named);
  const numbers = [phase.number, ...named.map(({ number }) => number)];
  const shown = { context, actions, outline, failures, report, others };
  return {
    role: 'replan',
    phase,
    complexity: 'high',
    notes: JSON.stringify(shown),
    build: (model, outputBudget_tokens, refusal) =>
      buildReplanRequest({ model, outputBudget_tokens, refusal, phase, tasks, ...shown }),
    check: (value) => checkedReplan(value, actions, numbers),
  };
}

function checkedReplan(
  value: unknown,
  actions: readonly plans.ReplanAction[],
  numbers: readonly number[],
): ReturnType<PlanCall<plans.Replan>['check']> {
  if (hidesSecret(JSON.stringify(value)))
    return {
      ok: false,
      why: 'it repeats an EMEND_SECRET_…, but a plan must not contain secrets: leave it out',
    };
  const checked = plans.checkReplan(value, actions, numbers);
  return checked.ok ? { ok: true, value: checked.replan } : { ok: false, why: checked.reason };
}

/** Other phases that may be changed, with their tasks by number. */
async function othersShown(
  { blobs }: ActivityPorts,
  texts: BlobRef,
  named: readonly PlanCallInput['phase'][],
) {
  const { phases } = await getJson<PhaseTexts>(blobs, texts, 'phase texts');
  return named.map(({ id, number, name }) => ({ number, name, tasks: phases[id]?.tasks ?? [] }));
}

// Carries a replan out on the plan's documents: worked out and validated before anything is written, then all files or none, with the
// entry in the revision history, in a commit of its own.

export const applyReplan: Activity<'applyReplan'> = async (ports, input, scope) => {
  const { workspace, workflowId, namespace, phase, planPath, settings, marks } = input;
  const action = input.action as plans.ReplanAction;
  try {
    const written = await writePlan(
      ports,
      {
        workspace,
        workflowId,
        namespace,
        settings,
        marks,
        name: 'replan',
        comesTo: action,
        stepKey: `${input.stepKey}-${phase.id}-r${input.number}`,
        message: `Revise ${planPath}: ${action} of Phase ${phase.number} (${input.trigger})`,
      },
      () => changed(ports, input),
      scope,
    );
    if (written.outcome !== 'written') return { ...written };
    const { commit, marks: along } = written;
    return {
      outcome: 'replanned',
      action,
      ...(written.data as ReplanMeasures),
      commit,
      marks: along,
      plan: await readChanged(ports, input),
    };
  } catch (error) {
    return { outcome: 'refused', why: problemOn('plan_invalid')(error).message };
  }
};

/**
 * Returns the changed plan. Null: the run reads it itself. ◆ The plan is written by now, so a failure to read it must not make a failure of
 * that. The checkout of a run on a repository ends with its commit, so there is nothing to read here.
 */
async function readChanged(
  ports: ActivityPorts,
  { workspace, planPath, stepKey, log, settings, read, repository }: ApplyReplanInput,
): Promise<ReadPlanResult | null> {
  if (repository !== undefined) return null;
  const input = { workspace, planPath, stepKey, log, settings, ...read };
  return readPlan(ports, input).catch(() => null);
}

/** Throws ProblemError `plan_invalid` if the documents do not take it. */
async function changed(ports: ActivityPorts, input: ApplyReplanInput): Promise<PlanTexts> {
  const { planPath, phase, trigger, forced, why } = input;
  const root = await ports.workspace.root(input.workspace);
  const read = await readFiles(ports, root, planPath);
  const { tree } = read;
  const values = read.thresholds.values;
  refuseFaults(tree.faults);
  const texts = await getJson<PhaseTexts>(ports.blobs, input.texts, 'phase texts');
  const known = texts.phases[phase.id];
  const node = plans.findPhase(tree, { ...phase, text: known?.text });
  if (node === null)
    return fail(
      'plan_invalid',
      `${planPath}: Phase ${phase.number} (${phase.name}) no longer exists`,
    );
  const { number } = node.part.heading;
  const replan = { ...(await replanOf(ports, input)), phase: number };
  const change = plans.applyReplan(tree, replan, values, known?.tasks);
  refuseFaults(change.ok ? [] : change.faults);
  if (!change.ok) return fail('plan_invalid', `${planPath}: the replan does not fit`);
  const changedTree = plans.treeOf(change);
  const data: ReplanMeasures = plans.measureReplan(
    [tree, changedTree],
    number,
    replan.action,
    values,
  );
  const files = new Map(change.files);
  const main = plans.mainFile(change.place);
  const revision = {
    ...data,
    phase: number,
    trigger,
    action: replan.action,
    forced,
    reason: replan.why || why,
  };
  files.set(main, plans.withRevision(files.get(main) ?? '', revision, input.at));
  const after = plans.treeOf({ place: change.place, files });
  const [fault] = after.faults;
  if (fault !== undefined || after.phases.length !== changedTree.phases.length)
    return fail(
      'plan_invalid',
      `${planPath}: ${fault?.message ?? 'the revision history would change the phases'}`,
    );
  return {
    before: textsInWorkspace(read, root, tree),
    after: textsInWorkspace(read, root, { files }),
    data,
  };
}

async function replanOf({ blobs }: ActivityPorts, input: ApplyReplanInput): Promise<plans.Replan> {
  const { replan, action, why, phase } = input;
  const value: unknown =
    replan === null
      ? { action, phase: phase.number, why }
      : JSON.parse(await getText(blobs, replan));
  return plans.replanSchema.parse(value);
}
