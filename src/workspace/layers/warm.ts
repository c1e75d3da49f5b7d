/**
 * Keeps outputs of a run's commands (what git ignores) for its next command. They are lower layers, `<home>/layers/<run>/warm/<n>/`. A command
 * takes them by renaming `warm` into its own directory and puts them back at its end: so two commands never share them, and those of a
 * killed command end with its directory.
 */
import { isUtf8 } from 'node:buffer';
import { chmod, mkdir, readdir, readFile, rename, writeFile } from 'node:fs/promises';
import type { Stats } from 'node:fs';
import { join } from 'node:path';
import { isDependencyFolder } from '../../documents/job/index.js';
import { refusalText, withParent } from '../../system/beneath.js';
import { orNull } from '../../system/durable.js';
import { lstat } from '../../system/fs.js';
import { isWithin } from '../../system/paths.js';
import { git } from '../git/git.js';
import type { ExpectedFile } from '../ports.js';
import { removedWithoutMark, type ShownNames } from './changes.js';
import { entriesIn, entryAt, isRemovalMark, openDirectory, PATH_BYTES } from './entries.js';
import { makeParents, markRemoved } from './parents.js';
import { isProgram } from './programs.js';
import { removeTree } from './remove.js';

const GENERATIONS = 8; // bound: Commands of a run whose outputs are layers at once. The next command starts without outputs.
const LAYER_PATHS_BYTES = 2_048; // bound: Bytes of the paths of these layers: the options of a mount have one page.
const GENERATION_MIB = 4_096; // bound: Outputs of one command that are kept, in MiB.
const GENERATION_ENTRIES = 500_000; // bound: Files and directories of these outputs.
const KEPT_PATHS = 100_000; // bound: Ignored files and directories that are moved one by one.

/** The proposal that the latest command of these outputs saw, and when. */
interface Seen {
  readonly files: readonly { readonly path: string; readonly ref: string | null }[];
  readonly at_s: number;
}

const SEEN = 'seen.json';
const seenOf = (proposal: readonly ExpectedFile[]): Seen['files'] =>
  proposal.map(({ path, result }) => ({ path, ref: result?.ref ?? null }));
const currentTime_s = (): number => Math.floor(Date.now() / 1000);

export interface Outputs {
  /** The command's own copy of `warm`. */
  readonly dir: string;
  /** Their layers, the lowest first. */
  readonly layers: readonly string[];
}

/** Takes the outputs of earlier commands away from `run`, the run's directory, into the command's directory. */
export async function takeOutputs(
  run: string,
  command: string,
  proposal: readonly ExpectedFile[],
): Promise<Outputs> {
  const dir = join(command, 'warm');
  if ((await orNull(rename(join(run, 'warm'), dir).then(() => true))) === null) await mkdir(dir);
  const names = (await readdir(dir)).filter((name) => name !== SEEN).sort(byNumber);
  const layers = names.map((name) => join(dir, name));
  const isLong = layers.join(':').length > LAYER_PATHS_BYTES;
  if (
    layers.length === 0 ||
    (layers.length < GENERATIONS && !isLong && (await fits(dir, proposal)))
  )
    return { dir, layers };
  await removeTree(dir);
  await mkdir(dir);
  return { dir, layers: [] };
}

const byNumber = (a: string, b: string): number => Number(a) - Number(b);

/**
 * Returns whether tools that compare times rebuild all that differs from what they saw. A file that is again as in the workspace has its old
 * time, and a removed file leaves what was built of it: then the outputs do not fit. Python compares whole seconds.
 */
async function fits(dir: string, proposal: readonly ExpectedFile[]): Promise<boolean> {
  const seen = JSON.parse(await readFile(join(dir, SEEN), 'utf8')) as Seen;
  const current = new Map(seenOf(proposal).map(({ path, ref }) => [path, ref]));
  if (!seen.files.every(({ path }) => current.has(path))) return false;
  const earlier = new Map(seen.files.map(({ path, ref }) => [path, ref]));
  const changed = [...current].filter(([path, ref]) => earlier.get(path) !== ref);
  if (changed.some(([, ref]) => ref === null)) return false;
  return changed.length === 0 || currentTime_s() > seen.at_s;
}

