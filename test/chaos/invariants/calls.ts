/** Invariants about what was asked of the model, judged by the model's own log of requests. */
import type { Evidence, FoundRequest, FoundSlot } from '../evidence.js';
import type { Invariant } from './judge.js';

/** The nonce stands at the end of the last message; a refused answer that the prompt shows has another one before it. */
const nonceOf = ({ body }: FoundRequest): string => body.match(/\b[0-9a-f]{20}\b/g)?.at(-1) ?? '';
const requestsFor = ({ requests }: Evidence, { nonce }: FoundSlot): FoundRequest[] =>
  requests.filter((request) => nonceOf(request) === nonce);

export const paidOnce: Invariant = {
  name: 'no recorded answer is asked for again',
  violations: (evidence) =>
    evidence.steps.flatMap(({ carrier, slots }) =>
      slots.flatMap((slot) => {
        const { answeredAt } = slot;
        if (answeredAt === null) return [];
        return requestsFor(evidence, slot)
          .filter(({ at }) => at > answeredAt)
          .map(
            ({ n, at }) => `${carrier}: request ${n} came ${at - answeredAt} ms after the answer to it was recorded`,
          );
      }),
    ),
};

export const everyCallIsJournaled: Invariant = {
  name: 'every request to the model is a call in the journal',
  violations: (evidence) => {
    const slots = evidence.steps.flatMap((step) => step.slots.map((slot) => ({ ...slot, carrier: step.carrier })));
    const more = slots.flatMap((slot) => {
      const asked = requestsFor(evidence, slot).length;
      return asked > slot.calls.length
        ? [`${slot.carrier}: ${asked} requests, ${slot.calls.length} calls in the journal`]
        : [];
    });
    const strange = evidence.requests
      .filter((request) => !slots.some(({ nonce }) => nonceOf(request) === nonce))
      .map(({ n }) => `request ${n} belongs to no slot`);
    return [...more, ...strange];
  },
};

export const unknownCallsShown: Invariant = {
  name: 'all calls are counted and all that were cut off are shown',
  violations: ({ steps }) =>
    steps.flatMap(({ carrier, kind, slots, usage, status }) => {
      const states = slots.flatMap(({ calls }) => calls);
      const lost = states.filter((state) => state === 'unknown' || state === 'open').length;
      const paid = states.filter((state) => state === 'answered').length + lost;
      const told: string[] = [];
      if (usage.unknownCalls !== lost) told.push(`${lost} calls were cut off, ${usage.unknownCalls} are shown`);
      if (usage.calls !== paid) told.push(`${paid} calls were made, ${usage.calls} are shown`);
      return told.map((said) => `${carrier} (${kind}, ${status ?? 'open'}): ${said}`);
    }),
};
