/** What the next attempt is told: a refused answer, a rejected edit, or tests that failed. Kept as blobs; the call key names them. */
import { Buffer } from 'node:buffer';
import type { BlobRef } from '../../shared/ids.js';
import { checkVersion } from '../../shared/problems.js';
import { putJson, type BlobStore } from '../../stores/ports.js';
import { formatsOf } from '../../documents/job/index.js';
import { getText, type Snapshot, type SnapshotTarget } from './snapshot.js';
import type { TestOutput } from '../../shared/test-activities.js';
import { REPAIRED, type Bucket, type Format } from '../../shared/formats.js';
import { canonicalJson, sha256 } from '../../system/hash.js';
import type { Edited } from '../../edits/index.js';
import type { EditPromptInput } from '../../model/prompts/index.js';
import { arrangeTestOutput } from '../../workspace/test-output/index.js';
import type { FileDiff } from './prompt-inputs.js';
import type { FallbackStep, Repair } from '../../shared/step-activities.js';
import { jsonOf } from '../../system/json.js';

export const REFUSAL_CHARS = 800; // bound: Of what was wrong with an answer so much is kept in history; the prompt has all.

type Refusal =
  | {
      readonly kind: 'refused';
      readonly reasons: string;
      readonly answer: string;
      /** It fits, and what guards found may be meant; absent: nothing of it can be applied. */
      readonly fits?: true;
      /** Of the reasons, in any order; absent: not those of an answer that was read. */
      readonly codes?: readonly string[];
    }
  | {
      readonly kind: 'tests';
      readonly output: string;
      /** Absent: an audit's. */
      readonly failed?: TestOutput['failed'];
      readonly summary: string;
      /** What helps with failures of that kind. */
      readonly suggestions: readonly string[];
      /** The edit that was tested, or audited. */
      readonly diffs: readonly FileDiff[];
      /** A model found it wrong: `output` is what it says. */
      readonly isAudit?: true;
    };

export const putRefusal = (blobs: BlobStore, refusal: Refusal): Promise<BlobRef> =>
  putJson(blobs, refusal);

type RefusedAnswer = Omit<Extract<Refusal, { kind: 'refused' }>, 'kind'>;
/** A refused answer for the next attempt, and why in short for history; `short`: other words for that. */
export const refused = async (
  blobs: BlobStore,
  refusal: RefusedAnswer,
  short = refusal.reasons,
) => ({
  message: short.slice(0, REFUSAL_CHARS),
  refusal: await putRefusal(blobs, { kind: 'refused', ...refusal }),
});

/** What is no JSON is a diff. */
const isRefusal = (value: object | null, ref: BlobRef): value is Refusal => {
  if (value === null || !('kind' in value)) return false;
  checkVersion(value, `The refusal ${ref}`);
  return true;
};

/** Was the answer before refused for the same reasons? */
export async function isRepeated(
  blobs: BlobStore,
  ref: BlobRef | null,
  codes: readonly string[],
): Promise<boolean> {
  const value = ref === null ? null : jsonOf(await getText(blobs, ref));
  if (
    ref === null ||
    !isRefusal(value, ref) ||
    value.kind !== 'refused' ||
    value.codes === undefined
  )
    return false;
  const [before, now] = [new Set(value.codes), new Set(codes)];
  return before.size === now.size && [...now].every((code) => before.has(code));
}

export interface RefusalView {
  /** Files whose diffs are shown of an edit that was tested; absent: all. */
  readonly paths?: readonly string[];
  /** Maximum size of what is shown of the tests. */
  readonly reasons_bytes: number;
}

/**
 * Returns a refusal in the words that the prompt shows. After failed tests the names of these come first, then what belongs to them.
 * A blob that is no refusal is the diff that the reviewer rejected.
 */
export async function readRefusal(
  blobs: BlobStore,
  ref: BlobRef,
  { paths, reasons_bytes }: RefusalView,
): Promise<NonNullable<EditPromptInput['refusal']>> {
  const text = await getText(blobs, ref);
  const value = jsonOf(text);
  if (!isRefusal(value, ref)) {
    const reasons = 'The reviewer rejected this edit; the note says what to change.';
    return { kind: 'refused', reasons, answer: text };
  }
  if (value.kind === 'refused') {
    const { reasons, answer, fits } = value;
    return { kind: fits === true ? 'doubted' : 'refused', reasons, answer };
  }
  const advice = value.suggestions.map((line) => `\n- ${line}`).join('');
  const look = advice === '' ? '' : `What may help:${advice}\n`;
  const diffs = value.diffs.filter(({ path }) => paths?.includes(path) ?? true);
  const answer = diffs.map(({ diff }) => diff).join('');
  if (value.isAudit === true) return { kind: 'audit_failed', reasons: value.output, answer };
  const end = `\n\n${value.summary}\n${look}`.trimEnd();
  const { text: output } = arrangeTestOutput(value.output, reasons_bytes - Buffer.byteLength(end));
  return { kind: 'tests_failed', reasons: output + end, answer };
}

