/** One wanted answer through the journal: what pick, brief and propose share. */
import { isPromptCut, estimateRequestTokens } from '../../model/tokens.js';
import type { ZodType } from 'zod';
import { readJsonAnswer, type BuiltRequest } from '../../model/prompts/index.js';
import type { ModelAnswer, CallKeyParts, CallOutcome } from '../../model/ports.js';
import { callKey, keyParts } from '../../model/journal/index.js';
import { ModelError, type ModelErrorKind } from '../../model/errors.js';
import { BOUNDS, type Limits, type Timings } from '../../shared/limits.js';
import type { PauseReason } from '../../shared/decisions.js';
import type { ModelDown } from '../../shared/outage.js';
import { addUsage, NO_USAGE, tokensIn, type StepUsage } from '../../shared/usage.js';
import type { BlobRef, StepKey } from '../../shared/ids.js';
import { sentence } from '../../shared/problems.js';
import { type ActivityScope, stoodStill } from './activity.js';
import type { ActivityPorts } from './ports.js';
import { maskRequest, restoreAnswer, type SecretPlaces, type ShownFiles } from './secrets.js';
import { modelEntry, type ProjectConfig, type Thinking } from '../../documents/job/index.js';
import type { ProposeResult, Unanswered } from '../../shared/step-activities.js';

const WAKE_MS = 60_000; // bound: After a machine slept its network comes back within this: a model that is not reached then is waited for.

type Recorded = Extract<CallOutcome, { readonly outcome: 'answered' }>;
export interface Answered extends Pick<Recorded, 'outcome' | 'nonce' | 'usage'> {
  /** With the secrets that its request hid. */
  readonly answer: ModelAnswer;
  /** As the model wrote it, for what is told on. */
  readonly written: string;
  /** What looks like placeholders and is none of its request's: where it is not empty, nothing may be written by this answer. */
  readonly unknown: readonly string[];
}
export type Call =
  | Answered
  | {
      readonly outcome: 'prompt_cut' | 'call_lost';
      readonly message: string;
      readonly usage: StepUsage;
    }
  /** Under `secrets: ask`, for an edit: nothing was sent. `files`: of those that it is for. */
  | Extract<ProposeResult, { readonly outcome: 'secret_found' }>
  | Unavailable;
type Unavailable = Extract<ProposeResult, { readonly outcome: 'model_unavailable' }>;

/** Failures that another request, or none, would not have met; all others are an outage of the model. */
const OF_THE_REQUEST: ReadonlySet<ModelErrorKind> = new Set([
  'bad_request',
  'context',
  'too_large',
]);

/** ◆ A value, not a failure: the workflow waits, and asks for nothing else meanwhile. */
function unavailable(error: unknown, { modelOutage_s }: Limits, timings: Timings): Unavailable {
  if (!(error instanceof ModelError) || error.kind === 'cancelled') throw error;
  const { kind, retryable, mayBePaid, problem } = error;
  if (!retryable && OF_THE_REQUEST.has(kind)) throw error;
  const message = sentence(problem).slice(0, BOUNDS.reason_chars);
  const wait = {
    first_ms: timings.outageWait_ms,
    most_ms: timings.outageMaxWait_ms,
    total_ms: (modelOutage_s ?? 0) * 1000,
    retryAfter_ms: error.retryAfter_ms ?? 0,
  };
  // A machine that woke up finds its network again some seconds later.
  const woke = performance.now() - stoodStill.last_ms < WAKE_MS;
  const down = {
    message,
    wait: retryable ? wait : null,
    unreached: kind === 'network' && !woke,
    mayBePaid,
  };
  // A call that may be paid for is counted by the journal.
  return { outcome: 'model_unavailable', message, down, usage: NO_USAGE };
}

/** What of a call that was not answered the workflow goes by; `usage`: of answers before it, which the journal tells as well. */
export const downOf = (call: Call, { calls } = call.usage): { readonly down?: ModelDown } =>
  call.outcome !== 'model_unavailable'
    ? {}
    : { down: { ...call.down, mayBePaid: call.down.mayBePaid || calls > 0 } };

/** Formats whose answers are JSON. */
const IN_JSON: ReadonlySet<string> = new Set(['structured-edit', 'json']);

