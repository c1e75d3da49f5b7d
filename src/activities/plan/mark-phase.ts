/** Step 5: what became of a phase is written into the plan's documents and the partial summary. */
import { readPlan as readFiles } from '../../plan-files/read.js';
import { markPhase as markTree } from '../../plan/mark.js';
import { summaryFile, withSummary } from '../../plan/summary.js';
import type { MarkPhaseInput, MarkPhaseResult } from '../../shared/plan/activities.js';
import type { ActivityScope } from '../boundary.js';
import type { ActivityDependencies } from '../dependencies.js';
import { undoneWords } from '../../shared/plan/undone-words.js';
import type { UndoneTask } from '../../plan/undone.js';
import { readTextFile } from '../preflight-files.js';
import { inWorkspace } from './plan-paths.js';
import { undoneOf } from './undone.js';
import { writePlan, type PlanTexts } from './write-plan.js';

export const markPhase =
  (dependencies: ActivityDependencies) =>
  async (input: MarkPhaseInput, scope: ActivityScope): Promise<MarkPhaseResult> => {
    const { workspace, workflowId, namespace, phase, planPath } = input;
    const wanted = await withUndone(dependencies, input);
    const { marker, done, total } = wanted;
    const written = await writePlan(
      dependencies,
      {
        ...{ workspace, workflowId, namespace, name: 'mark' },
        stepKey: `${input.stepKey}-${phase.id}-m${input.mark}`,
        message: `Mark Phase ${phase.number} of ${planPath} as ${marker} (${done}/${total})`,
      },
      () => marked(wanted),
      scope,
    );
    if (written.outcome !== 'written') return { v: 1, ...written };
    // Of a mark that was begun before, what was found then.
    const undone = (written.data as readonly UndoneTask[] | undefined) ?? [];
    const { commit, files } = written;
    return { v: 1, outcome: 'marked', commit, files, ...(undone.length === 0 ? {} : { undone }) };
  };

type Wanted = MarkPhaseInput & { readonly undone: readonly UndoneTask[] };

/** A phase that was committed is complete where no task of it is known to be undone. */
async function withUndone(dependencies: ActivityDependencies, input: MarkPhaseInput): Promise<Wanted> {
  const undone = input.marker === 'completed' ? await undoneOf(dependencies, input) : [];
  return undone.length === 0
    ? { ...input, undone }
    : { ...input, undone, marker: 'incomplete', why: undoneWords(undone), done: input.done - 1 };
}

async function marked(input: Wanted): Promise<PlanTexts | null> {
  const { workspace, planPath, phase, done, total } = input;
  const read = await readFiles(workspace, planPath);
  const status = `${done}/${total} phases complete`;
  const changed = markTree(
    read.tree,
    {
      name: phase.name,
      number: phase.number,
      marker: input.marker === 'completed' ? 'COMPLETED' : input.marker === 'skipped' ? 'SKIPPED' : 'INCOMPLETE',
      ...(input.undone.length === 0 ? {} : { open: new Set(input.undone.map(({ text }) => text)) }),
      progress: [
        ...(input.marker === 'completed' ? [['Last Completed', `Phase ${phase.number} - ${phase.name}`] as const] : []),
        ['Date', new Date().toISOString().slice(0, 10)],
        ...(input.commit === null ? [] : [['Commit', input.commit.slice(0, 12)] as const]),
        ['Status', `${done === total ? 'Completed' : 'In Progress'} (${status})`],
        ['To Resume', done === total ? null : `\`emend plan run ${planPath}\``],
      ],
    },
    read.thresholds.values,
  );
  if (changed === null) return null;
  const before = new Map([...read.tree.files].map(([path, text]) => [inWorkspace(read, workspace, path), text]));
  const after = new Map([...changed.files].map(([path, text]) => [inWorkspace(read, workspace, path), text]));
  const summary = summaryFile(planPath);
  const summaryNow = await readTextFile(workspace, summary);
  if (summaryNow !== null) before.set(summary, summaryNow);
  const about = { title: read.tree.main.title ?? read.place.stem, path: planPath, status };
  const line = { number: phase.number, name: phase.name, text: wordsOf(input) };
  after.set(summary, withSummary(summaryNow, about, line));
  return { before, after, ...(input.undone.length === 0 ? {} : { data: input.undone }) };
}

const wordsOf = ({ marker, commit, verification, why }: MarkPhaseInput): string =>
  [
    marker,
    ...(commit === null ? [] : [`commit ${commit.slice(0, 12)}`]),
    ...(commit === null
      ? []
      : [verification === null || verification === 'no_tests' ? 'no tests were run' : `tests: ${verification}`]),
    ...(why === null ? [] : [why.replace(/\s+/g, ' ')]),
  ].join(', ');
