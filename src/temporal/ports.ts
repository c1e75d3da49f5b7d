/** Free TCP ports on the loopback address. A port found free may be taken the next moment: callers try again with another. */
import { createServer } from 'node:net';

export const LOOPBACK = '127.0.0.1';

/** The wanted port if it is free and not in `not`, else any other free one. */
export const freePort = async (wanted: number, not: readonly number[] = []): Promise<number> => {
  if (!not.includes(wanted)) {
    const port = await listenOnce(wanted);
    if (port !== null) return port;
  }
  for (;;) {
    const port = await listenOnce(0);
    if (port !== null && !not.includes(port)) return port;
  }
};

/** Null when the port is taken. */
const listenOnce = (wanted: number): Promise<number | null> =>
  new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => {
      resolve(null);
    });
    server.listen(wanted, LOOPBACK, () => {
      const address = server.address();
      const port = typeof address === 'object' && address !== null ? address.port : null;
      server.close(() => {
        resolve(port);
      });
    });
  });
