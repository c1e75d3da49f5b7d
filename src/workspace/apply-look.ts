/** What stands under a path, compared with what a proposal says. */
import type { BlobRef } from '../shared/refs.js';
import { refOf } from './hash.js';
import { orNull } from './sys-put.js';
import type { FileStat, Sys } from './sys.js';

/** One side of a proposal's file; null: absent. */
export type Side = { readonly ref: BlobRef; readonly mode: number } | null;

export type Seen =
  | { readonly kind: 'absent' }
  | { readonly kind: 'file'; readonly ref: BlobRef; readonly bytes: Uint8Array; readonly stat: FileStat }
  | { readonly kind: 'directory' | 'symlink' | 'other'; readonly stat: FileStat };

/** Reads without following a link at the end. */
export const look = async (sys: Sys, path: string): Promise<Seen> => {
  const entry = await orNull(sys.readEntry(path), ['ENOENT', 'ENOTDIR']);
  if (entry === null) return { kind: 'absent' };
  const { stat, bytes } = entry;
  if (bytes !== null) return { kind: 'file', ref: refOf(bytes), bytes, stat };
  return { kind: stat.kind === 'file' ? 'other' : stat.kind, stat };
};

/** Proposals carry the nine permission bits; special bits are kept as they are. */
export const PERMISSIONS = 0o777;

/** Same kind, bytes and permissions. */
export const isAt = (seen: Seen, side: Side): boolean =>
  side === null
    ? seen.kind === 'absent'
    : seen.kind === 'file' && seen.ref === side.ref && (seen.stat.mode & PERMISSIONS) === (side.mode & PERMISSIONS);

const SHOWN_HASH_CHARS = 'sha256:'.length + 12;
const octal = (mode: number): string => (mode & PERMISSIONS).toString(8).padStart(3, '0');
const fileWords = (ref: BlobRef, mode: number): string =>
  `a file ${ref.slice(0, SHOWN_HASH_CHARS)}, mode ${octal(mode)}`;

const SEEN_WORDS = {
  absent: 'nothing',
  directory: 'a directory',
  symlink: 'a symbolic link',
  other: 'no regular file, or one too large to edit',
} as const;

/** "expected …, found …" */
export const difference = (expected: Side, found: Seen): string => {
  const wanted = expected === null ? 'nothing' : fileWords(expected.ref, expected.mode);
  const there = found.kind === 'file' ? fileWords(found.ref, found.stat.mode) : SEEN_WORDS[found.kind];
  return `expected ${wanted}, found ${there}`;
};
