/** What the next attempt is told: a refused answer, a rejected edit, or tests that failed. Kept as blobs; the call key names them. */
import type { BlobRef } from '../../shared/ids.js';
import { checkVersion } from '../../shared/problems.js';
import { putJson, type BlobStore } from '../../stores/ports.js';
import { getText } from './snapshot.js';
import type { Format } from '../../shared/formats.js';
import type { FallbackStep } from '../../shared/step-activities.js';

type Refusal =
  | { readonly kind: 'refused'; readonly reasons: string; readonly answer: string }
  | {
      readonly kind: 'tests';
      readonly output: string;
      readonly summary: string;
      /** What helps with failures of that kind. */
      readonly suggestions: readonly string[];
    };

export const putRefusal = (blobs: BlobStore, refusal: Refusal): Promise<BlobRef> => putJson(blobs, refusal);

const isRefusal = (value: unknown, ref: BlobRef): value is Refusal => {
  if (typeof value !== 'object' || value === null || !('kind' in value)) return false;
  checkVersion(value, `The refusal ${ref}`);
  return true;
};

/** In the words that the prompt shows. A blob that is no refusal of ours is the diff that a person rejected. */
export async function readRefusal(
  blobs: BlobStore,
  ref: BlobRef,
): Promise<{ readonly reasons: string; readonly answer: string }> {
  const text = await getText(blobs, ref);
  let value: unknown = null;
  try {
    value = JSON.parse(text);
  } catch {
    // A diff.
  }
  if (!isRefusal(value, ref))
    return { reasons: 'The reviewer rejected this edit; the note says what to change.', answer: text };
  if (value.kind === 'refused') return { reasons: value.reasons, answer: value.answer };
  const advice = value.suggestions.map((line) => `\n- ${line}`).join('');
  const look = advice === '' ? '' : ` What may help:${advice}\n`;
  const reasons = `The edit was applied and the tests failed (${value.summary}), so it was rolled back.${look} Their output:\n${value.output}`;
  return { reasons, answer: '(the edit fitted; its effect was wrong)' };
}

// What a truncated answer leads to, the cheaper remedy first: whole step -> split by file -> larger output budget -> a terser format -> a
// person. Between the last two the activity, which has the file, puts the split by regions (step/regions.ts).

export interface FallbackState {
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

export function nextFallback({
  format,
  isNew,
  outputBudget_tokens,
  maxOutputBudget_tokens,
  wholeStep,
  formats,
}: FallbackState): FallbackStep {
  if (wholeStep) return { kind: 'split' };
  if (outputBudget_tokens < maxOutputBudget_tokens)
    return { kind: 'budget', outputBudget_tokens: Math.min(2 * outputBudget_tokens, maxOutputBudget_tokens) };
  // Operations name lines by number; every other format repeats text of the file.
  const canBeTerser = format !== 'structured-edit' && !isNew && formats?.['structured-edit'] !== false;
  if (canBeTerser) return { kind: 'format', format: 'structured-edit', outputBudget_tokens };
  return { kind: 'exhausted' };
}
