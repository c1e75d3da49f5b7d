/**
 * Receives messages before the run has rules. An abort counts at once; an update waits until the run can judge it. Other signals are kept by
 * the SDK until their handlers are registered.
 */
import { CancellationScope, condition, setHandler } from '@temporalio/workflow';
import type { DecideOutcome } from '../../shared/decisions.js';
import { MESSAGES, readMessage, type MessageName } from '../../shared/messages.js';
import { abortSignal, updateId, updateOf, type Receiver } from './messages.js';

type Later = Pick<Receiver<never, never>, 'validate' | 'update' | 'signal'>;

export class EarlyMessages {
  isAborted = false;
  /** What an abort cuts short. */
  readonly scope = new CancellationScope();
  private later: Later | null = null;
  private hasEnded = false;

  /** Call it before the first await. */
  register(): void {
    for (const name of Object.values(MESSAGES))
      setHandler(updateOf(name), (body) => this.update(name, body, updateId()));
    setHandler(abortSignal, (body) => this.signal(body));
  }

  /** The run has its rules: what waited is judged by it. */
  handOver(later: Later): void {
    this.later = later;
    // The first activity had ended before the abort could cut it short.
    if (this.isAborted) void later.signal('abort', undefined);
  }

  /** The run ended without rules. */
  end(): void {
    this.hasEnded = true;
  }

  private async update(name: MessageName, body: unknown, id: string): Promise<DecideOutcome> {
    if (isPlainAbort(name, body)) return this.abort();
    await condition(() => this.later !== null || this.hasEnded);
    if (this.later === null)
      return { outcome: 'already_resolved', decision: '', message: 'the run was aborted' };
    this.later.validate(name, body, id);
    return this.later.update(name, body, id);
  }

  private async signal(body: unknown): Promise<void> {
    if (isPlainAbort(MESSAGES.abort, body)) {
      this.abort();
      return;
    }
    await condition(() => this.later !== null || this.hasEnded);
    await this.later?.signal(MESSAGES.abort, body);
  }

  private abort(): DecideOutcome {
    this.isAborted = true;
    this.scope.cancel();
    return { outcome: 'resolved', decision: '', message: 'the run ends' };
  }
}

/** No decision is open yet, so an abort that names one is judged later. */
function isPlainAbort(name: MessageName, body: unknown): boolean {
  const reading = readMessage(name, body);
  return (
    reading.kind === 'message' &&
    reading.message.answer === 'abort' &&
    reading.message.decision === null
  );
}
