/**
 * Compares the program of two commits after minification, with all local names replaced: a change of names and comments alone leaves it equal.
 * Names of properties count. Usage: `node tools/same-program.js BEFORE [AFTER]`, AFTER is the work tree unless given. Exit code 1: different.
 *
 * `node tools/same-program.js BEFORE [AFTER] --files FILE...` compares each file alone, without the modules that it imports.
 * This is for tests and scripts. Names in the lists of `import { }` and `export { }` may differ: the comparison lists them as `old -> new`, for the reader to check.
 * A new name of `export const`, `export function` or `export class` counts as a difference.
 * A file is different if one old name became two new names, or two old names became one.
 */
import { execFileSync } from 'node:child_process';
import { mkdtemp, readFile, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build, minify, parse, transformWithOxc } from 'vite';

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

/** Returns the text of a file in a commit, or in the work tree if the commit is undefined. */
const fileAt = async (commit, file) =>
  commit === undefined
    ? await readFile(join(root, file), 'utf8')
    : execFileSync('git', ['show', `${commit}:${file}`], { cwd: root, encoding: 'utf8' });

/** Throws the first error that the parser or the minifier of `file` reports. */
const requireNoErrors = (result, file) => {
  if (result.errors.length > 0) throw new Error(`${file}: ${result.errors[0].message}`);
};

/** Returns the nodes of the names in the import lists and export lists of a module, in the order of the text. */
const sharedNames = (program) => {
  const names = [];
  for (const statement of program.body) {
    for (const specifier of statement.specifiers ?? []) {
      if (specifier.type === 'ImportSpecifier') names.push(specifier.imported);
      if (specifier.type !== 'ExportSpecifier') continue;
      // The local side of `export { a } from 'module'` is a name of the other module.
      if (statement.source !== null) names.push(specifier.local);
      names.push(specifier.exported);
    }
  }
  return names;
};

/** Returns the minified text of one file with `_` for each name that it shares with other modules, and these names in order. */
const programOfFile = async (text, file) => {
  const { code } = await transformWithOxc(text, file, { target: 'esnext', sourcemap: false });
  const minified = await minify(file.replace(/\.tsx?$/, '.js'), code, {
    module: true,
    compress: false,
    mangle: { toplevel: true },
  });
  requireNoErrors(minified, file);
  const parsed = await parse('file.js', minified.code);
  requireNoErrors(parsed, file);
  const names = [];
  let program = '';
  let end = 0;
  for (const node of sharedNames(parsed.program)) {
    program += `${minified.code.slice(end, node.start)}_`;
    end = node.end;
    names.push(node.name ?? node.value);
  }
  return { program: program + minified.code.slice(end), names };
};

/** Returns the pairs of shared names that differ, and whether each old name has one new name and the reverse. */
const renamesBetween = (oldNames, newNames) => {
  const newOf = new Map();
  const oldOf = new Map();
  let isOneToOne = oldNames.length === newNames.length;
  for (const [index, oldName] of oldNames.entries()) {
    const newName = newNames[index];
    isOneToOne &&= (newOf.get(oldName) ?? newName) === newName;
    isOneToOne &&= (oldOf.get(newName) ?? oldName) === oldName;
    newOf.set(oldName, newName);
    oldOf.set(newName, oldName);
  }
  const renames = [...newOf].filter(([oldName, newName]) => oldName !== newName);
  return { renames, isOneToOne };
};

/** Compares one file of two commits, prints the result and returns whether the programs are equal. */
const compareFile = async (before, after, file) => {
  const old = await programOfFile(await fileAt(before, file), file);
  const current = await programOfFile(await fileAt(after, file), file);
  const difference = firstDifference(old.program, current.program);
  const { renames, isOneToOne } = renamesBetween(old.names, current.names);
  const isEqual = difference === null && isOneToOne;
  console.log(`${isEqual ? 'equal' : 'different'}  ${file}`);
  for (const [oldName, newName] of renames) console.log(`  ${oldName} -> ${newName}`);
  if (difference !== null) {
    console.log(`  before: ${difference.before}\n  after:  ${difference.after}`);
  }
  return isEqual;
};

const compareFiles = async (before, after, files) => {
  let different = 0;
  for (const file of files) if (!(await compareFile(before, after, file))) different++;
  return different;
};

const args = process.argv.slice(2);
const filesAt = args.indexOf('--files');
const [before, after] = filesAt === -1 ? args : args.slice(0, filesAt);
const files = filesAt === -1 ? null : args.slice(filesAt + 1);
if (before === undefined || files?.length === 0) {
  console.error('Usage: node tools/same-program.js BEFORE [AFTER] [--files FILE...]');
  process.exit(2);
}
if (files !== null) process.exit((await compareFiles(before, after, files)) === 0 ? 0 : 1);
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
