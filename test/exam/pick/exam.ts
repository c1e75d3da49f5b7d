/**
 * Are the files that a commit changed among those that its message leads to? For real commits of any repository, at the commit before, by
 * the step's own finding; a plain count of words stands beside it. A model is asked only where one is named.
 */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createEditRunner } from '../../../src/activities/index.js';
import { findCandidates } from '../../../src/activities/step/find.js';
import { candidateList } from '../../../src/model/prompts/index.js';
import { estimateTokens } from '../../../src/model/tokens.js';
import { createRecordStore } from '../../../src/stores/index.js';
import { languageOf } from '../../../src/syntax/index.js';
import { listWorkspaceFiles } from '../../../src/workspace/files/index.js';
import { looksSecret } from '../../../src/workspace/secret-files.js';
import { pickedBy, type Asked, type PickedBy } from './model.js';

const FILES = 3; // A commit that changes more is no task of one sentence.
const PLAIN_WORDS = 40;

export interface PickTask {
  readonly commit: string;
  readonly parent: string;
  readonly message: string;
  /** Code files that the commit modified. */
  readonly changed: readonly string[];
}
export interface Found {
  readonly task: PickTask;
  /** Rank of the last of the changed files, from 1; Infinity: not all are in the list. */
  readonly rank: number;
  readonly plainRank: number;
  readonly tokens: number;
  readonly cold_s: number;
  readonly warm_s: number;
  readonly plain_s: number;
  /** Of aider's repository map; absent: it was not asked. */
  readonly peer?: { readonly rank: number; readonly s: number };
  /** What a model names; absent: none was asked. */
  readonly model?: PickedBy;
}
/** Who is asked beside. `peer`: the Python of aider's environment. */
export interface Beside {
  readonly peer?: string;
  readonly model?: Pick<Asked, 'port' | 'name'>;
}

/** No settings of the person who runs it. */
const env = { PATH: process.env.PATH ?? '', HOME: tmpdir(), GIT_CONFIG_NOSYSTEM: '1', LC_ALL: 'C' };
const git = (cwd: string, ...args: string[]): string =>
  execFileSync('git', ['-c', 'core.quotePath=false', ...args], {
    cwd,
    env,
    maxBuffer: 2 ** 30,
    encoding: 'utf8',
  });

const TEST = /(^|[/_.-])(tests?|specs?|testing|testdata|fixtures?|e2e|conftest)([/_.-]|$)/i;
const isWanted = (path: string): boolean => languageOf(path) !== null && !TEST.test(path);

/** The newest `count` commits, no merges, whose code files (tests apart) are at most three and all modified; other files may change beside. */
export function tasksOf(repo: string, ref: string, count: number): readonly PickTask[] {
  const format = '--format=%x01%H%x00%P%x00%B%x00';
  const log = git(
    repo,
    'log',
    '--no-merges',
    '--raw',
    '--no-renames',
    '-n',
    `${count * 100}`,
    format,
    ref,
    '--',
  );
  const tasks: PickTask[] = [];
  for (const record of log.split('\x01').slice(1)) {
    const [commit = '', parent = '', message = '', raw = ''] = record.split('\0');
    const files = raw.split('\n').filter((line) => line.startsWith(':'));
    const code = files
      .map((line) => ({
        status: line.slice(0, line.indexOf('\t')).at(-1),
        path: line.slice(line.indexOf('\t') + 1),
      }))
      .filter(({ path }) => isWanted(path));
    const isOne =
      code.length > 0 && code.length <= FILES && code.every(({ status }) => status === 'M');
    if (isOne && parent !== '')
      tasks.push({ commit, parent, message, changed: code.map(({ path }) => path) });
    if (tasks.length === count) break;
  }
  return tasks;
}

