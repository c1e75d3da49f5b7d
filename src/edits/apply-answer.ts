/**
 * From an answer to its outcome, all or nothing:
 *
 *   stop reason                        marker             parses              outcome
 *   cut (max_tokens, …, none)          any                any                 truncated
 *   refusal                                                                   declined
 *   end_turn, stop_sequence            right              yes                 edited, unchanged or refused
 *                                      right              no                  invalid
 *                                      missing or wrong   yes                 unmarked
 *                                      missing or wrong   ends inside a block truncated
 *                                      missing or wrong   otherwise no        invalid
 *
 * Blocks of search-replace that end in a bare `END` parse where no block ends in `END` and the nonce (readPlainBlocks).
 *
 * Thinking is left out first (thinking/index.ts); nothing here sees it. An answer that ends within it does not parse and ends inside a block.
 * An answer without edits parses where it says why nothing is to change (marker.ts): `unchanged`, with the note `said_unchanged`.
 */
import type {
  AnswerOutcome,
  EditResult,
  EditResults,
  Reason,
  ApplyAnswerInput,
  ApplyOptions,
  FormatContext,
  NotEdited,
  Reading,
  StopReason,
  ContextFile,
} from './types.js';
import { type FoundMarker, findMarker } from './marker.js';
import { sizeFault } from './answer-size.js';
import { callsIn, DIALECTS } from './dialects/index.js';
import type { Dialect } from './edit.js';
import { read, type ReadResponse } from './settle.js';
import {
  type AnswerFormat,
  TOLERANCES,
  type Tolerance,
  type ToleranceSettings,
} from '../shared/formats.js';
import { escaped } from '../shared/text.js';
import { toleranceOn } from './locate/likeness.js';
import { CUT_INSIDE_FENCE } from './text/fence.js';
import { formatIn } from './detect.js';
import { decodeOffered, makeFiles, type OfferedFiles } from './settle/files.js';
import { withNames } from './paths.js';
import { type ThinkingFault, withoutThinking } from './thinking/index.js';
import { unwrapped } from './wrapper.js';

const NAMES_REPORTED = 20; // bound: Names in a message; more are counted.
const LISTED_RESULTS = 10_000; // bound: Edits of an answer listed one by one; the counts take in all.
export const REASONS_REPORTED = 100; // bound: Of a refused answer so many reasons are told; more help nobody.

// What became of each edit of an answer: one entry an operation, hunk, block or file, whatever the format.

/** Notes that say that an edit had nothing to do. */
const SKIPPING = new Set(['no_change', 'already_present']);
const NOTHING_TOLD: readonly Reason[] = [];

/** `count`: edits that the answer holds. An answer is used whole or not at all, so one failed edit leaves all others unused. */
const editResults = (count: number, outcome: AnswerOutcome): EditResults => {
  const used = outcome.outcome === 'edited' || outcome.outcome === 'unchanged';
  const reasonsByEdit = new Map<number, Reason[]>();
  for (const reason of outcome.outcome === 'edited' ? outcome.notes : outcome.reasons) {
    if (reason.index === undefined) continue;
    const own = reasonsByEdit.get(reason.index) ?? [];
    own.push(reason);
    reasonsByEdit.set(reason.index, own);
  }
  const counts = { applied: 0, skipped: 0, failed: 0, unused: 0 };
  const results: EditResult[] = [];
  for (let index = 0; index < count; index += 1) {
    const reasons = reasonsByEdit.get(index) ?? NOTHING_TOLD;
    const done = reasons.some(({ code }) => SKIPPING.has(code)) ? 'skipped' : 'applied';
    const unusedBecause = reasons.length > 0 ? 'failed' : 'unused';
    const status = used ? done : unusedBecause;
    counts[status] += 1;
    if (results.length < LISTED_RESULTS) results.push({ index, status, reasons });
  }
  return { ...counts, results };
};

const not = (outcome: NotEdited['outcome'], reasons: readonly Reason[]): NotEdited => ({
  outcome,
  reasons,
});

