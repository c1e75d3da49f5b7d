/** Says one true edit in each format, so that one suite runs against all of them. */
import type { AnswerFormat } from '../../src/shared/formats.js';
import { lineCheck } from '../../src/edits/listing.js';

/** Replace base lines [from, to) (0-based) by `lines`; in order, not overlapping, with at least one kept line between. */
export interface LineEdit {
  readonly from: number;
  readonly to: number;
  readonly lines: readonly string[];
}

export const apply = (base: readonly string[], edits: readonly LineEdit[]): string[] => {
  const result: string[] = [];
  let next = 0;
  for (const edit of edits) {
    result.push(...base.slice(next, edit.from), ...edit.lines);
    next = edit.to;
  }
  return [...result, ...base.slice(next)];
};

type Say = (path: string, base: readonly string[], edits: readonly LineEdit[]) => string;

const body = (lines: readonly string[]): string => lines.map((line) => `${line}\n`).join('');

const sayWholeFile: Say = (path, base, edits) =>
  `FILE ${path}\n${body(apply(base, edits))}END FILE\nEMEND-COMPLETE 1 1\n`;

const sayStructured: Say = (path, base, edits) => {
  const quote = (at: number): string => `${at + 1}:${lineCheck(base[at - 1], base[at] ?? '', base[at + 1])}`;
  const operations = edits.map(({ from, to, lines }) => {
    const content = body(lines);
    if (from === to)
      return from === base.length
        ? { type: 'append', file_path: path, content }
        : { type: 'insert', file_path: path, line: quote(from), content };
    const range = { file_path: path, start_line: quote(from), end_line: quote(to - 1) };
    return lines.length === 0 ? { type: 'delete', ...range } : { type: 'replace', ...range, content };
  });
  return JSON.stringify({ summary: 's', operations, complete: true });
};

/** One hunk an edit, with up to two lines of context that no other edit touches. */
const hunksOf = (base: readonly string[], edits: readonly LineEdit[]): { header: string; text: string }[] => {
  let shift = 0;
  let said = 0;
  return edits.map(({ from, to, lines }, i) => {
    const start = Math.max(said, from - 2);
    // One kept line at least is left to the next hunk.
    const end = Math.min((edits[i + 1]?.from ?? base.length + 1) - 1, to + 2);
    said = end;
    const text = [
      ...base.slice(start, from).map((l) => ` ${l}`),
      ...base.slice(from, to).map((l) => `-${l}`),
      ...lines.map((l) => `+${l}`),
      ...base.slice(to, end).map((l) => ` ${l}`),
    ];
    const oldCount = end - start;
    const newCount = oldCount - (to - from) + lines.length;
    const at = (count: number, first: number): number => (count === 0 ? first : first + 1);
    const header = `@@ -${at(oldCount, start)},${oldCount} +${at(newCount, start + shift)},${newCount} @@\n`;
    shift += lines.length - (to - from);
    return { header, text: body(text) };
  });
};

const sayDiff: Say = (path, base, edits) => {
  const hunks = hunksOf(base, edits).map(({ header, text }) => header + text);
  return `--- a/${path}\n+++ b/${path}\n${hunks.join('')}EMEND-COMPLETE 1 ${edits.length}\n`;
};

const sayPatch: Say = (path, base, edits) => {
  const chunks = hunksOf(base, edits).map(({ text }) => `@@\n${text}`);
  return `*** Begin Patch\n*** Update File: ${path}\n${chunks.join('')}*** End Patch\nEMEND-COMPLETE 1 ${edits.length}\n`;
};

/** FIND is the edit's own lines and a neighbour, so each must stand once in the base. */
const findsOf = (base: readonly string[], edits: readonly LineEdit[]): { find: string[]; replace: string[] }[] =>
  edits.map(({ from, to, lines }, i) => {
    const before = from > (edits[i - 1]?.to ?? 0) ? base.slice(from - 1, from) : [];
    const after = to < (edits[i + 1]?.from ?? base.length) && before.length === 0 ? base.slice(to, to + 1) : [];
    return { find: [...before, ...base.slice(from, to), ...after], replace: [...before, ...lines, ...after] };
  });

const sayBlocks: Say = (path, base, edits) => {
  const blocks = findsOf(base, edits).map(
    ({ find, replace }) => `FILE: ${path}\nFIND:\n${body(find)}REPLACE:\n${body(replace)}END\n`,
  );
  return `${blocks.join('\n')}EMEND-COMPLETE 1 ${edits.length}\n`;
};

const saySearchBlocks: Say = (path, base, edits) => {
  const blocks = findsOf(base, edits).map(
    ({ find, replace }) => `${path}\n<<<<<<< SEARCH\n${body(find)}=======\n${body(replace)}>>>>>>> REPLACE\n`,
  );
  return `${blocks.join('\n')}EMEND-COMPLETE 1 ${edits.length}\n`;
};

const sayStrings: Say = (path, base, edits) => {
  const said = findsOf(base, edits).map(({ find, replace }) => ({
    old_string: find.join('\n'),
    new_string: replace.join('\n'),
  }));
  return JSON.stringify({ file_path: path, edits: said, complete: true });
};

export const SAY: Readonly<Record<AnswerFormat, Say>> = {
  'whole-file': sayWholeFile,
  'structured-edit': sayStructured,
  'unified-diff': sayDiff,
  'search-replace': sayBlocks,
  'search-blocks': saySearchBlocks,
  'begin-patch': sayPatch,
  'string-replace': sayStrings,
};
