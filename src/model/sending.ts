/**
 * Whether a request may have reached the model's server, so that its call may be on the bill. `fetch` does not tell how far it came before
 * it failed or was aborted, but the client under it (undici) announces each request that it makes and the moment when it writes the first
 * bytes of one, on a connection that stands (TLS included): before that moment nothing can be billed, after it nobody here knows.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';

const CREATED = 'undici:request:create';
/** HTTP/2 announces only the body. */
const WRITTEN = ['undici:client:sendHeaders', 'undici:request:bodySent'];

const within = new AsyncLocalStorage<Sending>();
/** A `fetch` that announces nothing (another one than Node's) is never taken for one that has sent nothing. */
let announces = false;

export class Sending {
  private begun = false;
  private request: unknown = null;
  private written = false;
  private refused = false;

  /** Watches one fetch from its start to the response's headers. */
  async watch(fetching: () => Promise<Response>): Promise<Response> {
    subscribe(CREATED, this.onCreated);
    for (const channel of WRITTEN) subscribe(channel, this.onWritten);
    this.begun = true;
    try {
      return await within.run(this, fetching);
    } finally {
      unsubscribe(CREATED, this.onCreated);
      for (const channel of WRITTEN) unsubscribe(channel, this.onWritten);
    }
  }

  /** The server said itself that it does not answer this request. */
  refuse(): void {
    this.refused = true;
  }

  /** An answer may have been begun. */
  get mayBePaid(): boolean {
    return !this.refused && (announces ? this.written : this.begun);
  }

  private readonly onCreated = (message: unknown): void => {
    const request = requestOf(message);
    // A proxy's CONNECT is made on behalf of our request, and carries nothing of it.
    if (within.getStore() !== this || methodOf(request) === 'CONNECT') return;
    announces = true;
    this.request = request;
  };

  private readonly onWritten = (message: unknown): void => {
    if (this.request !== null && requestOf(message) === this.request) this.written = true;
  };
}

const property = (value: unknown, name: string): unknown =>
  typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined;
const requestOf = (message: unknown): unknown => property(message, 'request') ?? null;
const methodOf = (request: unknown): unknown => property(request, 'method');
