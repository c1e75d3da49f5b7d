/** Finds and reads the files of a plan, and the thresholds that hold for it, and says how its files change. Needs no server. */
import { join, relative, sep, basename, dirname, resolve } from 'node:path';
import { lstatSync, realpathSync, statSync } from 'node:fs';
import { rmdir, stat } from 'node:fs/promises';
import type { ProjectConfig } from '../../documents/job/index.js';
import * as plans from '../../documents/plan/index.js';
import { type DiscoveredTests, discoverTests, notesAbove } from '../commands/discover.js';
import { topOf } from '../git/git.js';
import { NEW_FILE_MODE } from '../files/index.js';
import type { ProposalFile } from '../proposal.js';
import type { BlobStore } from '../../stores/ports.js';
import { orNull } from '../../system/durable.js';
import { sha256 } from '../../system/hash.js';
import { readConfig } from './read-job.js';
import { fail, failAll, problem, valueOf } from '../../shared/problems.js';
import { kindOf } from '../../system/fs.js';
import { readGivenSync, readGivenText } from '../../system/given-file.js';

const PLAN_FILE_BYTES = 1 * 1024 * 1024; // bound: A plan document larger than this is not read; one of more phases is not run.

export interface FoundPlan {
  /** Real path of the folder that the plan lies in. */
  readonly base: string;
  readonly place: plans.PlanPlace;
  /** The phase whose file or folder was typed, where it was one. */
  readonly phase: number | null;
}
export interface ReadPlan extends FoundPlan {
  /** Real path of the repository, else of the folder that the plan lies in. */
  readonly workspace: string;
  readonly tree: plans.PlanTree;
  readonly thresholds: plans.ResolvedThresholds;
  /** Of emend.yaml. */
  readonly sign: ProjectConfig['sign'];
  readonly test: ProjectConfig['test'];
  /** How a person is told of a file of the plan. */
  readonly show: (path: string) => string;
}

const isFile = (path: string): boolean =>
  statSync(path, { throwIfNoEntry: false })?.isFile() === true;
const isFolder = (path: string): boolean =>
  statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;

/** `010_demo.md`, `010_demo/` and `010_demo/010_demo.md` are one plan; a file or folder of one of its phases finds it too. */
const findPlan = (cwd: string, typed: string): FoundPlan => {
  const path = resolve(cwd, typed);
  const at = (base: string, stem: string, inFolder: boolean): FoundPlan => ({
    base: realpathSync(base),
    place: { stem, inFolder },
    phase: null,
  });
  const stem = basename(path).replace(/\.md$/i, '');
  const file = path.endsWith('.md') ? path : join(dirname(path), `${stem}.md`);
  const inFolder = join(dirname(path), stem, `${stem}.md`);
  const phase = phasePath(path);
  if (phase !== null)
    return { ...at(dirname(phase.folder), basename(phase.folder), true), phase: phase.number };
  if (isFile(file) && basename(dirname(file)) === stem)
    return at(dirname(dirname(file)), stem, true);
  if (isFile(file) && isFile(inFolder))
    return fail(
      'plan_invalid',
      `Both ${file} and ${inFolder} exist; expected one of them.`,
      'Keep the plan and move the other file away.',
    );
  if (isFile(inFolder)) return at(dirname(path), stem, true);
  if (isFile(file)) return at(dirname(file), stem, false);
  const other = statSync(file, { throwIfNoEntry: false });
  const found = other === undefined ? '' : `; ${file} is ${kindOf(other)}`;
  return fail(
    'plan_not_found',
    `Plan ${typed} not found (looked for ${file} and ${inFolder}${found}).`,
  );
};

/** `…/010_demo/phase_2_core.md`, `…/010_demo/phase_2_core/` or a file in that. */
const phasePath = (path: string): { readonly folder: string; readonly number: number } | null => {
  for (const each of [path, dirname(path)]) {
    const number = /^phase_(\d+)(?:_[^/]*)?$/.exec(basename(each).replace(/\.md$/, ''))?.[1];
    const folder = dirname(each);
    if (
      number !== undefined &&
      (isFile(path) || isFolder(path)) &&
      isFile(join(folder, `${basename(folder)}.md`))
    )
      return { folder, number: Number(number) };
  }
  return null;
};

