/**
 * begin-patch, a dialect that other tools taught models: a patch without line numbers (docs/formats.md says more).
 *
 *   answer = *( prose / fence ) "*** Begin Patch" NL 1*file "*** End Patch" NL *( prose / fence )
 *   file   = "*** Add File: " path NL *( "+" text NL )
 *          / "*** Delete File: " path NL
 *          / "*** Update File: " path NL [ "*** Move to: " path NL ] 1*chunk
 *   chunk  = *( "@@" [ " " line that stands above ] NL ) 1*( ( " " / "-" / "+" ) text NL ) [ "*** End of File" NL ]
 *
 * A chunk's context and removed lines must stand in exactly one place after the chunk before; `@@` lines, which must each stand once,
 * leave only places below them, and `*** End of File` only the end. Additions without context are refused, except at the end of the
 * file. `a/` or `b/` before a path is passed over where only what follows is a file.
 * Tolerances: lost_blank, line_endings, trailing_space, lookalikes, indent. Edits, for the marker: chunks; Add and Delete count as one.
 */
import { type Chunk, type PatchedFile, PatchReader } from './parse.js';
import type { FilePlan } from '../../text/changes.js';
import { indexOf, indexOfLines, type LineIndex } from '../../text/lines.js';
import { LineChain, type Places } from '../../locate/line-chain.js';
import { levelBetween, levelsOn, toleranceOn } from '../../locate/likeness.js';
import { shiftHunk, shiftedPlaces, UNSHIFTABLE } from '../../locate/indent.js';
import { copyOf, describeNearest, nearest } from '../../locate/nearest.js';
import { lookUp, withoutPrefix } from '../../paths.js';
import type { Tolerance, ToleranceSettings } from '../../../shared/formats.js';
import type { FormatContext, FormatModule, Reading, Reason, UsedTolerance } from '../../types.js';
import { composeHunks } from '../unified-diff/index.js';

export const beginPatch: FormatModule = {
  format: 'begin-patch',
  read: (body, context) => {
    const reader = new PatchReader(body, context);
    const fault = reader.parse();
    if (fault !== null) return { reading: fault, files: 0, edits: 0 };
    return { reading: readFiles(reader, context), files: reader.files.length, edits: reader.edits };
  },
};

const readFiles = ({ files, notes }: PatchReader, context: FormatContext): Reading => {
  const planner = new Planner(context);
  const reasons = files.flatMap((file) => planner.add(file));
  const { plans, tolerances } = planner;
  return reasons.length > 0 ? { kind: 'refused', reasons } : { kind: 'plans', plans, tolerances, notes };
};

class Planner {
  readonly plans: FilePlan[] = [];
  readonly tolerances: UsedTolerance[] = [];
  /** Paths of files and targets of moves that the patch has spoken of: each may come once. */
  readonly #taken = new Set<string>();
  readonly #context: FormatContext;

  constructor(context: FormatContext) {
    this.#context = context;
  }

