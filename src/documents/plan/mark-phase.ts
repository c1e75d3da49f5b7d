/** Writes the result of a phase into the plan: its tasks, the marker of its heading, and the progress section. All other text stays. */
import { Edits, treeOf, type Changed } from './change.js';
import { removeMarker, addMarker } from './headings.js';
import { withSection } from './revision-history.js';
import { parsePlan } from './parse-plan.js';
import { chooseParts, movePart } from './automatic-moves.js';
import { mainFile } from './plan-paths.js';
import { lineIndex, splice } from './text-spans.js';
import type { Thresholds } from './thresholds.js';
import {
  fileOfPart,
  findPhase,
  isExpanded,
  textOf,
  type PartNode,
  type PlanTree,
} from './plan-tree.js';
import type { Marker, Task, TextSplice } from './types.js';

export interface PhaseMark {
  readonly marker: Extract<Marker, 'COMPLETED' | 'INCOMPLETE' | 'SKIPPED'>;
  /**
   * Texts of the tasks that stay open, if the phase is incomplete only because of them. Without this set, a completed phase has no open task, and
   * the tasks of any other phase do not change.
   */
  readonly open?: ReadonlySet<string>;
  /** Fields of the progress section (`**Name**: value`), in order. A value of null removes the field. */
  readonly progress: readonly (readonly [name: string, value: string | null])[];
}

const OUTCOMES = ['COMPLETED', 'INCOMPLETE', 'SKIPPED'] as const;

/**
 * Marks a phase: ticks the tasks that are done, including those of its stages, sets the marker, and updates the section
 * `## Implementation Progress`. A small completed phase is also collapsed.
 */
export function markPhase(
  tree: PlanTree,
  node: PartNode,
  mark: PhaseMark,
  values: Thresholds,
): Changed {
  const edits = new Edits();
  if (mark.marker === 'COMPLETED' || mark.open !== undefined)
    tick(node, mark.open ?? new Set(), edits);
  const { heading } = node.part;
  for (const marker of OUTCOMES)
    if (marker !== mark.marker) edits.add(node.home, ...removeMarker(heading, marker));
  edits.add(node.home, ...addMarker(heading, mark.marker));
  const changed = edits.applyTo(tree);
  const main = mainFile(tree.place);
  changed.files.set(main, withProgress(changed.files.get(main) ?? '', main, mark.progress));
  // Only an expanded phase can be collapsed. For all others the plan need not be read again.
  return isExpanded(node) ? collapseIfSmall(changed, heading.number, values) : changed;
}

/** Prepares a phase for another run: opens its tasks and removes the marker of its result. Returns null if the plan has no such phase. */
export function unmarkPhase(
  tree: PlanTree,
  phase: Parameters<typeof findPhase>[1],
  progress: PhaseMark['progress'],
): ReadonlyMap<string, string> | null {
  const node = findPhase(tree, phase);
  if (node === null) return null;
  const edits = new Edits();
  edits.add(node.home, ...OUTCOMES.flatMap((marker) => removeMarker(node.part.heading, marker)));
  for (const part of [node, ...node.stages.filter(isExpanded)]) {
    const done = textOf(part).tasks.filter((task) => task.done);
    edits.add(fileOfPart(part), ...done.map((task) => checkboxSplice(task, ' ')));
  }
  const { files } = edits.applyTo(tree);
  if (tree.main.progress === null) return files;
  const main = mainFile(tree.place);
  return files.set(main, withProgress(files.get(main) ?? '', main, progress));
}

const checkboxSplice = ({ mark }: Task, text: 'x' | ' '): TextSplice => ({
  from: mark,
  to: mark + 1,
  text,
});

function tick(node: PartNode, openTexts: ReadonlySet<string>, edits: Edits): void {
  const doneTasks = textOf(node).tasks.filter(({ done, text }) => !done && !openTexts.has(text));
  edits.add(fileOfPart(node), ...doneTasks.map((task) => checkboxSplice(task, 'x')));
  for (const stage of node.stages.filter(isExpanded)) tick(stage, openTexts, edits);
}

const PROGRESS = 'Implementation Progress';

/**
 * Updates the fields of the progress section and adds missing ones. Your own lines in the section stay. If the document has no such section,
 * it is added at the end.
 */
function withProgress(source: string, file: string, lines: PhaseMark['progress']): string {
  const document = parsePlan(source, file);
  const { progress, fields, eol } = document;
  const texts = lines.map(([name, value]) => (value === null ? null : `**${name}**: ${value}`));
  if (progress === null)
    return withSection(document, PROGRESS, texts.filter((text) => text !== null).join(eol) + eol);
  const { starts, lineOf } = lineIndex(source);
  // Emend writes only the first line of a field, and the lines below it belong to you.
  const presentFields = fields
    .filter(({ from }) => from >= progress.from && from < progress.to)
    .map(({ name, from }) => ({
      name,
      from,
      to: from + (/^[^\r\n]*/.exec(source.slice(from)) ?? [''])[0].length,
    }));
  const splices: TextSplice[] = [];
  let after = starts[lineOf(progress.from)] ?? source.length;
  const newFields: string[] = [];
  lines.forEach(([name], index) => {
    const text = texts[index] ?? null;
    const field = presentFields.find((present) => present.name === name);
    if (text === null) {
      if (field !== undefined)
        splices.push({ from: field.from, to: starts[lineOf(field.to)] ?? source.length, text: '' });
    } else if (field === undefined) newFields.push(text);
    else {
      splices.push({ from: field.from, to: field.to, text });
      after = Math.max(after, field.to);
    }
  });
  if (newFields.length > 0) {
    const text =
      presentFields.length === 0
        ? `${eol}${newFields.join(eol)}${eol}`
        : `${eol}${newFields.join(eol)}`;
    splices.push({ from: after, to: after, text });
  }
  return splice(source, splices);
}

/** Collapses the phase if it is completed and small. If that is refused, for example because of a heading in its text, it stays expanded. */
function collapseIfSmall(changed: Changed, phase: number, values: Thresholds): Changed {
  let last = changed;
  for (const kind of ['stage', 'phase'] as const)
    for (const choice of chooseParts(treeOf(last), 'collapse', kind, values).filter(
      (candidate) => candidate.phase === phase,
    )) {
      const next = movePart(treeOf(last), 'collapse', choice, values);
      if (next.ok) last = next;
    }
  return last;
}
