/** The file of edits that quote parts of its text: each is located in the text as the edits before left it, and changes that text. */
import type { TextEdit } from '../edit.js';
import { locate, mayUse } from '../locate.js';
import { carryLines, isKnownBase } from '../locate/likeness.js';
import { unnumbered } from '../locate/numbered.js';
import { StringSearch, type TextPlaces } from '../locate/string-search.js';
import { type Stretch, StringText } from '../locate/string-text.js';
import type { FilePlan } from '../text/changes.js';
import { answerIndex } from '../text/codec.js';
import { withoutFence } from '../text/fence.js';
import { lineOrigins } from '../text/line-diff.js';
import { indexOf, indexOfLines, type LineIndex, NO_LINES } from '../text/lines.js';
import { withoutBom } from '../text/to-splices.js';
import type { ApplyOptions, ContextFile } from '../types.js';
import { type EditOutcome, type FileOfEdits, type LocatedTolerance, refused } from './outcome.js';
import { contradiction, isTelling, Repeats, skippedAddition, skippedTwice } from './repeats.js';

const SAME = '`old_string` and `new_string` are the same';
const SAME_AND_ABSENT = `${SAME}, and do not occur in the file, so the answer may be for another version of it. Omit this edit if nothing should change here, else send \`old_string\` exactly as in the file.`;
const PRESENT_UNSURE =
  '`old_string` does not occur in the file. `new_string` does, but other edits are not applied yet, so it may have been there before. Omit this edit if it is done, else send `old_string` exactly as in the file.';
const NOT_EMPTY =
  '`old_string` is empty, which creates a file, but the file exists. Quote text of the file.';
const ABSENT = 'The file does not exist. Leave `old_string` empty to create it.';
const NOWHERE = 'The file does not exist, so it has no line to insert behind. Create it instead.';
const NO_TEXT = 'The text to insert is empty.';
const MOVED =
  'Edits before it in the answer moved lines, so it is not clear which line the number means. Send inserts first, or quote the lines around the place.';
const UNCHECKED =
  'Only a line number says where the text goes, and the tolerance `unchecked_lines` is off. Quote the line before the place as `old_string`, and send it with the new lines as `new_string`.';
const ON_EARLIER =
  '`old_string` needs text that an earlier edit wrote. Quote the file as it was shown, and join the two edits.';

const INDENT_CHARS = 200; // bound: Characters before a text that are looked at to see that only blanks are before it on its line.

export class TextFile implements FileOfEdits<TextEdit> {
  readonly #path: string;
  readonly #options: ApplyOptions;
  readonly #base: LineIndex;
  readonly #hasBom: boolean;
  readonly #repeats = new Repeats();
  /** Null: the file does not exist yet. */
  #text: StringText | null;

  constructor(path: string, file: ContextFile, options: ApplyOptions) {
    this.#path = path;
    this.#options = options;
    this.#base = file.text === null ? NO_LINES : indexOf(file.text);
    this.#hasBom = file.hasBom === true;
    this.#text = file.text === null ? null : StringText.ofLines(file.text);
  }

  get isChanged(): boolean {
    return this.#text?.isChanged === true;
  }

