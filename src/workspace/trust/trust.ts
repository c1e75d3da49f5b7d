/**
 * Remembers which contents of configuration files may be a model's: those of an apply without an approval, and those that appeared after
 * a command could write the workspace itself. The record is in the home, where no command in a sandbox reaches it:
 *
 * - `trust/unapproved/<hash>.json`: a content that was applied without an approval of yours.
 * - `trust/<repository>/changed/<hash of its path>.json`: a file that was changed without an approval of yours. What it has by now may be
 *   partly a model's, also after a line was merged into it.
 * - `trust/<repository>/baseline.json`: written once, right before the first command that could write the workspace. It has the hashes of
 *   all files that could be configuration at that moment.
 * - `trust/<repository>/accepted/<hash>.json`: a content that you accepted.
 *
 * The worktrees of a repository share one record, as a phase of a plan works in one of them.
 */
import { existsSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import * as jobs from '../../documents/job/index.js';
import { homePaths } from '../../stores/home.js';
import { orNull, putJsonIfAbsent, readJson } from '../../system/durable.js';
import { readdir, realpath } from '../../system/fs.js';
import { readGiven, UNREADABLE } from '../../system/given-file.js';
import { sha256 } from '../../system/hash.js';
import { realSys, type Sys } from '../../system/sys.js';
import { listWorkspaceFiles } from '../files/index.js';
import { repositoryIfGit } from '../git/git.js';
import { sharedGitDirectory } from '../git/shared-directory.js';
import { grantsInDocument } from './grants.js';
import { configurationFiles, contentHash } from './sources.js';
import type { ConfigurationFile, Doubt } from './types.js';

const BASELINE_FILES = 20_000; // bound: Maximum number of files in a baseline.
const BASELINE_FILE_BYTES = 1_048_576; // bound: Maximum size of a file in a baseline.
const REPOSITORY_CHARS = 16; // bound: Hexadecimal digits of the hash that names a repository's record.
const GRANTS_KEPT = 2_000; // bound: Maximum number of grants in a baseline.

/** Names of files that can be a job, a plan, a policy or instructions. */
const CONFIGURATION = /\.(?:md|markdown|ya?ml)$/i;
const isConfigurationName = (path: string): boolean => CONFIGURATION.test(path);

/** A file that was written into a workspace. */
interface WrittenFile {
  readonly path: string;
  /** `contentHash` of its bytes. */
  readonly hash: string;
}

/** A file whose change a reviewer has seen. */
export interface ApprovedFile {
  readonly path: string;
  /** Reads its content. Most files are not configuration and are never read. */
  readonly read: () => Promise<ApprovedContent>;
}

export interface ApprovedContent {
  readonly text: string;
  /** `contentHash` of the bytes before the change; null: the file is new. */
  readonly baseHash: string | null;
}

export interface Trust {
  /** Records the workspace's configuration before the first command that could write it. Later calls do nothing. */
  recordBeforeCommand(workspace: string): Promise<void>;
  /** Records files that are about to be applied without an approval. */
  recordUnapproved(workspace: string, run: string, files: readonly WrittenFile[]): Promise<void>;
  /** Records files that a reviewer approved, if what they were changed from is known. */
  recordApproved(workspace: string, files: readonly ApprovedFile[]): Promise<void>;
  /** Returns the files whose content may be a model's and that would allow something new. */
  doubts(workspace: string, files: readonly ConfigurationFile[]): Promise<readonly Doubt[]>;
  /** Records that these contents are accepted in the workspace's repository. */
  accept(workspace: string, files: readonly ConfigurationFile[]): Promise<void>;
}

interface Baseline {
  readonly hashes: readonly string[];
  /** Text of `emend.yaml`. */
  readonly config: string;
  /** Grants of its jobs and plans. */
  readonly grants: readonly string[];
}
interface Unapproved {
  readonly path: string;
  readonly run: string;
}
interface Accepted {
  readonly path: string;
  /** The order in which contents of `emend.yaml` were accepted. */
  readonly number: number;
  /** Text, if the file is `emend.yaml`. */
  readonly config: string | null;
  readonly grants: readonly string[];
}

export function createTrust({ home, sys = realSys }: { readonly home: string; sys?: Sys }): Trust {
  const dir = homePaths(home).trust;
  const recorded = new Set<string>();
  const unapprovedPath = (hash: string): string => join(dir, 'unapproved', `${hash}.json`);
  return {
    recordBeforeCommand: async (workspace) => {
      const place = await recordOf(dir, workspace);
      if (recorded.has(place)) return;
      if ((await readJson(sys, baselineIn(place))) === null)
        await putJsonIfAbsent(
          sys,
          baselineIn(place),
          await baselineOf(await realpath(workspace), (hash) => existsSync(unapprovedPath(hash))),
        );
      recorded.add(place);
    },
    recordUnapproved: async (workspace, run, files) => {
      const place = await recordOf(dir, workspace);
      for (const { path, hash } of files) {
        await putJsonIfAbsent(sys, unapprovedPath(hash), { path, run } satisfies Unapproved);
        for (const name of await namesOf(workspace, path))
          await putJsonIfAbsent(sys, changedPath(place, name), { path, run } satisfies Unapproved);
      }
    },
    recordApproved: async (workspace, files) => {
      const named = files.filter(({ path }) => isConfigurationName(path));
      if (named.length === 0) return;
      const place = await recordOf(dir, workspace);
      const baseline = await readJson<Baseline>(sys, baselineIn(place));
      // The first baseline will have these files anyway.
      if (baseline === null) return;
      const accepted = await acceptedIn(sys, place);
      await acceptFiles(sys, place, await changedFromTrusted(named, { baseline, accepted }));
    },
    doubts: async (workspace, files) => {
      const place = await recordOf(dir, workspace);
      const accepted = await acceptedIn(sys, place);
      const baseline = await readJson<Baseline>(sys, baselineIn(place));
      const doubts: Doubt[] = [];
      for (const file of files.filter(({ hash }) => !accepted.has(hash))) {
        const unapproved = await readJson<Unapproved>(sys, unapprovedPath(file.hash));
        const names = [...new Set([file.path, file.realPath ?? file.path])];
        const records = await Promise.all(
          names.map((name) => readJson<Unapproved>(sys, changedPath(place, name))),
        );
        const changed = records.find((record) => record !== null) ?? null;
        const doubt = doubtAbout(file, { unapproved, changed, baseline, accepted });
        if (doubt !== null) doubts.push(doubt);
      }
      return doubts;
    },
    accept: async (workspace, files) => {
      await acceptFiles(sys, await recordOf(dir, workspace), files);
    },
  };
}

/** Returns the approved files that were new, or were changed from a content that is trusted. */
async function changedFromTrusted(
  files: readonly ApprovedFile[],
  { baseline, accepted }: { readonly baseline: Baseline; readonly accepted: Records['accepted'] },
): Promise<readonly ConfigurationFile[]> {
  const isTrusted = (hash: string | null): boolean =>
    hash === null || baseline.hashes.some((entry) => entry.startsWith(hash)) || accepted.has(hash);
  const trusted: ConfigurationFile[] = [];
  for (const { path, read } of files) {
    const { text, baseHash } = await read();
    if (isTrusted(baseHash)) trusted.push(asConfiguration(path, text));
  }
  return trusted;
}

async function acceptFiles(
  sys: Sys,
  place: string,
  files: readonly ConfigurationFile[],
): Promise<void> {
  const number = (await acceptedIn(sys, place)).size + 1;
  for (const file of files)
    await putJsonIfAbsent(sys, join(place, 'accepted', `${file.hash}.json`), {
      path: file.path,
      number,
      config: file.kind === 'config' ? file.text : null,
      grants: grantsInDocument(file),
    } satisfies Accepted);
}

const asConfiguration = (path: string, text: string): ConfigurationFile => ({
  path,
  kind: path === 'emend.yaml' ? 'config' : 'job',
  text,
  hash: contentHash(text),
});

/** Returns a path of the workspace, and the path of the file that it leads to if it is a link. */
async function namesOf(workspace: string, path: string): Promise<readonly string[]> {
  const real = await orNull(realpath(resolve(workspace, path)), UNREADABLE);
  return real === null ? [path] : [...new Set([path, relative(await realpath(workspace), real)])];
}

const changedPath = (place: string, path: string): string =>
  join(place, 'changed', `${sha256(path).slice(0, REPOSITORY_CHARS)}.json`);

const baselineIn = (place: string): string => join(place, 'baseline.json');

/** Returns the directory of the record of a workspace's repository; outside git, of the workspace. */
async function recordOf(dir: string, workspace: string): Promise<string> {
  const repository = await repositoryIfGit(workspace);
  const owner = repository === null ? workspace : await sharedGitDirectory(repository.gitDir);
  return join(dir, sha256(await realpath(owner)).slice(0, REPOSITORY_CHARS));
}

/** Hashes every file of the workspace that can be configuration, and notes what the documents among them allow. */
async function baselineOf(
  root: string,
  isUnapproved: (hash: string) => boolean,
): Promise<Baseline> {
  const listed = (await listWorkspaceFiles(root)).filter(isConfigurationName);
  const hashes = new Set<string>();
  const grants = new Set<string>();
  for (const path of listed.slice(0, BASELINE_FILES)) {
    const bytes = await orNull(readGiven(join(root, path), BASELINE_FILE_BYTES), UNREADABLE).catch(
      () => null,
    );
    if (bytes === null) continue;
    const file = {
      path,
      kind: 'job',
      text: bytes.toString('utf8'),
      hash: contentHash(bytes),
    } as const;
    if (isUnapproved(file.hash)) continue;
    hashes.add(file.hash);
    hashes.add(entryOf(file));
    for (const grant of grantsInDocument(file)) grants.add(grant);
  }
  // These count even if git ignores them.
  const named = await configurationFiles(root);
  for (const file of named) hashes.add(entryOf(file));
  const config = named.find(({ kind }) => kind === 'config')?.text ?? '';
  return { hashes: [...hashes], config, grants: [...grants].slice(0, GRANTS_KEPT) };
}

async function acceptedIn(sys: Sys, place: string): Promise<ReadonlyMap<string, Accepted>> {
  const dir = join(place, 'accepted');
  const names = (await orNull(readdir(dir), ['ENOENT', 'ENOTDIR'])) ?? [];
  const accepted = new Map<string, Accepted>();
  for (const name of names.filter((file) => file.endsWith('.json'))) {
    const record = await readJson<Accepted>(sys, join(dir, name));
    if (record !== null) accepted.set(name.slice(0, -'.json'.length), record);
  }
  return accepted;
}

interface Records {
  readonly unapproved: Unapproved | null;
  /** The run that changed the file at this path without an approval; null: none did. */
  readonly changed: Unapproved | null;
  readonly baseline: Baseline | null;
  readonly accepted: ReadonlyMap<string, Accepted>;
}

/** A job may be moved; what is obeyed by its name is known under this name only. */
const isInBaseline = ({ hashes }: Baseline, file: ConfigurationFile): boolean =>
  hashes.includes(entryOf(file)) ||
  ((file.kind === 'job' || file.kind === 'plan') && hashes.includes(file.hash));
const entryOf = ({ path, hash }: Pick<ConfigurationFile, 'path' | 'hash'>): string =>
  `${hash} ${path}`;

function doubtAbout(file: ConfigurationFile, records: Records): Doubt | null {
  const { unapproved, changed, baseline } = records;
  const grants = newGrantsOf(file, records);
  const { path, hash } = file;
  if (unapproved !== null) {
    const reason = `run ${unapproved.run} applied this content without your approval`;
    return { path, hash, reason, grants };
  }
  if (changed !== null && grants.length > 0 && file.isElsewhere !== true) {
    const reason = `run ${changed.run} changed this file without your approval, and it was changed since`;
    return { path, hash, reason, grants };
  }
  if (file.isElsewhere === true) return null;
  if (baseline === null || isInBaseline(baseline, file) || grants.length === 0) return null;
  const reason =
    'it changed after a command could write the workspace, so a model may have changed it';
  return { path, hash, reason, grants };
}

/** Returns what the file allows beyond the last trusted `emend.yaml` and the trusted documents. */
function newGrantsOf(file: ConfigurationFile, { baseline, accepted }: Records): readonly string[] {
  const configs = [...accepted.values()]
    .filter(({ config }) => config !== null)
    .sort((a, b) => b.number - a.number);
  const trusted = jobs.parseConfig(configs[0]?.config ?? baseline?.config ?? null);
  if (!trusted.ok) return grantsInDocument(file);
  if (file.kind === 'config') {
    const config = jobs.parseConfig(file.text);
    return config.ok ? jobs.newGrants(config.value, trusted.value) : [];
  }
  const known = new Set([
    ...jobs.grantsOfConfig(trusted.value),
    ...(baseline?.grants ?? []),
    ...[...accepted.values()].flatMap(({ grants }) => grants),
  ]);
  return grantsInDocument(file).filter((grant) => !known.has(grant));
}
