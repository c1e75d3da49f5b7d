/** A call that a plan makes for itself: asked for through the journal, asked once more where the answer cannot be used. */
import { getJson } from '../../stores/ports.js';
import { z } from 'zod';
import { type ProjectConfig, route } from '../../documents/job/index.js';
import {
  type FailureShown,
  type PhaseShown,
  buildDebugRequest,
  buildScoreRequest,
  type BuiltRequest,
} from '../../model/prompts/index.js';
import { readRefusal } from '../step/refusals.js';
import type { Role } from '../../model/ports.js';
import type { PhaseFailure } from '../../shared/plan.js';
import type { PlanCallInput, ScorePhaseResult } from '../../shared/replan-activities.js';
import type { BlobRef } from '../../shared/ids.js';
import type { Limits } from '../../shared/limits.js';
import { NO_USAGE, type StepUsage } from '../../shared/usage.js';
import type { Activity, ActivityScope } from '../frame/activity.js';
import type { ActivityPorts } from '../frame/ports.js';
import {
  askForJson,
  checkedBy,
  type JsonAnswer,
  type JsonWanted,
  type RefusedJson,
} from '../frame/model-call.js';
import { maskWords } from '../frame/secrets.js';
import { putText } from '../step/snapshot.js';
import { MODEL_BOUNDS } from '../../shared/bounds.js';
import type { PhaseTexts } from '../../shared/plan-activities.js';
import { ModelError } from '../../model/errors.js';
import { type PlanFront, reconcile, secondScoreSchema } from '../../documents/plan/index.js';

const DEBUG_CHARS = 4_000; // bound: Each text of a debugging report,
const DEBUG_ITEMS = 20; // bound: and its items.

/** What the first reading resolved, for calls of the plan itself. */
export interface PlanSettings {
  readonly config: ProjectConfig;
  /** Is in `config`, too. */
  readonly front: PlanFront;
  readonly limits: Limits;
  /** Commit that the configuration comes from; absent: the workspace. */
  readonly configurationCommit?: string;
}

export interface PlanCall<T> {
  readonly role: Extract<Role, 'score' | 'debug' | 'replan'>;
  /** What the question is about, with its text; together with `notes` it names the recorded call. */
  readonly phase: PhaseAsked;
  readonly notes: string;
  readonly complexity: 'low' | 'medium' | 'high';
  build(model: string, outputBudget_tokens: number, refusal: RefusedJson | null): BuiltRequest;
  readonly check: JsonWanted<T>['check'];
}
export type PhaseAsked = PlanCallInput['phase'] & PhaseShown;
export async function phaseAsked({ blobs }: ActivityPorts, { texts, phase }: PlanCallInput) {
  const { phases } = await getJson<PhaseTexts>(blobs, texts, 'phase texts');
  const asked = phases[phase.id];
  return { asked, phase: { ...phase, text: asked?.text ?? '' } satisfies PhaseAsked };
}

export async function askForPlan<T>(
  ports: ActivityPorts,
  { stepKey, settings, regeneration }: PlanCallInput,
  wanted: PlanCall<T>,
  scope: Pick<ActivityScope, 'signal'>,
): Promise<JsonAnswer<T>> {
  const { blobs } = ports;
  const { phase } = wanted;
  const { config, limits } = await getJson<PlanSettings>(blobs, settings, 'settings of the plan');
  const routed = route(
    { ...config, limits },
    { category: null, complexity: wanted.complexity, jobModel: null },
  );
  const outputBudget_tokens = Math.min(
    routed.outputBudget_tokens,
    MODEL_BOUNDS.adviceOutput_tokens,
  );
  const instructions = await putText(blobs, `${phase.name}\n\n${phase.text}`);
  const { model } = routed;
  return askForJson(
    ports,
    { stepKey, instructions, config, limits },
    {
      role: wanted.role,
      file: phase.id,
      bases: [],
      model,
      outputBudget_tokens,
      calls: MODEL_BOUNDS.adviceCalls,
      regeneration: regeneration * MODEL_BOUNDS.adviceCalls,
      notes: await putText(blobs, wanted.notes),
      build: (refusal) => wanted.build(model, outputBudget_tokens, refusal),
      check: wanted.check,
    },
    scope,
  );
}

