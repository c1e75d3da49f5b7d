/** Invariants about plans: their phases are steps, and judged as such; here is what a plan makes of them. */
import type { Evidence, FoundCommit, FoundPlan, FoundPlanRun } from '../evidence.js';
import { markOf, unmarked, type PlannedPhase } from '../plans.js';
import { pausesText, type Invariant } from './judge.js';

const TASKS = 2;
const MARKERS: Readonly<Record<string, string>> = {
  completed: '[COMPLETED]',
  skipped: '[SKIPPED]',
  incomplete: '[INCOMPLETE]',
};

const commitsIn = ({ workspaces }: Evidence, plan: FoundPlan): readonly FoundCommit[] =>
  workspaces.find(({ path }) => path === plan.workspace)?.commits ?? [];
export const isDocument = ({ document }: FoundPlan, path: string): boolean =>
  path === document || path.startsWith('summaries/');
const documentIn = ({ workspaces }: Evidence, plan: FoundPlan): string =>
  workspaces.find(({ path }) => path === plan.workspace)?.files[plan.document] ?? '';

/** What git has of a phase, from all runs of its plan: commits by what their trailer says that they are. */
const foundOf = (evidence: Evidence, plan: FoundPlan, { number }: PlannedPhase) => {
  const runs = plan.runs.flatMap(({ stepKey, phases, events }) =>
    phases
      .filter((phase) => phase.number === number)
      .map((phase) => ({ stepKey, events, ...phase })),
  );
  const commits = commitsIn(evidence, plan);
  const named = (letter: 'm' | 'g'): readonly FoundCommit[] =>
    commits.filter(({ steps }) =>
      runs.some(({ stepKey, id }) =>
        steps.some((step) => step.startsWith(`${stepKey}-${id}-${letter}`)),
      ),
    );
  return {
    // The last run to know the phase read the document that the one before it had left.
    status: runs.at(-1)?.status ?? 'pending',
    code: commits.filter(({ steps }) =>
      runs.some((run) => run.runs.some((key) => steps.includes(key))),
    ),
    marks: named('m'),
    merges: named('g'),
    told: runs.flatMap(({ events }) =>
      events.filter((e) => e.type === 'phase_merged' && e.phase === number),
    ).length,
  };
};

const violationsOf = (evidence: Evidence, plan: FoundPlan, phase: PlannedPhase): string[] => {
  const { status, code, marks, merges, told } = foundOf(evidence, plan, phase);
  const about = `${plan.carrier} (${plan.kind}), phase ${phase.number} (${status})`;
  const written = markOf(documentIn(evidence, plan), phase);
  const outcome = plan.runs.at(-1)?.outcome ?? 'open';
  // An abort may come between a phase's commit and its mark.
  const isCut = !['completed', 'incomplete'].includes(outcome);
  const isDone = status in MARKERS;
  const most = isDone ? 1 : 0;
  const least = isDone && !isCut ? 1 : 0;
  const found: string[] = [];
  if (marks.length < least || marks.length > most)
    found.push(`${about}: ${marks.length} commits mark it`);
  const wantsCode = status === 'completed' && !isCut;
  if (code.length > 1 || (wantsCode && code.length !== 1))
    found.push(`${about}: ${code.length} commits of code`);
  if (status === 'skipped' && code.length > 0)
    found.push(`${about}: it was skipped, and ${code.length} commits are its`);
  if (merges.length !== told || merges.length > code.length)
    found.push(`${about}: ${merges.length} merges, ${told} are told`);
  const marker = marks.length === 0 ? '' : (MARKERS[status] ?? '');
  if (written.marker !== marker)
    found.push(`${about}: the document says ${JSON.stringify(written.marker)} of it`);
  const done = marker === MARKERS.completed ? TASKS : 0;
  if (written.done !== done || written.open !== TASKS - done)
    found.push(`${about}: ${written.done} of its tasks are ticked, ${written.open} are not`);
  return [
    ...found,
    // Beside its own file it may hold marks of phases before it, in the plan's documents.
    ...code
      .filter(
        ({ changed }) =>
          String(Object.keys(changed).filter((path) => !isDocument(plan, path))) !== phase.path,
      )
      .map(({ changed }) => `${about}: its commit changes ${Object.keys(changed).join(', ')}`),
    ...marks
      .filter(({ id, changed }) => code.some((own) => own.id === id) || !(plan.document in changed))
      .map(({ changed }) => `${about}: its mark changes ${Object.keys(changed).join(', ')}`),
  ];
};

export const phasesLandOnce: Invariant = {
  name: 'each phase of a plan that is done is committed, marked and merged once; no other is',
  violations: (evidence) =>
    evidence.plans.flatMap((plan) =>
      plan.phases.flatMap((phase) => violationsOf(evidence, plan, phase)),
    ),
};

export const documentsAreKept: Invariant = {
  name: "a plan's document is a person's, byte for byte, but for what marks its phases",
  violations: (evidence) =>
    evidence.plans.flatMap((plan) => {
      const found = unmarked(documentIn(evidence, plan)).split('\n');
      const wanted = plan.text.split('\n');
      const at = wanted.findIndex((line, i) => line !== found[i]);
      if (at < 0 && found.length === wanted.length) return [];
      const line = at < 0 ? wanted.length : at;
      return [
        `${plan.carrier} ${plan.document}:${line + 1}: ${JSON.stringify(found[line] ?? null)}, was ${JSON.stringify(wanted[line] ?? null)}`,
      ];
    }),
};

export const worktreesAreGone: Invariant = {
  name: 'no worktree, branch or record of a plan is left',
  violations: ({ plans }) =>
    plans.flatMap(({ carrier, left }) => left.map((what) => `${carrier}: ${what}`)),
};

/** Without a word of its own: the next run asks before it builds on what was left. */
const isCutOff = (before: FoundPlanRun | undefined): boolean => before?.status === 'TERMINATED';

export const plansEndAsTheyShould: Invariant = {
  name: 'every plan ends as its faults allow, asks nothing that nobody caused, and its archive says the same',
  violations: ({ plans }) =>
    plans.flatMap(({ carrier, kind, ends, cuts, runs }) => {
      const about = `${carrier} (${kind})`;
      const wanted = runs.map((_, i): readonly string[] => (i + 1 === runs.length ? ends : cuts));
      return runs.flatMap(({ status, outcome, archived, pauses, reset }, i) => {
        const end = outcome ?? (status ?? 'open').toLowerCase();
        // Before its first phase each run asks about its estimate; one that was reset may ask again, one after a run that was cut off whether to go on from there.

        const asked = pauses.filter(
          ({ reason }) => !(reason === 'resume' && isCutOff(runs[i - 1])),
        );
        const first = asked.slice(asked[0]?.reason === 'estimate' ? 1 : 0);
        const cancelled = (reason: string): boolean =>
          reason === 'cancelled' && kind === 'cancel of a phase';
        const strange = first.filter(
          ({ reason }) => !(reset && reason === 'estimate') && !cancelled(reason),
        );
        return [
          ...(wanted[i]?.includes(end) === true
            ? []
            : [`${about}: it ended ${end}, not ${wanted[i]?.join(' or ')}`]),
          ...(strange.length === 0 ? [] : [`${about}: it asked about ${pausesText(strange)}`]),
          ...(archived.status === status && archived.outcome === outcome
            ? []
            : [
                `${about}: ${status ?? 'open'} and ${outcome ?? 'no outcome'}, in the archive ${archived.status ?? 'open'} and ${archived.outcome ?? 'no outcome'}`,
              ]),
        ];
      });
    }),
};
