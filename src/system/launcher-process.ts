/** The launcher (launcher.ts): starts processes for a worker until that has ended. The processes that run then end as if they were the worker's own. */
import { captureHere } from './capture.js';
import type { LauncherReply, LauncherRequest, StartRequest } from './launcher.js';
import { runHere } from './process-group.js';

const aborts = new Map<number, AbortController>();
const watching = new Map<number, (ended: string | null) => void>();

const send = (reply: LauncherReply): void => void process.send?.(reply);

const start = async (id: number, request: StartRequest): Promise<unknown> => {
  const abort = new AbortController();
  const { signal } = abort;
  aborts.set(id, abort);
  const watch = (report: string): Promise<string | null> =>
    new Promise((resolve) => {
      watching.set(id, resolve);
      send({ id, report });
    });
  try {
    if ('capture' in request) {
      const [file, args, call] = request.capture;
      return await captureHere(file, args, { ...call, signal });
    }
    const { run, watched } = request;
    return await runHere({ ...run, signal, ...(watched ? { watch } : {}) });
  } finally {
    aborts.delete(id);
    watching.delete(id);
  }
};

process.on('message', (request: LauncherRequest) => {
  const { id } = request;
  if ('abort' in request) return aborts.get(id)?.abort();
  if ('ended' in request) return watching.get(id)?.(request.ended);
  return void start(id, request).then(
    (done) => send({ id, done }),
    (error: unknown) => send({ id, failed: String(error) }),
  );
});
process.once('disconnect', () => process.exit());
// A signal to the worker's whole group or service is handled by the worker, which waits for the processes that run.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => undefined);
