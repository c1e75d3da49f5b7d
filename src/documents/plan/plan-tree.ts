/** Reads a plan with its phase and stage files. The tree shows which parts are expanded, in which file their text is, and all faults. */
import { parsePlan } from './parse-plan.js';
import { readPartFile, type PartFile } from './part-file.js';
import {
  baseOf,
  folderOf,
  mainFile,
  overviewFile,
  resolveLink,
  type PlanPlace,
} from './plan-paths.js';
import { fieldOf } from './fields.js';
import { within } from './text-spans.js';
import type { Fault, Field, Part, PartHeading, PlanDocument, Span } from './types.js';

export interface PartNode {
  /** The part in the document with its heading. */
  readonly part: Part;
  /** Path of the file with the heading. */
  readonly home: string;
  /** Text of that file. */
  readonly source: string;
  /** Code and comments in that text. */
  readonly opaque: readonly Span[];
  /** The part's own file. Null if the part is not expanded, or if the file cannot be read. */
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

/** Returns the text of a file, or the reason why it cannot be read. The path is relative to the folder with the plan. */
export type ReadFile = (path: string) => { readonly text: string } | { readonly reason: string };

export const isExpanded = ({ part }: PartNode): boolean =>
  part.heading.markers.includes('EXPANDED');

/** Returns the content of a part, which is in its own file or in the document with its heading. */
export const textOf = ({ part, file }: PartNode): Part | PartFile => file ?? part;

type Holder = Pick<PlanDocument, 'source' | 'opaque' | 'fields'>;

/** Reads a plan with all of its files. `show` returns the name of a path in messages. */
export function readTree(
  place: PlanPlace,
  read: ReadFile,
  show: (path: string) => string,
): PlanTree {
  const files = new Map<string, string>();
  const faults: Fault[] = [];
  const notes: Fault[] = [];
  const path = mainFile(place);
  const mainText = read(path);
  if (!('text' in mainText)) faults.push({ file: show(path), line: 1, message: mainText.reason });
  const main = parsePlan('text' in mainText ? mainText.text : '', show(path));
  if ('text' in mainText) {
    files.set(path, mainText.text);
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
    const see = seeOf(part, home, fields, place.stem);
    if ('message' in see) {
      faults.push({ file: show(home), ...see });
      return null;
    }
    // A link back to a file that was already read would make an endless loop.
    if (files.has(see.path)) {
      const message = `**See**: expected a separate file, but ${show(see.path)} already belongs to another part`;
      faults.push({ file: show(home), line: see.line, message });
      return null;
    }
    const partText = read(see.path);
    if (!('text' in partText)) {
      faults.push({ file: show(home), line: see.line, message: partText.reason });
      return null;
    }
    files.set(see.path, partText.text);
    const file = readPartFile(partText.text, see.path, show(see.path), part.heading);
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

/** Returns the path to which the field `**See**` of an expanded part leads, or a fault. */
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

/** Returns the level of a plan: 0 for one file, 1 for a folder, and 2 for a folder in which a phase also has a folder. */
export function levelOf({ place, phases }: PlanTree): 0 | 1 | 2 {
  if (!place.inFolder) return 0;
  return phases.some((phase) => isOverview(phase) || phase.stages.some(isExpanded)) ? 2 : 1;
}

export const isOverview = ({ part, file }: PartNode): boolean =>
  file !== null && baseOf(file.path) === overviewFile(part.heading.number);

export const phaseOf = ({ phases }: PlanTree, number: number): PartNode | undefined =>
  phases.find(({ part }) => part.heading.number === number);

/**
 * Finds a phase of an earlier version of the plan. The name decides, and the number decides between several phases of that name. If no phase has
 * the name, the phase with the number counts as renamed if its text is the same.
 */
export const findPhase = (
  tree: PlanTree,
  {
    name,
    number,
    text,
  }: Pick<PartHeading, 'name' | 'number'> & { readonly text?: string | undefined },
): PartNode | null => {
  const sameName = tree.phases.filter(({ part }) => part.heading.name === name);
  const sameNumber = phaseOf(tree, number);
  const isRenamed =
    sameNumber !== undefined && text !== undefined && untick(fullText(sameNumber)) === untick(text);
  return (
    sameName.find(({ part }) => part.heading.number === number) ??
    sameName[0] ??
    (isRenamed ? sameNumber : null)
  );
};

export const stageOf = ({ stages }: PartNode, number: number): PartNode | undefined =>
  stages.find(({ part }) => part.heading.number === number);

export const isPlanExpanded = ({ phases }: PlanTree): boolean => phases.some(isExpanded);

/** Returns the numbers of the expanded parts, in the order of the document. */
export const listExpanded = (nodes: readonly PartNode[]): readonly number[] =>
  nodes.filter(isExpanded).map(({ part }) => part.heading.number);

/** Returns the text of a part, followed by the texts of its expanded stages with their names. */
export function fullText(node: PartNode): string {
  const { body } = textOf(node);
  const own = (node.file?.source ?? node.source).slice(body.from, body.to).trim();
  const stages = node.stages.filter(isExpanded).map((stage) => {
    const { number, name } = stage.part.heading;
    return `#### Stage ${number}: ${name}\n\n${fullText(stage)}`;
  });
  return [own, ...stages].join('\n\n');
}

/** Returns the text with open checkboxes and without blanks at line ends. Ticking a task or running a formatter must not count as a change. */
export const untick = (text: string): string =>
  text
    .replace(/^([ \t]*(?:[-*+]|\d+[.)])[ \t]+)\[[^\]]\]/gm, '$1[ ]')
    .replace(/(?<![ \t])[ \t]+$/gm, '');

/** Returns the path of the file with the part's text: its own file, or the file with its heading if it is not expanded. */
export const fileOfPart = ({ file, home }: PartNode): string => file?.path ?? home;
