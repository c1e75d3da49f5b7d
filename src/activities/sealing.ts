/** Seals files under one hash: what a reviewer sees is what is applied. */
import ignore from 'ignore';
import type { SaidUndone } from '../plan/undone.js';
import type { Finding } from '../shared/formats.js';
import type { SealedFile, SealedProposal } from '../shared/protocol.js';
import type { StepKey } from '../shared/refs.js';
import { canonicalJson, proposalIdOf, sha256 } from '../workspace/hash.js';
import type { Proposal, ProposalFile } from '../workspace/types.js';
import type { Accepted } from './chain.js';
import type { ActivityDependencies } from './dependencies.js';
import { diffInput } from './propose-accepted.js';
import { putJson, putText } from './snapshot.js';
import { SHOWN_BOUNDS } from '../shared/bounds.js';

export interface Sealing {
  readonly stepKey: StepKey;
  readonly files: readonly ProposalFile[];
  readonly moves: Proposal['moves'];
  readonly findings: readonly Finding[];
  readonly rungs: Accepted['rungs'];
  /** Gitignore-style patterns whose changes ask even under `approval: auto`. */
  readonly protected: readonly string[];
  /** Tasks of a plan's phase that the model left undone; absent: none. */
  readonly undone?: readonly SaidUndone[];
}

/** Rungs that a step never approves by itself: off by default, or lines that nothing confirmed. */
const LOOSE: ReadonlySet<string> = new Set(['unchecked_lines', 'indent', 'lookalikes', 'elision']);
const KEY_DIGITS = 16;

const isSame = (file: ProposalFile): boolean =>
  file.base !== null &&
  file.result !== null &&
  file.base.ref === file.result.ref &&
  file.base.mode === file.result.mode;

/** Null: nothing would change. */
export async function sealProposal(
  { blobs, edits }: Pick<ActivityDependencies, 'blobs' | 'edits'>,
  sealing: Sealing,
  signal: AbortSignal,
): Promise<SealedProposal | null> {
  const files = sealing.files.filter((file) => !isSame(file)).sort((a, b) => (a.path < b.path ? -1 : 1));
  if (files.length === 0) return null;
  const { undone = [] } = sealing;
  const left = undone.length === 0 ? {} : { undone };
  const proposal: Proposal = { v: 1, stepKey: sealing.stepKey, files, moves: sealing.moves, ...left };
  const inputs = await Promise.all(files.map((file) => diffInput(blobs, file)));
  const movedTo = new Map(sealing.moves.map(({ from, to }) => [to, from]));
  const drawn = await edits.run('diff', inputs, signal);
  const sealed = files.map((file, index): SealedFile => {
    const { added, removed, changes } = drawn.changed[index] ?? { added: 0, removed: 0 };
    const change = changeOf(file, movedTo);
    const inPart = changes !== undefined && change === 'edit' && file.by === 'model' ? { changes } : {};
    return { path: file.path, change, by: file.by, added, removed, ...inPart, key: keyOf(file) };
  });
  const [ref, diff] = await Promise.all([putJson(blobs, proposal), putText(blobs, drawn.text)]);
  return {
    id: proposalIdOf(proposal),
    ref,
    diff,
    files: sealed,
    findings: sealing.findings.slice(0, SHOWN_BOUNDS.sealedFindings),
    rungs: [
      ...new Set(sealing.rungs.map(({ rung, path, line }) => `${rung} ${path}${line === null ? '' : `:${line}`}`)),
    ].slice(0, SHOWN_BOUNDS.sealedFindings),
    mustAsk: mustAsk(sealing, sealed),
  };
}

const keyOf = ({ base, result }: ProposalFile): string => sha256(canonicalJson({ base, result })).slice(0, KEY_DIGITS);

function changeOf(file: ProposalFile, movedTo: ReadonlyMap<string, string>): SealedFile['change'] {
  if (movedTo.has(file.path)) return 'move';
  if (file.result === null) return 'delete';
  return file.base === null ? 'create' : 'edit';
}

function mustAsk({ findings, rungs, protected: patterns }: Sealing, files: readonly SealedFile[]): string[] {
  const guarded = ignore().add([...patterns]);
  const ours = files.filter((file) => file.by === 'model');
  const gone = new Set(ours.filter((file) => file.change === 'delete').map((file) => file.path));
  return [
    ...ours.filter((file) => guarded.ignores(file.path)).map((file) => `protected path ${file.path}`),
    ...[...gone].map((path) => `deletion of ${path}`),
    ...findings
      .filter(({ severity, guard, path }) => severity === 'ask' && !(guard === 'deletion' && gone.has(path)))
      .map((finding) => `${finding.guard} in ${finding.path}`),
    ...rungs.filter(({ rung }) => LOOSE.has(rung)).map(({ rung, path }) => `rung ${rung} in ${path}`),
  ].slice(0, 20);
}
