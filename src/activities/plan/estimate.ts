/** What a phase is expected to take if nothing fails: its edit calls, and what comes before them. */
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import * as jobs from '../../documents/job/index.js';
import type { PhaseEstimate, PhaseReading } from '../../shared/plan.js';
import { MODEL_BOUNDS } from '../../shared/bounds.js';
import type { Limits } from '../../shared/limits.js';
import { sumEstimates } from '../../shared/usage.js';
import * as edits from '../step/estimate.js';
import { readGiven } from '../../system/given-file.js';

// bound: So many attempts in a row fail at most before a phase is replanned (src/shared/triggers.ts).
export const PHASE_ATTEMPTS = 3;

// What the score of a phase asks for: a model, by the routes of `emend.yaml`, and words in the prompt (docs/decisions/0004). Pure.

/** For `routes`; the steps at which the words begin. */
export const levelOf = (score: number): jobs.Complexity =>
  score <= 5 ? 'low' : score <= 7 ? 'medium' : 'high';

/** How hard to think: for models that take it as a parameter, and in words; null: as they do by themselves. */
export const effortOf = (score: number): jobs.Effort | null =>
  score <= 5 ? null : score <= 7 ? 'high' : score <= 9 ? 'xhigh' : 'max';
export const EFFORT_TEXTS: Readonly<Record<jobs.Effort, string>> = {
  high: 'Think before you answer.',
  xhigh: 'Think hard before you answer.',
  max: 'Think harder than usual before you answer: this phase is complex.',
};

export interface PhaseToEstimate extends Pick<
  PhaseReading,
  'name' | 'text' | 'category' | 'second'
> {
  readonly files: { readonly there: readonly string[]; readonly fresh: readonly string[] };
  readonly score: number;
}

export async function estimatePhase(
  workspace: string,
  config: jobs.ProjectConfig,
  limits: Limits,
  phase: PhaseToEstimate,
): Promise<PhaseEstimate> {
  const { named, model, files, split } = await editsOf(workspace, config, limits, phase);
  const wanted = { pick: !named, brief: split && files.length > 1, score: phase.second };
  const before = (['pick', 'brief', 'score'] as const).filter((call) => wanted[call]);
  const told = {
    split,
    before,
    text_bytes: Buffer.byteLength(phase.text),
    effort: effortOf(phase.score),
    limits,
  };
  const { calls, input_tokens, output_tokens, usd } = edits.estimateEdits(
    config,
    model,
    files,
    told,
  );
  edits.refuseEarly(
    phase.name,
    { usd, told_bytes: told.text_bytes },
    limits,
    jobs.modelEntry(config, model),
  );
  return { calls, input_tokens, output_tokens, usd };
}

/**
 * Where its tests fail each time: as many attempts, debugging reports and replans as the tiers allow (src/shared/triggers.ts) until the
 * limit of its replans asks a person. Phases that a replan adds are not known yet, and not counted.
 */
export function mostOfPhase(
  { config, limits }: { readonly config: jobs.ProjectConfig; readonly limits: Limits },
  { text }: Pick<PhaseToEstimate, 'text'>,
  first: PhaseEstimate,
  replanLimit: number,
): PhaseEstimate {
  const failure_tokens = edits.tokensOfBytes(2 * MODEL_BOUNDS.phaseFailure_bytes);
  const { model } = jobs.route(
    { ...config, limits },
    { category: null, complexity: 'high', jobModel: null },
  );
  const advice = {
    input_tokens:
      edits.SMALL_CALL.input_tokens +
      edits.tokensOfBytes(Buffer.byteLength(text)) +
      PHASE_ATTEMPTS * failure_tokens,
    output_tokens: Math.min(
      limits.outputBudget_tokens ?? Infinity,
      MODEL_BOUNDS.adviceOutput_tokens,
    ),
  };
  const asked = { calls: 1, ...advice, usd: edits.priceOf(config, model, advice) };
  const told = { input_tokens: failure_tokens, output_tokens: 0 };
  const again = sumEstimates([
    first,
    { calls: 0, ...told, usd: edits.priceOf(config, model, told) },
  ]);
  const rounds = replanLimit + 1;
  return sumEstimates([
    first,
    ...Array.from({ length: PHASE_ATTEMPTS * rounds - 1 }, () => again),
    // A report in each round, a replan between rounds.
    ...Array.from({ length: (rounds + replanLimit) * MODEL_BOUNDS.adviceCalls }, () => asked),
  ]);
}

/** The files that a phase edits by the project's rules: their sizes and formats, and the model that is asked. */
export async function editsOf(
  workspace: string,
  config: jobs.ProjectConfig,
  limits: Limits,
  { files: wanted, category: named, score }: Pick<PhaseToEstimate, 'files' | 'category' | 'score'>,
) {
  const there = await Promise.all(
    wanted.there.map((path) => sizeOf(join(workspace, path), limits)),
  );
  const fresh = wanted.fresh.map(() => ({ bytes: 0, lines: 0, isNew: true }));
  const known = [...there, ...fresh];
  const sizes = known.length > 0 ? known : [{ bytes: edits.UNNAMED_bytes, lines: 0, isNew: false }];
  const level = jobs.complexity(sizes);
  const category = named === 'code' ? null : named;
  const { model } = jobs.route(
    { ...config, limits },
    { category, complexity: jobs.harderOf(level, levelOf(score)), jobModel: null },
  );
  const on = jobs.formatsOf(config, model);
  const files = sizes.map((size) => ({
    ...size,
    ...jobs.chooseFormat({
      ...size,
      job: NO_POLICY,
      config: { formats: on },
      limits: jobs.fitLimits(limits, jobs.modelEntry(config, model)),
    }),
  }));
  const formats = files.map(({ format }) => format);
  const split = jobs.splitDecision({ mode: null, complexity: level, formats, limits }).shouldSplit;
  return { named: known.length > 0, model, files, on, split };
}
const NO_POLICY = { mode: null, format: null, outputFiles: [], outputDir: null } as const;

/** Lines count only for files that may be answered whole or as a diff; what is larger is not read. */
async function sizeOf(path: string, limits: Limits) {
  const { size } = await stat(path);
  const large = size > (limits.maxBytesDiff ?? Infinity);
  const lines = large ? 0 : (await readGiven(path)).toString('latin1').split('\n').length - 1;
  return { bytes: size, lines, isNew: false };
}
