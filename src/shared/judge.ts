/** Which decisions of people count: asked by the update's validator and by the signals. What each does is in decide.ts. Pure. */
import {
  ANSWER_MEANS,
  namedFiles,
  WHOLE_ANSWERS,
  type Answer,
  type DecideOutcome,
  type DecisionPoint,
  type DecisionRequest,
  type SettledDecision,
} from './decisions.js';
import { BOUNDS, LIMITS, type LimitName } from './limits.js';
import type { SealedProposal } from './protocol.js';
import { asText, short } from './text.js';
import { SHOWN_BOUNDS } from './bounds.js';

/** What is judged by, of a step's state or a plan's. */
export interface Deciding {
  readonly stage: string;
  readonly outcome: string | null;
  readonly decision: DecisionPoint | null;
  readonly settled: readonly SettledDecision[];
  readonly seenRequests: readonly string[];
  /** A step's; a plan has none. */
  readonly proposal?: SealedProposal | null;
}

export type Judgement =
  | { readonly counts: true }
  /** Was counted before: nothing to do. */
  | { readonly counts: false; readonly again: true; readonly message: string }
  | { readonly counts: false; readonly again: false; readonly message: string };

const no = (message: string): Judgement => ({ counts: false, again: false, message });
const again = (message: string): Judgement => ({ counts: false, again: true, message });

export const isLimitName = (name: string): name is LimitName => Object.hasOwn(LIMITS, name);
/** The answer that a file has, if any. Paths are names of others: `constructor` is a file like any other. */
export const answerOf = (open: DecisionPoint, path: string): Answer | undefined =>
  Object.hasOwn(open.answered, path) ? open.answered[path] : undefined;
/** What somebody sent, short enough for a message. */
const shown = (value: unknown): string => short(asText(value), SHOWN_BOUNDS.request_chars);

function judgeSettings(request: DecisionRequest): string | null {
  for (const [name, value] of Object.entries(request.set ?? {})) {
    if (name === 'model' || name === 'command') {
      if (typeof value !== 'string' || value.trim() === '') return `set.${name} must be a text, got ${shown(value)}`;
      continue;
    }
    if (!isLimitName(name)) return `set.${shown(name)} is not a limit; limits are: ${Object.keys(LIMITS).join(', ')}`;
    const { min, max, unit } = LIMITS[name];
    if (typeof value !== 'number' || !Number.isFinite(value) || value < min || value > max)
      return `set.${name} must be a number of ${unit} from ${min} to ${max}, got ${shown(value)}`;
  }
  return null;
}

/** A selection is a part: all of a file is `approve`, nothing of it is `skip`. */
function judgeSelection({ proposal }: Deciding, { answer, files, select }: DecisionRequest): string | null {
  if (select === undefined)
    return answer === 'select' ? 'select needs the changes to take: {"select": {"PATH": [1, 3]}}' : null;
  if (answer !== 'select') return `${answer} takes no selection of changes`;
  if (files !== undefined) return 'select names its files by itself; leave files out';
  const lists = Object.values(select);
  if (lists.length === 0) return 'select names no file';
  if (lists.reduce((sum, list) => sum + list.length, 0) > BOUNDS.selectedChanges)
    return `select takes at most ${BOUNDS.selectedChanges} changes`;
  const changes = new Map((proposal?.files ?? []).map((file) => [file.path, file.changes ?? 0]));
  for (const [path, list] of Object.entries(select)) {
    const most = changes.get(path);
    // A path that is not in the proposal is told by judgeFiles.
    if (most === undefined) continue;
    if (most < 2) return `${shown(path)} cannot be taken in part; approve or skip it`;
    const strange = list.find((n) => !Number.isInteger(n) || n < 1 || n > most);
    if (strange !== undefined) return `${shown(path)} has changes 1 to ${most}, got ${shown(strange)}`;
    if (new Set(list).size !== list.length) return `a change of ${shown(path)} is named twice`;
    if (list.length === 0) return `nothing of ${shown(path)} is chosen: skip it`;
    if (list.length === most) return `all of ${shown(path)} is chosen: approve it`;
  }
  return null;
}

