/** Sending frames with the faults of the wire: slow, held, silent or dropped at a byte of the body. */
import { existsSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import type { Fault } from './schema.js';

/** Where a held request waits for POST /rehearsal/release. */
export interface Gate {
  /** Resolves at the next release after this call. */
  wait(): Promise<void>;
}

interface SendOptions {
  readonly faults: readonly Fault[];
  readonly headers: Readonly<Record<string, string>>;
  readonly gate: Gate;
  /** Fires when the client has gone or the server closes. */
  readonly gone: AbortSignal;
  readonly onState: (state: 'held' | 'silent' | 'open') => void;
}
type Stop = Extract<Fault, { kind: 'drop' | 'silence' | 'hold' }>;

const fileLook_ms = 25;

/** True where everything was sent; false where a fault cut it off or the client has gone. */
export const sendFrames = async (
  response: ServerResponse,
  frames: readonly string[],
  options: SendOptions,
): Promise<boolean> => {
  const { faults, headers, gone } = options;
  const slow = faults.find((fault) => fault.kind === 'slow');
  const stops = faults
    .filter((fault): fault is Stop => fault.kind === 'drop' || fault.kind === 'silence' || fault.kind === 'hold')
    .sort((a, b) => (a.after_bytes ?? -1) - (b.after_bytes ?? -1));
  let sent = 0;
  /** Performs the stops up to here; false: the response is over. */
  const passed = async (upTo: number): Promise<boolean> => {
    for (let stop = stops[0]; stop !== undefined && (stop.after_bytes ?? -1) <= upTo; stop = stops[0]) {
      stops.shift();
      if (!(await perform(response, stop, options))) return false;
    }
    return !gone.aborted;
  };
  try {
    if (!(await passed(-1))) return false;
    response.writeHead(200, headers);
    response.flushHeaders();
    await pause(slow?.first_ms ?? 0, gone);
    for (const frame of frames) {
      let rest = Buffer.from(frame);
      while (rest.length > 0) {
        if (!(await passed(sent))) return false;
        const next = stops[0]?.after_bytes ?? Infinity;
        const part = rest.subarray(0, Math.min(rest.length, next - sent));
        if (!(await written(response, part))) return false;
        sent += part.length;
        rest = rest.subarray(part.length);
      }
      await pause(slow?.chunk_ms ?? 0, gone);
    }
    // A stop behind the last byte still counts: everything was sent, the connection is not closed yet.
    if (!(await passed(Infinity))) return false;
    await new Promise<void>((resolve) => response.end(resolve));
    return true;
  } catch (error) {
    if (gone.aborted) return false;
    throw error;
  }
};

const perform = async (
  response: ServerResponse,
  stop: Stop,
  { gate, gone, onState }: SendOptions,
): Promise<boolean> => {
  if (stop.kind === 'drop') {
    response.destroy();
    return false;
  }
  if (stop.kind === 'silence') {
    onState('silent');
    await until(gone);
    return false;
  }
  onState('held');
  await Promise.race([
    gate.wait(),
    until(gone),
    ...(stop.until_file === undefined ? [] : [fileIsThere(stop.until_file, gone)]),
  ]);
  onState('open');
  return !gone.aborted;
};

const pause = async (ms: number, gone: AbortSignal): Promise<void> => {
  if (ms > 0) await delay(ms, undefined, { signal: gone });
};

const fileIsThere = async (path: string, gone: AbortSignal): Promise<void> => {
  while (!gone.aborted && !existsSync(path)) await delay(fileLook_ms);
};

const until = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve();
    else
      signal.addEventListener(
        'abort',
        () => {
          resolve();
        },
        { once: true },
      );
  });

/**
 * Resolves when the bytes have left for the kernel, so that a drop after them does not take them along. False: the client has gone, which
 * a write may notice before `close` is told.
 */
const written = (response: ServerResponse, bytes: Buffer): Promise<boolean> =>
  new Promise((resolve) => {
    response.write(bytes, (error) => {
      resolve(!error);
    });
  });
