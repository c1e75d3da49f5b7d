/** The commit's message and who signs for it. */
import { fieldsOf, git, gitLine, valueOf } from './git.js';
import type { StepKey } from '../shared/refs.js';

const TRAILER = 'Emend-Step';

/**
 * As `git stripspace` does it: no white space at the ends of lines, no empty line at the beginning, at the end or after another; a line
 * end at the end. Not asked of git, as each process costs the worker more than what it does.
 */
export const stripSpace = (text: string): string => {
  const lines = text.split('\n').map((line) => line.replace(/[ \t\r]+$/, ''));
  const kept = lines.filter((line, i) => line !== '' || (lines[i - 1] ?? '') !== '');
  while (kept.at(-1) === '') kept.pop();
  return kept.map((line) => `${line}\n`).join('');
};

/** The message without stray blank lines, ending in the trailer `Emend-Step: <stepKey>`; the trailer is added once. */
export async function withTrailer(root: string, message: string, stepKey: StepKey): Promise<string> {
  const tidy = stripSpace(message);
  const trailer = [
    '--if-exists',
    'addIfDifferent',
    '--if-missing',
    'add',
    '--where',
    'end',
    '--trailer',
    `${TRAILER}: ${stepKey}`,
  ];
  // A person's own trailer settings must not move or reword ours; `---` in a message is text, not the start of a patch.
  const args = ['-c', 'trailer.separators=:', 'interpret-trailers', '--no-divider', ...trailer];
  return valueOf(await git(args, { cwd: root, input: tidy === '' ? `Emend step ${stepKey}\n` : tidy })).text;
}

/** The commit between `after` (null: from the beginning) and `tip` that carries the step's trailer, newest first; null if none. */
export async function commitOfStep(
  root: string,
  after: string | null,
  tip: string,
  stepKey: StepKey,
): Promise<string | null> {
  const range = after === null ? [tip] : [tip, `^${after}`];
  const line = `--grep=${TRAILER}: ${stepKey}`;
  const call = { cwd: root, reading: true };
  const listed = await gitLine(['rev-list', '--max-count=20', '--fixed-strings', line, ...range, '--'], call);
  if (!listed.ok) return null; // `after` is no longer in the repository: HEAD is elsewhere, which the caller reports
  for (const id of listed.value.split('\n').filter((found) => found !== '')) {
    const values = await gitLine(['log', '-1', `--format=%(trailers:key=${TRAILER},valueonly)`, id, '--'], call);
    if (values.ok && values.value.split('\n').includes(stepKey)) return id;
  }
  return null;
}

/** What a commit takes from git's configuration: who signs, hooks. The last value of each name (in lower case, as git prints it) counts. */
export async function commitSettings(root: string): Promise<ReadonlyMap<string, string>> {
  const args = ['config', '-z', '--get-regexp', '^(user\\.(name|email)|core\\.hookspath|hook\\..*)$'];
  const listed = valueOf(await git(args, { cwd: root, accept: [0, 1], reading: true }));
  return new Map(
    fieldsOf(listed).map((field) => {
      const end = field.indexOf('\n');
      return end < 0 ? [field, ''] : [field.slice(0, end), field.slice(end + 1)];
    }),
  );
}

/** Author and committer with fixed dates: the same request gives the same commit. */
export function identity(settings: ReadonlyMap<string, string>, date: string): Record<string, string> {
  const setting = (key: string, otherwise: string): string => {
    const found = settings.get(key)?.trim() ?? '';
    return found === '' ? otherwise : found;
  };
  const [name, email] = [setting('user.name', 'Emend'), setting('user.email', 'emend@localhost')];
  const when = `@${Math.floor(Date.parse(date) / 1000)} +0000`;
  return {
    GIT_AUTHOR_NAME: name,
    GIT_AUTHOR_EMAIL: email,
    GIT_AUTHOR_DATE: when,
    GIT_COMMITTER_NAME: name,
    GIT_COMMITTER_EMAIL: email,
    GIT_COMMITTER_DATE: when,
  };
}
