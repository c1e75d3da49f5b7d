/** A pool of worker processes that are really killed, stopped and asked to go; those that are gone are replaced, as a supervisor does. */
import { spawn, type ChildProcess } from 'node:child_process';
import { createWriteStream, type WriteStream } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Random } from './random.js';
import type { Traps } from './traps.js';

interface Member {
  readonly child: ChildProcess;
  readonly pid: number;
  ready: boolean;
  stopped: boolean;
  /** It was stopped once: time-outs that passed meanwhile may make Node itself give up (a workflow thread that is cut off). */
  slept: boolean;
  /** Why its end was ours; null: it may not end. */
  expected: string | null;
}
export interface WorkerPool {
  /** Resolves when all poll. */
  start(): Promise<void>;
  /** A worker that polls and is not stopped, once there is one. */
  someone(random: Random): Promise<Member>;
  everyone(): readonly Member[];
  /** Sends the signal and waits for the process to be gone. */
  end(member: Member, signal: 'SIGKILL' | 'SIGTERM', why: string): Promise<void>;
  /** SIGSTOP now, SIGCONT after `ms`. */
  freeze(member: Member, ms: number): Promise<void>;
  /** Wakes a worker that a trap stopped, after `ms`. */
  wake(pid: number, ms: number): Promise<void>;
  /** All that are there, as ones that will sleep with the machine: their ids. */
  asleep(): readonly number[];
  /** Wakes all, asks all to go, forces what stays. */
  close(): Promise<void>;
  /** Ends that nobody here had brought about. */
  readonly strange: readonly string[];
}
export interface PoolOptions {
  readonly size: number;
  readonly script: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly logDir: string;
  readonly traps: Traps;
  /** While the server is away a worker may end with it. */
  readonly mayEnd: () => boolean;
  readonly note: (line: string) => void;
}

const LOOK_MS = 50;
const AGAIN_MS = 300;
const GOING_MS = 20_000;

export const createWorkerPool = (options: PoolOptions): WorkerPool => {
  const { size, script, env, logDir, traps, note } = options;
  const members = new Set<Member>();
  const strange: string[] = [];
  let closing = false;
  let count = 0;

  const launch = (): Member => {
    const log: WriteStream = createWriteStream(join(logDir, `worker-${++count}.log`));
    const child = spawn(process.execPath, [script], {
      env: { ...process.env, ...env, CHAOS_TRAPS: traps.dir, NODE_OPTIONS: '' },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const member: Member = {
      child,
      pid: child.pid ?? -1,
      ready: false,
      stopped: false,
      slept: false,
      expected: null,
    };
    members.add(member);
    child.stderr.pipe(log);
    child.stdout.once('data', () => {
      member.ready = true;
    });
    child.once('exit', (code, signal) => {
      members.delete(member);
      void replace(member, `${String(code)} ${String(signal)}`);
    });
    return member;
  };
  const replace = async (gone: Member, how: string): Promise<void> => {
    const trapped = traps
      .all()
      .some(({ pid, does }) => pid === gone.pid && (does === 'kill' || does === 'tear'));
    if (gone.expected === null && !trapped && !closing) {
      if (gone.slept) note(`worker ${gone.pid} ended after its sleep (${how})`);
      else if (options.mayEnd())
        note(`worker ${gone.pid} ended while the server was away (${how})`);
      else strange.push(`worker ${gone.pid} ended by itself (${how}), see worker logs`);
      await sleep(AGAIN_MS);
    }
    if (!closing) launch();
  };
  const signalTo = (member: Member, signal: NodeJS.Signals): boolean => member.child.kill(signal);
  const gone = async (member: Member, within_ms: number): Promise<boolean> => {
    for (const end = Date.now() + within_ms; members.has(member) && Date.now() < end;)
      await sleep(LOOK_MS);
    return !members.has(member);
  };

  const pool: WorkerPool = {
    strange,
    start: async () => {
      for (let i = 0; i < size; i++) launch();
      while (members.size < size || [...members].some(({ ready }) => !ready)) {
        if (count > size * 10) throw new Error(`workers do not start; see ${logDir}`);
        await sleep(LOOK_MS);
      }
    },
    someone: async (random) => {
      for (;;) {
        const able = [...members].filter(
          ({ ready, stopped, expected }) => ready && !stopped && expected === null,
        );
        if (able.length > 0) return random.pick(able);
        await sleep(LOOK_MS);
      }
    },
    everyone: () => [...members],
    end: async (member, signal, why) => {
      member.expected = why;
      signalTo(member, signal);
      if (await gone(member, GOING_MS)) return;
      if (signal === 'SIGTERM')
        strange.push(`worker ${member.pid} did not end ${GOING_MS / 1000} s after SIGTERM`);
      signalTo(member, 'SIGKILL');
    },
    freeze: async (member, ms) => {
      member.stopped = member.slept = true;
      signalTo(member, 'SIGSTOP');
      await sleep(ms);
      signalTo(member, 'SIGCONT');
      member.stopped = false;
    },
    wake: async (pid, ms) => {
      const member = [...members].find((each) => each.pid === pid);
      if (member === undefined) return;
      member.stopped = member.slept = true;
      await sleep(ms);
      signalTo(member, 'SIGCONT');
      member.stopped = false;
    },
    asleep: () =>
      [...members].map((member) => {
        member.slept = true;
        return member.pid;
      }),
    close: async () => {
      closing = true;
      await Promise.all(
        [...members].map(async (member) => {
          signalTo(member, 'SIGCONT');
          if (member.ready) await pool.end(member, 'SIGTERM', 'the end');
          else signalTo(member, 'SIGKILL');
        }),
      );
    },
  };
  return pool;
};
