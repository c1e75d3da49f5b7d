/** Groups the phases of a plan by wave, and computes how much of the plan's limits is used. Pure. */
import type { PlanProgress } from '../../../shared/plan.js';
import type { StepStatus } from '../../../shared/run.js';
import { count } from '../../../shared/text.js';

export type Phase = PlanProgress['phases'][number];
export interface Wave {
  /** Number of the wave, from 1. Null: no wave names these phases, because they are complete and no longer in the document. */
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

/** Returns lines that explain a score, for example `by its text: 2.6 = "auth" 2 + tasks 0.4 + files 0.2`. */
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
    `by its text: ${scored.score.toFixed(1)}${addends.length === 0 ? '' : ` = ${addends.map(([addend, points]) => `${addend} ${points}`).join(' + ')}`}`,
    ...(scored.method === 'threshold' ? [] : [`counts: ${scored.method}`]),
    ...(scored.reasoning === null ? [] : [scored.reasoning]),
    ...scored.above.map((words) => `above: ${words}`),
  ];
};

export interface Used {
  readonly name: string;
  readonly used: string;
  /** Text of the limit. Null: the plan has no such limit. */
  readonly limit: string | null;
  /** Part of the limit that is used, 0 to 1. Null: there is no limit, or the use is unknown, for example without a known price. */
  readonly part: number | null;
}

/** Returns the use of each limit. `latest_ms` is the time of the plan's latest event, in milliseconds since the epoch. */
export const usedOf = (status: StepStatus, latest_ms: number): readonly Used[] => {
  const { plan, decision } = status;
  const budget = plan?.budget;
  if (budget === undefined) return [];
  // The time during which the plan waits for a decision does not count, so an open decision stops the clock.
  const until = decision?.openedAt ?? latest_ms;
  const seconds = Math.max(
    0,
    Math.round((budget.usedBefore_ms + until - budget.startedAt - budget.pausedFor_ms) / 1_000),
  );
  const limitUse = (
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
    limitUse('Tokens', budget.used_tokens, budget.budget_tokens, (n) => count(n, 'token')),
    limitUse('Money', budget.used_usd, budget.budget_usd, (n) => `$${n.toFixed(4)}`),
    limitUse('Model calls', budget.used_calls, budget.budget_calls, (n) => count(n, 'call')),
    limitUse('Time without pauses', seconds, budget.wallClock_s, durationText),
  ];
};

const durationText = (seconds: number): string =>
  [
    [Math.floor(seconds / 3_600), 'h'] as const,
    [Math.floor(seconds / 60) % 60, 'min'] as const,
    [seconds % 60, 's'] as const,
  ]
    .filter(([n], index, all) => n > 0 || (index === 2 && all.every(([amount]) => amount === 0)))
    .map(([n, unit]) => `${n} ${unit}`)
    .join(' ');
