/** Looks up what earlier runs of a plan left: the newest checkpoint in the archive, commits in the log whose mark is missing. */
import { join } from 'node:path';
import { resumePointOf, type Committed } from '../../documents/plan/index.js';
import { summaryOf } from '../../workspace/documents/index.js';
import { getJson } from '../../stores/ports.js';
import { dirtyPaths } from '../../workspace/files/index.js';
import { readGiven } from '../../system/given-file.js';
import type { Proposal } from '../../workspace/proposal.js';
import type { WriteRecord } from './write-plan.js';
import type { ReadPlanInput, ReadPlanResult } from '../../shared/plan-activities.js';
import type {
  PlanCheckpoint,
  ResumePoint,
  PhaseId,
  PhaseReading,
  PlanSpent,
  ReadyPlan,
} from '../../shared/plan.js';
import { isBounded, addUsage, NO_USAGE } from '../../shared/usage.js';
import { planOf, type BlobRef } from '../../shared/ids.js';
import { usageOfEnded } from '../../model/journal/calls.js';
import type { PlanCommit } from '../../workspace/repository.js';
import type { ActivityPorts } from '../frame/ports.js';

const PLAN_READINGS = 10_000; // bound: readings of one run that are looked for its last,

export const checkpointOfRun = async (
  { archive }: Pick<ActivityPorts, 'archive'>,
  run: string | null | undefined,
): Promise<PlanCheckpoint | null> =>
  run == null ? null : ((await archive.lastFile(run, 'checkpoint-')) as PlanCheckpoint | null);

interface ReadPhases extends Pick<ReadyPlan, 'phases'> {
  /** The ids that they have for a run that knew these. */
  readonly idsBy: (known: ReadPlanInput['known']) => readonly PhaseId[];
}

export const findResumePoint = async (
  ports: ActivityPorts,
  { workspace, planPath }: Pick<ReadPlanInput, 'workspace' | 'planPath'>,
  checkpoint: PlanCheckpoint | null,
  { phases, hash, limits, idsBy }: Pick<ReadyPlan, 'hash' | 'limits'> & ReadPhases,
): Promise<ResumePoint | null> => {
  const commits = await ports.repository.planCommits(workspace, planPath);
  const last = checkpoint?.last_commit ?? null;
  const run = commits[0]?.plan ?? checkpoint?.step_key;
  return resumePointOf({
    marks: run === undefined ? [] : await marksOnDisk(ports, { workspace, planPath, phases, run }),
    checkpoint,
    phases,
    hash,
    bounded: isBounded(limits),
    currentTime_ms: ports.clock.time_ms(),
    spent: checkpoint === null ? null : await spentBy(ports, checkpoint),
    holdsLast: last === null || (await ports.repository.holds(workspace, last)),
    committed: await committedOf(ports, commits, { phases, idsBy }),
  });
};

/** Marks of a run that are on the disk and in no commit, oldest first, by the summary that each made: one that was terminated named its last in no checkpoint. */
async function marksOnDisk(
  { workspace, records, blobs }: ActivityPorts,
  {
    run,
    phases,
    ...plan
  }: Pick<ReadPlanInput, 'workspace' | 'planPath'> & Pick<ReadyPlan, 'phases'> & { run: string },
): Promise<readonly BlobRef[]> {
  const root = await workspace.root(plan.workspace);
  const { path } = await summaryOf(root, plan.planPath);
  const marks: BlobRef[] = [];
  if (
    !(await dirtyPaths(root, [path])).some(
      ({ state }) => state === 'changed' || state === 'untracked',
    )
  )
    return marks;
  const made = new Map<string, { readonly ref: BlobRef; readonly from: string }>();
  for (const { id } of phases)
    for (let [mark, number] = [1, 1]; ; number++) {
      const kept = await records.get<WriteRecord>(`steps/${run}-${id}-m${mark}/mark-${number}`);
      if (kept === null && number === 1) break;
      if (kept === null) [mark, number] = [mark + 1, 0];
      else if (kept.proposal !== null) {
        const { files } = await getJson<Proposal>(blobs, kept.proposal, 'mark');
        const { base, result } = files.find((file) => file.path === path) ?? {};
        made.set(result?.ref ?? '', { ref: kept.proposal, from: base?.ref ?? '' });
      }
    }
  let last = made.get(await blobs.put(await readGiven(join(root, path))));
  for (; last !== undefined && !marks.includes(last.ref); last = made.get(last.from))
    marks.unshift(last.ref);
  return marks;
}

