/** Reads the beginning of what a connection sends, and leaves what follows unread. */
import type { Socket } from 'node:net';

export interface Beginning<T> {
  readonly value: T;
  readonly length_bytes: number;
}

/** Returns the value of the first beginning that `take` finds (null: it needs more bytes); null: the connection ended before. Rejects with its error. */
export const readBeginning = <T>(
  socket: Socket,
  take: (bytes: Buffer) => Beginning<T> | null,
): Promise<T | null> =>
  new Promise((resolve, reject) => {
    let bytes = Buffer.alloc(0);
    const onReadable = (): void => {
      const chunk: unknown = socket.read();
      if (!(chunk instanceof Buffer)) return;
      bytes = Buffer.concat([bytes, chunk]);
      const beginning = take(bytes);
      if (beginning === null) return;
      stop();
      if (beginning.length_bytes < bytes.length)
        socket.unshift(bytes.subarray(beginning.length_bytes));
      resolve(beginning.value);
    };
    const onError = (error: Error): void => {
      stop();
      reject(error);
    };
    const onEnd = (): void => {
      stop();
      resolve(null);
    };
    const stop = (): void => {
      socket.off('readable', onReadable);
      socket.off('error', onError);
      socket.off('end', onEnd);
      socket.off('close', onEnd);
    };
    socket.on('readable', onReadable);
    socket.once('error', onError);
    socket.once('end', onEnd);
    socket.once('close', onEnd);
    onReadable();
  });
