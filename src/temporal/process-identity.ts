/**
 * Which process a record means. A pid alone is reused; pid, start time and boot id together name one process for ever.
 * Where the system does not tell start times (no /proc, no `ps`), the pid is all there is, and a record errs towards "alive".
 */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { uptime } from 'node:os';

export interface ProcessIdentity {
  readonly pid: number;
  /** Opaque: comparable for equality on one machine. Null where the system does not tell. */
  readonly startTime: string | null;
  /** Opaque: differs after a restart of the machine. */
  readonly bootId: string;
}

/** The identity of a running process; null when there is none (a zombie counts as none). */
export const identify = (pid: number): ProcessIdentity | null => {
  const startTime = process.platform === 'linux' ? linuxStartTime(pid) : otherStartTime(pid);
  return startTime === undefined ? null : { pid, startTime, bootId: bootId() };
};

export const isAlive = (identity: ProcessIdentity): boolean => {
  const now = identify(identity.pid);
  return now !== null && now.bootId === identity.bootId && now.startTime === identity.startTime;
};

/** Field 22 of /proc/<pid>/stat, in clock ticks since boot. The command (field 2) may hold blanks and brackets: read from behind it. */
const linuxStartTime = (pid: number): string | undefined => {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return fields[0] === 'Z' || fields[0] === 'X' ? undefined : fields[19];
  } catch {
    return undefined;
  }
};

const otherStartTime = (pid: number): string | null | undefined => {
  try {
    process.kill(pid, 0);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EPERM') return undefined;
  }
  try {
    return execFileSync('ps', ['-o', 'lstart=', '-p', String(pid)], { encoding: 'utf8', timeout: 5_000 }).trim();
  } catch {
    return null;
  }
};

const bootId = (): string => {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
  } catch {
    // Without /proc the time of the boot, to the minute, has to do: clocks are corrected by seconds.
    return `boot-${Math.round((Date.now() / 1000 - uptime()) / 60)}`;
  }
};
