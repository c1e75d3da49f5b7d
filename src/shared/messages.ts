/**
 * The messages that answer a decision, and the one place that checks the shape of their bodies. They come from anywhere: our own commands,
 * the Temporal UI, `temporal workflow signal`. Whatever arrives becomes a message or a fault; nothing throws. Pure.
 */
import type { Answer, Decider, DecisionRequest, PauseReason, Selection } from './decisions.js';
import { isKnown, unknownVersion, type Version } from './problems.js';
import { asText, isRecord } from './text.js';

/** Each is an update and a signal of this name. `answer` gives any answer, the others give the answer of their name. */
export const MESSAGES = {
  approve: 'approve',
  skip: 'skip',
  retry: 'retry',
  revise: 'revise',
  abort: 'abort',
  answer: 'answer',
} as const;
export type MessageName = keyof typeof MESSAGES;

/** Fields that every body may have. A body without `v` or `requestId` was typed by hand. */
interface CommonFields extends Pick<DecisionRequest, 'files' | 'note' | 'set' | 'signed'> {
  readonly v?: Version;
  readonly by?: string | Decider;
  readonly requestId?: string;
}
export interface NamedBody extends CommonFields {
  /** The id of the decision that the sender saw. */
  readonly decision: string;
}
/** The answer applies nothing, so it counts without an id while exactly one decision is open. */
export interface UnnamedBody extends CommonFields {
  readonly decision?: string;
}
/** The body of each message. A text is the id of the decision. */
export interface MessageBodies {
  readonly approve: string | NamedBody;
  readonly skip: string | UnnamedBody;
  /** With `reason` it counts only if the run waits for that reason. */
  readonly retry: string | (UnnamedBody & { readonly reason?: PauseReason });
  readonly revise: NamedBody & { readonly note: string };
  readonly abort: string | UnnamedBody;
  readonly answer: UnnamedBody & {
    readonly answer: Answer;
    readonly select?: Selection;
    readonly reason?: PauseReason;
  };
}

/** A body whose shape is right. `validate-decision.ts` says whether it fits the state of the run. */
export interface Message {
  /** Any text: the open decision says which answers it accepts. */
  readonly answer: string;
  /** Null: the body names none. */
  readonly decision: string | null;
  readonly reason: string | null;
  /** Null: a signal without one, whose id follows from its content. */
  readonly requestId: string | null;
  readonly by: Decider;
  readonly parts: MessageParts;
}
type MessageParts = Pick<DecisionRequest, 'files' | 'note' | 'set' | 'select' | 'signed'>;
/** `showsBody`: a refusal shows the body that would count. An update of our own client has a version, and its sender types commands. */
export type Reading = { readonly showsBody: boolean } & (
  | { readonly kind: 'message'; readonly message: Message }
  | { readonly kind: 'faulty'; readonly answer: string; readonly fault: string }
);

const NAME_chars = 200; // bound: Maximum length of the sender's name that a record keeps.
const FROM_chars = 50; // bound: Maximum length of the sender's origin that a record keeps.

/** Reads the body of a message. `updateId` names an update whose body names no request. */
export function readMessage(name: MessageName, body: unknown, updateId?: string): Reading {
  const fields = name === 'abort' ? usableFields(fieldsOf(name, body)) : fieldsOf(name, body);
  const showsBody = updateId === undefined || fields?.v === undefined;
  const faulty = (fault: string): Reading => ({
    kind: 'faulty',
    showsBody,
    answer: name === 'answer' ? textOr(fields?.answer, '') : name,
    fault,
  });
  if (fields === null)
    return faulty(
      `the body must be ${TAKES_ID.has(name) ? 'the id of the decision, or an object' : 'an object'}`,
    );
  if (fields.v !== undefined && !isKnown(fields)) {
    const { message, next = '' } = unknownVersion('The answer', fields);
    return faulty(`${message} ${next}`);
  }
  const fault = fieldFault(name, fields);
  if (fault !== null) return faulty(fault);
  return { kind: 'message', showsBody, message: messageOf(name, fields, updateId) };
}

/** Messages whose body may be the id of the decision alone. */
const TAKES_ID: ReadonlySet<MessageName> = new Set(['approve', 'skip', 'retry', 'abort']);

