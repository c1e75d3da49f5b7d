/** Carries a proposal over to the files as they are now: a clean merge goes back to review as a new proposal. */
import { getJson } from '../../stores/ports.js';
import { isRefusal, ProblemError } from '../../shared/problems.js';
import type { RebaseInput, RebaseResult } from '../../shared/proposal-activities.js';
import { inspectTarget } from '../../workspace/files/index.js';
import { canonicalJson, sha256 } from '../../system/hash.js';
import type { Proposal, ProposalFile } from '../../workspace/proposal.js';
import type { Activity } from '../frame/activity.js';
import type { ActivityPorts } from '../frame/ports.js';
import { recordOnce } from '../frame/recorded.js';
import { runGuards } from './build-proposal.js';
import { buildWholeProposal, chosenNew, type ProposalParts } from './proposal.js';
import { withOldPaths } from './renames.js';
import { getSnapshot } from './snapshot.js';
import { readGiven } from '../../system/given-file.js';

export const rebaseProposal: Activity<'rebaseProposal'> = async (ports, input, { signal }) => {
  // The merge depends on the files at this moment: the first outcome under this decision is the one that counts.
  const digest = sha256(canonicalJson([input.proposal, input.files, input.exclude])).slice(0, 16);
  const key = `steps/${input.stepKey}/rebase-${input.decision}-${digest}`;
  return recordOnce(ports.records, key, () => merge(ports, input, signal));
};

async function merge(
  ports: ActivityPorts,
  input: RebaseInput,
  signal: AbortSignal,
): Promise<RebaseResult> {
  const { blobs } = ports;
  const root = await ports.workspace.root(input.workspace);
  const proposal = await getJson<Proposal>(blobs, input.proposal, 'proposal');
  const files: ProposalFile[] = [];
  const conflicts: { path: string; why: string }[] = [];
  const out = withOldPaths(new Set(input.exclude), proposal.renames);
  for (const file of proposal.files.filter(({ path }) => !out.has(path))) {
    const wanted = input.files === null || input.files.includes(file.path);
    const moved = wanted ? await mergeFile(ports, root, file, signal) : file;
    if ('why' in moved) conflicts.push(moved);
    else files.push(moved);
  }
  if (conflicts.length > 0) return { outcome: 'conflict', conflicts };
  const guarded = await guard(ports, input, { files, renames: proposal.renames }, signal);
  const refused = guarded.findings.filter(({ severity }) => severity === 'refuse');
  if (refused.length > 0)
    return {
      outcome: 'conflict',
      conflicts: refused.map(({ path, guard: name, message }) => ({
        path,
        why: `the guard ${name} refuses it after merging later saves: ${message} regenerate or take_theirs`,
      })),
    };
  const { renames, unfinished = [] } = proposal;
  const parts = { stepKey: input.stepKey, files, renames, tolerances: [], unfinished, ...guarded };
  const built = await buildWholeProposal(ports, parts, signal);
  if (built === null) return { outcome: 'empty' };
  // A merge that nobody asked for in these words is looked at by a person, whatever the policy.
  return {
    outcome: 'built',
    proposal: { ...built, mustAsk: [...built.mustAsk, 'files changed after the proposal'] },
  };
}

/** A clean merge of lines may still make what a guard looks for: the same function added on both sides, brackets that no longer match. */
async function guard(
  ports: ActivityPorts,
  { snapshot: ref, workspace }: RebaseInput,
  { files, renames }: Pick<Proposal, 'files' | 'renames'>,
  signal: AbortSignal,
): Promise<Pick<ProposalParts, 'findings' | 'protected' | 'made'>> {
  const snapshot = { ...(await getSnapshot(ports.blobs, ref)), workspace };
  const changes = files.filter(({ by }) => by === 'model');
  const findings = await runGuards(ports, { snapshot, changes, renames }, signal);
  return { findings, protected: snapshot.config.protected, made: chosenNew(snapshot, changes) };
}

async function mergeFile(
  { blobs, edits }: ActivityPorts,
  root: string,
  file: ProposalFile,
  signal: AbortSignal,
): Promise<ProposalFile | { path: string; why: string }> {
  const found = await inspectTarget(root, file.path, null);
  if (!found.ok) {
    if (!isRefusal(found.problem)) throw new ProblemError(found.problem);
    if (file.base === null) return file;
    return {
      path: file.path,
      why: `the file is missing (${found.problem.message}); regenerate or take_theirs`,
    };
  }
  const now = await readGiven(found.value.realPath);
  const base = { ref: await blobs.put(now), mode: found.value.mode };
  if (file.base === null || file.result === null)
    return {
      path: file.path,
      why: `the file ${file.base === null ? 'was created' : 'was changed'} in the meantime; regenerate or take_theirs`,
    };
  const [start, proposed] = await Promise.all([
    blobs.get(file.base.ref),
    blobs.get(file.result.ref),
  ]);
  const merged = await edits.run('merge', { base: start, ours: now, theirs: proposed }, signal);
  if (merged.outcome === 'conflict') return { path: file.path, why: merged.why };
  return { ...file, base, result: { ref: await blobs.put(merged.bytes), mode: file.result.mode } };
}
