/** Writes into a plan what became of a phase: its tasks, the marker of its heading, the progress section. Only what changes is spliced. */
import { withSection } from './history.js';
import { chosenBy, movePart } from './parts.js';
import { Edits, treeOf, type Changed } from './change.js';
import {
  fileOfPart,
  findPhase,
  mainFile,
  isExpanded,
  textOf,
  type PartNode,
  type PlanTree,
} from './tree.js';
import { parsePlan } from './parse.js';
import { lineIndex, splice, type Marker, type TextSplice, type Span, type Task } from './types.js';
import type { Thresholds } from './score.js';
import { addMarker, removeMarker } from './reading.js';

export interface PhaseMark {
  readonly marker: Extract<Marker, 'COMPLETED' | 'INCOMPLETE' | 'SKIPPED'>;
  /** Texts of tasks that stay open, of a phase that is incomplete only for them; absent: all are done, or none is known to be. */
  readonly open?: ReadonlySet<string>;
  /** The lines of the progress section: `**Name**: value`, in order; null takes the line away. */
  readonly progress: readonly (readonly [name: string, value: string | null])[];
}

const OUTCOMES = ['COMPLETED', 'INCOMPLETE', 'SKIPPED'] as const;

/**
 * Ticks every task of a completed phase (those of its stages too), of one that left some open the others, sets the marker, updates the section `## Implementation Progress`,
 * and brings a small completed phase's file back into the plan.
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
  const changed = edits.made(tree);
  const main = mainFile(tree.place);
  changed.files.set(main, withProgress(changed.files.get(main) ?? '', main, mark.progress));
  // What has no file of its own has nothing to bring back, and the plan need not be read again for it.
  return isExpanded(node) ? collapsed(changed, heading.number, values) : changed;
}

/** The phase is to be done again: its tasks are open, and no marker says how it ended. Null: the plan has no such phase. */
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
    edits.add(fileOfPart(part), ...done.map((task) => ticked(task, ' ')));
  }
  const { files } = edits.made(tree);
  if (tree.main.progress === null) return files;
  const main = mainFile(tree.place);
  return files.set(main, withProgress(files.get(main) ?? '', main, progress));
}

const ticked = ({ mark }: Task, text: 'x' | ' '): TextSplice => ({
  from: mark,
  to: mark + 1,
  text,
});

function tick(node: PartNode, left: ReadonlySet<string>, edits: Edits): void {
  const open = textOf(node).tasks.filter(({ done, text }) => !done && !left.has(text));
  edits.add(fileOfPart(node), ...open.map((task) => ticked(task, 'x')));
  for (const stage of node.stages.filter(isExpanded)) tick(stage, left, edits);
}

const PROGRESS = 'Implementation Progress';

/** Lines of the section that have the same field are replaced, others added; a person's lines stay. Without the section it is made at the end. */
function withProgress(source: string, file: string, lines: PhaseMark['progress']): string {
  const document = parsePlan(source, file);
  const { progress, fields, eol } = document;
  const written = lines.map(([name, value]) => (value === null ? null : `**${name}**: ${value}`));
  if (progress === null)
    return withSection(document, PROGRESS, written.filter((text) => text !== null).join(eol) + eol);
  const { starts, lineOf } = lineIndex(source);
  // Their first lines: what follows on the next line is a person's.
  const own = fields
    .filter(({ from }) => from >= progress.from && from < progress.to)
    .map(({ name, from }) => ({
      name,
      from,
      to: from + (/^[^\r\n]*/.exec(source.slice(from)) ?? [''])[0].length,
    }));
  const splices: TextSplice[] = [];
  let after = starts[lineOf(progress.from)] ?? source.length;
  const fresh: string[] = [];
  lines.forEach(([name], index) => {
    const text = written[index] ?? null;
    const field = own.find((each) => each.name === name);
    if (text === null) {
      if (field !== undefined)
        splices.push({ from: field.from, to: starts[lineOf(field.to)] ?? source.length, text: '' });
    } else if (field === undefined) fresh.push(text);
    else {
      splices.push({ from: field.from, to: field.to, text });
      after = Math.max(after, field.to);
    }
  });
  if (fresh.length > 0) {
    const text = own.length === 0 ? `${eol}${fresh.join(eol)}${eol}` : `${eol}${fresh.join(eol)}`;
    splices.push({ from: after, to: after, text });
  }
  return splice(source, splices);
}

