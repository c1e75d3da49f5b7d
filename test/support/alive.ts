import { existsSync, readdirSync, readFileSync } from 'node:fs';

const PROC = existsSync('/proc/self/status');

/** Does the process run? A zombie that nobody has reaped yet is dead, where the system can tell. */
export const alive = (pid: number): boolean => {
  try {
    process.kill(pid, 0);
    return !PROC || !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
};

/** Returns whether a process has these words among its arguments. Linux only. */
export const isRunning = (words: string): boolean =>
  readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .some((pid) => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, 'latin1').replaceAll('\0', ' ').includes(words);
      } catch {
        return false;
      }
    });
