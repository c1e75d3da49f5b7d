/** Tags of thinking and comments in the content of edits are text: a response with them is read as one with other words in their place. */
import { describe, expect, test } from '@jest/globals';
import { applyAnswer, type AnswerOutcome } from '../../src/edits/index.js';
import { DIALECTS, FORMATS, type AnswerFormat } from '../../src/shared/formats.js';
import { drawn, randomFrom } from '../support/seeded.js';
import { apply, SAY, type LineEdit } from './formats.js';

const ALL: readonly AnswerFormat[] = [...FORMATS, ...DIALECTS];
const SEED = 53;
const ROUNDS = drawn(40, 150);
const NONCE = '1a2b3c4d';

/** For each tag, a word of the same length that is no tag. */
const OTHER_WORDS: readonly (readonly [tag: string, word: string])[] = [
  ['<think>', '(thonk)'],
  ['</think>', '(-thonk)'],
  ['<thinking>', '(thonking)'],
  ['</thinking>', '(-thonking)'],
  ['<Reasoning id="1">', '(Rxasoning id="1")'],
  ['</REASONING>', '(-RXASONING)'],
  ['<!--', '(!=='],
  ['-->', '==)'],
];
const LINES: readonly string[] = [
  ...OTHER_WORDS.map(([tag]) => tag),
  'text <think> and more',
  "const END = '</think>';",
  'if (text.includes("<think>")) return;',
  '  <think>one</think>  ',
  '<!-- one line -->',
  '<!-- { "file_path": "c.txt" } -->',
  '    <!-- two',
  '    lines -->',
  '<div><!-- ko --><b>{{ x }}</b><!-- /ko --></div>',
  'let a = b--> c;',
  '</think></think>',
  '# `<think>`',
  '{ "a": "<think>" }',
  '',
  'plain',
  'more',
];
const withOtherWords = (text: string): string =>
  OTHER_WORDS.reduce((result, [tag, word]) => result.replaceAll(tag, word), text);

/** Lines that are all different, so that every format finds its place. */
const drawFile = (random: () => number): string[] =>
  Array.from({ length: 6 + Math.floor(random() * 8) }, (_, index) => {
    const line = LINES[Math.floor(random() * LINES.length)] ?? '';
    return random() < 0.5 ? line : `line${index}(); ${line}`;
  });
const drawEdits = (random: () => number, length: number): LineEdit[] => {
  const from = Math.floor(random() * (length - 1));
  const to = Math.min(length, from + 1 + Math.floor(random() * 3));
  return [{ from, to, lines: drawFile(random).slice(0, 1 + Math.floor(random() * 5)) }];
};

/** Mistakes of models in diffs, after which the next lines may be read as prose. */
const SLIPS: readonly ((answer: string) => string)[] = [
  (answer) => answer,
  (answer) => `Here is the change.\n\n${answer}`,
  (answer) => `\`\`\`\n${answer}\n\`\`\`\n`,
  (answer) => answer.replaceAll('\n', '\r\n'),
  (answer) => answer.replace(/^@@ -(\d+),\d+ \+(\d+),\d+ @@/gm, '@@ -$1,9 +$2,9 @@'),
  (answer) => answer.replace(/^@@ .*$/gm, '@@'),
];
/** Context lines lose their blank. */
const withoutBlanks = (answer: string): string => answer.replace(/^ (?=[<(])/gm, '');

const judge = (
  format: AnswerFormat,
  answer: string,
  base: string,
  nonce: string | undefined,
): AnswerOutcome =>
  applyAnswer({
    format,
    answer,
    files: new Map([['f.txt', { bytes: Buffer.from(base) }]]),
    options:
      nonce === undefined
        ? { requireMarker: false, allowDelete: true, mayCreateUnder: [''] }
        : { requireMarker: true, nonce },
  });
/** An outcome with other words in place of the tags. */
const seen = (outcome: AnswerOutcome): readonly unknown[] =>
  outcome.outcome === 'edited'
    ? [
        'edited',
        [...outcome.files].map(([path, file]) => [
          path,
          file === 'absent' ? file : withOtherWords(Buffer.from(file.bytes).toString()),
        ]),
        outcome.notes.map(({ code }) => code),
      ]
    : [outcome.outcome, outcome.reasons.map(({ code }) => code)];

describe.each(ALL)('%s', (format) => {
  test('keeps tags and comments in the content of edits byte for byte', () => {
    const random = randomFrom(SEED);
    const different: unknown[] = [];
    let edited = 0;
    for (let round = 0; round < ROUNDS; round += 1) {
      const lines = drawFile(random);
      const base = lines.map((line) => `${line}\n`).join('');
      const edits = drawEdits(random, lines.length);
      const nonce = round % 2 === 0 ? NONCE : undefined;
      const manner = { careful: round % 3 > 0, ...(nonce === undefined ? {} : { nonce }) };
      const plain = SAY[format]('f.txt', lines, edits, manner);
      // The checks of a listing depend on the words.
      const plainOther = SAY[format](
        'f.txt',
        lines.map(withOtherWords),
        edits.map((edit) => ({ ...edit, lines: edit.lines.map(withOtherWords) })),
        manner,
      );
      for (const slip of format === 'unified-diff' ? [...SLIPS, withoutBlanks] : SLIPS) {
        const answer = slip(plain);
        const outcome = judge(format, answer, base, nonce);
        const other = judge(format, slip(plainOther), withOtherWords(base), nonce);
        if (JSON.stringify(seen(outcome)) !== JSON.stringify(seen(other)))
          different.push({ answer, base, outcome: seen(outcome), other: seen(other) });
        if (slip === SLIPS[0] && outcome.outcome === 'edited') {
          edited += 1;
          const [file] = outcome.files.values();
          expect(file !== 'absent' && Buffer.from(file?.bytes ?? []).toString()).toBe(
            apply(lines, edits)
              .map((line) => `${line}\n`)
              .join(''),
          );
        }
      }
    }
    expect(edited).toBeGreaterThan(ROUNDS / 4);
    expect(different).toEqual([]);
  });
});
