/** A large file of code-like lines, edits spread over it, and the same edits as an answer in each format. */
import { lineCheck } from '../dist/src/edits/index.js';

const PATH = 'big.ts';
export const FORMATS = ['unified-diff', 'structured-edit', 'search-replace', 'whole-file'];

/** Ten lines of which three repeat all through the file, as braces and blank lines do. */
const blockOf = (n) => [
  `/** Step ${n} of the chain. */`,
  `export const step${n} = (input: number): number => {`,
  `  const scaled = input * ${(n * 7919) % 104729};`,
  `  if (scaled > ${n % 977}) {`,
  `    return scaled - offsets[${n % 64}] + ${n};`,
  '  }',
  `  log('step ${n}', scaled);`,
  `  return scaled + ${n};`,
  '};',
  '',
];

/** `lines` lines, and `edits` of them replaced at even distances; each edited line has a number of its own. */
export const sample = (lines, edits) => {
  const base = [];
  for (let n = 0; base.length < lines; n += 1) base.push(...blockOf(n));
  base.length = lines;
  const places = [];
  const distance = Math.floor(lines / edits);
  for (let i = 0; i < edits; i += 1) places.push(Math.floor((i * distance) / 10) * 10 + 7);
  const result = [...base];
  // As long as before: `git apply` moves the rest of the file for each hunk that changes its length, some minutes for these edits.
  for (const at of places) result[at] = base[at].replace('return scaled +', 'return scaled -');
  const joined = (all) => `${all.join('\n')}\n`;
  return { path: PATH, base, result, places, baseText: joined(base), resultText: joined(result) };
};

const hunk = ({ base, result }, at) => {
  const from = at - 3;
  const to = Math.min(base.length, at + 4);
  const body = [];
  for (let i = from; i < to; i += 1)
    if (i === at) body.push(`-${base[i]}`, `+${result[i]}`);
    else body.push(` ${base[i]}`);
  return `@@ -${from + 1},${to - from} +${from + 1},${to - from} @@\n${body.join('\n')}\n`;
};

/** The diff as git writes it. */
export const diffOf = (s) =>
  `diff --git a/${PATH} b/${PATH}\n--- a/${PATH}\n+++ b/${PATH}\n${s.places.map((at) => hunk(s, at)).join('')}`;

const structured = ({ base, result, places }) =>
  JSON.stringify({
    summary: 'edits',
    operations: places.map((at) => {
      const line = `${at + 1}${lineCheck(base[at - 1], base[at], base[at + 1])}`;
      return {
        type: 'replace',
        file_path: PATH,
        start_line: line,
        end_line: line,
        content: `${result[at]}\n`,
      };
    }),
    complete: true,
  });

const blocks = ({ base, result, places }) =>
  places
    .map(
      (at) =>
        `FILE: ${PATH}\nFIND:\n${base[at - 1]}\n${base[at]}\nREPLACE:\n${base[at - 1]}\n${result[at]}\nEND\n`,
    )
    .join('');

export const answerOf = (format, s) =>
  ({
    'unified-diff': () => diffOf(s),
    'structured-edit': () => structured(s),
    'search-replace': () => blocks(s),
    'whole-file': () => `FILE ${PATH}\n${s.resultText}END FILE\n`,
  })[format]();
