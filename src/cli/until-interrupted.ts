import type { Io } from './io.js';

export interface Interrupt {
  /** Settles at the first Ctrl-C or SIGTERM. */
  readonly came: Promise<void>;
  heard(): boolean;
  /** From here on Ctrl-C ends the process at once: whoever presses it twice means it. */
  off(): void;
}

/** Listens from now on: what is being started is then ended as well as what runs. */
export const hearInterrupt = (io: Io): Interrupt => {
  let heard = false;
  let off = (): void => undefined;
  const came = new Promise<void>((resolve) => {
    off = io.onInterrupt(() => {
      heard = true;
      resolve();
    });
  });
  return { came, heard: () => heard, off };
};

/** Waits for Ctrl-C or SIGTERM, or for `done`, and rejects when that does. */
export const untilInterrupted = async (io: Io, done: Promise<void>): Promise<void> => {
  const interrupt = hearInterrupt(io);
  try {
    await Promise.race([interrupt.came, done]);
  } finally {
    interrupt.off();
  }
};
