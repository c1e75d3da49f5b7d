/**
 * The file of edits that quote its lines: each is located in the lines as the edits before left them, and changes those lines. Lines that
 * both sides of an edit have in common keep their base line.
 */
import type { Tolerance } from '../../shared/formats.js';
import type { LinesEdit, LinesReading } from '../edit.js';
import { type LinePlace, locate, mayUse } from '../locate.js';
import { BlockText } from '../locate/block-text.js';
import { placesOf } from '../locate/elision.js';
import { carryLines, isKnownBase, levelBetween } from '../locate/likeness.js';
import { unnumbered } from '../locate/numbered.js';
import * as say from '../locate/refusals.js';
import type { FilePlan } from '../text/changes.js';
import { withoutFence } from '../text/fence.js';
import { lineOrigins } from '../text/line-diff.js';
import { indexOf, indexOfLines, type LineIndex, NO_LINES } from '../text/lines.js';
import { withoutBom } from '../text/to-splices.js';
import type { ApplyOptions, ContextFile } from '../types.js';
import type { EditOutcome, FileOfEdits } from './outcome.js';
import { contradiction, isTelling, Repeats, skippedAddition, skippedTwice } from './repeats.js';

type Sides = Pick<LinesReading, 'before' | 'after'>;

export class LinesFile implements FileOfEdits<LinesEdit> {
  readonly #path: string;
  readonly #base: LineIndex;
  readonly #text: BlockText;
  readonly #hasBom: boolean;
  #exists: boolean;
  /** Edits that changed something, to recognize one that is sent again. */
  readonly #repeats = new Repeats();
  /** Lines that an edit quoted and kept. */
  readonly #quotedNodes = new Set<number>();

