/** A model's second score of a phase beside the threshold score, and which of the two counts. Pure. */
import { z } from 'zod';
import { MODEL_BOUNDS } from '../shared/bounds.js';

/** Asked for from this score or this many tasks on. */
const ASKED_FROM = { score: 7, tasks: 8 } as const;
/** Scores nearer to each other than this are one judgement, and the model's is the finer. */
const AGREEMENT = 2;
const HIGHEST = 100;

export const wantsSecondScore = (score: number, tasks: number): boolean =>
  score >= ASKED_FROM.score || tasks >= ASKED_FROM.tasks;

const points = z.number({ error: 'a number from 0 to 100' }).min(0).max(HIGHEST);
/** The five questions each get a mark; only `score` counts. */
export const secondScoreSchema = z.object({
  score: points,
  interdependence: points.optional(),
  breadth: points.optional(),
  risk: points.optional(),
  parallel_work: points.optional(),
  clarity: points.optional(),
  reasoning: z.string({ error: 'a text' }).transform((text) => text.slice(0, MODEL_BOUNDS.scoreWhy_chars)),
  recommendation: z.enum(['expand', 'keep'], { error: 'expand or keep' }),
});
export type SecondScore = z.infer<typeof secondScoreSchema>;

export interface FinalScore {
  /** One decimal. */
  readonly score: number;
  readonly method: 'threshold' | 'agent' | 'reconciled';
  readonly reasoning: string | null;
  /** The two scores where they lie more than 2.0 apart: to be told. */
  readonly discrepancy: { readonly threshold: number; readonly agent: number } | null;
}

/** `second` null: no answer in time, or one that cannot be used; the first score stands. */
export function reconcile(first: number, second: Pick<SecondScore, 'score' | 'reasoning'> | null): FinalScore {
  if (second === null) return { score: first, method: 'threshold', reasoning: null, discrepancy: null };
  const { score, reasoning } = second;
  // Both have one decimal: 8.3 and 6.3 are 2.0 apart, whatever binary fractions make of it.
  const apart = Math.round(Math.abs(first - score) * 10) / 10;
  if (apart <= AGREEMENT) return { score: oneDecimal(score), method: 'agent', reasoning, discrepancy: null };
  const discrepancy = { threshold: first, agent: oneDecimal(score) };
  return { score: oneDecimal((first + score) / 2), method: 'reconciled', reasoning, discrepancy };
}

const oneDecimal = (score: number): number => Math.round(score * 10) / 10;
