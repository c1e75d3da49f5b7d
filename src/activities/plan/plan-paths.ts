/** Where a plan's files are in the workspace. */
import { join, relative, sep } from 'node:path';
import type { ReadPlan } from '../../plan-files/read.js';

/** A path of the plan, which is relative to the folder that the plan lies in, as one of the workspace. */
export const inWorkspace = ({ base }: Pick<ReadPlan, 'base'>, workspace: string, path: string): string =>
  relative(workspace, join(base, path)).split(sep).join('/');

export const pathsOfPlan = (plan: ReadPlan, workspace: string): readonly string[] =>
  [...plan.tree.files.keys()].map((path) => inWorkspace(plan, workspace, path));