const bounded = (outcome: AnswerOutcome): AnswerOutcome =>
  outcome.outcome === 'edited'
    ? outcome
    : { ...outcome, reasons: outcome.reasons.slice(0, REASONS_REPORTED) };

/** All edits of an answer, or why none of them: nothing in between. Throws only for bugs. */
export const applyAnswer = (input: ApplyAnswerInput): AnswerOutcome => {
  const { format, answer, options } = input;
  const stopped = checkStop(options.stopReason);
  if (stopped !== null) return stopped;
  const tooLarge = sizeFault(format, answer);
  if (tooLarge !== null) return not('invalid', [tooLarge]);

  const offered = decodeOffered(input.files);
  const readBy = readerOf(input, offered);
  const response = readBy(options);
  const refused = withTolerance(input, judge(response, offered, options), (tolerances) => {
    const tried = { ...options, tolerances };
    return judge(readBy(tried), offered, tried);
  });
  const outcome = named(refused, { files: offered, options });
  const isTold = response.edits > 0 && outcome.outcome !== 'truncated';
  return {
    ...bounded(outcome),
    ...(isTold ? { edits: editResults(response.edits, outcome) } : {}),
  };
};

/** What a dialect reads, and the marker of the response. */
type AnswerReading = ReadResponse & {
  readonly found: FoundMarker;
  /** The blocks do not have the nonce that the request asked for. */
  readonly isPlain?: true;
};
type ReadBy = (settings: ApplyOptions) => AnswerReading;

/** Reads a response in the requested format, or as calls of another tool whose text is in that format. */
const readerOf = (input: ApplyAnswerInput, files: FormatContext['files']): ReadBy => {
  const readOwn = readerIn(DIALECTS[input.format], input, files);
  let readCalls: ReadBy | null | undefined;
  return (settings) => {
    const own = readOwn(settings);
    if (own.reading.kind !== 'invalid') return own;
    readCalls ??= callsReader(input, files);
    const called = readCalls?.(settings);
    return called === undefined || called.reading.kind === 'invalid' ? own : called;
  };
};

/** Returns what reads the calls of a response; null: it has none in another format. */
const callsReader = (input: ApplyAnswerInput, files: FormatContext['files']): ReadBy | null => {
  const { text } = withoutThinking(unwrapped(input.answer).text, null, undefined);
  const format = formatIn(text);
  const dialect =
    format === null || format === input.format ? null : callsIn(format, DIALECTS[input.format]);
  return dialect === null || format === null
    ? null
    : readerIn(dialect, { ...input, format }, files);
};

const readerIn = (
  dialect: Dialect,
  { format, answer, options }: ApplyAnswerInput,
  files: FormatContext['files'],
): ReadBy => {
  const inner = unwrapped(answer);
  const { text, note, fault } = withoutThinking(inner.text, format, options.nonce);
  const marked = findMarker(format, text, options.nonce);
  const earlier = [inner.note, note].flatMap((one) => one ?? []);
  const found = { ...marked, notes: [...earlier, ...marked.notes] };
  const whole = found.marker === 'right' && !found.openFence;
  const { body, linesBefore, noChange } = found;
  return (settings) => {
    if (fault !== null) return { ...unreadable(fault), found };
    const context = { files, options: settings, whole, linesBefore };
    const withNonce = read(dialect, body, context);
    const mayBePlain = format === 'search-replace' && withNonce.reading.kind === 'invalid';
    const plain = mayBePlain ? readPlainBlocks(body, context) : null;
    const parsed: AnswerReading =
      plain === null ? { ...withNonce, found } : { ...plain, found, isPlain: true };
    if (!holdsNoEdit(parsed.reading)) return parsed;
    if (noChange === undefined)
      return { ...parsed, reading: withOther(parsed.reading, format, text) };
    const notes = [{ code: 'said_unchanged', message: noChange }];
    return { ...parsed, reading: { kind: 'plans', plans: [], tolerances: [], notes } };
  };
};

