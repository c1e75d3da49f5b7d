/**
 * Compares the program of two commits after minification, with all local names replaced: a change of names and comments alone leaves it equal.
 * Names of properties count. Usage: `node tools/same-program.js BEFORE [AFTER]`, AFTER is the work tree unless given. Exit code 1: different.
 */
import { execFileSync } from 'node:child_process';
import { mkdtemp, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'vite';

const root = fileURLToPath(new URL('..', import.meta.url));
const ENTRIES = ['worker.ts', 'client.ts', 'src/workflows/index.ts', 'src/web/page/main.tsx'];
const CONTEXT_CHARS = 300;

/** Returns the entry and all modules of ours that it imports as one minified text. */
const programOf = async (directory, entry) => {
  const [result] = [
    await build({
      root: directory,
      configFile: false,
      logLevel: 'error',
      build: {
        ssr: join(directory, entry),
        write: false,
        minify: true,
        target: 'esnext',
        rolldownOptions: {
          external: (id) => !/^[./\0]/.test(id),
          treeshake: false,
          output: { codeSplitting: false, minify: { mangle: { toplevel: true }, compress: false } },
        },
      },
    }),
  ].flat();
  return result.output.map((chunk) => chunk.code ?? '').join('\n');
};

/** Returns the first place where the texts differ, with what is around it, or null. */
const firstDifference = (before, after) => {
  if (before === after) return null;
  let index = 0;
  while (before[index] === after[index]) index++;
  const around = (text) => text.slice(Math.max(0, index - CONTEXT_CHARS), index + CONTEXT_CHARS);
  return { before: around(before), after: around(after) };
};

/** Calls `use` with a directory that holds the files of the commit. */
const withCommit = async (commit, use) => {
  const directory = await mkdtemp(join(tmpdir(), 'same-program-'));
  try {
    const archive = execFileSync('git', ['archive', commit], { cwd: root, maxBuffer: 2 ** 30 });
    execFileSync('tar', ['-x', '-C', directory], { input: archive });
    await symlink(join(root, 'node_modules'), join(directory, 'node_modules'));
    return await use(directory);
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
};

const programsOf = async (directory) => {
  const programs = new Map();
  for (const entry of ENTRIES) programs.set(entry, await programOf(directory, entry));
  return programs;
};

const [before, after] = process.argv.slice(2);
if (before === undefined) {
  console.error('Usage: node tools/same-program.js BEFORE [AFTER]');
  process.exit(2);
}
const old = await withCommit(before, programsOf);
const current = await (after === undefined
  ? programsOf(resolve(root))
  : withCommit(after, programsOf));
let different = 0;
for (const [entry, program] of old) {
  const difference = firstDifference(program, current.get(entry));
  console.log(
    `${difference === null ? 'equal' : 'different'}  ${entry}  ${program.length} characters`,
  );
  if (difference === null) continue;
  different++;
  console.log(`  before: ${difference.before}\n  after:  ${difference.after}`);
}
process.exit(different === 0 ? 0 : 1);
