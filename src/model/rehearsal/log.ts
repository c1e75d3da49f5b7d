/** What was asked of a rehearsal: kept in memory for GET /rehearsal/requests, and as JSON lines where a file is named. */
import { createHash } from 'node:crypto';
import { appendFileSync } from 'node:fs';

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

export interface RequestLog {
  arrived(body: string, about: Pick<RehearsedRequest, 'model' | 'stream' | 'rule'>): number;
  update(n: number, change: Partial<Pick<RehearsedRequest, 'state' | 'status' | 'finished'>>): void;
  all(): readonly RehearsedRequest[];
}

/** `record`: a file that gets one line per arrival (with the body) and one per end. */
export const createRequestLog = (record: string | null): RequestLog => {
  const requests: RehearsedRequest[] = [];
  const line = (value: object): void => {
    if (record !== null) appendFileSync(record, `${JSON.stringify(value)}\n`);
  };
  return {
    arrived: (body, about) => {
      const n = requests.length + 1;
      const sha256 = createHash('sha256').update(body).digest('hex');
      const request: RehearsedRequest = {
        n,
        at: new Date().toISOString(),
        sha256,
        ...about,
        status: null,
        state: 'open',
        finished: false,
      };
      requests.push(request);
      line({ v: 1, n, at: request.at, sha256, ...about, body });
      return n;
    },
    update: (n, change) => {
      const before = requests[n - 1];
      if (before === undefined) return;
      const after = { ...before, ...change };
      requests[n - 1] = after;
      if (after.state === 'finished' || after.state === 'cut')
        line({ v: 1, n, status: after.status, finished: after.finished });
    },
    all: () => [...requests],
  };
};
