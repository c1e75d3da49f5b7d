import { existsSync, readFileSync } from 'node:fs';

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
