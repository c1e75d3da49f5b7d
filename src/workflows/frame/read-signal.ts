/**
 * Signals come from anywhere: our own faces, the Temporal UI, `temporal workflow signal`. Whatever arrives is read here into a
 * request or a reason why it does not count; nothing throws.
 */
import type { Answer, DecisionPoint, DecisionRequest, Selection } from '../../shared/decisions.js';
import { asText, isRecord, short } from '../../shared/text.js';
import { isKnown, unknownVersion } from '../../shared/problems.js';
import type { Rules } from '../../shared/rules.js';
import { mustName } from '../../shared/validate-decision.js';

export type SignalReading =
  | { readonly kind: 'request'; readonly request: DecisionRequest }
  | { readonly kind: 'ignored'; readonly what: string; readonly why: string };

/** Who reads: a run's state. */
export interface Listening {
  readonly input: { readonly rules: Rules };
  readonly decision: DecisionPoint | null;
}
/** Those of the run's rules, and what the open decision takes. */
const answersOf = (state: Listening): ReadonlySet<unknown> =>
  new Set([
    ...Object.values(state.input.rules.answers).flat(),
    ...(state.decision?.accepts ?? []),
    'abort',
  ]);
const isAnswer = (state: Listening, value: unknown): value is Answer => answersOf(state).has(value);
export const shown = ({ input }: Pick<Listening, 'input'>, value: unknown): string =>
  short(asText(value), input.rules.bounds.signal_chars);

const isTexts = (value: unknown): value is string[] =>
  Array.isArray(value) && value.every((item) => typeof item === 'string');

const isSelection = (value: unknown): value is Selection =>
  isRecord(value) &&
  Object.values(value).every(
    (list) => Array.isArray(list) && list.every((item) => typeof item === 'number'),
  );

/** Optional fields of a request; a wrong type is said, not guessed at. */
function fields(body: Record<string, unknown>): Partial<DecisionRequest> | string {
  const out: {
    -readonly [K in 'files' | 'note' | 'set' | 'select' | 'signed']?: NonNullable<
      DecisionRequest[K]
    >;
  } = {};
  if (body.files !== undefined) {
    if (!isTexts(body.files)) return 'files must be a list of paths';
    out.files = body.files;
  }
  if (body.note !== undefined) {
    if (typeof body.note !== 'string') return 'note must be a text';
    out.note = body.note;
  }
  if (body.set !== undefined) {
    if (!isRecord(body.set)) return 'set must be an object of limits';
    out.set = body.set;
  }
  if (body.select !== undefined) {
    if (!isSelection(body.select))
      return 'select must be an object: a list of change numbers by path';
    out.select = body.select;
  }
  if (body.signed !== undefined) {
    const { at, signature } = isRecord(body.signed) ? body.signed : {};
    if (typeof at !== 'string' || typeof signature !== 'string')
      return 'signed must be {"at": "…", "signature": "…"}';
    out.signed = { at, signature };
  }
  return out;
}

/**
 * Reads the fall-back signal `decide`, whose body is a whole DecisionRequest; also the argument of the update. A body without a version was
 * typed by hand and is read as ours. `updateId` is the request's id if the body names none: the server takes each update once.
 */
export function readRequest(state: Listening, body: unknown, updateId?: string): SignalReading {
  const ignored = (why: string): SignalReading => ({
    kind: 'ignored',
    what: `decide ${shown(state, body)}`,
    why,
  });
  if (!isRecord(body))
    return ignored('the body must be an object with decision, answer and requestId');
  if (body.v !== undefined && !isKnown(body)) {
    const { message, next = '' } = unknownVersion('The answer', body);
    return ignored(`${message} ${next}`);
  }
  if (typeof body.decision !== 'string') return ignored(mustName(state));
  if (!isAnswer(state, body.answer))
    return ignored(`answer must be one of: ${[...answersOf(state)].join(', ')}`);
  const { requestId = updateId } = body;
  if (typeof requestId !== 'string' || requestId === '') return ignored('requestId must be a text');
  const by = isRecord(body.by) ? body.by : {};
  const more = fields(body);
  if (typeof more === 'string') return ignored(more);
  const name = typeof by.name === 'string' ? by.name.slice(0, 200) : 'unknown';
  const from = typeof by.from === 'string' ? by.from.slice(0, 50) : 'unknown';
  return {
    kind: 'request',
    request: {
      decision: body.decision,
      answer: body.answer,
      requestId,
      by: { name, from },
      ...more,
    },
  };
}

/** Reads the short signals `approve`, `skip`, `retry`, `abort`: `{"decision": "<id>"}`; only an abort may be bare, as it approves nothing. */
export function readShortSignal(state: Listening, answer: Answer, body: unknown): SignalReading {
  const bare =
    body === undefined ||
    body === null ||
    body === '' ||
    (isRecord(body) && Object.keys(body).length === 0);
  const ignored = (why: string): SignalReading => ({
    kind: 'ignored',
    what: bare ? answer : `${answer} ${shown(state, body)}`,
    why,
  });
  const by = { name: 'someone', from: 'signal' };
  const given: Record<string, unknown> = isRecord(body) ? body : {};
  if (typeof given.decision !== 'string') {
    if (answer !== 'abort') return ignored(mustName(state));
    if (!bare && !isRecord(body))
      return ignored('the body must be {"decision": "<id>"} or nothing');
    // The same bare signal twice counts once.
    return { kind: 'request', request: { decision: '', answer, requestId: 'signal-abort', by } };
  }
  const more = fields(given);
  if (typeof more === 'string') return ignored(more);
  const files = more.files === undefined ? '' : `-${[...more.files].sort().join(',')}`;
  const requestId = `signal-${answer}-${given.decision}${files}`;
  return { kind: 'request', request: { decision: given.decision, answer, requestId, by, ...more } };
}