/** Null: the body is neither an object nor a text in its place. An absent or empty body has no fields. */
function fieldsOf(name: MessageName, body: unknown): Record<string, unknown> | null {
  if (body === undefined || body === null || body === '') return {};
  if (typeof body === 'string' && TAKES_ID.has(name)) return { decision: body.trim() };
  return isRecord(body) ? body : null;
}

const isText = (value: unknown): value is string => typeof value === 'string';
const isFilled = (value: unknown): boolean => isText(value) && value !== '';
const isTexts = (value: unknown): boolean => Array.isArray(value) && value.every(isText);
const isSelection = (value: unknown): boolean =>
  isRecord(value) &&
  Object.values(value).every(
    (list) => Array.isArray(list) && list.every((item) => typeof item === 'number'),
  );
const isSignature = (value: unknown): boolean =>
  isRecord(value) && isText(value.at) && isText(value.signature);

const FIELDS: Readonly<
  Record<string, readonly [fits: (value: unknown) => boolean, expected: string]>
> = {
  v: [() => true, 'the version'],
  decision: [isText, 'a text, the id of the decision'],
  answer: [isFilled, 'a text'],
  reason: [isText, 'a text'],
  files: [isTexts, 'a list of paths'],
  note: [isText, 'a text'],
  set: [isRecord, 'an object of limits'],
  select: [isSelection, 'an object: a list of change numbers by path'],
  signed: [isSignature, '{"at": "…", "signature": "…"}'],
  by: [(value) => isText(value) || isRecord(value), 'a name, or {"name": "…", "from": "…"}'],
  requestId: [isFilled, 'a text that is not empty'],
};
const isFieldOf = (name: MessageName, field: string): boolean => {
  if (field === 'answer' || field === 'select') return name === 'answer';
  if (field === 'reason') return name === 'answer' || name === 'retry';
  return Object.hasOwn(FIELDS, field);
};

/** An abort counts whatever else its body says: only the decision that it names must be right. */
const usableFields = (fields: Record<string, unknown> | null): Record<string, unknown> | null =>
  fields &&
  Object.fromEntries(
    Object.entries(fields).filter(
      ([field, value]) =>
        field === 'decision' || (isFieldOf('abort', field) && FIELDS[field]?.[0](value) === true),
    ),
  );

/**
 * Says which field is unknown or wrong; null if none is. A misspelt `decision` must not make a message one without an id. A body with `v` is
 * from a program, whose later fields are no matter (docs/versions.md).
 */
function fieldFault(name: MessageName, fields: Record<string, unknown>): string | null {
  const isTyped = fields.v === undefined;
  const strange = Object.keys(fields).find((field) => isTyped && !isFieldOf(name, field));
  if (strange !== undefined) {
    const known = Object.keys(FIELDS).filter((field) => isFieldOf(name, field));
    return `${JSON.stringify(strange.slice(0, NAME_chars))} is not a field of \`${name}\`; fields are: ${known.join(', ')}`;
  }
  if (name === 'answer' && fields.answer === undefined) return 'answer must be a text';
  for (const [field, [fits, expected]] of Object.entries(FIELDS))
    if (Object.hasOwn(fields, field) && fields[field] !== undefined && !fits(fields[field]))
      return `${field} must be ${expected}`;
  return null;
}

const textOr = <T>(value: unknown, otherwise: T): string | T =>
  isText(value) && value !== '' ? value : otherwise;

function messageOf(
  name: MessageName,
  fields: Record<string, unknown>,
  updateId: string | undefined,
): Message {
  const { by } = fields;
  const sender = isRecord(by) ? by : { name: by };
  const present = (['files', 'note', 'set', 'select', 'signed'] as const).filter(
    (field) => fields[field] !== undefined,
  );
  return {
    answer: name === 'answer' ? asText(fields.answer) : name,
    decision: textOr(fields.decision, null),
    reason: textOr(fields.reason, null),
    requestId: textOr(fields.requestId, updateId ?? null),
    by: {
      name: textOr(sender.name, 'someone').slice(0, NAME_chars),
      from: textOr(sender.from, updateId === undefined ? 'signal' : 'update').slice(0, FROM_chars),
    },
    parts: Object.fromEntries(present.map((field) => [field, fields[field]])) as MessageParts,
  };
}
