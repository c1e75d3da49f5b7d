/**
 * One attempt's stream, a JSON line each: first `{v, attempt, at}`, then `{t, e}` (milliseconds since then, event) and `{t}` (a sign
 * of life). Lines gather while a write is under way; each is fsynced, `message_start`'s with the next. It and `message_stop` wait for theirs.
 */
import { damaged } from '../../system/durable.js';
import { sealed, unsealed } from '../../system/sealed.js';
import { ModelError } from '../errors.js';
import { checkVersion, versioned } from '../../shared/problems.js';
import type { CallLog, CallStream } from '../../stores/ports.js';
import type { AppendSync } from '../../system/sys.js';
import { isEvent, type StreamEvent } from '../ports.js';

/** More than this waiting holds the stream up until it is on disk. */
const maxWaiting_bytes = 262_144;

export class StreamLog {
  private readonly stream: CallStream;
  private readonly flush_ms: number;
  private readonly max_bytes: number;
  private readonly begun: number;
  private waiting: string[] = [];
  private waiting_bytes = 0;
  /** Handed over so far, written or not. */
  private size_bytes = 0;
  private writing: Promise<void> = Promise.resolve();
  private timer: NodeJS.Timeout | null = null;
  private failure: { readonly error: unknown } | null = null;

  private constructor(stream: CallStream, flush_ms: number, max_bytes: number) {
    this.stream = stream;
    this.flush_ms = flush_ms;
    this.max_bytes = max_bytes;
    this.begun = performance.now();
  }

  /** Creates the log durably. Nothing is paid for before the disk has shown that it takes bytes. */
  static async create(
    calls: CallLog,
    key: string,
    {
      max_bytes,
      ...head
    }: { readonly attempt: number; readonly at: string; readonly max_bytes: number },
  ): Promise<StreamLog> {
    const first = new TextEncoder().encode(`${sealed(versioned(head))}\n`);
    const log = new StreamLog(await calls.begin(key, first), calls.flush_ms, max_bytes);
    log.size_bytes = first.length;
    return log;
  }

  /**
   * Resolves once the event is on disk where it must be (`message_start`, `message_stop`), else soon. Throws where the disk failed, and
   * ModelError `too_large` where the log would be larger than it may be: thinking, and many events of a few bytes each, make a log far
   * larger than the answer's text.
   */
  async append(event: StreamEvent): Promise<void> {
    this.line({ t: this.elapsed_ms(), e: event }, this.max_bytes);
    if (event.type === 'message_start') await this.flush('with_next_append');
    else if (event.type === 'message_stop' || this.waiting_bytes > maxWaiting_bytes)
      await this.flush();
    else if (this.failure !== null) throw this.failure.error;
    else this.flushSoon();
  }

  /** A line that says: still here. */
  async sign(): Promise<void> {
    this.line({ t: this.elapsed_ms() });
    await this.flush();
  }

  /** Everything handed over is written afterwards, and on disk unless `sync` says when. */
  flush(sync?: AppendSync): Promise<void> {
    if (this.timer !== null) clearTimeout(this.timer);
    this.timer = null;
    const written = this.writing.then(() => this.write(sync));
    // The failure is kept and thrown to whoever waits; the chain itself must not end in an unhandled rejection.
    this.writing = written.catch(() => undefined);
    return written;
  }

  /** No more lines come. What still waits is written if it can be. */
  async close(): Promise<void> {
    await this.flush().catch(() => undefined);
  }

  private elapsed_ms(): number {
    return Math.round(performance.now() - this.begun);
  }

  private line(value: object, max_bytes = Infinity): void {
    const text = `${sealed(value)}\n`;
    const size = Buffer.byteLength(text);
    if (this.size_bytes + size > max_bytes)
      throw new ModelError(
        'too_large',
        `The call's log would be larger than ${max_bytes} bytes (maxCallLog_bytes).`,
        {
          mayBePaid: true,
        },
      );
    this.waiting.push(text);
    this.waiting_bytes += size;
    this.size_bytes += size;
  }

  private flushSoon(): void {
    this.timer ??= setTimeout(() => {
      this.timer = null;
      this.flush().catch(() => undefined);
    }, this.flush_ms);
  }

  private async write(sync?: AppendSync): Promise<void> {
    // After a failed write the file may end in half a line: nothing may follow it.
    if (this.failure !== null) throw this.failure.error;
    if (this.waiting.length === 0) return;
    const bytes = new TextEncoder().encode(this.waiting.join(''));
    this.waiting = [];
    this.waiting_bytes = 0;
    try {
      await this.stream.append(bytes, sync);
    } catch (error) {
      this.failure = { error };
      throw error;
    }
  }
}

export interface LoggedStream {
  readonly events: readonly StreamEvent[];
  /** `message_stop` is there: the answer is whole. */
  readonly complete: boolean;
  /** Up to the last line that is whole. */
  readonly seconds: number;
  /** ISO time of its begin. */
  readonly at?: string;
}

/**
 * What is stored of an attempt; empty where it had not begun. Reading ends at the first line that is not whole. Throws ProblemError `disk`
 * if a line was changed after it was written: nothing follows half a line, so what follows is a response that is paid for.
 */
export const readLog = async (calls: CallLog, key: string): Promise<LoggedStream> => {
  const lines = new TextDecoder().decode(await calls.read(key)).split('\n');
  const events: StreamEvent[] = [];
  let [last_ms, at] = [0, ''];
  // The last piece has no line end: nothing, or torn.
  for (const [index, text] of lines.slice(0, -1).entries()) {
    const line = unsealed(text);
    if (line === 'torn' && (index === lines.length - 2 || text.includes('\0'))) break;
    if (typeof line === 'string')
      return damaged(calls.streamPath(key), `line ${index + 1} was changed`);
    if (index === 0) checkVersion(line, `The stream of the call ${key}`);
    if ('at' in line && typeof line.at === 'string') at = line.at;
    if ('t' in line && typeof line.t === 'number') last_ms = line.t;
    const event = eventIn(line);
    if (event !== null) events.push(event);
  }
  return {
    events,
    complete: events.some((e) => e.type === 'message_stop'),
    seconds: last_ms / 1000,
    at,
  };
};

/** The stream event of one whole line; null: the head, a sign of life, or torn. */
export const eventOfLine = (text: string): StreamEvent | null => {
  const line = unsealed(text);
  return typeof line === 'string' ? null : eventIn(line);
};

const eventIn = (line: object): StreamEvent | null =>
  'e' in line && isEvent(line.e) ? line.e : null;
