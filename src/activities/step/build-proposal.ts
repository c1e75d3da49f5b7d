/** Combine the accepted results, run guards and the configured formatter, put them under one hash, write the combined diff. */
import { join } from 'node:path';
import type { Finding } from '../../shared/formats.js';
import { inspectTarget, namesAround, newFilesRefused } from '../../workspace/files/index.js';
import type { Proposal } from '../../workspace/proposal.js';
import { type FileChange, acceptedResults, latestByPath, makerOf } from './accepted.js';
import type { ActivityPorts } from '../frame/ports.js';
import { secretFindings } from '../frame/secrets.js';
import { guardElisions } from './elision.js';
import { formatted } from './format.js';
import { withOldPaths, withSimilar } from './renames.js';
import { diffInput, diffsOf } from './prompt-inputs.js';
import { getText, guardSettings, type Snapshot, getSnapshot } from './snapshot.js';
import { unfinishedInAll } from '../../shared/unfinished.js';
import type { BuildProposalInput } from '../../shared/proposal-activities.js';
import type { Activity } from '../frame/activity.js';
import * as proposals from './proposal.js';
import { refused } from './refusals.js';
import { readGivenText } from '../../system/given-file.js';
import { orNull } from '../../system/durable.js';
import { lstat } from '../../system/fs.js';
import { literally } from '../../shared/text.js';
import { languageOf } from '../../syntax/index.js';

// Guards look at the bytes that are to be proposed, whatever made them: an answer, a formatter, a merge with what a person saved.

export interface GuardedChanges {
  readonly snapshot: Snapshot;
  readonly changes: readonly FileChange[];
  readonly renames: Proposal['renames'];
}

export async function runGuards(
  { blobs, edits, workspace }: Pick<ActivityPorts, 'blobs' | 'edits' | 'workspace'>,
  { snapshot, changes, renames }: GuardedChanges,
  signal: AbortSignal,
): Promise<readonly Finding[]> {
  const encodings = new Map(snapshot.targets.map((target) => [target.path, target.encoding]));
  const movedAway = renames.map(({ from }) => from);
  const guarded = changes.filter(
    ({ path, result }) => result !== null || !movedAway.includes(path),
  );
  const from = new Map(renames.map((rename) => [rename.to, rename.from]));
  const bases = new Map(changes.map(({ path, base }) => [path, base]));
  /** A moved file is compared with what it was at its old path. */
  const baseOf = ({ path, base }: FileChange): FileChange['base'] =>
    base ?? bases.get(from.get(path) ?? '') ?? null;
  const files = await Promise.all(
    guarded.map(async (change) => {
      const encoding = encodings.get(from.get(change.path) ?? change.path) ?? null;
      const { rewritten = false } = change;
      return {
        ...(await diffInput(blobs, { ...change, base: baseOf(change) })),
        rewritten,
        ...(encoding === null ? {} : { encoding }),
      };
    }),
  );
  const movedTo = renames.map(({ to }) => to);
  const made = [...changes.filter(({ base }) => base === null).map(({ path }) => path), ...movedTo];
  const root = await workspace.root(snapshot.workspace);
  const otherPaths = await namesAround(root, made);
  const linked = await linkedPaths(root, guarded);
  const settings = await guardSettings(blobs, snapshot);
  const guards = { files, movedTo, movedAway, beside: otherPaths, linked, ...settings };
  const written = guarded.flatMap((change) => {
    const { path, result } = change;
    if (result === null) return [];
    return [
      {
        path,
        base: baseOf(change)?.ref ?? null,
        result: result.ref,
        encoding: encodings.get(path) ?? null,
      },
    ];
  });
  return [
    ...(await guardElisions((input) => edits.run('guards', input, signal), guards, {
      blobs,
      snapshot,
    })),
    ...(await secretFindings({ blobs, edits }, snapshot, written, signal)),
  ];
}

/** Returns the changed files that have other names as well. */
const linkedPaths = async (
  root: string,
  changes: readonly FileChange[],
): Promise<readonly string[]> => {
  const linked: string[] = [];
  for (const { path, base } of changes) {
    const inspection = base === null ? null : await inspectTarget(root, path, null);
    if (inspection?.ok === true && inspection.value.names > 1) linked.push(path);
  }
  return linked;
};

