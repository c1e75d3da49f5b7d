/** Requests to our own server. The key stays with this origin: other ports of the host get the cookie, but not the key. */
import type { DecideResult } from '../../client/runs/decide.js';
import type { Problem } from '../../shared/problems.js';
import type { Request } from './model/verdicts.js';

const KEY = 'emend-key';

/** An expected failure as the server told it: `String()` of it is what happened, and what to do next. */
class Refused extends Error {
  override readonly name = '';
  readonly status: number;
  constructor(status: number, { message, next }: Pick<Problem, 'message' | 'next'>) {
    super(next === undefined ? message : `${message} ${next}`);
    this.status = status;
  }
}

const headersOf = (): Record<string, string> => {
  const key = localStorage.getItem(KEY);
  return key === null ? {} : { 'x-emend-key': key };
};

/** Throws Refused. */
const ask = async (path: string, init: RequestInit = {}): Promise<Response> => {
  const response = await fetch(path, {
    ...init,
    headers: { ...headersOf(), ...(init.headers as Record<string, string>) },
  }).catch(() => {
    throw new Refused(0, {
      message: "The page's server is not reachable.",
      next: 'Is `emend dev` or `emend web` still running?',
    });
  });
  if (response.ok) return response;
  const body = (await response.json().catch(() => null)) as { readonly problem?: Problem } | null;
  throw new Refused(
    response.status,
    body?.problem ?? { message: `The server answered ${response.status}.` },
  );
};

export const getJson = async <T>(path: string): Promise<T> => (await (await ask(path)).json()) as T;
export const getText = async (path: string): Promise<string> => (await ask(path)).text();
const post = async <T>(path: string, body: unknown): Promise<T> => {
  const init = {
    method: 'POST',
    body: JSON.stringify(body),
    headers: { 'content-type': 'application/json' },
  };
  return (await (await ask(path, init)).json()) as T;
};

export const login = async (
  given: { token: string } | { secret: string; name: string },
): Promise<void> => {
  const { key } = await post<{ key: string }>('/api/login', given);
  localStorage.setItem(KEY, key);
};
export const logout = async (): Promise<void> => {
  await post('/api/logout', {});
  localStorage.removeItem(KEY);
};
export const isLetIn = async (): Promise<boolean> => {
  if (localStorage.getItem(KEY) === null) return false;
  try {
    await getJson('/api/session');
    return true;
  } catch (error) {
    if (error instanceof Refused && error.status === 401) return false;
    throw error;
  }
};

export const decide = (stepKey: string, request: Request): Promise<DecideResult> =>
  post(`/api/runs/${stepKey}/decide`, request);

// Server-sent events by `fetch`, so that the key goes along; after a lost connection it goes on where it was.

export type Link = 'connecting' | 'live' | 'lost' | 'out';
export interface StreamHandlers {
  readonly change: (data: unknown) => void;
  /** What the server has to say of why nothing comes; null: all is well. */
  readonly trouble: (message: string | null) => void;
  readonly link: (state: Link) => void;
}

const AGAIN_ms = 500;
const AGAIN_MOST_ms = 10_000;

/** Call the result to end it. */
export const openStream = (path: string, handlers: StreamHandlers): (() => void) => {
  const stop = new AbortController();
  void run(path, handlers, stop.signal);
  return () => stop.abort();
};

const run = async (path: string, handlers: StreamHandlers, signal: AbortSignal): Promise<void> => {
  const seen: { id: string | null } = { id: null };
  const over = (): boolean => signal.aborted;
  let wait_ms = AGAIN_ms;
  while (!over()) {
    try {
      const headers = { ...headersOf(), ...(seen.id === null ? {} : { 'last-event-id': seen.id }) };
      const response = await fetch(path, { headers, signal });
      if (response.status === 401) {
        handlers.link('out');
        return;
      }
      if (response.ok && response.body !== null) {
        handlers.link('live');
        wait_ms = AGAIN_ms;
        await read(response.body, (event, id, data) => {
          seen.id = id ?? seen.id;
          if (event === 'change') {
            handlers.trouble(null);
            handlers.change(JSON.parse(data));
          }
          if (event === 'trouble')
            handlers.trouble((JSON.parse(data) as { message: string }).message);
        });
      }
    } catch {
      // A connection that was cut: what follows is the same as after one that ended.
    }
    if (over()) return;
    handlers.link('lost');
    await new Promise((resolve) => setTimeout(resolve, wait_ms));
    wait_ms = Math.min(wait_ms * 2, AGAIN_MOST_ms);
  }
};

type OnMessage = (event: string, id: string | null, data: string) => void;

/** The stream's grammar as far as our server writes it: `id`, `event` and one `data` a message, a blank line after each. */
const read = async (body: ReadableStream<Uint8Array>, onMessage: OnMessage): Promise<void> => {
  const reader = body
    .pipeThrough(new TextDecoderStream() as unknown as TransformStream<Uint8Array, string>)
    .getReader();
  let rest = '';
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const parts = (rest + value).split('\n\n');
    rest = parts.pop() ?? '';
    for (const part of parts) {
      const fields = new Map(
        part
          .split('\n')
          .map((line): [string, string] => [
            line.split(': ', 1)[0] ?? '',
            line.slice(line.indexOf(': ') + 2),
          ]),
      );
      const data = fields.get('data');
      if (data !== undefined) onMessage(fields.get('event') ?? '', fields.get('id') ?? null, data);
    }
  }
};
