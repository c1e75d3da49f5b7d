/** Reads a plan from the texts of its files, for a thread that cannot read files itself. Pure. */
import { posix } from 'node:path';
import { readTree, type PlanTree, type ReadFile } from './plan-tree.js';
import type { PlanPlace } from './plan-paths.js';

export interface PlanTexts {
  readonly place: PlanPlace;
  /** Absolute path of the folder with the plan. */
  readonly base: string;
  /** Directory to which the file names in faults are relative. */
  readonly cwd: string;
  /** Loaded files by their path relative to `base`. */
  readonly files: ReadonlyMap<string, ReturnType<ReadFile>>;
}

export interface ParsedTexts {
  /** The plan. It is complete only if no file is missing. */
  readonly tree: PlanTree;
  /** Paths of files that the plan refers to and that are not loaded yet. */
  readonly missing: readonly string[];
}

/** Reads a plan. The caller loads the missing files and calls again until none is missing. */
export function parseTexts({ place, base, cwd, files }: PlanTexts): ParsedTexts {
  const missing: string[] = [];
  const read: ReadFile = (path) => {
    const file = files.get(path);
    if (file === undefined) missing.push(path);
    return file ?? { reason: 'it is not loaded yet' };
  };
  const show = (path: string): string => posix.relative(cwd, posix.join(base, path)) || path;
  return { tree: readTree(place, read, show), missing };
}
