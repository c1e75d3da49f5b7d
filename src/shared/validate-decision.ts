/**
 * The one check of an answer against the state of its run: the validators of updates and the handlers of signals call it. What each answer
 * does is in decide.ts. Clients call parts of it for an early error. Pure.
 */
import {
  isOfTheRest,
  meaningOf,
  namedFiles,
  type Answer,
  type DecideOutcome,
  type DecisionPoint,
  type DecisionRecord,
  type DecisionRequest,
  TEXT_SETTINGS,
  type ResolvedDecision,
  type Selection,
  type StartPart,
} from './decisions.js';
import type { LimitName } from './limits.js';
import { MESSAGES, type Message, type Reading } from './messages.js';
import type { OutageState } from './outage.js';
import { urlFault } from './repository.js';
import type { ProposalSummary } from './proposal-activities.js';
import { asText, bytesOf, checksum, count, short } from './text.js';
import { cut, type Rules } from './rules.js';

/** The part of the state of a step or a plan that decides which answers count. */
export interface DecisionContext extends OutageState {
  readonly input: { readonly rules: Rules };
  readonly stage: { readonly at: string; readonly outcome?: string };
  readonly decision: DecisionPoint | null;
  readonly resolved: readonly ResolvedDecision[];
  /** Answers to the open decision so far. */
  readonly pendingRecords: readonly DecisionRecord[];
  readonly seenRequests: readonly string[];
  /** A step's; a plan has none. */
  readonly proposal?: ProposalSummary | null;
}

export type Validation =
  | { readonly counts: true }
  /** `again`: it was counted before, and there is nothing to do. */
  | { readonly counts: false; readonly again: boolean; readonly message: string };

const no = (message: string): Validation => ({ counts: false, again: false, message });
const again = (message: string): Validation => ({ counts: false, again: true, message });

/** The answer that a file has, if any. Paths are names of others: `constructor` is a file like any other. */
export const answerOf = (open: DecisionPoint, path: string): Answer | undefined =>
  Object.hasOwn(open.answered, path) ? open.answered[path] : undefined;
/** What somebody sent, short enough for a message. */
const shown = ({ bounds }: Rules, value: unknown): string =>
  short(asText(value), bounds.request_chars);

/** Finds the first setting that the decision does not take. */
function settingsFault(
  rules: Rules,
  { parts = [] }: Pick<DecisionPoint, 'parts'>,
  set: DecisionRequest['set'] = {},
): string | null {
  for (const [name, value] of Object.entries(set)) {
    const fault = settingFault(rules, parts, name, value);
    if (fault !== null) return fault;
  }
  return null;
}

function settingFault(
  rules: Rules,
  parts: readonly StartPart[],
  name: string,
  value: unknown,
): string | null {
  // `partsFault` has checked the texts.
  if (isTextSetting(name)) return null;
  const part = parts.find((candidate) => candidate.name === name);
  return part === undefined ? limitFault(rules, name, value) : partFault(rules, part, value);
}

const isTextSetting = (name: string): boolean => TEXT_SETTINGS.some((text) => text === name);

function textFault(rules: Rules, name: string, value: unknown): string | null {
  if (typeof value !== 'string' || value.trim() === '')
    return `set.${name} must be a text, got ${shown(rules, value)}`;
  // The refused update is in no history: the URL may hold a password.
  const fault = name === 'repository' ? urlFault(value) : null;
  return fault === null ? null : `set.repository: expected ${fault}`;
}

function partFault(rules: Rules, { name, accepts }: StartPart, value: unknown): string | null {
  const words = typeof value === 'string' ? value.split(',').map((word) => word.trim()) : [];
  return words.length === 0 || words.some((word) => !accepts.includes(word))
    ? `set.${name} must be of ${accepts.join(', ')}, got ${shown(rules, value)}`
    : null;
}

function limitFault(rules: Rules, name: string, value: unknown): string | null {
  const { limits } = rules;
  if (!Object.hasOwn(limits, name))
    return `set.${shown(rules, name)} is not a limit; limits are: ${Object.keys(limits).join(', ')}`;
  const { unit = '', min = 0, max = 0 } = limits[name as LimitName] ?? {};
  return typeof value !== 'number' || !Number.isFinite(value) || value < min || value > max
    ? `set.${name} must be a number of ${unit} from ${min} to ${max}, got ${shown(rules, value)}`
    : null;
}

