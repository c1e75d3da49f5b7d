/**
 * Carries a checked replan out on a plan's documents: only what changes is spliced. A new phase gets the number after the highest, so that no
 * number, file name, link or dependency of another phase changes. Whoever has to wait for it gets its number into its own
 * `**Dependencies**` line; without such a line a phase waits for all before it, the new one too. Pure: files in, files out.
 */
import { Edits, refused, sameParts, treeOf, type Change } from './change.js';
import { collapsePhase } from './collapse.js';
import { expandPhase, expandStage } from './expand.js';
import { mainFile, isExpanded, phaseOf, textOf, type PartNode, type PlanTree } from './tree.js';
import { effectivePart, fileOfDependencies } from './report.js';
import type { Replan } from './replan-answer.js';
import { lineIndex, type Part, type Span, type Task } from './types.js';
import { addTasks, linesOfTasks, renameTask, taskLines, taskNow } from './mark.js';
import type { Thresholds } from './score.js';
import { chosenBy, isOver } from './parts.js';

type Of<A extends Replan['action']> = Extract<Replan, { action: A }>;

type Tasks = readonly Pick<Task, 'text'>[];

/** A refusal says why; then nothing is to be written. `asked`: the phase's tasks by the numbers that the replan has for them. */
export function applyReplan(
  tree: PlanTree,
  replan: Replan,
  values: Thresholds,
  asked?: Tasks,
): Change {
  const node = phaseOf(tree, replan.phase);
  if (node === undefined) return refused(tree.main.file, 1, `Phase ${replan.phase} does not exist`);
  const isDone = isOver(node);
  if (isDone && replan.action === 'add_phase')
    return othersSame(tree, replan.phase, addAfter(tree, node, replan), 1);
  if (isDone)
    return refused(
      tree.main.file,
      node.part.heading.line,
      `Phase ${replan.phase} is finished and cannot be replanned`,
    );
  switch (replan.action) {
    case 'expand_phase':
      return expandWhole(tree, replan.phase, values);
    case 'collapse_phase':
      return collapsePhase(tree, replan.phase);
    case 'add_phase':
      return othersSame(tree, replan.phase, addPhase(tree, node, replan), 1);
    case 'split_phase':
      return othersSame(
        tree,
        replan.phase,
        splitPhase(tree, node, replan, asked),
        replan.parts.length,
      );
    case 'update_tasks':
      return sameParts(tree, updateTasks(tree, node, replan, asked));
  }
}

/** The phase, and then the stages of an expanded phase that has too many of them. */
function expandWhole(tree: PlanTree, phase: number, values: Thresholds): Change {
  const stagesOf = (at: PlanTree) =>
    chosenBy(at, 'expand', 'stage', values).filter((each) => each.phase === phase);
  let change: Change =
    stagesOf(tree).length === 0 ? expandPhase(tree, phase, values) : { ok: true, ...tree };
  for (const { stage } of change.ok ? stagesOf(treeOf(change)) : [])
    if (change.ok && stage !== null) change = expandStage(treeOf(change), phase, stage);
  return change;
}

const highestOf = (tree: PlanTree): number =>
  Math.max(0, ...tree.phases.map(({ part }) => part.heading.number));

const dependenciesOf = (node: PartNode): Part['dependencies'] => effectivePart(node).dependencies;

/** Where there is a line, its value is written anew with one number more in it. */
function addDependency(tree: PlanTree, node: PartNode, edits: Edits, more: number): void {
  const found = dependenciesOf(node);
  if (found === null) return;
  const path = fileOfDependencies(node);
  const source = tree.files.get(path) ?? '';
  const from = lineIndex(source).starts[found.line - 1] ?? source.length;
  const written = /^[^\r\n]*/.exec(source.slice(from))?.[0] ?? '';
  const value = /(?::\*\*|\*\*[ \t]*:)[ \t]*/.exec(written);
  const at = from + (value === null ? written.length : value.index + value[0].length);
  const text = `[${[...new Set([...found.on, more])].join(', ')}]`;
  edits.add(path, { from: at, to: from + written.length, text });
}

