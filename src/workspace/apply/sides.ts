/** Reads the entry at a path and compares it with a side (the base or the result) of a file of a proposal. */
import type { BlobRef } from '../../shared/ids.js';
import { refOf } from '../../system/hash.js';
import { orNull } from '../../system/durable.js';
import type { FileStat, Sys } from '../../system/sys.js';

/** Base or result of a file of a proposal; null: absent. */
export type Side = { readonly ref: BlobRef; readonly mode: number } | null;

export type Seen =
  | { readonly kind: 'absent' }
  | {
      readonly kind: 'file';
      readonly ref: BlobRef;
      readonly bytes: Uint8Array;
      readonly stat: FileStat;
    }
  | { readonly kind: 'directory' | 'symlink' | 'other'; readonly stat: FileStat };

/** Reads the entry at a path, without following a link at its end. */
export const look = async (sys: Sys, path: string): Promise<Seen> => {
  const entry = await orNull(sys.readEntry(path), ['ENOENT', 'ENOTDIR']);
  if (entry === null) return { kind: 'absent' };
  const { stat, bytes } = entry;
  if (bytes !== null) return { kind: 'file', ref: refOf(bytes), bytes, stat };
  return { kind: stat.kind === 'file' ? 'other' : stat.kind, stat };
};

/** The nine permission bits of a mode, which a proposal has. Emend keeps the special bits of a file. */
export const PERMISSIONS = 0o777;

/** Returns whether the entry has the kind, the bytes and the permissions of the side. */
export const isAt = (seen: Seen, side: Side): boolean =>
  side === null
    ? seen.kind === 'absent'
    : seen.kind === 'file' &&
      seen.ref === side.ref &&
      (seen.stat.mode & PERMISSIONS) === (side.mode & PERMISSIONS);

const SHOWN_HASH_CHARS = 'sha256:'.length + 12;
const octal = (mode: number): string => (mode & PERMISSIONS).toString(8).padStart(3, '0');
const fileWords = (ref: BlobRef, mode: number): string =>
  `a file ${ref.slice(0, SHOWN_HASH_CHARS)}, mode ${octal(mode)}`;

const SEEN_WORDS = {
  absent: 'nothing',
  directory: 'a directory',
  symlink: 'a symbolic link',
  other: 'not a regular file, or too large to edit',
} as const;

/** Returns the end of a sentence: "expected …, found …". */
export const difference = (expected: Side, found: Seen): string => {
  const expectation = expected === null ? 'nothing' : fileWords(expected.ref, expected.mode);
  const finding =
    found.kind === 'file' ? fileWords(found.ref, found.stat.mode) : SEEN_WORDS[found.kind];
  return `expected ${expectation}, found ${finding}`;
};
