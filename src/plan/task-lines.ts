/** Tasks as lines of a document: with what stands under them, added after the last, given another text. */
import type { Span, Task, TextSplice } from './types.js';

/** The task's line and those indented under it, up to the next task that is not deeper or to what is not indented as deep. */
export function linesOfTask(source: string, tasks: readonly Task[], task: Task): Span {
  const from = startOfLine(source, task.mark);
  const indent = indentOf(source, from);
  let to = endOfLine(source, task.mark);
  while (to < source.length) {
    const line = source.slice(to, endOfLine(source, to));
    const isTask = tasks.some(({ mark, depth }) => mark >= to && mark < to + line.length && depth <= task.depth);
    if (isTask || line.trim() === '' || indentOf(source, to) <= indent) break;
    to += line.length;
  }
  return { from, to };
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
  tasks: readonly Task[],
  body: Span,
  added: readonly string[],
  eol: string,
): TextSplice {
  const top = tasks.filter(({ depth }) => depth === Math.min(...tasks.map((task) => task.depth)));
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
  const { to } = linesOfTask(source, tasks, last);
  const before = source.slice(startOfLine(source, last.mark), last.mark - 1);
  const bullet = /^(\s*)\d+([.)])\s*$/.test(before) ? numbered(before, added.length) : added.map(() => before);
  const lines = added.map((text, index) => `${bullet[index] ?? before}[ ] ${text}`).join(eol);
  const ended = /[\r\n]$/.test(source.slice(0, to));
  return { from: to, to, text: ended ? lines + eol : eol + lines };
}

function numbered(before: string, count: number): readonly string[] {
  const [, indent = '', digits = '1', sign = '.', blank = ' '] = /^(\s*)(\d+)([.)])(\s*)$/.exec(before) ?? [];
  return Array.from({ length: count }, (_, index) => `${indent}${Number(digits) + index + 1}${sign}${blank}`);
}

function startOfLine(source: string, offset: number): number {
  let at = offset;
  while (at > 0 && !/[\r\n]/.test(source.charAt(at - 1))) at -= 1;
  return at;
}
function endOfLine(source: string, offset: number): number {
  const end = /\r\n|\n|\r/.exec(source.slice(offset));
  return end === null ? source.length : offset + end.index + end[0].length;
}
const indentOf = (source: string, lineStart: number): number =>
  (/^[ \t]*/.exec(source.slice(lineStart)) ?? [''])[0].length;
