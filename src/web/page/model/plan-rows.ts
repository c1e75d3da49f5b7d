/** A plan's phases by wave, and how much of its limits is used. Pure. */
import type { PlanProgress } from '../../../shared/plan.js';
import type { StepStatus } from '../../../shared/run.js';
import { count } from '../../../shared/text.js';

export type Phase = PlanProgress['phases'][number];
export interface Wave {
  /** Null: phases that the waves do not name (done with, and gone from the document). */
  readonly number: number | null;
  readonly phases: readonly Phase[];
}

export const wavesOf = ({ phases, waves }: PlanProgress): readonly Wave[] => {
  const named = new Set(waves.flat());
  const others = phases.filter(({ number }) => !named.has(number));
  return [
    ...(others.length === 0 ? [] : [{ number: null, phases: others }]),
    ...waves.map((numbers, index) => ({
      number: index + 1,
      phases: phases.filter(({ number }) => numbers.includes(number)),
    })),
  ].filter((wave) => wave.phases.length > 0);
};

/** What a score is made of, in words: `by its text: 2.6 = "auth" 2 + tasks 0.4 + files 0.2`. */
export const scoreText = ({ scored }: Phase): readonly string[] => {
  const addends = [
    ...Object.entries(scored.keywords).map(([word, points]): [string, number] => [
      `"${word}"`,
      points,
    ]),
    ['tasks', scored.tasks] as const,
    ['files', scored.files] as const,
    ['tests', scored.tests] as const,
  ].filter(([, points]) => points !== 0);
  return [
    `by its text: ${scored.score.toFixed(1)}${addends.length === 0 ? '' : ` = ${addends.map(([what, points]) => `${what} ${points}`).join(' + ')}`}`,
    ...(scored.method === 'threshold' ? [] : [`counts: ${scored.method}`]),
    ...(scored.reasoning === null ? [] : [scored.reasoning]),
    ...scored.above.map((words) => `above: ${words}`),
  ];
};

export interface Used {
  readonly name: string;
  readonly used: string;
  /** Null: there is no such limit. */
  readonly limit: string | null;
  /** Part of the limit that is used, 0 to 1; null: no limit, or nobody knows (a price that is unknown). */
  readonly part: number | null;
}

/** `now`: ms since the epoch, of the last thing that the plan told. */
export const usedOf = (status: StepStatus, now: number): readonly Used[] => {
  const { plan, decision } = status;
  const budget = plan?.budget;
  if (budget === undefined) return [];
  // Time that waits for a person does not count, also not while it passes.
  const until = decision?.openedAt ?? now;
  const seconds = Math.max(
    0,
    Math.round((budget.usedBefore_ms + until - budget.startedAt - budget.pausedFor_ms) / 1_000),
  );
  const of = (
    name: string,
    used: number | null,
    limit: number | null,
    words: (n: number) => string,
  ): Used => ({
    name,
    used: used === null ? 'not known' : words(used),
    limit: limit === null ? null : words(limit),
    part:
      limit === null || used === null ? null : Math.min(1, used / Math.max(limit, Number.EPSILON)),
  });
  return [
    of('Tokens', budget.used_tokens, budget.budget_tokens, (n) => count(n, 'token')),
    of('Money', budget.used_usd, budget.budget_usd, (n) => `$${n.toFixed(4)}`),
    of('Model calls', budget.used_calls, budget.budget_calls, (n) => count(n, 'call')),
    of('Time without pauses', seconds, budget.wallClock_s, durationText),
  ];
};

const durationText = (seconds: number): string =>
  [
    [Math.floor(seconds / 3_600), 'h'] as const,
    [Math.floor(seconds / 60) % 60, 'min'] as const,
    [seconds % 60, 's'] as const,
  ]
    .filter(([n], index, all) => n > 0 || (index === 2 && all.every(([each]) => each === 0)))
    .map(([n, unit]) => `${n} ${unit}`)
    .join(' ');
