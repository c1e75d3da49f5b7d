/**
 * Relative links of a text whose file moves one folder down, or back up. Each way undoes the other, so that expanding and collapsing
 * give the same bytes: what points elsewhere gets `../` before it, what points into the folder loses the folder's name.
 */
import type { Definition } from './markdown.js';
import { folderOf, resolveLink } from './tree.js';
import { outlineOf } from './reading.js';
import type { Span, Link, TextSplice } from './types.js';

/** As it stands in a link: without blanks, parentheses, quotes, `#` and `?`, which would end it. */
export const urlOf = (path: string): string =>
  encodeURI(path).replace(
    /[()'#?]/g,
    (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`,
  );

export const isRelative = (target: string): boolean =>
  !/^(?:$|[#?/\\]|[a-z][a-z0-9+.-]*:)/i.test(target);
const pathOf = (target: string): string => target.replace(/[?#].*$/s, '');

export interface Move {
  readonly folder: string;
  /** The file's own name where it stays the same: links to it stay as they are. */
  readonly self: string | null;
}

const isSelf = (target: string, { self }: Move): boolean =>
  self !== null && [self, urlOf(self)].includes(pathOf(target).replace(/^(?:\.\/)+/, ''));

/** `./` before the folder's name, and what follows it, where the folder's name can be left out inside the folder. */
function inFolder(
  target: string,
  move: Move,
): { readonly dots: string; readonly rest: string } | null {
  const name = `${urlOf(move.folder)}/`;
  const dots = (/^(?:\.\/)*/.exec(target) ?? [''])[0];
  const bare = target.slice(dots.length);
  const rest = bare.slice(name.length);
  if (
    !bare.startsWith(name) ||
    !isRelative(rest) ||
    /^\.\.(?:\/|$|[?#])/.test(rest) ||
    isSelf(rest, move)
  )
    return null;
  return { dots, rest };
}

/** From next to the folder into it. */
export function down(target: string, move: Move): string {
  if (!isRelative(target) || isSelf(target, move)) return target;
  const inside = inFolder(target, move);
  if (inside === null) return `../${target}`;
  return inside.dots === '' ? inside.rest : `../${target.slice(2)}`;
}

/** The other way. */
export function up(target: string, move: Move): string {
  if (!isRelative(target) || isSelf(target, move)) return target;
  if (!target.startsWith('../')) return `${urlOf(move.folder)}/${target}`;
  const rest = target.slice(3);
  return inFolder(rest, move) !== null || !isRelative(rest) ? `./${rest}` : rest;
}

/** Splices for every link that `change` changes. */
export const relink = (
  links: readonly Link[],
  change: (target: string) => string,
): readonly TextSplice[] =>
  links.flatMap(({ from, to, target }) => {
    const text = change(target);
    return text === target ? [] : [{ from, to, text }];
  });

interface Renamed {
  readonly from: string;
  readonly to: string;
  /** The part of both paths that stays. */
  readonly kept: string;
}

/** Links of a file in `path`'s folder that lead to `from` lead to `to` afterwards. */
export function retarget(path: string, target: string, { from, to, kept }: Renamed): string {
  const bare = pathOf(target);
  if (!isRelative(target) || resolveLink(folderOf(path), target) !== from) return target;
  const before = urlOf(from.slice(kept.length));
  if (!bare.endsWith(before)) return target;
  return (
    bare.slice(0, bare.length - before.length) +
    urlOf(to.slice(kept.length)) +
    target.slice(bare.length)
  );
}

// Definitions of link labels (`[notes]: notes.md`) when a part's text moves to a file of its own. A label is known in its own file only, so
// the part's file gets a copy of each definition that its text uses and that stays behind, and the file with its heading a copy of each one
// that goes and is used elsewhere. Copies stand in the header and under the heading, and go again when the part is collapsed.

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
): Readonly<Record<'header' | 'summary', readonly string[]>> {
  const { definitions, uses } = outlineOf(files.get(holder) ?? '');
  if (definitions.length === 0) return { header: [], summary: [] };
  const isMoved = isWithin(body);
  // Of several definitions of a label the first counts, as in CommonMark.
  const first = [
    ...new Map(definitions.toReversed().map((each) => [each.label, each])).values(),
  ].toReversed();
  const used = new Set(uses.filter(isMoved).map(({ label }) => label));
  // A file that has a copy of its own is a user too: it loses the copy when it is collapsed.
  const others = first.some(isMoved)
    ? [...files].filter(([path]) => path !== holder && path.startsWith(`${folderOf(holder)}/`))
    : [];
  const elsewhere = new Set(
    [
      ...uses.filter((use) => !isMoved(use)),
      ...outlineOf(summary.join('\n')).uses,
      ...others.flatMap(([, text]) => {
        const outline = outlineOf(text);
        return [...outline.uses, ...outline.definitions];
      }),
    ].map(({ label }) => label),
  );
  const lines = (picked: readonly Definition[]): readonly string[] =>
    picked.map(({ line }) => line);
  return {
    header: lines(first.filter((each) => !isMoved(each) && used.has(each.label))),
    summary: lines(first.filter((each) => isMoved(each) && elsewhere.has(each.label))),
  };
}

/** The definitions of a text as copies are written. */
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
