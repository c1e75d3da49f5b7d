/** Names and places of a plan's files. All paths are relative to the folder with the plan, and their separator is `/`. */
import type { PartHeading } from './types.js';

const PLAN_SLUG_CHARS = 60; // bound: Characters of a file name that is made from the name of a phase or stage.

/** The place of a plan `010_demo`: the file `010_demo.md`, or the folder `010_demo/` with `010_demo/010_demo.md`. */
export interface PlanPlace {
  readonly stem: string;
  readonly inFolder: boolean;
}

export const mainFile = ({ stem, inFolder }: PlanPlace): string =>
  inFolder ? `${stem}/${stem}.md` : `${stem}.md`;

/** Returns a name as part of a file name: `Core Logic!` becomes `core_logic`. The result is empty if no character of the name is usable. */
function slugOf(name: string): string {
  const plain = name.normalize('NFKD').replace(/\p{M}/gu, '').toLowerCase();
  const words = plain.replace(/[^a-z0-9]+/g, '_').replace(/^_+|_+$/g, '');
  return words.slice(0, PLAN_SLUG_CHARS).replace(/_+$/, '');
}

/** Returns the name of a part's file without its extension: `phase_2_core_logic` or `stage_1_database`. */
export const partStem = ({
  kind,
  number,
  name,
}: Pick<PartHeading, 'kind' | 'number' | 'name'>): string =>
  [kind, String(number), slugOf(name)].filter((word) => word !== '').join('_');

export const overviewFile = (phase: number): string => `phase_${phase}_overview.md`;

export const folderOf = (path: string): string => path.slice(0, Math.max(0, path.lastIndexOf('/')));

export const baseOf = (path: string): string => path.slice(path.lastIndexOf('/') + 1);

/**
 * Returns the path to which a relative link in a file of `folder` leads, without its query and anchor. Returns null if it leads to another site,
 * to an absolute path, or above the folder with the plan.
 */
export function resolveLink(folder: string, target: string): string | null {
  const bare = target.replace(/[?#].*$/s, '');
  if (/^[a-z][a-z0-9+.-]*:|^[/\\]/i.test(bare)) return null;
  const parts = folder === '' ? [] : folder.split('/');
  for (const part of decodeLink(bare).split('/')) {
    if (part === '' || part === '.') continue;
    if (part !== '..') parts.push(part);
    else if (parts.pop() === undefined) return null;
  }
  return parts.join('/');
}

/** Decodes the percent signs of a link. Text that is not encoded correctly stays unchanged. */
export function decodeLink(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
