/**
 * `node --import ./scripts/typescript.js tools/comment-sample.js SEED [COUNT]`: draws comments of the sources and tests at random, and prints
 * each with its place and the code below it, so that a reader can judge it. Consecutive lines with `//` are one comment. The same seed draws
 * the same comments of a commit.
 */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { commentRanges } from '../test/support/comments.ts';
import { randomFrom } from '../test/support/seeded.ts';

const PARTS = ['src', 'test', 'scripts', 'bench', 'demo', 'worker.ts', 'client.ts'];
const CODE = /[.](?:tsx?|js)$/;
/** Marks for tools, which are no text for readers. */
const NO_TEXT =
  /^(?:\/\/|\/\*)\s*(?:eslint|oxlint|@ts-|@vitest|@jest|bound:|v8 ignore|Stryker|prettier|#)/;
const CODE_LINES_SHOWN = 4;

/** Returns the ranges of all comments; lines with `//` that follow each other are one range. */
function mergedRanges(path, text) {
  const merged = [];
  for (const { pos, end } of commentRanges(path, text).toSorted((a, b) => a.pos - b.pos)) {
    const last = merged.at(-1);
    const isNextLine =
      last !== undefined &&
      text.startsWith('//', pos) &&
      text.startsWith('//', last.pos) &&
      /^\s*$/.test(text.slice(last.end, pos)) &&
      text.slice(last.end, pos).split('\n').length === 2;
    if (isNextLine) last.end = end;
    else merged.push({ pos, end });
  }
  return merged.filter(({ pos, end }) => !NO_TEXT.test(text.slice(pos, end)));
}

function commentsOf(path) {
  const text = readFileSync(path, 'utf8');
  return mergedRanges(path, text).map(({ pos, end }) => ({
    place: `${path}:${text.slice(0, pos).split('\n').length}`,
    comment: text.slice(pos, end),
    code: text.slice(end).replace(/^\n/, '').split('\n').slice(0, CODE_LINES_SHOWN).join('\n'),
  }));
}

const [seed, count = '200'] = process.argv.slice(2);
if (!/^\d+$/.test(seed ?? '') || !/^\d+$/.test(count)) {
  console.error(
    'Expected: node --import ./scripts/typescript.js tools/comment-sample.js SEED [COUNT]',
  );
  process.exit(2);
}
const paths = execFileSync('git', ['ls-files', ...PARTS], { encoding: 'utf8' })
  .split('\n')
  .filter((path) => CODE.test(path));
const comments = paths.flatMap(commentsOf);
const total = comments.length;
const random = randomFrom(Number(seed));
for (let drawn = 0; drawn < Number(count) && comments.length > 0; drawn += 1) {
  const [{ place, comment, code }] = comments.splice(Math.floor(random() * comments.length), 1);
  console.log(`== ${drawn + 1} ${place}\n${comment}\n-- code:\n${code}\n`);
}
console.log(`drawn from ${total} comments`);
