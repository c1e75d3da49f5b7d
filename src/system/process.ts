/** Identifies processes, and finds out whether one is still alive: the system uses pids again, but not boots and start times. */
import { captureOwn } from './own-program.js';
import type { Sys } from './sys.js';
import { orNull } from './durable.js';

const PS_MS = 10_000; // bound: `ps` reports the start of one process within this time.

export interface ProcessIdentity {
  /** The kernel's boot id; `-` if the system has none. */
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

/** Returns when a process started; null: no such process runs. A dead process that its parent has not waited for does not count. */
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

/** Returns the process that has this pid now; null: there is none. */
export const processOf = async (sys: Sys, pid: number): Promise<ProcessIdentity | null> => {
  const started = await startedAt(sys, pid);
  return started === null ? null : { boot: await bootId(sys), pid, started };
};

export const ownProcess = async (sys: Sys): Promise<ProcessIdentity> => ({
  boot: await bootId(sys),
  pid: process.pid,
  started: (await startedAt(sys, process.pid)) ?? '-',
});

/** Returns the namespace of this process's pids; null: it is not known. Containers share a boot, but not their pids. */
export const pidNamespace = (sys: Sys): Promise<string | null> =>
  orNull(sys.readlink('/proc/self/ns/pid'), ['ENOENT', 'EACCES', 'EPERM', 'EINVAL']);

export const sameProcess = (a: ProcessIdentity, b: ProcessIdentity): boolean =>
  a.boot === b.boot && a.pid === b.pid && a.started === b.started;

export const isAlive = async (sys: Sys, who: ProcessIdentity): Promise<boolean> =>
  (await bootId(sys)) === who.boot && (await startedAt(sys, who.pid)) === who.started;
