/** Reads the files of a workspace that Emend or a model obeys. */
import { join } from 'node:path';
import { readGiven, readSettings, UNREADABLE } from '../../system/given-file.js';
import { orNull } from '../../system/durable.js';
import { sha256 } from '../../system/hash.js';
import type { ConfigurationFile } from './types.js';

const INSTRUCTIONS = ['CLAUDE.md', 'AGENTS.md'];

/** Returns `emend.yaml`, which counts as empty if it is missing, and the files with instructions that exist. */
export async function configurationFiles(
  root: string,
  rules: readonly string[] = [],
): Promise<readonly ConfigurationFile[]> {
  const names = [...new Set([...INSTRUCTIONS, ...rules])];
  const files = await Promise.all(names.map((path) => fileIn(root, path, 'instructions')));
  const text = (await readSettings(join(root, 'emend.yaml'))) ?? '';
  const config = { path: 'emend.yaml', kind: 'config', text, hash: sha256(text) } as const;
  return [config, ...files.filter((file) => file !== null)];
}

/** Returns the job if it is the content of a file in the workspace; null: it was typed, or comes from elsewhere. */
export async function jobInWorkspace(
  root: string,
  path: string,
  text: string,
): Promise<ConfigurationFile | null> {
  const file = await fileIn(root, path, 'job');
  return file !== null && file.hash === sha256(text) ? file : null;
}

/** Returns the documents of a plan. The front matter of the first is that of the plan. */
export const planSources = async (
  root: string,
  paths: readonly string[],
): Promise<readonly ConfigurationFile[]> =>
  (await Promise.all(paths.map((path) => fileIn(root, path, 'plan')))).filter(
    (file) => file !== null,
  );

async function fileIn(
  root: string,
  path: string,
  kind: ConfigurationFile['kind'],
): Promise<ConfigurationFile | null> {
  const bytes = await orNull(readGiven(join(root, path)), UNREADABLE).catch(() => null);
  if (bytes === null) return null;
  return { path, kind, text: bytes.toString('utf8'), hash: sha256(bytes) };
}
