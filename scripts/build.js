/** Builds dist/: TypeScript, the command line in few files, the workflow bundle, the review page. Does nothing when no source has changed since (dist/.build-hash). */
import { createHash } from 'node:crypto';
import { createRequire } from 'node:module';
import { realpathSync } from 'node:fs';
import { chmod, copyFile, readFile, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ensureInstalled, root } from './install.js';
import { endWithSignals, run } from './processes.js';

const dist = join(root, 'dist');
/** Built beside and then renamed: a tree that does not compile keeps the build it had. */
const fresh = join(root, 'dist.new');
const note = join(dist, '.build-hash');
const TSC_MS = 300_000;
const ID_DIGITS = 8;
const KINDS = 'docs/reference/archive.json';
const INPUTS = [
  'package-lock.json',
  'tsconfig.build.json',
  'worker.ts',
  'client.ts',
  'scripts/build.js',
  KINDS,
];

const filesIn = async (dir) =>
  (await readdir(dir, { recursive: true, withFileTypes: true }))
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath ?? entry.path, entry.name));

/** Paths and contents of files in `dir`. */
const hashOf = async (dir, paths, first = '') => {
  const hash = createHash('sha256').update(first);
  for (const path of [...paths].sort()) {
    hash
      .update(`${path.slice(dir.length)}\0`)
      .update(await readFile(path))
      .update('\0');
  }
  return hash.digest('hex');
};

/** Of everything that a build depends on. */
const sourceHash = async () =>
  hashOf(
    root,
    [...INPUTS.map((name) => join(root, name)), ...(await filesIn(join(root, 'src')))],
    process.version,
  );

/** True when something was built. Leaves with exit code 1 when tsc finds errors: dist is then as it was. */
export const build = async () => {
  const hash = await sourceHash();
  if ((await readFile(note, 'utf8').catch(() => '')).trim() === hash) return false;
  console.log('Building …');
  await rm(fresh, { recursive: true, force: true });
  const tsc = join(root, 'node_modules', 'typescript-native', 'bin', 'tsc');
  const args = [tsc, '-p', 'tsconfig.build.json', '--outDir', fresh];
  if ((await run(process.execPath, args, { cwd: root, timeout_ms: TSC_MS })) !== 0) {
    await rm(fresh, { recursive: true, force: true });
    process.exit(1);
  }
  await bundleWorkflows();
  await buildPage();
  await bundleCommands();
  // Readers of archives go by it (src/client/archive/run.ts).
  await copyFile(join(root, KINDS), join(fresh, 'archive.json'));
  await chmod(join(fresh, 'client.js'), 0o755);
  // Which build this is (src/system/version.ts): of all that it made.
  await writeFile(
    join(fresh, 'build-id'),
    (await hashOf(fresh, await filesIn(fresh))).slice(0, ID_DIGITS),
  );
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

/** Without native code, state of their own or files beside them: what is loaded from many files takes longer than what it does. */
const PURE = [
  '@noble/hashes',
  'commander',
  'diff',
  'ignore',
  'jsonc-parser',
  'picocolors',
  'safe-stable-stringify',
  'smol-toml',
  'yaml',
  'zod',
];

/**
 * Packages that stay beside: a worker in the same process has the same ones. They are CommonJS, and for an `import` Node.js reads all their
 * files for the names of their exports before it runs them: `require` saves a tenth of what `emend list` takes.
 */
const REQUIRED = [
  '@grpc/grpc-js',
  ...['activity', 'client', 'common', 'envconfig'].map((name) => `@temporalio/${name}`),
];
const byRequire = {
  name: 'by-require',
  enforce: 'pre',
  resolveId: (id) => (REQUIRED.includes(id) ? `\0${id}` : null),
  load: (id) =>
    REQUIRED.includes(id.slice(1))
      ? `import { createRequire } from 'node:module';
         export const { ${Object.keys(createRequire(import.meta.url)(id.slice(1))).join(', ')} } = createRequire(import.meta.url)('${id.slice(1)}');`
      : null,
};

/**
 * The command line and what it needs of `PURE`, a few files where there were hundreds: each that Node.js finds, reads and links costs half
 * a millisecond. They lie at the depth of what they are made of (`import.meta.url`); programs import the files that tsc made.
 */
const bundleCommands = async () => {
  const { build: vite } = await import('vite');
  const input = {
    client: join(fresh, 'client.js'),
    'src/bundle/edit-thread': join(fresh, 'src', 'activities', 'frame', 'edit-thread.js'),
    'src/bundle/launcher-process': join(fresh, 'src', 'system', 'launcher-process.js'),
  };
  const output = {
    entryFileNames: '[name].js',
    chunkFileNames: 'src/bundle/[name].js',
    sourcemapExcludeSources: true,
  };
  await vite({
    configFile: false,
    publicDir: false,
    logLevel: 'warn',
    plugins: [byRequire],
    ssr: { noExternal: PURE },
    build: {
      ssr: true,
      outDir: fresh,
      emptyOutDir: false,
      target: 'node20.3',
      minify: false,
      sourcemap: true,
      license: { fileName: 'src/bundle/LICENSES.md' },
      // A door is no reason to load all that is behind it.
      rolldownOptions: {
        input,
        output,
        treeshake: { moduleSideEffects: (id) => Object.values(input).includes(id) },
      },
    },
  });
};

const bundleWorkflows = async () => {
  // Loaded here: before the first install there is nothing to load.
  const { DefaultLogger, bundleWorkflowCode } = await import('@temporalio/worker');
  const workflowsPath = join(fresh, 'src', 'workflows', 'index.js');
  const { code } = await bundleWorkflowCode({
    workflowsPath,
    // Once for all runs of a thread: they hold nothing of a run (test/workflows/bundle.test.ts).
    preloadModules: [workflowsPath],
    logger: new DefaultLogger('WARN'),
  });
  await writeFile(join(fresh, 'workflow-bundle.js'), code);
};

if (
  process.argv[1] !== undefined &&
  realpathSync(process.argv[1]) === fileURLToPath(import.meta.url)
) {
  endWithSignals();
  await ensureInstalled();
  await build();
}
