/** The index as a process has it in memory: the bytes of its file, and where in them the last row of each run is. Rows are parsed when needed. */
import type { StepKey } from '../../shared/ids.js';
import { markOf, readBlocks, type FilePart, type IndexMark, type Payload } from './file.js';
import { rowOfLine, type RunRow } from './row.js';

const [LF, TAB, ROW, GONE, MARK] = [0x0a, 0x09, 0x52, 0x47, 0x4d];
const OUTDATED_LINES = 5_000; // bound: Outdated lines of the file that do not yet lead to its replacement.

/** Where a row's line is. */
interface RowPlace {
  readonly last_ms: number;
  readonly bytes: Buffer;
  readonly start: number;
  readonly end: number;
}

const latin1 = (bytes: Buffer, start: number, end: number): string =>
  bytes.toString('latin1', start, end);

/** Numbers of the fields of a row by which many are chosen. */
export const FIELD_OF = { state: 2, ended: 3, workspace: 4, plan: 5 } as const;
const OPEN = Buffer.from('open');

/** Bytes as they are in the file; null: any. */
export interface Choice {
  readonly state: Buffer | null;
  readonly workspace: Buffer | null;
  readonly words: readonly Buffer[];
}

const fieldOf = ({ bytes, start, end }: RowPlace, number: number): Buffer => {
  let from = start;
  for (let before = 0; before < number; before += 1) from = bytes.indexOf(TAB, from) + 1;
  return bytes.subarray(from, Math.min(end, bytes.indexOf(TAB, from)));
};

/** An open run fits: the server knows its state. */
const hasState = (place: RowPlace, state: Buffer): boolean =>
  fieldOf(place, FIELD_OF.state).equals(state) || fieldOf(place, FIELD_OF.ended).equals(OPEN);

export class IndexMemory {
  /** Null: no file was read. */
  known: { readonly file: number; readonly end: number } | null = null;
  /** Null: the rows may be none, or only a part. */
  mark: IndexMark | null = null;
  isDamaged = false;
  /** It has rows that the file lacks. */
  hasUnkept = false;
  readonly #rows = new Map<StepKey, RowPlace>();
  #outdated = 0;
  #order: readonly StepKey[] | null = null;

  /** Takes over a part of the file. A part from its beginning replaces all that was known. */
  add({ file, from, bytes }: FilePart): void {
    if (from === 0) this.clear();
    const { payloads, end, isDamaged } = readBlocks(bytes);
    this.isDamaged ||= isDamaged;
    for (const payload of payloads) this.#addPayload(bytes, payload);
    this.known = { file, end: from + end };
  }

  clear(): void {
    this.known = null;
    this.mark = null;
    this.isDamaged = false;
    this.hasUnkept = false;
    this.#rows.clear();
    this.#outdated = 0;
    this.#order = null;
  }

  #addPayload(bytes: Buffer, { start, end }: Payload): void {
    this.#order = null;
    for (let line = start; line < end;) {
      const lineEnd = bytes.indexOf(LF, line);
      this.#addLine(bytes, line, lineEnd);
      line = lineEnd + 1;
    }
  }

  #addLine(bytes: Buffer, start: number, end: number): void {
    const kind = bytes[start];
    if (kind === ROW) {
      const keyEnd = bytes.indexOf(TAB, start);
      const lastEnd = bytes.indexOf(TAB, keyEnd + 1);
      const last_ms = Number(latin1(bytes, keyEnd + 1, lastEnd));
      this.#set(latin1(bytes, start + 1, keyEnd), { last_ms, bytes, start: start + 1, end });
    }
    if (kind === GONE) this.#drop(latin1(bytes, start + 1, end));
    if (kind === MARK) {
      this.mark = markOf(bytes.toString('utf8', start + 1, end));
      this.#outdated += 1;
    }
  }

  #set(stepKey: StepKey, place: RowPlace): void {
    if (this.#rows.has(stepKey)) this.#outdated += 1;
    this.#rows.set(stepKey, place);
  }

  #drop(stepKey: StepKey): void {
    this.#outdated += this.#rows.delete(stepKey) ? 2 : 1;
  }

  /** Takes over lines that are not in the file. */
  addLines(lines: readonly string[]): void {
    const bytes = Buffer.from(`${lines.join('\n')}\n`);
    this.#addPayload(bytes, { start: 0, end: bytes.length });
  }

  /** All that counts, as lines of a file: the mark is the last, so that a file that was cut has none. */
  *lines(): Generator<string> {
    for (const { bytes, start, end } of [...this.#rows.values()].sort(
      (a, b) => a.last_ms - b.last_ms,
    ))
      yield `R${bytes.toString('utf8', start, end)}`;
    if (this.mark !== null) yield markLine(this.mark);
  }

  /** Its file is worth to be written again without what is outdated. */
  get isOutdated(): boolean {
    return this.#outdated > OUTDATED_LINES + this.#rows.size / 2;
  }

  /** The runs by their last entries, newest first. */
  keys(): readonly StepKey[] {
    // The file begins with the oldest: what is nearly in order is sorted fast.
    this.#order ??= [...this.#rows]
      .reverse()
      .sort(([a, x], [b, y]) => y.last_ms - x.last_ms || (a < b ? 1 : -1))
      .map(([stepKey]) => stepKey);
    return this.#order;
  }

  has(stepKey: StepKey): boolean {
    return this.#rows.has(stepKey);
  }

  last_ms(stepKey: StepKey): number {
    return this.#rows.get(stepKey)?.last_ms ?? 0;
  }

  /** One of the first fields of the row, quoted as in the file. */
  field(stepKey: StepKey, number: number): string {
    const place = this.#rows.get(stepKey);
    return place === undefined ? '' : fieldOf(place, number).toString();
  }

  /** Compares bytes: of 100,000 rows few fit. The words are searched in the last field. */
  fits(stepKey: StepKey, { state, workspace, words }: Choice): boolean {
    const place = this.#rows.get(stepKey);
    if (place === undefined) return false;
    if (state !== null && !hasState(place, state)) return false;
    if (workspace !== null && !fieldOf(place, FIELD_OF.workspace).equals(workspace)) return false;
    if (words.length === 0) return true;
    const { bytes, end } = place;
    const text = bytes.subarray(bytes.lastIndexOf(TAB, end - 1) + 1, end);
    return words.every((word) => text.includes(word));
  }

  /** Null: there is no such run. */
  line(stepKey: StepKey): string | null {
    const place = this.#rows.get(stepKey);
    return place === undefined ? null : place.bytes.toString('utf8', place.start, place.end);
  }

  row(stepKey: StepKey): RunRow | null {
    const line = this.line(stepKey);
    return line === null ? null : rowOfLine(line);
  }
}

export const goneLine = (stepKey: StepKey): string => `G${stepKey}`;
export const markLine = (mark: IndexMark): string => `M${JSON.stringify(mark)}`;