interface NewPhase {
  readonly number: number;
  readonly name: string;
  readonly objective: string;
  /** Null: no line. */
  readonly on: readonly number[] | null;
  /** Lines of tasks, as they are to stand there. */
  readonly tasks: readonly string[];
}

const phaseText = (
  tree: PlanTree,
  level: number,
  { number, name, objective, on, tasks }: NewPhase,
): string =>
  [
    `${'#'.repeat(level)} Phase ${number}: ${name}`,
    `**Objective**: ${objective}`,
    ...(on === null ? [] : [`**Dependencies**: [${on.join(', ')}]`]),
    '',
    ...tasks,
    '',
    '',
  ].join(tree.main.eol);

function addPhase(
  tree: PlanTree,
  node: PartNode,
  { name, objective, tasks }: Of<'add_phase'>,
): Change {
  const edits = new Edits();
  const number = highestOf(tree) + 1;
  const { heading } = node.part;
  // It takes over what the phase waits for; the phase waits for it as well.
  const text = phaseText(tree, heading.level, {
    number,
    name,
    objective,
    on: dependenciesOf(node)?.on ?? null,
    tasks: tasks.map((task) => `- [ ] ${task}`),
  });
  edits.add(mainFile(tree.place), { from: heading.from, to: heading.from, text });
  addDependency(tree, node, edits, number);
  return edits.made(tree);
}

/** What is done waits for nothing any more: the new phase comes after it. */
function addAfter(
  tree: PlanTree,
  node: PartNode,
  { phase, name, objective, tasks }: Of<'add_phase'>,
): Change {
  const edits = new Edits();
  const on = dependenciesOf(node) === null ? null : [phase];
  const lines = tasks.map((task) => `- [ ] ${task}`);
  const text = { number: highestOf(tree) + 1, name, objective, on, tasks: lines };
  putAfter(tree, node, edits, phaseText(tree, node.part.heading.level, text));
  return edits.made(tree);
}

function putAfter(tree: PlanTree, { part: { body } }: PartNode, edits: Edits, text: string): void {
  const main = tree.main.source;
  const { eol } = tree.main;
  const isLast = body.to === main.length && !/(?:\r\n|\n|\r)[ \t]*(?:\r\n|\n|\r)$/.test(main);
  const before = isLast ? eol.repeat(/[\r\n]$/.test(main) ? 1 : 2) : '';
  edits.add(mainFile(tree.place), { from: body.to, to: body.to, text: before + text });
}

function splitPhase(
  tree: PlanTree,
  node: PartNode,
  { phase, parts }: Of<'split_phase'>,
  asked?: Tasks,
): Change {
  const { heading } = node.part;
  if (textOf(node).stages.length > 0)
    return refused(node.home, heading.line, `Phase ${phase} has stages and cannot be split`);
  const path = node.file?.path ?? node.home;
  const source = tree.files.get(path) ?? '';
  const { tasks } = textOf(node);
  const wanted = parts.flatMap((part) => part.tasks);
  const { of, unfit } = numbered(tasks, asked, wanted);
  if (unfit !== undefined) return refused(path, heading.line, unfitText(unfit, phase));
  const linesOf = linesOfTasks(source, tasks);
  const moves = parts.map((part) => outermost(part.tasks.flatMap(of).map(linesOf)));
  if (outermost(moves.flat()).length < moves.flat().length)
    return refused(path, heading.line, 'a task and one under it would go to different phases');
  if (tasks.every((task) => holds(moves.flat(), task)))
    return refused(path, heading.line, 'expected at least one task to remain in the phase');
  const first = highestOf(tree) + 1;
  const edits = new Edits();
  const declared = dependenciesOf(node) !== null;
  const texts = parts.map((part, index) => {
    const moved = moves[index] ?? [];
    edits.add(path, ...moved.map(({ from, to }) => ({ from, to, text: '' })));
    const lines = moved.flatMap((span) => taskLines(source, span));
    // One after the other: each may need what the one before it made.
    const on = declared ? [index === 0 ? phase : first + index - 1] : null;
    return phaseText(tree, heading.level, { ...part, number: first + index, on, tasks: lines });
  });
  putAfter(tree, node, edits, texts.join(''));
  // Whoever waits for the phase waits for the last of its parts.
  for (const other of tree.phases) {
    if (other === node || dependenciesOf(other)?.on.includes(phase) !== true) continue;
    addDependency(tree, other, edits, first + parts.length - 1);
  }
  return edits.made(tree);
}