export interface Kept {
  readonly outputs: Outputs;
  readonly upper: string;
  readonly workspace: string;
  readonly proposal: readonly ExpectedFile[];
  /** Directories on PATH in the workspace, relative to it. */
  readonly programs: readonly string[];
  readonly shownNames: ShownNames;
}

/** Makes one more layer of the outputs that the command left, unless they are too many or too large. */
export async function keepOutputs(kept: Kept): Promise<void> {
  const { workspace, outputs, proposal } = kept;
  const found = await ignoredOutputs(kept);
  if (found !== null) {
    const last = outputs.layers.at(-1)?.split('/').at(-1) ?? '0';
    const generation = join(outputs.dir, String(Number(last) + 1));
    await mkdir(generation);
    await chmod(generation, (await lstat(workspace)).mode & 0o7777);
    try {
      await fillGeneration(kept, generation, found);
      const size = { mib: 0, entries: 0 };
      await removeUnkept(Buffer.from(generation), size);
      if (size.mib > GENERATION_MIB || size.entries > GENERATION_ENTRIES)
        await removeTree(generation);
    } catch (error) {
      // A part of the outputs would look complete to the next command.
      await removeTree(generation);
      throw error;
    }
  }
  const seen: Seen = { files: seenOf(proposal), at_s: currentTime_s() };
  await writeFile(join(outputs.dir, SEEN), JSON.stringify(seen));
}

async function fillGeneration(
  { workspace, upper }: Kept,
  generation: string,
  { paths, removed }: FoundOutputs,
): Promise<void> {
  for (const path of paths) {
    await makeParents(workspace, generation, path);
    await moveEntry(upper, generation, path);
  }
  for (const path of removed) await makeParents(workspace, generation, path);
  await markRemoved(generation, removed);
}

/** Gives the outputs to the next command. If another command did so meanwhile, ours end with the command's directory. */
export async function putBackOutputs(run: string, { dir }: Outputs): Promise<void> {
  if ((await readdir(dir)).every((name) => name === SEEN)) return;
  await orNull(rename(dir, join(run, 'warm')), ['EEXIST', 'ENOTEMPTY', 'ENOENT']);
}

/** Moves an entry to the same path of another layer. Renaming a directory changes its entry `..`, which needs the right to write it. */
async function moveEntry(upper: string, generation: string, path: string): Promise<void> {
  const moved = await withParent(upper, path, (from, name) =>
    withParent(generation, path, async (to) => {
      const stat = await lstat(from.pathOf(name));
      if (stat.isDirectory()) await openDirectory(from.pathOf(name), stat);
      await rename(from.pathOf(name), to.pathOf(name));
      return { ok: true, value: null };
    }),
  );
  if (!moved.ok) throw new Error(`an output of the command cannot be kept: ${refusalText(moved)}`);
}

interface FoundOutputs {
  /** Ignored files, directories and removal marks in the upper layer, each as high as possible. */
  readonly paths: readonly string[];
  /** Earlier outputs that are hidden by a directory that was removed and made again, but is not kept whole. */
  readonly removed: readonly string[];
}

