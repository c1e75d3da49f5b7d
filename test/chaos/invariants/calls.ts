/** Invariants about what was asked of the model, judged by the model's own log of requests. */
import type { Evidence, FoundCall, FoundRequest, FoundSlot } from '../evidence.js';
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

type CallState = FoundCall['state'];
const isLost = (state: CallState): boolean => state === 'unknown' || state === 'open';
const isPaid = (state: CallState): boolean => state === 'answered' || isLost(state);

export const everyCallIsJournaled: Invariant = {
  name: 'every request to the model is a call in the journal, and counts unless the model refused it',
  violations: (evidence) => {
    const slots = evidence.steps.flatMap((step) => step.slots.map((slot) => ({ ...slot, carrier: step.carrier })));
    const more = slots.flatMap((slot) => {
      const asked = requestsFor(evidence, slot).length;
      return asked > slot.calls.length
        ? [`${slot.carrier}: ${asked} requests, ${slot.calls.length} calls in the journal`]
        : [];
    });
    // What came to the model and was not refused there may be on a bill, however little came back.
    const free = slots.flatMap((slot) => {
      const taken = requestsFor(evidence, slot).filter(({ refused }) => !refused).length;
      const counted = slot.calls.filter(({ state }) => isPaid(state)).length;
      return taken > counted ? [`${slot.carrier}: ${taken} requests were not refused, ${counted} calls count`] : [];
    });
    const strange = evidence.requests
      .filter((request) => !slots.some(({ nonce }) => nonceOf(request) === nonce))
      .map(({ n }) => `request ${n} belongs to no slot`);
    return [...more, ...free, ...strange];
  },
};

/** Sums are written down so soon after the journal was read for them. */
const READ_MS = 1_000;
/**
 * How a call stood when its run took its sums: with the slot's answer, or later with a count of all. Whoever slept meanwhile may hear
 * the rest of an answer after that (slot.ts: it is then `answered`); nobody could have told it as anything but cut off.
 */
const asCounted = ({ state, givenUpAt, endedAt }: FoundCall, { answeredAt }: FoundSlot, talliedAt: number | null) => {
  const countedAt = Math.max(answeredAt ?? -Infinity, talliedAt ?? -Infinity);
  const mayHaveBeenOpen = givenUpAt !== null || talliedAt !== null;
  return mayHaveBeenOpen && endedAt !== null && endedAt > countedAt - READ_MS ? 'unknown' : state;
};

export const unknownCallsShown: Invariant = {
  name: 'all calls are counted and all that were cut off are shown',
  violations: ({ steps }) =>
    steps.flatMap(({ carrier, kind, slots, usage, status, talliedAt }) => {
      const calls = slots.flatMap((slot) =>
        slot.calls.map((call) => [asCounted(call, slot, talliedAt), call.state] as const),
      );
      // Each call as it was counted or, where the journal is asked once more, as it is now.
      const wrong = (what: string, fits: (state: CallState) => boolean, shown: number): string[] => {
        const least = calls.filter(([then, now]) => fits(then) && fits(now)).length;
        const most = calls.filter(([then, now]) => fits(then) || fits(now)).length;
        const told = least === most ? `${least}` : `${least} to ${most}`;
        return shown >= least && shown <= most ? [] : [`${told} calls were ${what}, ${shown} are shown`];
      };
      return [...wrong('cut off', isLost, usage.unknownCalls), ...wrong('made', isPaid, usage.calls)].map(
        (said) => `${carrier} (${kind}, ${status ?? 'open'}): ${said}`,
      );
    }),
};
