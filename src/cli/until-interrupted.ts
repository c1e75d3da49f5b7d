import { EXIT } from '../shared/problems.js';
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

interface Service {
  /** Settles when it ended by itself, and rejects when it failed. */
  readonly done?: Promise<void>;
  stop(): Promise<void>;
}

/**
 * Starts a service and ends it at Ctrl-C or SIGTERM. Heard before it starts: whoever reads that it is ready may end it at once, and what
 * began to start is ended in good order, too. A second Ctrl-C waits for nothing.
 */
export const serveUntilInterrupted = async (io: Io, start: () => Promise<Service>): Promise<void> => {
  let heard = 0;
  let off = (): void => undefined;
  const interrupted = new Promise<void>((resolve) => {
    off = io.onInterrupt(() => {
      heard += 1;
      if (heard > 1) io.exitNow(EXIT.interrupted);
      resolve();
    });
  });
  try {
    const service = await start();
    try {
      await Promise.race([interrupted, ...(service.done === undefined ? [] : [service.done])]);
    } finally {
      off();
      await service.stop();
    }
  } finally {
    off();
  }
};