/** Finds what the command's layer has to keep; null: nothing, or too much. Asks git once for each level of directories. */
async function ignoredOutputs(kept: Kept): Promise<FoundOutputs | null> {
  const paths: string[] = [];
  const entered: string[] = [];
  const proposed = kept.proposal.map(({ path }) => path);
  const isReserved = ({ path, stat }: Candidate): boolean =>
    proposed.some((other) => isWithin(path, other)) ||
    isProgram(kept.programs, path, stat.isDirectory());
  const holdsReserved = (path: string): boolean =>
    [...proposed, ...kept.programs].some((other) => isWithin(other, path));
  for (let level = ['']; level.length > 0;) {
    const candidates = (await candidatesIn(kept.upper, level)).filter(
      (candidate) => !isReserved(candidate),
    );
    const ignored = await ignoredAmong(kept.workspace, candidates);
    if (ignored === null) return null;
    level = [];
    for (const { path, stat } of candidates)
      if (ignored.has(path) && !(stat.isDirectory() && holdsReserved(path))) paths.push(path);
      else if (stat.isDirectory() && (await mayEnter(kept, path))) level.push(path);
    entered.push(...level);
    if (paths.length > KEPT_PATHS) return null;
  }
  const below = kept.outputs.layers.toReversed();
  const removed = await removedWithoutMark({ ...kept, below }, entered);
  return paths.length + removed.length === 0 ? null : { paths, removed };
}

/** Lists the entries of directories in the upper layer without dependency folders and git directories. */
async function candidatesIn(
  upper: string,
  directories: readonly string[],
): Promise<readonly Candidate[]> {
  const candidates: Candidate[] = [];
  for (const dir of directories)
    for (const { name, stat } of await entriesIn(upper, dir))
      if (name !== '.git' && !isDependencyFolder(name))
        candidates.push({ path: dir === '' ? name : `${dir}/${name}`, stat });
  return candidates;
}

interface Candidate {
  readonly path: string;
  readonly stat: Stats;
}

/** Returns which of the entries git ignores; null: git does not know this directory. Files that git tracks are not ignored. */
async function ignoredAmong(
  workspace: string,
  candidates: readonly Candidate[],
): Promise<ReadonlySet<string> | null> {
  const questions: string[] = [];
  for (const { path, stat } of candidates) {
    const isMark = isRemovalMark(stat);
    // Patterns with a slash at their end are for directories. Git sees what the workspace has, not what the command made of it.
    if (stat.isDirectory() || isMark) questions.push(`./${path}/`);
    if (isMark || !(stat.isDirectory() || (await isDirectory(workspace, path))))
      questions.push(`./${path}`);
  }
  if (questions.length === 0) return new Set();
  const answer = await git(['check-ignore', '-z', '--stdin'], {
    cwd: workspace,
    reading: true,
    noLiteral: true,
    accept: [0, 1],
    input: questions.map((path) => `${path}\0`).join(''),
  });
  if (!answer.ok) return null;
  const fields = answer.value.text.split('\0');
  return new Set(fields.map((field) => field.replace(/^\.\//, '').replace(/\/$/, '')));
}

const isDirectory = async (root: string, path: string): Promise<boolean> =>
  (await entryAt(root, path))?.isDirectory() === true;

/** Git answers for no path behind a link or in another repository. */
async function mayEnter({ workspace, upper }: Kept, path: string): Promise<boolean> {
  const stat = await entryAt(workspace, path);
  if (stat !== null && !stat.isDirectory()) return false;
  for (const layer of [workspace, upper])
    if ((await entryAt(layer, `${path}/.git`)) !== null) return false;
  return true;
}

/** Removes what is not kept from directories that were moved whole, and counts the rest. Names are bytes. */
async function removeUnkept(dir: Buffer, size: { mib: number; entries: number }): Promise<void> {
  await openDirectory(dir, await lstat(dir));
  for (const entry of await readdir(dir, { encoding: 'buffer', withFileTypes: true })) {
    const path = Buffer.concat([dir, Buffer.from('/'), entry.name]);
    const name = entry.name.toString('utf8');
    const isDeep = path.length > PATH_BYTES;
    if (name === '.git' || isDependencyFolder(name) || !isUtf8(entry.name) || isDeep) {
      await removeTree(path);
      continue;
    }
    const stat = await lstat(path);
    size.mib += (stat.blocks * 512) / 1024 ** 2;
    size.entries += 1;
    if (entry.isDirectory()) await removeUnkept(path, size);
  }
}