/** Without the names of any file of the workspace: what a person who knows none would say. */
export function withoutNames(message: string, files: readonly string[]): string {
  const names = new Set(
    files.map((path) => path.slice(path.lastIndexOf('/') + 1)).filter((name) => name.includes('.')),
  );
  return message.replace(/[^\s`'"“”‘’<>()[\]{}|,;*]+/g, (word) => {
    const bare = word.replace(/[.:!?…]+$/, '').replace(/(:\d+(-\d+|:\d+)?|#L\d+(-L?\d+)?)$/, '');
    return names.has(bare.slice(bare.lastIndexOf('/') + 1)) ? '' : word;
  });
}

/** Each word by how few files hold it (`git grep` at HEAD, which is the commit before), and by how few paths have it as a part. */
function plainRanking(root: string, files: readonly string[], task: string): readonly string[] {
  const words = [...new Set(task.toLowerCase().match(/[a-z_]\w{2,}/g) ?? [])].slice(0, PLAIN_WORDS);
  const score = new Map(files.map((path) => [path, 0]));
  const add = (holding: readonly string[]): void => {
    for (const path of holding)
      score.set(
        path,
        (score.get(path) ?? 0) + Math.log(files.length / Math.max(1, holding.length)),
      );
  };
  const segments = files.map((path) => new Set(path.toLowerCase().split(/[/._-]+/)));
  for (const word of words) {
    try {
      add(
        git(root, 'grep', '-I', '-l', '-z', '-i', '-F', '-e', word, 'HEAD')
          .split('\0')
          .map((path) => path.slice('HEAD:'.length)),
      );
    } catch {
      // No file holds it.
    }
    add(files.filter((_, at) => segments[at]?.has(word)));
  }
  return [...score].sort((a, b) => b[1] - a[1]).map(([path]) => path);
}

/** As aider's own `get_repo_map` ranks the files of its map: the words of the task, and files whose names are among them, are what a person mentions. */
const PEER = `
import json, os, re, sys
from aider.repomap import RepoMap
from aider.io import InputOutput
asked = json.load(sys.stdin)
class Words:
    def token_count(self, text): return len(text) // 4
ranking = RepoMap(map_tokens=4000, root=asked['root'], main_model=Words(), io=InputOutput(pretty=False, yes=True))
others = [os.path.join(asked['root'], path) for path in asked['files']]
words = set(re.split(r'\\W+', asked['task']))
stems = {word.lower() for word in words if len(word) >= 5}
mentioned = {path for path in asked['files'] if os.path.splitext(os.path.basename(path))[0].lower() in stems}
named = ranking.get_ranked_tags([], others, mentioned, words)
print('FILES ' + json.dumps(list(dict.fromkeys(tag[0] for tag in named))))
`;
/** `python`: of the environment that aider is installed in. Throws where it is not. */
function peerRanking(
  python: string,
  root: string,
  files: readonly string[],
  task: string,
): readonly string[] {
  const said = execFileSync(python, ['-c', PEER], {
    input: JSON.stringify({ root, files, task }),
    env,
    maxBuffer: 2 ** 30,
    encoding: 'utf8',
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  return JSON.parse(/^FILES (.*)$/m.exec(said)?.[1] ?? '[]') as string[];
}

const rankOf = (changed: readonly string[], list: readonly string[]): number =>
  Math.max(...changed.map((path) => (list.includes(path) ? list.indexOf(path) + 1 : Infinity)));

/** `tell` is called after each. */
export async function exam(
  repo: string,
  tasks: readonly PickTask[],
  { peer, model }: Beside,
  tell: (found: Found) => void,
): Promise<readonly Found[]> {
  const scratch = mkdtempSync(join(tmpdir(), 'exam-pick-'));
  const root = join(scratch, 'tree');
  const edits = createEditRunner();
  const all: Found[] = [];
  try {
    git(scratch, 'clone', '-q', '--shared', '--no-checkout', repo, root);
    for (const [at, task] of tasks.entries()) {
      git(root, 'checkout', '-q', '--detach', '--force', task.parent);
      // Nothing of an earlier commit's outlines is known.
      const ports = { edits, records: createRecordStore({ dir: join(scratch, `records-${at}`) }) };
      const look = async (more: readonly string[] = []) => {
        const started = performance.now();
        const files = (await listWorkspaceFiles(root)).filter((path) => !looksSecret(path));
        const words = withoutNames(task.message, files);
        const { signal } = new AbortController();
        const candidates = await findCandidates(
          ports,
          { root, files, task: [...more, words].join('\n') },
          signal,
        );
        return { files, words, candidates, s: (performance.now() - started) / 1000 };
      };
      const cold = await look();
      const warm = await look();
      const started = performance.now();
      const plain = plainRanking(root, cold.files, cold.words);
      const plain_s = (performance.now() - started) / 1000;
      const asked = performance.now();
      const theirs =
        peer === undefined
          ? null
          : rankOf(task.changed, peerRanking(peer, root, cold.files, cold.words));
      const beside = theirs !== null && {
        peer: { rank: theirs, s: (performance.now() - asked) / 1000 },
      };
      const rank = async (more: readonly string[]) =>
        (more.length === 0 ? warm : await look(more)).candidates;
      const named = model && {
        model: await pickedBy({ ...model, task: cold.words, files: cold.files, rank }),
      };
      const list = warm.candidates.map(({ path }) => path);
      const tokens = estimateTokens(candidateList(warm.candidates, cold.files.length).text);
      const ranks = { rank: rankOf(task.changed, list), plainRank: rankOf(task.changed, plain) };
      const found = {
        task,
        ...ranks,
        ...beside,
        ...named,
        tokens,
        cold_s: cold.s,
        warm_s: warm.s,
        plain_s,
      };
      all.push(found);
      tell(found);
    }
    return all;
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

export const share = (
  all: readonly Found[],
  rank: (found: Found) => number,
  within: number,
): number => (100 * all.filter((found) => rank(found) <= within).length) / Math.max(1, all.length);
