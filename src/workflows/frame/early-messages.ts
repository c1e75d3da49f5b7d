/**
 * Receives messages before the run has rules. An abort counts at once; an update waits until the run can judge it. Other signals are kept by
 * the SDK until their handlers are registered.
 */
import { CancellationScope, condition, setHandler } from '@temporalio/workflow';
import type { DecideOutcome } from '../../shared/decisions.js';
import { MESSAGES, readMessage, type MessageName } from '../../shared/messages.js';
import { refuseSecret } from './decisions/receiver.js';
import { refuseUpdate } from './failures.js';
import { abortSignal, updateId, updateOf, type Receiver } from './messages.js';

type Later = Pick<Receiver<never, never>, 'validate' | 'update' | 'signal'>;

export class EarlyMessages {
  /** Sends the first abort to the run once more, with its sender and its note; null: there was none. */
  private resendAbort: ((later: Later) => unknown) | null = null;
  /** What an abort cuts short. */
  readonly scope = new CancellationScope();
  private later: Later | null = null;
  private hasEnded = false;

  get isAborted(): boolean {
    return this.resendAbort !== null;
  }

  /** Call it before the first await. */
  register(): void {
    for (const name of Object.values(MESSAGES))
      setHandler(updateOf(name), (body) => this.update(name, body, updateId()), {
        validator: (body) => refuseUnfit(name, body, updateId()),
      });
    setHandler(abortSignal, (body) => this.signal(body));
  }

  /** The run has its rules: what waited is judged by it. */
  handOver(later: Later): void {
    this.later = later;
    // The first activity had ended before the abort could cut it short.
    void this.resendAbort?.(later);
  }

  /** The run ended without rules. */
  end(): void {
    this.hasEnded = true;
  }

  private async update(name: MessageName, body: unknown, id: string): Promise<DecideOutcome> {
    if (isPlainAbort(name, body)) return this.abort((later) => later.update(name, body, id));
    await this.untilDecided();
    if (this.later === null)
      return {
        outcome: 'already_resolved',
        decision: '',
        message: 'the run ended before it began',
      };
    this.later.validate(name, body, id);
    return this.later.update(name, body, id);
  }

  private async signal(body: unknown): Promise<void> {
    if (isPlainAbort(MESSAGES.abort, body)) {
      this.abort((later) => later.signal(MESSAGES.abort, body));
      return;
    }
    await this.untilDecided();
    await this.later?.signal(MESSAGES.abort, body);
  }

  /** Waits until the run has its rules or has ended. A cancel of the run must not throw in the handler of a message. */
  private untilDecided(): Promise<void> {
    return CancellationScope.nonCancellable(() =>
      condition(() => this.later !== null || this.hasEnded),
    );
  }

  private abort(resend: (later: Later) => unknown): DecideOutcome {
    this.resendAbort ??= resend;
    this.scope.cancel();
    return { outcome: 'resolved', decision: '', message: 'the run ends' };
  }
}

/** Throws if the body could not count in any state. What is accepted is in the history, and no later check can remove it. */
function refuseUnfit(name: MessageName, body: unknown, id: string): void {
  const reading = readMessage(name, body, id);
  if (reading.kind === 'faulty') throw refuseUpdate(reading.fault);
  refuseSecret(reading.message);
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
