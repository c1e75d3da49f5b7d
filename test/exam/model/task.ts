/**
 * A task of the exam is a folder:
 *   job.md      a job file as a person writes it
 *   task.yaml   v, kind, for, fetch, prepare, solution, changes (see the schema below)
 *   files/      files of the workspace (kept small; long ones are fetched from installed packages)
 *   check.mjs   run in the workspace, exits 0 where the task is done; without it the result must have the bytes of the solution
 */
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, relative } from 'node:path';
import { parse } from 'yaml';
import { z } from 'zod';
import { parseJob } from '../../../src/documents/job/job.js';
import type { Job } from '../../../src/documents/job/types.js';
import { maxTaskFile_bytes } from './limits.js';

const change = z.union([
  /** `find` stands exactly once in the file. */
  z.strictObject({ file: z.string(), find: z.string().min(1), replace: z.string() }),
  z.strictObject({ file: z.string(), content: z.string() }),
  z.strictObject({ file: z.string(), eol: z.enum(['crlf', 'lf']) }),
  z.strictObject({ file: z.string(), delete: z.literal(true) }),
]);
const schema = z.strictObject({
  v: z.literal(1),
  kind: z.string(),
  /** `small`: meant for a model of 1 to 2 billion weights. */
  for: z.enum(['small', 'any']),
  /** Files of installed packages: `from` is `<package>/<path>`. */
  fetch: z.array(z.strictObject({ from: z.string(), to: z.string() })).default([]),
  /** Changes that make the workspace out of `files/` and what was fetched. */
  prepare: z.array(change).default([]),
  /** A reference solution: changes of the workspace. */
  solution: z.array(change).min(1),
  /** Paths that may change, appear or go; default: the job's target and output files and those that it deletes. */
  changes: z.array(z.string()).optional(),
});
export type Change = z.infer<typeof change>;

/** Path -> bytes, in path order. */
export type Files = ReadonlyMap<string, Buffer>;

export interface Task {
  readonly id: string;
  readonly dir: string;
  readonly kind: string;
  readonly small: boolean;
  readonly job: Job;
  /** The job file's bytes as text. */
  readonly jobText: string;
  /** The workspace before the change. */
  readonly base: Files;
  /** The workspace with the reference solution. */
  readonly solved: Files;
  readonly changes: readonly string[];
  /** Lines of the longest file that the solution changes; of a new one as it becomes. */
  readonly lines: number;
  /** A program, or null: the solution's bytes are wanted. */
  readonly check: string | null;
  /** Changes with anything that the outcome hangs on. */
  readonly hash: string;
}

export const sha256 = (bytes: Uint8Array | string): string =>
  createHash('sha256').update(bytes).digest('hex');

/** All tasks of a directory in order of their names. Throws an Error that says what is wrong with which task. */
export const readTasks = (dir: string): readonly Task[] =>
  readdirSync(dir)
    .filter((name) => existsSync(join(dir, name, 'task.yaml')))
    .sort()
    .map((name) => {
      try {
        return readTask(join(dir, name), name);
      } catch (error) {
        throw new Error(
          `${join(dir, name)}: ${error instanceof Error ? error.message : String(error)}`,
          {
            cause: error,
          },
        );
      }
    });

const readTask = (dir: string, id: string): Task => {
  const spec = schema.parse(parse(readFileSync(join(dir, 'task.yaml'), 'utf8')));
  const jobText = readFileSync(join(dir, 'job.md'), 'utf8');
  const job = parseJob(jobText, 'job.md');
  if (!job.ok) throw new Error(job.problems.map((problem) => problem.message).join('\n'));
  const given = new Map([...filesBelow(join(dir, 'files')), ...spec.fetch.map(fetched)]);
  const base = changed(given, spec.prepare);
  const solved = changed(base, spec.solution);
  const touched = [...new Set(spec.solution.map(({ file }) => file))];
  const check = join(dir, 'check.mjs');
  const hasCheck = existsSync(check);
  return {
    id,
    dir,
    kind: spec.kind,
    small: spec.for === 'small',
    job: job.value,
    jobText,
    base,
    solved,
    changes: spec.changes ?? [
      ...new Set([...job.value.targetFiles, ...job.value.outputFiles, ...job.value.deleteFiles]),
    ],
    lines: Math.max(
      ...touched.map((path) => linesOf(base.get(path) ?? solved.get(path) ?? Buffer.alloc(0))),
    ),
    check: hasCheck ? check : null,
    hash: sha256(
      [
        jobText,
        hasCheck ? readFileSync(check, 'utf8') : '',
        stateOf(base),
        hasCheck ? '' : stateOf(solved),
      ].join('\0'),
    ),
  };
};

export const linesOf = (bytes: Buffer): number =>
  bytes.toString('latin1').split('\n').length - (bytes.at(-1) === 10 ? 1 : 0);

const stateOf = (files: Files): string =>
  [...files].map(([path, bytes]) => `${path} ${sha256(bytes)}`).join('\n');

const filesBelow = (dir: string): [string, Buffer][] =>
  existsSync(dir)
    ? readdirSync(dir, { recursive: true, withFileTypes: true })
        .filter((entry) => entry.isFile())
        .map((entry): [string, Buffer] => {
          const path = join(entry.parentPath, entry.name);
          return [relative(dir, path), readFileSync(path)];
        })
        .sort(([a], [b]) => (a < b ? -1 : 1))
    : [];

const { resolve } = createRequire(import.meta.url);
/** Packages may hide their folders from `import`: the folder is found by the package's own description. */
const fetched = ({
  from,
  to,
}: {
  readonly from: string;
  readonly to: string;
}): [string, Buffer] => {
  const [name = '', ...rest] = from.split('/');
  let root = resolve(name);
  while (!existsSync(join(root, 'package.json')) || !root.endsWith(join('node_modules', name))) {
    if (root === dirname(root)) throw new Error(`package ${name} is not installed`);
    root = dirname(root);
  }
  const path = join(root, ...rest);
  if (statSync(path).size > maxTaskFile_bytes)
    throw new Error(`${path} has more than ${maxTaskFile_bytes} bytes`);
  return [to, readFileSync(path)];
};

const changed = (files: Files, changes: readonly Change[]): Files => {
  const result = new Map(files);
  for (const each of changes)
    if (!('delete' in each)) result.set(each.file, apply(result.get(each.file), each));
    else if (!result.delete(each.file)) throw new Error(`there is no file ${each.file} to delete`);
  return new Map([...result].sort(([a], [b]) => (a < b ? -1 : 1)));
};

const apply = (
  bytes: Buffer | undefined,
  each: Exclude<Change, { readonly delete: true }>,
): Buffer => {
  if ('content' in each) return Buffer.from(each.content);
  if (bytes === undefined) throw new Error(`there is no file ${each.file}`);
  const text = bytes.toString('utf8');
  if ('eol' in each)
    return Buffer.from(text.replaceAll(/\r?\n/g, each.eol === 'crlf' ? '\r\n' : '\n'));
  const parts = text.split(each.find);
  if (parts.length !== 2)
    throw new Error(
      `${each.file}: expected ${JSON.stringify(each.find)} once, found it ${parts.length - 1} times`,
    );
  return Buffer.from(parts.join(each.replace));
};
