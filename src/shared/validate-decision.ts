/** Which decisions of people count: asked by the update's validator and by the signals. What each does is in decide.ts. Pure. */
import {
  meaningOf,
  isOfTheRest,
  namedFiles,
  type Answer,
  type DecideOutcome,
  type DecisionPoint,
  type DecisionRecord,
  type DecisionRequest,
  type ResolvedDecision,
  TEXT_SETTINGS,
} from './decisions.js';
import type { OutageState } from './outage.js';
import { urlFault } from './repository.js';
import type { ProposalSummary } from './proposal-activities.js';
import { asText, count, short } from './text.js';
import { isLimitName, type Rules } from './rules.js';

/** What counts, of a step's state or a plan's. */
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
const shown = ({ input }: DecisionContext, value: unknown): string =>
  short(asText(value), input.rules.bounds.request_chars);

function validateSettings(state: DecisionContext, request: DecisionRequest): string | null {
  const { limits } = state.input.rules;
  for (const [name, value] of Object.entries(request.set ?? {})) {
    if (TEXT_SETTINGS.some((text) => text === name)) {
      if (typeof value !== 'string' || value.trim() === '')
        return `set.${name} must be a text, got ${shown(state, value)}`;
      // Refused here it is in no history: it may hold a password.
      const fault = name === 'repository' ? urlFault(value) : null;
      if (fault !== null) return `set.repository: expected ${fault}`;
      continue;
    }
    const part = state.decision?.parts?.find((each) => each.name === name);
    if (part !== undefined) {
      const said = typeof value === 'string' ? value.split(',').map((word) => word.trim()) : [];
      if (said.length === 0 || said.some((word) => !part.accepts.includes(word)))
        return `set.${name} must be of ${part.accepts.join(', ')}, got ${shown(state, value)}`;
      continue;
    }
    if (!isLimitName(state.input.rules, name))
      return `set.${shown(state, name)} is not a limit; limits are: ${Object.keys(limits).join(', ')}`;
    const { unit = '', min = 0, max = 0 } = limits[name] ?? {};
    if (typeof value !== 'number' || !Number.isFinite(value) || value < min || value > max)
      return `set.${name} must be a number of ${unit} from ${min} to ${max}, got ${shown(state, value)}`;
  }
  return null;
}

