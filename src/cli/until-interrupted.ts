import type { Io } from './io.js';

/** Waits for Ctrl-C or SIGTERM, or for `done`, and rejects when that does. */
export const untilInterrupted = async (io: Io, done: Promise<void>): Promise<void> => {
  let off = (): void => undefined;
  const interrupted = new Promise<void>((resolve) => {
    off = io.onInterrupt(resolve);
  });
  try {
    await Promise.race([interrupted, done]);
  } finally {
    // From here on Ctrl-C ends the process at once: whoever presses it twice means it.
    off();
  }
};
