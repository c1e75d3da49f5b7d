/**
 * Finds out whether a request may have reached the model's server, so that its call may be on the bill. `fetch` does not report how far it
 * came before it failed. But the client below it (undici) announces each request, and the moment when it writes the first bytes on a ready
 * connection. Before that moment nothing can be billed. After it the call may be billed.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { isRecord } from '../../shared/text.js';

const CREATED_CHANNEL = 'undici:request:create';
/** HTTP/2 announces only the body. */
const WRITTEN_CHANNELS = ['undici:client:sendHeaders', 'undici:request:bodySent'];

/** Finds the `Sending` to which an announced request belongs. */
const currentSending = new AsyncLocalStorage<Sending>();
/** False until a request was announced. A `fetch` that is not Node's announces none, and then every request counts as sent. */
let isAnnounced = false;

export class Sending {
  private hasBegun = false;
  private request: unknown = null;
  private isWritten = false;
  private isRefused = false;

  /** Watches one `fetch` from its start until the headers of the response arrive. */
  async watch(startFetch: () => Promise<Response>): Promise<Response> {
    subscribe(CREATED_CHANNEL, this.onCreated);
    for (const channel of WRITTEN_CHANNELS) subscribe(channel, this.onWritten);
    this.hasBegun = true;
    try {
      return await currentSending.run(this, startFetch);
    } finally {
      unsubscribe(CREATED_CHANNEL, this.onCreated);
      for (const channel of WRITTEN_CHANNELS) unsubscribe(channel, this.onWritten);
    }
  }

  /** Records that the server refused this request. */
  refuse(): void {
    this.isRefused = true;
  }

  /** True if the server may have begun to answer. */
  get mayBePaid(): boolean {
    return !this.isRefused && (isAnnounced ? this.isWritten : this.hasBegun);
  }

  private readonly onCreated = (message: unknown): void => {
    const request = requestOf(message);
    // The CONNECT request to a proxy carries nothing of our request.
    if (currentSending.getStore() !== this || request?.method === 'CONNECT') return;
    isAnnounced = true;
    this.request = request;
  };

  private readonly onWritten = (message: unknown): void => {
    if (this.request !== null && requestOf(message) === this.request) this.isWritten = true;
  };
}

const requestOf = (message: unknown): Record<string, unknown> | null =>
  isRecord(message) && isRecord(message.request) ? message.request : null;
