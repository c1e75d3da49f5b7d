#!/usr/bin/env node
/** The command line's entry. It loads nothing before it knows that this Node.js can run it. */
import { existsSync, mkdirSync } from 'node:fs';
import * as modules from 'node:module';
import { isAbsolute, join } from 'node:path';

/**
 * Node.js 22.1 and later keep what they compiled: loading takes a third less. Kept in the home, where no other user and no command in a
 * sandbox can put code; nowhere while there is no home of this user.
 */
const keepCompiled = async (): Promise<void> => {
  const { enableCompileCache } = modules as { enableCompileCache?: (dir: string) => unknown };
  if (enableCompileCache === undefined) return;
  const { homeLocation, homePaths, resolveHome } = await import('./src/stores/home.js');
  const home = homeLocation(process.env);
  // None is made for this, and none is taken from the directory in which a command happens to run.
  if (!isAbsolute(home) || !existsSync(homePaths(home).hostId)) return;
  const dir = join(await resolveHome(process.env), 'compiled');
  mkdirSync(dir, { recursive: true, mode: 0o700 });
  enableCompileCache(dir);
};

const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);

if (major < 20 || (major === 20 && minor < 3)) {
  process.stderr.write(
    `emend needs Node.js 20.3 or newer; this is ${process.version}. See https://nodejs.org\n`,
  );
  process.exitCode = 2;
} else {
  if (process.env.EMEND_DEBUG) process.setSourceMapsEnabled(true); // the bundle's, so that a stack names the sources
  await keepCompiled().catch(() => undefined); // What needs the home says what is wrong with it.
  const { main } = await import('./src/cli/main.js');
  process.exitCode = await main(process.argv.slice(2)).catch((error: unknown) => {
    if (!String(error).includes('uv_cwd')) throw error;
    process.stderr.write(
      'emend: The current directory has been removed.\n  Change to one that exists.\n',
    );
    return 2 as const;
  });
}
