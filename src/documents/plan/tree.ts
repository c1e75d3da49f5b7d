/** A plan with its phase and stage files: which parts are expanded, where their text is, and every fault in the whole. */

import {
  type PartHeading,
  within,
  type Fault,
  type Field,
  type Part,
  type PlanDocument,
  type Span,
} from './types.js';
import { parsePlan, readPartFile, type PartFile } from './parse.js';
import { fieldOf } from './reading.js';

const PLAN_SLUG_CHARS = 60; // bound: File names made from the names of phases and stages.

// Names and places of a plan's files. All paths are relative to the folder that the plan lies in, with `/`.

/** A plan `010_demo`: the file `010_demo.md`, or the folder `010_demo/` with `010_demo/010_demo.md`. */
export interface PlanPlace {
  readonly stem: string;
  readonly inFolder: boolean;
}

export const mainFile = ({ stem, inFolder }: PlanPlace): string =>
  inFolder ? `${stem}/${stem}.md` : `${stem}.md`;

/** `core_logic` of `Core Logic!`; '' where nothing of the name can stand in a file name. */
function slugOf(name: string): string {
  const plain = name.normalize('NFKD').replace(/\p{M}/gu, '').toLowerCase();
  const words = plain.replace(/[^a-z0-9]+/g, '_').replace(/^_+|_+$/g, '');
  return words.slice(0, PLAN_SLUG_CHARS).replace(/_+$/, '');
}

/** `phase_2_core_logic` or `stage_1_database`; markers are no part of it. */
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

export function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

export interface PartNode {
  /** In the document that holds its heading. */
  readonly part: Part;
  /** The file with that heading. */
  readonly home: string;
  /** That file's text, and what is code or comment in it. */
  readonly source: string;
  readonly opaque: readonly Span[];
  /** Its own file, read; null where it is not expanded, or the file cannot be read. */
  readonly file: PartFile | null;
  readonly stages: readonly PartNode[];
}
export interface PlanTree {
  readonly place: PlanPlace;
  readonly main: PlanDocument;
  readonly phases: readonly PartNode[];
  /** Every file that was read, by path. */
  readonly files: ReadonlyMap<string, string>;
  readonly faults: readonly Fault[];
  readonly notes: readonly Fault[];
}
/** The text of a file, or why there is none; paths are relative to the folder that the plan lies in. */
export type ReadFile = (path: string) => { readonly text: string } | { readonly why: string };

export const isExpanded = ({ part }: PartNode): boolean =>
  part.heading.markers.includes('EXPANDED');
/** What is said of the part, wherever its text is. */
export const textOf = ({ part, file }: PartNode): Part | PartFile => file ?? part;

type Holder = Pick<PlanDocument, 'source' | 'opaque' | 'fields'>;

/** `show` turns a path into how a person is told of it. */
export function readTree(
  place: PlanPlace,
  read: ReadFile,
  show: (path: string) => string,
): PlanTree {
  const files = new Map<string, string>();
  const faults: Fault[] = [];
  const notes: Fault[] = [];
  const path = mainFile(place);
  const found = read(path);
  if (!('text' in found)) faults.push({ file: show(path), line: 1, message: found.why });
  const main = parsePlan('text' in found ? found.text : '', show(path));
  if ('text' in found) {
    files.set(path, found.text);
    faults.push(...main.faults);
    notes.push(...main.notes);
  }
  const load = (part: Part, home: string, holder: Holder): PartNode => {
    const file = loadFile(part, home, holder.fields);
    const stages = (file ?? part).stages.map((stage) =>
      load(stage, file?.path ?? home, file ?? holder),
    );
    return { part, home, source: holder.source, opaque: holder.opaque, file, stages };
  };
  const loadFile = (part: Part, home: string, fields: readonly Field[]): PartFile | null => {
    if (!part.heading.markers.includes('EXPANDED')) return null;
    const at = seeOf(part, home, fields, place.stem);
    if ('message' in at) {
      faults.push({ file: show(home), ...at });
      return null;
    }
    // One that leads back to where it came from would be read for ever.
    if (files.has(at.path)) {
      const message = `**See**: expected a separate file, but ${show(at.path)} already belongs to another part`;
      faults.push({ file: show(home), line: at.line, message });
      return null;
    }
    const got = read(at.path);
    if (!('text' in got)) {
      faults.push({ file: show(home), line: at.line, message: got.why });
      return null;
    }
    files.set(at.path, got.text);
    const file = readPartFile(got.text, at.path, show(at.path), part.heading);
    faults.push(...file.faults);
    notes.push(...file.notes);
    return file;
  };
  const phases = main.phases.map((phase) => load(phase, path, main));
  if (main.counter !== null && main.counter.value !== phases.filter(isExpanded).length)
    notes.push({
      file: show(path),
      line: main.counter.line,
      message: `expanded_phases is ${main.counter.value}, but ${phases.filter(isExpanded).length} are expanded`,
    });
  return { place, main, phases, files, faults, notes };
}