  /** Adds the file's plans, or tells why it is refused. */
  add({ kind, path: answered, chunks, moveTo, index }: PatchedFile): readonly Reason[] {
    const found = lookUp(kind === 'add' ? answered : withoutPrefix(answered, this.#context), this.#context, index);
    if (!found.ok) return [found.reason];
    const { path } = found;
    const { text } = found.file;
    const refuse = (code: string, message: string, of = path): Reason[] => [{ code, path: of, index, message }];
    const twice = (of: string): Reason[] =>
      refuse('file_twice', `${of} comes twice in the patch. Put all its chunks under one header.`, of);
    if (this.#taken.has(path)) return twice(path);
    this.#taken.add(path);
    if (kind === 'add') {
      if (text !== null)
        return refuse(
          'already_exists',
          `The patch adds ${path}, which exists already. Send it as \`*** Update File\`.`,
        );
      const added = chunks.flatMap((chunk) => chunk.lines.map((line) => line.text));
      this.plans.push({ kind: 'lines', path, result: indexOfLines(added) });
      return [];
    }
    if (text === null) return refuse('target_absent', `${path} does not exist. Send it as \`*** Add File\`.`);
    if (kind === 'delete') {
      this.plans.push({ kind: 'delete', path });
      return [];
    }
    const lines = indexOf(text);
    const places: Place[] = [];
    const reasons = this.#locate(chunks, path, lines, places);
    if (reasons.length > 0) return reasons;
    const to = moveTo === null ? null : lookUp(moveTo, this.#context, index);
    if (to?.ok === false) return [to.reason];
    if (to === null && chunks.length === 0) return refuse('bare_header', `No chunk follows the header of ${path}.`);
    const result = to?.path ?? path;
    if (result !== path && this.#taken.has(result)) return twice(result);
    this.#taken.add(result);
    if (to !== null) this.plans.push({ kind: 'move', from: path, path: result });
    if (chunks.length > 0) this.plans.push({ kind: 'lines', path: result, ...composeHunks(lines, places) });
    return [];
  }

  #locate(chunks: readonly Chunk[], path: string, lines: LineIndex, places: Place[]): readonly Reason[] {
    const locator = new ChunkLocator(chunks, lines, this.#context.options.tolerances);
    return chunks.flatMap((chunk): Reason[] => {
      const { index, answerLine } = chunk;
      const found = locator.locate(chunk);
      if ('code' in found)
        return [{ ...found, path, index, message: `The chunk at line ${answerLine} of the answer: ${found.message}` }];
      places.push(found);
      for (const tolerance of found.tolerances) this.tolerances.push({ tolerance, path, index, line: found.at + 1 });
      return [];
    });
  }
}

interface Place {
  /** The chunk's lines, in the file's indentation. */
  readonly hunk: { readonly lines: Chunk['lines'] };
  readonly at: number;
  readonly tolerances: Iterable<Tolerance>;
}
type Fault = Pick<Reason, 'code' | 'message' | 'copy'>;

/** Finds the chunks of one file, in their order. */
class ChunkLocator {
  readonly #lines: LineIndex;
  readonly #chain: LineChain;
  readonly #settings: ToleranceSettings | undefined;
  /** Where the lines named by `@@` stand, blanks round them aside: up to two places each. */
  readonly #named: ReadonlyMap<string, number[]>;
  #next = 0;

  constructor(chunks: readonly Chunk[], lines: LineIndex, settings: ToleranceSettings | undefined) {
    this.#lines = lines;
    this.#chain = new LineChain(lines, () => chunks.flatMap((chunk) => chunk.lines.map((line) => line.text)));
    this.#settings = settings;
    this.#named = new Map(chunks.flatMap((chunk) => chunk.above.map((text) => [text, []])));
    for (const [at, line] of this.#named.size === 0 ? [] : lines.all.entries()) {
      const places = this.#named.get(line.trim());
      if (places !== undefined && places.length < 2) places.push(at);
    }
  }

  locate(chunk: Chunk): Place | Fault {
    const below = this.#below(chunk.above);
    if (typeof below === 'string') return { code: 'context_mismatch', message: below };
    const old = chunk.lines.filter((line) => line.sign !== '+');
    const texts = old.map((line) => line.text);
    if (old.some((line) => line.unsigned) && !toleranceOn('lost_blank', this.#settings))
      return { code: 'lost_blank', message: NO_BLANK };
    const { length } = this.#lines;
    if (old.length === 0) {
      this.#next = length;
      const isEnd = chunk.atEnd || length === 0;
      return isEnd ? { hunk: chunk, at: length, tolerances: [] } : { code: 'no_context', message: NO_CONTEXT };
    }
    const fits = (at: number): boolean => at >= below && (!chunk.atEnd || at + old.length === length);
    let found: Places = { first: [], more: false };
    for (const level of levelsOn(this.#settings)) {
      const { first, more } = this.#chain.find(old, level);
      found = { first: first.filter(fits), more };
      if (found.first.length > 0) break;
    }
    let lines: Chunk['lines'] | null = chunk.lines;
    if (found.first.length === 0 && toleranceOn('indent', this.#settings)) {
      const { places, more } = shiftedPlaces(this.#chain, texts);
      const fitting = places.filter(({ first }) => fits(first));
      found = { first: fitting.map(({ first }) => first), more };
      const [place] = fitting;
      if (place !== undefined)
        lines = shiftHunk(lines, this.#lines.range(place.first, place.first + old.length), place.shift);
    }
    const [at, ...others] = found.first;
    if (at === undefined) {
      const where = `${below > 0 ? ` below line ${below}` : ''}${chunk.atEnd ? ' at the end of the file' : ''}`;
      const near = nearest(this.#lines.all, texts, below + 1);
      const message = `Its context and removed lines stand nowhere${where}. ${describeNearest(near)} Send these lines exactly as the file has them, chunks in the order of the file.`;
      return { code: 'context_mismatch', message, ...copyOf(near) };
    }
    if (others.length > 0 || found.more) {
      const places = found.first.map((n) => n + 1).join(', ') + (found.more ? ' and more' : '');
      const message = `Its context and removed lines stand in several places, at lines ${places}. Add context lines until they fit only one.`;
      return { code: 'context_repeated', message };
    }
    if (lines === null) return { code: 'indent', message: UNSHIFTABLE };
    this.#next = at + old.length;
    const tolerances = new Set<Tolerance>();
    for (const [i, line] of old.entries()) {
      const level = levelBetween(line.text, this.#lines.line(at + i) ?? '') ?? 'exact';
      if (line.unsigned) tolerances.add('lost_blank');
      if (level !== 'exact') tolerances.add(level);
    }
    if (lines !== chunk.lines) tolerances.add('indent');
    return { hunk: { lines }, at, tolerances };
  }

  /** The first line that a chunk may begin at, or why its `@@` lines name no place. */
  #below(above: readonly string[]): number | string {
    let below = this.#next;
    for (const text of above) {
      const [at, ...others] = this.#named.get(text) ?? [];
      const quote = JSON.stringify(text.slice(0, 120));
      if (at === undefined) return `No line of the file is ${quote}, which \`@@\` names. Quote a whole line.`;
      if (others.length > 0)
        return `Several lines of the file are ${quote}, which \`@@\` names. Name one that stands once.`;
      below = Math.max(below, at);
    }
    return below;
  }
}

const NO_BLANK = 'A blank line starts with no blank. Give context lines their leading blank.';
const NO_CONTEXT =
  'It only adds lines and quotes none of the file. Add at least one unchanged line before or after them.';
