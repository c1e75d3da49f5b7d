/** What a person is asked before a plan's first phase: one question, with a part for each thing that is known then. Pure. */
import type { DecisionPoint, DecisionRequest, StartPart } from '../../shared/decisions.js';
import { estimateText, expandText, foundText } from '../../shared/event-text.js';
import type { PhaseId, ReadyPlan } from '../../shared/plan.js';
import type { FoundTests } from '../../shared/test-plan.js';
import { cut, defaultBudget_usd } from '../../shared/rules.js';
import { limitOf, moneyBudget, type MoneyBudget, type PhaseEstimate } from '../../shared/usage.js';
import { asking, testsBy, type TestsSaid } from '../frame/decision-state.js';
import { emit } from '../frame/log.js';
import { within } from '../frame/machine.js';
import { estimateOfPlan, mostOfPlan, overBudgets } from './budget.js';
import { isDone, openOf, unmarkedOf, type PhaseEntry, type PlanState } from './state.js';

/** Tests alone, and the estimate alone, have a question of their own. */
export function askFirst(before: PlanState, now: number): PlanState {
  const state: PlanState = { ...estimated(before, now), asked: null };
  const parts = partsOf(state);
  const isAll = (wanted: StartPart['name']): boolean => parts.every(({ name }) => name === wanted);
  if (isAll('estimate')) return state;
  const tests = testsAsked(state);
  if (tests !== null && isAll('tests'))
    return asking(state, 'test_command', tests.message, tests.subject);
  const message = 'before the first phase; each part needs an answer';
  return { ...state, ask: { reason: 'plan_start', message, files: [], subject: null, parts } };
}

/** Said in any case; a person is asked where a policy does not speak for them, and where it is over a budget. */
function estimated(state: PlanState, now: number): PlanState {
  const { estimate: wanted } = state.input.options;
  const estimate = estimateOfPlan(state);
  const most = mostOfPlan(state);
  const over = overBudgets(state, estimate);
  const phases = openOf(state).length;
  const budget = budgetAtStart(state, estimate);
  const expected = { estimate, budget };
  const shown = emit({ ...state, expected }, now, {
    type: 'plan_estimated',
    phases,
    ...estimate,
    over,
    budget,
    ...(most === null ? {} : { most }),
  });
  if (over.length === 0 && (wanted === 'approved' || state.reading.plan?.approval === 'auto'))
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
  const why = ({ stages, score }: PhaseEntry): string => stages ?? score.above.join(', ');
  return [
    ...part(
      'expand',
      expand.map((phase) => expandText(state.input.planPath, phase, why(phase))).join('; '),
      ['all', 'none', ...expand.map(({ number }) => String(number))],
    ),
    ...part('tests', tests?.message ?? '', tests?.subject === null ? ['none'] : ['run', 'none']),
    ...part('dirty', dirty.length === 0 ? '' : `${UNCOMMITTED}${dirty.join('')}`, ['keep', 'skip']),
    ...part('estimate', state.estimateAsked ?? '', ['continue']),
  ];
}
const UNCOMMITTED = 'commit or stash changes to files that a phase changes, or it will ask';

/** Commands that run without a word: they are configured, or confirmed already. */
export const testsAtFirst = ({ test: { commands, phases = {} } }: ReadyPlan) => ({
  commands,
  own: ownOf(phases, ({ confirmed }) => confirmed),
});
const ownOf = (
  phases: Readonly<Record<PhaseId, FoundTests>>,
  wanted: (tests: FoundTests) => boolean,
) =>
  Object.fromEntries(
    Object.entries(phases).flatMap(([id, tests]) => (wanted(tests) ? [[id, tests.commands]] : [])),
  );

const unconfirmed = ({ from, phases = {} }: ReadyPlan['test']): readonly FoundTests[] =>
  [...Object.values(phases), ...(from === undefined ? [] : [from])].filter(
    ({ confirmed }) => !confirmed,
  );

const NONE =
  'no test command is configured, and none was found: phases without one end with no_tests';
/** Found commands that nobody confirmed, or that there are none. Null: nothing is to be asked. */
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

/** `run`, `other` or `no_tests`: what is confirmed already runs in any case. */
export function withTests(state: PlanState, said: TestsSaid, subject: string | null): PlanState {
  const { test } = state.reading.plan ?? {};
  const answered = within(state, 'tests', { answered: true });
  if (said.answer === 'other' || test === undefined)
    return within(answered, 'tests', testsBy(said, subject));
  if (said.answer !== 'run') return answered;
  const { from, phases = {} } = test;
  const general =
    from === undefined && Object.keys(phases).length > 0 ? {} : testsBy(said, subject, from);
  const remember = unconfirmed(test).map(({ key }) => key);
  return within(answered, 'tests', { ...general, own: ownOf(phases, () => true), remember });
}

/** `start`: what each part says; of a part without a word its first answer holds. */
export function resolveStart(
  state: PlanState,
  { parts = [] }: DecisionPoint,
  { set = {} }: DecisionRequest,
): PlanState {
  const said = (wanted: StartPart['name']): readonly string[] =>
    parts.flatMap(({ name, accepts }) =>
      name === wanted ? String(set[name] ?? accepts[0]).split(/\s*,\s*/) : [],
    );
  const [expand, tests, dirty] = [said('expand'), said('tests'), said('dirty')];
  const asked = new Set(expand.length === 0 ? [] : toExpand(state).map(({ id }) => id));
  const phases = state.phases.map((phase): PhaseEntry => {
    if (dirty.includes('skip') && !isDone(phase) && phase.dirty !== undefined)
      return {
        ...phase,
        status: 'skipped',
        why: 'its files had uncommitted changes',
        marked: false,
      };
    if (!asked.has(phase.id)) return phase;
    const isWanted =
      ['all', String(phase.number)].some((word) => expand.includes(word)) &&
      !expand.includes('none');
    return isWanted ? { ...phase, mayExpand: true } : { ...phase, complexityEvaluated: true };
  });
  const next: PlanState = { ...state, phases, estimateAsked: null };
  const begun: PlanState =
    unmarkedOf(next).length > 0 ? { ...next, stage: { at: 'marking' } } : next;
  if (tests.length === 0) return begun;
  const answer = set.command !== undefined ? 'other' : tests.includes('run') ? 'run' : 'no_tests';
  return withTests(begun, { answer, set }, testsAsked(state)?.subject ?? null);
}