  take(edit: TextEdit): EditOutcome {
    const plainOf = (text: string): string => (this.#hasBom ? withoutBom(text) : text);
    const [before, stated] = [plainOf(edit.before), plainOf(edit.after)];
    const body = indexOfLines(stated.split('\n'));
    const inner = withoutFence(this.#path, body, this.#base, true);
    if ('code' in inner) return { kind: 'refused', ...inner };
    if (inner === body) return this.#apply({ ...edit, before, after: stated });
    const after = inner.all.join('\n') + (stated.endsWith('\n') ? '\n' : '');
    const outcome = this.#apply({ ...edit, before, after });
    if (outcome.kind !== 'changed') return outcome;
    const tolerances = [{ tolerance: 'fenced_body', line: null } as const, ...outcome.tolerances];
    return { kind: 'changed', tolerances };
  }

  #apply(edit: TextEdit): EditOutcome {
    const text = this.#text;
    const { before, after } = edit;
    if (edit.hint.behind !== null) return this.#insert(edit, edit.hint.behind);
    if (before === '') return this.#fill(edit);
    if (text === null) return refused('target_absent', ABSENT);
    const search = new StringSearch(text, this.#options.tolerances);
    if (before === after) {
      const isSure = isKnownBase(this.#path, this.#options) || search.holds(edit);
      const absence = isSure ? null : SAME_AND_ABSENT;
      return { kind: 'skipped', code: 'no_change', message: `${SAME}.`, absence };
    }
    const repeated = this.#repeated(edit, text);
    if (repeated !== null) return repeated;
    const bare = this.#unnumbered(edit, text);
    if (bare !== null) return this.#applyUnnumbered(bare);
    return this.#replace(edit, text, search);
  }

  #applyUnnumbered(edit: TextEdit): EditOutcome {
    const outcome = this.#apply(edit);
    if (outcome.kind !== 'changed') return outcome;
    const tolerances = [
      { tolerance: 'listing_numbers', line: null } as const,
      ...outcome.tolerances,
    ];
    return { kind: 'changed', tolerances };
  }

  /** Replaces the string at the places where it occurs. */
  #replace(edit: TextEdit, text: StringText, search: StringSearch): EditOutcome {
    const { before, after } = edit;
    const { tolerances: settings } = this.#options;
    const located = locate(edit, search);
    if (located === null && isPresent(edit, text))
      return {
        kind: 'skipped',
        code: 'already_present',
        message: '`old_string` does not occur, but `new_string` does.',
        absence: isKnownBase(this.#path, this.#options) ? null : PRESENT_UNSURE,
      };
    const textPlaces = located ?? search.absent(edit);
    if ('code' in textPlaces) return { kind: 'refused', ...textPlaces };
    const { places, likeness } = textPlaces;
    if (isAdded(edit, places, text)) return skippedAddition();
    this.#repeats.add({ before, after, line: null }, edit.hint.index);
    const tolerances: LocatedTolerance[] = [];
    const use = (name: LocatedTolerance['tolerance'], place: Stretch): void =>
      void tolerances.push({ tolerance: name, line: text.linesOf([place])[0] ?? null });
    const [first = [0, 0] as const] = places;
    if (likeness !== null) use(likeness, first);
    const written = text.firstOnWritten(places);
    if (written !== undefined && !mayUse(edit, 'earlier_block', settings))
      return refused('earlier_block', ON_EARLIER);
    if (written !== undefined) use('earlier_block', written);
    const quote = text.slice(first);
    text.replace(places, quote, writtenFor(likeness, before, quote, after));
    return { kind: 'changed', tolerances };
  }

  /** Returns an edit without the line numbers of its string, if the text has it without; null: it has no numbers. */
  #unnumbered(edit: TextEdit, text: StringText): TextEdit | null {
    if (!mayUse(edit, 'listing_numbers', this.#options.tolerances)) return null;
    const [before, after] = [edit.before.split('\n'), edit.after.split('\n')];
    // A line end at the end is one of the last line, not an empty line that lacks its number.
    const last = before.length > 1 && before.at(-1) === '' ? -1 : before.length;
    const plain = unnumbered(
      before.slice(0, last),
      after.at(-1) === '' ? after.slice(0, -1) : after,
    );
    if (plain === null || text.find(edit.before, false).length > 0) return null;
    const ended = (lines: readonly string[], original: readonly string[]): string =>
      lines.join('\n') + (original.at(-1) === '' && lines.length > 0 ? '\n' : '');
    const bare = ended(plain.before, before);
    return text.find(bare, false).length === 0
      ? null
      : { ...edit, before: bare, after: ended(plain.after, after) };
  }

  /** What becomes of an edit whose string another one of the response quotes, too; null: none does. */
  #repeated({ before, after, hint }: TextEdit, text: StringText): EditOutcome | null {
    const sides = { before, after, line: null };
    const same = this.#repeats.sameAs(sides);
    if (same !== null && text.find(after, false).length > 0) return skippedTwice('edit', same);
    const other = this.#repeats.contradicted(sides);
    if (other === null || hint.everywhere) return null;
    return { kind: 'refused', ...contradiction('Edit', '`old_string`', other) };
  }

  /** Makes a file that does not exist, or one that is empty. */
  #fill({ after, hint }: TextEdit): EditOutcome {
    const text = this.#text;
    if (text !== null && (text.whole !== '' || after === '' || text.isChanged))
      return refused('file_exists', hint.creates ?? NOT_EMPTY);
    this.#text = text ?? new StringText('');
    this.#text.fill(after);
    return { kind: 'changed', tolerances: [] };
  }

  /** Puts lines behind a line that the edit names by its number. */
  #insert(edit: TextEdit, behind: number | 'end'): EditOutcome {
    const text = this.#text;
    if (text === null) return refused('target_absent', NOWHERE);
    if (edit.after === '') return refused('empty_content', NO_TEXT);
    const { whole } = text;
    const count = whole === '' ? 0 : text.lines.length - (whole.endsWith('\n') ? 1 : 0);
    const line = behind === 'end' ? count : behind;
    if (line > count)
      return refused(
        'out_of_range',
        `The file has ${count} lines, so nothing can stand behind line ${line}.`,
      );
    if (this.#hasMoved(line, count)) return refused('insert_unclear', MOVED);
    const inserted = this.#inserted(edit, line, text);
    if (inserted !== null) return inserted;
    const options = this.#options;
    const isSure = line === 0 || line === count || isKnownBase(this.#path, options);
    if (!isSure && !mayUse(edit, 'unchecked_lines', options.tolerances))
      return refused('unchecked_lines', UNCHECKED);
    const lines = edit.after.endsWith('\n') ? edit.after : `${edit.after}\n`;
    text.insertLines(line, lines);
    return { kind: 'changed', tolerances: isSure ? [] : [{ tolerance: 'unchecked_lines', line }] };
  }

  /** What becomes of an insert that was there before, in the response or in the file; null: it was not, and is noted. */
  #inserted({ after, hint }: TextEdit, line: number, text: StringText): EditOutcome | null {
    const sides = { before: '', after, line };
    const same = this.#repeats.sameAs(sides);
    if (same !== null) return refused('edit_twice', insertedTwice(same));
    if (isInserted(after, line, hint.behind === 'end', text.lines)) return skippedAddition();
    this.#repeats.add(sides, hint.index);
    return null;
  }

  /** May a line number mean another place in the file as it was shown than in the text as the edits before left it? */
  #hasMoved(line: number, count: number): boolean {
    const text = this.#text;
    if (text?.isChanged !== true || line === 0 || this.#base.length === 0) return false;
    if (line === count && this.#base.length === count) return false;
    const { lines } = text;
    const isSame = (from: number, to: number): boolean => {
      for (let index = from; index < to; index += 1)
        if (lines[index] !== this.#base.all[index]) return false;
      return true;
    };
    return !isSame(0, line) && (this.#base.length !== count || !isSame(line, count));
  }

  plans(): readonly FilePlan[] {
    if (this.#text?.isChanged !== true) return [];
    return [{ kind: 'lines', path: this.#path, result: linesOf(this.#text.whole) }];
  }
}

/**
 * Are the lines of a new text there once, and those of the old text nowhere? Text that an edit wrote is no sign that this one is done, and
 * neither is a part of a line, or text that is in the old one as well.
 */
const isPresent = ({ before, after, hint }: TextEdit, text: StringText): boolean => {
  if (hint.everywhere || !isTelling(after) || before.includes(after)) return false;
  const [place, ...others] = text.find(after, false);
  if (place === undefined || others.length > 0 || text.holdsWithoutSpace(before)) return false;
  const { whole } = text;
  const [from, to] = place;
  const isWhole =
    /(?:^|\n)[ \t]*$/.test(whole.slice(Math.max(0, from - INDENT_CHARS), from)) &&
    (after.endsWith('\n') || to === whole.length || whole[to] === '\n');
  return isWhole && text.firstOnWritten([place]) === undefined;
};

/**
 * Is the text that an edit adds before or after its string there already? Text that an edit before this one quotes was there when the
 * response was written, so it is not what it adds.
 */
const isAdded = (
  { before, after }: TextEdit,
  places: readonly Stretch[],
  text: StringText,
): boolean => {
  const [place, ...others] = places;
  if (place === undefined || others.length > 0) return false;
  const [from, to] = place;
  const isThere = (offset: number, added: string): boolean => {
    const stretch = [offset, offset + added.length] as const;
    const occurs = isTelling(added) && offset >= 0 && text.slice(stretch) === added;
    return occurs && !text.keptIn(stretch).some(isTelling);
  };
  if (after.startsWith(before) && isThere(to, after.slice(before.length))) return true;
  const lead = after.slice(0, after.length - before.length);
  return after.endsWith(before) && isThere(from - lead.length, lead);
};

/** Do the lines that an edit inserts stand behind line `line` already, or, of an insert at the end of the file, before that? */
const isInserted = (
  added: string,
  line: number,
  isAtEnd: boolean,
  lines: readonly string[],
): boolean => {
  const own = added.replace(/\n$/, '').split('\n');
  const from = isAtEnd ? line - own.length : line;
  return isTelling(added) && from >= 0 && own.every((text, i) => lines[from + i] === text);
};
const insertedTwice = (index: number): string =>
  `It inserts the same lines at the same place as edit ${index + 1}. Send it once, or both as one edit.`;

/** Lines end at LF alone: a carriage return before it is the last character of a line of the file. */
const linesOf = (text: string): LineIndex =>
  text.includes('\r\n') ? indexOfLines(text.replace(/\n$/, '').split('\n')) : answerIndex(text);

/** Returns what comes in place of a quote that occurs by a likeness. */
const writtenFor = (
  likeness: TextPlaces['likeness'],
  before: string,
  quote: string,
  after: string,
): string => {
  if (likeness === null) return after;
  return likeness === 'line_endings' ? after.replace(/\n$/, '') : carried(before, quote, after);
};

/** Returns what comes in place of `base`, which the edit quotes as `before`: what both of its sides share stays as the file has it. */
const carried = (before: string, base: string, after: string): string => {
  const [beforeLines, baseLines, afterLines] = [before, base, after].map((text) =>
    text.split('\n'),
  );
  if (beforeLines === undefined || baseLines === undefined || afterLines === undefined)
    return after;
  const kept = lineOrigins(beforeLines, afterLines);
  const lines = carryLines(beforeLines, baseLines, afterLines, kept);
  return lines.map((line, i) => line ?? baseLines[kept[i] ?? 0] ?? '').join('\n');
};
