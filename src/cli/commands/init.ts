/** `emend init` and `emend new`: files to begin with. Nothing that is there is written over. */
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join, relative, resolve } from 'node:path';
import { EXIT, fail, type ExitCode } from '../../shared/problems.js';
import { repositoryOf } from '../../workspace/git.js';
import type { Io } from '../io.js';
import { asides, type QuietFlag } from '../quiet.js';
import { plain } from '../render/text.js';
import { CONFIG, job, plan } from '../templates.js';
import { readGivenText } from '../../workspace/given-file.js';

const isThere = (error: unknown): boolean => (error as NodeJS.ErrnoException).code === 'EEXIST';

/** False: there is such a file already. */
const make = async (path: string, text: string): Promise<boolean> => {
  await mkdir(dirname(path), { recursive: true });
  try {
    await writeFile(path, text, { flag: 'wx' });
    return true;
  } catch (error) {
    if (isThere(error)) return false;
    throw error;
  }
};

/** The top of the repository, else the directory itself. */
const topOf = async (dir: string): Promise<string> => (await repositoryOf(dir))?.root ?? dir;

export const init = async (io: Io, flags: QuietFlag): Promise<ExitCode> => {
  const top = await topOf(io.cwd);
  const first = join('jobs', 'first.md');
  const files = [
    ['emend.yaml', CONFIG],
    [first, job('Say what should change', [], await npmTest(top))],
  ] as const;
  for (const [path, text] of files) {
    const made = await make(join(top, path), text);
    io.out(`${made ? 'wrote' : 'is there already, left as it is:'} ${plain(relative(io.cwd, join(top, path)))}`);
  }
  asides(io, flags).out(
    `Next: write what you want into ${plain(relative(io.cwd, join(top, first)))}, then: emend run ${plain(relative(io.cwd, join(top, first)))} --dev`,
  );
  return EXIT.done;
};

/** The project's own test command, where its manifest names one. */
const npmTest = async (top: string): Promise<string | null> => {
  try {
    const { scripts } = JSON.parse((await readGivenText(join(top, 'package.json'))) ?? '') as {
      scripts?: { test?: unknown };
    };
    return typeof scripts?.test === 'string' ? 'npm test' : null;
  } catch {
    return null;
  }
};

export interface NewFlags extends QuietFlag {
  readonly title?: string;
  readonly file: readonly string[];
}

export const makeNew = async (io: Io, kind: string, path: string, flags: NewFlags): Promise<ExitCode> => {
  if (kind !== 'job' && kind !== 'plan')
    return fail('usage', `emend new ${kind.slice(0, 40)}: expected job or plan.`, 'As in: emend new job jobs/greet.md');
  if (!/\.(?:md|markdown)$/.test(path)) return fail('usage', `${path}: expected a name that ends in .md.`);
  if (kind === 'plan' && flags.file.length > 0)
    return fail('usage', '--file is for jobs; a plan names files in its tasks.');
  const at = resolve(io.cwd, path);
  const title = flags.title ?? titleOf(path);
  const text = kind === 'plan' ? plan(title) : job(title, flags.file, await npmTest(await topOf(io.cwd)));
  if (!(await make(at, text))) return fail('usage', `${path} is there already; nothing was written.`);
  io.out(`wrote ${plain(path)}`);
  asides(io, flags).out(`Next: ${kind === 'plan' ? 'emend plan check' : 'emend run'} ${plain(path)}`);
  return EXIT.done;
};

/** `jobs/010_greet-politely.md` -> `Greet politely`. */
const titleOf = (path: string): string => {
  const name = (path.split('/').at(-1) ?? '')
    .replace(/\.\w+$/, '')
    .replace(/^\d+[_-]/, '')
    .replace(/[_-]+/g, ' ')
    .trim();
  return name === '' ? 'What should change' : `${name[0]?.toUpperCase() ?? ''}${name.slice(1)}`;
};
