/** A dev server of a test's own, in a home of its own, on free ports. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findTemporalCli } from '../../../src/temporal/cli-binary.js';
import {
  startDevServer,
  type DevServer,
  type DevServerOptions,
  freePort,
} from '../../../src/temporal/dev-server.js';

export const newHome = async (): Promise<{ home: string; remove: () => Promise<void> }> => {
  // A blank in the path: every command line must stand it.
  const home = await mkdtemp(join(tmpdir(), 'emend home '));
  return { home, remove: () => rm(home, { recursive: true, force: true }) };
};

export const serverOptions = async (
  home: string,
  database: 'file' | 'memory',
): Promise<DevServerOptions> => {
  return {
    home,
    cli: await findTemporalCli({ env: process.env }),
    port: await freePort(0),
    dbFile: database === 'file' ? join(home, 'server', 'temporal.db') : null,
    logFile: join(home, 'dev-server.log'),
  };
};

export const startServer = async (home: string, database: 'file' | 'memory'): Promise<DevServer> =>
  // Any free ports, looked for again where another process was quicker.
  startDevServer({ ...(await serverOptions(home, database)), port: 0 });

/** An environment that names no server, so that the home's record decides. */
export const bareEnvironment = (home: string): Record<string, string> => ({
  PATH: process.env.PATH ?? '',
  HOME: home,
  EMEND_HOME: home,
});