/** Finds what is wrong with a selection. It is a part: all of a file is `approve`, nothing of it is `skip`. */
function selectionFault(
  rules: Rules,
  select: Selection,
  proposal: ProposalSummary | null,
): string | null {
  const { selectedChanges } = rules.bounds;
  const lists = Object.values(select);
  if (lists.length === 0) return 'select names no file';
  if (lists.reduce((sum, list) => sum + list.length, 0) > selectedChanges)
    return `select takes at most ${selectedChanges} changes`;
  const changes = new Map((proposal?.files ?? []).map((file) => [file.path, file.changes ?? 0]));
  for (const [path, list] of Object.entries(select)) {
    const most = changes.get(path);
    // `filesFault` reports a path that is not in the proposal.
    const fault = most === undefined ? null : partOfFileFault(rules, path, list, most);
    if (fault !== null) return fault;
  }
  return null;
}

function partOfFileFault(
  rules: Rules,
  path: string,
  list: readonly number[],
  most: number,
): string | null {
  const file = shown(rules, path);
  if (most < 2) return `${file} cannot be accepted in part; approve or skip it`;
  const strange = list.find((n) => !Number.isInteger(n) || n < 1 || n > most);
  if (strange !== undefined)
    return `${file} has changes 1 to ${most}, got ${shown(rules, strange)}`;
  if (new Set(list).size !== list.length) return `a change of ${file} is named twice`;
  if (list.length === 0) return `nothing of ${file} is selected: skip it`;
  return list.length === most ? `all of ${file} is selected: approve it` : null;
}

/** As the one that counted: of another note, of other changes and of settings (no record has them) nobody is told that they count. */
const isSame = ({ answer, note, select }: DecisionRecord, request: DecisionRequest): boolean =>
  answer === request.answer &&
  request.set === undefined &&
  (request.note ?? note) === note &&
  JSON.stringify(request.select ?? select) === JSON.stringify(select);

function validateResolved(state: DecisionContext, request: DecisionRequest): Validation | null {
  const past = state.resolved.find((decision) => decision.id === request.decision);
  if (past === undefined) return null;
  const files = namedFiles(request);
  const paths = files === undefined ? null : [...files].sort().join('\0');
  const same = past.answers.some(
    (record) =>
      isSame(record, request) &&
      (paths === null ? past.answers.length === 1 : [...record.files].sort().join('\0') === paths),
  );
  const words = past.answers.map((record) => `${record.answer} by ${record.by.name}`).join(', ');
  return same
    ? again(`decision ${past.id} is already resolved: ${words}`)
    : no(`decision ${past.id} is resolved: ${words}`);
}

/** A wait for a model that is down takes one word. */
const validateWait = ({ answer, files, note, set }: DecisionRequest): Validation => {
  if (answer === 'abort') return { counts: true };
  if (answer !== 'retry')
    return no(`${answer} is not an answer to a wait; answers are: retry, abort`);
  const more = files !== undefined || note !== undefined || set !== undefined;
  return more ? no('retry of a wait accepts no files, note or settings') : { counts: true };
};

/** An answer as a client gives it. */
export type GivenAnswer = Pick<DecisionRequest, 'answer' | 'files' | 'note' | 'set' | 'select'>;

/** Says what is wrong with an answer, whatever decision is open: a part that is missing, too long or not for this answer. */
export function partsFault(rules: Rules, given: GivenAnswer): string | null {
  const { note = '', set = {} } = given;
  const { note_bytes } = rules.bounds;
  const size_bytes = bytesOf(note);
  if (size_bytes > note_bytes)
    return `the note has ${size_bytes} bytes; at most ${note_bytes} are allowed`;
  const texts = Object.entries(set).filter(([name]) => isTextSetting(name));
  for (const [name, value] of texts) {
    const fault = textFault(rules, name, value);
    if (fault !== null) return fault;
  }
  return missingPart(given) ?? selectFault(given);
}

function missingPart({ answer, note = '', set = {}, select }: GivenAnswer): string | null {
  switch (answer) {
    case 'revise':
      return note.trim() === '' ? 'revise needs a note that says what to change' : null;
    case 'other':
      return set.command === undefined ? 'other needs set.command' : null;
    case 'change_model':
      return set.model === undefined ? 'change_model needs set.model' : null;
    case 'move':
      return (set.host === undefined) === (set.repository === undefined)
        ? 'move needs a place, set.host (and set.workspace) or set.repository; type: emend move RUN --to DIR'
        : null;
    case 'select':
      return select === undefined
        ? 'select needs the changes to accept: {"select": {"PATH": [1, 3]}}'
        : null;
    default:
      return null;
  }
}

function selectFault({ answer, files, select }: GivenAnswer): string | null {
  if (select === undefined) return null;
  if (answer !== 'select') return `${answer} accepts no selection of changes`;
  return files === undefined ? null : 'select already names its files; omit files';
}

/** Says why the decision does not take the answer for these files, as far as the decision alone shows it. */
export const acceptanceFault = (
  rules: Rules,
  open: DecisionPoint,
  given: Pick<GivenAnswer, 'answer' | 'files' | 'select'>,
): string | null => acceptsFault(rules, open, given) ?? filesFault(rules, open, given);

