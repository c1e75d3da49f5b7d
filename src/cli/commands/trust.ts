/** `emend trust FILE…`: accepts the content of configuration files that a model may have written. */
import { basename, relative, resolve } from 'node:path';
import { realpath } from 'node:fs/promises';
import { requireHome, resolveHome } from '../../stores/home.js';
import { fail, EXIT, type ExitCode } from '../../shared/problems.js';
import { readGivenText, UNREADABLE } from '../../system/given-file.js';
import {
  contentHash,
  createTrust,
  doubtText,
  type ConfigurationFile,
} from '../../workspace/trust/index.js';
import type { Io } from '../io.js';
import { localWorkspace } from '../local/open.js';
import { plain } from '../render/text.js';

interface TrustFlags {
  readonly workspace?: string;
  readonly check?: true;
}

export const trust = async (
  io: Io,
  paths: readonly string[],
  flags: TrustFlags,
): Promise<ExitCode> => {
  const workspace = await localWorkspace(io, flags.workspace);
  await requireHome(io.env);
  const record = createTrust({ home: await resolveHome(io.env) });
  const files = await Promise.all(paths.map((path) => namedFile(io, workspace, path)));
  const doubts = await record.doubts(workspace, files);
  for (const doubt of doubts) io.out(plain(doubtText(doubt)));
  const doubted = new Set(doubts.map(({ hash }) => hash));
  for (const { path } of files.filter(({ hash }) => !doubted.has(hash)))
    io.out(plain(`${path} is trusted already.`));
  if (flags.check === true) return doubts.length === 0 ? EXIT.done : EXIT.refused;
  const accepted = files.filter(({ hash }) => doubted.has(hash));
  await record.accept(workspace, accepted);
  for (const { path } of accepted) io.out(plain(`Emend now trusts ${path} as it is.`));
  return EXIT.done;
};

async function namedFile(io: Io, workspace: string, typed: string): Promise<ConfigurationFile> {
  const absolute = resolve(io.cwd, typed);
  const text =
    (await readGivenText(absolute, UNREADABLE)) ??
    fail('usage', `${typed}: file not found or not readable.`, 'Name a file of the workspace.');
  const path = relative(workspace, await realpath(absolute));
  return { path, kind: kindOf(path), text, hash: contentHash(text) };
}

/** A plan is read as a job: both have the same front matter. */
function kindOf(path: string): ConfigurationFile['kind'] {
  const name = basename(path);
  if (path === 'emend.yaml') return 'config';
  if (name === 'CLAUDE.md' || name === 'AGENTS.md') return 'instructions';
  return /\.ya?ml$/i.test(name) ? 'policy' : 'job';
}