function updateTasks(
  tree: PlanTree,
  node: PartNode,
  { add, change, remove, phase }: Of<'update_tasks'>,
  asked?: Tasks,
): Change {
  const path = node.file?.path ?? node.home;
  const source = tree.files.get(path) ?? '';
  const { tasks, body } = textOf(node);
  const { line } = node.part.heading;
  const named = [...change.map(({ task }) => task), ...remove];
  const { of, unfit } = numbered(tasks, asked, named);
  if (unfit !== undefined) return refused(path, line, unfitText(unfit, phase));
  if (add.length + named.length === 0)
    return refused(path, line, 'expected a task to add, change or remove');
  const gone = remove.flatMap(of).map(linesOfTasks(source, tasks));
  if (tasks.some((task) => task.done && holds(gone, task)))
    return refused(path, line, 'a completed task would be removed with its parent');
  const edits = new Edits();
  edits.add(path, ...outermost(gone).map((span) => ({ ...span, text: '' })));
  for (const { task, text } of change)
    for (const found of of(task))
      if (!holds(gone, found)) edits.add(path, renameTask(source, found, text));
  if (add.length > 0) edits.add(path, addTasks(source, { tasks, body, eol: tree.main.eol }, add));
  return edits.made(tree);
}

/** Tasks by number, and the first number (from 1) that names no task, one that is done, or one that was named before. */
function numbered(tasks: readonly Task[], asked: Tasks = tasks, named: readonly number[]) {
  const of = (task: number): readonly Task[] => [taskNow(asked, tasks, task) ?? []].flat();
  const unfit = named.find((n, index) => (of(n)[0]?.done ?? true) || named.indexOf(n) < index);
  return { of, unfit };
}
const unfitText = (task: number, phase: number): string =>
  `task ${task} of Phase ${phase} does not exist, is done, is named twice, or was changed since the replan was proposed`;

const holds = (spans: readonly Span[], { mark }: Task): boolean =>
  spans.some(({ from, to }) => mark >= from && mark < to);

/** Of spans that lie in each other only the outer. */
function outermost(spans: readonly Span[]): readonly Span[] {
  const kept: Span[] = [];
  for (const span of [...spans].sort((a, b) => a.from - b.from || b.to - a.to))
    if (span.from >= (kept.at(-1)?.to ?? 0)) kept.push(span);
  return kept;
}

/** Read again without faults: every other phase is as it was but for its dependencies, in the same order; `added` are new. */
function othersSame(before: PlanTree, phase: number, change: Change, added: number): Change {
  if (!change.ok) return change;
  const after = treeOf(change);
  if (after.faults.length > 0) return { ok: false, faults: after.faults };
  const known = new Set(before.phases.map(({ part }) => part.heading.number));
  const kept = after.phases.filter(({ part }) => known.has(part.heading.number));
  const same =
    JSON.stringify(kept.map((node) => shapeOf(node, phase))) ===
    JSON.stringify(before.phases.map((node) => shapeOf(node, phase)));
  if (same && after.phases.length === before.phases.length + added) return change;
  return refused(
    before.main.file,
    phaseOf(before, phase)?.part.heading.line ?? 1,
    'the other phases would change',
  );
}

const shapeOf = (node: PartNode, changed: number): unknown => {
  const { heading } = node.part;
  const tasks =
    heading.number === changed ? null : textOf(node).tasks.map(({ text, done }) => [text, done]);
  return [heading.number, heading.name, heading.markers, isExpanded(node), tasks];
};
