/** Replays a repository's commits through the formats, one file after the other: what is in memory is one change at a time. */
import type { AnswerFormat } from '../../../src/shared/formats.js';
import { changeOf, hasFileModes, type Outside, type Sayable } from './change.js';
import { type Blob, changesOf, type FileChange, Objects, sampleCommits } from './git.js';
import { judge } from './judge.js';
import { maxFile_bytes } from './limits.js';
import { Tally } from './tally.js';

export interface ExamOptions {
  /** A working tree, a bare repository or a mirror's git directory. */
  readonly repo: string;
  readonly ref: string;
  /** Commits, drawn by `seed` from those that are no merges. */
  readonly count: number;
  readonly seed: number;
  readonly formats: readonly AnswerFormat[];
  /** What files that are neither UTF-8 nor UTF-16 with BOM are configured as; absent: they are edited byte for byte. */
  readonly encoding?: string;
  /** Called after each file, for signs of life. */
  readonly progress?: (files: number) => void;
}

export const exam = async (
  options: ExamOptions,
): Promise<{ readonly tally: Tally; readonly commits: number }> => {
  const { repo, ref, count, seed } = options;
  const commits = await sampleCommits(repo, ref, count, seed);
  const tally = new Tally(options.formats);
  const objects = new Objects(repo, maxFile_bytes);
  for await (const file of changesOf(repo, commits)) {
    await examine(file, objects, tally, options);
    options.progress?.(tally.files);
  }
  await objects.end();
  return { tally, commits: commits.length };
};

const ABSENT = /^0+$/;

const examine = async (
  file: FileChange,
  objects: Objects,
  tally: Tally,
  options: ExamOptions,
): Promise<void> => {
  const sayable = hasFileModes(file)
    ? await read(file, objects, options.encoding)
    : 'symlink or submodule';
  if (typeof sayable === 'string') {
    tally.addOutside(sayable);
    return;
  }
  tally.addTraits(sayable.traits);
  for (const format of options.formats)
    tally.add(
      format,
      `${file.commit.slice(0, 10)} ${file.path}`,
      judge(format, sayable, options.encoding),
    );
};

const read = async (
  file: FileChange,
  objects: Objects,
  encoding: string | undefined,
): Promise<Sayable | Outside> => {
  const blobOf = async (id: string): Promise<Blob | null> =>
    ABSENT.test(id) ? null : objects.read(id);
  const base = await blobOf(file.oldId);
  const result = file.newId === file.oldId ? base : await blobOf(file.newId);
  if (base === 'missing' || result === 'missing') return 'object missing here';
  if (base === 'large' || result === 'large') return 'larger than the limit';
  return changeOf(file, { base, result }, encoding);
};
