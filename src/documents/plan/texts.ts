/** Reads a plan from the texts of its files, which were loaded before: for a thread that reads no files. Pure. */
import { posix } from 'node:path';
import { readTree, type PlanPlace, type PlanTree, type ReadFile } from './tree.js';

export interface PlanTexts {
  readonly place: PlanPlace;
  /** Absolute path of the folder that the plan is in. */
  readonly base: string;
  /** Faults name files relative to it. */
  readonly cwd: string;
  /** By path, relative to `base`. */
  readonly files: ReadonlyMap<string, ReturnType<ReadFile>>;
}

export interface ParsedTexts {
  /** Complete only if nothing is missing. */
  readonly tree: PlanTree;
  /** Paths of files that the texts lead to and that are not among them. */
  readonly missing: readonly string[];
}

export function parseTexts({ place, base, cwd, files }: PlanTexts): ParsedTexts {
  const missing: string[] = [];
  const read: ReadFile = (path) => {
    const file = files.get(path);
    if (file === undefined) missing.push(path);
    return file ?? { why: 'it is not loaded yet' };
  };
  const show = (path: string): string => posix.relative(cwd, posix.join(base, path)) || path;
  return { tree: readTree(place, read, show), missing };
}