export const buildProposal: Activity<'buildProposal'> = async (ports, input, scope) => {
  const { blobs } = ports;
  // Where the run is by now, which may have been moved.
  const snapshot = { ...(await getSnapshot(blobs, input.snapshot)), workspace: input.workspace };
  const latest = latestByPath(await acceptedResults(blobs, input.accepted));
  const out = new Set([...input.exclude, ...input.manual]);
  const root = await ports.workspace.root(snapshot.workspace);
  const unfit = await unfitFiles(root, snapshot, latest, out);
  if (unfit.length > 0) return { outcome: 'refused', files: await refusals(ports, unfit) };
  const results = [...new Set([...latest.values()].map(({ result }) => result))];
  const leftOut = withOldPaths(
    out,
    results.flatMap((result) => result.renames),
  );
  const kept = [...latest.values()].filter(
    ({ change }) => change !== null && !leftOut.has(change.path),
  );
  const changes = kept.flatMap(({ change }) => (change === null ? [] : [change]));
  const selected = await proposals.selectedFileChanges(blobs, input.selected ?? []);
  const isChosen = ({ path }: FileChange): boolean => selected.changes.has(path);
  const given = {
    snapshot,
    changes: changes.filter((change) => !isChosen(change)),
    sandbox: input.sandbox,
  };
  const formats = await formatted(ports, given, scope);
  if ('outcome' in formats) return formats;
  const byPath = new Map(formats.changes.map((change) => [change.path, change]));
  const proposed = changes.map(
    (change) => selected.changes.get(change.path) ?? byPath.get(change.path) ?? change,
  );
  const staged = await proposals.stagedFiles(blobs, input.staged);
  const asManual = await Promise.all(
    input.manual.map((path) => proposals.manualFile({ blobs, root, snapshot, staged }, path)),
  );

  const keptResults = [...new Set(kept.map(({ result }) => result))];
  const renames = await withSimilar(ports, proposed, keptResults, scope.signal);
  // The formatter may have changed the bytes since the answer was judged.
  const found = await runGuards(ports, { snapshot, changes: proposed, renames }, scope.signal);
  const dangling = await danglingReferences(
    ports,
    { snapshot, changes: proposed, findings: found },
    scope.signal,
  );
  const toMend = snapshot.config.repair
    ? await repairs(ports, { dangling, changes: proposed, input }, scope.signal)
    : [];
  if (toMend.length > 0) return { outcome: 'refused', files: toMend };
  const told = [...formats.findings, ...found, ...dangling.map(({ finding }) => finding)];
  const judged = [
    ...selected.findings,
    ...told.map((finding) => ofPersons(finding, selected.inPart)),
  ];
  const refused = judged.filter((finding) => finding.severity === 'refuse');
  if (refused.length > 0) return { outcome: 'refused', files: await refusals(ports, refused) };
  const parts: proposals.ProposalParts = {
    stepKey: input.stepKey,
    files: [
      ...proposed.map(({ path, base, result }) => ({ path, base, result, by: 'model' as const })),
      ...asManual.flatMap((change) => (change === null ? [] : [change])),
    ],
    renames: renames.filter(({ from, to }) => !out.has(from) && !out.has(to)),
    findings: judged,
    tolerances: keptResults
      .flatMap((result) => result.tolerances)
      .filter(({ path }) => !out.has(path)),
    protected: snapshot.config.protected,
    made: proposals.chosenNew(snapshot, proposed),
    unfinished: unfinishedInAll(
      results.filter(({ asked = true }) => asked).map(({ unfinished = [] }) => unfinished),
    ),
  };
  const proposal = await proposals.buildWholeProposal(ports, parts, scope.signal);
  return proposal === null ? { outcome: 'empty' } : { outcome: 'built', proposal };
};

type Latest = ReturnType<typeof latestByPath>;
/** Of files that answers made beside those that they were for: what may not be made, or what two answers make, at the file of the answer. */
async function unfitFiles(
  root: string,
  { config }: Snapshot,
  latest: Latest,
  out: ReadonlySet<string>,
) {
  const made = [...latest].flatMap(([by, { result }]) =>
    (result.covers.at(-1) === by ? result.files : []).flatMap((file) =>
      result.covers.includes(file.path) || out.has(file.path) ? [] : [{ by, ...file }],
    ),
  );
  const refused = await newFilesRefused(root, [...new Set(made.map(({ path }) => path))], config);
  return made.flatMap(({ by, path, result }) => {
    const other = latest.get(path);
    const isTaken = other !== undefined && other.change?.result?.ref !== result?.ref;
    const why =
      refused.get(path) ??
      (isTaken ? `the answer for ${makerOf(other.result, path)} makes it, too` : null);
    const message = `${path} may not be made: ${why ?? ''}. Leave it out.`;
    return why === null ? [] : [{ guard: 'new_file', path: by, message }];
  });
}

/** What would refuse an answer of the model is shown where a person chose: asking the model again would not mend it. */
const ofPersons = (finding: Finding, inPart: ReadonlySet<string>): Finding =>
  finding.severity === 'refuse' && inPart.has(finding.path)
    ? { ...finding, severity: 'ask' }
    : finding;

async function refusals(
  { blobs }: ActivityPorts,
  findings: readonly Pick<Finding, 'guard' | 'path' | 'message'>[],
) {
  const paths = [...new Set(findings.map((finding) => finding.path))];
  return Promise.all(
    paths.map(async (path) => {
      const message = findings
        .filter((finding) => finding.path === path)
        .map((finding) => `${finding.guard}: ${finding.message}`)
        .join('\n');
      return { path, ...(await refused(blobs, { reasons: message, answer: '' })) };
    }),
  );
}