export interface CallWanted extends Omit<CallKeyParts, 'stepKey' | 'instructions' | 'region'> {
  /** Lines of the file that the call is for, `401-800`; absent: all. */
  readonly region?: string;
  /** Beside the answer; absent or null: the model thinks as it does by itself. */
  readonly thinking?: Thinking | null;
  /** Called only where the call is not recorded yet: later attempts send the stored request, whatever a deploy changed. */
  readonly build: () => Promise<BuiltRequest>;
}

/** What a call goes by: a step's snapshot, or the settings of a plan. */
export interface CallContext extends ShownFiles {
  readonly stepKey: StepKey;
  readonly instructions: BlobRef;
  readonly config: Pick<ProjectConfig, 'models' | 'secrets' | 'env'>;
  readonly limits: Limits;
}

export const keyOf = (
  snapshot: Pick<CallContext, 'stepKey' | 'instructions'>,
  wanted: Omit<CallWanted, 'build'>,
): CallKeyParts =>
  keyParts({
    ...wanted,
    region: wanted.region ?? '*',
    stepKey: snapshot.stepKey,
    instructions: snapshot.instructions,
  });

export async function callModel(
  ports: ActivityPorts,
  snapshot: CallContext,
  wanted: CallWanted,
  scope: Pick<ActivityScope, 'signal'>,
): Promise<Call> {
  const key = keyOf(snapshot, wanted);
  const { limits } = snapshot;
  const hidden = { stepKey: snapshot.stepKey, callKey: callKey(key), shown: snapshot };
  const wish = snapshot.config.secrets;
  // Only an edit can wait for a person.
  const secrets = wish === 'ask' && wanted.role !== 'edit' ? 'mask' : wish;
  const places: SecretPlaces[] = [];
  const recorded = await ports.journal
    .ask({
      key,
      makeRequest: async (nonce) => {
        const built = await wanted.build();
        const word = nonce(built.haystack);
        const plain = built.request(word);
        const { keys, tokens } = wanted.thinking ?? { tokens: 0 };
        const asked = { ...plain, ...keys, max_tokens: plain.max_tokens + tokens };
        const request = await maskRequest(ports, hidden, { request: asked, secrets }, scope.signal);
        if (!('paths' in request)) return { request, nonce: word };
        places.push(request);
        return null;
      },
      maxUnknownCalls: limits.maxUnknownCalls ?? 2,
      stoodStill: () => stoodStill.times,
      ...(limits.maxAnswer_bytes === null ? {} : { maxAnswer_bytes: limits.maxAnswer_bytes }),
      ...(limits.maxCallLog_bytes === null ? {} : { maxCallLog_bytes: limits.maxCallLog_bytes }),
      prices: modelEntry(snapshot.config, wanted.model),
      signal: scope.signal,
    })
    .catch((error: unknown) => unavailable(error, limits, ports.timings));
  if (recorded.outcome === 'model_unavailable') return recorded;
  if (recorded.outcome === 'not_made') {
    const { paths = [], message = '' } = places[0] ?? {};
    const { file } = wanted;
    const asked = file === '*' ? (snapshot.targets ?? []).map(({ path }) => path) : [file];
    const holding = asked.filter((path) => paths.includes(path));
    // Where another file holds them, or a text: all.
    const files = holding.length > 0 ? holding : asked;
    return { outcome: 'secret_found', message, files, usage: recorded.usage };
  }
  if (recorded.outcome === 'call_lost') {
    const { message, usage } = recorded;
    return { outcome: 'call_lost', message: message ?? lostMessage(usage, wanted.file), usage };
  }
  const { answer, nonce, usage, request } = recorded;
  const estimate = estimateRequestTokens(request);
  if (isPromptCut(estimate, answer.usage)) {
    const message =
      `the server read ${tokensIn(answer.usage)} input tokens of about ${estimate}: it cut the prompt; ` +
      `raise the server's context size (num_ctx for Ollama) or lower inputBudget_tokens`;
    return { outcome: 'prompt_cut', message, usage };
  }
  const written = answer.text;
  const { text, unknown } = await restoreAnswer(ports, hidden, written, IN_JSON.has(wanted.format));
  return { outcome: 'answered', answer: { ...answer, text }, written, unknown, nonce, usage };
}

