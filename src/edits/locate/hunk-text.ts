/**
 * Finds the hunks of one file: the passes of the locator (locate.ts) for diffs and patches. All hunks mean the file as it was shown.
 *
 * If the old side (context and removed lines) occurs exactly at the stated line, that place wins, provided the header is sound: counts
 * right, and the new side's line agreeing with what the hunks before have added. If it also occurs elsewhere, the number decides, which is the
 * tolerance `unchecked_lines` unless the file is known to be the one that the response was written for. In every other case it must stand in
 * exactly one place of the file, and the stated line must not hold the same but for blanks; with several the hunk is refused with all of
 * them. Blank lines alone stand at the stated line only. A hunk of a patch is behind the one before and below its anchors.
 */
import type { Tolerance, ToleranceSettings } from '../../shared/formats.js';
import type { HunkHint, LinesEdit } from '../edit.js';
import { type LinePlace, locate, mayUse, type PassName, type SearchedText } from '../locate.js';
import { indexOf, type LineIndex, LinesOnce, type Text } from '../text/lines.js';
import type { Fault } from '../types.js';
import { placesOf } from './elision.js';
import { shiftedPlaces, type ShiftName } from './indent.js';
import { LEVEL_KEYS, levelBetween, type Level, LEVELS } from './likeness.js';
import { LineChain, type Places } from './line-chain.js';
import { copyOf, describeNearest, nearest } from './nearest.js';

const NEIGHBOUR_LINES = 3; // bound: On each side of a line whose sign is in doubt: as many as git's diffs have of context.
const SIGNED_LINES_CHECKED = 100; // bound: Lines of a file's hunks that the file has with their sign, of which each costs a pass over it.
const ANCHOR_CHARS = 120; // bound: Characters of an anchor that a refusal quotes.

type Found = LinePlace | Fault | null;

const NO_CONTEXT =
  'It quotes no line of the file, or blank ones alone, so its place cannot be verified. Add at least one unchanged line before or after the changed ones.';
const UNSHIFTABLE =
  'It occurs in the file with different indentation, and an added line does not have the indentation to remove. Send it with the indentation of the file.';

const NOT_AT_END =
  'It says `\\ No newline at end of file`, but does not reach the end of the file. Omit that line.';

const fault = (code: string, message: string): Fault => ({ code, message });

const hintOf = ({ hint }: LinesEdit): HunkHint => {
  if (hint.hunk === null) throw new Error('an edit of another dialect');
  return hint.hunk;
};

/** Both sides say that they end without a line end, so nothing changes there, and elsewhere in a file it is a slip. */
const lacksBothNewlines = (edit: LinesEdit): boolean => {
  const { before, after } = hintOf(edit).lacksNewline;
  return before && after;
};

/** A line with its sign as the response has it. */
interface SignedLine {
  readonly sign: string;
  readonly text: string;
}
/** Returns the line as the response has it. */
const rawOf = ({ sign, text }: SignedLine): string => (sign === '_' ? text : sign + text);

function* signedLines({ before, after, hint }: LinesEdit): Generator<SignedLine> {
  let [old, fresh] = [0, 0];
  for (const sign of hint.hunk?.signs ?? '') {
    if (sign === '+') yield { sign, text: after[fresh++] ?? '' };
    else {
      if (sign !== '-') fresh += 1;
      yield { sign, text: before[old++] ?? '' };
    }
  }
}
const oldLines = (edit: LinesEdit): SignedLine[] => {
  const lines: SignedLine[] = [];
  for (const line of signedLines(edit)) if (line.sign !== '+') lines.push(line);
  return lines;
};

/** 0-based line where the header says that the old side begins; -1: it states none. */
const statedAt = ({ hint }: LinesEdit): number => (hint.line ?? 0) - 1;

const hasWrongCounts = ({ before, after, hint }: LinesEdit): boolean => {
  const header = hint.hunk?.header ?? null;
  return header !== null && (header.oldCount !== before.length || header.newCount !== after.length);
};

/** Blanks and look-alikes aside. */
const spaced = (text = '\0'): string => LEVEL_KEYS.white_space(LEVEL_KEYS.lookalikes(text));

