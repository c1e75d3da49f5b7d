/**
 * Copies definitions of link labels (`[notes]: notes.md`) when the text of a part moves to a file of its own. A label is only known in its own
 * file. So the part's file gets a copy of each definition that its text uses and that does not move. The file with the heading gets a copy of
 * each definition that moves and is used elsewhere. The copies are in the header and under the heading. Collapsing removes them again.
 */
import type { Definition } from './markdown.js';
import { folderOf } from './plan-paths.js';
import { outlineOf } from './plan-document.js';
import type { Span } from './types.js';

const isWithin =
  ({ from, to }: Span) =>
  (item: { readonly from: number }): boolean =>
    item.from >= from && item.from < to;

/** Returns the copies for both files. `holder` is the path of the file with the heading, and `summary` are the lines under the heading. */
export function copiesFor(
  files: ReadonlyMap<string, string>,
  holder: string,
  body: Span,
  summary: readonly string[],
): Readonly<Record<'header' | 'summary', readonly string[]>> {
  const { definitions, uses } = outlineOf(files.get(holder) ?? '');
  if (definitions.length === 0) return { header: [], summary: [] };
  const isMoved = isWithin(body);
  // If a label has several definitions, the first counts, as in CommonMark.
  const effective = [
    ...new Map(
      definitions.toReversed().map((definition) => [definition.label, definition]),
    ).values(),
  ].toReversed();
  const labelsInside = new Set(uses.filter(isMoved).map(({ label }) => label));
  // A file that has a copy also needs the definition, because it loses the copy when it is collapsed.
  const others = effective.some(isMoved)
    ? [...files].filter(([path]) => path !== holder && path.startsWith(`${folderOf(holder)}/`))
    : [];
  const labelsElsewhere = new Set(
    [
      ...uses.filter((use) => !isMoved(use)),
      ...outlineOf(summary.join('\n')).uses,
      ...others.flatMap(([, text]) => {
        const outline = outlineOf(text);
        return [...outline.uses, ...outline.definitions];
      }),
    ].map(({ label }) => label),
  );
  const linesOf = (selection: readonly Definition[]): readonly string[] =>
    selection.map(({ line }) => line);
  return {
    header: linesOf(
      effective.filter((definition) => !isMoved(definition) && labelsInside.has(definition.label)),
    ),
    summary: linesOf(
      effective.filter(
        (definition) => isMoved(definition) && labelsElsewhere.has(definition.label),
      ),
    ),
  };
}

/** Returns the definitions of a text as the lines that a copy has. */
export const definedIn = (
  text: string,
  span: Span = { from: 0, to: text.length },
): ReadonlySet<string> =>
  text.includes(']:')
    ? new Set(
        outlineOf(text)
          .definitions.filter(isWithin(span))
          .map(({ line }) => line),
      )
    : new Set();