const lostMessage = ({ unknownCalls }: StepUsage, file: string): string =>
  `${unknownCalls} calls for ${file} were interrupted before their answer was saved (maxUnknownCalls)`;

// A call whose answer is one JSON object: asked again, told why, where the answer cannot be used.

/** An answer that could not be used, and why: the next call is told. */
export type RefusedJson = Readonly<Record<'why' | 'answer', string>>;
export interface JsonWanted<T> extends Omit<CallWanted, 'format' | 'refusal' | 'build'> {
  /** At most so many; each counts one up from `regeneration`. */
  readonly calls: number;
  readonly notes: BlobRef | null;
  readonly build: (refusal: RefusedJson | null) => BuiltRequest;
  readonly check: (value: unknown) => Readonly<{ ok: true; value: T } | { ok: false; why: string }>;
}
export type JsonAnswer<T> =
  | { readonly ok: true; readonly value: T; readonly usage: StepUsage }
  | { readonly ok: false; readonly reason: PauseReason; readonly told: Untold };
/** Why there is no answer that can be used, and what was paid for it. */
type Untold = Omit<Unanswered, 'outcome' | 'reason'>;

const UNUSABLE = {
  truncated: 'truncation',
  unmarked: 'unmarked',
  invalid: 'attempts_exhausted',
} as const;

/** An answer against its schema; `what` stands for an issue without words. */
export const checkedBy =
  <T>(schema: ZodType<T>, what: string): JsonWanted<T>['check'] =>
  (value) => {
    const checked = schema.safeParse(value);
    if (checked.success) return { ok: true, value: checked.data };
    const [first] = checked.error.issues;
    // Of alternatives the last stands for them all.
    const issue = first?.code === 'invalid_union' ? first.errors.at(-1)?.[0] : first;
    return { ok: false, why: `${issue?.path.join('.') ?? ''}: expected ${issue?.message ?? what}` };
  };

export async function askForJson<T>(
  ports: ActivityPorts,
  context: CallContext & { readonly config: Pick<ProjectConfig, 'requireCompleteSentinel'> },
  { calls, build, check, ...wanted }: JsonWanted<T>,
  scope: Pick<ActivityScope, 'signal'>,
): Promise<JsonAnswer<T>> {
  const requireMarker = context.config.requireCompleteSentinel;
  let usage = NO_USAGE;
  let refusal: RefusedJson | null = null;
  let reason: PauseReason = 'attempts_exhausted';
  for (let asked = 0; asked < calls; asked += 1) {
    const last: RefusedJson | null = refusal;
    const call = await callModel(
      ports,
      context,
      {
        ...wanted,
        format: 'json',
        regeneration: wanted.regeneration + asked,
        refusal:
          last === null
            ? null
            : await ports.blobs.put(new TextEncoder().encode(JSON.stringify(last))),
        build: () => Promise.resolve(build(last)),
      },
      scope,
    );
    usage = addUsage(usage, call.usage);
    if (call.outcome !== 'answered')
      return {
        ok: false,
        reason: call.outcome,
        told: { message: call.message, usage, ...downOf(call, usage) },
      };
    // What is told goes into reports, documents and commits: secrets stay hidden in it.
    const { answer, written, nonce } = call;
    const reading = readJsonAnswer({
      text: written,
      stopReason: answer.stopReason,
      nonce,
      requireMarker,
    });
    if (reading.outcome === 'declined')
      return { ok: false, reason: 'declined', told: { message: reading.message, usage } };
    const checked =
      reading.outcome === 'complete'
        ? check(reading.value)
        : { ok: false as const, why: reading.message };
    if (checked.ok) return { ok: true, value: checked.value, usage };
    reason = reading.outcome === 'complete' ? 'attempts_exhausted' : UNUSABLE[reading.outcome];
    refusal = { why: checked.why, answer: written.replaceAll(nonce, '') };
  }
  const message = `no usable answer in ${calls} calls: ${refusal?.why ?? ''}`;
  return { ok: false, reason, told: { message, usage } };
}
