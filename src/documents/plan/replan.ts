/**
 * Applies a checked replan to the documents of a plan. All text that it does not change stays byte for byte. A new phase gets the number after
 * the highest, so that the numbers, file names and links of other phases stay. A phase that has to wait for the new one gets its number in the
 * `**Dependencies**` line. A phase without such a line waits for all phases before it, which include the new one. Pure: files in, files out.
 */
import { Edits, refusal, sameParts, treeOf, type Change } from './change.js';
import { collapsePhase } from './collapse.js';
import { expandPhase, expandStage } from './expand.js';
import { mainFile } from './plan-paths.js';
import { isExpanded, phaseOf, textOf, type PartNode, type PlanTree } from './plan-tree.js';
import { effectivePart, fileOfDependencies } from './plan-report.js';
import type { Replan } from './replan-answer.js';
import { lineIndex } from './text-spans.js';
import type { Part, Span, Task } from './types.js';
import { addTasks, linesOfTasks, renameTask, taskLines, taskNow } from './task-lines.js';
import type { Thresholds } from './thresholds.js';
import { chooseParts, isOver } from './automatic-moves.js';

type ReplanOf<A extends Replan['action']> = Extract<Replan, { action: A }>;

type Tasks = readonly Pick<Task, 'text'>[];

/**
 * Returns the plan after the replan, or a refusal. `requested` are the tasks of the phase that the model saw: the numbers in the replan refer to
 * them. Without it, the numbers refer to the current tasks.
 */
export function applyReplan(
  tree: PlanTree,
  replan: Replan,
  values: Thresholds,
  requested?: Tasks,
): Change {
  const node = phaseOf(tree, replan.phase);
  if (node === undefined) return refusal(tree.main.file, 1, `Phase ${replan.phase} does not exist`);
  const isDone = isOver(node);
  if (isDone && replan.action === 'add_phase')
    return othersSame(tree, replan.phase, addAfter(tree, node, replan), 1);
  if (isDone)
    return refusal(
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
        splitPhase(tree, node, replan, requested),
        replan.parts.length,
      );
    case 'update_tasks':
      return sameParts(tree, updateTasks(tree, node, replan, requested));
  }
}

/** Expands the phase, and also its stages if it has too many of them. */
function expandWhole(tree: PlanTree, phase: number, values: Thresholds): Change {
  const stagesOf = (current: PlanTree) =>
    chooseParts(current, 'expand', 'stage', values).filter((choice) => choice.phase === phase);
  let change: Change =
    stagesOf(tree).length === 0 ? expandPhase(tree, phase, values) : { ok: true, ...tree };
  for (const { stage } of change.ok ? stagesOf(treeOf(change)) : [])
    if (change.ok && stage !== null) change = expandStage(treeOf(change), phase, stage);
  return change;
}

const highestOf = (tree: PlanTree): number =>
  Math.max(0, ...tree.phases.map(({ part }) => part.heading.number));

const dependenciesOf = (node: PartNode): Part['dependencies'] => effectivePart(node).dependencies;

/** Adds a number to the `**Dependencies**` line of a phase. A phase without the line needs no change. */
function addDependency(tree: PlanTree, node: PartNode, edits: Edits, number: number): void {
  const dependencies = dependenciesOf(node);
  if (dependencies === null) return;
  const path = fileOfDependencies(node);
  const source = tree.files.get(path) ?? '';
  const lineStart = lineIndex(source).starts[dependencies.line - 1] ?? source.length;
  const line = /^[^\r\n]*/.exec(source.slice(lineStart))?.[0] ?? '';
  const name = /(?::\*\*|\*\*[ \t]*:)[ \t]*/.exec(line);
  const valueStart = lineStart + (name === null ? line.length : name.index + name[0].length);
  const text = `[${[...new Set([...dependencies.on, number])].join(', ')}]`;
  edits.add(path, { from: valueStart, to: lineStart + line.length, text });
}

interface NewPhase {
  readonly number: number;
  readonly name: string;
  readonly objective: string;
  /** Numbers of its dependencies, or null for no line. */
  readonly on: readonly number[] | null;
  /** Complete lines of the tasks. */
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
  { name, objective, tasks }: ReplanOf<'add_phase'>,
): Change {
  const edits = new Edits();
  const number = highestOf(tree) + 1;
  const { heading } = node.part;
  // The new phase waits for the same phases as the old one, and the old one also waits for the new one.
  const text = phaseText(tree, heading.level, {
    number,
    name,
    objective,
    on: dependenciesOf(node)?.on ?? null,
    tasks: tasks.map((task) => `- [ ] ${task}`),
  });
  edits.add(mainFile(tree.place), { from: heading.from, to: heading.from, text });
  addDependency(tree, node, edits, number);
  return edits.applyTo(tree);
}

