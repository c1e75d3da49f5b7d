/** One wanted answer through the journal: what pick, brief and propose share. */
import { priceBy } from '../model/price.js';
import type { BuiltRequest } from '../model/prompt/blocks.js';
import { promptCut, estimateRequestTokens } from '../model/prompt/tokens.js';
import type { ModelAnswer, Role, SlotKeyParts } from '../model/types.js';
import type { Limits } from '../shared/limits.js';
import type { StepUsage } from '../shared/protocol.js';
import type { BlobRef, StepKey } from '../shared/refs.js';
import type { ActivityScope } from './boundary.js';
import type { ActivityDependencies } from './dependencies.js';
import type { ProjectConfig } from '../job/types.js';

export type Call =
  | { readonly outcome: 'answered'; readonly answer: ModelAnswer; readonly nonce: string; readonly usage: StepUsage }
  | {
      readonly outcome: 'prompt_cut' | 'call_lost' | 'model_unavailable';
      readonly message: string;
      readonly usage: StepUsage;
    };

export interface CallWanted {
  readonly role: Role;
  readonly file: string;
  /** Lines of the file that the call is for, `401-800`; absent: all. */
  readonly region?: string;
  readonly draw: number;
  readonly bases: readonly string[];
  readonly format: string;
  readonly model: string;
  readonly outputBudget_tokens: number;
  readonly notes: BlobRef | null;
  readonly refusal: BlobRef | null;
  /** Called only for a new slot: later attempts send the stored request, whatever a deploy changed. */
  readonly build: () => Promise<BuiltRequest>;
}

/** What a call goes by: a step's snapshot, or the settings of a plan. */
export interface CallContext {
  readonly stepKey: StepKey;
  readonly instructions: BlobRef;
  readonly config: Pick<ProjectConfig, 'models'>;
  readonly limits: Limits;
}

export const keyOf = (
  snapshot: Pick<CallContext, 'stepKey' | 'instructions'>,
  wanted: Omit<CallWanted, 'build'>,
): SlotKeyParts => ({
  stepKey: snapshot.stepKey,
  role: wanted.role,
  file: wanted.file,
  region: wanted.region ?? '*',
  draw: wanted.draw,
  bases: wanted.bases,
  format: wanted.format,
  model: wanted.model,
  outputBudget_tokens: wanted.outputBudget_tokens,
  instructions: snapshot.instructions,
  notes: wanted.notes,
  refusal: wanted.refusal,
});

export async function callModel(
  dependencies: ActivityDependencies,
  snapshot: CallContext,
  wanted: CallWanted,
  scope: Pick<ActivityScope, 'signal'>,
): Promise<Call> {
  const key = keyOf(snapshot, wanted);
  const { limits }: { readonly limits: Partial<Limits> } = snapshot;
  const slot = await dependencies.journal.ask({
    key,
    makeRequest: async (nonce) => {
      const built = await wanted.build();
      const word = nonce(built.haystack);
      return { request: built.request(word), nonce: word };
    },
    maxUnknownCalls: limits.maxUnknownCalls ?? 2,
    ...(limits.maxAnswer_bytes === null ? {} : { maxAnswer_bytes: limits.maxAnswer_bytes }),
    // A snapshot from before this limit has none.
    ...(typeof limits.maxCallLog_bytes === 'number' ? { maxCallLog_bytes: limits.maxCallLog_bytes } : {}),
    price: priceBy(snapshot.config.models),
    signal: scope.signal,
  });
  if (slot.outcome === 'call_lost') {
    const message = `${slot.usage.unknownCalls} calls for ${wanted.file} were cut off before their answer was on disk (maxUnknownCalls)`;
    return { outcome: 'call_lost', message, usage: slot.usage };
  }
  const { answer, nonce, usage, request } = slot;
  const estimate = estimateRequestTokens(request);
  if (promptCut(estimate, answer.usage)) {
    const read = answer.usage.input_tokens + answer.usage.cacheRead_tokens + answer.usage.cacheWrite_tokens;
    const message =
      `the server read ${read} input tokens of about ${estimate}: it cut the prompt; ` +
      `raise the server's context size (num_ctx for Ollama) or lower inputBudget_tokens`;
    return { outcome: 'prompt_cut', message, usage };
  }
  return { outcome: 'answered', answer, nonce, usage };
}
