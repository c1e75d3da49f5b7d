/**
 * Where each hunk of a file belongs.
 *
 * The pre-image (context and removed lines) is looked for exactly, then tolerance by tolerance. Where it stands exactly at the stated line that
 * place wins, provided the header is sound: counts right, and the new side's line agreeing with what the hunks before have added. If it
 * stands elsewhere too the number decides, which is the tolerance `unchecked_lines` unless the file is known to be the one that the answer was
 * made for. In every other case it must stand in exactly one place of the file, and the stated line must not hold the same but for blanks;
 * with several the hunk is refused with all of them. Blank lines alone stand at the stated line only.
 */
import { type Text, indexOf, type LineIndex, LinesOnce } from '../../text/lines.js';
import type { Tolerance, ToleranceSettings } from '../../../shared/formats.js';
import { LineChain, type Places } from '../../locate/line-chain.js';
import { LEVEL_KEYS, levelsOn, levelBetween, toleranceOn } from '../../locate/likeness.js';
import { shiftHunk, shiftedPlaces, UNSHIFTABLE } from '../../locate/indent.js';
import { copyOf, describeNearest, nearest } from '../../locate/nearest.js';
import type { Fault } from '../../types.js';
import { fault } from '../../dialects/reader.js';
import { type Hunk, type HunkLine, rawOf, wrongCounts } from './hunk.js';

const NEIGHBOUR_LINES = 3; // bound: On each side of a line whose sign is in doubt: as many as git's diffs have of context.
const SIGNED_LINES_CHECKED = 100; // bound: Lines of a file's hunks that the file has with their sign, of which each costs a pass over it.

export interface Located {
  readonly hunk: Hunk;
  /** 0-based first line of the base that it covers. */
  readonly at: number;
  readonly tolerances: readonly Tolerance[];
}

const oldSide = (hunk: Hunk): HunkLine[] => hunk.lines.filter((line) => line.sign !== '+');
const textsOf = (lines: readonly HunkLine[]): string[] => lines.map((line) => line.text);
/** Blanks and look-alikes aside. */
const spaced = (text = '\0'): string => LEVEL_KEYS.white_space(LEVEL_KEYS.lookalikes(text));

/** Lines that a search may look for: the old side in both readings, and signed lines as they stand (see `mayBeContext`). */
function* wantedTexts(hunks: readonly Hunk[]): Generator<string> {
  for (const hunk of hunks)
    for (const line of hunk.lines) {
      if (line.sign !== '+') yield line.text;
      yield rawOf(line);
    }
}
function* oldSides(hunks: readonly Hunk[]): Generator<readonly string[]> {
  for (const hunk of hunks) yield textsOf(oldSide(hunk));
}
function* oldTexts(hunks: readonly Hunk[]): Generator<string> {
  for (const texts of oldSides(hunks)) yield* texts;
}

/** Finds hunks in one file. `locate` is called with its hunks in their order. */
export class HunkLocator {
  readonly #index: LineIndex;
  /** Knows the lines as they are signed. */
  readonly #plain: LineChain;
  /** Knows them in both readings. Each is built when it is first asked, and few diffs need this one. */
  readonly #chain: LineChain;
  readonly #once: LinesOnce;
  readonly #tolerances: ToleranceSettings | undefined;
  readonly #known: boolean;
  #added = 0;
  #doubts = 0;
  #end = 0;

  /** `known`: this text is the one that the diff was made for. */
  constructor(
    text: Text,
    hunks: readonly Hunk[],
    tolerances: ToleranceSettings | undefined,
    known: boolean,
  ) {
    this.#index = indexOf(text);
    this.#known = known;
    this.#once = new LinesOnce(this.#index, () => oldSides(hunks));
    this.#plain = new LineChain(this.#index, () => oldTexts(hunks));
    this.#chain = new LineChain(this.#index, () => wantedTexts(hunks));
    this.#tolerances = tolerances;
  }

