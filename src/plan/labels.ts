/**
 * Definitions of link labels (`[notes]: notes.md`) when a part's text moves to a file of its own. A label is known in its own file only, so
 * the part's file gets a copy of each definition that its text uses and that stays behind, and the file with its heading a copy of each one
 * that goes and is used elsewhere. Copies stand in the header and under the heading, and go again when the part is collapsed.
 */
import { readMarkdown, type Definition, type Outline } from './markdown.js';
import { folderOf } from './names.js';
import { markdownStart } from './reading.js';
import type { Span } from './types.js';

export interface Copies {
  readonly header: readonly string[];
  readonly summary: readonly string[];
}

const outlineOf = (text: string): Outline => readMarkdown(text, markdownStart(text));
const isWithin =
  ({ from, to }: Span) =>
  (item: { readonly from: number }): boolean =>
    item.from >= from && item.from < to;

/** `holder`: path of the file with the heading; `summary`: the lines that come under it. */
export function copiesFor(
  files: ReadonlyMap<string, string>,
  holder: string,
  body: Span,
  summary: readonly string[],
): Copies {
  const { definitions, uses } = outlineOf(files.get(holder) ?? '');
  if (definitions.length === 0) return { header: [], summary: [] };
  const moves = isWithin(body);
  // Of several definitions of a label the first counts, as in CommonMark.
  const first = [...new Map(definitions.toReversed().map((each) => [each.label, each])).values()].toReversed();
  const used = new Set(uses.filter(moves).map(({ label }) => label));
  // A file that has a copy of its own is a user too: it loses the copy when it is collapsed.
  const others = first.some(moves)
    ? [...files].filter(([path]) => path !== holder && path.startsWith(`${folderOf(holder)}/`))
    : [];
  const elsewhere = new Set(
    [
      ...uses.filter((use) => !moves(use)),
      ...outlineOf(summary.join('\n')).uses,
      ...others.flatMap(([, text]) => {
        const outline = outlineOf(text);
        return [...outline.uses, ...outline.definitions];
      }),
    ].map(({ label }) => label),
  );
  const lines = (picked: readonly Definition[]): readonly string[] => picked.map(({ line }) => line);
  return {
    header: lines(first.filter((each) => !moves(each) && used.has(each.label))),
    summary: lines(first.filter((each) => moves(each) && elsewhere.has(each.label))),
  };
}

/** The definitions of a text as copies are written. */
export const definedIn = (text: string, span: Span = { from: 0, to: text.length }): ReadonlySet<string> =>
  text.includes(']:')
    ? new Set(
        outlineOf(text)
          .definitions.filter(isWithin(span))
          .map(({ line }) => line),
      )
    : new Set();
