/** Builds dist/: TypeScript, then the workflow bundle. Does nothing when no source has changed since (dist/.build-hash). */
import { createHash } from 'node:crypto';
import { realpathSync } from 'node:fs';
import { chmod, mkdir, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ensureInstalled, root } from './install.js';
import { endWithSignals, run } from './processes.js';

const dist = join(root, 'dist');
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

/** True when something was built. Leaves with exit code 1 when tsc finds errors: dist then holds no half build. */
export const build = async () => {
  const hash = await sourceHash();
  if ((await readFile(note, 'utf8').catch(() => '')).trim() === hash) return false;
  console.log('Building …');
  // What a removed source left in dist would be packed and found by imports.
  await rm(dist, { recursive: true, force: true });
  const tsc = join(root, 'node_modules', 'typescript', 'bin', 'tsc');
  const code = await run(process.execPath, [tsc, '-p', 'tsconfig.build.json'], { cwd: root, timeout_ms: TSC_MS });
  if (code !== 0) {
    await rm(dist, { recursive: true, force: true });
    process.exit(1);
  }
  await bundleWorkflows();
  await chmod(join(dist, 'client.js'), 0o755);
  await writeFile(note, `${hash}\n`);
  return true;
};

const bundleWorkflows = async () => {
  // Loaded here: before the first install there is nothing to load.
  const { DefaultLogger, bundleWorkflowCode } = await import('@temporalio/worker');
  const { code } = await bundleWorkflowCode({
    workflowsPath: join(dist, 'src', 'workflows', 'index.js'),
    logger: new DefaultLogger('WARN'),
  });
  await mkdir(dist, { recursive: true });
  await writeFile(join(dist, 'workflow-bundle.js'), code);
};

if (process.argv[1] !== undefined && realpathSync(process.argv[1]) === fileURLToPath(import.meta.url)) {
  endWithSignals();
  await ensureInstalled();
  await build();
}