// Definitions that go away while their names are still used: in the files of the proposal, in other target files, and, word by word, in the
// workspace's other source files. Only lines are looked at, so a name in a comment or a text counts, too.

const SEARCHED_FILES = 5_000; // bound: Other source files of the workspace that are looked through for a name that is gone,
const SEARCHED_FILE_BYTES = 1_048_576; // bound: none larger than this.
const USES_TOLD = 10; // bound: Uses told of one definition that is gone.

interface Dangling {
  readonly finding: Finding;
  /** Lines (from 1) that use it, by path. */
  readonly uses: ReadonlyMap<string, readonly number[]>;
}

/** `findings`: those of `changes`, with what is gone (`Finding.gone`). */
async function danglingReferences(
  { blobs, workspace }: Pick<ActivityPorts, 'blobs' | 'workspace'>,
  {
    snapshot,
    changes,
    findings,
  }: { snapshot: Snapshot; changes: readonly FileChange[]; findings: readonly Finding[] },
  signal: AbortSignal,
): Promise<readonly Dangling[]> {
  const gone = findings.flatMap(({ path, gone: name, message }) =>
    name === undefined ? [] : [{ path, name, what: message, uses: new Map<string, number[]>() }],
  );
  if (gone.length === 0) return [];
  const word = wordsOf(gone.map(({ name }) => name));
  const look = (path: string, text: string): void => {
    for (const [at, line] of text.split('\n').entries())
      for (const found of new Set((line.match(word) ?? []).map(bare)))
        for (const { name, uses } of gone)
          if (bare(name) === found) {
            const lines = uses.get(path);
            if (lines === undefined) uses.set(path, [at + 1]);
            else lines.push(at + 1);
          }
  };
  const changed = new Set(changes.map(({ path }) => path));
  for (const { path, result } of changes)
    if (result !== null) look(path, await getText(blobs, result.ref));
  const root = await workspace.root(snapshot.workspace);
  const names =
    snapshot.names === undefined ? [] : (await getText(blobs, snapshot.names)).split('\n');
  const others = names
    .filter((path) => !changed.has(path) && languageOf(path) !== null)
    .slice(0, SEARCHED_FILES);
  for (const path of others) {
    signal.throwIfAborted();
    const found = await orNull(lstat(join(root, path)));
    if (found?.isFile() === true && found.size <= SEARCHED_FILE_BYTES)
      look(path, (await readGivenText(join(root, path))) ?? '');
  }
  const severity = snapshot.config.guards.dangling_reference ?? 'ask';
  return gone
    .filter(({ uses }) => uses.size > 0)
    .map(({ path, what, uses }) => {
      const places = [...uses].flatMap(([file, lines]) => lines.map((line) => `${file}:${line}`));
      const more = places.length > USES_TOLD ? ` and ${places.length - USES_TOLD} more` : '';
      const message = `${what} Its name is still used: ${places.slice(0, USES_TOLD).join(', ')}${more}.`;
      return { uses, finding: { guard: 'dangling_reference', severity, path, message } };
    });
}

/** A method is looked for behind a dot, an arrow or colons; everything else as a word of its own. */
const wordsOf = (names: readonly string[]): RegExp => {
  const escaped = names.map((name) => {
    const plain = literally(name.replace(/^\./, ''));
    return name.startsWith('.') ? `(?:\\.|->|::)\\s*${plain}` : `(?<![\\p{L}\\p{N}_$])${plain}`;
  });
  return new RegExp(`(?:${escaped.join('|')})(?![\\p{L}\\p{N}_$])`, 'gu');
};
const bare = (match: string): string => match.replace(/^(?:\.|->|::)\s*/, '');

interface ToRepair extends Pick<GuardedChanges, 'changes'> {
  readonly dangling: readonly Dangling[];
  readonly input: BuildProposalInput;
}
/** Files that still use what is gone, and may be asked for once more. */
async function repairs(
  ports: ActivityPorts,
  { dangling, changes, input }: ToRepair,
  signal: AbortSignal,
) {
  const asking = dangling.filter(({ finding }) => finding.severity === 'ask');
  const paths = (input.repairable ?? []).filter((path) =>
    asking.some(({ uses }) => uses.has(path)),
  );
  const own = changes.filter(({ path }) => paths.includes(path));
  const diffs = new Map((await diffsOf(ports, own, signal)).map(({ path, diff }) => [path, diff]));
  return Promise.all(
    paths.map(async (path) => {
      const found = asking.flatMap(({ finding, uses }) => {
        const lines = uses.get(path);
        return lines === undefined
          ? []
          : [`${finding.message} In this file: line ${lines.join(', ')}.`];
      });
      const reasons = `dangling_reference: ${found.join('\n')}`;
      const answer = diffs.get(path) ?? '(no change of this file)';
      return {
        path,
        ...(await refused(ports.blobs, { reasons, answer, fits: true })),
        findings: true as const,
      };
    }),
  );
}
