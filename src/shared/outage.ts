/**
 * A model that is down. The run waits and asks again with one call at a time; a person may ask for the next try at once, and is asked
 * where waiting does not help or has lasted long enough. Pure.
 */
import type { Pause } from './decisions.js';
import type { EventBody } from './events.js';

/** A call that failed without saying anything about its request: part of the result of every activity that asks a model. */
export interface ModelDown {
  /** What the server said, as a sentence. */
  readonly message: string;
  /** By the worker's settings and the job's limits; null: no wait helps (a wrong key, spent credit). */
  readonly wait: {
    readonly first_ms: number;
    readonly most_ms: number;
    readonly total_ms: number;
    /** The server's wish. */
    readonly retryAfter_ms: number;
  } | null;
  /** Nothing reached the server: before the first answer of a run, its address is rather wrong. */
  readonly unreached: boolean;
  readonly mayBePaid: boolean;
}

export interface Outage {
  /** One per wait: `retry` names it. */
  readonly id: string;
  readonly message: string;
  /** What was asked for last: a path, `*` or the name of an activity. */
  readonly file: string;
  /** Failed tries in a row. */
  readonly tries: number;
  /** All waits so far, with this one. Counted, not measured: a machine that sleeps or whose clock is set uses nothing up. */
  readonly waited_ms: number;
  /** When the next try comes: workflow time, ms since the epoch. */
  readonly next: number;
  /** A person is asked instead. */
  readonly over: boolean;
}
export interface OutageState {
  /** Null: the model answers, as far as known. */
  readonly outage: Outage | null;
}

interface Failed {
  readonly down: ModelDown;
  readonly file: string;
  readonly answered: boolean;
  /** The run's key as people see it. */
  readonly run: string;
  /** Of the event that tells it. */
  readonly seq: number;
}

/** First wait, then twice as long each time up to the most; never shorter than the server's wish, nor all waits longer than the total. */
export function backOff(
  before: Outage | null,
  { down, file, answered, run, seq }: Failed,
  now: number,
): Outage {
  const { message, wait } = down;
  const { id = `wait-${seq}-${run}`, tries = 0, waited_ms = 0 } = before ?? {};
  const over = { id, message, file, tries: tries + 1, waited_ms, next: now, over: true };
  if (wait === null || (down.unreached && !answered)) return over;
  // A call that began beside the one whose failure is waited for: one outage, one wait.
  if (before !== null && now < before.next)
    return { ...before, next: Math.max(before.next, now + wait.retryAfter_ms) };
  const left_ms = wait.total_ms - waited_ms;
  if (left_ms <= 0 || wait.retryAfter_ms > left_ms) return over;
  const doubled_ms = Math.min(wait.most_ms, wait.first_ms * 2 ** Math.min(tries, 30));
  const ms = Math.min(left_ms, Math.max(doubled_ms, wait.retryAfter_ms));
  return {
    ...over,
    id: `wait-${seq}-${run}`,
    waited_ms: waited_ms + ms,
    next: now + ms,
    over: false,
  };
}

export const outageEvent = ({ id, message, file, tries, next, over }: Outage): EventBody => ({
  type: 'model_down',
  wait: id,
  message,
  file,
  tries,
  next: over ? null : next,
});

/** The move that an outage asks for; null: the next try is due. */
export function outageEffect(
  { outage }: OutageState,
  now: number,
):
  | { readonly kind: 'back_off'; readonly ms: number }
  | { readonly kind: 'pause'; readonly pause: Pause }
  | null {
  if (outage === null) return null;
  const { message, tries, waited_ms } = outage;
  if (outage.over) {
    const waited =
      waited_ms === 0
        ? ''
        : ` (${tries} tries, ${Math.round(waited_ms / 1000)} s of waiting; modelOutage_s)`;
    return {
      kind: 'pause',
      pause: {
        reason: 'model_unavailable',
        message: `${message}${waited}`,
        files: [],
        subject: null,
      },
    };
  }
  return now < outage.next ? { kind: 'back_off', ms: outage.next - now } : null;
}

/** The wait is over; where the clock was set back meanwhile, too. */
export const waited = ({ outage }: OutageState, now: number): OutageState => ({
  outage: outage === null ? null : { ...outage, next: Math.min(outage.next, now) },
});

/** A call came back with something else. One that began before the last failure says nothing about now. */
export const answeredAgain = ({ outage }: OutageState, now: number): OutageState => ({
  outage: outage !== null && (outage.over || now < outage.next) ? outage : null,
});

export const clockTime = (at: number): string => `${new Date(at).toISOString().slice(11, 19)} UTC`;
export const outageText = ({ message, tries, next, id }: Outage): string =>
  `the model is down, try ${tries + 1} at ${clockTime(next)}: ${message} (to retry now: retry ${id})`;
