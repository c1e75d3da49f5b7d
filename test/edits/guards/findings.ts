/** Runs one guard over a file, for tables of small files. */
import { guardFindings } from '../../../src/edits/guards/index.js';

/** What the row shows, the path of the file, its base (null: a new file) and its result. */
export type GuardRow = readonly [string, string, string | null, string];

const bytesOf = (text: string | null): Uint8Array | null =>
  text === null ? null : Buffer.from(text);

/** Returns a function that describes each finding of the guard as `guard severity first-last`. */
export const findingsOf =
  (guard: string) =>
  (path: string, base: string | null, result: string): string[] =>
    guardFindings([{ path, base: bytesOf(base), result: bytesOf(result) }])
      .filter((finding) => finding.guard === guard)
      .map(({ severity, lines }) => `${guard} ${severity} ${lines?.join('-') ?? ''}`);
