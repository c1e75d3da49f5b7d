/** Start: asks before the first phase, in one question with a part for each thing that is known then. */
import type { DecisionPoint, DecisionRequest, StartPart } from '../../../shared/decisions.js';
import { estimateText, expandText, foundText } from '../../../shared/event-text.js';
import type { PhaseId, ReadyPlan } from '../../../shared/plan.js';
import type { FoundTests } from '../../../shared/test-plan.js';
import { cut, defaultBudget_usd } from '../../../shared/rules.js';
import {
  limitOf,
  moneyBudget,
  type MoneyBudget,
  type PhaseEstimate,
} from '../../../shared/usage.js';
import { testsBy, type TestsSaid } from '../../frame/decisions/answering.js';
import { asking } from '../../frame/decisions/asking.js';
import { emit } from '../../frame/log.js';
import { within } from '../../frame/machine.js';
import { estimateOfPlan, mostOfPlan, overBudgets } from '../budget.js';
import type { Decide } from '../protocol.js';
import { isDone, openOf, unmarkedOf } from '../selectors.js';
import type { PhaseEntry, PlanState } from '../state.js';

export const decide: Decide<'plan_start' | 'test_command'> = {
  plan_start: (state, { decision, request }) => resolveStart(state, decision, request),
  test_command: (state, { decision, request }) => withTests(state, request, decision.subject),
};

/** Asks what is to be known before the first phase. The tests alone, and the estimate alone, have a question of their own. */
export function askFirst(before: PlanState, currentTime_ms: number): PlanState {
  const state: PlanState = { ...estimated(before, currentTime_ms), asked: null };
  const parts = partsOf(state);
  const isAll = (only: StartPart['name']): boolean => parts.every(({ name }) => name === only);
  if (isAll('estimate')) return state;
  const tests = testsAsked(state);
  if (tests !== null && isAll('tests'))
    return asking(state, 'test_command', tests.message, tests.subject);
  const message = 'before the first phase; each part needs an answer';
  return { ...state, ask: { reason: 'plan_start', message, files: [], subject: null, parts } };
}

/** Reports the estimate. The plan asks about it unless a policy accepts it, and always if it exceeds a budget. */
function estimated(state: PlanState, currentTime_ms: number): PlanState {
  const { estimate: consent } = state.input.options;
  const estimate = estimateOfPlan(state);
  const most = mostOfPlan(state);
  const over = overBudgets(state, estimate);
  const phases = openOf(state).length;
  const budget = budgetAtStart(state, estimate);
  const expected = { estimate, budget };
  const shown = emit({ ...state, expected }, currentTime_ms, {
    type: 'plan_estimated',
    phases,
    ...estimate,
    over,
    budget,
    ...(most === null ? {} : { most }),
  });
  if (over.length === 0 && (consent === 'approved' || state.reading.plan?.approval === 'auto'))
    return shown;
  const message = estimateText({ phases, estimate, most, over, budget });
  return { ...shown, estimateAsked: cut(state.input.rules, message) };
}

/** Money that earlier runs of the plan used does not count against the default. */
function budgetAtStart(state: PlanState, { calls, usd }: PhaseEstimate): MoneyBudget | null {
  // Without a call nothing was estimated.
  const default_usd = calls === 0 ? null : defaultBudget_usd(state.input.rules.bounds, usd);
  const before_usd = state.spentBefore?.usage.usd ?? 0;
  return moneyBudget(
    limitOf(state.limits, 'budget_usd'),
    default_usd === null ? null : default_usd + before_usd,
  );
}

const toExpand = (state: PlanState): readonly PhaseEntry[] =>
  openOf(state).filter((phase) =>
    phase.expanded ? phase.stages !== undefined : phase.score.above.length > 0,
  );

function partsOf(state: PlanState): readonly StartPart[] {
  const part = (
    name: StartPart['name'],
    words: string,
    accepts: readonly string[],
  ): readonly StartPart[] =>
    words === '' ? [] : [{ name, message: cut(state.input.rules, words), accepts }];
  const open = state.reading.plan?.approval === 'ask' ? openOf(state) : [];
  const expand = toExpand({ ...state, phases: open });
  const dirty = open.flatMap(({ number, dirty: files = [] }) =>
    files.length === 0 ? [] : [`; Phase ${number}: ${files.join(', ')}`],
  );
  const tests = testsAsked(state);
  const reasonOf = ({ stages, score }: PhaseEntry): string => stages ?? score.above.join(', ');
  return [
    ...part(
      'expand',
      expand.map((phase) => expandText(state.input.planPath, phase, reasonOf(phase))).join('; '),
      ['all', 'none', ...expand.map(({ number }) => String(number))],
    ),
    ...part('tests', tests?.message ?? '', tests?.subject === null ? ['none'] : ['run', 'none']),
    ...part('dirty', dirty.length === 0 ? '' : `${UNCOMMITTED}${dirty.join('')}`, ['keep', 'skip']),
    ...part('estimate', state.estimateAsked ?? '', ['continue']),
  ];
}
const UNCOMMITTED = 'commit or stash changes to files that a phase changes, or it will ask';

