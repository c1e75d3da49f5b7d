/** One HTTP request of a rehearsal. */
import { randomUUID, createHash } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { appendFileSync } from 'node:fs';
import { framesOf, messageOf, sendFrames, type Gate } from './send.js';
import {
  badRequest,
  replyTo,
  type AnswerReply,
  type StatusReply,
  cutPrompt,
  readRequest,
  statusReply,
  type AskedRequest,
} from './reply.js';
import type { ReadyRule, ReadyScript } from './script.js';

const maxBody_bytes = 64 * 1024 * 1024;

export interface Context {
  readonly script: ReadyScript;
  readonly choose: (request: AskedRequest) => ReadyRule | null;
  readonly log: RequestLog;
  readonly gate: Gate;
  readonly closing: AbortSignal;
  readonly release: () => void;
}

export const handle = async (
  request: IncomingMessage,
  response: ServerResponse,
  context: Context,
): Promise<void> => {
  const path = (request.url ?? '/').split('?')[0] ?? '/';
  const what = `${request.method ?? 'GET'} ${path}`;
  if (what === 'GET /v1/models') {
    const created_at = '2026-01-01T00:00:00Z';
    const data = context.script.models.map((id) => ({
      type: 'model',
      id,
      display_name: id,
      created_at,
    }));
    sendJson(response, 200, {
      data,
      has_more: false,
      first_id: data[0]?.id ?? null,
      last_id: data.at(-1)?.id ?? null,
    });
  } else if (what === 'GET /rehearsal/requests') {
    const requests = context.log.all();
    sendJson(response, 200, { count: requests.length, requests });
  } else if (what === 'POST /rehearsal/release') {
    context.release();
    sendJson(response, 200, {});
  } else if (what === 'POST /v1/messages') {
    await answer(request, response, context);
  } else {
    sendStatus(response, statusReply(404, 'not_found_error', `rehearsal: no ${what}`));
  }
};

const answer = async (
  request: IncomingMessage,
  response: ServerResponse,
  context: Context,
): Promise<void> => {
  const { script, choose, log } = context;
  const body = await readBody(request);
  const whole = body === null ? 'the body is too large' : readRequest(body);
  if (typeof whole === 'string') {
    refuse(
      response,
      log,
      log.arrived(body ?? '', { model: null, stream: false, rule: null }),
      badRequest(whole),
    );
    return;
  }
  const asked = cutPrompt(whole, script.context_tokens);
  const rule = choose(asked);
  const n = log.arrived(body ?? '', {
    model: asked.model,
    stream: asked.stream,
    rule: rule?.name ?? null,
  });
  if (rule === null) {
    refuse(response, log, n, badRequest('rehearsal: no rule of the script matches this request'));
    return;
  }
  const reply = replyTo(asked, rule, script.enforceMaxTokens);
  if (reply.kind === 'status') refuse(response, log, n, reply);
  else await send(response, context, { n, asked, rule, reply });
};

const refuse = (response: ServerResponse, log: RequestLog, n: number, reply: StatusReply): void => {
  sendStatus(response, reply);
  log.update(n, { status: reply.status, state: 'finished', finished: true });
};

interface Sending {
  readonly n: number;
  readonly asked: AskedRequest;
  readonly rule: ReadyRule;
  readonly reply: AnswerReply;
}

const send = async (
  response: ServerResponse,
  context: Context,
  { n, asked, rule, reply }: Sending,
): Promise<void> => {
  const { log, gate, closing } = context;
  const gone = new AbortController();
  const go = (): void => gone.abort();
  response.on('close', go);
  closing.addEventListener('abort', go, { once: true });
  const id = `msg_rehearsal_${randomUUID()}`;
  const { faults, chunk_bytes } = rule;
  const frames = asked.stream
    ? framesOf(reply, { id, model: asked.model, chunk_bytes, faults })
    : [JSON.stringify(messageOf(id, asked.model, reply, true))];
  const type = asked.stream ? 'text/event-stream' : 'application/json';
  const onState = (state: 'held' | 'silent' | 'open'): void => log.update(n, { state });
  let finished = false;
  try {
    const headers = { 'content-type': type, 'cache-control': 'no-store' };
    finished = await sendFrames(response, frames, {
      faults,
      headers,
      gate,
      gone: gone.signal,
      onState,
    });
  } finally {
    closing.removeEventListener('abort', go);
    log.update(n, {
      status: response.headersSent ? 200 : null,
      state: finished ? 'finished' : 'cut',
      finished,
    });
  }
};

const readBody = async (request: IncomingMessage): Promise<string | null> => {
  const parts: Buffer[] = [];
  let size = 0;
  for await (const part of request as AsyncIterable<Buffer>) {
    size += part.length;
    if (size <= maxBody_bytes) parts.push(part);
  }
  return size > maxBody_bytes ? null : Buffer.concat(parts).toString('utf8');
};

const sendJson = (
  response: ServerResponse,
  status: number,
  value: object,
  headers: Readonly<Record<string, string>> = {},
): void => {
  response.writeHead(status, { ...headers, 'content-type': 'application/json' });
  response.end(JSON.stringify(value));
};

export const sendStatus = (
  response: ServerResponse,
  { status, type, message, headers }: StatusReply,
): void => sendJson(response, status, { type: 'error', error: { type, message } }, headers);

// What was asked of a rehearsal: kept in memory for GET /rehearsal/requests, and as JSON lines where a file is named.

export interface RehearsedRequest {
  /** Counted from 1, in the order of arrival. */
  readonly n: number;
  readonly at: string;
  /** Of the body's bytes. */
  readonly sha256: string;
  readonly model: string | null;
  readonly stream: boolean;
  /** Name of the rule that answered; null: none matched, or no request at all. */
  readonly rule: string | null;
  /** Null: nothing was answered (yet). */
  readonly status: number | null;
  readonly state: 'open' | 'held' | 'silent' | 'finished' | 'cut';
  /** The whole answer left the server. */
  readonly finished: boolean;
}

type RequestLog = ReturnType<typeof createRequestLog>;

/** `record`: a file that gets one line per arrival (with the body) and one per end. */
export const createRequestLog = (record: string | null) => {
  const requests: RehearsedRequest[] = [];
  const line = (value: object): void => {
    if (record !== null) appendFileSync(record, `${JSON.stringify(value)}\n`);
  };
  return {
    arrived: (body: string, about: Pick<RehearsedRequest, 'model' | 'stream' | 'rule'>): number => {
      const n = requests.length + 1;
      const sha256 = createHash('sha256').update(body).digest('hex');
      const begun = { n, at: new Date().toISOString(), sha256, ...about };
      requests.push({ ...begun, status: null, state: 'open', finished: false });
      line({ v: 1, ...begun, body });
      return n;
    },
    update: (
      n: number,
      change: Partial<Pick<RehearsedRequest, 'state' | 'status' | 'finished'>>,
    ): void => {
      const before = requests[n - 1];
      if (before === undefined) return;
      const after = { ...before, ...change };
      requests[n - 1] = after;
      if (after.state === 'finished' || after.state === 'cut')
        line({ v: 1, n, status: after.status, finished: after.finished });
    },
    all: (): readonly RehearsedRequest[] => [...requests],
  };
};
