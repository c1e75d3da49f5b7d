/** The launcher (launcher.ts): starts what a worker asks for until that has ended. What runs then ends as if it were the worker's own. */
import { captureHere } from './capture.js';
import type { Asked, Started, Told } from './launcher.js';
import { runHere } from './process-group.js';

const aborts = new Map<number, AbortController>();
const watching = new Map<number, (ended: string | null) => void>();

const tell = (told: Told): void => void process.send?.(told);

const started = async (id: number, asked: Started): Promise<unknown> => {
  const abort = new AbortController();
  const { signal } = abort;
  aborts.set(id, abort);
  const watch = (told: string): Promise<string | null> =>
    new Promise((resolve) => {
      watching.set(id, resolve);
      tell({ id, told });
    });
  try {
    if ('capture' in asked) {
      const [file, args, call] = asked.capture;
      return await captureHere(file, args, { ...call, signal });
    }
    const { run, watched } = asked;
    return await runHere({ ...run, signal, ...(watched ? { watch } : {}) });
  } finally {
    aborts.delete(id);
    watching.delete(id);
  }
};

process.on('message', (asked: Asked) => {
  const { id } = asked;
  if ('abort' in asked) return aborts.get(id)?.abort();
  if ('ended' in asked) return watching.get(id)?.(asked.ended);
  return void started(id, asked).then(
    (done) => tell({ id, done }),
    (error: unknown) => tell({ id, failed: String(error) }),
  );
});
process.once('disconnect', () => process.exit());
// Who ends a worker's whole group, or its service, ends it by the worker, which waits for what runs.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => undefined);