/** A completed phase that is small comes back into the plan; where that is refused (a person's text is in the way) it stays out. */
function collapsed(changed: Changed, phase: number, values: Thresholds): Changed {
  let last = changed;
  for (const kind of ['stage', 'phase'] as const)
    for (const chosen of chosenBy(treeOf(last), 'collapse', kind, values).filter(
      (each) => each.phase === phase,
    )) {
      const next = movePart(treeOf(last), 'collapse', chosen, values);
      if (next.ok) last = next;
    }
  return last;
}

/** The task of that number among those that were asked for, as it is now: by its words; of several with the same the nth is the nth. */
export const taskNow = <T extends Named>(
  asked: readonly Named[],
  now: readonly T[],
  task: number,
): T | undefined => {
  const isIt = ({ text }: Named): boolean => text === asked[task - 1]?.text;
  return now.filter(isIt)[asked.slice(0, task).filter(isIt).length - 1];
};
type Named = Pick<Task, 'text'>;

// Tasks as lines of a document: with what stands under them, added after the last, given another text.

/** For each task of a document: its line and those indented under it, up to the next task that is not deeper or to what is not indented as deep. */
export function linesOfTasks(source: string, tasks: readonly Task[]): (task: Task) => Span {
  const { starts } = lineIndex(source);
  const startOf = (line: number): number => starts[line - 1] ?? source.length;
  return (task) => {
    const from = startOf(task.line);
    const indent = indentOf(source, from);
    const isUnder = (line: number): boolean =>
      source.slice(startOf(line), startOf(line + 1)).trim() !== '' &&
      indentOf(source, startOf(line)) > indent &&
      !tasks.some((each) => each.line === line && each.depth <= task.depth);
    let next = task.line + 1;
    while (isUnder(next)) next += 1;
    return { from, to: startOf(next) };
  };
}

/** The lines of a span as they stand in a list of their own: without the indentation of the first. */
export function taskLines(source: string, { from, to }: Span): readonly string[] {
  const indent = indentOf(source, from);
  const lines = source.slice(from, to).split(/\r\n|\n|\r/);
  if (lines.at(-1) === '') lines.pop();
  return lines.map((line) => line.slice(Math.min(indent, line.length - line.trimStart().length)));
}

/** The task's first line says something else; what stands under it stays. */
export function renameTask(source: string, { mark }: Task, text: string): TextSplice {
  const from = mark + 2;
  const rest = /^[^\r\n]*/.exec(source.slice(from))?.[0] ?? '';
  return { from, to: from + rest.trimEnd().length, text: ` ${text}` };
}

/** After the last task, written as that is; in a part without tasks behind its text. */
export function addTasks(
  source: string,
  {
    tasks,
    body,
    eol,
  }: { readonly tasks: readonly Task[]; readonly body: Span; readonly eol: string },
  added: readonly string[],
): TextSplice {
  const least = Math.min(...tasks.map(({ depth }) => depth));
  const top = tasks.filter(({ depth }) => depth === least);
  const last = top.at(-1);
  if (last === undefined) {
    const words = source.slice(body.from, body.to).trimEnd().length;
    const at = body.from + words;
    const lines = added.map((text) => `- [ ] ${text}`).join(eol);
    return {
      from: at,
      to: at,
      text: `${words === 0 ? '' : eol + eol}${lines}${at === source.length || words === 0 ? eol : ''}`,
    };
  }
  const { from, to } = linesOfTasks(source, tasks)(last);
  const before = source.slice(from, last.mark - 1);
  const bullet = /^(\s*)\d+([.)])\s*$/.test(before)
    ? numbered(before, added.length)
    : added.map(() => before);
  const lines = added.map((text, index) => `${bullet[index] ?? before}[ ] ${text}`).join(eol);
  const ended = /[\r\n]$/.test(source.slice(0, to));
  return { from: to, to, text: ended ? lines + eol : eol + lines };
}

function numbered(before: string, count: number): readonly string[] {
  const [, indent = '', digits = '1', sign = '.', blank = ' '] =
    /^(\s*)(\d+)([.)])(\s*)$/.exec(before) ?? [];
  return Array.from(
    { length: count },
    (_, index) => `${indent}${Number(digits) + index + 1}${sign}${blank}`,
  );
}

const indentOf = (source: string, lineStart: number): number =>
  (/^[ \t]*/.exec(source.slice(lineStart)) ?? [''])[0].length;
