/** Child processes of the scripts: each leads a process group, so that it and all its children end together, by id. */
import { spawn } from 'node:child_process';
import { setPriority } from 'node:os';

const running = new Set();
/** What a child gets to clean up after itself. */
const GRACE_MS = 2_000;

/**
 * Runs a command, its output on ours, and resolves with its exit code (1 when it was ended by a signal or by the time limit).
 * @param {string} command
 * @param {readonly string[]} args
 * @param {{ cwd: string, env?: NodeJS.ProcessEnv, timeout_ms: number, priority?: number }} options
 */
export const run = (command, args, { cwd, env = process.env, timeout_ms, priority }) =>
  new Promise((resolve) => {
    const child = spawn(command, args, { cwd, env, stdio: 'inherit', detached: true });
    running.add(child);
    if (priority !== undefined && child.pid !== undefined) lower(child.pid, priority);
    const timer = setTimeout(() => {
      console.error(`${command} ${args[0] ?? ''}: no end within ${timeout_ms / 1000} s, stopped`);
      endGroup(child, 'SIGKILL');
    }, timeout_ms);
    const settle = (code) => {
      clearTimeout(timer);
      // What the command left behind in its group goes with it.
      endGroup(child, 'SIGKILL');
      running.delete(child);
      resolve(code);
    };
    child.once('error', (error) => {
      console.error(`${command}: ${error.message}`);
      settle(1);
    });
    child.once('exit', (code) => settle(code ?? 1));
  });

const lower = (pid, priority) => {
  try {
    setPriority(pid, priority);
  } catch {
    // It has ended already, or the system wants no such thing: it runs as all others do.
  }
};

const endGroup = (child, signal) => {
  if (child.pid === undefined) return;
  try {
    process.kill(-child.pid, signal);
  } catch {
    // It is gone already.
  }
};

/**
 * From now on a signal ends what runs, then does `last` (for what left its group), then leaves with the signal's exit code.
 * Returns the way back to Node's own handling.
 */
export const endWithSignals = (last = async () => {}) => {
  const handlers = Object.entries({ SIGINT: 130, SIGTERM: 143, SIGHUP: 129 }).map(
    ([signal, code]) => {
      const handler = async () => {
        for (const child of running) endGroup(child, 'SIGTERM');
        await new Promise((resolve) => setTimeout(resolve, running.size > 0 ? GRACE_MS : 0));
        for (const child of running) endGroup(child, 'SIGKILL');
        await last();
        process.exit(code);
      };
      process.once(signal, handler);
      return [signal, handler];
    },
  );
  return () => {
    for (const [signal, handler] of handlers) process.off(signal, handler);
  };
};
