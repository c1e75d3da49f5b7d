/** Whether a worker lives and takes work, for a supervisor: `/healthz` and `/readyz`. */
import { createServer } from 'node:http';
import { once } from 'node:events';
import type { NativeConnection } from '@temporalio/worker';
import { fail } from '../shared/problems.js';

const ANSWER_MS = 5_000; // bound: Time in which the Temporal server answers a worker that is ready.
const LAST_PORT = 65_535; // bound: Highest port of TCP.

export interface WatchedWorker {
  readonly connection: NativeConnection;
  /** All its Temporal workers poll. */
  readonly polls: () => boolean;
}
type Page = readonly [status: number, text: string];

const ready = async (worker: WatchedWorker | null): Promise<Page> => {
  if (worker === null) return [503, 'starting\n'];
  if (!worker.polls()) return [503, 'stopping\n'];
  return (await answers(worker)) ? [200, 'ready\n'] : [503, 'no Temporal server\n'];
};

const answers = ({ connection }: WatchedWorker): Promise<boolean> =>
  connection
    .withDeadline(Date.now() + ANSWER_MS, () => connection.workflowService.getSystemInfo({}))
    .then(Boolean, () => false);

/**
 * Serves until the function that it returns is called; keeps no process alive. `worker`: null until it has begun. Throws ProblemError
 * `usage` for an address that is none, or is taken.
 */
export const serveHealth = async (
  address: string,
  worker: () => WatchedWorker | null,
): Promise<() => Promise<void>> => {
  const [, host, port] = /^\[?([^[\]]+)\]?:(\d{1,5})$/.exec(address) ?? [];
  const refuse = (reason: unknown): never =>
    fail(
      'usage',
      `--health ${address}: ${String(reason)}.`,
      'Name a free address: --health 127.0.0.1:9465',
    );
  // Node.js listens at every address if none is given.
  if (host === undefined || Number(port) > LAST_PORT) return refuse('not an address and a port');
  const pageOf = async (path: string | undefined): Promise<Page> => {
    if (path === '/healthz') return [200, 'ok\n'];
    return path === '/readyz' ? ready(worker()) : [404, 'not found\n'];
  };
  const server = createServer((request, response) => {
    void pageOf(request.url?.split('?')[0]).then(([status, text]) =>
      response.writeHead(status, { 'content-type': 'text/plain; charset=utf-8' }).end(text),
    );
  });
  server.unref().listen(Number(port), host);
  await once(server, 'listening').catch(refuse);
  return async () => {
    server.closeAllConnections();
    server.close();
    await once(server, 'close');
  };
};