/** What the model is asked to look at once more; null: nothing. */
export async function repairOf(
  blobs: BlobStore,
  { config }: Pick<Snapshot, 'config'>,
  { files, findings }: Edited,
  answer: string,
): Promise<Repair | null> {
  const told = findings.filter(
    ({ guard, severity }) => severity === 'ask' && REPAIRED.includes(guard),
  );
  if (!config.repair || told.length === 0) return null;
  const found = told.map(({ guard, message }) => `${guard}: ${message}`).join('\n');
  const bytes = [...files].map(([path, file]) => [
    path,
    file === 'absent' ? file : sha256(file.bytes),
  ]);
  return {
    ...(await refused(blobs, { reasons: found, answer, fits: true })),
    result: sha256(canonicalJson(bytes)),
  };
}

// What a truncated answer leads to, the cheaper remedy first: whole step -> split by file -> larger output budget -> a terser format -> a
// person. Between the last two the activity, which has the file, puts the split by regions (step/regions.ts). Blocks for a large file become
// operations before the budget rises.

export interface FallbackState {
  readonly format: Format;
  /** The file does not exist yet, or is no text: there is nothing that a terser format could refer to. */
  readonly isNew: boolean;
  /** Size class of the file; of a call for several files, that of the first. */
  readonly bucket: Bucket;
  readonly outputBudget_tokens: number;
  /** The smaller of the limit and what the model can write. */
  readonly maxOutputBudget_tokens: number;
  /** The response was cut off: at its budget, or its stream ended early. False: the model ended it, so more room would not help. */
  readonly isCut: boolean;
  /** The call was for the whole step, over more than one file. */
  readonly wholeStep: boolean;
  /** Formats that `emend.yaml` leaves on; absent: all. */
  readonly formats?: Readonly<Record<Format, boolean>>;
}

export function nextFallback(state: FallbackState): FallbackStep {
  const { format, isNew, bucket, isCut, wholeStep, formats } = state;
  const { outputBudget_tokens, maxOutputBudget_tokens } = state;
  if (wholeStep) return { kind: 'split' };
  // Operations name lines by number; every other format repeats text of the file.
  const canBeTerser =
    format !== 'structured-edit' && !isNew && formats?.['structured-edit'] !== false;
  // Blocks that the first budget does not hold repeat much of a large file: the change is not small.
  const isLargeChange = isCut && bucket === 'C' && format === 'search-replace';
  if (isLargeChange && canBeTerser)
    return { kind: 'format', format: 'structured-edit', outputBudget_tokens };
  if (isCut && outputBudget_tokens < maxOutputBudget_tokens)
    return {
      kind: 'budget',
      outputBudget_tokens: Math.min(2 * outputBudget_tokens, maxOutputBudget_tokens),
    };
  if (canBeTerser) return { kind: 'format', format: 'structured-edit', outputBudget_tokens };
  return { kind: 'exhausted' };
}

/**
 * The format of the next attempts once those in `format` are spent: the file's own, then operations that name lines, then the file
 * whole, where it is short; each once. Null: there is none.
 */
export function nextFormat(
  {
    snapshot,
    model,
  }: { readonly snapshot: Pick<Snapshot, 'config' | 'limits'>; readonly model: string },
  {
    format: own,
    base,
    lines,
    bytes,
    isBinary,
  }: Pick<SnapshotTarget, 'format' | 'base' | 'lines' | 'bytes' | 'isBinary'>,
  format: Format,
): Format | null {
  if (isBinary === true) return null;
  const { config, limits } = snapshot;
  const isShort =
    lines <= (limits.maxLinesFullFile ?? Infinity) &&
    bytes <= (limits.maxBytesFullFile ?? Infinity);
  const others = [
    ...(base === null ? [] : ['structured-edit' as const]),
    ...(isShort ? ['whole-file' as const] : []),
  ];
  const allowed = formatsOf(config, model);
  const chain = [own, ...others.filter((other) => other !== own && allowed[other])];
  return chain.slice(chain.indexOf(format) + 1)[0] ?? null;
}
