/** Puts files under one hash: what a reviewer sees is what is applied. */
import {
  changeNeeds,
  changesByPath,
  readDiff,
  selectChanges,
  wordsOf,
  type DiffSection,
} from '../../edits/index.js';
import { whyProtected } from '../../documents/job/index.js';
import type { Finding } from '../../shared/formats.js';
import type {
  SelectedFiles,
  ProposalFileSummary,
  ProposalSummary,
  StagedByHook,
} from '../../shared/proposal-activities.js';
import { getJson, putJson, type BlobStore } from '../../stores/ports.js';
import { inspectTarget } from '../../workspace/files/index.js';
import { type Proposal, type ProposalFile, proposalIdOf } from '../../workspace/proposal.js';
import type { FileChange, Accepted } from './accepted.js';
import { type Moves, movesIn } from './renames.js';
import { putText, type Snapshot } from './snapshot.js';
import type { ClaimedUnfinished } from '../../shared/unfinished.js';
import type { BlobRef, StepKey } from '../../shared/ids.js';
import { count } from '../../shared/text.js';
import { readGiven } from '../../system/given-file.js';
import { canonicalJson, sha256 } from '../../system/hash.js';
import type { EditWork } from '../frame/edit-work.js';
import type { ActivityPorts } from '../frame/ports.js';
import { diffInput } from './prompt-inputs.js';

const LEFT_OUT_CHANGES = 20; // bound: Numbers of changes that were left out, in a finding.
const PROPOSAL_FINDINGS = 10_000; // bound: Findings of one proposal, and tolerances. A proposal with more asks the reviewer, and names their number.
const MUST_ASK = 20; // bound: Reasons why a person must look; more are counted, and no policy approves what it was not told.

export interface ProposalParts {
  readonly stepKey: StepKey;
  readonly files: readonly ProposalFile[];
  readonly renames: Proposal['renames'];
  readonly findings: readonly Finding[];
  readonly tolerances: Accepted['tolerances'];
  /** Gitignore-style patterns whose changes ask even under `approval: auto`. */
  readonly protected: readonly string[];
  /** New files that a model chose to make. */
  readonly made: readonly string[];
  /** Tasks of a plan's phase that the model left undone; absent: none. */
  readonly unfinished?: readonly ClaimedUnfinished[];
}

/** New files that the job does not name. */
export const chosenNew = ({ targets }: Snapshot, files: readonly FileChange[]): readonly string[] =>
  files.flatMap(({ path, base }) => {
    const target = targets.find((each) => each.path === path);
    return base === null && (target === undefined || target.made === true) ? [path] : [];
  });

/** Tolerances that a step never approves by itself: off by default, lines that nothing confirmed, a word that may have meant its line. */
const LOOSE: ReadonlySet<string> = new Set([
  'unchecked_lines',
  'part_of_line',
  'indent',
  'lookalikes',
  'elision',
]);
const KEY_DIGITS = 16;

/** Null: nothing would change. */
export async function buildWholeProposal(
  { blobs, edits }: Pick<ActivityPorts, 'blobs' | 'edits'>,
  parts: ProposalParts,
  signal: AbortSignal,
): Promise<ProposalSummary | null> {
  // New files first: nobody knows them yet.
  const rank = ({ path, base }: ProposalFile): string => `${base === null ? 0 : 1} ${path}`;
  const changed = parts.files.filter(({ base, result }) => base === null || !same(base, result));
  const files = changed.sort((a, b) => (rank(a) < rank(b) ? -1 : 1));
  if (files.length === 0) return null;
  const { unfinished = [] } = parts;
  const left = unfinished.length === 0 ? {} : { unfinished };
  const proposal: Proposal = { stepKey: parts.stepKey, files, renames: parts.renames, ...left };
  const moves = movesIn(files, parts.renames);
  const drawn = await drawFiles({ blobs, edits }, files, moves, signal);
  const destinations = new Set(parts.renames.map(({ to }) => to));
  const summaries = files.map((file) =>
    summaryOf(file, { moves, destinations, changed: drawn.changed }),
  );
  const [ref, diff] = await Promise.all([putJson(blobs, proposal), putText(blobs, drawn.text)]);
  return {
    id: proposalIdOf(proposal),
    ref,
    diff,
    files: summaries,
    findings: parts.findings.slice(0, PROPOSAL_FINDINGS),
    tolerances: [
      ...new Set(
        parts.tolerances.map(
          ({ tolerance, path, line }) => `${tolerance} ${path}${line === null ? '' : `:${line}`}`,
        ),
      ),
    ].slice(0, PROPOSAL_FINDINGS),
    mustAsk: [...mustAsk(parts, summaries), ...unlisted('findings', parts.findings)],
  };
}

/** A reason to ask the reviewer if there are more than are listed. */
const unlisted = (name: string, all: readonly unknown[]): readonly string[] =>
  all.length <= PROPOSAL_FINDINGS
    ? []
    : [
        `${name}: ${all.length - PROPOSAL_FINDINGS} more than the ${PROPOSAL_FINDINGS} that are listed`,
      ];

