/** Edits tasks as lines of a document, together with the lines under them: they can be moved, added and renamed. */
import { lineIndex } from './text-spans.js';
import type { Span, Task, TextSplice } from './types.js';

/**
 * Returns the current task for a number in the list that the model saw (`requested`). The text of the task identifies it. If several tasks have
 * the same text, the nth of the list is the nth of the current tasks.
 */
export const taskNow = <T extends TaskText>(
  requested: readonly TaskText[],
  current: readonly T[],
  task: number,
): T | undefined => {
  const hasText = ({ text }: TaskText): boolean => text === requested[task - 1]?.text;
  return current.filter(hasText)[requested.slice(0, task).filter(hasText).length - 1];
};

type TaskText = Pick<Task, 'text'>;

/**
 * Returns a function that gives the span of a task: its line and the lines indented under it. The span ends before the next task that is not
 * deeper, and before a line that is not indented more than the task.
 */
export function linesOfTasks(source: string, tasks: readonly Task[]): (task: Task) => Span {
  const { starts } = lineIndex(source);
  const startOf = (line: number): number => starts[line - 1] ?? source.length;
  return (task) => {
    const from = startOf(task.line);
    const indent = indentOf(source, from);
    const isUnder = (line: number): boolean =>
      source.slice(startOf(line), startOf(line + 1)).trim() !== '' &&
      indentOf(source, startOf(line)) > indent &&
      !tasks.some((other) => other.line === line && other.depth <= task.depth);
    let next = task.line + 1;
    while (isUnder(next)) next += 1;
    return { from, to: startOf(next) };
  };
}

/** Returns the lines of a span without the indentation of the first line, so that they can be a list of their own. */
export function taskLines(source: string, { from, to }: Span): readonly string[] {
  const indent = indentOf(source, from);
  const lines = source.slice(from, to).split(/\r\n|\n|\r/);
  if (lines.at(-1) === '') lines.pop();
  return lines.map((line) => line.slice(Math.min(indent, line.length - line.trimStart().length)));
}

/** Returns the splice that replaces the text in the first line of a task. The lines under it stay. */
export function renameTask(source: string, { mark }: Task, text: string): TextSplice {
  const from = mark + 2;
  const rest = /^[^\r\n]*/.exec(source.slice(from))?.[0] ?? '';
  return { from, to: from + rest.trimEnd().length, text: ` ${text}` };
}

/** Returns the splice that adds tasks after the last one and in its style. In a part without tasks, they come after its text. */
export function addTasks(
  source: string,
  {
    tasks,
    body,
    eol,
  }: { readonly tasks: readonly Task[]; readonly body: Span; readonly eol: string },
  texts: readonly string[],
): TextSplice {
  const least = Math.min(...tasks.map(({ depth }) => depth));
  const top = tasks.filter(({ depth }) => depth === least);
  const last = top.at(-1);
  if (last === undefined) {
    const words = source.slice(body.from, body.to).trimEnd().length;
    const offset = body.from + words;
    const lines = texts.map((text) => `- [ ] ${text}`).join(eol);
    return {
      from: offset,
      to: offset,
      text: `${words === 0 ? '' : eol + eol}${lines}${offset === source.length || words === 0 ? eol : ''}`,
    };
  }
  const { from, to } = linesOfTasks(source, tasks)(last);
  const before = source.slice(from, last.mark - 1);
  const bullets = /^(\s*)\d+([.)])\s*$/.test(before)
    ? nextNumbers(before, texts.length)
    : texts.map(() => before);
  const lines = texts.map((text, index) => `${bullets[index] ?? before}[ ] ${text}`).join(eol);
  const ended = /[\r\n]$/.test(source.slice(0, to));
  return { from: to, to, text: ended ? lines + eol : eol + lines };
}

/** Returns the beginnings of the next items of a numbered list. `before` is the beginning of its last item. */
function nextNumbers(before: string, count: number): readonly string[] {
  const [, indent = '', digits = '1', sign = '.', blank = ' '] =
    /^(\s*)(\d+)([.)])(\s*)$/.exec(before) ?? [];
  return Array.from(
    { length: count },
    (_, index) => `${indent}${Number(digits) + index + 1}${sign}${blank}`,
  );
}

const indentOf = (source: string, lineStart: number): number =>
  (/^[ \t]*/.exec(source.slice(lineStart)) ?? [''])[0].length;