/** A selection is a part: all of a file is `approve`, nothing of it is `skip`. */
function validateSelection(
  state: DecisionContext,
  { answer, files, select }: DecisionRequest,
): string | null {
  if (select === undefined)
    return answer === 'select'
      ? 'select needs the changes to accept: {"select": {"PATH": [1, 3]}}'
      : null;
  if (answer !== 'select') return `${answer} accepts no selection of changes`;
  if (files !== undefined) return 'select already names its files; omit files';
  const { selectedChanges } = state.input.rules.bounds;
  const lists = Object.values(select);
  if (lists.length === 0) return 'select names no file';
  if (lists.reduce((sum, list) => sum + list.length, 0) > selectedChanges)
    return `select takes at most ${selectedChanges} changes`;
  const changes = new Map(
    (state.proposal?.files ?? []).map((file) => [file.path, file.changes ?? 0]),
  );
  for (const [path, list] of Object.entries(select)) {
    const most = changes.get(path);
    // A path that is not in the proposal is told by validateFiles.
    if (most === undefined) continue;
    if (most < 2) return `${shown(state, path)} cannot be accepted in part; approve or skip it`;
    const strange = list.find((n) => !Number.isInteger(n) || n < 1 || n > most);
    if (strange !== undefined)
      return `${shown(state, path)} has changes 1 to ${most}, got ${shown(state, strange)}`;
    if (new Set(list).size !== list.length)
      return `a change of ${shown(state, path)} is named twice`;
    if (list.length === 0) return `nothing of ${shown(state, path)} is selected: skip it`;
    if (list.length === most) return `all of ${shown(state, path)} is selected: approve it`;
  }
  return null;
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
  const wanted = files === undefined ? null : [...files].sort().join('\0');
  const same = past.answers.some(
    (record) =>
      isSame(record, request) &&
      (wanted === null
        ? past.answers.length === 1
        : [...record.files].sort().join('\0') === wanted),
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

/** What is told to who names no decision: the JSON to paste. */
export const mustName = ({ decision }: Pick<DecisionContext, 'decision'>): string =>
  decision === null
    ? 'no decision is open'
    : `it must name the decision you saw: send {"decision": "${decision.id}"}`;

/** Does this request count now? The first verdict on a file stands; an approval names the proposal it was made for. */
export function validateDecision(state: DecisionContext, request: DecisionRequest): Validation {
  const { note_bytes } = state.input.rules.bounds;
  if (state.seenRequests.includes(request.requestId))
    return again('this request was already received');
  const resolved = validateResolved(state, request);
  if (resolved !== null) return resolved;
  if (state.stage.at === 'closed') return no(`the run has ended: ${state.stage.outcome ?? 'done'}`);
  const open = state.decision;
  if (open === null && request.decision === state.outage?.id) return validateWait(request);
  if (request.answer === 'abort' && request.decision === '') return { counts: true };
  if (open === null) return no('no decision is open; see `emend show`');
  if (request.decision === '') return no(mustName(state));
  if (request.decision !== open.id) {
    const older =
      open.proposalId !== null ? ' (an answer counts only for the proposal it names)' : '';
    return no(`decision ${shown(state, request.decision)} is not open; open is ${open.id}${older}`);
  }
  if (!open.accepts.includes(request.answer))
    return no(
      `${request.answer} is not an answer to ${open.reason}; answers are: ${open.accepts.join(', ')}`,
    );
  if ((request.note ?? '').length > note_bytes)
    return no(`the note is longer than ${note_bytes} characters`);
  if (request.answer === 'revise' && (request.note ?? '').trim() === '')
    return no('revise needs a note that says what to change');
  if (request.answer === 'other' && typeof request.set?.command !== 'string')
    return no('other needs set.command');
  if (request.answer === 'change_model' && typeof request.set?.model !== 'string')
    return no('change_model needs set.model');
  const { host, repository } = request.set ?? {};
  if (request.answer === 'move' && (host === undefined) === (repository === undefined))
    return no(
      'move needs a place, set.host (and set.workspace) or set.repository; type: emend move RUN --to DIR',
    );
  if (request.requestId.length > note_bytes) return no('the request id is too long');
  const wrong = validateSettings(state, request) ?? validateSelection(state, request);
  if (wrong !== null) return no(wrong);
  return validateFiles(state, open, request);
}

function validateFiles(
  state: DecisionContext,
  open: DecisionPoint,
  request: DecisionRequest,
): Validation {
  const named = namedFiles(request);
  if (named === undefined) return { counts: true };
  if (named.length === 0) return no('files is empty; omit it to answer for all files');
  const whole =
    state.input.rules.wholeAnswers.includes(request.answer) || isOfTheRest(open, request.answer);
  if (whole || open.files.length === 0) return no(`${request.answer} accepts no files here`);
  const known = new Set(open.files.map((file) => file.path));
  const stranger = named.find((path) => !known.has(path));
  if (stranger !== undefined)
    return no(
      `${shown(state, stranger)} is not in this decision; files are: ${open.files
        .map((file) => file.path)
        .slice(0, 20)
        .join(', ')}`,
    );
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

/** What the caller of an accepted update is told; call it on the state after the decision was folded. */
export function outcomeOf(
  before: DecisionContext,
  after: DecisionContext,
  request: DecisionRequest,
): DecideOutcome {
  const id = request.decision === '' ? (before.decision?.id ?? 'abort') : request.decision;
  const { decision } = after;
  // An abort is taken up once the work under way has ended.
  if (decision?.id === id && request.answer !== 'abort') {
    const left = decision.files.filter(
      (file) => answerOf(decision, file.path) === undefined,
    ).length;
    const message = `${request.answer} recorded; ${count(left, 'file still needs', 'files still need')} an answer`;
    return { outcome: 'recorded', decision: id, message };
  }
  const message = `${request.answer}: ${meaningOf(before.decision, request.answer)}`;
  return { outcome: 'resolved', decision: id, message };
}