/** Lines that a search may look for: the old side in both readings, and signed lines as they stand (see `#mayBeContext`). */
function* eitherTexts(edits: readonly LinesEdit[]): Generator<string> {
  for (const edit of edits)
    for (const line of signedLines(edit)) {
      if (line.sign !== '+') yield line.text;
      yield rawOf(line);
    }
}
function* newTexts(edits: readonly LinesEdit[]): Generator<string> {
  for (const { after } of edits) yield* after;
}
function* oldTexts(edits: readonly LinesEdit[]): Generator<string> {
  for (const { before } of edits) yield* before;
}

/** Where a hunk has been made already. */
export interface DoneHunk {
  /** 0-based line of the file where its new side begins. */
  readonly first: number;
  readonly isSure: boolean;
}

export class HunkText implements SearchedText<LinesEdit, LinePlace> {
  settings: ToleranceSettings | undefined;
  readonly index: LineIndex;
  readonly #edits: readonly LinesEdit[];
  #newChain: LineChain | null = null;
  #plainChain: LineChain | null = null;
  #eitherChain: LineChain | null = null;
  readonly #once: LinesOnce;
  #isKnown: boolean;
  /** Anchors with the lines where they stand, blanks around them aside: up to two places each. */
  readonly #anchors: ReadonlyMap<string, readonly number[]>;
  /** Lines that the hunks before have added, removed ones taken off. */
  #added = 0;
  #doubts = 0;
  /** Behind the last line of the hunk before. */
  #end = 0;
  #section: number | null = null;
  /** First line that the present hunk may begin at. */
  #below = 0;
  /** The numbers of the present hunk's header agree with its lines and with the hunks before. */
  #isSound = false;

  /** `edits`: all hunks of the file, in their order. `isKnown`: this text is the one that they were written for. */
  constructor(
    text: Text,
    edits: readonly LinesEdit[],
    settings: ToleranceSettings | undefined,
    isKnown: boolean,
  ) {
    this.settings = settings;
    this.index = indexOf(text);
    this.#isKnown = isKnown;
    this.#once = new LinesOnce(this.index, () => edits.map(({ before }) => before));
    this.#edits = edits;
    this.#anchors = placesOfAnchors(this.index, edits);
  }

  /** Knows the lines as they are signed. Most diffs stand where they say and need none. */
  get #plain(): LineChain {
    return (this.#plainChain ??= new LineChain(this.index, () => oldTexts(this.#edits)));
  }
  /** Knows the lines in both readings. */
  get #either(): LineChain {
    return (this.#eitherChain ??= new LineChain(this.index, () => eitherTexts(this.#edits)));
  }

  /** Knows the lines that hunks leave. Only a hunk that does not fit needs them. */
  get #new(): LineChain {
    return (this.#newChain ??= new LineChain(this.index, () => newTexts(this.#edits)));
  }

  /** Finds the place of the next hunk. Called with the hunks in their order. */
  place(edit: LinesEdit): LinePlace | Fault {
    const { before } = edit;
    const { bounds } = hintOf(edit);
    this.#follow(edit);
    const anchored = bounds === null ? 0 : this.#belowAnchors(bounds.anchors);
    if (typeof anchored === 'string') return fault('context_mismatch', anchored);
    this.#below = anchored;
    const isEmpty = before.length + this.index.length === 0;
    if (before.length === 0 && bounds !== null) return this.#atEnd(edit, bounds.atEnd || isEmpty);
    const broken = this.#broken(edit);
    if (broken !== null) return broken;
    if (isEmpty) return { ...placeAt(edit, 0), tolerances: hasWrongCounts(edit) ? ['counts'] : [] };
    if (before.length === 0) return fault('no_context', NO_CONTEXT);
    return this.#checked(edit, locate(edit, this) ?? this.#absent(edit));
  }

