#!/usr/bin/env node
/** The command line's entry. It loads nothing before it knows that this Node.js can run it. */
import * as modules from 'node:module';
import { join } from 'node:path';

const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);

if (major < 20 || (major === 20 && minor < 3)) {
  process.stderr.write(`emend needs Node.js 20.3 or newer; this is ${process.version}. See https://nodejs.org\n`);
  process.exitCode = 2;
} else {
  if (process.env.EMEND_DEBUG) process.setSourceMapsEnabled(true); // the bundle's, so that a stack names the sources
  // Node.js 22.1 and later keep what they compiled: loading takes a third less. By default in the /tmp that all users share.
  const { enableCompileCache } = modules as { enableCompileCache?: (dir: string) => unknown };
  const { cacheDir } = await import('./src/system/environment.js');
  enableCompileCache?.(join(cacheDir(process.env), 'compiled'));
  const { main } = await import('./src/cli/main.js');
  process.exitCode = await main(process.argv.slice(2));
}
