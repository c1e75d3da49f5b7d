/** Ends a process by its identity, never by a name: by SIGTERM first, and by SIGKILL after a while. */
import { setTimeout as sleep } from 'node:timers/promises';
import { isAlive, type ProcessIdentity } from './process.js';
import { errnoOf, realSys } from './sys.js';

const END_POLL_MS = 25; // bound: Time between two checks whether a process has ended.
const KILLED_MS = 5_000; // bound: Time that the system needs at most to clear up after SIGKILL.

/** Sends SIGTERM, and SIGKILL after `grace_ms` (0: at once). Returns when the process has ended, or `still running` if SIGKILL does not end it. */
export const endProcess = async (
  identity: ProcessIdentity,
  grace_ms: number,
): Promise<'gone' | 'still running'> => {
  for (const [signal, wait_ms] of [
    ['SIGTERM', grace_ms],
    ['SIGKILL', KILLED_MS],
  ] as const) {
    if (wait_ms === 0) continue;
    // Checked right before the signal: a process that got the same pid meanwhile gets no signal.
    if (!(await isAlive(realSys, identity))) return 'gone';
    try {
      process.kill(identity.pid, signal);
    } catch (error) {
      if (errnoOf(error) === 'ESRCH') return 'gone';
      throw error;
    }
    for (const end = performance.now() + wait_ms; performance.now() < end;) {
      await sleep(END_POLL_MS);
      if (!(await isAlive(realSys, identity))) return 'gone';
    }
  }
  return (await isAlive(realSys, identity)) ? 'still running' : 'gone';
};
