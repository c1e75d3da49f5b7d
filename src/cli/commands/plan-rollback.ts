/** `emend plan rollback PLAN N`: takes the commits of a phase back with one new commit. No server is needed, and no commit is rewritten. */
import { runOfPlan, type PlanFile } from '../../client/runs/plan-runs.js';
import { planOfPath } from '../../client/runs/start-plan.js';
import {
  inWorkspace,
  pathsOfPlan,
  readPlan,
  type ReadPlan,
  summaryOf,
} from '../../workspace/documents/index.js';
import {
  commitInSummary,
  unmarkPhase,
  reportOf,
  type PhaseReport,
  summaryFiles,
  withSummary,
} from '../../documents/plan/index.js';
import { fail, nullOn } from '../../shared/problems.js';
import { shownKey } from '../../shared/ids.js';
import { dirtyPaths } from '../../workspace/files/index.js';
import { planCommits, takeBack, type TakenBack } from '../../workspace/landing/revert-commits.js';
import type { Io, JsonFlag } from '../io.js';
import { printFound } from '../json.js';
import { failBusy, openLocal } from '../local/open.js';
import { plain } from '../render/text.js';
import { phaseNumber } from './plan-run.js';
import { withEmend } from '../session.js';
import { UNREADABLE } from '../../system/given-file.js';

type Reported = ReadPlan & { readonly phases: readonly PhaseReport[] };

export const rollback = async (
  io: Io,
  path: string,
  written: string,
  flags: JsonFlag,
): Promise<void> => {
  const number = phaseNumber(written, 'rollback');
  // What a killed command left half done comes first: it may be this very plan.
  const local = await openLocal(io, { existing: false, recover: true });
  // A clone with the plan's branch checked out is a directory, whatever its document says.
  const plan = await planOfPath(io.cwd, path, null);
  for (const each of [plan, await planOfPath(io.cwd, path)]) await refuseOpen(io, each);
  const found = await readPlan(io.cwd, path);
  const read = { ...found, ...reportOf(found.tree, found.thresholds, found.show) };
  const phase = phaseOf(read, number, path);
  const commits = await commitsOf(plan, read, phase);
  const { workspace, planPath } = plan;
  // Marks of other phases stay: the plan's documents are only changed by what takes this one's mark out.
  const isKept = (file: string): boolean =>
    file === `${planPath}.md` ||
    file.startsWith(`${planPath}/`) ||
    summaryFiles(planPath).includes(file);
  const reverts = commits.map((each) => `This reverts commit ${each}.`).join('\n');
  const message = `Revert Phase ${number}: ${phase.name}\n\nPlan ${planPath}.\n\n${reverts}`;
  const wanted = { workspace, commits, isKept, message, holder: local.holder, sign: read.sign };
  const documents = () => documentsOf(plan, read, phase);
  const done = await takeBack(local, wanted, documents, () => undefined);
  if (done.outcome !== 'taken_back') return refuse(plan, phase, path, done);
  const { commit, files } = done;
  const told = { v: 1, phase: phase.number, commit, reverted: commits, files } as const;
  const head = `reverted Phase ${phase.number} (${phase.name}) in ${commit.slice(0, 12)}`;
  printFound(
    { io, flags },
    'plan rollback',
    told,
    [head, ...files.map((file) => `  ${file}`)].map(plain),
  );
};

/** A run would write a mark that is gone again, or stand on what is taken back. */
const refuseOpen = async (io: Io, plan: PlanFile): Promise<void> =>
  withEmend(io, async (emend) => {
    // `no_server`: there is no run of the plan on this machine either.
    const run = await runOfPlan(emend, plan).catch(nullOn('run_unknown', 'no_server'));
    if (run === null) return;
    const shown = shownKey(run.stepKey);
    if (run.live?.open === true)
      fail(
        'busy',
        `Run ${shown} of ${plan.planPath} is open. Nothing was changed.`,
        `End it first: emend plan stop ${plan.planPath} --after-phase, or emend abort ${shown}`,
      );
    if (run.live === null && run.archived.closed === null && emend.runs === null)
      fail(
        'no_server',
        `Cannot tell whether run ${shown} of ${plan.planPath} is still open: no Temporal server is reachable. Nothing was changed.`,
        'Start it (emend dev), then try again.',
      );
  });

/** A phase that is done and builds on this one is taken back first. */
const phaseOf = ({ phases }: Reported, number: number, path: string): PhaseReport => {
  const numbers = phases.map((each) => each.number).join(', ');
  const at = phases.findIndex((each) => each.number === number);
  const found = phases[at];
  // Without a dependencies line a phase builds on all before it.
  const above = phases.findLast(
    ({ markers, dependencies }, i) =>
      markers.includes('COMPLETED') && (dependencies?.includes(number) ?? i > at),
  );
  if (found !== undefined && above !== undefined)
    fail(
      'conflict',
      `Phase ${above.number} (${above.name}) is done and depends on Phase ${number}. Nothing was changed.`,
      `Revert it first: emend plan rollback ${path} ${above.number}`,
    );
  return found ?? fail('usage', `${path} has no Phase ${number}; its phases are ${numbers}.`);
};

