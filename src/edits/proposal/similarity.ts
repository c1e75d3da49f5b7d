/**
 * Finds which created file a deleted one has become, by the measure of git's rename detection: the part of the larger file that both
 * have, in pieces that end with a line or after 64 bytes. Git shows a commit of both the same way. Pure.
 */
import { Buffer } from 'node:buffer';
import { createHash } from 'node:crypto';
import { groupBy, lastSegment } from '../../shared/text.js';
import type { ChangedFile } from '../types.js';

const RENAME_SIMILARITY = 0.5; // bound: Part of the larger file that both must have, as in git.
const PIECE_BYTES = 64; // bound: Maximum size of a piece, as in git.
const RENAME_CANDIDATES = 200; // bound: Maximum number of files on each side. If there are more, only equal files are paired.
const RENAME_BYTES = 8_388_608; // bound: Maximum size of all files that are compared by pieces. If they are larger, only equal files are paired.

export interface Rename {
  readonly from: string;
  readonly to: string;
}

type Side = Pick<ChangedFile, 'path'> & { readonly bytes: Uint8Array };

/** Pairs each file with at most one other: equal ones first, then the most similar. An empty file is in no pair. */
export const renamesAmong = (
  files: readonly Pick<ChangedFile, 'path' | 'base' | 'result'>[],
): readonly Rename[] => {
  const deleted = sidesOf(files, ({ base, result }) => (result === null ? base : null));
  const created = sidesOf(files, ({ base, result }) => (base === null ? result : null));
  const equal = equalPairs(deleted, created);
  const taken = new Set(equal.flatMap(({ from, to }) => [from, to]));
  const isFree = ({ path }: Side): boolean => !taken.has(path);
  return [...equal, ...pairsOf(similarPairs(deleted.filter(isFree), created.filter(isFree)))];
};

const sidesOf = <T extends Pick<ChangedFile, 'path'>>(
  files: readonly T[],
  bytesOf: (file: T) => Uint8Array | null,
): readonly Side[] =>
  files.flatMap((file) => {
    const bytes = bytesOf(file);
    return bytes === null || bytes.length === 0 ? [] : [{ path: file.path, bytes }];
  });

interface Pair extends Rename {
  readonly similarity: number;
}

/** Pairs each new file, in the order of paths, with an equal one: of the same name if there is one, else the first. So does git. */
const equalPairs = (deleted: readonly Side[], created: readonly Side[]): readonly Rename[] => {
  const byContent = groupBy(deleted, ({ bytes }) => hashOf(bytes));
  const remaining = new Map([...byContent].map(([hash, sides]) => [hash, new Set(sides)]));
  return [...created].sort(byPath).flatMap(({ path: to, bytes }) => {
    const sources = remaining.get(hashOf(bytes)) ?? new Set();
    const [first] = sources;
    const from = [...sources].find(({ path }) => lastSegment(path) === lastSegment(to)) ?? first;
    if (from === undefined) return [];
    sources.delete(from);
    return [{ from: from.path, to }];
  });
};

const byPath = (a: Side, b: Side): number => (a.path < b.path ? -1 : 1);

const hashOf = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');

const similarPairs = (deleted: readonly Side[], created: readonly Side[]): readonly Pair[] => {
  const size_bytes = [...deleted, ...created].reduce((sum, { bytes }) => sum + bytes.length, 0);
  if (Math.max(deleted.length, created.length) > RENAME_CANDIDATES) return [];
  if (size_bytes > RENAME_BYTES) return [];
  const pieces = new Map(created.map((side) => [side, piecesOf(side.bytes)]));
  return deleted.flatMap((from) => {
    const own = piecesOf(from.bytes);
    return created.flatMap((to): Pair[] => {
      const similarity = sharedPart(from, own, to, pieces.get(to) ?? new Map());
      return similarity < RENAME_SIMILARITY ? [] : [{ from: from.path, to: to.path, similarity }];
    });
  });
};

/** Bytes by the piece that they are in. */
type Pieces = ReadonlyMap<string, number>;

const piecesOf = (bytes: Uint8Array): Pieces => {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('latin1');
  const pieces = new Map<string, number>();
  for (let start = 0; start < text.length;) {
    const newline = text.slice(start, start + PIECE_BYTES).indexOf('\n');
    const end = newline < 0 ? start + PIECE_BYTES : start + newline + 1;
    // A line is the same if only its ending differs.
    const piece = text.slice(start, end).replace(/\r\n$/, '\n');
    pieces.set(piece, (pieces.get(piece) ?? 0) + piece.length);
    start = end;
  }
  return pieces;
};

const sharedPart = (from: Side, own: Pieces, to: Side, other: Pieces): number => {
  const [small, large] = [from.bytes.length, to.bytes.length].sort((a, b) => a - b);
  if (small === undefined || large === undefined || small < large * RENAME_SIMILARITY) return 0;
  let shared_bytes = 0;
  for (const [piece, count] of own) shared_bytes += Math.min(count, other.get(piece) ?? 0);
  return shared_bytes / large;
};

/** Takes the most similar pair of files that are in none yet. Of equal pairs the one that keeps the name of the file comes first. */
const pairsOf = (pairs: readonly Pair[]): readonly Rename[] => {
  const keepsName = ({ from, to }: Rename): number =>
    lastSegment(from) === lastSegment(to) ? 1 : 0;
  const taken = new Set<string>();
  return [...pairs]
    .sort((a, b) => b.similarity - a.similarity || keepsName(b) - keepsName(a))
    .flatMap(({ from, to }) => {
      if (taken.has(`from ${from}`) || taken.has(`to ${to}`)) return [];
      taken.add(`from ${from}`).add(`to ${to}`);
      return [{ from, to }];
    });
};
