/** Runs the guards on a repository's commits: people wrote them, so nearly every finding is a false alarm. */
import { guardFindings, type GuardedFile } from '../../../src/edits/index.js';
import type { Finding } from '../../../src/shared/formats.js';
import { dataLanguageOf, loadSyntax } from '../../../src/syntax/index.js';
import { changesOf, type FileChange, Objects, sampleCommits } from '../history/git.js';
import { maxFile_bytes } from '../history/limits.js';

/** Commits that change one of these are drawn; `exam.test.ts` proves that each has a parser. */
export const DATA_PATHS = [
  '*.json',
  '*.jsonc',
  '*.ipynb',
  '*.yml',
  '*.yaml',
  '*.toml',
  '*Makefile',
  '*makefile',
  '*.mk',
];

export interface GuardExamOptions {
  /** A working tree, a bare repository or a mirror's git directory. */
  readonly repo: string;
  readonly ref: string;
  readonly count: number;
  readonly seed: number;
  /** Only these are reported. */
  readonly guards: ReadonlySet<string>;
  /** Any commit is drawn, not only those that touch data files. */
  readonly anyCommit: boolean;
}

export interface Alarm extends Finding {
  readonly commit: string;
}

export interface GuardExam {
  readonly commits: number;
  /** Files that have a parser, by the name of their language. */
  readonly files: ReadonlyMap<string, number>;
  readonly alarms: readonly Alarm[];
}

export const guardExam = async (options: GuardExamOptions): Promise<GuardExam> => {
  const { repo, ref, count, seed, guards, anyCommit } = options;
  const commits = await sampleCommits(repo, ref, count, seed, anyCommit ? [] : DATA_PATHS);
  const objects = new Objects(repo, maxFile_bytes);
  const files = new Map<string, number>();
  const alarms: Alarm[] = [];
  const judge = async (changes: readonly FileChange[]): Promise<void> => {
    const commit = changes[0]?.commit ?? '';
    const guarded = await guardedFiles(changes, objects);
    for (const { path } of guarded) {
      const language = dataLanguageOf(path);
      if (language !== null) files.set(language, (files.get(language) ?? 0) + 1);
    }
    const syntax = await loadSyntax([]);
    for (const finding of guardFindings(guarded, { syntax }))
      if (finding.severity !== 'note' && guards.has(finding.guard))
        alarms.push({ ...finding, commit });
  };
  try {
    for await (const changes of changesByCommit(repo, commits)) await judge(changes);
  } finally {
    // git would wait for more questions, and the exam for git.
    await objects.end();
  }
  return { commits: commits.length, files, alarms };
};

/** The changed files of one commit after the other. */
async function* changesByCommit(
  repo: string,
  commits: readonly string[],
): AsyncGenerator<readonly FileChange[]> {
  let changes: FileChange[] = [];
  for await (const change of changesOf(repo, commits)) {
    const [first] = changes;
    if (first !== undefined && first.commit !== change.commit) {
      yield changes;
      changes = [];
    }
    changes.push(change);
  }
  if (changes.length > 0) yield changes;
}

const ABSENT = /^0+$/;

/** Files that a commit makes or changes; links, submodules and large files are left out. */
const guardedFiles = async (
  changes: readonly FileChange[],
  objects: Objects,
): Promise<readonly GuardedFile[]> => {
  const guarded: GuardedFile[] = [];
  for (const { path, oldId, newId, newMode, oldMode, status } of changes) {
    if (status === 'D' || !newMode.startsWith('100') || status === 'T') continue;
    const isNew = ABSENT.test(oldId) || !oldMode.startsWith('100');
    const base = isNew ? null : await objects.read(oldId);
    const result = await objects.read(newId);
    if (typeof base !== 'string' && typeof result !== 'string')
      guarded.push({ path, base, result });
  }
  return guarded;
};
