/**
 * Accepted results, as a graph in the blob store: each names the heads it came after, so that history carries only heads however
 * many files a step has. The latest result of a file (highest `seq`) is the one that counts.
 */
import type { SaidUndone } from '../plan/undone.js';
import type { Finding } from '../shared/formats.js';
import type { BlobRef } from '../shared/refs.js';
import type { BlobStore, ProposalFile } from '../workspace/types.js';
import { getJson } from './snapshot.js';

export type FileChange = Pick<ProposalFile, 'path' | 'base' | 'result'>;
export interface Accepted {
  readonly v: 1;
  readonly seq: number;
  readonly after: readonly BlobRef[];
  /** Every file that the call was for, changed or not. */
  readonly covers: readonly string[];
  readonly files: readonly FileChange[];
  readonly moves: readonly { readonly from: string; readonly to: string }[];
  readonly rungs: readonly { readonly rung: string; readonly path: string; readonly line: number | null }[];
  readonly findings: readonly Finding[];
  readonly summary: string | null;
  /** Tasks of a plan's phase that the answer says it leaves undone; absent: none. */
  readonly undone?: readonly SaidUndone[];
  /** False: by the job's own word, no model was asked; absent: an answer. */
  readonly asked?: boolean;
}

/** All results behind the heads, latest first; at most `limit` of them. */
export async function acceptedResults(
  blobs: BlobStore,
  heads: readonly BlobRef[],
  limit = Infinity,
): Promise<readonly Accepted[]> {
  const seen = new Set<BlobRef>(heads);
  let wave: readonly BlobRef[] = heads;
  const found: Accepted[] = [];
  while (wave.length > 0 && found.length < limit) {
    const results = await Promise.all(wave.map((ref) => getJson<Accepted>(blobs, ref, 'accepted result')));
    found.push(...results);
    const next = results.flatMap((result) => result.after).filter((ref) => !seen.has(ref));
    for (const ref of next) seen.add(ref);
    wave = [...new Set(next)];
  }
  return found.sort((a, b) => b.seq - a.seq).slice(0, limit);
}

/** The result that counts, per path. */
export function latestByPath(
  results: readonly Accepted[],
): ReadonlyMap<string, { readonly result: Accepted; readonly change: FileChange | null }> {
  const latest = new Map<string, { result: Accepted; change: FileChange | null }>();
  for (const result of [...results].sort((a, b) => b.seq - a.seq)) {
    const paths = new Set([...result.covers, ...result.files.map((file) => file.path)]);
    for (const path of paths) {
      if (latest.has(path)) continue;
      latest.set(path, { result, change: result.files.find((file) => file.path === path) ?? null });
    }
  }
  return latest;
}