const acceptsFault = (
  rules: Rules,
  { accepts, reason }: DecisionPoint,
  { answer }: Pick<GivenAnswer, 'answer'>,
): string | null =>
  accepts.includes(answer)
    ? null
    : `${shown(rules, answer)} is not an answer to ${reason}; answers are: ${accepts.join(', ')}`;

/** Says why the open decision does not take the answer. `proposal`: the one that the decision is about. */
const answerFault = (
  rules: Rules,
  open: DecisionPoint,
  given: GivenAnswer,
  proposal: ProposalSummary | null,
): string | null =>
  acceptsFault(rules, open, given) ??
  partsFault(rules, given) ??
  settingsFault(rules, open, given.set) ??
  (given.select === undefined ? null : selectionFault(rules, given.select, proposal)) ??
  filesFault(rules, open, given);

function filesFault(
  rules: Rules,
  open: DecisionPoint,
  request: Pick<GivenAnswer, 'answer' | 'files' | 'select'>,
): string | null {
  const named = namedFiles(request);
  if (named === undefined) return null;
  if (named.length === 0) return 'files is empty; omit it to answer for all files';
  const whole = rules.wholeAnswers.includes(request.answer) || isOfTheRest(open, request.answer);
  if (whole || open.files.length === 0) return `${request.answer} accepts no files here`;
  const known = open.files.map((file) => file.path);
  const stranger = named.find((path) => !known.includes(path));
  return stranger === undefined
    ? null
    : `${shown(rules, stranger)} is not in this decision; files are: ${known.slice(0, FILES_LISTED).join(', ')}`;
}

/** Says whether this request counts now. The first verdict on a file counts; an approval names the proposal it was made for. */
export function validateDecision(state: DecisionContext, request: DecisionRequest): Validation {
  const { rules } = state.input;
  if (state.seenRequests.includes(request.requestId))
    return again('this request was already received');
  const resolved = validateResolved(state, request);
  if (resolved !== null) return resolved;
  if (state.stage.at === 'closed') return no(`the run has ended: ${state.stage.outcome ?? 'done'}`);
  const open = state.decision;
  if (open === null && request.decision === state.outage?.id) return validateWait(request);
  if (request.answer === 'abort' && request.decision === '') return { counts: true };
  if (open === null) return no(NONE_OPEN);
  if (request.decision === '') return no(MUST_NAME);
  if (request.decision !== open.id) {
    const older =
      open.proposalId !== null ? ' (an answer counts only for the proposal it names)' : '';
    return no(`decision ${shown(rules, request.decision)} is not open; open is ${open.id}${older}`);
  }
  if (request.requestId.length > rules.bounds.note_bytes) return no('the request id is too long');
  const fault = answerFault(rules, open, request, state.proposal ?? null);
  return fault === null ? validateVerdicts(state, open, request) : no(fault);
}

/** Says whether the files that the request names are without an answer, or have this one already. */
function validateVerdicts(
  state: DecisionContext,
  open: DecisionPoint,
  request: DecisionRequest,
): Validation {
  const named = namedFiles(request);
  if (named === undefined) return { counts: true };
  const isNew = named.some((path) => answerOf(open, path) === undefined);
  const isOther = (path: string): boolean =>
    (answerOf(open, path) ?? request.answer) !== request.answer ||
    (!isNew &&
      !state.pendingRecords.some(
        (record) => record.files.includes(path) && isSame(record, request),
      ));
  const clash = named.find(isOther);
  if (clash !== undefined)
    return no(
      `${clash} is already answered: ${answerOf(open, clash) ?? ''}; the first answer counts`,
    );
  return isNew ? { counts: true } : again('these files already have this answer');
}

/** What becomes of a message. */
export type Verdict =
  | { readonly kind: 'counts'; readonly request: DecisionRequest }
  /** `again`: the same was counted before. `decision`: the id that the message names, else an empty text. */
  | {
      readonly kind: 'again' | 'refused';
      readonly decision: string;
      readonly message: string;
    };

/** Says whether what was sent counts now, and as which request. A refusal shows the body that would count. */
export function judge(state: DecisionContext, reading: Reading): Verdict {
  const verdict = verdictOf(state, reading);
  if (verdict.kind !== 'refused' || !reading.showsBody) return verdict;
  const answer = reading.kind === 'message' ? reading.message.answer : reading.answer;
  return { ...verdict, message: withBody(state, answer, verdict.message) };
}

