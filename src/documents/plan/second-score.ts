/** Compares the second score of a phase, which comes from a model, with the threshold score. One of the two or their mean counts. Pure. */
import { z } from 'zod';
import { oneDecimal } from './score.js';
import type { ComplexityRecord } from '../../shared/plan.js';

const SCORE_REASONING_CHARS = 1_000; // bound: Characters of the reasoning of a second score.

/** The model scores a phase that reaches one of these values. */
const SECOND_SCORE_FROM = { score: 7, tasks: 8 } as const;

/** Maximum difference of two scores that agree. Then the model's score counts, because it is finer. */
const AGREEMENT = 2;

const HIGHEST = 100;

export const wantsSecondScore = (score: number, tasks: number): boolean =>
  score >= SECOND_SCORE_FROM.score || tasks >= SECOND_SCORE_FROM.tasks;

const points = z.number({ error: 'a number from 0 to 100' }).min(0).max(HIGHEST);

/** The model's response. It rates each of five questions, but only `score` counts. */
export const secondScoreSchema = z.object({
  score: points,
  interdependence: points.optional(),
  breadth: points.optional(),
  risk: points.optional(),
  parallel_work: points.optional(),
  clarity: points.optional(),
  reasoning: z
    .string({ error: 'a text' })
    .transform((text) => text.slice(0, SCORE_REASONING_CHARS)),
  recommendation: z.enum(['expand', 'keep'], { error: 'expand or keep' }),
});

type SecondScore = z.infer<typeof secondScoreSchema>;

interface FinalScore extends ComplexityRecord {
  /** Both scores if they differ by more than 2.0, for a message to the reader. Null if they agree. */
  readonly discrepancy: { readonly threshold: number; readonly agent: number } | null;
}

/** Returns the score that counts. `second` is null if the model sent no usable response in time; then the first score counts. */
export function reconcile(
  first: number,
  second: Pick<SecondScore, 'score' | 'reasoning'> | null,
): FinalScore {
  if (second === null)
    return { score: first, method: 'threshold', reasoning: null, discrepancy: null };
  const { score, reasoning } = second;
  // Rounding removes the error of binary fractions: 8.3 and 6.3 differ by 2.0, and thus agree.
  const difference = oneDecimal(Math.abs(first - score));
  if (difference <= AGREEMENT)
    return { score: oneDecimal(score), method: 'agent', reasoning, discrepancy: null };
  const discrepancy = { threshold: first, agent: oneDecimal(score) };
  return { score: oneDecimal((first + score) / 2), method: 'reconciled', reasoning, discrepancy };
}
