/** Builds dist/: TypeScript, the workflow bundle, the review page. Does nothing when no source has changed since (dist/.build-hash). */
import { createHash } from 'node:crypto';
import { realpathSync } from 'node:fs';
import { chmod, readFile, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ensureInstalled, root } from './install.js';
import { endWithSignals, run } from './processes.js';

const dist = join(root, 'dist');
/** Built beside and then renamed: a tree that does not compile keeps the build it had. */
const fresh = join(root, 'dist.new');
const note = join(dist, '.build-hash');
const TSC_MS = 300_000;
const INPUTS = ['package-lock.json', 'tsconfig.build.json', 'worker.ts', 'client.ts', 'scripts/build.js'];

/** Paths and contents of everything that a build depends on. */
const sourceHash = async () => {
  const entries = await readdir(join(root, 'src'), { recursive: true, withFileTypes: true });
  const sources = entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath ?? entry.path, entry.name));
  const hash = createHash('sha256').update(process.version);
  for (const path of [...INPUTS.map((name) => join(root, name)), ...sources].sort()) {
    hash
      .update(`${path.slice(root.length)}\0`)
      .update(await readFile(path))
      .update('\0');
  }
  return hash.digest('hex');
};

/** True when something was built. Leaves with exit code 1 when tsc finds errors: dist is then as it was. */
export const build = async () => {
  const hash = await sourceHash();
  if ((await readFile(note, 'utf8').catch(() => '')).trim() === hash) return false;
  console.log('Building …');
  await rm(fresh, { recursive: true, force: true });
  const tsc = join(root, 'node_modules', 'typescript', 'bin', 'tsc');
  const args = [tsc, '-p', 'tsconfig.build.json', '--outDir', fresh];
  if ((await run(process.execPath, args, { cwd: root, timeout_ms: TSC_MS })) !== 0) {
    await rm(fresh, { recursive: true, force: true });
    process.exit(1);
  }
  await bundleWorkflows();
  await buildPage();
  await chmod(join(fresh, 'client.js'), 0o755);
  await writeFile(join(fresh, '.build-hash'), `${hash}\n`);
  // What a removed source left in dist would be packed and found by imports: the old build goes as a whole.
  await rm(dist, { recursive: true, force: true });
  await rename(fresh, dist);
  return true;
};

/** The review page, for browsers; src/web/server.ts serves what lies there. */
const buildPage = async () => {
  const { build: vite } = await import('vite');
  const page = join(root, 'src', 'web', 'page');
  await vite({ configFile: join(page, 'vite.config.js'), build: { outDir: join(fresh, 'web') } });
};

const bundleWorkflows = async () => {
  // Loaded here: before the first install there is nothing to load.
  const { DefaultLogger, bundleWorkflowCode } = await import('@temporalio/worker');
  const { code } = await bundleWorkflowCode({
    workflowsPath: join(fresh, 'src', 'workflows', 'index.js'),
    logger: new DefaultLogger('WARN'),
  });
  await writeFile(join(fresh, 'workflow-bundle.js'), code);
};

if (process.argv[1] !== undefined && realpathSync(process.argv[1]) === fileURLToPath(import.meta.url)) {
  endWithSignals();
  await ensureInstalled();
  await build();
}
