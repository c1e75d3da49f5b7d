/** What a true answer has to say, whatever its format: one change of one file. */

/** Replace base lines [from, to) (0-based) by `lines`; in order, not overlapping, with at least one kept line between. */
export interface LineEdit {
  readonly from: number;
  readonly to: number;
  readonly lines: readonly string[];
}

export interface TrueChange {
  readonly kind: 'edit' | 'create' | 'delete';
  /** The path afterwards; of a deletion the one that goes. */
  readonly path: string;
  /** The path before, where the file is moved. */
  readonly from?: string;
  /** Lines without their ends; none where the file does not exist before. */
  readonly base: readonly string[];
  /** None where only path, mode or the final line end change. */
  readonly edits: readonly LineEdit[];
  /** Does the file end in a line end, before and after? Default yes. */
  readonly baseFinal?: boolean;
  readonly final?: boolean;
  /** git's mode words, where they matter. */
  readonly baseMode?: string;
  readonly mode?: string;
}

export const apply = (base: readonly string[], edits: readonly LineEdit[]): string[] => {
  const result: string[] = [];
  let next = 0;
  for (const edit of edits) {
    for (const line of base.slice(next, edit.from)) result.push(line);
    for (const line of edit.lines) result.push(line);
    next = edit.to;
  }
  for (const line of base.slice(next)) result.push(line);
  return result;
};

/** Lines as an answer says them; a line that ends in a CR of its own is closed by CRLF, since one CR before LF is no text. */
export const body = (lines: readonly string[]): string =>
  lines.map((line) => `${line}${line.endsWith('\r') ? '\r' : ''}\n`).join('');
