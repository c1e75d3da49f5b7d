/** A dev server of a test's own, in a home of its own, on free ports. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findTemporalCli, type TemporalCli } from '../../../src/temporal/cli-binary.js';
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

/** A server in memory that has none of Emend's search attributes. */
export const startForeignServer = async (home: string): Promise<DevServer> => {
  const options = await serverOptions(home, 'memory');
  return startDevServer({ ...options, cli: await withoutAttributes(home, options.cli), port: 0 });
};

export const startServer = async (home: string, database: 'file' | 'memory'): Promise<DevServer> =>
  // Any free ports, looked for again where another process was quicker.
  startDevServer({ ...(await serverOptions(home, database)), port: 0 });

/** A CLI whose dev servers begin without Emend's search attributes, as a server of another project does. */
const withoutAttributes = async (home: string, cli: TemporalCli): Promise<TemporalCli> => {
  const path = join(home, 'temporal-without-attributes');
  const script = `#!/bin/sh
for word do
  shift
  case "$word" in
    --search-attribute | Emend*=Keyword) ;;
    *) set -- "$@" "$word" ;;
  esac
done
exec '${cli.path}' "$@"
`;
  await writeFile(path, script, { mode: 0o755 });
  return { ...cli, path };
};

/** An environment that names no server, so that the home's record decides. */
export const bareEnvironment = (home: string): Record<string, string> => ({
  PATH: process.env.PATH ?? '',
  HOME: home,
  EMEND_HOME: home,
});
