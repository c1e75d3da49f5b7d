/**
 * Carries a replan out on the plan's documents: worked out and validated before anything is written, then all files or none, with the
 * entry in the revision history, in a commit of its own.
 */
import { readPlan as readFiles } from '../../plan-files/read.js';
import { treeOf } from '../../plan/change.js';
import { findPhase } from '../../plan/mark.js';
import { mainFile } from '../../plan/names.js';
import { applyReplan as applyToTree } from '../../plan/replan.js';
import { replanSchema, type Replan } from '../../plan/replan-answer.js';
import { measured, withRevision, type Revision } from '../../plan/revisions.js';
import type { ReplanAction } from '../../plan/triggers.js';
import type { ApplyReplanInput, ApplyReplanResult } from '../../shared/plan/advice.js';
import { fail, ProblemError } from '../../shared/problems.js';
import type { ActivityScope } from '../boundary.js';
import type { ActivityDependencies } from '../dependencies.js';
import { getText } from '../snapshot.js';
import { inWorkspace } from './plan-paths.js';
import { writePlan, type PlanTexts } from './write-plan.js';

type Measures = Pick<Revision, 'oldStructure' | 'newStructure' | 'complexityBefore' | 'complexityAfter'>;

export const applyReplan =
  (dependencies: ActivityDependencies) =>
  async (input: ApplyReplanInput, scope: ActivityScope): Promise<ApplyReplanResult> => {
    const { workspace, workflowId, namespace, phase, planPath } = input;
    const action = input.action as ReplanAction;
    try {
      const written = await writePlan(
        dependencies,
        {
          ...{ workspace, workflowId, namespace, name: 'replan' },
          stepKey: `${input.stepKey}-${phase.id}-r${input.number}`,
          message: `Revise ${planPath}: ${action} of Phase ${phase.number} (${input.trigger})`,
        },
        () => changed(dependencies, input),
        scope,
      );
      if (written.outcome !== 'written') return { v: 1, ...written };
      return { v: 1, outcome: 'replanned', action, ...(written.data as Measures), commit: written.commit };
    } catch (error) {
      if (error instanceof ProblemError && error.problem.code === 'plan_invalid')
        return { v: 1, outcome: 'refused', why: error.problem.message };
      throw error;
    }
  };

/** Throws ProblemError `plan_invalid` where the documents do not take it. */
async function changed(dependencies: ActivityDependencies, input: ApplyReplanInput): Promise<PlanTexts> {
  const { workspace, planPath, phase, trigger, forced, why } = input;
  const read = await readFiles(workspace, planPath);
  const { tree } = read;
  const values = read.thresholds.values;
  const [broken] = tree.faults;
  if (broken !== undefined) return fail('plan_invalid', `${broken.file}:${broken.line}: ${broken.message}`);
  const node = findPhase(tree, phase);
  if (node === null)
    return fail('plan_invalid', `${planPath}: there is no Phase ${phase.number} (${phase.name}) any more`);
  const { number } = node.part.heading;
  const replan = { ...(await replanOf(dependencies, input)), phase: number };
  const change = applyToTree(tree, replan, values);
  if (!change.ok) {
    const [fault] = change.faults;
    return fail(
      'plan_invalid',
      `${fault?.file ?? planPath}:${fault?.line ?? 1}: ${fault?.message ?? 'the replan does not fit'}`,
    );
  }
  const data: Measures = measured(tree, treeOf(change), number, replan.action, values);
  const files = new Map(change.files);
  const main = mainFile(change.place);
  const revision: Revision = {
    ...data,
    phase: number,
    trigger,
    action: replan.action,
    forced,
    why: replan.why === '' ? why : replan.why,
  };
  files.set(main, withRevision(files.get(main) ?? '', revision, input.at));
  const after = treeOf({ place: change.place, files });
  const [fault] = after.faults;
  if (fault !== undefined || after.phases.length !== treeOf(change).phases.length)
    return fail('plan_invalid', `${planPath}: ${fault?.message ?? 'the revision history would change the phases'}`);
  const inside = (texts: ReadonlyMap<string, string>): Map<string, string> =>
    new Map([...texts].map(([path, text]) => [inWorkspace(read, workspace, path), text]));
  return { before: inside(tree.files), after: inside(files), data };
}

async function replanOf({ blobs }: ActivityDependencies, input: ApplyReplanInput): Promise<Replan> {
  const { replan, action, why, phase } = input;
  const value: unknown =
    replan === null ? { action, phase: phase.number, why } : JSON.parse(await getText(blobs, replan));
  return replanSchema.parse(value);
}
