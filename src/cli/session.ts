/** Opens the stores and the server for a command and closes them after it, whatever happens. */
import type { DecisionRequest } from '../shared/decisions.js';
import type { Overrides } from '../shared/limits.js';
import { fail, valueOf, EXIT } from '../shared/problems.js';
import type { Io } from './io.js';
import { openEmend } from '../client/open.js';
import type { Emend } from '../client/types.js';

/** What the functions of a command hand each other. */
export interface Session<Flags = unknown> {
  readonly io: Io;
  readonly emend: Emend;
  readonly flags: Flags;
}

/** `signal` aborts at Ctrl-C, SIGTERM or the end of the terminal, which end nothing else meanwhile. */
export const interruptible = async <T>(
  io: Io,
  use: (signal: AbortSignal) => Promise<T>,
): Promise<T> => {
  const stop = new AbortController();
  const off = io.onInterrupt(() => stop.abort());
  try {
    return await use(stop.signal);
  } finally {
    off();
  }
};

export const withEmend = async <T>(io: Io, use: (emend: Emend) => Promise<T>): Promise<T> => {
  // Commands that look or answer make no home.
  const emend = await openEmend({ env: io.env, existing: true });
  try {
    return await use(emend);
  } finally {
    await emend.close();
  }
};

// `--set NAME=VALUE`, as often as wanted.

/** The schemas are loaded where there is something to read by them. Throws ProblemError `usage`. */
const settingsOf = async (of: 'run' | 'decision', written: readonly string[]) => {
  if (written.length === 0) return [];
  const { parseLimitSetting } = await import('../documents/job/index.js');
  return written.map((each) => valueOf(parseLimitSetting(each, of)));
};

/** For a decision: limits, `model`, `command`, and parts of `plan_start`. Throws ProblemError `usage`. */
export const decisionSettings = async (
  written: readonly string[],
): Promise<NonNullable<DecisionRequest['set']>> =>
  Object.fromEntries(
    (await settingsOf('decision', written)).map((setting) => {
      if (setting.kind === 'flag')
        fail('usage', `--set ${setting.name}=… applies to runs.`, 'Pass it to `emend run`.');
      return [setting.name, setting.value];
    }),
  );

/** For a run: limits and `requireCompleteSentinel`. Throws ProblemError `usage`. */
export const runOverrides = async (written: readonly string[]): Promise<Overrides> =>
  Object.fromEntries(
    (await settingsOf('run', written)).map((setting) => {
      const { kind, name, value } = setting;
      if (kind === 'text')
        fail(
          'usage',
          `--set ${name}=… applies to decisions.`,
          'Set `model:` or `test:` in the job or emend.yaml.',
        );
      return [name, value];
    }),
  );

/**
 * Listens from now on: what is being started is then ended as well as what runs. `again`: a second one. `came` settles at the first Ctrl-C
 * or SIGTERM; from `off` on Ctrl-C ends the process at once: whoever presses it twice means it.
 */
export const hearInterrupt = (io: Io, again?: () => void) => {
  let heard = false;
  let off = (): void => undefined;
  const came = new Promise<void>((resolve) => {
    off = io.onInterrupt(() => {
      if (heard) again?.();
      heard = true;
      resolve();
    });
  });
  return { came, heard: () => heard, off };
};

interface Service {
  /** Settles when it ended by itself, and rejects when it failed. */
  readonly done?: Promise<void>;
  stop(): Promise<void>;
}

/**
 * Starts a service and ends it at Ctrl-C or SIGTERM. Heard before it starts: whoever reads that it is ready may end it at once, and what
 * began to start is ended in good order, too. A second Ctrl-C waits for nothing.
 */
export const serveUntilInterrupted = async (
  io: Io,
  start: () => Promise<Service>,
): Promise<void> => {
  const interrupt = hearInterrupt(io, () => io.exitNow(EXIT.interrupted));
  let service: Service | null = null;
  try {
    service = await start();
    await Promise.race([interrupt.came, service.done ?? interrupt.came]);
  } finally {
    interrupt.off();
    await service?.stop();
  }
};
