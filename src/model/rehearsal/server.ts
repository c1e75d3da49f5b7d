/**
 * The rehearsal: the Messages API over loopback, answered from a script. For demos and tests, which use the real client against it.
 *
 *     POST /v1/messages          streaming and not
 *     GET  /v1/models
 *     GET  /rehearsal/requests   { count, requests: [RehearsedRequest] }
 *     POST /rehearsal/release    lets every held answer go on
 */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fail } from '../../shared/problems.js';
import { createChooser, statusReply } from './reply.js';
import {
  handle,
  sendStatus,
  type Context,
  createRequestLog,
  type RehearsedRequest,
} from './handle.js';
import { type RehearsalScript, checkScript, readScript } from './script.js';

export interface Rehearsal {
  /** For ANTHROPIC_BASE_URL. */
  readonly url: string;
  readonly port: number;
  readonly requests: () => readonly RehearsedRequest[];
  /** Lets every answer that is held now go on. */
  readonly release: () => void;
  readonly close: () => Promise<void>;
}
export interface RehearsalOptions {
  /** Default: any free port of 127.0.0.1. */
  readonly port?: number;
  /** A file to which every request is appended, a JSON line each. */
  readonly record?: string;
}

/** `script`: the path of a YAML or JSON file, or the script itself. Throws ProblemError `usage` where it is not as it should be. */
export const startRehearsal = async (
  script: string | RehearsalScript,
  { port = 0, record }: RehearsalOptions = {},
): Promise<Rehearsal> => {
  const ready = typeof script === 'string' ? await readScript(script) : await checkScript(script);
  const log = createRequestLog(record ?? null);
  const closing = new AbortController();
  const waiting = new Set<() => void>();
  const release = (): void => {
    for (const go of waiting) go();
    waiting.clear();
  };
  const context: Context = {
    script: ready,
    choose: createChooser(ready),
    log,
    gate: { wait: () => new Promise((resolve) => waiting.add(resolve)) },
    closing: closing.signal,
    release,
  };
  const server = createServer((request, response) => {
    void handle(request, response, context).catch((error: unknown) => {
      // A client that went away is no failure of ours; anything else is told to the one that still listens.
      if (response.destroyed || closing.signal.aborted) return;
      // In the middle of an answer nothing can be told any more but that it is broken.
      if (response.headersSent) {
        response.destroy();
        return;
      }
      const said = error instanceof Error ? error.message : 'failed';
      sendStatus(response, statusReply(500, 'api_error', `rehearsal: ${said}`));
    });
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, '127.0.0.1', resolve);
  }).catch((error: unknown) =>
    fail(
      'usage',
      `The rehearsal server cannot listen on 127.0.0.1:${port}: ${error instanceof Error ? error.message : 'failed'}.`,
      'Choose another port.',
    ),
  );
  const bound = (server.address() as AddressInfo).port;
  return {
    url: `http://127.0.0.1:${bound}`,
    port: bound,
    requests: () => log.all(),
    release,
    close: async () => {
      closing.abort();
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      server.closeAllConnections();
      await closed;
    },
  };
};
