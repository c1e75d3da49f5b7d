/** Invariants about the bytes of files: whole, explained, and none of a person's lost. */
import { createHash } from 'node:crypto';
import type { Evidence, FoundPlan, FoundStep, FoundWorkspace } from '../evidence.js';
import { LINES, MODEL_LINES, PERSON_LINE } from '../jobs.js';
import type { Save } from '../world.js';
import type { Invariant } from './judge.js';

export const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');

const SAVED = /^saved by a person, (save \d+)$/;
const EDITED = /^edited, ([123])$/;

/** Says what is wrong with a carrier's file; null where every line is the base's, the model's or a person's, and all lines are there. */
export const unexplained = (path: string, text: string, saves: readonly Save[]): string | null => {
  const lines = text.split('\n');
  if (lines.length !== LINES + 1 || lines[LINES] !== '')
    return `${lines.length - 1} lines of ${LINES}`;
  const versions = new Set<string>();
  for (const [i, line] of lines.slice(0, LINES).entries()) {
    const n = i + 1;
    const head = `${path} line ${n}: `;
    const said = line.startsWith(head) ? line.slice(head.length) : null;
    const save = SAVED.exec(said ?? '')?.[1];
    const version = EDITED.exec(said ?? '')?.[1];
    const isModels = MODEL_LINES.some((line_) => line_ === n);
    if (
      save !== undefined &&
      saves.some((s) => s.path === path && s.bytes.includes(`${head}saved by a person, ${save}\n`))
    )
      continue;
    if (said === 'as it was') {
      if (isModels) versions.add('as it was');
    } else if (version !== undefined && isModels) versions.add(version);
    else return `line ${n} is ${JSON.stringify(line)}`;
  }
  return versions.size > 1 ? `a part of the edit: ${[...versions].join(' beside ')}` : null;
};

const carrierOf = (
  evidence: Evidence,
  { path }: FoundWorkspace,
  file: string,
): FoundStep | undefined =>
  evidence.steps.find((step) => step.workspace === path && step.paths.includes(file));

export const filesAreWhole: Invariant = {
  name: "no file is partial: every line of every version is the base's, an answer's or a person's",
  violations: (evidence) =>
    evidence.workspaces.flatMap((workspace) => {
      const versions = [
        ...Object.entries(workspace.files).map(([path, text]) => ({ where: 'tree', path, text })),
        ...workspace.commits.flatMap(({ id, changed }) =>
          Object.entries(changed).map(([path, text]) => ({ where: id.slice(0, 8), path, text })),
        ),
      ];
      const wrong = versions.flatMap(({ where, path, text }) => {
        if (carrierOf(evidence, workspace, path) === undefined) return [];
        const why = unexplained(path, text, evidence.saves);
        return why === null ? [] : [`${workspace.path} ${path} (${where}): ${why}`];
      });
      const missing = evidence.steps
        .filter((step) => step.workspace === workspace.path)
        .flatMap((step) => step.paths.filter((path) => workspace.files[path] === undefined))
        .map((path) => `${workspace.path} ${path}: it is gone`);
      return [...wrong, ...missing];
    }),
};

/** A step's files stand at one version, unless a person took part. */
export const stepsAreWhole: Invariant = {
  name: 'all files of a step are changed, or none',
  violations: ({ steps, workspaces, saves }) =>
    steps.flatMap((step) => {
      if (step.paths.length < 2 || saves.some(({ carrier }) => carrier === step.carrier)) return [];
      const files = workspaces.find(({ path }) => path === step.workspace)?.files ?? {};
      const versions = new Set(
        step.paths.map((path) => /edited, (\d)/.exec(files[path] ?? '')?.[1] ?? 'as it was'),
      );
      return versions.size === 1 ? [] : [`${step.carrier}: ${[...versions].join(' beside ')}`];
    }),
};

/** Where a person's bytes are: in the tree, in git, put aside by name, or under an edit that was made on top of them and approved. */
const placeOf = (save: Save, { steps, workspaces }: Evidence): string | null => {
  const workspace = workspaces.find(({ path }) => path === save.workspace);
  if (workspace?.files[save.path] === save.bytes) return 'tree';
  if (workspace?.commits.some(({ changed }) => changed[save.path] === save.bytes) === true)
    return 'git';
  const step = steps.find(({ carrier }) => carrier === save.carrier);
  const hash = sha256(save.bytes);
  if (step?.records.some(({ saved }) => saved.includes(hash)) === true) return 'put aside';
  const line =
    save.bytes.split('\n').find((text) => SAVED.test(text.replace(/^.*? line \d+: /, ''))) ??
    save.bytes;
  const built = step?.records.some(({ files }) =>
    files.some(({ path, base }) => path === save.path && base === hash),
  );
  return built === true && (workspace?.files[save.path] ?? '').split('\n').includes(line)
    ? 'built upon'
    : null;
};

export const savesAreKept: Invariant = {
  name: 'no byte that a person saved is lost',
  violations: (evidence) =>
    evidence.saves
      .filter((save) => placeOf(save, evidence) === null)
      .map(
        (save) =>
          `${save.carrier} ${save.path}, saved ${save.how}: ${sha256(save.bytes).slice(0, 12)} is nowhere`,
      ),
};

const hasPersonsLine = (text: string): boolean =>
  text.split('\n').some((line, i) => i + 1 === PERSON_LINE && line.includes('saved by a person'));
/** What a committed file should say at the end: every wanted line, a person's line at most where they saved. */
export const isWanted = (wanted: string, found: string | undefined): boolean => {
  if (found === undefined) return false;
  const kept = hasPersonsLine(found)
    ? found
        .split('\n')
        .map((line, i) => (i + 1 === PERSON_LINE ? (wanted.split('\n')[i] ?? '') : line))
        .join('\n')
    : found;
  return kept === wanted;
};

export const nothingIsLeft: Invariant = {
  name: 'no temporary or lock file is left, no transaction is open, git is sound',
  violations: ({ steps, plans, workspaces }) => [
    ...workspaces.flatMap(({ path, files, locks, fsck, status }) => [
      ...Object.keys(files)
        .filter((name) => /(^|\/)\.(emend|person)-/.test(name))
        .map((name) => `${path} ${name} is left`),
      ...locks.map((name) => `${path} .git/${name} is left`),
      ...fsck.map((said) => `${path} git fsck: ${said}`),
      ...status
        .filter((line) => !expectedStatus(line, path, [...steps, ...plans]))
        .map((line) => `${path} git status: ${line}`),
    ]),
    ...steps.flatMap(({ carrier, records }) =>
      records
        .filter(({ open }) => open)
        .map(({ name }) => `${carrier}: transaction ${name} is open`),
    ),
  ],
};

/** Only a person's uncommitted save may show in `git status`. */
const expectedStatus = (
  line: string,
  workspace: string,
  all: readonly (FoundStep | FoundPlan)[],
): boolean => {
  const path = line.slice(3);
  const saved = all.find(
    (each) =>
      each.workspace === workspace &&
      ('document' in each ? each.document === path : each.paths.includes(path)),
  );
  return line.startsWith(' M ') && saved?.kind.startsWith('saves') === true;
};
