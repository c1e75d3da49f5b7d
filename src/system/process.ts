/** Which process did something, and whether it still lives: pids are used again, boots and start times are not. */
import { setTimeout as sleep } from 'node:timers/promises';
import { captureOwn } from './own-program.js';
import { realSys, type Sys } from './sys.js';
import { orNull } from './durable.js';

const END_POLL_MS = 25; // bound: The end of a process is looked for this often.
const PS_MS = 10_000; // bound: `ps` says when one process started.
const KILLED_MS = 5_000; // bound: After SIGKILL the system only has to clear up, within this time.

export interface ProcessIdentity {
  /** The kernel's boot id; `-` where the system has none. */
  readonly boot: string;
  readonly pid: number;
  /** Start time: clock ticks since boot on Linux, `ps`'s start date elsewhere. */
  readonly started: string;
}

/** Field 22 of /proc/<pid>/stat, counted after the command, which may hold blanks and brackets itself. */
const STARTED_AFTER_COMMAND = 19;

const text = (bytes: Uint8Array | null): string | null =>
  bytes === null ? null : new TextDecoder().decode(bytes);

const bootId = async (sys: Sys): Promise<string> =>
  text(
    await orNull(sys.readFile('/proc/sys/kernel/random/boot_id'), ['ENOENT', 'EACCES']),
  )?.trim() ?? '-';

/** Null where no such process runs (a dead one that nobody has waited for counts as gone). */
const startedAt = async (sys: Sys, pid: number): Promise<string | null> => {
  if ((await bootId(sys)) === '-') {
    const more = { LC_ALL: 'C' };
    const call = { cwd: '/', env: process.env, more, timeout_ms: PS_MS, max_bytes: 1024 };
    const { code, stdout } = await captureOwn('ps', ['-o', 'lstart=', '-p', String(pid)], call);
    return code === 0 && text(stdout)?.trim() ? stdout.toString().trim() : null;
  }
  const stat = text(await orNull(sys.readFile(`/proc/${pid}/stat`), ['ENOENT', 'ESRCH', 'EACCES']));
  const fields = stat?.slice(stat.lastIndexOf(')') + 2).split(' ');
  if (fields === undefined || fields[0] === 'Z' || fields[0] === 'X') return null;
  return fields[STARTED_AFTER_COMMAND] ?? null;
};

/** The process that has this pid now; null where there is none. */
export const processOf = async (sys: Sys, pid: number): Promise<ProcessIdentity | null> => {
  const started = await startedAt(sys, pid);
  return started === null ? null : { boot: await bootId(sys), pid, started };
};

export const ownProcess = async (sys: Sys): Promise<ProcessIdentity> => ({
  boot: await bootId(sys),
  pid: process.pid,
  started: (await startedAt(sys, process.pid)) ?? '-',
});

/** Pids of two namespaces (containers) say nothing about each other, though they share a boot. Null: not known. */
export const pidNamespace = (sys: Sys): Promise<string | null> =>
  orNull(sys.readlink('/proc/self/ns/pid'), ['ENOENT', 'EACCES', 'EPERM', 'EINVAL']);

export const sameProcess = (a: ProcessIdentity, b: ProcessIdentity): boolean =>
  a.boot === b.boot && a.pid === b.pid && a.started === b.started;

export const isAlive = async (sys: Sys, who: ProcessIdentity): Promise<boolean> =>
  (await bootId(sys)) === who.boot && (await startedAt(sys, who.pid)) === who.started;

// Ends a process by its identity, never by a name: asked first, forced after a while.

/** SIGTERM, then SIGKILL after `grace_ms` (0: at once). Returns when the process is gone, or `still there` if even that does not end it. */
export const endProcess = async (
  identity: ProcessIdentity,
  grace_ms: number,
): Promise<'gone' | 'still running'> => {
  for (const [signal, wait_ms] of [
    ['SIGTERM', grace_ms],
    ['SIGKILL', KILLED_MS],
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
      await sleep(END_POLL_MS);
      if (!(await isAlive(realSys, identity))) return 'gone';
    }
  }
  return (await isAlive(realSys, identity)) ? 'still running' : 'gone';
};
