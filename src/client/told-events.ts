/** The events of a run as its history holds them: each activity's input carries those that happened since the one before. */
import type { Payload, PayloadCodec } from '@temporalio/common';
import type { StepEvent } from '../shared/events.js';

/** What is looked at of an event of the history; its other fields are another reader's. */
export interface HistoryEvent {
  readonly activityTaskScheduledEventAttributes?: {
    readonly input?: { readonly payloads?: readonly Payload[] | null } | null;
  } | null;
}

/** In order of `seq`, each once. An input that cannot be read (its blob is lost) is left out. */
export const toldIn = async (
  history: readonly HistoryEvent[],
  codecs: readonly PayloadCodec[],
): Promise<readonly StepEvent[]> => {
  const events = new Map<number, StepEvent>();
  for (const { activityTaskScheduledEventAttributes: scheduled } of history) {
    const payloads = scheduled?.input?.payloads ?? [];
    for (const event of await logOf(payloads, codecs)) if (!events.has(event.seq)) events.set(event.seq, event);
  }
  return [...events.values()].sort((a, b) => a.seq - b.seq);
};

const logOf = async (payloads: readonly Payload[], codecs: readonly PayloadCodec[]): Promise<readonly StepEvent[]> => {
  try {
    let decoded: Payload[] = [...payloads];
    for (const codec of codecs) decoded = await codec.decode(decoded);
    const input: unknown = JSON.parse(new TextDecoder().decode(decoded[0]?.data ?? undefined));
    if (typeof input !== 'object' || input === null || !('log' in input) || !Array.isArray(input.log)) return [];
    return input.log.filter(isEvent);
  } catch {
    return [];
  }
};

const isEvent = (value: unknown): value is StepEvent =>
  typeof value === 'object' && value !== null && 'seq' in value && typeof value.seq === 'number' && 'type' in value;
