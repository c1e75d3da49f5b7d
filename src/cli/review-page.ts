/** The review page as a service of a command: `emend web`, and `emend dev` beside server and worker. */
import { loginName } from '../client/decide.js';
import { openEmend } from '../client/open.js';
import type { Emend } from '../client/types.js';
import { fail } from '../shared/problems.js';
import { BOUNDS } from '../shared/limits.js';
import type { WebServer } from '../web/server.js';
import type { Io } from './io.js';

/** Tried first, so that a bookmark stays good; where it is taken, any free one. */
const USUAL_PORT = 8260;

export interface PageFlags {
  readonly host?: string;
  readonly port?: string;
  readonly publicUrl?: string;
}

/** Throws ProblemError `home_unusable`, `store_unusable`, `usage` for flags that make no sense, a port that is taken, or a place beyond loopback without a secret. */
export const startPage = async (io: Io, flags: PageFlags = {}): Promise<WebServer> => {
  const [{ startWeb }, { loadAssets }] = await Promise.all([import('../web/server.js'), import('../web/assets.js')]);
  const emend = reopening(io);
  // A home that is not there or cannot be used is said now, not by the first page that is asked for.
  await emend.source();
  const start = async (port: number): Promise<WebServer> =>
    startWeb({
      host: flags.host ?? '127.0.0.1',
      port,
      secret: (io.env.EMEND_WEB_SECRET ?? '') === '' ? null : (io.env.EMEND_WEB_SECRET ?? null),
      publicUrl: flags.publicUrl ?? null,
      person: loginName(),
      assets: await loadAssets(),
      source: emend.source,
      onAddress: (address) => {
        io.out(`review page  ${address}`);
      },
      onError: (error) => {
        io.err(error instanceof Error ? (error.stack ?? error.message) : String(error));
      },
    });
  const wanted = flags.port === undefined ? null : portOf(flags.port);
  const starting = wanted === null ? start(USUAL_PORT).catch(() => start(0)) : start(wanted);
  const server = await starting.catch(async (error: unknown) => {
    await emend.close();
    throw error;
  });
  return {
    ...server,
    close: async () => {
      await server.close();
      await emend.close();
    },
  };
};

const portOf = (text: string): number => {
  const port = Number(text);
  if (!/^\d+$/.test(text) || port > 65_535) fail('usage', `--port must be a number from 0 to 65535, received ${text}.`);
  return port;
};

/** Where no server answered, the next who asks may find one. */
const reopening = (io: Io): { readonly source: () => Promise<Emend>; readonly close: () => Promise<void> } => {
  let opened: Promise<Emend> | null = null;
  let at = 0;
  const open = (): Promise<Emend> => {
    at = performance.now();
    return openEmend({ env: io.env, existing: true });
  };
  return {
    source: async () => {
      opened ??= open();
      const emend = await opened.catch((error: unknown) => {
        opened = null;
        throw error;
      });
      if (emend.runs !== null || performance.now() - at < BOUNDS.webAgain_ms) return emend;
      const again = await open();
      opened = Promise.resolve(again);
      return again;
    },
    close: async () => {
      await (await opened?.catch(() => null))?.close();
    },
  };
};