/** By the journal, which knows calls that ended after the checkpoint, or with a phase that was cut off. */
async function spentBy(
  { archive, journal }: ActivityPorts,
  { step_key, spent }: PlanCheckpoint,
): Promise<PlanSpent> {
  const { own, before } = spent;
  const runs = (await archive.find(step_key)).filter((stepKey) => planOf(stepKey) === step_key);
  const attempts = await Promise.all(runs.map((stepKey) => journal.attempts(stepKey)));
  const paid = usageOfEnded(attempts.flat());
  return {
    usage: addUsage(before?.usage ?? NO_USAGE, paid.calls < own.usage.calls ? own.usage : paid),
    time_ms: (before?.time_ms ?? 0) + own.time_ms,
  };
}

/** For each phase without a marker the newest commit that carried it out. */
async function committedOf(
  ports: ActivityPorts,
  commits: readonly PlanCommit[],
  { phases, idsBy }: ReadPhases,
): Promise<readonly Committed[]> {
  const committed = new Map<string, Committed>();
  const readings = new Map<string, ReadyPlan | null>();
  for (const each of commits) {
    // A change that a person kept though its tests fail is not done; one that was taken back is not there.
    if (each.kind !== 'phase' || each.reverted || each.subject.startsWith('[INCOMPLETE]')) continue;
    if (!readings.has(each.plan)) readings.set(each.plan, await lastReading(ports, each.plan));
    const [, number = 0, name = ''] = /^Phase (\d+): (.*)/s.exec(each.subject) ?? [];
    const known = readings.get(each.plan)?.phases ?? [
      { id: each.phase, number: Number(number), name, text: '' },
    ];
    const before = known.find(({ id }) => id === each.phase);
    const isLeft = ({ id, marker }: PhaseReading): boolean => marker === null && !committed.has(id);
    const same = phases.filter(({ text }) => text === before?.text);
    // Of several that are alike it is the one of its number; else the one that the run itself would take for it.
    const alike = same.find((one) => one.number === before?.number) ?? same.find(isLeft);
    const phase = alike ?? phases[idsBy(known).indexOf(each.phase)];
    if (phase === undefined || !isLeft(phase)) continue;
    const mark = commits.find(
      ({ kind, plan, phase: of }) => kind === 'mark' && plan === each.plan && of === each.phase,
    );
    const isSame = phase.text === before?.text;
    // What was done, marked and then written anew under the same name is another phase.
    if (!isSame && mark !== undefined) continue;
    const which = `Phase ${phase.number} (${phase.name})`;
    const gone = `${which} was marked as done by ${mark?.commit.slice(0, 12) ?? ''}, and is no longer marked`;
    const other = `${which} is committed as ${each.commit.slice(0, 12)}, but its name or text may have changed since`;
    committed.set(phase.id, {
      id: phase.id,
      commit: each.commit,
      doubt: mark !== undefined ? gone : isSame ? null : other,
      tests: each.body.includes('No tests were run') ? 'no_tests' : 'pass',
    });
  }
  return [...committed.values()];
}

/** How the run read the plan last: what the phase asked for when it was carried out. Null: its records are gone. */
async function lastReading({ records }: ActivityPorts, plan: string): Promise<ReadyPlan | null> {
  let last: ReadyPlan | null = null;
  for (let reading = 1; reading <= PLAN_READINGS; reading++) {
    const kept = await records.get<ReadPlanResult>(`steps/${plan}/plan-${reading}`);
    if (kept === null) return last;
    if (kept.outcome === 'ready') last = kept;
  }
  return last;
}