function judgeSettled(state: Deciding, request: DecisionRequest): Judgement | null {
  const past = state.settled.find((decision) => decision.id === request.decision);
  if (past === undefined) return null;
  const files = namedFiles(request);
  const wanted = files === undefined ? null : [...files].sort().join('\0');
  const same = past.answers.some(
    (record) =>
      record.answer === request.answer &&
      (wanted === null ? past.answers.length === 1 : [...record.files].sort().join('\0') === wanted),
  );
  const words = past.answers.map((record) => `${record.answer} by ${record.by.name}`).join(', ');
  return same
    ? again(`decision ${past.id} was settled already: ${words}`)
    : no(`decision ${past.id} is settled: ${words}`);
}

/** Does this request count now? The first verdict on a file stands; an approval names the proposal it was made for. */
export function judge(state: Deciding, request: DecisionRequest): Judgement {
  if (state.seenRequests.includes(request.requestId)) return again('this request was counted already');
  const settled = judgeSettled(state, request);
  if (settled !== null) return settled;
  if (state.stage === 'closed') return no(`the run has ended: ${state.outcome ?? 'done'}`);
  const open = state.decision;
  if (request.answer === 'abort' && request.decision === '') return { counts: true };
  if (open === null) return no('no decision is open; see `emend show`');
  if (request.decision !== open.id) {
    const older = open.proposalId !== null ? ' (an answer counts only for the proposal it names)' : '';
    return no(`decision ${shown(request.decision)} is not open; open is ${open.id}${older}`);
  }
  if (!open.accepts.includes(request.answer))
    return no(`${request.answer} is no answer to ${open.reason}; answers are: ${open.accepts.join(', ')}`);
  if ((request.note ?? '').length > BOUNDS.note_bytes)
    return no(`the note is longer than ${BOUNDS.note_bytes} characters`);
  if (request.answer === 'revise' && (request.note ?? '').trim() === '')
    return no('revise needs a note that says what to change');
  if (request.answer === 'other' && typeof request.set?.command !== 'string') return no('other needs set.command');
  if (request.requestId.length > BOUNDS.note_bytes) return no('the request id is too long');
  const wrong = judgeSettings(request) ?? judgeSelection(state, request);
  if (wrong !== null) return no(wrong);
  return judgeFiles(open, request);
}

function judgeFiles(open: DecisionPoint, request: DecisionRequest): Judgement {
  const named = namedFiles(request);
  if (named === undefined) return { counts: true };
  if (named.length === 0) return no('files is empty; leave it out to answer for all files');
  if (WHOLE_ANSWERS.includes(request.answer) || open.files.length === 0)
    return no(`${request.answer} takes no files here`);
  const known = new Set(open.files.map((file) => file.path));
  const stranger = named.find((path) => !known.has(path));
  if (stranger !== undefined)
    return no(
      `${shown(stranger)} is not in this decision; files are: ${open.files
        .map((file) => file.path)
        .slice(0, 20)
        .join(', ')}`,
    );
  const clash = named.find((path) => (answerOf(open, path) ?? request.answer) !== request.answer);
  if (clash !== undefined)
    return no(`${clash} has its answer already: ${answerOf(open, clash) ?? ''}; the first one stands`);
  if (named.every((path) => answerOf(open, path) === request.answer))
    return again('these files have this answer already');
  return { counts: true };
}

/** What the caller of an accepted update is told; call it on the state after the decision was folded. */
export function outcomeOf(before: Deciding, after: Deciding, request: DecisionRequest): DecideOutcome {
  const id = request.decision === '' ? (before.decision?.id ?? 'abort') : request.decision;
  if (after.decision?.id === id) {
    const { decision } = after;
    const left = decision.files.filter((file) => answerOf(decision, file.path) === undefined).length;
    return { outcome: 'recorded', decision: id, message: `${request.answer} recorded; ${left} files still wait` };
  }
  return { outcome: 'settled', decision: id, message: `${request.answer}: ${ANSWER_MEANS[request.answer]}` };
}