  /**
   * Returns where the last hunk, which has no place, has been made already; null: nothing shows that it has. `isSure` is true if what it leaves
   * is at the stated line between lines that stay, or occurs once in a file that is known. Else the lines may have been there all along.
   */
  findDone(edit: LinesEdit): DoneHunk | null {
    const { before, after } = edit;
    const first = statedAt(edit);
    const isThere = after.length > 0 && after.every((line, i) => this.index.is(first + i, line));
    const isSigned = !hintOf(edit).signs.includes('_');
    if (this.#isSound && isSigned && isThere && this.#isSetApart(edit, first))
      return { first, isSure: true };
    const isTelling = /[\p{L}\p{N}]/u.test(after.join());
    if (!isTelling || this.#either.find(before, 'white_space').first.length > 0) return null;
    const [only, ...others] = this.#new.find(after, 'exact').first;
    if (only === undefined || others.length > 0 || placesOf(before, after).length > 0) return null;
    return { first: only, isSure: this.#isKnown };
  }

  /** Are the changed lines of a hunk, whose new side is at `first`, between lines that stay or the ends of the file? */
  #isSetApart(edit: LinesEdit, first: number): boolean {
    const { before, after } = edit;
    const { signs, lacksNewline } = hintOf(edit);
    const head = /^ */.exec(signs)?.[0].length ?? 0;
    const tail = / *$/.exec(signs)?.[0].length ?? 0;
    const isAtEnd = first + after.length === this.index.length;
    const lacksEnd = this.index.end(this.index.length - 1) === '';
    const isEndRight =
      !(lacksNewline.before || lacksNewline.after) || (isAtEnd && lacksEnd === lacksNewline.after);
    const isStable = (lines: readonly string[]): boolean =>
      lines.some((line) => /[\p{L}\p{N}]/u.test(line));
    return (
      isEndRight &&
      before.length > 0 &&
      (first === 0 || isStable(after.slice(0, head))) &&
      (isAtEnd || isStable(after.slice(after.length - tail)))
    );
  }

  /** Passes over the last hunk, which has been made already. The text is not the one that the hunks were written for, so numbers prove less. */
  pass({ before, after }: LinesEdit): void {
    this.#added -= after.length - before.length;
    this.#isKnown = false;
    this.settings = { ...this.settings, unchecked_lines: false };
  }

  /** Takes a hunk as the next one: counts the lines that it adds, and sees whether its header fits the hunks before it. */
  #follow(edit: LinesEdit): void {
    const { before, after, hint } = edit;
    const old = statedAt(edit);
    const newLine = hintOf(edit).header?.newLine ?? 0;
    this.#isSound = old >= 0 && !hasWrongCounts(edit) && newLine - 1 - old === this.#added;
    this.#added += after.length - before.length;
    // Chunks follow the order of the file only within a section.
    if (hint.section !== this.#section) this.#end = 0;
    this.#section = hint.section;
  }

  /** Lines without context are added at the end of a file only. */
  #atEnd(edit: LinesEdit, isEnd: boolean): LinePlace | Fault {
    this.#end = this.index.length;
    return isEnd ? placeAt(edit, this.index.length) : fault('no_context', NO_CONTEXT);
  }

  /** Refuses a place that ends otherwise than the hunk says. */
  #checked(edit: LinesEdit, result: LinePlace | Fault): LinePlace | Fault {
    if ('code' in result) return result;
    const ending = this.#wrongEnding(edit, result.first);
    if (ending !== null) return fault('final_newline', ending);
    this.#end = result.first + edit.before.length;
    return result;
  }

  find(pass: PassName, edit: LinesEdit): Found {
    switch (pass) {
      case 'stated':
        return this.#isSound && this.#standsAt(edit) ? this.#stated(edit) : null;
      case 'exact':
      case 'line_endings':
      case 'trailing_space':
      case 'lookalikes':
        return this.#alike(edit, pass, []);
      case 'lost_blank':
        return this.#withLostBlanks(edit);
      case 'tabs':
      case 'indent':
        return this.#indented(edit, pass);
      default:
        return null;
    }
  }

