/** The full snapshot that preflight takes and every later activity reads: a JSON blob, never in history. */
import { encodingOf, type Effort, type ProjectConfig } from '../../documents/job/index.js';
import type { Limits } from '../../shared/limits.js';
import { type Problem, ProblemError, fail } from '../../shared/problems.js';
import {
  pointerProblem,
  sparseProblem,
  inspectTarget,
  isAbsent,
} from '../../workspace/files/index.js';
import { looksSecret } from '../../workspace/secret-files.js';
import {
  configFile,
  configIn,
  contentHash,
  fileAtCommit,
  readConfigAt,
  type ConfigurationFile,
} from '../../workspace/trust/index.js';
import { requireTrusted } from '../frame/configuration.js';
import type { ActivityPorts } from '../frame/ports.js';
import { readGiven } from '../../system/given-file.js';
import type { GuardSettings } from '../../shared/formats.js';
import type { Candidate } from '../../shared/pick.js';
import type { ProposeInput, Target } from '../../shared/step-activities.js';
import type { BlobRef, StepKey } from '../../shared/ids.js';
import { getJson, type BlobStore } from '../../stores/ports.js';

export interface SnapshotTarget extends Omit<Target, 'isNew'> {
  /** Null: the file does not exist yet. */
  readonly base: { readonly ref: BlobRef; readonly mode: number } | null;
  /** sha-256 of the base, hex; `absent` for a new file. Part of the call key. */
  readonly sha: string;
  readonly encoding: string | null;
  /** Line ending for a new file. */
  readonly newFileEol: '\n' | '\r\n';
  /** A new file that a model named; absent: the job does, or it is there. */
  readonly made?: true;
  /** The file is no text: a response may rename it, and no prompt shows its content, so its size counts as 0. Absent: it is text. */
  readonly isBinary?: true;
}
export interface TextRef {
  readonly path: string;
  readonly ref: BlobRef;
  readonly bytes?: number;
}
export interface Snapshot {
  readonly stepKey: StepKey;
  readonly workspace: string;
  readonly instructions: BlobRef;
  readonly category: string | null;
  readonly model: string;
  readonly complexity: 'low' | 'medium' | 'high';
  /** The harder of `complexity` and what the job says: `routes` chose the model by it. */
  readonly routedAs: 'low' | 'medium' | 'high';
  readonly effort: Effort | null;
  /** The job's path as people see it, and the `sandbox` that it sets itself (null: none). */
  readonly job: { readonly path: string; readonly sandbox: ProjectConfig['sandbox'] | null };
  readonly config: ProjectConfig;
  /** Commit that `config` and the rules come from; absent: they come from the workspace. */
  readonly configurationCommit?: string;
  readonly limits: Limits;
  readonly hints: readonly string[];
  readonly context: readonly TextRef[];
  readonly rules: readonly TextRef[];
  /** What calls are told of the files round the targets; absent: nothing. */
  readonly signatures?: BlobRef;
  readonly finalNewline: boolean | null;
  readonly targets: readonly SnapshotTarget[];
  /** What the model may choose from; absent: the files are known. */
  readonly pick?: {
    readonly candidates: readonly Candidate[];
    /** Files of the workspace that may be shown. */
    readonly files: number;
    /** Null: the model may ask for more. */
    readonly lookedFor: readonly string[] | null;
  };
  /** Files of the workspace, a path a line, to tell a path that is not there from one that was not offered; absent: not known. */
  readonly names?: BlobRef;
}

/** Targets that a model is asked for. */
export const edited = <T extends Pick<SnapshotTarget, 'deletes'>>(
  targets: readonly T[],
): readonly T[] => targets.filter(({ deletes }) => deletes !== true);
/** Targets that the job says go. */
export const deleted = <T extends Pick<SnapshotTarget, 'deletes'>>(
  targets: readonly T[],
): readonly T[] => targets.filter(({ deletes }) => deletes === true);

const encoder = new TextEncoder();
const decoder = new TextDecoder();

export const putText = (blobs: BlobStore, text: string): Promise<BlobRef> =>
  blobs.put(encoder.encode(text));
export const getText = async (blobs: BlobStore, ref: BlobRef): Promise<string> =>
  decoder.decode(await blobs.get(ref));

