/** The full snapshot that preflight takes and every later activity reads: a JSON blob, never in history. */
import type { JobMode, ProjectConfig } from '../job/types.js';
import type { Bucket, Format, GuardSettings } from '../shared/formats.js';
import type { Limits } from '../shared/limits.js';
import type { BlobRef, StepKey } from '../shared/refs.js';
import { checkVersion } from '../shared/versions.js';
import type { BlobStore } from '../workspace/types.js';

export interface SnapshotTarget {
  readonly path: string;
  /** Null: the file does not exist yet. */
  readonly base: { readonly ref: BlobRef; readonly mode: number } | null;
  /** sha-256 of the base, hex; `absent` for a new file. Part of the slot key. */
  readonly sha: string;
  readonly bytes: number;
  readonly lines: number;
  readonly encoding: string | null;
  readonly format: Format;
  readonly bucket: Bucket;
  readonly outputBudget_tokens: number;
  /** Line ending for a new file. */
  readonly newFileEol: '\n' | '\r\n';
  /** The job says that the file goes; absent: it is edited. */
  readonly deletes?: true;
}
export interface TextRef {
  readonly path: string;
  readonly ref: BlobRef;
}
export interface Snapshot {
  readonly v: 1;
  readonly stepKey: StepKey;
  readonly workspace: string;
  readonly title: string;
  readonly instructions: BlobRef;
  readonly category: string | null;
  readonly mode: JobMode | null;
  readonly model: string;
  readonly complexity: 'low' | 'medium' | 'high';
  /** What `routes` went by; absent: `complexity`. */
  readonly routedAs?: 'low' | 'medium' | 'high';
  readonly config: ProjectConfig;
  readonly limits: Limits;
  readonly hints: readonly string[];
  readonly context: readonly TextRef[];
  readonly rules: readonly TextRef[];
  readonly finalNewline: boolean | null;
  readonly targets: readonly SnapshotTarget[];
  /** For `pick`: what the model may choose from; empty otherwise. */
  readonly fileList: readonly string[];
}

/** Targets that a model is asked for. */
export const edited = <T extends Pick<SnapshotTarget, 'deletes'>>(targets: readonly T[]): readonly T[] =>
  targets.filter(({ deletes }) => deletes !== true);
/** Targets that the job says go. */
export const deleted = <T extends Pick<SnapshotTarget, 'deletes'>>(targets: readonly T[]): readonly T[] =>
  targets.filter(({ deletes }) => deletes === true);

const encoder = new TextEncoder();
const decoder = new TextDecoder();

export const putJson = (blobs: BlobStore, value: unknown): Promise<BlobRef> =>
  blobs.put(encoder.encode(JSON.stringify(value)));
export const putText = (blobs: BlobStore, text: string): Promise<BlobRef> => blobs.put(encoder.encode(text));
export const getText = async (blobs: BlobStore, ref: BlobRef): Promise<string> => decoder.decode(await blobs.get(ref));

/** Reads a versioned JSON blob of ours. */
export async function getJson<T extends { readonly v: 1 }>(blobs: BlobStore, ref: BlobRef, what: string): Promise<T> {
  const value: unknown = JSON.parse(await getText(blobs, ref));
  checkVersion(value, `The ${what} ${ref}`);
  return value as T;
}

export const getSnapshot = (blobs: BlobStore, ref: BlobRef): Promise<Snapshot> =>
  getJson<Snapshot>(blobs, ref, 'snapshot');

/** The snapshot with the limits that decisions changed since it was taken. */
export const currentSnapshot = async (
  blobs: BlobStore,
  { snapshot, limits }: { readonly snapshot: BlobRef; readonly limits?: Partial<Limits> },
): Promise<Snapshot> => {
  const taken = await getSnapshot(blobs, snapshot);
  return { ...taken, limits: { ...taken.limits, ...limits } };
};

/** What guards go by. A snapshot that was taken before there were settings has none. */
export const guardSettings = async (
  blobs: BlobStore,
  { config, instructions }: Pick<Snapshot, 'config' | 'instructions'>,
): Promise<{ readonly guards: GuardSettings; readonly asked: string }> => ({
  guards: (config as Partial<ProjectConfig>).guards ?? {},
  asked: await getText(blobs, instructions),
});