/** Returns the commands that need no confirmation: they are configured, or were confirmed before. */
export const testsAtFirst = ({ test: { commands, phases = {} } }: ReadyPlan) => ({
  commands,
  own: ownOf(phases, ({ confirmed }) => confirmed),
});
const ownOf = (
  phases: Readonly<Record<PhaseId, FoundTests>>,
  isIncluded: (tests: FoundTests) => boolean,
) =>
  Object.fromEntries(
    Object.entries(phases).flatMap(([id, tests]) =>
      isIncluded(tests) ? [[id, tests.commands]] : [],
    ),
  );

const unconfirmed = ({ from, phases = {} }: ReadyPlan['test']): readonly FoundTests[] =>
  [...Object.values(phases), ...(from === undefined ? [] : [from])].filter(
    ({ confirmed }) => !confirmed,
  );

const NONE =
  'no test command is configured, and none was found: phases without one end with no_tests';
/** Returns the question about found commands that nobody confirmed, or about missing ones. Null: there is none. */
function testsAsked(
  state: PlanState,
): { readonly message: string; readonly subject: string | null } | null {
  const test = state.reading.plan?.test;
  if (test === undefined || state.tests.answered) return null;
  const all = unconfirmed(test);
  const isUnset = test.unset === true;
  if (all.length === 0 && test.found === null)
    return isUnset ? { message: NONE, subject: null } : null;
  const subject = [...new Set(all.flatMap(({ commands }) => commands))].join(' && ') || test.found;
  const more = isUnset ? '; none were found for other phases' : '';
  return {
    message: cut(
      state.input.rules,
      `test commands were found: ${all.map(foundText).join('; ') || subject}${more}`,
    ),
    subject,
  };
}

/** `run`, `other` or `no_tests`: commands that were confirmed before run in any case. */
function withTests(state: PlanState, answer: TestsSaid, subject: string | null): PlanState {
  const { test } = state.reading.plan ?? {};
  const answered = within(state, 'tests', { answered: true });
  if (answer.answer === 'other' || test === undefined)
    return within(answered, 'tests', testsBy(answer, subject));
  if (answer.answer !== 'run') return answered;
  const { from, phases = {} } = test;
  const general =
    from === undefined && Object.keys(phases).length > 0 ? {} : testsBy(answer, subject, from);
  const remember = unconfirmed(test).map(({ key }) => key);
  return within(answered, 'tests', { ...general, own: ownOf(phases, () => true), remember });
}

/** `start`: takes up the answer to each part. A part without an answer gets its first one. */
function resolveStart(
  state: PlanState,
  { parts = [] }: DecisionPoint,
  { set = {} }: DecisionRequest,
): PlanState {
  const answersTo = (part: StartPart['name']): readonly string[] =>
    parts.flatMap(({ name, accepts }) =>
      name === part ? String(set[name] ?? accepts[0]).split(/\s*,\s*/) : [],
    );
  const [expand, tests, dirty] = [answersTo('expand'), answersTo('tests'), answersTo('dirty')];
  const large = new Set(expand.length === 0 ? [] : toExpand(state).map(({ id }) => id));
  const phases = state.phases.map((phase): PhaseEntry => {
    if (dirty.includes('skip') && !isDone(phase) && phase.dirty !== undefined)
      return skippedAsDirty(phase);
    return large.has(phase.id) ? withExpansion(phase, expand) : phase;
  });
  const next: PlanState = { ...state, phases, estimateAsked: null };
  const begun: PlanState =
    unmarkedOf(next).length > 0 ? { ...next, stage: { at: 'marking' } } : next;
  if (tests.length === 0) return begun;
  const confirmed = tests.includes('run') ? 'run' : 'no_tests';
  const answer = set.command === undefined ? confirmed : 'other';
  return withTests(begun, { answer, set }, testsAsked(state)?.subject ?? null);
}

const skippedAsDirty = (phase: PhaseEntry): PhaseEntry => ({
  ...phase,
  status: 'skipped',
  why: 'its files had uncommitted changes',
  marked: false,
});

/** Notes whether the answer wants a large phase expanded. If not, its complexity counts as judged. */
function withExpansion(phase: PhaseEntry, expand: readonly string[]): PhaseEntry {
  const isWanted =
    ['all', String(phase.number)].some((word) => expand.includes(word)) && !expand.includes('none');
  return isWanted ? { ...phase, mayExpand: true } : { ...phase, complexityEvaluated: true };
}