const keyOf = ({ base, result }: ProposalFile): string =>
  sha256(canonicalJson({ base, result })).slice(0, KEY_DIGITS);

type DrawnDiff = EditWork['diff']['result'];
type ChangedLines = DrawnDiff['changed'][number];

/** Draws the combined diff. A moved file is drawn once, from its old path to its new one. */
async function drawFiles(
  { blobs, edits }: Pick<ActivityPorts, 'blobs' | 'edits'>,
  files: readonly ProposalFile[],
  moves: Moves,
  signal: AbortSignal,
): Promise<{ readonly text: string; readonly changed: ReadonlyMap<string, ChangedLines> }> {
  const shown = files.filter(({ path }) => !moves.byOldPath.has(path));
  const inputs = await Promise.all(
    shown.map(async (file) => {
      const source = moves.byNewPath.get(file.path);
      if (source === undefined) return diffInput(blobs, file);
      const sides = await diffInput(blobs, { ...file, base: source.base });
      return { ...sides, moveFrom: source.path };
    }),
  );
  const { text, changed } = await edits.run('diff', inputs, signal);
  const byPath = shown.flatMap(({ path }, index) => {
    const lines = changed[index];
    return lines === undefined ? [] : [[path, lines] as const];
  });
  return { text, changed: new Map(byPath) };
}

interface Drawn {
  readonly moves: Moves;
  /** Paths that files move to. One that had a file before, as after a swap, is no pair of `moves`, and no part of it is taken alone. */
  readonly destinations: ReadonlySet<string>;
  readonly changed: ReadonlyMap<string, ChangedLines>;
}

function summaryOf(
  file: ProposalFile,
  { moves, destinations, changed }: Drawn,
): ProposalFileSummary {
  const { path, by: author } = file;
  const { added, removed, changes } = changed.get(path) ?? { added: 0, removed: 0 };
  const [from, to] = [moves.byNewPath.get(path)?.path, moves.byOldPath.get(path)?.path];
  const isMove = to !== undefined || destinations.has(path);
  const change = isMove ? 'move' : changeOf(file);
  const isDivisible = changes !== undefined && change === 'edit' && author === 'model';
  return {
    path,
    change,
    ...(from === undefined ? {} : { from }),
    ...(to === undefined ? {} : { to }),
    by: author,
    added,
    removed,
    ...(isDivisible ? { changes } : {}),
    key: keyOf(file),
  };
}

function changeOf({ base, result }: ProposalFile): ProposalFileSummary['change'] {
  if (result === null) return 'delete';
  return base === null ? 'create' : 'edit';
}

function mustAsk(
  { findings, tolerances, protected: patterns, made }: ProposalParts,
  files: readonly ProposalFileSummary[],
): string[] {
  const why = whyProtected(patterns);
  const ours = files.filter((file) => file.by === 'model');
  const gone = new Set(ours.filter((file) => file.change === 'delete').map((file) => file.path));
  const reasons = [
    ...ours.flatMap(({ path }) => {
      const reason = why(path);
      return reason === null ? [] : [`protected path ${path}: ${reason}`];
    }),
    ...[...gone].map((path) => `deletion of ${path}`),
    ...ours.flatMap(({ path, from }) => (from === undefined ? [] : [`move of ${from} to ${path}`])),
    ...made.map((path) => `new file ${path}: a model chose to make it`),
    ...findings
      .filter(
        ({ severity, guard, path }) =>
          severity === 'ask' && !(guard === 'deletion' && gone.has(path)),
      )
      .map((finding) => `${finding.guard} in ${finding.path}`),
    ...tolerances
      .filter(({ tolerance }) => LOOSE.has(tolerance))
      .map(({ tolerance, path }) => `tolerance ${tolerance} in ${path}`),
  ];
  const more = reasons.length - MUST_ASK;
  return more <= 0 ? reasons : [...reasons.slice(0, MUST_ASK), count(more, 'more reason')];
}

// Files that a new proposal takes from an earlier proposal, because a person chose among its changes.

export interface SelectedChanges {
  readonly changes: ReadonlyMap<string, FileChange>;
  /** Paths of which only some changes were taken. */
  readonly inPart: ReadonlySet<string>;
  /** What was left out, and what is missed by what was taken. */
  readonly findings: readonly Finding[];
}

/** Throws where the proposal does not hold what the pins name: the workflow made them from it. */
export const selectedFileChanges = async (
  blobs: BlobStore,
  groups: readonly SelectedFiles[],
): Promise<SelectedChanges> => {
  const changes = new Map<string, FileChange>();
  const inPart = new Set<string>();
  const findings: Finding[] = [];
  for (const group of groups) {
    const proposal = await getJson<Proposal>(blobs, group.proposal, 'proposal');
    const summaries = new Map(proposal.files.map((file) => [file.path, file]));
    const sections = readDiff(
      new TextDecoder('utf-8', { ignoreBOM: true }).decode(await blobs.get(group.diff)),
    );
    const chosen = new Map(group.files.map((file) => [file.path, file.changes]));
    for (const { path, changes: numbers } of group.files) {
      const file = summaries.get(path);
      if (file === undefined)
        throw new Error(`the proposal that the hunks come from does not contain ${path}`);
      changes.set(path, numbers === null ? file : await partOf(blobs, file, sections, numbers));
      if (numbers !== null) inPart.add(path);
    }
    findings.push(...(await selectionFindings(blobs, summaries, sections, chosen)));
  }
  return { changes, inPart, findings };
};

