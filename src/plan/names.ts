/** Names and places of a plan's files. All paths are relative to the folder that the plan lies in, with `/`. */
import { BOUNDS } from '../shared/limits.js';
import type { PartHeading } from './types.js';

/** A plan `010_demo`: the file `010_demo.md`, or the folder `010_demo/` with `010_demo/010_demo.md`. */
export interface PlanPlace {
  readonly stem: string;
  readonly inFolder: boolean;
}

export const mainFile = ({ stem, inFolder }: PlanPlace): string => (inFolder ? `${stem}/${stem}.md` : `${stem}.md`);
/** Where phase files lie, whether or not the folder is there yet. */
export const planFolder = ({ stem }: PlanPlace): string => stem;

/** `010` of `010_demo`, or null. */
export const planNumber = (stem: string): string | null => /^(\d+)_/.exec(stem)?.[1] ?? null;

/** `core_logic` of `Core Logic!`; '' where nothing of the name can stand in a file name. */
function slugOf(name: string): string {
  const plain = name.normalize('NFKD').replace(/\p{M}/gu, '').toLowerCase();
  const words = plain.replace(/[^a-z0-9]+/g, '_').replace(/^_+|_+$/g, '');
  return words.slice(0, BOUNDS.planSlug_chars).replace(/_+$/, '');
}

/** `phase_2_core_logic` or `stage_1_database`; markers are no part of it. */
export const partStem = ({ kind, number, name }: Pick<PartHeading, 'kind' | 'number' | 'name'>): string =>
  [kind, String(number), slugOf(name)].filter((word) => word !== '').join('_');

export const overviewFile = (phase: number): string => `phase_${phase}_overview.md`;

export const folderOf = (path: string): string => path.slice(0, Math.max(0, path.lastIndexOf('/')));
export const baseOf = (path: string): string => path.slice(path.lastIndexOf('/') + 1);

/**
 * Where a relative link in a file of `folder` leads, without `#` and `?` and percent signs; null where it leads to another site, to
 * an absolute path or above the folder that the plan lies in.
 */
export function resolveLink(folder: string, target: string): string | null {
  const bare = target.replace(/[?#].*$/s, '');
  if (/^[a-z][a-z0-9+.-]*:|^[/\\]/i.test(bare)) return null;
  const parts = folder === '' ? [] : folder.split('/');
  for (const part of decoded(bare).split('/')) {
    if (part === '' || part === '.') continue;
    if (part !== '..') parts.push(part);
    else if (parts.pop() === undefined) return null;
  }
  return parts.join('/');
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
