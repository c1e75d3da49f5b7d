/**
 * What a truncated answer leads to, the cheaper remedy first: whole step -> split by file -> larger output budget -> a terser format -> a
 * person. Between the last two the activity, which has the file, puts the split by regions (step/regions.ts).
 */
import type { Format } from '../../shared/formats.js';
import type { LadderStep } from '../../shared/step-activities.js';

export interface Rungs {
  readonly format: Format;
  /** The file does not exist yet: there is nothing that a terser format could refer to. */
  readonly isNew: boolean;
  readonly outputBudget_tokens: number;
  /** The smaller of the limit and what the model can write. */
  readonly maxOutputBudget_tokens: number;
  /** The call was for the whole step, over more than one file. */
  readonly wholeStep: boolean;
  /** Formats that `emend.yaml` leaves on; absent: all. */
  readonly formats?: Readonly<Record<Format, boolean>>;
}

export function nextRung({
  format,
  isNew,
  outputBudget_tokens,
  maxOutputBudget_tokens,
  wholeStep,
  formats,
}: Rungs): LadderStep {
  if (wholeStep) return { kind: 'split' };
  if (outputBudget_tokens < maxOutputBudget_tokens)
    return { kind: 'budget', outputBudget_tokens: Math.min(2 * outputBudget_tokens, maxOutputBudget_tokens) };
  // Operations name lines by number; every other format repeats text of the file.
  const canBeTerser = format !== 'structured-edit' && !isNew && formats?.['structured-edit'] !== false;
  if (canBeTerser) return { kind: 'format', format: 'structured-edit', outputBudget_tokens };
  return { kind: 'exhausted' };
}
