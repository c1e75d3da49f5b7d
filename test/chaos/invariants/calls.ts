/** Invariants about what was asked of the model, judged by the model's own log of requests. */
import type { Evidence, FoundAttempt, FoundCall, FoundRequest } from '../evidence.js';
import type { Invariant } from './judge.js';

/** The nonce stands at the end of the last message; a refused answer that the prompt shows has another one before it. */
const nonceOf = ({ body }: FoundRequest): string => body.match(/\b[0-9a-f]{8}\b/g)?.at(-1) ?? '';
const requestsFor = ({ requests }: Evidence, { nonce }: FoundCall): FoundRequest[] =>
  requests.filter((request) => nonceOf(request) === nonce);

export const paidOnce: Invariant = {
  name: 'no recorded answer is asked for again',
  violations: (evidence) =>
    evidence.steps.flatMap(({ carrier, calls }) =>
      calls.flatMap((call) => {
        const { answeredAt } = call;
        if (answeredAt === null) return [];
        // An attempt that was claimed before, by whoever gave its owner up, may be on its way.
        const claimed = call.attempts.filter(({ begunAt }) => begunAt <= answeredAt).length;
        return requestsFor(evidence, call)
          .filter(({ at }, i) => at > answeredAt && i >= claimed)
          .map(
            ({ n, at }) =>
              `${carrier}: request ${n} came ${at - answeredAt} ms after the answer to it was recorded`,
          );
      }),
    ),
};

type AttemptState = FoundAttempt['state'];
const isLost = (state: AttemptState): boolean => state === 'unknown' || state === 'open';
const isPaid = (state: AttemptState): boolean => state === 'answered' || isLost(state);

export const everyCallIsJournaled: Invariant = {
  name: 'every request to the model is an attempt in the journal, and counts unless the model refused it',
  violations: (evidence) => {
    const calls = evidence.steps.flatMap((step) =>
      step.calls.map((call) => ({ ...call, carrier: step.carrier })),
    );
    const more = calls.flatMap((call) => {
      const asked = requestsFor(evidence, call).length;
      return asked > call.attempts.length
        ? [`${call.carrier}: ${asked} requests, ${call.attempts.length} attempts in the journal`]
        : [];
    });
    // What came to the model and was not refused there may be on a bill, however little came back.
    const free = calls.flatMap((call) => {
      const taken = requestsFor(evidence, call).filter(({ refused }) => !refused).length;
      const counted = call.attempts.filter(({ state }) => isPaid(state)).length;
      return taken > counted
        ? [`${call.carrier}: ${taken} requests were not refused, ${counted} calls count`]
        : [];
    });
    const strange = evidence.requests
      .filter((request) => !calls.some(({ nonce }) => nonceOf(request) === nonce))
      .map(({ n }) => `request ${n} belongs to no call`);
    return [...more, ...free, ...strange];
  },
};

/** Sums are written down so soon after the journal was read for them. */
const READ_MS = 1_000;
/**
 * How an attempt stood when its run took its sums: with the call's answer, or later with a count of all. Whoever slept meanwhile may hear
 * the rest of an answer after that (src/model/journal/answer.ts: it is then `answered`); nobody could have told it as anything
 * but cut off.
 */
const asCounted = (
  { state, givenUpAt, endedAt }: FoundAttempt,
  { answeredAt }: FoundCall,
  talliedAt: number | null,
) => {
  const countedAt = Math.max(answeredAt ?? -Infinity, talliedAt ?? -Infinity);
  const mayHaveBeenOpen = givenUpAt !== null || talliedAt !== null;
  return mayHaveBeenOpen && endedAt !== null && endedAt > countedAt - READ_MS ? 'unknown' : state;
};

export const unknownCallsShown: Invariant = {
  name: 'all calls are counted and all that were cut off are shown',
  violations: ({ steps }) =>
    steps.flatMap(({ carrier, kind, calls, usage, status, talliedAt }) => {
      const attempts = calls.flatMap((call) =>
        call.attempts.map(
          (attempt) => [asCounted(attempt, call, talliedAt), attempt.state] as const,
        ),
      );
      // Each attempt as it was counted or, where the journal is asked once more, as it is now.
      const wrong = (
        what: string,
        fits: (state: AttemptState) => boolean,
        shown: number,
      ): string[] => {
        const least = attempts.filter(([then, now]) => fits(then) && fits(now)).length;
        const most = attempts.filter(([then, now]) => fits(then) || fits(now)).length;
        const told = least === most ? `${least}` : `${least} to ${most}`;
        return shown >= least && shown <= most
          ? []
          : [`${told} calls were ${what}, ${shown} are shown`];
      };
      return [
        ...wrong('cut off', isLost, usage.unknownCalls),
        ...wrong('made', isPaid, usage.calls),
      ].map((said) => `${carrier} (${kind}, ${status ?? 'open'}): ${said}`);
    }),
};
