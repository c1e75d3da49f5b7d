/** A call that a plan makes for itself: asked for through the journal, asked once more where the answer cannot be used. */
import type { ZodType } from 'zod';
import type { ProjectConfig } from '../../job/types.js';
import { readJsonAnswer } from '../../model/prompt/json-answer.js';
import type { BuiltRequest } from '../../model/prompt/blocks.js';
import { readRefusal } from '../refusals.js';
import type { FailureShown } from '../../model/prompt/plan.js';
import { route } from '../../model/route.js';
import type { Role } from '../../model/types.js';
import type { AdviceFailure } from '../../shared/plan/advice.js';
import type { Limits } from '../../shared/limits.js';
import type { ModelDown } from '../../shared/outage.js';
import type { BlobRef, StepKey } from '../../shared/refs.js';
import { addUsage, NO_USAGE, type StepUsage } from '../../shared/usage.js';
import type { ActivityScope } from '../boundary.js';
import type { ActivityDependencies } from '../dependencies.js';
import { callModel, downOf } from '../model-call.js';
import { getJson, putText } from '../snapshot.js';
import { MODEL_BOUNDS } from '../../shared/bounds.js';

/** What the first reading resolved, for calls of the plan itself. */
export interface PlanSettings {
  readonly v: 1;
  readonly config: ProjectConfig;
  readonly limits: Limits;
}

export interface Advice<T> {
  readonly stepKey: StepKey;
  readonly settings: BlobRef;
  readonly role: Extract<Role, 'score' | 'debug' | 'replan'>;
  /** Id of the phase: part of the slot key. */
  readonly phase: string;
  readonly draw: number;
  /** What the question is about; together with `notes` it names the slot. */
  readonly about: string;
  readonly notes: string;
  readonly complexity: 'low' | 'medium' | 'high';
  build(
    model: string,
    outputBudget_tokens: number,
    refusal: { readonly why: string; readonly answer: string } | null,
  ): BuiltRequest;
  check(value: unknown): { readonly ok: true; readonly value: T } | { readonly ok: false; readonly why: string };
}
export type Advised<T> =
  | { readonly ok: true; readonly value: T; readonly usage: StepUsage }
  | { readonly ok: false; readonly message: string; readonly usage: StepUsage; readonly down?: ModelDown };

/** An answer against its schema; `what` stands for an issue without words. */
export const checkedBy =
  <T>(schema: ZodType<T>, what: string): Advice<T>['check'] =>
  (value) => {
    const checked = schema.safeParse(value);
    if (checked.success) return { ok: true, value: checked.data };
    const [issue] = checked.error.issues;
    return { ok: false, why: `${issue?.path.join('.') ?? ''}: expected ${issue?.message ?? what}` };
  };

export async function advise<T>(
  dependencies: ActivityDependencies,
  wanted: Advice<T>,
  scope: Pick<ActivityScope, 'signal'>,
): Promise<Advised<T>> {
  const { blobs } = dependencies;
  const { config, limits } = await getJson<PlanSettings>(blobs, wanted.settings, 'settings of the plan');
  const routed = route({ ...config, limits }, { category: null, complexity: wanted.complexity, jobModel: null });
  const outputBudget_tokens = Math.min(routed.outputBudget_tokens, MODEL_BOUNDS.adviceOutput_tokens);
  const context = { stepKey: wanted.stepKey, instructions: await putText(blobs, wanted.about), config, limits };
  const notes = await putText(blobs, wanted.notes);
  let usage = NO_USAGE;
  let refusal: { readonly why: string; readonly answer: string } | null = null;
  for (let asked = 0; asked < MODEL_BOUNDS.adviceCalls; asked += 1) {
    const last: typeof refusal = refusal;
    const call = await callModel(
      dependencies,
      context,
      {
        ...{
          role: wanted.role,
          file: wanted.phase,
          draw: wanted.draw * MODEL_BOUNDS.adviceCalls + asked,
          bases: [],
          format: 'json',
        },
        ...{ model: routed.model, outputBudget_tokens, notes },
        refusal: last === null ? null : await putText(blobs, JSON.stringify(last)),
        build: () => Promise.resolve(wanted.build(routed.model, outputBudget_tokens, last)),
      },
      scope,
    );
    usage = addUsage(usage, call.usage);
    if (call.outcome !== 'answered') return { ok: false, message: call.message, usage, ...downOf(call) };
    const { answer, nonce } = call;
    const requireMarker = config.requireCompleteSentinel;
    const reading = readJsonAnswer({ text: answer.text, stopReason: answer.stopReason, nonce, requireMarker });
    if (reading.outcome === 'declined') return { ok: false, message: reading.message, usage };
    const checked =
      reading.outcome === 'complete' ? wanted.check(reading.value) : { ok: false as const, why: reading.message };
    if (checked.ok) return { ok: true, value: checked.value, usage };
    refusal = { why: checked.why, answer: answer.text.replaceAll(nonce, '') };
  }
  return { ok: false, message: `no usable answer in ${MODEL_BOUNDS.adviceCalls} calls: ${refusal?.why ?? ''}`, usage };
}

/** Failed verifications with their outputs, as prompts show them. */
export async function failuresShown(
  { blobs }: ActivityDependencies,
  failures: readonly AdviceFailure[],
): Promise<readonly FailureShown[]> {
  const shown: FailureShown[] = [];
  for (const { run, kind, summary, output } of failures)
    shown.push({
      ...{ run, summary, kind: kind ?? 'unknown' },
      output: output === null ? '' : (await readRefusal(blobs, output)).reasons,
    });
  return shown;
}
