/** `ensureInstalled()`: node_modules as package-lock.json says, installed only when it is not. */
import { createHash } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { run } from './processes.js';

export const root = fileURLToPath(new URL('..', import.meta.url));
const lockFile = new URL('../package-lock.json', import.meta.url);
const noteFile = new URL('../node_modules/.emend-lock-hash', import.meta.url);
const npmRecord = new URL('../node_modules/.package-lock.json', import.meta.url);
const INSTALL_MS = 600_000;

/** What Vite and its bundler run on; the program that they make runs on 20.3. */
const BUILDS = { node: '20.19, or 22.12 or newer', least: { 20: 19, 22: 12 } };

export const ensureInstalled = async () => {
  const [major, minor] = process.versions.node.split('.').map(Number);
  if (major < 20 || major === 21 || minor < BUILDS.least[major]) {
    console.error(
      `A clone is built and tested with Node.js ${BUILDS.node}; this is ${process.version}.\n  Use a newer one, or install a packed Emend, which runs on 20.3 (README, Quick start).`,
    );
    process.exit(1);
  }
  const lockHash = createHash('sha256')
    .update(await readFile(lockFile))
    .digest('hex');
  const noted = await readFile(noteFile, 'utf8').catch(() => '');
  if (noted.trim() === lockHash) return;
  if (await installedByHand()) return;
  console.log('Installing dependencies (npm ci --ignore-scripts) …');
  // The npm that runs this script is the one to go on with; another on PATH may be older.
  const npm = process.env.npm_execpath;
  const [command, first] = npm?.endsWith('.js') ? [process.execPath, [npm]] : ['npm', []];
  const code = await run(command, [...first, 'ci', '--ignore-scripts'], {
    cwd: root,
    timeout_ms: INSTALL_MS,
  });
  if (code !== 0) {
    console.error('The dependencies could not be installed; npm says why above.');
    process.exit(1);
  }
  await writeFile(noteFile, `${lockHash}\n`);
};

/** Whoever typed `npm ci` need not wait for another: npm's own record of node_modules is compared with the lock file. */
const installedByHand = async () => {
  try {
    const [locked, present] = await Promise.all(
      [lockFile, npmRecord].map(async (file) => JSON.parse(await readFile(file, 'utf8')).packages),
    );
    return Object.entries(locked).every(
      ([path, entry]) =>
        path === '' ||
        entry.optional ||
        entry.devOptional ||
        present[path]?.integrity === entry.integrity,
    );
  } catch {
    return false;
  }
};