export const getSnapshot = (blobs: BlobStore, ref: BlobRef): Promise<Snapshot> =>
  getJson<Snapshot>(blobs, ref, 'snapshot');

/** The snapshot with what decisions changed since it was taken. */
export const currentSnapshot = async (
  blobs: BlobStore,
  { snapshot, limits, secrets }: Pick<ProposeInput, 'snapshot' | 'limits' | 'secrets'>,
): Promise<Snapshot> => {
  const taken = await getSnapshot(blobs, snapshot);
  const config = secrets === undefined ? taken.config : { ...taken.config, secrets };
  return { ...taken, config, limits: { ...taken.limits, ...limits } };
};

/** What guards go by. */
export const guardSettings = async (
  blobs: BlobStore,
  { config, instructions }: Pick<Snapshot, 'config' | 'instructions'>,
): Promise<{ readonly guards: GuardSettings; readonly asked: string }> => ({
  guards: config.guards,
  asked: await getText(blobs, instructions),
});

// Files as preflight keeps them: bytes in the blob store, facts in the snapshot.

export type SizedTarget = Omit<SnapshotTarget, 'format' | 'bucket' | 'outputBudget_tokens'>;

interface TargetOptions {
  readonly ports: ActivityPorts;
  readonly workspace: string;
  readonly path: string;
  readonly config: ProjectConfig;
  readonly limits: Limits;
  /** The change removes the file: what it holds is kept, and need not be text. */
  readonly deletes: boolean;
  /** As `listWorkspaceFiles` has them; `eols`: how new files of the targets' names end their lines. Asked for only where a file is new. */
  readonly siblings: () => Promise<readonly string[]>;
  readonly eols: () => Promise<ReadonlyMap<string, '\n' | '\r\n'>>;
  readonly signal: AbortSignal;
}

export async function snapshotTarget(options: TargetOptions): Promise<SizedTarget> {
  const { ports, workspace, path, config, limits, deletes, signal } = options;
  const found = await inspectTarget(workspace, path, limits.maxFile_bytes);
  if (!found.ok) return absentTarget(options, found.problem);
  const target = found.value;
  const bytes = await readGiven(target.realPath);
  const encoding = encodingOf(config, path) ?? null;
  const facts = await ports.edits.run('describe', { path, bytes, encoding }, signal);
  // What a response may rename need not be text.
  const isBinary = facts.binary && !deletes;
  if (!deletes && !(isBinary && mayRename(config))) needText(path, bytes, facts);
  const ref = await ports.blobs.put(bytes);
  return {
    // A symbolic link stays one: the file that it leads to is what is edited.
    path: target.target,
    base: { ref, mode: target.mode },
    sha: ref.slice('sha256:'.length),
    bytes: isBinary ? 0 : bytes.length,
    lines: isBinary ? 0 : facts.lines,
    encoding,
    newFileEol: (config.create ? (await options.eols()).get(path) : null) ?? '\n',
    ...(deletes ? { deletes } : {}),
    ...(isBinary ? { isBinary } : {}),
  };
}

/** Returns a target that does not exist yet. Throws ProblemError if it cannot be created. */
async function absentTarget(
  { path, siblings, eols }: TargetOptions,
  problem: Problem,
): Promise<SizedTarget> {
  if (problem.code !== 'target_missing') throw new ProblemError(problem);
  const outside = isAbsent(problem) ? sparseProblem(path, await siblings()) : null;
  if (outside !== null) throw new ProblemError(outside);
  const newFileEol = (await eols()).get(path) ?? '\n';
  return { path, base: null, sha: 'absent', bytes: 0, lines: 0, encoding: null, newFileEol };
}

/** May a response rename its targets to any path? */
const mayRename = ({ create }: ProjectConfig): boolean => (create ?? false) !== false;

/** Throws ProblemError `target_binary` where the bytes are not a text, or not that of the file. */
const needText = (
  path: string,
  bytes: Uint8Array,
  { binary }: { readonly binary: boolean },
): void => {
  if (binary)
    fail(
      'target_binary',
      `${path} is a binary file (it contains a NUL): it is not text to show and edit`,
    );
  const pointer = pointerProblem(path, bytes);
  if (pointer !== null) throw new ProblemError(pointer);
};