const partOf = async (
  blobs: BlobStore,
  file: ProposalFile,
  sections: readonly DiffSection[],
  chosen: readonly number[],
): Promise<FileChange> => {
  const changes = changesByPath(sections).get(file.path);
  if (changes === undefined || file.base === null || file.result === null)
    throw new Error(`${file.path} cannot be accepted in part`);
  const [base, result] = await Promise.all([blobs.get(file.base.ref), blobs.get(file.result.ref)]);
  const part = selectChanges({ base, result, changes, chosen });
  return {
    path: file.path,
    base: file.base,
    result: { ref: await blobs.put(part), mode: file.result.mode },
  };
};

const selectionFindings = async (
  blobs: BlobStore,
  summaries: ReadonlyMap<string, ProposalFile>,
  sections: readonly DiffSection[],
  chosen: ReadonlyMap<string, readonly number[] | null>,
): Promise<readonly Finding[]> => {
  const bases = new Map<string, ReadonlySet<string>>();
  for (const { path, base } of summaries.values())
    if (base !== null)
      bases.set(path, new Set(wordsOf(new TextDecoder().decode(await blobs.get(base.ref)))));
  // A file that is not pinned was skipped, or is asked for again: nothing of it is sure to be there.
  const isTaken = (path: string, n: number): boolean => {
    const numbers = chosen.get(path);
    return numbers === null || numbers?.includes(n) === true;
  };
  const missed = changeNeeds(sections, (path) => bases.get(path) ?? null).filter(
    ({ user, needs }) => isTaken(user.path, user.n) && !isTaken(needs.path, needs.n),
  );
  const leftOut = sections.flatMap(({ path, hunks }): Finding[] => {
    const numbers = chosen.get(path);
    const all = hunks.flatMap((hunk) => hunk.changes);
    if (numbers === null || numbers === undefined) return [];
    const left = all.map(({ n }) => n).filter((n) => !numbers.includes(n));
    const which = `${left.slice(0, LEFT_OUT_CHANGES).join(', ')}${left.length > LEFT_OUT_CHANGES ? '…' : ''}`;
    const message = `${numbers.length} of ${all.length} changes were selected; rejected: ${which}`;
    return [{ guard: 'selection', severity: 'ask', path, message }];
  });
  const needed = missed.map(({ user, name, needs }): Finding => {
    const where = needs.path === user.path ? '' : ` of ${needs.path}`;
    const message = `a selected change uses ${name}, which only change ${needs.n}${where} adds, but that one was rejected`;
    return { guard: 'selection', severity: 'ask', path: user.path, message };
  });
  return [...leftOut, ...needed];
};

// Files as they stand in the workspace, for what a person or a commit hook made of them.

/** Null: no file that could be edited. The bytes are put into the blob store. */
export async function fileNow(
  blobs: BlobStore,
  root: string,
  path: string,
  maxFile_bytes: number | null = null,
): Promise<ProposalFile['base']> {
  const found = await inspectTarget(root, path, maxFile_bytes);
  if (!found.ok) return null;
  const bytes = await readGiven(found.value.realPath);
  return { ref: await blobs.put(bytes), mode: found.value.mode };
}

interface ManualFiles {
  readonly blobs: BlobStore;
  readonly root: string;
  readonly snapshot: Pick<Snapshot, 'targets' | 'limits'>;
  readonly staged: StagedByHook;
}

/**
 * What became of a file after `manual`, or after `rebase` where a hook had changed what was to be committed: its bytes as they are now;
 * where a hook staged others and left the file alone, the staged ones, to be written like an edit. Null where nothing changed.
 */
export async function manualFile(
  { blobs, root, snapshot, staged }: ManualFiles,
  path: string,
): Promise<ProposalFile | null> {
  const base = snapshot.targets.find((target) => target.path === path)?.base ?? null;
  const now = await fileNow(blobs, root, path, snapshot.limits.maxFile_bytes);
  if (staged.removed?.includes(path) === true && now !== null)
    return { path, base: now, result: null, by: 'model' };
  const hook = staged.files.find((file) => file.path === path);
  if (hook !== undefined && same(now, hook.disk) && !same(now, hook))
    return { path, base: now, result: { ref: hook.ref, mode: hook.mode }, by: 'model' };
  return same(now, base) ? null : { path, base, result: now, by: 'person' };
}

export const stagedFiles = async (
  blobs: BlobStore,
  ref: BlobRef | undefined,
): Promise<StagedByHook> =>
  ref === undefined ? { files: [] } : getJson<StagedByHook>(blobs, ref, 'what a hook staged');

const same = (a: ProposalFile['base'], b: ProposalFile['base']): boolean =>
  a === null || b === null ? a === b : a.ref === b.ref && a.mode === b.mode;
