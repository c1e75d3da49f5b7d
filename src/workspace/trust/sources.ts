/** Reads the files of a workspace that Emend or a model obeys. */
import { parseConfig } from '../../documents/job/index.js';
import { join, relative, sep } from 'node:path';
import { readGiven, readSettings, UNREADABLE } from '../../system/given-file.js';
import { orNull } from '../../system/durable.js';
import { sha256 } from '../../system/hash.js';
import { realOrNull, realOrSame } from '../../system/paths.js';
import type { ConfigurationFile } from './types.js';

/** Returns the hash that names a content. A BOM, line ends and blanks at the end of lines make no other content. */
export const contentHash = (bytes: Uint8Array | string): string => {
  const text = typeof bytes === 'string' ? bytes : Buffer.from(bytes).toString('utf8');
  const lines = text.replace(/^\uFEFF/, '').split(/\r\n|\n|\r/);
  return sha256(lines.map((line) => line.trimEnd()).join('\n'));
};

const INSTRUCTIONS = ['CLAUDE.md', 'AGENTS.md'];

/** Returns `emend.yaml`, which counts as empty if it is missing, and the files with instructions that exist. */
export async function configurationFiles(root: string): Promise<readonly ConfigurationFile[]> {
  const config = await configFile(root);
  const parsed = configIn([config]);
  const rules = parsed.ok ? parsed.value.rules : [];
  const names = [...new Set([...INSTRUCTIONS, ...rules])];
  const files = await Promise.all(names.map((path) => fileIn(root, path, 'instructions')));
  return [config, ...files.filter((file) => file !== null)];
}

/** Returns `emend.yaml`, which counts as empty if it is missing. Throws ProblemError `config_invalid` if it cannot be read. */
export async function configFile(root: string): Promise<ConfigurationFile> {
  const path = 'emend.yaml';
  const text = (await readSettings(join(root, path))) ?? '';
  return { path, kind: 'config', text, hash: contentHash(text), ...realPathOf(root, path) };
}

/** Parses `emend.yaml` as it was read with the others. */
export const configIn = (files: readonly ConfigurationFile[]): ReturnType<typeof parseConfig> => {
  const text = files.find(({ kind }) => kind === 'config')?.text ?? '';
  return parseConfig(text === '' ? null : text);
};

/** Returns the job as it was given. It counts as the workspace's if the workspace has a file at its path, whatever its content is now. */
export async function jobOf(root: string, path: string, text: string): Promise<ConfigurationFile> {
  const isThere = (await fileIn(root, path, 'job')) !== null;
  const job = { path, kind: 'job', text, hash: contentHash(text) } as const;
  return isThere ? job : { ...job, isElsewhere: true };
}

/** Returns the file at a job's path as it is now; null: the workspace has none. */
export const jobFile = (root: string, path: string): Promise<ConfigurationFile | null> =>
  fileIn(root, path, 'job');

async function fileIn(
  root: string,
  path: string,
  kind: ConfigurationFile['kind'],
): Promise<ConfigurationFile | null> {
  const bytes = await orNull(readGiven(join(root, path)), UNREADABLE).catch(() => null);
  if (bytes === null) return null;
  return {
    path,
    kind,
    text: bytes.toString('utf8'),
    hash: contentHash(bytes),
    ...realPathOf(root, path),
  };
}

/** Returns where a link, also one of a folder, leads: a run may have changed the file under that name. */
function realPathOf(root: string, path: string): Pick<ConfigurationFile, 'realPath'> {
  const real = realOrNull(join(root, path));
  if (real === null) return {};
  const realPath = relative(realOrSame(root), real).split(sep).join('/');
  return realPath === path ? {} : { realPath };
}