/** Bytes of a plan's file as text: UTF-8 that is not too large, inside the folder that the plan lies in. */
const reader =
  (base: string): plans.ReadFile =>
  (path) => {
    const full = join(base, path);
    const found = lstatSync(full, { throwIfNoEntry: false });
    if (found === undefined) return { reason: `expected a file ${path}, but it does not exist` };
    const inside = relative(base, realpathSync(full));
    if (found.isSymbolicLink() || inside.startsWith('..'))
      return {
        reason: `expected a file of the plan's folder, as marks are written into it; ${path} is a link`,
      };
    const size = statSync(full);
    if (!size.isFile()) return { reason: `expected ${path} to be a file` };
    if (size.size > PLAN_FILE_BYTES)
      return {
        reason: `expected at most ${PLAN_FILE_BYTES} bytes, but ${path} has ${size.size}; split the plan`,
      };
    const bytes = readGivenSync(full, PLAN_FILE_BYTES);
    try {
      const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
      return text.includes('\0')
        ? { reason: `expected text, but ${path} contains a NUL character` }
        : { text };
    } catch {
      return { reason: `expected UTF-8, but ${path} has another encoding` };
    }
  };

/** Parses the texts of a plan's files elsewhere. */
export type ParsePlan = (texts: plans.PlanTexts) => Promise<plans.ParsedTexts>;

/** Loads the files of a plan, each when another one leads to it. */
async function parsedElsewhere(
  { base, place }: FoundPlan,
  cwd: string,
  parse: ParsePlan,
): Promise<plans.PlanTree> {
  const read = reader(base);
  const main = plans.mainFile(place);
  const files = new Map([[main, read(main)]]);
  for (;;) {
    const { tree, missing } = await parse({ place, base, cwd, files });
    if (missing.length === 0) return tree;
    for (const path of missing) files.set(path, read(path));
  }
}

interface ReadOptions {
  /** Absent: the texts are parsed in this thread. */
  readonly parse?: ParsePlan;
  /** Absent: `emend.yaml` of the workspace is read. */
  readonly config?: ProjectConfig;
}

/** Throws ProblemsError with everything that is wrong with emend.yaml. */
export const readPlan = async (
  cwd: string,
  typed: string,
  { parse, config }: ReadOptions = {},
): Promise<ReadPlan> => {
  const found = findPlan(cwd, typed);
  const { base, place } = found;
  const show = (path: string): string => relative(cwd, join(base, path)) || path;
  const main = join(base, plans.mainFile(place));
  const workspace = await topOf(base);
  const { sign, plan, test } = config ?? valueOf(await readConfig(workspace));
  const thresholds = plans.resolveThresholds(
    await thresholdSources(dirname(main), workspace, plan),
  );
  return {
    ...found,
    workspace,
    thresholds,
    sign,
    test,
    show,
    tree:
      parse === undefined
        ? plans.readTree(place, reader(base), show)
        : await parsedElsewhere(found, cwd, parse),
  };
};

/** `emend.yaml` of the workspace, then the nearest CLAUDE.md or AGENTS.md with the section, from the plan up to the workspace. */
const thresholdSources = async (
  from: string,
  workspace: string,
  plan: ProjectConfig['plan'],
): Promise<readonly plans.ThresholdSource[]> => {
  const sources: plans.ThresholdSource[] =
    plan === undefined ? [] : [{ from: 'emend.yaml', values: plan }];
  for await (const { path, text } of notesAbove(realpathSync(from), workspace)) {
    const values = plans.thresholdsIn(text);
    if (values !== null) return [...sources, { from: relative(workspace, path), values }];
  }
  return sources;
};

/** Null: of the phases whose tasks name none; without commands: nothing was found for these. */
export type PlanTest = DiscoveredTests & { readonly phase: number | null };
const NOTHING: PlanTest = {
  phase: null,
  commands: [],
  source: 'none found, none configured',
  definedBy: [],
};