/** Returns failures with the text of their outputs, as prompts show them. */
export async function failuresShown(
  { blobs }: ActivityPorts,
  failures: readonly PhaseFailure[],
): Promise<readonly FailureShown[]> {
  const shown: FailureShown[] = [];
  for (const { run, kind, summary, output } of failures)
    shown.push({
      run,
      summary,
      kind: kind ?? 'unknown',
      output: output === null ? '' : await outputShown(blobs, output),
    });
  return shown;
}

async function outputShown(blobs: ActivityPorts['blobs'], output: BlobRef): Promise<string> {
  const shown = await readRefusal(blobs, output, { reasons_bytes: MODEL_BOUNDS.phaseOutput_bytes });
  return shown.reasons;
}

// A second score of a phase, from its text alone. Without one in time, or with one that cannot be used, the first score stands.

export const scorePhase: Activity<'scorePhase'> = async (ports, input, scope) => {
  const { timings } = ports;
  const { phase } = await phaseAsked(ports, input);
  const late = AbortSignal.timeout(timings.secondScore_ms);
  const without = (
    message: string,
    usage: StepUsage,
    down: ScorePhaseResult['down'],
  ): ScorePhaseResult => ({
    ...reconcile(input.first, null),
    message,
    usage,
    ...(down === undefined ? {} : { down }),
  });
  try {
    const advised = await askForPlan(
      ports,
      input,
      {
        role: 'score',
        phase,
        notes: '',
        complexity: 'low',
        build: (model, outputBudget_tokens, refusal) =>
          buildScoreRequest({ model, outputBudget_tokens, refusal, phase }),
        check: checkedBy(secondScoreSchema, 'a score'),
      },
      { signal: AbortSignal.any([scope.signal, late]) },
    );
    if (!advised.ok) return without(advised.told.message, advised.told.usage, advised.told.down);
    return { ...reconcile(input.first, advised.value), message: null, usage: advised.usage };
  } catch (error) {
    // A score is no reason to wait for a model; being stopped is told on, for the next attempt to go on.
    if (scope.signal.aborted || (!late.aborted && !(error instanceof ModelError))) throw error;
    const why = late.aborted
      ? `no answer in ${timings.secondScore_ms} ms`
      : (error as ModelError).problem.message;
    return without(why, late.aborted ? { ...NO_USAGE, unknownCalls: 1 } : NO_USAGE, {
      mayBePaid: true,
    });
  }
};

// A report on why the tests of a phase fail: a file of the archive that the next attempt reads. Without one the attempt goes without.

const text = z.string({ error: 'a text' }).transform((value) =>
  value
    .replace(/\p{Cc}(?<![\n\t])/gu, ' ')
    .trim()
    .slice(0, DEBUG_CHARS),
);
const list = z
  .array(text, { error: 'a list of texts' })
  .transform((items) => items.slice(0, DEBUG_ITEMS));
const schema = z.object({
  cause: text.refine((value) => value !== '', { error: 'a cause' }),
  evidence: list.default([]),
  fix: list.default([]),
  files: list.default([]),
});
type Report = z.infer<typeof schema>;

export const debugPhase: Activity<'debugPhase'> = async (ports, input, scope) => {
  const { blobs, archive } = ports;
  const { phase } = await phaseAsked(ports, input);
  const failures = await failuresShown(ports, input.failures);
  const advised = await askForPlan<Report>(
    ports,
    input,
    {
      role: 'debug',
      phase,
      notes: JSON.stringify(failures),
      complexity: 'high',
      build: (model, outputBudget_tokens, refusal) =>
        buildDebugRequest({ model, outputBudget_tokens, refusal, phase, failures }),
      check: checkedBy(schema, 'a report'),
    },
    scope,
  );
  if (!advised.ok) return { report: null, path: null, ...advised.told };
  const { message: told } = await maskWords(ports, input, { message: advised.value }, scope.signal);
  const words = reportText(told);
  const name = `debug-${phase.id}-${input.regeneration}`;
  const { path } = await archive.putFile(input.stepKey, name, { phase: input.phase, ...told });
  return { report: await putText(blobs, words), path, message: null, usage: advised.usage };
};

function reportText({ cause, evidence, fix, files }: Report): string {
  const items = (title: string, lines: readonly string[]): string =>
    lines.length === 0 ? '' : `\n\n${title}:\n${lines.map((line) => `- ${line}`).join('\n')}`;
  return `Cause: ${cause}${items('Evidence', evidence)}${items('What to do', fix)}${items('Files', files)}`;
}
