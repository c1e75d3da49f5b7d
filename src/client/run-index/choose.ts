/** Chooses rows of the index by state, repository, plan and words, and page by page. */
import { planOf, type StepKey } from '../../shared/ids.js';
import type { RunFilter } from '../../shared/run.js';
import { fail } from '../../shared/problems.js';
import { searchable } from './row.js';
import type { RunIndex } from './index.js';

const PLAN_PREFIX_CHARS = 4; // bound: Least digits that name the run of a plan in a filter.

/** A place between two runs of a list: those after it are older. */
export interface Cursor {
  readonly last_ms: number;
  /** Null: all runs of that time are after it. */
  readonly stepKey: StepKey | null;
}

/** `<ISO time>/<key of the last run of a page>` */
export const cursorText = ({ last_ms, stepKey }: Cursor): string =>
  `${new Date(last_ms).toISOString()}${stepKey === null ? '' : `/${stepKey}`}`;

/** Throws ProblemError `usage`. */
export const cursorOf = (text: string): Cursor => {
  const [, time = '', stepKey = null] =
    /^(\d{4}-\d{2}-\d{2}(?:T[\d:.]+Z?)?)(?:\/([0-9a-z-]+))?$/.exec(text.trim()) ?? [];
  const last_ms = Date.parse(time);
  return Number.isNaN(last_ms)
    ? fail(
        'usage',
        `${JSON.stringify(text.slice(0, 80))} is no day or time, nor the place of a page that a list named.`,
        'Example: emend list --before 2026-11-30, or --before 2026-11-30T10:15:00Z',
      )
    : { last_ms, stepKey };
};

/** Returns the words of a search, each of which must occur. */
export const wordsOf = (text: string): readonly string[] =>
  searchable(text)
    .split(' ')
    .filter((word) => word !== '');

/** Returns what tells the runs that fit. State is asked of ended runs alone: of others the server knows it. */
export const fitsFilter = (
  index: RunIndex,
  { state = '', workspace = '', plan = '', text = '' }: RunFilter,
): ((stepKey: StepKey) => boolean) => {
  const plans = plan === '' ? null : plansNamed(index, plan);
  const isChosen = index.test({ state, workspace, words: wordsOf(text) });
  return (stepKey) => (plans === null || plans.has(planOf(stepKey))) && isChosen(stepKey);
};

/** Returns the runs that fit, newest first. */
export const chooseRuns = (
  index: RunIndex,
  filter: RunFilter,
  before: Cursor | null = null,
): readonly StepKey[] => {
  const keys = index.keys();
  const later = before === null ? keys : keys.filter((stepKey) => isAfter(index, stepKey, before));
  return Object.values(filter).join('') === '' ? later : later.filter(fitsFilter(index, filter));
};

const isAfter = (
  index: RunIndex,
  stepKey: StepKey,
  { last_ms, stepKey: last }: Cursor,
): boolean => {
  const own_ms = index.last_ms(stepKey);
  return own_ms < last_ms || (own_ms === last_ms && last !== null && stepKey < last);
};

/** Returns the keys of the runs of a plan: by its document, with or without `.md`, or by the first digits of a run's key. */
const plansNamed = (index: RunIndex, typed: string): ReadonlySet<StepKey> => {
  const path = withoutEnding(typed.trim());
  const isKey = new RegExp(`^[0-9a-f]{${PLAN_PREFIX_CHARS},32}$`).test(path);
  return new Set(
    index.keys().filter((stepKey) => {
      const plan = index.plan(stepKey);
      return plan !== '' && (withoutEnding(plan) === path || (isKey && stepKey.startsWith(path)));
    }),
  );
};

const withoutEnding = (path: string): string => path.replace(/\.md$/, '').replace(/^\.\//, '');

/** Repositories and plans of the newest runs, each once. */
export const placesOf = (index: RunIndex, most: number) => {
  const workspaces = new Set<string>();
  const plans = new Set<string>();
  for (const stepKey of index.keys()) {
    const [workspace, plan] = [index.workspace(stepKey), index.plan(stepKey)];
    if (workspace !== '' && workspaces.size < most) workspaces.add(workspace);
    if (plan !== '' && plans.size < most) plans.add(plan);
  }
  return { repositories: [...workspaces].sort(), plans: [...plans].sort() };
};
