/** Step 5: what became of a phase is written into the plan's documents and the partial summary. */
import { getJson } from '../../stores/ports.js';
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { readPlan as readFiles } from '../../workspace/documents/index.js';
import * as plans from '../../documents/plan/index.js';
import type { MarkPhaseInput, PhaseTexts } from '../../shared/plan-activities.js';
import type { Activity } from '../frame/activity.js';
import type { ActivityPorts } from '../frame/ports.js';
import { describeUnfinished } from '../../shared/event-text.js';
import { readGivenText } from '../../system/given-file.js';
import { textsInWorkspace, writePlan, type PlanTexts } from './write-plan.js';
import { checkFilePath } from '../../documents/source/schemas.js';
import { isTrackedBelow } from '../../workspace/files/index.js';
import { isoTime } from '../../system/clock.js';
import { isSource } from './phase-job.js';

// What a phase's commit leaves undone: by what its message says, by the files that are there, by those that were skipped, and by its job.

/** Empty where the phase has no commit: then a person said that it is done. */
export async function unfinishedOf(
  ports: Pick<ActivityPorts, 'blobs' | 'repository' | 'workspace'>,
  input: Pick<MarkPhaseInput, 'workspace' | 'planPath' | 'phase' | 'commit' | 'texts' | 'skipped' | 'verification'>,
): Promise<readonly plans.UnfinishedTask[]> {
  const { workspace, phase, commit, texts, skipped } = input;
  if (commit === null || texts === null) return [];
  const read = await getJson<PhaseTexts>(ports.blobs, texts, 'phase texts');
  const asked = read.phases[phase.id]?.tasks.map(({ text }) => text) ?? [];
  const root = await ports.workspace.root(workspace);
  const node = plans.findPhase((await readFiles(root, input.planPath)).tree, phase);
  // As they are now; what the message says goes by the numbers that they had in the job.
  const tasks = node === null ? [] : plans.tasksOf(node);
  if (tasks.length === 0) return [];
  const said = plans.readUnfinished(await ports.repository.message(workspace, commit)).map(({ task, why }) => ({
    task: tasks.findIndex(({ text }) => text === asked[task - 1]) + 1,
    why,
  }));
  const missing = new Set<string>();
  for (const path of new Set(tasks.flatMap(({ text }) => plans.filesToMake(text))))
    if (await isMissing(root, path)) missing.add(path);
  const tested = input.verification?.startsWith('pass') === true;
  return plans.unfinishedTasks(tasks, said, {
    isAsked: (task) => asked.includes(task),
    isMissing: (path) => missing.has(path),
    skipped,
    tested,
  });
}

/** A source file's path that leads nowhere, from the top or from whichever folder. */
async function isMissing(root: string, path: string): Promise<boolean> {
  const checked = checkFilePath(path);
  if (!checked.ok || !isSource(path) || /[*?[\]<>{}]/.test(path)) return false;
  if ((await stat(join(root, checked.path)).catch(() => null)) !== null) return false;
  return !(await isTrackedBelow(root, checked.path));
}

export const markPhase: Activity<'markPhase'> = async (ports, input, scope) => {
  const { workspace, workflowId, namespace, phase, planPath, settings, marks, hold } = input;
  const wanted = await withUnfinished(ports, input);
  const { marker, done, total } = wanted;
  const written = await writePlan(
    ports,
    {
      ...{ workspace, workflowId, namespace, name: 'mark', marks, hold },
      comesTo: `${input.marker}-${input.commit ?? 'none'}`,
      ...(settings === undefined ? {} : { settings }),
      stepKey: `${input.stepKey}-${phase.id}-m${input.mark}`,
      message: `Mark Phase ${phase.number} of ${planPath} as ${marker} (${done}/${total})`,
    },
    () => marked(ports, wanted),
    scope,
  );
  if (written.outcome !== 'written') return { ...written };
  // Of a mark that was begun before, what was found then.
  const unfinished = (written.data as readonly plans.UnfinishedTask[] | undefined) ?? [];
  const { commit, files, held, marks: along } = written;
  return { outcome: 'marked', commit, files, held, marks: along, ...(unfinished.length === 0 ? {} : { unfinished }) };
};

type Wanted = MarkPhaseInput & { readonly unfinished: readonly plans.UnfinishedTask[] };

/** A phase that was committed is complete where no task of it is known to be undone. */
async function withUnfinished(ports: ActivityPorts, input: MarkPhaseInput): Promise<Wanted> {
  const unfinished = input.marker === 'completed' ? await unfinishedOf(ports, input) : [];
  return unfinished.length === 0
    ? { ...input, unfinished }
    : { ...input, unfinished, marker: 'incomplete', why: describeUnfinished(unfinished), done: input.done - 1 };
}

async function marked({ clock, workspace }: ActivityPorts, input: Wanted): Promise<PlanTexts | null> {
  const { planPath, phase, done, total } = input;
  const root = await workspace.root(input.workspace);
  const read = await readFiles(root, planPath);
  const status = `${done}/${total} phases complete`;
  const changed = plans.markPhase(
    read.tree,
    {
      name: phase.name,
      number: phase.number,
      marker: input.marker === 'completed' ? 'COMPLETED' : input.marker === 'skipped' ? 'SKIPPED' : 'INCOMPLETE',
      ...(input.unfinished.length === 0 ? {} : { open: new Set(input.unfinished.map(({ text }) => text)) }),
      progress: [
        ...(input.marker === 'completed' ? [['Last Completed', `Phase ${phase.number} - ${phase.name}`] as const] : []),
        ['Date', isoTime(clock).slice(0, 10)],
        ...(input.commit === null ? [] : [['Commit', input.commit.slice(0, 12)] as const]),
        ['Status', `${done === total ? 'Completed' : 'In Progress'} (${status})`],
        ['To Resume', done === total ? null : `\`emend plan run ${planPath}\``],
      ],
    },
    read.thresholds.values,
  );
  if (changed === null) return null;
  const before = textsInWorkspace(read, root, read.tree);
  const after = textsInWorkspace(read, root, changed);
  const summary = plans.summaryFile(planPath);
  const summaryNow = await readGivenText(join(root, summary));
  if (summaryNow !== null) before.set(summary, summaryNow);
  const about = { title: read.tree.main.title ?? read.place.stem, path: planPath, status };
  const line = { number: phase.number, name: phase.name, text: wordsOf(input) };
  after.set(summary, plans.withSummary(summaryNow, about, line));
  return { before, after, ...(input.unfinished.length === 0 ? {} : { data: input.unfinished }) };
}

const wordsOf = ({ marker, commit, verification, why }: MarkPhaseInput): string => {
  const tests = verification === null || verification === 'no_tests' ? 'no tests were run' : `tests: ${verification}`;
  const done = commit === null ? [] : [`commit ${commit.slice(0, 12)}`, tests];
  return [marker, ...done, ...(why === null ? [] : [why.replace(/\s+/g, ' ')])].join(', ');
};
