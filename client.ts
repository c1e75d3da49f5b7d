#!/usr/bin/env node
/** The command line's entry. It loads nothing before it knows that this Node.js can run it. */
const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);

if (major < 20 || (major === 20 && minor < 3)) {
  process.stderr.write(`emend needs Node.js 20.3 or newer; this is ${process.version}. See https://nodejs.org\n`);
  process.exitCode = 2;
} else {
  if (process.env.EMEND_DEBUG) process.setSourceMapsEnabled(true); // the bundle's, so that a stack names the sources
  const { main } = await import('./src/cli/main.js');
  process.exitCode = await main(process.argv.slice(2));
}

export {};