/** Test commands of the phases that are still to be done, each by the first source that has some; none where `test` is configured. */
export const discoverPlanTests = async (
  { test, place }: Pick<ReadPlan, 'test' | 'place'>,
  workspace: string,
  phases: readonly Pick<plans.PhaseReport, 'number' | 'markers' | 'tasks'>[],
): Promise<readonly PlanTest[]> => {
  if (Array.isArray(test)) return [];
  const open = phases.filter(
    ({ markers }) => !markers.includes('COMPLETED') && !markers.includes('SKIPPED'),
  );
  const own = open.flatMap(({ number: phase, tasks }): readonly PlanTest[] => {
    const naming = tasks
      .map(({ text }) => text)
      .filter((text) => plans.taskCommands([text]).length > 0);
    const definedBy = [{ path: `${place.stem}.md`, sha256: sha256(naming.join('\0')) }];
    const found = {
      commands: plans.taskCommands(naming),
      source: `tasks of Phase ${phase}`,
      definedBy,
    };
    return naming.length === 0
      ? []
      : [{ phase, ...found, read: (text) => plans.taskCommands(text.split('\n')) }];
  });
  if (open.length === own.length) return own;
  const rest = await discoverTests(workspace);
  return [...own, rest === null ? NOTHING : { ...rest, phase: null }];
};

/** Throws every fault of a plan at once. */
export const refuseFaults = (faults: readonly plans.Fault[]): void =>
  failAll(
    faults.map(({ file, line, message }) => problem('plan_invalid', `${file}:${line}: ${message}`)),
  );

// Where a plan's files are in the workspace.

export const inWorkspace = (
  { base }: Pick<ReadPlan, 'base'>,
  workspace: string,
  path: string,
): string => relative(workspace, join(base, path)).split(sep).join('/');

export const pathsOfPlan = (plan: ReadPlan, workspace: string): readonly string[] =>
  [...plan.tree.files.keys()].map((path) => inWorkspace(plan, workspace, path));

/** Where the partial summary of a plan is, or will be, and its text; null: there is none. `none`: errors that say so, too. */
export const summaryOf = async (root: string, planPath: string, none?: readonly string[]) => {
  const [shared, own] = plans.summaryFiles(planPath);
  const text = await readGivenText(join(root, shared), none);
  const isOther = (plans.planOfSummary(text ?? '') ?? planPath) !== planPath;
  return isOther
    ? { path: own, text: await readGivenText(join(root, own), none) }
    : { path: shared, text };
};

/** The texts that differ as files of a proposal, by path; paths are relative to `root`, where a file's mode is read. */
export const changedTexts = async (
  blobs: BlobStore,
  root: string,
  before: ReadonlyMap<string, string>,
  after: ReadonlyMap<string, string>,
): Promise<readonly ProposalFile[]> => {
  const files: ProposalFile[] = [];
  for (const path of [...new Set([...before.keys(), ...after.keys()])].sort()) {
    if (before.get(path) === after.get(path)) continue;
    const mode =
      ((await orNull(stat(join(root, path)), ['ENOENT', 'ENOTDIR']))?.mode ?? NEW_FILE_MODE) &
      0o777;
    const put = async (text: string | undefined): Promise<ProposalFile['base']> =>
      text === undefined ? null : { ref: await blobs.put(new TextEncoder().encode(text)), mode };
    files.push({
      path,
      base: await put(before.get(path)),
      result: await put(after.get(path)),
      by: 'model',
    });
  }
  return files;
};

/** Removes the folders of deleted files that hold nothing any more; one that holds a person's files stays. */
export const dropFolders = async (root: string, files: readonly ProposalFile[]): Promise<void> => {
  const gone = files.filter(({ result }) => result === null).map(({ path }) => dirname(path));
  const folders = new Set(gone.flatMap((folder) => [folder, dirname(folder)]));
  for (const folder of [...folders]
    .filter((name) => name !== '.')
    .sort((a, b) => b.length - a.length))
    await rmdir(join(root, folder)).catch(() => undefined);
};