  /** Returns the first line that a hunk may begin at, or why its anchors name no place. */
  #belowAnchors(anchors: readonly string[]): number | string {
    let below = this.#end;
    for (const text of anchors) {
      const [lineIndex, ...others] = this.#anchors.get(text) ?? [];
      const quote = JSON.stringify(text.slice(0, ANCHOR_CHARS));
      if (lineIndex === undefined)
        return `No line of the file is ${quote}, which \`@@\` names. Quote a whole line.`;
      if (others.length > 0)
        return `Several lines of the file are ${quote}, which \`@@\` names. Name one that occurs once.`;
      below = Math.max(below, lineIndex);
    }
    return below;
  }

  /** Refuses by tolerances that are off, and for damage that leaves two readings. */
  #broken(edit: LinesEdit): Fault | null {
    const { header, signs } = hintOf(edit);
    const isWrong = hasWrongCounts(edit);
    const lines = [...(signs.includes('_') ? signedLines(edit) : [])];
    const bare = lines.find(({ sign }) => sign === '_');
    const about = (line: SignedLine): string => `The line ${JSON.stringify(rawOf(line))}`;
    if (bare && !mayUse(edit, 'lost_blank', this.settings))
      return fault(
        'lost_blank',
        `${about(bare)} has lost its sign. Start context lines with a space.`,
      );
    if (!isWrong && statedAt(edit) >= 0) return null;
    const counts = `its header states ${header?.oldCount ?? 0} old and ${header?.newCount ?? 0} new lines, its body has ${edit.before.length} and ${edit.after.length}`;
    if (isWrong && !mayUse(edit, 'counts', this.settings))
      return fault(
        'counts',
        `The counts are wrong: ${counts}. Send the hunk with matching counts.`,
      );
    const words = isWrong ? lines.find(({ sign, text }) => sign === '_' && text !== '') : undefined;
    if (words) {
      const rule =
        'it may have been a changed line. Send the hunk again, every line with its sign.';
      return fault('counts', `${about(words)} has lost its sign, and ${counts}: ${rule}`);
    }
    const other = this.#mayBeContext(edit);
    if (other === undefined) return null;
    const rule =
      'it may be a context line without its leading space. Send it with that space, or with correct counts.';
    return fault('ambiguous_sign', `${about(other)} occurs in the file exactly so: ${rule}`);
  }

  /** A signed line that may be a context line of the same letters whose blank was lost: the file has it so among its neighbours. */
  #mayBeContext(edit: LinesEdit): SignedLine | undefined {
    const old = oldLines(edit);
    const isThere = (lines: readonly SignedLine[]): boolean =>
      this.#either.find(
        lines.map(({ text }) => text),
        'lookalikes',
        lines.map(rawOf),
      ).first.length > 0;
    let next = 0;
    for (const line of signedLines(edit)) {
      const before = old.slice(Math.max(0, next - NEIGHBOUR_LINES), next);
      if (line.sign !== '+') next += 1;
      const context = { sign: '_', text: rawOf(line) };
      const isKept = line.sign === ' ' || line.sign === '_';
      if (isKept || this.#doubts >= SIGNED_LINES_CHECKED || !isThere([context])) continue;
      this.#doubts += 1;
      if (isThere([...before, context, ...old.slice(next, next + NEIGHBOUR_LINES)])) return line;
    }
    return undefined;
  }

  /** ` foo` may be a context line `foo`, or ` foo` without its blank. Only diffs lose blanks so. */
  #secondReadings(edit: LinesEdit): readonly (string | undefined)[] {
    if (hintOf(edit).bounds !== null) return [];
    return oldLines(edit).map((line) => {
      const raw = rawOf(line);
      return raw.startsWith(' ') ? raw : undefined;
    });
  }

  #withLostBlanks(edit: LinesEdit): Found {
    if (hintOf(edit).bounds !== null) return null;
    const readings = this.#secondReadings(edit);
    for (const level of LEVELS) {
      if (level !== 'exact' && !mayUse(edit, level, this.settings)) continue;
      const result = this.#alike(edit, level, readings);
      if (result !== null) return result;
    }
    return null;
  }

  #alike(edit: LinesEdit, level: Level, readings: readonly (string | undefined)[]): Found {
    const isBounded = hintOf(edit).bounds !== null;
    const chain = isBounded ? this.#plain : this.#either;
    const places = this.#fitting(edit, chain.find(edit.before, level, readings));
    const [lineIndex] = places.first;
    if (lineIndex === undefined) return null;
    // Away from the stated line a reading with a lost blank may be the true one, so it must not fit in a second place.
    const all = isBounded
      ? places
      : this.#fitting(edit, chain.find(edit.before, level, this.#secondReadings(edit)));
    const isStated =
      !isBounded && this.#standsAt(edit, (text, i) => spaced(text) === spaced(this.index.line(i)));
    const first = [...new Set([...all.first, ...(isStated ? [statedAt(edit)] : [])])];
    return first.length > 1 || all.more
      ? repeated({ ...all, first }, edit)
      : this.#accept(edit, placeAt(edit, lineIndex));
  }

  #indented(edit: LinesEdit, name: ShiftName): Found {
    const { bounds, lacksNewline } = hintOf(edit);
    if (lacksNewline.before) return null;
    const result = shiftedPlaces(bounds === null ? this.#either : this.#plain, edit.before, name);
    const all = this.#fitting(edit, {
      first: result.places.map(({ first }) => first),
      more: result.more,
    });
    const place = result.places.find(({ first }) => first === all.first[0]);
    if (place === undefined) return null;
    if (all.first.length > 1 || all.more) return repeated(all, edit);
    const before = this.index.range(place.first, place.first + edit.before.length);
    const after = shiftedAfter(edit, before, place.shift);
    if (after === null) return fault('indent', UNSHIFTABLE);
    const accepted = this.#accept(edit, { ...placeAt(edit, place.first), before, after });
    return 'code' in accepted
      ? accepted
      : { ...accepted, tolerances: [...accepted.tolerances, name] };
  }

  /** Returns true if the hunk is where its header says. */
  #stated(edit: LinesEdit): LinePlace | Fault {
    const accepted = this.#accept(edit, placeAt(edit, statedAt(edit)));
    if (this.#isKnown || 'code' in accepted || this.#once.isHeldBy(edit.before)) return accepted;
    const all = this.#fitting(edit, this.#plain.find(edit.before, 'exact'));
    if (all.first.length === 1 && !all.more) return accepted;
    if (!mayUse(edit, 'unchecked_lines', this.settings)) return repeated(all, edit);
    return { ...accepted, tolerances: [...accepted.tolerances, 'unchecked_lines'] };
  }

  #standsAt(
    edit: LinesEdit,
    isLike = (text: string, lineIndex: number) => this.index.is(lineIndex, text),
  ): boolean {
    const first = statedAt(edit);
    const isLast = first + edit.before.length === this.index.length;
    if (hintOf(edit).lacksNewline.before && !isLast) return false;
    return (
      edit.before.every((line, i) => isLike(line, first + i)) &&
      this.#fitting(edit, { first: [first], more: false }).first.length === 1
    );
  }

  /** Returns the places within the hunk's bounds; if it says that the file ends, only the one at the end. */
  #fitting(edit: LinesEdit, { first, more }: Places): Places {
    const { bounds, lacksNewline } = hintOf(edit);
    const below = bounds === null ? 0 : this.#below;
    const places = { first: first.filter((lineIndex) => lineIndex >= below), more };
    if (bounds?.atEnd !== true && !lacksNewline.before) return places;
    const end = this.index.length - edit.before.length;
    if (places.first.includes(end)) return { first: [end], more: false };
    if (more || (bounds?.atEnd !== true && lacksBothNewlines(edit))) return places;
    return { first: [], more };
  }

  #accept(edit: LinesEdit, place: LinePlace): LinePlace | Fault {
    const { first, before } = place;
    const isAway = first !== statedAt(edit) && hintOf(edit).bounds === null;
    if (isAway && before.every((text) => text.trim() === ''))
      return fault('no_context', NO_CONTEXT);
    if (isAway && !mayUse(edit, 'line_drift', this.settings)) {
      const stated = edit.hint.line === null ? 'no line' : `line ${edit.hint.line}`;
      const message = `It matches at line ${first + 1}, its header states ${stated}. Send it with the correct line number.`;
      return fault('line_drift', message);
    }
    const tolerances = new Set<Tolerance>();
    if (first + before.length < this.index.length && lacksBothNewlines(edit)) {
      if (!mayUse(edit, 'line_endings', this.settings)) return fault('final_newline', NOT_AT_END);
      tolerances.add('line_endings');
    }
    if (hasWrongCounts(edit)) tolerances.add('counts');
    if (isAway) tolerances.add('line_drift');
    this.#addLikenesses(tolerances, edit, place);
    return tolerances.size === 0 ? place : { ...place, tolerances: [...tolerances] };
  }

  /** Adds the tolerances by which the lines of the old side are those of the base. */
  #addLikenesses(tolerances: Set<Tolerance>, edit: LinesEdit, { first, before }: LinePlace): void {
    const { signs } = hintOf(edit);
    const oldSigns = signs.includes('_') ? signs.replaceAll('+', '') : '';
    for (const [i, text] of before.entries()) {
      if (oldSigns.charAt(i) === '_') tolerances.add('lost_blank');
      if (!this.index.is(first + i, text)) this.#addLikeness(tolerances, edit, i, first + i);
    }
  }

  /** Adds the tolerances by which line `i` of the old side is the base line. */
  #addLikeness(tolerances: Set<Tolerance>, edit: LinesEdit, i: number, baseLine: number): void {
    const base = this.index.line(baseLine) ?? '';
    const text = edit.before[i] ?? '';
    const asSigned = levelBetween(text, base);
    if (asSigned === undefined) tolerances.add('lost_blank');
    const sign = hintOf(edit).signs.replaceAll('+', '').charAt(i);
    const level = asSigned ?? levelBetween(rawOf({ sign, text }), base) ?? 'exact';
    if (level !== 'exact') tolerances.add(level);
  }

  #absent(edit: LinesEdit): Fault {
    const { bounds } = hintOf(edit);
    const below = bounds === null ? 0 : this.#below;
    const from = bounds === null ? statedAt(edit) : below;
    const near = nearest(this.index.all, edit.before, from + 1);
    const end = bounds?.atEnd === true ? ' at the end of the file' : '';
    const where =
      bounds === null ? ' in the file' : `${below > 0 ? ` below line ${below}` : ''}${end}`;
    const again = bounds === null ? 'the hunk again with these lines' : 'these lines';
    const order = bounds === null ? '' : ', chunks in the order of the file';
    const message = `Its context and removed lines do not occur${where}. ${describeNearest(near)} Send ${again} exactly as in the file${order}.`;
    return { ...fault('context_mismatch', message), ...copyOf(near) };
  }

  /** Returns why what the hunk says about the end of the file is not true; null: it is. */
  #wrongEnding(edit: LinesEdit, lineIndex: number): string | null {
    const { length } = this.index;
    const { before, after } = hintOf(edit).lacksNewline;
    const isEnd = lineIndex + edit.before.length === length;
    if (!isEnd && lacksBothNewlines(edit)) return null;
    if (before && this.index.end(length - 1) !== '')
      return 'It says `\\ No newline at end of file`, but the file ends with a line ending. Omit that line.';
    if (!isEnd && (before || after)) return NOT_AT_END;
    return null;
  }
}