/** Where `**See**` of an expanded part leads. */
function seeOf(
  part: Part,
  home: string,
  fields: readonly Field[],
  folder: string,
):
  | { readonly path: string; readonly line: number }
  | { readonly message: string; readonly line: number } {
  const see = fieldOf(within(fields, part.body), 'See');
  const target = /^\[[^\]]*\]\(<?([^)>]*)>?\)/.exec(see?.value ?? '')?.[1];
  if (see === undefined || target === undefined)
    return {
      line: see?.line ?? part.heading.line,
      message: `expected \`**See**: [file](file)\` under a heading that is [EXPANDED], received ${see === undefined ? 'none' : JSON.stringify(see.value.slice(0, 80))}`,
    };
  const path = resolveLink(folderOf(home), target);
  if (path?.startsWith(`${folder}/`) !== true)
    return {
      line: see.line,
      message: `**See**: expected a file in the plan's folder ${folder}/, received ${JSON.stringify(target)}`,
    };
  return { line: see.line, path };
}

/** 0: one file; 1: a folder; 2: a folder in which a phase has a folder. */
export function levelOf({ place, phases }: PlanTree): 0 | 1 | 2 {
  if (!place.inFolder) return 0;
  return phases.some((phase) => isOverview(phase) || phase.stages.some(isExpanded)) ? 2 : 1;
}
export const isOverview = ({ part, file }: PartNode): boolean =>
  file !== null && baseOf(file.path) === overviewFile(part.heading.number);

export const phaseOf = ({ phases }: PlanTree, number: number): PartNode | undefined =>
  phases.find(({ part }) => part.heading.number === number);
/** The phase of that name, of several the one of that number; else that of the number, where it asks for the same `text`: it was renamed. */
export const findPhase = (
  tree: PlanTree,
  {
    name,
    number,
    text,
  }: Pick<PartHeading, 'name' | 'number'> & { readonly text?: string | undefined },
): PartNode | null => {
  const named = tree.phases.filter(({ part }) => part.heading.name === name);
  const renamed = phaseOf(tree, number);
  const isSame =
    renamed !== undefined && text !== undefined && unticked(fullText(renamed)) === unticked(text);
  return (
    named.find(({ part }) => part.heading.number === number) ??
    named[0] ??
    (isSame ? renamed : null)
  );
};
export const stageOf = ({ stages }: PartNode, number: number): PartNode | undefined =>
  stages.find(({ part }) => part.heading.number === number);
export const isPlanExpanded = ({ phases }: PlanTree): boolean => phases.some(isExpanded);
/** Numbers of the expanded ones, in the document's order. */
export const listExpanded = (nodes: readonly PartNode[]): readonly number[] =>
  nodes.filter(isExpanded).map(({ part }) => part.heading.number);
/** Its own text, and that of its expanded stages with their names. */
export function fullText(node: PartNode): string {
  const { body } = textOf(node);
  const own = (node.file?.source ?? node.source).slice(body.from, body.to).trim();
  const stages = node.stages.filter(isExpanded).map((stage) => {
    const { number, name } = stage.part.heading;
    return `#### Stage ${number}: ${name}\n\n${fullText(stage)}`;
  });
  return [own, ...stages].join('\n\n');
}
/** With every box open, and no blanks at the ends of lines: what is done of it, or a formatter takes away, makes it no other text. */
export const unticked = (text: string): string =>
  text
    .replace(/^([ \t]*(?:[-*+]|\d+[.)])[ \t]+)\[[^\]]\]/gm, '$1[ ]')
    .replace(/(?<![ \t])[ \t]+$/gm, '');

/** Its own file, or the one that holds it where it is not expanded. */
export const fileOfPart = ({ file, home }: PartNode): string => file?.path ?? home;