/** Adds a phase after one that is already done and cannot wait for it any more. */
function addAfter(
  tree: PlanTree,
  node: PartNode,
  { phase, name, objective, tasks }: ReplanOf<'add_phase'>,
): Change {
  const edits = new Edits();
  const on = dependenciesOf(node) === null ? null : [phase];
  const lines = tasks.map((task) => `- [ ] ${task}`);
  const text = { number: highestOf(tree) + 1, name, objective, on, tasks: lines };
  putAfter(tree, node, edits, phaseText(tree, node.part.heading.level, text));
  return edits.applyTo(tree);
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
  { phase, parts }: ReplanOf<'split_phase'>,
  requested?: Tasks,
): Change {
  const { heading } = node.part;
  if (textOf(node).stages.length > 0)
    return refusal(node.home, heading.line, `Phase ${phase} has stages and cannot be split`);
  const path = node.file?.path ?? node.home;
  const source = tree.files.get(path) ?? '';
  const { tasks } = textOf(node);
  const numbers = parts.flatMap((part) => part.tasks);
  const { tasksWith, unfit } = numberedTasks(tasks, requested, numbers);
  if (unfit !== undefined) return refusal(path, heading.line, unfitText(unfit, phase));
  const linesOf = linesOfTasks(source, tasks);
  const moves = parts.map((part) => outermost(part.tasks.flatMap(tasksWith).map(linesOf)));
  if (outermost(moves.flat()).length < moves.flat().length)
    return refusal(path, heading.line, 'a task and one under it would go to different phases');
  if (tasks.every((task) => holds(moves.flat(), task)))
    return refusal(path, heading.line, 'expected at least one task to remain in the phase');
  const first = highestOf(tree) + 1;
  const edits = new Edits();
  const hasDependencies = dependenciesOf(node) !== null;
  const texts = parts.map((part, index) => {
    const spans = moves[index] ?? [];
    edits.add(path, ...spans.map(({ from, to }) => ({ from, to, text: '' })));
    const lines = spans.flatMap((span) => taskLines(source, span));
    // The new phases run one after the other, because each may need the result of the one before it.
    const on = hasDependencies ? [index === 0 ? phase : first + index - 1] : null;
    return phaseText(tree, heading.level, { ...part, number: first + index, on, tasks: lines });
  });
  putAfter(tree, node, edits, texts.join(''));
  // Phases that wait for this phase also have to wait for the last of the new ones.
  for (const other of tree.phases) {
    if (other === node || dependenciesOf(other)?.on.includes(phase) !== true) continue;
    addDependency(tree, other, edits, first + parts.length - 1);
  }
  return edits.applyTo(tree);
}

function updateTasks(
  tree: PlanTree,
  node: PartNode,
  { add, change, remove, phase }: ReplanOf<'update_tasks'>,
  requested?: Tasks,
): Change {
  const path = node.file?.path ?? node.home;
  const source = tree.files.get(path) ?? '';
  const { tasks, body } = textOf(node);
  const { line } = node.part.heading;
  const numbers = [...change.map(({ task }) => task), ...remove];
  const { tasksWith, unfit } = numberedTasks(tasks, requested, numbers);
  if (unfit !== undefined) return refusal(path, line, unfitText(unfit, phase));
  if (add.length + numbers.length === 0)
    return refusal(path, line, 'expected a task to add, change or remove');
  const removals = remove.flatMap(tasksWith).map(linesOfTasks(source, tasks));
  if (tasks.some((task) => task.done && holds(removals, task)))
    return refusal(path, line, 'a completed task would be removed with its parent');
  const edits = new Edits();
  edits.add(path, ...outermost(removals).map((span) => ({ ...span, text: '' })));
  for (const { task: number, text } of change)
    for (const task of tasksWith(number))
      if (!holds(removals, task)) edits.add(path, renameTask(source, task, text));
  if (add.length > 0) edits.add(path, addTasks(source, { tasks, body, eol: tree.main.eol }, add));
  return edits.applyTo(tree);
}

/**
 * Resolves the numbers of tasks, which count from 1. `tasksWith` returns the task with a number as a list, which is empty if there is none.
 * `unfit` is the first number that has no task, has a completed task, or is in the list twice.
 */
function numberedTasks(
  tasks: readonly Task[],
  requested: Tasks = tasks,
  numbers: readonly number[],
) {
  const tasksWith = (number: number): readonly Task[] =>
    [taskNow(requested, tasks, number) ?? []].flat();
  const unfit = numbers.find(
    (number, index) => (tasksWith(number)[0]?.done ?? true) || numbers.indexOf(number) < index,
  );
  return { tasksWith, unfit };
}
const unfitText = (task: number, phase: number): string =>
  `task ${task} of Phase ${phase} does not exist, is done, is named twice, or was changed since the replan was proposed`;

const holds = (spans: readonly Span[], { mark }: Task): boolean =>
  spans.some(({ from, to }) => mark >= from && mark < to);

/** Returns the spans that are not inside another span. */
function outermost(spans: readonly Span[]): readonly Span[] {
  const outer: Span[] = [];
  for (const span of [...spans].sort((a, b) => a.from - b.from || b.to - a.to))
    if (span.from >= (outer.at(-1)?.to ?? 0)) outer.push(span);
  return outer;
}

/**
 * Returns the change if the changed plan has no faults, has `newPhases` more phases, and all other phases are the same in the same order. Only
 * their dependencies may differ. Returns a refusal otherwise.
 */
function othersSame(before: PlanTree, phase: number, change: Change, newPhases: number): Change {
  if (!change.ok) return change;
  const after = treeOf(change);
  if (after.faults.length > 0) return { ok: false, faults: after.faults };
  const known = new Set(before.phases.map(({ part }) => part.heading.number));
  const kept = after.phases.filter(({ part }) => known.has(part.heading.number));
  const isSame =
    JSON.stringify(kept.map((node) => shapeOf(node, phase))) ===
    JSON.stringify(before.phases.map((node) => shapeOf(node, phase)));
  if (isSame && after.phases.length === before.phases.length + newPhases) return change;
  return refusal(
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