/** Refuses a hunk of which only what it leaves is in the file. */
export const maybeDone = ({ hint }: LinesEdit, { first }: DoneHunk): Fault => {
  const name = hint.hunk?.bounds === null ? 'hunk' : 'chunk';
  const message = `Its context and removed lines do not occur in the file. What it makes of them does, at line ${first + 1}, so it may be done already, or they may have been there before. Omit this ${name} if it is done, else send its lines exactly as in the file.`;
  return fault('context_mismatch', message);
};

const placeAt = ({ before, after }: LinesEdit, first: number): LinePlace => ({
  first,
  before,
  after,
  tolerances: [],
  kept: null,
});

/** Returns the new side in the file's indentation: lines that stay as `before` has them, added ones shifted; null: one cannot be. */
const shiftedAfter = (
  edit: LinesEdit,
  before: readonly string[],
  shift: (line: string) => string | null,
): readonly string[] | null => {
  const lines: string[] = [];
  let old = 0;
  for (const { sign, text } of signedLines(edit)) {
    const line = sign === '+' ? shift(text) : (before[old] ?? null);
    if (line === null) return null;
    if (sign !== '+') old += 1;
    if (sign !== '-') lines.push(line);
  }
  return lines;
};

const placesOfAnchors = (
  index: LineIndex,
  edits: readonly LinesEdit[],
): ReadonlyMap<string, readonly number[]> => {
  const anchors = new Map<string, number[]>();
  for (const { hint } of edits)
    for (const line of hint.hunk?.bounds?.anchors ?? []) anchors.set(line, []);
  for (const [lineIndex, line] of anchors.size === 0 ? [] : index.all.entries()) {
    const places = anchors.get(line.trim());
    if (places !== undefined && places.length < 2) places.push(lineIndex);
  }
  return anchors;
};

const repeated = ({ first, more }: Places, edit: LinesEdit): Fault => {
  const lines = `${first.map((node) => node + 1).join(', ')}${more ? ' and more' : ''}`;
  const where =
    hintOf(edit).bounds === null
      ? 'where the change belongs, with the correct line number in the header'
      : 'one';
  const message = `Its context and removed lines occur in several places, at lines ${lines}. Add context lines until they match only ${where}.`;
  return fault('context_repeated', message);
};
