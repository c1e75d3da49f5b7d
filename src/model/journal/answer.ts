/** From an attempt's stored events: its answer, and what it cost. Events are a model server's: every field is looked at before it is used. */
import { usdOf } from '../prices.js';
import { estimateRequestTokens } from '../tokens.js';
import { type LoggedStream, readLog } from './stream-log.js';
import type {
  ModelAnswer,
  ModelPort,
  ModelRequest,
  StreamEvent,
  JournaledAttempt,
} from '../ports.js';
import { NO_USAGE, sumUsage, tokensIn, type StepUsage } from '../../shared/usage.js';
import { isRecord } from '../../shared/text.js';
import { nullOn } from '../../shared/problems.js';
import type { CallFiles, CallOwner, CallRecord } from './records.js';

const WORD_CHARS = 100; // bound: Of a stop reason and a model's name as its server says them: histories and lists hold them.

type Tokens = ModelAnswer['usage'];

const field = (value: unknown, name: string): unknown =>
  isRecord(value) && Object.hasOwn(value, name) ? value[name] : undefined;
const text = (value: unknown): string => (typeof value === 'string' ? value : '');

/** The text blocks of an answer, in order; thinking is left out. */
const answerText = (events: readonly StreamEvent[]): string =>
  events
    .map((event) => {
      if (event.type === 'content_block_start') return text(field(event.content_block, 'text'));
      return textDelta(event);
    })
    .join('');

export const textDelta = (event: StreamEvent): string =>
  event.type === 'content_block_delta' && field(event.delta, 'type') === 'text_delta'
    ? text(field(event.delta, 'text'))
    : '';

/** Everything the model wrote, thinking and tool input too: what is paid for. */
const written_bytes = (events: readonly StreamEvent[]): number =>
  events
    .filter((event) => event.type === 'content_block_delta')
    .flatMap((event) =>
      ['text', 'thinking', 'partial_json'].map((name) => text(field(event.delta, name))),
    )
    .reduce((sum, piece) => sum + Buffer.byteLength(piece), 0);

/** About four bytes a token, where nothing better was reported. */
const bytesPerToken = 4;

/** Last values reported; 0, absent or no number of tokens means not reported. */
const reported = (events: readonly StreamEvent[]): Tokens => {
  const last = (name: string): number => {
    let value = 0;
    for (const event of events) {
      const usage =
        event.type === 'message_start'
          ? field(event.message, 'usage')
          : event.type === 'message_delta'
            ? event.usage
            : undefined;
      const said = field(usage, name);
      if (Number.isSafeInteger(said) && Number(said) > 0) value = Number(said);
    }
    return value;
  };
  return {
    input_tokens: last('input_tokens'),
    output_tokens: last('output_tokens'),
    cacheRead_tokens: last('cache_read_input_tokens'),
    cacheWrite_tokens: last('cache_creation_input_tokens'),
  };
};

/** Tokens of an attempt. One that was cut off has reported little of its output by then: what arrived is counted instead. */
const tokensOf = ({ events, complete }: LoggedStream): Tokens => {
  const said = reported(events);
  const counted = Math.ceil(written_bytes(events) / bytesPerToken);
  const output_tokens =
    complete && said.output_tokens > 0 ? said.output_tokens : Math.max(said.output_tokens, counted);
  return { ...said, output_tokens };
};

/** The answer of a complete stream. Truncated and declined ones are answers too: the stop reason says so. */
export const toAnswer = (stream: LoggedStream, requestedModel: string): ModelAnswer => {
  const start = stream.events.find((event) => event.type === 'message_start');
  const stops = stream.events
    .filter((event) => event.type === 'message_delta')
    .map((event) => field(event.delta, 'stop_reason'))
    .filter((reason) => typeof reason === 'string');
  return {
    text: answerText(stream.events),
    stopReason: stops.at(-1)?.slice(0, WORD_CHARS) ?? null,
    model: text(field(start?.message, 'model')).slice(0, WORD_CHARS) || requestedModel,
    usage: tokensOf(stream),
  };
};

/** One call that nothing is kept of. Throws ModelError. */
export const askOnce = async (
  model: ModelPort,
  request: ModelRequest,
  signal: AbortSignal,
): Promise<ModelAnswer> => {
  const events: StreamEvent[] = [];
  const onEvent = (event: StreamEvent): Promise<void> => Promise.resolve(void events.push(event));
  await model.stream(request, { signal, onEvent });
  return toAnswer({ events, complete: true, seconds: 0 }, request.model);
};

/** What one attempt cost, by the prices of its call. A failed attempt (nothing paid) counts nothing. */
const attemptUsage = (
  { request, prices }: CallRecord,
  stream: LoggedStream,
  state: JournaledAttempt['state'],
): StepUsage => {
  const said = tokensOf(stream);
  // What was sent is known: it is not free, and in no budget, because nothing came back, or a server does not count.
  const tokens =
    tokensIn(said) > 0 ? said : { ...said, input_tokens: estimateRequestTokens(request) };
  return {
    calls: 1,
    unknownCalls: state === 'unknown' ? 1 : 0,
    ...tokens,
    usd: usdOf(prices, tokens),
    seconds: stream.seconds,
  };
};

// What the files of a recorded call say: each attempt with its state and cost, by evidence, so that every process comes to the same view.

export interface RecordedAttempt extends Pick<JournaledAttempt, 'attempt' | 'state' | 'usage'> {
  /** As its claim says, else its log; empty where neither can be read. */
  readonly at: string;
  readonly owner: CallOwner | null;
  readonly stream: LoggedStream;
  /** EndRecord's; null: it has no end, or an answer alone. */
  readonly why: string | null;
}

/**
 * `answered` wherever `message_stop` is on disk, even where the attempt was given up for lost before (its owner had only slept); else as
 * its end says; `open` where nothing says anything yet.
 */
export const readAttempts = async (
  files: CallFiles,
  call: CallRecord,
): Promise<readonly RecordedAttempt[]> => {
  const attempts: RecordedAttempt[] = [];
  for (const attempt of await files.attempts()) {
    // A claim that is lost or damaged takes nothing away: what came of the attempt is in its log.
    const claim = await files.attempt(attempt).catch(nullOn('disk'));
    // First the end, then the log: an owner that was given up may still have finished in between.
    const end = await files.end(attempt);
    const stream = await readLog(files.calls, files.stream(attempt));
    const state = stream.complete ? 'answered' : (end?.state ?? 'open');
    const usage = state === 'failed' ? NO_USAGE : attemptUsage(call, stream, state);
    const { at = stream.at ?? '', owner = null } = claim ?? {};
    attempts.push({ attempt, at, owner, state, stream, why: end?.why ?? null, usage });
  }
  return attempts;
};

export const usageOfCall = (attempts: readonly RecordedAttempt[]): StepUsage =>
  sumUsage(attempts.map(({ usage }) => usage));
