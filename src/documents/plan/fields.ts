/** Reads fields (`**Name**: value`) and lists of numbers. */
import type { Outline } from './markdown.js';
import { isIn } from './text-spans.js';
import type { Field } from './types.js';

const FIELD = /^[ \t]*(?:[-*+][ \t]+)?\*\*([^*\r\n]{1,60}?)[ \t]*(?::\*\*|\*\*[ \t]*:)(.*)$/;

/** Beginning of a line that ends the value of the field above it. */
const NEXT_BLOCK =
  /^[ \t]*(?:$|[-*+][ \t]|\d+[.)][ \t]|#{1,6}[ \t]|```|~~~|>|<!--|\*\*[^*]+(?::\*\*|\*\*[ \t]*:))/;

/** Returns every `**Name**: value` outside code and comments, in order. */
export function fieldsOf(source: string, outline: Outline, from: number): readonly Field[] {
  const { starts, lineOf } = outline.lines;
  const fields: Field[] = [];
  const textOf = (index: number): string =>
    source
      .slice(starts[index] ?? source.length, starts[index + 1] ?? source.length)
      .replace(/[\r\n]+$/, '');
  for (let index = lineOf(from) - 1; index < starts.length; index += 1) {
    const start = starts[index] ?? 0;
    const [, name, first] = FIELD.exec(textOf(index)) ?? [];
    if (name === undefined || first === undefined || isIn(outline.opaque, start)) continue;
    const values = [first.trim()];
    let last = index;
    while (last + 1 < starts.length && !NEXT_BLOCK.test(textOf(last + 1)))
      values.push(textOf((last += 1)).trim());
    const value = values.filter((line) => line !== '').join(' ');
    fields.push({
      name: name.trim(),
      value,
      line: index + 1,
      from: start,
      to: (starts[last] ?? 0) + textOf(last).length,
    });
  }
  return fields;
}

export const fieldOf = (fields: readonly Field[], name: string): Field | undefined =>
  fields.find((field) => field.name.toLowerCase() === name.toLowerCase());

/** Parses a list of numbers: `[1, 3]`, `[]`, `1, 3`, `none`, `Phase 1, Phase 3` or `Phases 1 and 3`. Returns null for other text. */
export function numbersOf(value: string): readonly number[] | null {
  const bare = /^\[(.*)\]$/.exec(value.trim())?.[1] ?? value.trim();
  if (/^(none|-)?$/i.test(bare.trim())) return [];
  const words = bare
    .split(/,|\band\b/)
    .map((word) => /^(?:(?:phases?|stages?)\s+)?(\d{1,4})$/i.exec(word.trim())?.[1]);
  return words.some((word) => word === undefined) ? null : words.map(Number);
}