/**
 * Reads blocks of search-replace that end in a bare `END`, as models write them that know the format from elsewhere and pass over the nonce.
 * Null: one of them has the nonce, so a bare `END` may be text of the file; or the blocks do not parse so either.
 */
const readPlainBlocks = (body: string, context: FormatContext): ReadResponse | null => {
  const { nonce, ...options } = context.options;
  if (nonce === undefined || body.includes(`END ${nonce}`)) return null;
  const plain = read(DIALECTS['search-replace'], body, { ...context, options });
  return plain.reading.kind === 'invalid' ? null : plain;
};

/** The response of a fault in its thinking has no edits. */
const unreadable = ({ open, reason }: ThinkingFault): ReadResponse => ({
  reading: { kind: 'invalid', open, reasons: [reason] },
  files: 0,
  headers: 0,
  edits: 0,
});
/** Says of a response without an edit in the requested format that it has one in another. */
const withOther = (reading: Reading, format: AnswerFormat, response: string): Reading => {
  const other = formatIn(response);
  if (reading.kind !== 'invalid' || other === null || other === format) return reading;
  const reasons = reading.reasons.map((reason) => ({
    ...reason,
    message: `${reason.message} It looks like an edit in the format \`${other}\`: send it as \`${format}\`.`,
  }));
  return { ...reading, reasons };
};
const holdsNoEdit = (reading: Reading): boolean =>
  reading.kind === 'invalid' && reading.reasons.every(({ code }) => code === 'no_edits');

/** Each reason that is told, with the files that may be meant. */
const named = (outcome: AnswerOutcome, context: FormatContext): AnswerOutcome => {
  if (outcome.outcome === 'edited') return outcome;
  const reasons = outcome.reasons.map((reason, i) =>
    i < REASONS_REPORTED ? withNames(reason, context) : reason,
  );
  return { ...outcome, reasons };
};

/** Names the tolerance that is off and with which all of a refused answer would fit. */
const withTolerance = (
  { format, options: { tolerances } }: ApplyAnswerInput,
  outcome: AnswerOutcome,
  judgeWith: (tolerances: ToleranceSettings) => AnswerOutcome,
): AnswerOutcome => {
  if (outcome.outcome !== 'refused') return outcome;
  const { rules } = DIALECTS[format];
  const off = (Object.keys(TOLERANCES) as Tolerance[]).filter(
    (name) => rules.tolerances.has(name) && !toleranceOn(name, tolerances),
  );
  const fits = off.find((name) => judgeWith({ ...tolerances, [name]: true }).outcome === 'edited');
  if (fits === undefined) return outcome;
  const [first, ...others] = outcome.reasons;
  const hint = `The tolerance \`${fits}\` (${TOLERANCES[fits].what}) would match but is off; \`tolerances: { ${fits}: true }\` in emend.yaml turns it on.`;
  return first === undefined
    ? outcome
    : not('refused', [{ ...first, message: `${first.message} ${hint}` }, ...others]);
};

const judge = (
  { reading, files: fileCount, headers, edits, found, isPlain }: AnswerReading,
  offered: OfferedFiles,
  options: ApplyOptions,
): AnswerOutcome => {
  const marked = isPlain === true ? withPlainNote(found) : found;
  const unusable = checkMarker(marked, reading, options);
  if (unusable !== null) return unusable;
  if (reading.kind === 'invalid') return not('invalid', reading.reasons);
  if (found.stray) return not('invalid', [found.stray]);
  if (reading.kind === 'refused' && reading.needs !== undefined)
    return { outcome: 'needs_lines', reasons: reading.reasons, needs: reading.needs };
  const { counts } = found;
  if (
    counts !== undefined &&
    reading.kind === 'plans' &&
    (![fileCount, headers].includes(counts.files) || counts.edits !== edits)
  ) {
    const message = `The last line states ${counts.files} files and ${counts.edits} edits; the answer contains ${fileCount} and ${edits}.`;
    return not('invalid', [{ code: 'marker_counts', message }]);
  }
  return makeFiles(reading, offered, options, found.notes);
};