  constructor(
    {
      path,
      file,
      edits,
    }: {
      readonly path: string;
      readonly file: ContextFile;
      readonly edits: readonly LinesEdit[];
    },
    options: ApplyOptions,
  ) {
    this.#path = path;
    this.#base = file.text === null ? NO_LINES : indexOf(file.text);
    this.#hasBom = file.hasBom === true;
    this.#exists = file.text !== null;
    const isKnown = isKnownBase(path, options);
    this.#text = new BlockText(this.#base, {
      settings: options.tolerances,
      isKnown,
      quotes: () => this.#quotesOf(edits),
      isRepeat: (edit) => this.#isRepeat(edit),
    });
  }

  get isChanged(): boolean {
    return this.#text.changes().length > 0;
  }

  take(stated: LinesEdit): EditOutcome {
    const edit = this.#hasBom ? withoutBoms(stated) : stated;
    const reading = this.#readingOf(edit);
    if (reading === null) return { kind: 'refused', ...say.unclearDivider(say.blockWordsOf(edit)) };
    const body = indexOfLines(reading.after);
    const inner = withoutFence(this.#path, body, this.#base, true);
    if ('code' in inner) return { kind: 'refused', ...inner };
    if (reading.refusal !== null) return { kind: 'refused', ...reading.refusal };
    const before = this.#unfenced(reading.before);
    if (before.length === 0) return this.#create(edit, reading.after);
    if (!this.#exists) return { kind: 'refused', ...say.fileAbsent(say.blockWordsOf(edit)) };
    const plain = { ...edit, before, after: inner.all };
    if (isSame(plain)) return this.#unmoved(plain);
    const bare = this.#unnumbered(plain);
    const outcome = this.#apply(bare ?? plain);
    if (outcome.kind !== 'changed') return outcome;
    this.#repeats.add(sidesOf(plain), edit.hint.index);
    const line = this.#lineOfLast;
    const isFenced = inner !== body || before !== reading.before;
    const tolerances = [
      ...outcome.tolerances,
      ...(bare === null ? [] : [{ tolerance: 'listing_numbers', line } as const]),
      ...(isFenced ? [{ tolerance: 'fenced_body', line } as const] : []),
    ];
    return { kind: 'changed', tolerances };
  }

  /** Returns an edit without the line numbers of its quote, if the file has the lines without; null: it has no numbers. */
  #unnumbered(edit: LinesEdit): LinesEdit | null {
    if (!mayUse(edit, 'listing_numbers', this.#text.settings)) return null;
    const plain = unnumbered(edit.before, edit.after);
    if (plain === null) return null;
    const { chain } = this.#text;
    const occurs = (lines: readonly string[]): boolean =>
      chain.find(lines, 'trailing_space').first.length > 0;
    return occurs(edit.before) || !occurs(plain.before) ? null : { ...edit, ...plain };
  }

  *#quotesOf(edits: readonly LinesEdit[]): Generator<string> {
    for (const stated of edits) {
      const { before, after, hint } = this.#hasBom ? withoutBoms(stated) : stated;
      for (const reading of hint.readings ?? [{ before, after }]) yield* this.#quotesIn(reading);
    }
  }

  *#quotesIn({ before, after }: Sides): Generator<string> {
    const unfenced = this.#unfenced(before);
    yield* [...before, ...unfenced, ...after];
    const plain = unnumbered(unfenced, after);
    if (plain !== null) yield* [...plain.before, ...plain.after];
  }

  /** Returns quoted lines without a fence around them; the same lines if they have none, or it is not clear whose it is. */
  #unfenced(quote: readonly string[]): readonly string[] {
    const inner = withoutFence(this.#path, indexOfLines(quote), this.#base, true);
    return 'code' in inner ? quote : inner.all;
  }

  /** Of several readings takes the one whose quote occurs in the file, if no other does; those that would write a marker count last. */
  #readingOf({ before, after, hint }: LinesEdit): LinesReading | null {
    if (hint.readings === null) return { before, after, refusal: hint.refusal };
    const matching = hint.readings.filter(
      (reading) =>
        reading.before.length > 0 &&
        this.#text.chain.find(reading.before, 'exact').first.length > 0,
    );
    const fitting =
      matching.length > 1 ? matching.filter(({ refusal }) => refusal === null) : matching;
    return fitting.length === 1 ? (fitting[0] ?? null) : null;
  }

  #create(edit: LinesEdit, lines: readonly string[]): EditOutcome {
    // Also where both are empty: a model that copies an empty form has not said that nothing is to be done.
    const isEmpty = this.#base.length === 0 && !this.#text.isChanged && lines.length > 0;
    if (this.#exists && !isEmpty)
      return { kind: 'refused', ...say.fileExists(say.blockWordsOf(edit)) };
    this.#exists = true;
    this.#text.isChanged = true;
    this.#text.chain.replace([], lines);
    return { kind: 'changed', tolerances: [] };
  }

  /** An edit that asks for nothing still says what the file holds: if that occurs nowhere, the response may be for another file. */
  #unmoved(edit: LinesEdit): EditOutcome {
    const words = say.blockWordsOf(edit);
    const isSure = this.#text.isKnown || this.#text.holds(edit);
    return {
      kind: 'skipped',
      ...say.sameSides(words),
      absence: isSure ? null : say.sameAndAbsent(words),
    };
  }

  #apply(edit: LinesEdit): EditOutcome {
    const repeated = this.#repeated(edit);
    if (repeated !== null) return repeated;
    const place = locate(edit, this.#text);
    if (place !== null && 'code' in place) return { kind: 'refused', ...place };
    if (place !== null) return this.#isAdded(place) ? skippedAddition() : this.#change(edit, place);
    const words = say.blockWordsOf(edit);
    const present = this.#present(edit);
    if (present === null) return { kind: 'refused', ...this.#text.absent(edit) };
    const isSure = present === 'edit' || this.#text.isKnown;
    return {
      kind: 'skipped',
      ...say.alreadyPresent(words),
      absence: isSure ? null : say.presentUnsure(words),
    };
  }

  /** Puts the new lines in place of the quoted ones. */
  #change(edit: LinesEdit, place: LinePlace): EditOutcome {
    const { chain, settings } = this.#text;
    const { before, after } = place;
    const nodes = chain.run(place.first, before.length);
    const tolerances = this.#tolerancesAt(place, nodes);
    if (tolerances.has('earlier_block') && !mayUse(edit, 'earlier_block', settings))
      return { kind: 'refused', ...say.onEarlier(say.blockWordsOf(edit)) };
    const kept = place.kept ?? lineOrigins(before, after);
    // In another indentation nothing is shared at the start of a line; new lines were shifted as a whole.
    const carried =
      place.kept === null ? carryLines(before, this.#text.textsOf(nodes), after, kept) : after;
    const parts = after.map((text, j) => nodes[kept[j] ?? -1] ?? carried[j] ?? text);
    for (const part of parts) if (typeof part === 'number') this.#quotedNodes.add(part);
    chain.replace(nodes, parts);
    this.#text.isChanged = true;
    const line = chain.originOf(nodes[0] ?? 0) + 1;
    this.#lineOfLast = line > 0 ? line : null;
    return {
      kind: 'changed',
      tolerances: [...tolerances].map((tolerance) => ({ tolerance, line: this.#lineOfLast })),
    };
  }
  /** 1-based base line of the last change; null: it began in text that an edit wrote. */
  #lineOfLast: number | null = null;

  /** Returns what a place needs: its pass, differences of its lines, and text that edits before it wrote or took away. */
  #tolerancesAt(
    { before, tolerances: needed }: LinePlace,
    nodes: readonly number[],
  ): Set<Tolerance> {
    const { chain } = this.#text;
    const tolerances = new Set<Tolerance>(needed);
    const first = chain.originOf(nodes[0] ?? 0);
    for (const [i, node] of nodes.entries()) {
      const level = levelBetween(before[i] ?? '', chain.textOf(node)) ?? 'exact';
      if (level !== 'exact') tolerances.add(level);
      const origin = chain.originOf(node);
      if (origin < 0 || (i > 0 && origin !== first + i)) tolerances.add('earlier_block');
    }
    return tolerances;
  }

  /** Was the same edit made before? */
  #isRepeat(edit: LinesEdit): boolean {
    return this.#repeats.sameAs(sidesOf(edit)) !== null;
  }

  /** What becomes of an edit whose lines another one of the response quotes, too; null: none does. */
  #repeated(edit: LinesEdit): EditOutcome | null {
    const sides = sidesOf(edit);
    const { chain } = this.#text;
    const same = this.#repeats.sameAs(sides);
    const isDone = edit.after.length === 0 || chain.find(edit.after, 'exact').first.length > 0;
    if (same !== null && isDone) return skippedTwice('block', same);
    const other = this.#repeats.contradicted(sides);
    if (other === null) return null;
    const { quote } = say.blockWordsOf(edit);
    return { kind: 'refused', ...contradiction('Block', quote, other) };
  }

  /**
   * Are the lines that an edit adds before or after those that it quotes there already? Lines that an edit before this one quotes were there
   * when the response was written, so they are not what it adds.
   */
  #isAdded({ first, before, after }: LinePlace): boolean {
    const added = after.length - before.length;
    if (added <= 0) return false;
    const { chain } = this.#text;
    const isThere = (distance: number, lines: readonly string[]): boolean => {
      const nodes = isTelling(lines.join()) ? chain.runAt(first, distance, lines) : null;
      return nodes !== null && !nodes.some((node) => this.#quotedNodes.has(node));
    };
    const isTail = before.every((line, i) => after[i] === line);
    if (isTail && isThere(before.length, after.slice(before.length))) return true;
    const isHead = before.every((line, i) => after[added + i] === line);
    return isHead && isThere(-added, after.slice(0, added));
  }

  /**
   * Is the new text there once: lines of the base, or what the same edit wrote before? What another edit wrote is no sign that this one is
   * done, and neither are brackets alone, or lines that the quote has in a row as well. Lines of a base that is not known are one only if
   * the whole response is done: they may have stood there all along, and another change may have taken away what the edit quotes.
   */
  #present(edit: LinesEdit): 'base' | 'edit' | null {
    const { before, after } = edit;
    const { chain } = this.#text;
    if (after.length === 0 || this.#text.chain.find(before, 'white_space').first.length > 0)
      return null;
    const [first, ...more] = this.#text.chain.find(after, 'exact').first;
    if (first === undefined || more.length > 0) return null;
    if (this.#isRepeat(edit)) return 'edit';
    if (!/[\p{L}\p{N}]/u.test(after.join()) || placesOf(before, after).length > 0) return null;
    const nodes = chain.run(first, after.length);
    return nodes.every((node) => chain.originOf(node) >= 0) ? 'base' : null;
  }

  plans(): readonly FilePlan[] {
    return [{ kind: 'lines', path: this.#path, changes: this.#text.changes() }];
  }
}

const sidesOf = ({ before, after, hint }: LinesEdit) => ({
  before: before.join('\n'),
  after: after.join('\n'),
  line: hint.line,
});

const isSame = ({ before, after }: Sides): boolean =>
  before.length === after.length && before.every((line, i) => line === after[i]);

const withoutBoms = (edit: LinesEdit): LinesEdit => {
  const plain = ({ before, after, refusal }: LinesReading): LinesReading => ({
    before: before.map(withoutBom),
    after: after.map(withoutBom),
    refusal,
  });
  const { readings, refusal } = edit.hint;
  const { before, after } = plain({ before: edit.before, after: edit.after, refusal });
  return { ...edit, before, after, hint: { ...edit.hint, readings: readings?.map(plain) ?? null } };
};