const SUBJECT = /^(?:\[INCOMPLETE\] )?Phase (\d+): (.*)$/s;
/** Newest first: those that carried the phase out and stand. Of phases of one name each has those of its number. */
const commitsOf = async (
  { workspace, planPath }: PlanFile,
  { phases }: Reported,
  { name, number }: PhaseReport,
): Promise<readonly string[]> => {
  const others = new Set(
    phases.flatMap((each) => (each.name === name && each.number !== number ? each.number : [])),
  );
  const all = (await planCommits(workspace, planPath)).flatMap(
    ({ commit, kind, reverted, subject }) => {
      const [, of, named] = SUBJECT.exec(subject) ?? [];
      return kind === 'phase' && !reverted ? [{ commit, of: Number(of), named }] : [];
    },
  );
  // Renamed since, it has those of the name that it had: the summary says which is its last.
  const { text } = await summaryOf(workspace, planPath, UNREADABLE);
  const last = commitInSummary(text ?? '', number) ?? 'none';
  const before = all.find(({ commit }) => commit.startsWith(last))?.named ?? name;
  const was = phases.some((each) => each.name === before) ? name : before;
  const found = all.filter(({ of, named }) => (named === name || named === was) && !others.has(of));
  if (found.length > 0) return found.map(({ commit }) => commit);
  return fail(
    'usage',
    `No commit of Phase ${number} (${name}) is in the branch: there is nothing to revert.`,
    `See: git log --grep 'Plan ${planPath}, phase'`,
  );
};

/** The plan without the phase's marks, and its line of the summary. What is not committed of them would go along unseen: refused. */
async function documentsOf(
  plan: PlanFile,
  read: Reported,
  phase: PhaseReport,
): Promise<ReadonlyMap<string, string>> {
  const { workspace, planPath } = plan;
  const { phases } = read;
  const placed = (path: string): string => inWorkspace(read, workspace, path);
  const summary = await summaryOf(workspace, planPath, UNREADABLE);
  const [dirty] = await dirtyPaths(workspace, [...pathsOfPlan(read, workspace), summary.path]);
  if (dirty !== undefined)
    fail(
      'target_dirty',
      `${dirty.path} has uncommitted changes (${dirty.state}), and the rollback changes it. Nothing was changed.`,
      'Commit or stash them, then try again.',
    );
  const done = phases.filter(
    (each) => each.markers.includes('COMPLETED') && each.number !== phase.number,
  ).length;
  const status = `${done}/${phases.length} phases complete`;
  const isLast = read.tree.main.source.includes(`**Last Completed**: Phase ${phase.number} - `);
  const last = isLast ? ['Last Completed', 'Commit'] : [];
  const files = unmarkPhase(read.tree, phase, [
    ...last.map((name) => [name, null] as const),
    ['Date', new Date().toISOString().slice(0, 10)],
    ['Status', `In Progress (${status})`],
    ['To Resume', `\`emend plan run ${planPath}\``],
  ]);
  const changed = [...(files ?? [])].filter(([path, text]) => read.tree.files.get(path) !== text);
  const about = { title: plan.title, path: planPath, status };
  const line = { number: phase.number, name: phase.name, text: 'reverted' };
  return new Map([
    ...changed.map(([path, text]) => [placed(path), text] as const),
    ...(summary.text === null
      ? []
      : [[summary.path, withSummary(summary.text, about, line)] as const]),
  ]);
}

const refuse = (
  { workspace }: PlanFile,
  { number, name }: PhaseReport,
  path: string,
  refused: Exclude<TakenBack, { outcome: 'taken_back' }>,
): never => {
  const of = `Phase ${number} (${name})`;
  switch (refused.outcome) {
    case 'busy':
      return failBusy(workspace, refused.holder);
    case 'failed':
      return fail(refused.problem.code, refused.problem.message, refused.problem.next);
    case 'later': {
      const named = refused.commits
        .map(({ commit, subject }) => `${commit.slice(0, 12)} (${subject})`)
        .join(', ');
      const [newest] = refused.commits;
      const [, phase] = SUBJECT.exec(newest?.subject ?? '') ?? [];
      const first =
        phase === undefined
          ? `git revert ${newest?.commit.slice(0, 12) ?? ''}`
          : `emend plan rollback ${path} ${phase}`;
      return fail(
        'conflict',
        `Files of ${of} have changed since: ${named}. Nothing was changed.`,
        `Revert it first: ${first}`,
      );
    }
    case 'conflict':
      return fail(
        'conflict',
        `${of} cannot be reverted from the current files: ${refused.files.map(({ why }) => why).join('; ')}. Nothing was changed.`,
        'Revert the later changes first, then try again.',
      );
    case 'dirty':
      return fail(
        'target_dirty',
        `Files of ${of} have uncommitted changes: ${refused.files.map(({ why }) => why).join('; ')}. Nothing was changed.`,
        'Commit or stash them, then try again.',
      );
    case 'moved':
      return fail(
        'conflict',
        `The branch moved in the meantime: ${refused.why}. Nothing was changed.`,
        'Try again.',
      );
  }
};
