/** A repository's commits and bytes, by three git processes in all: a list of commits, their changed files, and the objects. */
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { once } from 'node:events';
import { randomFrom } from '../../support/seeded.js';

export interface FileChange {
  readonly commit: string;
  /** git's letter: A, D, M, R, T (type). */
  readonly status: string;
  readonly oldMode: string;
  readonly newMode: string;
  readonly oldId: string;
  readonly newId: string;
  readonly path: string;
  /** The path before of a rename. */
  readonly from?: string;
}

/** No pager, no locks, no fetching of missing objects, and no settings of the person who runs it. */
const env = {
  PATH: process.env.PATH ?? '',
  HOME: process.env.HOME ?? '/',
  GIT_OPTIONAL_LOCKS: '0',
  GIT_NO_LAZY_FETCH: '1',
  GIT_TERMINAL_PROMPT: '0',
  LC_ALL: 'C',
};

const start = (repo: string, ...args: string[]): ChildProcessWithoutNullStreams => {
  const git = spawn('git', ['-C', repo, '-c', 'core.quotePath=false', ...args], { env });
  git.stderr.pipe(process.stderr);
  return git;
};

const ended = async (git: ChildProcessWithoutNullStreams, what: string): Promise<void> => {
  if (git.exitCode === null && git.signalCode === null) await once(git, 'exit');
  if (git.exitCode !== 0)
    throw new Error(`git ${what} ended with ${git.exitCode ?? git.signalCode ?? '?'}`);
};

/**
 * `count` commits that are no merges, drawn evenly from all that `ref` reaches; all of them where there are no more. `pathspecs`: only
 * commits that change such a file; empty: any.
 */
export const sampleCommits = async (
  repo: string,
  ref: string,
  count: number,
  seed: number,
  pathspecs: readonly string[] = [],
): Promise<string[]> => {
  const git = start(repo, 'rev-list', '--no-merges', ref, '--', ...pathspecs);
  const random = randomFrom(seed);
  const chosen: string[] = [];
  let seen = 0;
  for await (const id of createInterface({ input: git.stdout })) {
    seen += 1;
    if (chosen.length < count) chosen.push(id);
    else {
      const place = Math.floor(random() * seen);
      if (place < count) chosen[place] = id;
    }
  }
  await ended(git, 'rev-list');
  return chosen;
};

/** The changed files of each commit against its parent (of a first commit: all files as new). */
export async function* changesOf(
  repo: string,
  commits: readonly string[],
): AsyncGenerator<FileChange> {
  const git = start(
    repo,
    'diff-tree',
    '--stdin',
    '-r',
    '--root',
    '-M',
    '-z',
    '--raw',
    '--no-abbrev',
  );
  git.stdin.end(commits.map((id) => `${id}\n`).join(''));
  let commit = '';
  let waiting: { fields: readonly string[]; paths: string[] } | null = null;
  for await (const field of nulFields(git.stdout)) {
    if (waiting === null) {
      if (field.startsWith(':')) waiting = { fields: field.slice(1).split(' '), paths: [] };
      else commit = field.trim();
      continue;
    }
    waiting.paths.push(field);
    const [oldMode = '', newMode = '', oldId = '', newId = '', word = ''] = waiting.fields;
    const status = word.slice(0, 1);
    if (waiting.paths.length < (status === 'R' || status === 'C' ? 2 : 1)) continue;
    const [first = '', second] = waiting.paths;
    waiting = null;
    yield {
      commit,
      status,
      oldMode,
      newMode,
      oldId,
      newId,
      ...(second === undefined ? { path: first } : { path: second, from: first }),
    };
  }
  await ended(git, 'diff-tree');
}

async function* nulFields(stream: AsyncIterable<Buffer>): AsyncGenerator<string> {
  let rest = Buffer.alloc(0);
  for await (const chunk of stream) {
    rest = Buffer.concat([rest, chunk]);
    for (let at = rest.indexOf(0); at >= 0; at = rest.indexOf(0)) {
      yield rest.toString('utf8', 0, at);
      rest = rest.subarray(at + 1);
    }
  }
}

export type Blob = Uint8Array | 'missing' | 'large';

/** One `git cat-file --batch`, asked for one object after the other. */
export class Objects {
  readonly #git: ChildProcessWithoutNullStreams;
  readonly #chunks: AsyncIterator<Buffer, undefined>;
  readonly #most_bytes: number;
  #rest: Buffer = Buffer.alloc(0);

  /** Objects larger than `most_bytes` are read past and not kept. */
  constructor(repo: string, most_bytes: number) {
    this.#git = start(repo, 'cat-file', '--batch');
    this.#chunks = this.#git.stdout[Symbol.asyncIterator]() as AsyncIterator<Buffer, undefined>;
    this.#most_bytes = most_bytes;
  }

  async read(id: string): Promise<Blob> {
    this.#git.stdin.write(`${id}\n`);
    while (!this.#rest.includes(10)) await this.#more();
    const end = this.#rest.indexOf(10);
    const header = this.#rest.toString('latin1', 0, end);
    this.#rest = this.#rest.subarray(end + 1);
    const size = /^[0-9a-f]+ blob (\d+)$/.exec(header)?.[1];
    if (size === undefined) {
      if (header.endsWith(' missing')) return 'missing';
      throw new Error(`git cat-file --batch answered ${JSON.stringify(header)} to ${id}`);
    }
    const bytes = await this.#take(Number(size));
    await this.#take(1);
    return bytes ?? 'large';
  }

  async end(): Promise<void> {
    this.#git.stdin.end();
    await ended(this.#git, 'cat-file');
  }

  async #more(): Promise<void> {
    const next = await this.#chunks.next();
    if (next.done === true) throw new Error('git cat-file --batch ended early');
    this.#rest = this.#rest.length === 0 ? next.value : Buffer.concat([this.#rest, next.value]);
  }

  /** The next `size` bytes; null where that is more than is kept. */
  async #take(size: number): Promise<Uint8Array | null> {
    const keep = size <= this.#most_bytes;
    const parts: Buffer[] = [];
    for (let left = size; left > 0;) {
      if (this.#rest.length === 0) await this.#more();
      const part = this.#rest.subarray(0, left);
      if (keep) parts.push(part);
      this.#rest = this.#rest.subarray(part.length);
      left -= part.length;
    }
    return keep ? Uint8Array.from(Buffer.concat(parts)) : null;
  }
}