  locate(hunk: Hunk): Located | Fault {
    const sound = hunk.oldAt >= 0 && !wrongCounts(hunk) && hunk.newAt - hunk.oldAt === this.#added;
    this.#added += hunk.newLines - hunk.oldLines;
    const broken = this.#broken(hunk);
    if (broken) return broken;
    const old = oldSide(hunk);
    if (old.length + this.#index.length === 0)
      return { hunk, at: 0, tolerances: wrongCounts(hunk) ? ['counts'] : [] };
    if (old.length === 0) return fault('no_context', NO_CONTEXT);
    const found = this.#find(hunk, old, sound);
    if ('code' in found) return found;
    const ending = this.#wrongEnding(hunk, found.at);
    if (ending !== null) return fault('final_newline', ending);
    if (found.at < this.#end)
      return fault(
        'overlap',
        `It belongs at line ${found.at + 1}, but the hunk before it reaches to line ${this.#end}. Send hunks in the order of the file, joined where they touch the same lines.`,
      );
    this.#end = found.at + old.length;
    return found;
  }

  /** Tolerances that are off, and damage that leaves two readings. */
  #broken(hunk: Hunk): Fault | null {
    const isWrong = wrongCounts(hunk);
    const counts = `its header states ${hunk.oldCount} old and ${hunk.newCount} new lines, its body has ${hunk.oldLines} and ${hunk.newLines}`;
    const said = (line: HunkLine): string => `The line ${JSON.stringify(rawOf(line))}`;
    const bare = hunk.lines.find(({ unsigned }) => unsigned);
    if (bare && !toleranceOn('lost_blank', this.#tolerances))
      return fault(
        'lost_blank',
        `${said(bare)} has lost its sign. Start context lines with a space.`,
      );
    if (!isWrong && hunk.oldAt >= 0) return null;
    if (isWrong && !toleranceOn('counts', this.#tolerances))
      return fault(
        'counts',
        `The counts are wrong: ${counts}. Send the hunk with matching counts.`,
      );
    const words = hunk.lines.find(({ unsigned, text }) => isWrong && unsigned && text !== '');
    if (words) {
      const rule =
        'it may have been a changed line. Send the hunk again, every line with its sign.';
      return fault('counts', `${said(words)} has lost its sign, and ${counts}: ${rule}`);
    }
    const other = this.#mayBeContext(hunk);
    if (other === undefined) return null;
    const rule =
      'it may be a context line without its leading space. Send it with that space, or with correct counts.';
    return fault('ambiguous_sign', `${said(other)} occurs in the file exactly so: ${rule}`);
  }

  /** A signed line that may be a context line of the same letters whose blank was lost: the file has it so among its neighbours. */
  #mayBeContext(hunk: Hunk): HunkLine | undefined {
    const old = oldSide(hunk);
    const isHeld = (lines: readonly HunkLine[]): boolean =>
      this.#chain.find(textsOf(lines), 'lookalikes', lines.map(rawOf)).first.length > 0;
    let next = 0;
    return hunk.lines.find((line) => {
      const before = old.slice(Math.max(0, next - NEIGHBOUR_LINES), next);
      if (line.sign !== '+') next += 1;
      const context = { ...line, text: rawOf(line), unsigned: true };
      if (line.sign === ' ' || this.#doubts >= SIGNED_LINES_CHECKED || !isHeld([context]))
        return false;
      this.#doubts += 1;
      return isHeld([...before, context, ...old.slice(next, next + NEIGHBOUR_LINES)]);
    });
  }

  #find(hunk: Hunk, old: readonly HunkLine[], sound: boolean): Located | Fault {
    if (sound && this.#standsAt(hunk, old)) return this.#stated(hunk, old);
    const isBounded = hunk.bounds !== undefined;
    const chain = isBounded ? this.#plain : this.#chain;
    const texts = textsOf(old);
    // ` foo` may be a context line `foo`, or ` foo` without its blank.
    const damaged = old
      .map(rawOf)
      .map((raw) => (!isBounded && raw.startsWith(' ') ? raw : undefined));
    const levels = levelsOn(this.#tolerances);
    const either = !isBounded && toleranceOn('lost_blank', this.#tolerances) ? [[], damaged] : [[]];
    const climb = either.flatMap((readings) => levels.map((level) => ({ level, readings })));
    for (const { level, readings } of climb) {
      const places = this.#fitting(hunk, old, chain.find(texts, level, readings));
      const [at] = places.first;
      if (at === undefined) continue;
      // Away from the stated line a reading with a lost blank may be the true one, so it must not fit in a second place.
      const all = isBounded ? places : this.#fitting(hunk, old, chain.find(texts, level, damaged));
      const stated = this.#standsAt(
        hunk,
        old,
        (text, i) => spaced(text) === spaced(this.#index.line(i)),
      );
      const first = [...new Set([...all.first, ...(stated ? [hunk.oldAt] : [])])];
      return first.length > 1 || all.more
        ? repeated({ ...all, first }, hunk)
        : this.#accept(hunk, old, at);
    }
    return this.#indented(hunk, old) ?? this.#mismatch(hunk, old);
  }

  /** The tolerance `indent`; null: it is off, or the old side stands nowhere in another indentation. */
  #indented(hunk: Hunk, old: readonly HunkLine[]): Located | Fault | null {
    if (!toleranceOn('indent', this.#tolerances) || old.at(-1)?.noNewline === true) return null;
    const texts = textsOf(old);
    const { places, more } = shiftedPlaces(
      hunk.bounds === undefined ? this.#chain : this.#plain,
      texts,
    );
    const all = this.#fitting(hunk, old, { first: places.map(({ first }) => first), more });
    const place = places.find(({ first }) => first === all.first[0]);
    if (place === undefined) return null;
    if (all.first.length > 1 || all.more) return repeated(all, hunk);
    const lines = shiftHunk(
      hunk.lines,
      this.#index.range(place.first, place.first + old.length),
      place.shift,
    );
    if (lines === null) return fault('indent', UNSHIFTABLE);
    const shifted = { ...hunk, lines };
    const accepted = this.#accept(shifted, oldSide(shifted), place.first);
    return 'code' in accepted
      ? accepted
      : { ...accepted, tolerances: [...accepted.tolerances, 'indent'] };
  }

  /** The hunk stands where its header says. */
  #stated(hunk: Hunk, old: readonly HunkLine[]): Located | Fault {
    const accepted = this.#accept(hunk, old, hunk.oldAt);
    if (this.#known || 'code' in accepted || this.#once.isHeldBy(textsOf(old))) return accepted;
    const all = this.#fitting(hunk, old, this.#plain.find(textsOf(old), 'exact'));
    if (all.first.length === 1 && !all.more) return accepted;
    if (!toleranceOn('unchecked_lines', this.#tolerances)) return repeated(all, hunk);
    return { ...accepted, tolerances: [...accepted.tolerances, 'unchecked_lines'] };
  }

  #standsAt(
    hunk: Hunk,
    old: readonly HunkLine[],
    isLike = (text: string, at: number) => this.#index.is(at, text),
  ): boolean {
    const fits = old.every((line, i) => isLike(line.text, hunk.oldAt + i));
    return (
      fits && this.#fitting(hunk, old, { first: [hunk.oldAt], more: false }).first.length === 1
    );
  }

  /** Places within the hunk's bounds; where it says that the file ends, only the one at the end. */
  #fitting({ bounds }: Hunk, old: readonly HunkLine[], { first, more }: Places): Places {
    const places = { first: first.filter((at) => at >= (bounds?.below ?? 0)), more };
    if (bounds?.atEnd !== true && old.at(-1)?.noNewline !== true) return places;
    const end = this.#index.length - old.length;
    if (places.first.includes(end)) return { first: [end], more: false };
    return more ? places : { first: [], more };
  }

  #accept(hunk: Hunk, old: readonly HunkLine[], at: number): Located | Fault {
    const drifts = at !== hunk.oldAt && hunk.bounds === undefined;
    if (drifts && old.every(({ text }) => text.trim() === ''))
      return fault('no_context', NO_CONTEXT);
    const tolerances = new Set<Tolerance>();
    if (wrongCounts(hunk)) tolerances.add('counts');
    if (drifts) tolerances.add('line_drift');
    for (const [i, line] of old.entries()) {
      const base = this.#index.is(at + i, line.text) ? line.text : (this.#index.line(at + i) ?? '');
      const asSigned = levelBetween(line.text, base);
      if (line.unsigned || asSigned === undefined) tolerances.add('lost_blank');
      const level = asSigned ?? levelBetween(rawOf(line), base) ?? 'exact';
      if (level !== 'exact') tolerances.add(level);
    }
    if (drifts && !toleranceOn('line_drift', this.#tolerances))
      return fault(
        'line_drift',
        `It matches at line ${at + 1}, its header states ${hunk.oldAt < 0 ? 'no line' : `line ${hunk.oldAt + 1}`}. Send it with the correct line number.`,
      );
    return { hunk, at, tolerances: [...tolerances] };
  }

  #mismatch({ oldAt, bounds }: Hunk, old: readonly HunkLine[]): Fault {
    const near = nearest(this.#index.all, textsOf(old), (bounds?.below ?? oldAt) + 1);
    const [below, end] = [
      bounds?.below ?? 0,
      bounds?.atEnd === true ? ' at the end of the file' : '',
    ];
    const where =
      bounds === undefined ? ' in the file' : `${below > 0 ? ` below line ${below}` : ''}${end}`;
    const again = bounds === undefined ? 'the hunk again with these lines' : 'these lines';
    const order = bounds === undefined ? '' : ', chunks in the order of the file';
    const message = `Its context and removed lines do not occur${where}. ${describeNearest(near)} Send ${again} exactly as in the file${order}.`;
    return { code: 'context_mismatch', message, ...copyOf(near) };
  }

  /** A statement about the end of the file that is not true of this file. */
  #wrongEnding(hunk: Hunk, at: number): string | null {
    const { length } = this.#index;
    const reachesEnd = at + hunk.oldLines === length;
    if (
      hunk.lines.some((line) => line.noNewline && line.sign !== '+') &&
      this.#index.end(length - 1) !== ''
    )
      return 'It says `\\ No newline at end of file`, but the file ends with a line ending. Omit that line.';
    if (!reachesEnd && hunk.lines.some((line) => line.noNewline))
      return 'It says `\\ No newline at end of file`, but does not reach the end of the file. Omit that line.';
    return null;
  }
}

export const NO_CONTEXT =
  'It quotes no line of the file, or blank ones alone, so its place cannot be verified. Add at least one unchanged line before or after the changed ones.';

const repeated = ({ first, more }: Places, { bounds }: Hunk): Fault => {
  const lines = `${first.map((node) => node + 1).join(', ')}${more ? ' and more' : ''}`;
  const where =
    bounds === undefined
      ? 'where the change belongs, with the correct line number in the header'
      : 'one';
  const message = `Its context and removed lines occur in several places, at lines ${lines}. Add context lines until they match only ${where}.`;
  return fault('context_repeated', message);
};
