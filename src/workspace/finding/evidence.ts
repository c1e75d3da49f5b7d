/** What a workspace says about a task: where its words stand, which earlier commits were about them, which files changed of late. */
import { tally } from '../../shared/text.js';
import { fieldsOf, git, type GitCall } from '../git/git.js';
import { matcherOf, type Term } from './words.js';

const GREP_BYTES = 32 * 1024 * 1024; // bound: Names that hold a word of the task, over all files.
const GREP_MS = 10_000; // bound: Looking them up: a repository of 200,000 lines takes a tenth of a second.
const RARE_TERMS = 8; // bound: Words that are looked up alone where all of them are too much: the longest, which are the rarest.
const LOG_COMMITS = 8_000; // bound: Earlier commits whose subjects are read,
const LOG_MS = 5_000; // bound: in this time at most,
const LOG_BYTES = 16 * 1024 * 1024; // bound: and this much of them.
const LIKE_COMMITS = 40; // bound: Of those, the ones that share most with the task.
const RECENT_COMMITS = 300; // bound: Commits whose files count as changed of late.
const WIDE_FILES = 20; // bound: A commit of more files says nothing about any of them.

export interface Evidence {
  readonly files: readonly string[];
  readonly terms: readonly Term[];
  /** How often each term (by index) stands in a file, by path. */
  readonly uses: ReadonlyMap<string, ReadonlyMap<number, number>>;
  /** Earlier commits about the same words; `share`: how much of the task's weight, 0 to 1. */
  readonly past: readonly {
    readonly share: number;
    readonly subject: string;
    readonly files: readonly string[];
  }[];
  /** Of the last commits, how many changed a file. */
  readonly recent: ReadonlyMap<string, number>;
}

export const rarity = (n: number, all: number): number => Math.log(1 + (all - n + 0.5) / (n + 0.5));

export async function gather(
  root: string,
  files: readonly string[],
  terms: readonly Term[],
): Promise<Evidence> {
  const [uses, past, recent] = await Promise.all([
    grep(root, terms),
    pastOf(root, terms),
    changes(root, ['-n', `${RECENT_COMMITS}`, '--no-merges']),
  ]);
  return { files, terms, uses, past, recent: tally(recent.flat()) };
}

/** Bounded in time and bytes: where all words are too much the rarest are looked up, and where those are, none. */
async function grep(root: string, terms: readonly Term[], tries = 2): Promise<Evidence['uses']> {
  const uses = new Map<string, Map<number, number>>();
  if (terms.length === 0 || tries === 0) return uses;
  const by = [...terms]
    .sort((a, b) => b.key.length - a.key.length)
    .slice(0, tries === 2 ? undefined : RARE_TERMS);
  const pattern = `[a-z0-9_-]*(${by.map(({ key }) => key).join('|')})[a-z0-9_-]*`;
  const shown = '-i -o --heading --break --no-line-number --no-column'.split(' ');
  const found = await search(root, [...shown, '-E', '-e', pattern]);
  if (found === null) return grep(root, terms, tries - 1);
  const match = matcherOf(terms);
  for (const block of found.split('\n\n')) {
    const [path = '', ...names] = block.trimEnd().split('\n');
    const counts = tally(names.flatMap((name) => [...match(name)]));
    if (counts.size > 0) uses.set(path, counts);
  }
  return uses;
}

/** What git finds in files that are not ignored; null: nothing within the bounds. */
async function search(root: string, args: readonly string[]): Promise<string | null> {
  const call: GitCall = {
    cwd: root,
    reading: true,
    timeout_ms: GREP_MS,
    max_bytes: GREP_BYTES,
    accept: [0, 1],
  };
  const shown = ['--exclude-standard', '-I', '--no-color', '--no-full-name', ...args, '--', '.'];
  let found = await git(['grep', '--untracked', ...shown], call);
  if (!found.ok && found.problem.message.includes('not a git repository'))
    found = await git(['grep', '--no-index', ...shown], call);
  return found.ok ? found.value.text : null;
}

/** Files in which one of the names stands as a word; none where there are too many to tell. */
export const filesWith = async (
  root: string,
  names: readonly string[],
): Promise<readonly string[]> => {
  if (names.length === 0) return [];
  const found = await search(root, [
    '-l',
    '-z',
    '-w',
    '-F',
    ...names.flatMap((name) => ['-e', name]),
  ]);
  return (found ?? '').split('\0').filter((path) => path !== '');
};

/** Commits by their subjects, then the files of those that are most like the task. None where there is no history. */
async function pastOf(root: string, terms: readonly Term[]): Promise<Evidence['past']> {
  const log = await history(root, ['-z', '-n', `${LOG_COMMITS}`, '--no-merges', '--format=%H %s']);
  if (!log.ok || terms.length === 0) return [];
  const match = matcherOf(terms);
  const commits = fieldsOf(log.value).map((line) => {
    const subject = line.slice(line.indexOf(' ') + 1);
    return { id: line.slice(0, line.indexOf(' ')), subject, hits: match(subject) };
  });
  const held = terms.map((_, term) => commits.filter(({ hits }) => hits.includes(term)).length);
  const weights = terms.map(
    ({ weight }, term) => weight * Math.log(1 + commits.length / Math.max(1, held[term] ?? 0)),
  );
  const sum = (of: readonly number[]): number => of.reduce((all, weight) => all + weight, 0);
  const like = commits
    .map(({ hits, ...commit }) => ({
      ...commit,
      share: sum(hits.map((term) => weights[term] ?? 0)) / sum(weights),
    }))
    .filter(({ share }) => share > 0)
    .sort((a, b) => b.share - a.share)
    .slice(0, LIKE_COMMITS);
  if (like.length === 0) return [];
  const files = await changes(root, ['--no-walk=unsorted', ...like.map(({ id }) => id)]);
  return like.map(({ share, subject }, at) => ({ share, subject, files: files[at] ?? [] }));
}

/** The files of each commit; none of one that changes too many. */
async function changes(
  root: string,
  which: readonly string[],
): Promise<readonly (readonly string[])[]> {
  const shape = [
    '--name-only',
    '--no-renames',
    '--no-ext-diff',
    '--relative',
    '-z',
    '--format=%x01',
  ];
  const log = await history(root, [...which, ...shape]);
  if (!log.ok) return [];
  const commits = log.value.text.split('\x01').slice(1);
  return commits.map((fields) => {
    const paths = fields.split('\0').map((path) => path.replace(/^\n/, ''));
    return paths.length > WIDE_FILES ? [] : paths.filter((path) => path !== '');
  });
}

const history = (cwd: string, args: readonly string[]) =>
  git(['log', ...args], { cwd, reading: true, timeout_ms: LOG_MS, max_bytes: LOG_BYTES });
