/** Sums of what calls used, and their words. Pure. */
import type { LimitName, Limits } from './limits.js';
import { count } from './text.js';

/** Tokens and money so far. `usd` null: the price table does not know a model that was used. */
export interface StepUsage {
  readonly calls: number;
  readonly unknownCalls: number;
  readonly input_tokens: number;
  readonly output_tokens: number;
  readonly cacheRead_tokens: number;
  readonly cacheWrite_tokens: number;
  readonly usd: number | null;
  readonly seconds: number;
}

export const NO_USAGE: StepUsage = {
  calls: 0,
  unknownCalls: 0,
  input_tokens: 0,
  output_tokens: 0,
  cacheRead_tokens: 0,
  cacheWrite_tokens: 0,
  usd: 0,
  seconds: 0,
};

/** Field by field; an unknown price makes what comes of it unknown. */
const combine = (a: StepUsage, b: StepUsage, of: (a: number, b: number) => number): StepUsage => ({
  calls: of(a.calls, b.calls),
  unknownCalls: of(a.unknownCalls, b.unknownCalls),
  input_tokens: of(a.input_tokens, b.input_tokens),
  output_tokens: of(a.output_tokens, b.output_tokens),
  cacheRead_tokens: of(a.cacheRead_tokens, b.cacheRead_tokens),
  cacheWrite_tokens: of(a.cacheWrite_tokens, b.cacheWrite_tokens),
  usd: a.usd === null || b.usd === null ? null : of(a.usd, b.usd),
  seconds: of(a.seconds, b.seconds),
});
export const addUsage = (a: StepUsage, b: StepUsage): StepUsage => combine(a, b, (x, y) => x + y);
export const subtractUsage = (a: StepUsage, b: StepUsage): StepUsage =>
  combine(a, b, (x, y) => x - y);

export const sumUsage = (all: readonly StepUsage[]): StepUsage => all.reduce(addUsage, NO_USAGE);

/** What calls are expected to take. */
export type PhaseEstimate = Pick<StepUsage, 'calls' | 'input_tokens' | 'output_tokens' | 'usd'>;
export const sumEstimates = (parts: readonly Partial<PhaseEstimate>[]): PhaseEstimate => {
  const { calls, input_tokens, output_tokens, usd } = sumUsage(
    parts.map((part) => ({ ...NO_USAGE, ...part })),
  );
  return { calls, input_tokens, output_tokens, usd };
};

/** Where prices are from, and of which day (YYYY-MM-DD; null: not said). */
export interface Priced {
  readonly source: string;
  readonly date: string | null;
}
/** If no answer fails. `model`: which is asked first, by whose prices; absent: several, or none is known. */
export interface StepEstimate extends PhaseEstimate {
  readonly model?: string;
  readonly priced?: Priced | null;
}
/** For people: `about 2 model calls, 3,000 tokens in, 500 out, $0.0110 (genai-prices 0.2.3 (PyPI), 2026-11-10), if no answer fails`. */
export const expectedText = ({ model, priced, ...expected }: StepEstimate): string => {
  const whose =
    priced == null
      ? model
      : `${model ?? ''}, ${priced.source}${priced.date === null ? '' : ` of ${priced.date}`}`;
  return `about ${usageText({ ...NO_USAGE, ...expected })}${whose === undefined ? '' : ` (${whose})`}, if no answer fails`;
};

export const tokensIn = ({
  input_tokens,
  cacheRead_tokens,
  cacheWrite_tokens,
}: CountedTokens): number => input_tokens + cacheRead_tokens + cacheWrite_tokens;

/** What counts against `budget_tokens`. */
export const tokensOf = (usage: CountedTokens): number => tokensIn(usage) + usage.output_tokens;

export type CountedTokens = Pick<
  StepUsage,
  'input_tokens' | 'output_tokens' | 'cacheRead_tokens' | 'cacheWrite_tokens'
>;

/** For people: `5 model calls, 11,918 tokens in, 5,036 out, $0.1000`. */
export const usageText = (usage: StepUsage): string =>
  [
    count(usage.calls, 'model call'),
    `${tokensIn(usage).toLocaleString('en-US')} tokens in, ${usage.output_tokens.toLocaleString('en-US')} out`,
    usage.usd === null ? 'price unknown' : `$${usage.usd.toFixed(4)}`,
    ...(usage.unknownCalls === 0
      ? []
      : [`${count(usage.unknownCalls, 'call')} interrupted (counted as far as known)`]),
  ].join(', ');

/** Of a model call, in words. */
export const callOutcome = ({
  state,
  why,
}: {
  readonly state: string;
  readonly why: string | null;
}): string =>
  `${{ unknown: 'cut off', open: 'running' }[state] ?? state}${why === null ? '' : ` (${why})`}`;

