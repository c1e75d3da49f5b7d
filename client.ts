#!/usr/bin/env node
/** The command line's entry. It loads nothing before it knows that this Node.js can run it. */
const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);

if (major < 20 || (major === 20 && minor < 3)) {
  process.stderr.write(`emend needs Node.js 20.3 or newer; this is ${process.version}. See https://nodejs.org\n`);
  process.exitCode = 2;
} else {
  // A stack then names the files that the build made few of.
  if (process.env.EMEND_DEBUG) process.setSourceMapsEnabled(true);
  const { main } = await import('./src/cli/main.js');
  process.exitCode = await main(process.argv.slice(2));
}

export {};
