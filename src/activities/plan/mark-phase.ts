/** Step 5: what became of a phase is written into the plan's documents and the partial summary. */
import { readFiles } from './read-files.js';
import { getJson } from '../../stores/ports.js';
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { summaryOf } from '../../workspace/documents/index.js';
import * as plans from '../../documents/plan/index.js';
import type { MarkPhaseInput, PhaseText, PhaseTexts } from '../../shared/plan-activities.js';
import type { Activity } from '../frame/activity.js';
import type { ActivityPorts } from '../frame/ports.js';
import { describeUnfinished } from '../../shared/event-text.js';
import { readUnfinished } from '../../shared/unfinished.js';
import { textsInWorkspace, writePlan, type PlanTexts } from './write-plan.js';
import { checkFilePath } from '../../documents/source/checked-paths.js';
import { isTrackedBelow } from '../../workspace/files/index.js';
import { isoTime } from '../../system/clock.js';
import { isSource } from './phase-job.js';

// What a phase's commit leaves undone: by what its message says, by the files that are there, by those that were skipped, and by its job.

/** Empty where the phase has no commit: then a person said that it is done. `tasks`: as they are now; `asked`: as its job listed them. */
export async function unfinishedOf(
  { repository }: Pick<ActivityPorts, 'repository'>,
  {
    workspace,
    commit,
    skipped,
    verification,
  }: Pick<MarkPhaseInput, 'workspace' | 'commit' | 'skipped' | 'verification'>,
  {
    root,
    tasks,
    asked,
  }: { readonly root: string } & Readonly<Record<'tasks' | 'asked', PhaseText['tasks']>>,
): Promise<readonly plans.UnfinishedTask[]> {
  if (commit === null || tasks.length === 0) return [];
  const claimed = readUnfinished(await repository.message(workspace, commit));
  const now = (task: number): PhaseText['tasks'][number] | undefined =>
    plans.taskNow(asked, tasks, task);
  const said = claimed.map(({ task, why }) => ({
    task: tasks.findIndex((each) => each === now(task)) + 1,
    why,
  }));
  const missing = new Set<string>();
  for (const path of new Set(tasks.flatMap(({ text }) => plans.filesToMake(text))))
    if (await isMissing(root, path)) missing.add(path);
  return plans.unfinishedTasks(tasks, said, {
    isAsked: (task) => asked.some(({ text }) => text === task),
    isMissing: (path) => missing.has(path),
    skipped,
    tested: verification?.startsWith('pass') === true,
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
  const written = await writePlan(
    ports,
    {
      workspace,
      workflowId,
      namespace,
      name: 'mark',
      marks,
      hold,
      comesTo: `${input.marker}-${input.commit ?? 'none'}`,
      ...(settings === undefined ? {} : { settings }),
      stepKey: `${input.stepKey}-${phase.id}-m${input.mark}`,
      message: `Mark phases of ${planPath}`,
    },
    () => marked(ports, input),
    scope,
  );
  if (written.outcome !== 'written') return { ...written };
  // Of a mark that was begun before, what was found then: tasks that are not done, or why there is nothing to mark.
  const unfinished = (written.data as readonly plans.UnfinishedTask[] | string | undefined) ?? [];
  const { commit, files, held, marks: along } = written;
  if (typeof unfinished === 'string') return { outcome: 'conflict', why: unfinished, marks: along };
  return {
    outcome: 'marked',
    commit,
    files,
    held,
    marks: along,
    ...(unfinished.length === 0 ? {} : { unfinished }),
  };
};

async function marked(ports: ActivityPorts, input: MarkPhaseInput): Promise<PlanTexts> {
  const { planPath, phase, commit, marks, texts, total } = input;
  const root = await ports.workspace.root(input.workspace);
  const read = await readFiles(ports, root, planPath);
  const before = textsInWorkspace(read, root, read.tree);
  const known =
    texts === null ? null : await getJson<PhaseTexts>(ports.blobs, texts, 'phase texts');
  const asked = known?.phases[phase.id];
  const node = plans.findPhase(read.tree, { ...phase, text: asked?.text });
  if (node === null) {
    const gone = `${planPath} has no Phase ${phase.number} (${phase.name}) any more: it was removed, or both its name and its text were changed. Restore its heading`;
    // Without a commit nothing is lost.
    return { before, after: before, ...(commit === null ? {} : { data: gone }) };
  }
  const { number, name } = node.part.heading;
  const tasks = { root, tasks: plans.tasksOf(node), asked: asked?.tasks ?? [] };
  const unfinished = input.marker === 'completed' ? await unfinishedOf(ports, input, tasks) : [];
  // A phase that was committed is complete where no task of it is known to be undone.
  const isLeft = unfinished.length > 0;
  const { marker, done, why } = isLeft
    ? { marker: 'incomplete' as const, done: input.done - 1, why: describeUnfinished(unfinished) }
    : input;
  const status = `${done}/${total} phases complete`;
  const written =
    marker === 'completed' ? 'COMPLETED' : marker === 'skipped' ? 'SKIPPED' : 'INCOMPLETE';
  // It is there already: only what waits is to be committed.
  if (
    marks.length > 0 &&
    !input.hold &&
    commit === null &&
    node.part.heading.markers.includes(written)
  )
    return { before, after: before };
  const changed = plans.markPhase(
    read.tree,
    node,
    {
      marker: written,
      ...(isLeft ? { open: new Set(unfinished.map(({ text }) => text)) } : {}),
      progress: [
        ...(marker === 'completed'
          ? [['Last Completed', `Phase ${number} - ${name}`] as const]
          : []),
        ['Date', isoTime(ports.clock).slice(0, 10)],
        ...(commit === null ? [] : [['Commit', commit.slice(0, 12)] as const]),
        ['Status', `${done === total ? 'Completed' : 'In Progress'} (${status})`],
        ['To Resume', done === total ? null : `\`emend plan run ${planPath}\``],
      ],
    },
    read.thresholds.values,
  );
  const after = textsInWorkspace(read, root, changed);
  const summary = await summaryOf(root, planPath);
  if (summary.text !== null) before.set(summary.path, summary.text);
  const about = { title: read.tree.main.title ?? read.place.stem, path: planPath, status };
  const line = { number, name, text: wordsOf({ ...input, marker, why }) };
  after.set(summary.path, plans.withSummary(summary.text, about, line));
  const message = `Mark Phase ${number} of ${planPath} as ${marker} (${done}/${total})`;
  return { before, after, message, ...(isLeft ? { data: unfinished } : {}) };
}

const wordsOf = ({ marker, commit, verification, why }: MarkPhaseInput): string => {
  const tests =
    verification === null || verification === 'no_tests'
      ? 'no tests were run'
      : `tests: ${verification}`;
  const done = commit === null ? [] : [`commit ${commit.slice(0, 12)}`, tests];
  return [marker, ...done, ...(why === null ? [] : [why.replace(/\s+/g, ' ')])].join(', ');
};
