/** Says one true change in each format, so that one suite runs against all of them. */
import { lineCheck } from '../../src/edits/listing.js';
import type { AnswerFormat } from '../../src/shared/formats.js';
import { shortFinds, uniqueFinds, type SaidFind } from './say-finds.js';
import { diffOf, hunksOf, plainLines, type HunkStyle } from './say-hunks.js';
import { apply, body, type LineEdit, type TrueChange } from './true-change.js';

export { apply, type LineEdit, type TrueChange } from './true-change.js';

export interface Manner {
  /** Goes into every marker; absent: an answer without nonces. */
  readonly nonce?: string;
  /** Quote as much as tells one place from all others, and write diffs as git does; else as little as can be. */
  readonly careful?: boolean;
}

const AS_GIT: HunkStyle = { context: 3, merge: true };
const TERSE: HunkStyle = { context: 2, merge: false };

type Writer = (change: TrueChange, manner: Manner) => string;

const mark = ({ nonce }: Manner): string => (nonce === undefined ? '' : ` ${nonce}`);
const complete = (manner: Manner, files: number, edits: number): string =>
  `EMEND-COMPLETE${mark(manner)} ${files} ${edits}\n`;
const json = (value: object, { nonce }: Manner): string =>
  JSON.stringify({ ...value, complete: true, ...(nonce === undefined ? {} : { nonce }) });

const sayWholeFile: Writer = ({ kind, path, base, edits }, manner) => {
  const entry =
    kind === 'delete'
      ? `DELETE ${path}${mark(manner)}\n`
      : `FILE ${path}${mark(manner)}\n${body(apply(base, edits))}END FILE${mark(manner)}\n`;
  return `${entry}${complete(manner, 1, 1)}`;
};

/** Of one line `line` alone, as the prompt asks for it; elsewhere both ends. */
const sayStructured: Writer = ({ path, base, edits }, manner) => {
  const quote = (at: number): string =>
    `${at + 1}${lineCheck(base[at - 1], base[at] ?? '', base[at + 1])}`;
  const operations = edits.map(({ from, to, lines }) => {
    const content = body(lines);
    if (from === to)
      return from === base.length
        ? { type: 'append', file_path: path, content }
        : { type: 'insert', file_path: path, line: quote(from), content };
    const [line, end_line] = [quote(from), quote(to - 1)];
    const place =
      manner.careful === true && line === end_line ? { line } : { start_line: line, end_line };
    const at = { file_path: path, ...place };
    return lines.length === 0 ? { type: 'delete', ...at } : { type: 'replace', ...at, content };
  });
  return json({ summary: 's', operations }, manner);
};

const sayDiff: Writer = (change, manner) => {
  const hunks = hunksOf(change, manner.careful === true ? AS_GIT : TERSE);
  return `${diffOf(change, hunks)}${complete(manner, 1, hunks.length)}`;
};

const sayPatch: Writer = (change, manner) => {
  const { kind, path, from } = change;
  const patch = (text: string, edits: number): string =>
    `*** Begin Patch\n${text}*** End Patch\n${complete(manner, 1, edits)}`;
  if (kind === 'delete') return patch(`*** Delete File: ${path}\n`, 1);
  if (kind === 'create')
    return patch(
      `*** Add File: ${path}\n${body((change.edits[0]?.lines ?? []).map((line) => `+${line}`))}`,
      1,
    );
  const chunks =
    manner.careful === true
      ? uniqueFinds(change, false).map(({ find, replace }) => [
          ...find.map((l) => `-${l}`),
          ...replace.map((l) => `+${l}`),
        ])
      : null;
  const move = from === undefined ? '' : `*** Move to: ${path}\n`;
  const texts = chunks?.map(body) ?? hunksOf(change, TERSE).map(({ lines }) => plainLines(lines));
  return patch(
    `*** Update File: ${from ?? path}\n${move}${texts.map((text) => `@@\n${text}`).join('')}`,
    texts.length,
  );
};

const finds = (change: TrueChange, { careful }: Manner, substrings = false): readonly SaidFind[] =>
  careful === true ? uniqueFinds(change, substrings) : shortFinds(change);

const sayBlocks: Writer = (change, manner) => {
  const blocks = finds(change, manner).map(
    ({ find, replace }) =>
      `FILE: ${change.path}\nFIND:\n${body(find)}REPLACE:\n${body(replace)}END${mark(manner)}\n`,
  );
  return `${blocks.join('\n')}${complete(manner, 1, blocks.length)}`;
};

const saySearchBlocks: Writer = (change, manner) => {
  const blocks = finds(change, manner).map(
    ({ find, replace }) =>
      `${change.path}\n<<<<<<< SEARCH\n${body(find)}=======\n${body(replace)}>>>>>>> REPLACE\n`,
  );
  return `${blocks.join('\n')}${complete(manner, 1, blocks.length)}`;
};

/** The base's last line has no end, and an empty line is to come after it. */
const endsOpen = (
  { base, baseFinal }: TrueChange,
  find: readonly string[],
  replace: readonly string[],
): boolean =>
  baseFinal === false &&
  replace.at(-1) === '' &&
  base.slice(-find.length).join('\n') === find.join('\n');

const sayStrings: Writer = (change, manner) => {
  const said = finds(change, manner, true).map(({ find, replace }) => ({
    // Lines that go take the end of the last with them.
    old_string: change.kind !== 'create' && replace.length === 0 ? body(find) : find.join('\n'),
    // A new file's text has its last line end, which is optional only where the last line is not empty.
    new_string:
      change.kind === 'create' || endsOpen(change, find, replace)
        ? body(replace)
        : replace.join('\n'),
  }));
  return json({ file_path: change.path, edits: said }, manner);
};

const sayTags: Writer = (change, manner) => {
  const calls = finds(change, manner, true).map(({ find, replace }) => {
    const old = change.kind !== 'create' && replace.length === 0 ? body(find) : find.join('\n');
    const fresh =
      change.kind === 'create' || endsOpen(change, find, replace)
        ? body(replace)
        : replace.join('\n');
    return `<invoke name="str_replace">\n<parameter name="path">${change.path}</parameter>\n<parameter name="old_string">${old}</parameter>\n<parameter name="new_string">${fresh}</parameter>\n</invoke>\n`;
  });
  return `${calls.join('')}${complete(manner, 1, calls.length)}`;
};

const WRITERS: Readonly<Record<AnswerFormat, Writer>> = {
  'whole-file': sayWholeFile,
  'structured-edit': sayStructured,
  'unified-diff': sayDiff,
  'search-replace': sayBlocks,
  'search-blocks': saySearchBlocks,
  'begin-patch': sayPatch,
  'string-replace': sayStrings,
  'xml-call': sayTags,
};

export const sayChange = (format: AnswerFormat, change: TrueChange, manner: Manner = {}): string =>
  WRITERS[format](change, manner);

type Say = (
  path: string,
  base: readonly string[],
  edits: readonly LineEdit[],
  manner?: Manner,
) => string;

/** Edits of the lines of a file that is there, in each format. */
export const SAY = Object.fromEntries(
  Object.entries(WRITERS).map(([format, writer]) => [
    format,
    (path: string, base: readonly string[], edits: readonly LineEdit[], manner: Manner = {}) =>
      writer({ kind: 'edit', path, base, edits }, manner),
  ]),
) as Readonly<Record<AnswerFormat, Say>>;
