import { BOUNDS } from './limits.js';

/** A blob in the blob store, named by the sha-256 of its bytes: `sha256:<64 hex digits>`. */
export type BlobRef = `sha256:${string}`;

export const isBlobRef = (value: unknown): value is BlobRef =>
  typeof value === 'string' && /^sha256:[0-9a-f]{64}$/.test(value);

/** Yields the references to blobs in a text, in their order and as often as they occur. */
export function* blobRefsIn(text: string): Generator<BlobRef> {
  for (const [ref] of text.matchAll(/sha256:[0-9a-f]{64}/g)) yield ref as BlobRef;
}

/** 32 hex digits (`runKey`); names a run through retries, resets and continue-as-new. */
export type StepKey = string;

export const isStepKey = (value: unknown): value is StepKey =>
  typeof value === 'string' && /^[0-9a-z-]{8,80}$/.test(value);

/** A plan's phase has its plan's key, its id and the number of its run: `<key>-p2-1`. */
const PHASE_KEY = /^([0-9a-f]{32})(-p\d+-[a-z]?\d+)$/;
/** The plan that a phase's run or mark belongs to; of any other key: itself. */
export const planOf = (stepKey: StepKey): StepKey => PHASE_KEY.exec(stepKey)?.[1] ?? stepKey;
export const phaseKey = (plan: StepKey, phase: string, run: number): StepKey =>
  `${plan}-${phase}-${run}`;

/** The key of the record that says which lines a call showed to the model. */
export const shownRecordOf = (stepKey: StepKey, callKey: string): string =>
  `steps/${stepKey}/shown-${callKey}`;

/** A run as people see and type it: the first 8 digits of its stepKey; of a phase's, `<first 8 of its plan's>-p2-1`. */
export const shownKey = (stepKey: StepKey, chars: number = BOUNDS.shownKey_chars): string => {
  const [, plan, phase = ''] = PHASE_KEY.exec(stepKey) ?? [];
  return `${(plan ?? stepKey).slice(0, chars)}${phase}`;
};
