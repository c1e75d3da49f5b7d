/** Do the windows of a large file's listing hold the lines that a commit changed, where its message is the task? No model is asked. */
import { execFileSync } from 'node:child_process';
import { changeOf, hasFileModes } from '../history/change.js';
import { changesOf, Objects, sampleCommits } from '../history/git.js';
import { maxFile_bytes } from '../history/limits.js';
import type { LineEdit } from '../../edits/true-change.js';
import { type LineRange, type Text, windowedListing } from '../../../src/edits/index.js';
import { languageOf } from '../../../src/syntax/index.js';
import { CHECKED_LINE_HEAD_CHARS } from '../../../src/model/prompts/files.js';

/** Files of more lines are listed with numbers and checks. */
const LARGE_LINES = 1000;

export interface LargeChange {
  readonly name: string;
  readonly message: string;
  readonly text: Text;
  readonly edits: readonly LineEdit[];
}

/** Of `count` commits drawn by `seed` (as exam:history draws them) each edit of a code file over 1,000 lines. */
async function* largeChanges(
  repo: string,
  count: number,
  seed: number,
): AsyncGenerator<LargeChange> {
  const objects = new Objects(repo, maxFile_bytes);
  for await (const file of changesOf(repo, await sampleCommits(repo, 'HEAD', count, seed))) {
    if (file.status !== 'M' || !hasFileModes(file) || languageOf(file.path) === null) continue;
    const base = await objects.read(file.oldId);
    if (!(base instanceof Uint8Array) || base.filter((byte) => byte === 10).length <= LARGE_LINES)
      continue;
    const result = await objects.read(file.newId);
    const sayable =
      result instanceof Uint8Array ? changeOf(file, { base, result }, undefined) : 'missing';
    if (typeof sayable === 'string' || sayable.change.edits.length === 0) continue;
    const message = execFileSync('git', ['-C', repo, 'log', '-1', '--format=%B', file.commit], {
      encoding: 'utf8',
    });
    yield {
      name: `${file.commit.slice(0, 10)} ${file.path}`,
      message,
      text: sayable.baseText,
      edits: sayable.change.edits,
    };
  }
  await objects.end();
}

/** Shares of the changes whose lines all are in the listing, where it weighs half of what the whole file does; in per cent. */
export async function windows(repo: string, count: number, seed: number) {
  let [looked, held] = [0, 0];
  for await (const { message, text, edits } of largeChanges(repo, count, seed)) {
    const whole_chars = text.lines.reduce(
      (sum, line) => sum + line.length + CHECKED_LINE_HEAD_CHARS,
      0,
    );
    const { seen = [] } = windowedListing(text, whole_chars / 2, message, CHECKED_LINE_HEAD_CHARS);
    looked += 1;
    if (areSeen(edits, seen, text.lines.length)) held += 1;
  }
  return { looked, held: (100 * held) / Math.max(1, looked) };
}

/** Is every line that an operation would name among those that are shown? */
export const areSeen = (
  edits: readonly LineEdit[],
  seen: readonly LineRange[],
  lines: number,
): boolean =>
  edits.every(({ from, to }) => {
    const [first, last] = [Math.min(from + 1, lines), Math.min(Math.max(to, from + 1), lines)];
    return seen.some(([low, high]) => low <= first && last <= high);
  });