/** Context and rules files. `jobPath` null: a missing file is left out; else it is a fault of the job. */
export async function textRefs(options: {
  readonly ports: ActivityPorts;
  readonly workspace: string;
  readonly paths: readonly string[];
  readonly limits: Limits;
  readonly jobPath: string | null;
  /** Commit that the files are read from; undefined: they are read from the workspace. */
  readonly commit?: string | undefined;
  /** The files as Emend checked them before; absent: they need no check. */
  readonly checked?: readonly ConfigurationFile[] | undefined;
  readonly signal: AbortSignal;
}): Promise<readonly TextRef[]> {
  const { ports, workspace, paths, limits, jobPath, commit, checked, signal } = options;
  const refs: TextRef[] = [];
  const add = async (path: string, bytes: Uint8Array): Promise<void> => {
    needText(
      path,
      bytes,
      await ports.edits.run('describe', { path, bytes, encoding: null }, signal),
    );
    refs.push({ path, ref: await ports.blobs.put(bytes), bytes: bytes.length });
  };
  for (const path of new Set(paths)) {
    if (commit !== undefined) {
      const file = await fileAtCommit(workspace, commit, path);
      if (file !== null) refuseSecretLink(path, file.path);
      if (file !== null) await add(path, file.bytes);
      continue;
    }
    const found = await inspectTarget(workspace, path, null);
    if (!found.ok) {
      if (jobPath === null && found.problem.code === 'target_missing') continue;
      throw new ProblemError(
        jobPath === null
          ? found.problem
          : { ...found.problem, message: `${jobPath}: context_files: ${found.problem.message}` },
      );
    }
    refuseSecretLink(path, found.value.target);
    const most = limits.maxContextFile_bytes ?? Infinity;
    if (found.value.bytes > most)
      fail(
        'target_too_large',
        `${path} has ${found.value.bytes} bytes; maxContextFile_bytes is ${most}`,
      );
    const bytes = await readGiven(found.value.realPath);
    if (checked !== undefined) requireSame(path, bytes, checked);
    await add(path, bytes);
  }
  return refs;
}

/** Throws ProblemError `config_untrusted` if the file is not as it was checked. */
function requireSame(path: string, bytes: Buffer, checked: readonly ConfigurationFile[]): void {
  const hash = contentHash(bytes);
  if (!checked.some((file) => file.path === path && file.hash === hash))
    fail(
      'config_untrusted',
      `${path} changed while the run read it.`,
      'Read the file, then start the run again.',
    );
}

/** Throws ProblemError `target_outside`: a link with another name must not bring in a file that no prompt shows. */
function refuseSecretLink(path: string, target: string): void {
  if (looksSecret(target) && !looksSecret(path))
    fail(
      'target_outside',
      `${path} leads to ${target}, which looks like a secret.`,
      'Name the file itself if the model may read it.',
    );
}

// `emend.yaml` for activities that cannot do without it.

/** Under what the front matter of a plan says, for its `settings`. Throws ProblemError `config_invalid` with all that is wrong in it. */
export const projectConfig = async (
  ports: ActivityPorts,
  workspace: string,
  { settings, commit }: { readonly settings?: BlobRef; readonly commit?: string } = {},
): Promise<ProjectConfig> => {
  const root = await ports.workspace.root(workspace);
  const plan =
    settings === undefined ? {} : await getJson<SettingsOfPlan>(ports.blobs, settings, 'settings');
  const { configurationCommit = commit } = plan;
  const config =
    configurationCommit === undefined
      ? await trustedConfig(ports, root)
      : await readConfigAt(root, configurationCommit);
  if (!config.ok)
    return fail('config_invalid', config.problems.map(({ message }) => message).join('\n'));
  return { ...config.value, ...plan.front };
};

/** Reads `emend.yaml` of the workspace once: the text that was checked is the one that is parsed. */
async function trustedConfig(
  ports: Pick<ActivityPorts, 'trust'>,
  root: string,
): ReturnType<typeof readConfigAt> {
  const file = await configFile(root);
  await requireTrusted(ports, root, [file]);
  return configIn([file]);
}

/** For `projectConfig`. */
export const settingsIn = ({
  settings,
}: {
  readonly settings?: BlobRef | undefined;
}): { readonly settings?: BlobRef } => (settings === undefined ? {} : { settings });

interface SettingsOfPlan {
  readonly front?: Partial<ProjectConfig>;
  readonly configurationCommit?: string;
}