/** Returns whether the model ended its response by itself, as the API says it. */
export const endedByItself = (stopReason: StopReason): boolean =>
  stopReason === 'end_turn' || stopReason === 'stop_sequence';

/** Null: the model ended by itself, as far as the API says. An unknown stop reason proves no end. */
const checkStop = (stopReason: StopReason | undefined): NotEdited | null => {
  if (stopReason === undefined || endedByItself(stopReason)) return null;
  if (stopReason === 'refusal')
    return not('declined', [{ code: 'declined', message: 'The model declined to answer.' }]);
  const message =
    stopReason === null
      ? 'The answer has no stop reason: its stream ended early.'
      : `The answer was cut off (stop reason ${stopReason}).`;
  return not('truncated', [{ code: 'stop_reason', message }]);
};

/** Says of an answer without its marker that the blocks have no nonce either. */
const withPlainNote = (found: FoundMarker): FoundMarker =>
  found.marker === 'missing' ? { ...found, notes: [...found.notes, PLAIN_BLOCKS] } : found;
const PLAIN_BLOCKS: Reason = {
  code: 'marker_plain',
  message: 'The blocks end in `END` without the nonce. End each block in `END` and the nonce.',
};

/** Null: the marker is right, or not asked for and the answer not open. */
const checkMarker = (
  markedResponse: FoundMarker,
  reading: Reading,
  options: ApplyOptions,
): NotEdited | null => {
  const faults = options.requireMarker
    ? markedResponse.notes.filter((note) => note.code.startsWith('marker_'))
    : [];
  const reasons = [...faults, ...(reading.kind === 'invalid' ? reading.reasons : [])];
  if (markedResponse.openFence) return not('truncated', [...reasons, CUT_INSIDE_FENCE]);
  if (reading.kind === 'invalid' && reading.reasons.includes(CUT_INSIDE_FENCE))
    return not('truncated', reasons);
  if (markedResponse.marker === 'right') return null;
  if (reading.kind === 'invalid') return not(reading.open ? 'truncated' : 'invalid', reasons);
  return options.requireMarker ? not('unmarked', reasons) : null;
};

// Refusals in words that a model can act on: where, what, and what to send instead (each reason's message says the last).

/** A numbered list, one reason an entry; `''` where there is none. */
export const renderReasons = (reasons: readonly Reason[]): string => {
  const shown = reasons
    .slice(0, NAMES_REPORTED)
    .map((entry, i) => `${i + 1}. ${place(entry)}${entry.message} (${entry.code})`);
  const more = reasons.length - shown.length;
  return [...shown, ...(more > 0 ? [`… and ${more} more of this kind.`] : [])].join('\n');
};

const place = ({ path, index }: Reason): string => {
  const shown = path?.replace(/\p{Cc}/gu, escaped);
  const parts = [shown, index === undefined ? undefined : `edit ${index + 1}`].filter(
    (part) => part !== undefined,
  );
  return parts.length === 0 ? '' : `${parts.join(', ')}: `;
};

// Which files an answer is about, by the same reading that will apply it: for callers who hold the answer before the files.

/** Remembers what was asked for and is not there. */
class AskedFiles extends Map<string, ContextFile> {
  readonly missing = new Set<string>();

  override get(path: string): ContextFile | undefined {
    const file = super.get(path);
    if (file === undefined) this.missing.add(path);
    return file;
  }
  override has(path: string): boolean {
    return this.get(path) !== undefined;
  }
}

/**
 * Paths, as the answer says them and in no order, that reading it asks for and that `files` does not hold. Not every one is a path of
 * the answer (a diff's prefixes are tried both ways): those that do not exist are left out of `files`, those that do are added, and
 * the answer is asked again until nothing new comes. Applies nothing, and checks no path: `checkPath` does.
 */
export const wantedPaths = (input: ApplyAnswerInput): readonly string[] => {
  if (sizeFault(input.format, input.answer) !== null) return [];
  const requested = new AskedFiles(decodeOffered(input.files));
  readerOf(input, requested)(input.options);
  return [...requested.missing];
};
