/** Ends a process by its identity, never by a name: asked first, forced after a while. */
import { setTimeout as sleep } from 'node:timers/promises';
import { isAlive, type ProcessIdentity } from '../workspace/apply-process.js';
import { realSys } from '../workspace/sys.js';
import { SERVER_BOUNDS } from '../shared/bounds.js';

/** SIGTERM, then SIGKILL after `grace_ms` (0: at once). Returns when the process is gone, or `still there` if even that does not end it. */
export const endProcess = async (identity: ProcessIdentity, grace_ms: number): Promise<'gone' | 'still there'> => {
  for (const [signal, wait_ms] of [
    ['SIGTERM', grace_ms],
    ['SIGKILL', SERVER_BOUNDS.killed_ms],
  ] as const) {
    if (wait_ms === 0) continue;
    // Looked at right before the signal: a pid that was reused since is left alone.
    if (!(await isAlive(realSys, identity))) return 'gone';
    try {
      process.kill(identity.pid, signal);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ESRCH') return 'gone';
      throw error;
    }
    for (const end = performance.now() + wait_ms; performance.now() < end;) {
      await sleep(SERVER_BOUNDS.endPoll_ms);
      if (!(await isAlive(realSys, identity))) return 'gone';
    }
  }
  return (await isAlive(realSys, identity)) ? 'still there' : 'gone';
};