export type Budget = Extract<
  LimitName,
  'budget_tokens' | 'budget_usd' | 'budget_calls' | 'wallClock_s'
>;

const UNITS: Readonly<Record<Budget, string>> = {
  budget_tokens: 'tokens',
  budget_usd: 'US dollars',
  budget_calls: 'model calls',
  wallClock_s: 's',
};
export const BUDGETS = Object.keys(UNITS) as Budget[];

/** Is a budget of the plan set? */
export const isBounded = (limits: Limits): boolean => BUDGETS.some((name) => limits[name] !== null);

export const limitOf = (limits: Limits | null, name: Budget): number | null =>
  limits?.[name] ?? null;

type Spent = { readonly usage: StepUsage; readonly time_ms: number };
/** What counts against each budget: money that is not known may be any. */
export const usedOf = ({ usage, time_ms }: Spent): Readonly<Record<Budget, number>> => ({
  budget_tokens: tokensOf(usage),
  budget_usd: usage.usd ?? Infinity,
  budget_calls: usage.calls,
  wallClock_s: time_ms / 1000,
});
export const budgetText = (name: Budget, value: number): string =>
  `${name === 'budget_usd' ? Number(value.toFixed(4)) : Math.round(value)} ${UNITS[name]}`;

/** The bounds of a run that say how far it may exceed its estimate before it asks. */
export type OverEstimateRules = Readonly<
  Record<'overEstimate_times' | 'leastOverEstimate_usd' | 'leastOverEstimate_tokens', number>
>;
/** Returns whether a run has used so many times its estimate that it asks. Compares money if both prices are known, else tokens. */
export function isOverEstimate(
  usage: StepUsage,
  estimate: PhaseEstimate,
  rules: OverEstimateRules,
): boolean {
  const { usd, input_tokens, output_tokens } = estimate;
  const { overEstimate_times: times } = rules;
  if (usage.usd !== null && usd !== null && usd > 0)
    return usage.usd >= Math.max(times * usd, rules.leastOverEstimate_usd);
  const expected_tokens = input_tokens + output_tokens;
  if (expected_tokens === 0) return false;
  return tokensOf(usage) >= Math.max(times * expected_tokens, rules.leastOverEstimate_tokens);
}

/** Money that a run may use. `isDefault`: `budget_usd` is not set. */
export interface MoneyBudget {
  readonly usd: number;
  readonly isDefault: boolean;
}
/** The set `budget_usd`, else the default. Null: there is no money budget, as no price is known. */
export const moneyBudget = (
  set_usd: number | null,
  default_usd: number | null,
): MoneyBudget | null => {
  if (set_usd !== null) return { usd: set_usd, isDefault: false };
  return default_usd === null ? null : { usd: default_usd, isDefault: true };
};
/** The numbers are `budgetEstimate_times` and `leastBudget_usd`. */
const DEFAULT_BUDGET = 'default: ten times the estimate, at least $1';
/** For people: `budget $6.40 (default: ten times the estimate, at least $1)`. */
export const moneyBudgetText = (budget: MoneyBudget | null): string =>
  budget === null
    ? 'no money budget: the price is not known'
    : `budget $${budget.usd.toFixed(budget.usd < 1 ? 4 : 2)}${budget.isDefault ? ` (${DEFAULT_BUDGET})` : ''}`;

/**
 * Returns the first budget that `used` reaches, with a message. Null: none is reached. `by`: who used it. `default_usd`: the money budget if
 * none is set; it does not hold once a model without a price was used.
 */
export function reachedBudget(
  limits: Limits | null,
  used: ReturnType<typeof usedOf>,
  { by = '', default_usd = null }: { readonly by?: string; readonly default_usd?: number | null },
) {
  const isDefault = limitOf(limits, 'budget_usd') === null && Number.isFinite(used.budget_usd);
  const limitFor = (name: Budget): number | null =>
    name === 'budget_usd' && isDefault ? default_usd : limitOf(limits, name);
  const name = BUDGETS.find((budget) => used[budget] >= (limitFor(budget) ?? NaN));
  if (name === undefined) return null;
  const limit = limitFor(name) ?? '';
  const source = name === 'budget_usd' && isDefault ? ` (${DEFAULT_BUDGET})` : '';
  const message = Number.isFinite(used[name])
    ? `${budgetText(name, used[name])} used${by}; ${name} is ${limit}${source}`
    : `the price of a model that was used${by} is not known, so ${name} (${limit}) cannot be checked; retry continues without it`;
  return { name, message };
}