function verdictOf(state: DecisionContext, reading: Reading): Verdict {
  if (reading.kind === 'faulty') return { kind: 'refused', decision: '', message: reading.fault };
  const { message } = reading;
  const refused = (text: string): Verdict => ({
    kind: 'refused',
    decision: message.decision ?? '',
    message: text,
  });
  const wait = openWait(state);
  const fault = reasonFault(state, wait, message);
  if (fault !== null) return refused(fault);
  const request = requestOf(
    message,
    message.decision ?? unnamedDecision(wait, message),
    state.input.rules,
  );
  const validation = validateDecision(state, request);
  if (validation.counts) return { kind: 'counts', request };
  return validation.again
    ? { kind: 'again', decision: request.decision, message: validation.message }
    : refused(validation.message);
}

type Wait = Pick<DecisionPoint, 'id' | 'reason'>;

function reasonFault(
  { input }: DecisionContext,
  wait: Wait | null,
  { reason }: Message,
): string | null {
  if (reason === null || wait?.reason === reason) return null;
  return wait === null
    ? NONE_OPEN
    : `the run waits for ${wait.reason}, not for ${shown(input.rules, reason)}`;
}

/** The decision of a message that names none; an empty text if the message must name it, or is for the run. */
const unnamedDecision = (wait: Wait | null, { answer }: Message): string =>
  COUNTS_WITHOUT_ID.has(answer) ? (wait?.id ?? '') : '';

/** Answers that apply nothing, so they count for the one open decision. `abort` needs none: it is for the run. */
const COUNTS_WITHOUT_ID: ReadonlySet<string> = new Set(['skip', 'retry']);

/** What the run waits for: its open decision, or a model that is down. */
const openWait = ({ decision, outage }: DecisionContext): Wait | null => {
  if (decision !== null) return decision;
  return outage === null ? null : { id: outage.id, reason: 'model_unavailable' };
};

/** An abort without a decision counts whatever its body says, so its note is cut instead of refused. */
const abortParts = ({ note }: Message['parts'], rules: Rules): Message['parts'] =>
  note === undefined ? {} : { note: cut(rules, note) };

function requestOf(message: Message, decision: string, rules: Rules): DecisionRequest {
  const { by } = message;
  const isBareAbort = message.answer === 'abort' && decision === '';
  const parts = isBareAbort ? abortParts(message.parts, rules) : message.parts;
  return {
    ...parts,
    by,
    decision,
    // `validateDecision` refuses what is not an answer of the open decision.
    answer: message.answer as Answer,
    requestId: message.requestId ?? signalId(message, decision),
  };
}

/** The same signal sent twice has the same id, so it counts once. */
function signalId({ answer, parts }: Message, decision: string): string {
  const { files, note, set, select } = parts;
  return `signal-${answer}-${decision}-${checksum(asText([files, note, set, select]))}`;
}

/** What an answer needs in addition to the id. */
const NEEDS: Partial<Record<Answer, object>> = {
  revise: { note: '…' },
  other: { set: { command: '…' } },
  change_model: { set: { model: '…' } },
  move: { set: { repository: '…' } },
  select: { select: { PATH: [1] } },
};

/** Appends the body that would count, if the run waits for such an answer. */
function withBody(state: DecisionContext, answer: string, text: string): string {
  const { decision, outage } = state;
  const accepted: readonly string[] =
    decision?.accepts ?? (outage === null ? [] : ['retry', 'abort']);
  const id = decision?.id ?? outage?.id;
  if (id === undefined || !accepted.includes(answer)) return text;
  const place = Object.hasOwn(MESSAGES, answer) ? '' : ' as `answer`';
  return `${text}: send ${bodyOf(id, answer as Answer)}${place}`;
}

/** Returns the body to send for an answer: that of the message of its name, else that of `answer`. */
export function bodyOf(decision: string, answer: Answer): string {
  const body = {
    decision,
    ...(Object.hasOwn(MESSAGES, answer) ? {} : { answer }),
    ...NEEDS[answer],
  };
  return JSON.stringify(body).replaceAll('":', '": ').replaceAll(',"', ', "');
}

const NONE_OPEN = 'no decision is open; see `emend show`';
const MUST_NAME = 'it must name the decision you saw';
const FILES_LISTED = 20; // bound: Maximum number of files that a refusal lists.

/** Returns what the caller of an accepted update gets; call it on the state after the decision was folded. */
export function outcomeOf(
  before: DecisionContext,
  after: DecisionContext,
  request: DecisionRequest,
): DecideOutcome {
  const id = request.decision === '' ? (before.decision?.id ?? 'abort') : request.decision;
  const { decision } = after;
  // An abort is taken up once the work under way has ended.
  if (decision?.id === id && request.answer !== 'abort') {
    const remaining = decision.files.filter(
      (file) => answerOf(decision, file.path) === undefined,
    ).length;
    const message = `${request.answer} recorded; ${count(remaining, 'file still needs', 'files still need')} an answer`;
    return { outcome: 'recorded', decision: id, message };
  }
  const message = `${request.answer}: ${meaningOf(before.decision, request.answer)}`;
  return { outcome: 'resolved', decision: id, message };
}
