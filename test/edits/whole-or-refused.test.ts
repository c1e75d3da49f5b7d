/**
 * Applied whole or refused whole: one line of a good answer of three edits in two files is removed, doubled, swapped, indented, wrapped, broken
 * or joined, or prose or another answer is put beside it. Each edit brings a token of its own. Where such an answer changes anything, every
 * token that it still holds is in the result: an edit that would be left out is a part of the answer.
 */
import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { applyAnswer } from '../../src/edits/apply-answer.js';
import { lineCheck } from '../../src/edits/listing.js';
import { type AnswerFormat, DIALECTS, FORMATS } from '../../src/shared/formats.js';
import { fuzz } from '../support/fuzz.js';

const ALL = [...FORMATS, ...DIALECTS];
const USUAL = 4_000;
const TOKENS = ['token_one', 'token_two', 'token_three'] as const;
const EDITS = [
  { path: 'a.py', at: 3, token: TOKENS[0] },
  { path: 'a.py', at: 9, token: TOKENS[1] },
  { path: 'src/b.py', at: 5, token: TOKENS[2] },
] as const;
const PATHS = ['a.py', 'src/b.py'] as const;
const linesOf = (path: string): string[] =>
  Array.from({ length: 12 }, (_, i) => `${path[0] ?? ''}_${i} = ${i * 7}`);
const text = (lines: readonly string[]): string => lines.map((line) => `${line}\n`).join('');
const now = (token: string): string => `${token} = 1`;
const resultOf = (path: string): string[] =>
  linesOf(path).map((line, i) => {
    const edit = EDITS.find((each) => each.path === path && each.at === i);
    return edit === undefined ? line : now(edit.token);
  });

/** Bodies alone, in order; what is asked for around them comes later. */
const parts: Readonly<Record<AnswerFormat, () => readonly string[]>> = {
  'whole-file': () => PATHS.map((path) => `FILE ${path}\n${text(resultOf(path))}END FILE\n`),
  'search-replace': () =>
    EDITS.map(
      ({ path, at, token }) =>
        `FILE: ${path}\nFIND:\n${linesOf(path)[at] ?? ''}\nREPLACE:\n${now(token)}\nEND\n`,
    ),
  'search-blocks': () =>
    EDITS.map(
      ({ path, at, token }) =>
        `${path}\n<<<<<<< SEARCH\n${linesOf(path)[at] ?? ''}\n=======\n${now(token)}\n>>>>>>> REPLACE\n`,
    ),
  'unified-diff': () =>
    PATHS.map(
      (path) =>
        `--- a/${path}\n+++ b/${path}\n${EDITS.filter((edit) => edit.path === path)
          .map(({ at, token }) => {
            const lines = linesOf(path);
            return `@@ -${at},3 +${at},3 @@\n ${lines[at - 1] ?? ''}\n-${lines[at] ?? ''}\n+${now(token)}\n ${lines[at + 1] ?? ''}\n`;
          })
          .join('')}`,
    ),
  'begin-patch': () => [
    '*** Begin Patch\n',
    ...PATHS.map(
      (path) =>
        `*** Update File: ${path}\n${EDITS.filter((edit) => edit.path === path)
          .map(
            ({ at, token }) =>
              `@@\n ${linesOf(path)[at - 1] ?? ''}\n-${linesOf(path)[at] ?? ''}\n+${now(token)}\n`,
          )
          .join('')}`,
    ),
    '*** End Patch\n',
  ],
  'structured-edit': () => [
    `${JSON.stringify(
      {
        operations: EDITS.map(({ path, at, token }) => {
          const lines = linesOf(path);
          const line = `${at + 1}${lineCheck(lines[at - 1], lines[at] ?? '', lines[at + 1])}`;
          return {
            type: 'replace',
            file_path: path,
            start_line: line,
            end_line: line,
            content: `${now(token)}\n`,
          };
        }),
        complete: true,
      },
      null,
      1,
    )}\n`,
  ],
  'xml-call': () => EDITS.map(callOf),
  'string-replace': () => [
    `${JSON.stringify(
      {
        edits: EDITS.map(({ path, at, token }) => ({
          file_path: path,
          old_string: linesOf(path)[at],
          new_string: now(token),
        })),
        complete: true,
      },
      null,
      1,
    )}\n`,
  ],
};

const callOf = ({ path, token, ...edit }: (typeof EDITS)[number]): string =>
  `<replace_in_file>\n<path>${path}</path>\n<diff>\n<<<<<<< SEARCH\n${linesOf(path)[edit.at] ?? ''}\n=======\n${now(token)}\n>>>>>>> REPLACE\n</diff>\n</replace_in_file>\n`;

const isJson = (format: AnswerFormat): boolean =>
  format === 'structured-edit' || format === 'string-replace';
const COUNTS: Readonly<Partial<Record<AnswerFormat, string>>> = { 'whole-file': '2 2' };

interface Manner {
  readonly fenced: boolean;
  readonly marked: boolean;
  readonly before: boolean;
  readonly between: boolean;
  readonly behind: boolean;
}
const answerOf = (
  format: AnswerFormat,
  { fenced, marked, before, between, behind }: Manner,
): string => {
  const bodies = parts[format]();
  const mayStandBetween = between && format !== 'begin-patch' && format !== 'whole-file' && !fenced;
  const body = bodies.join(mayStandBetween ? '\nThen the next one.\n\n' : '');
  const marker = marked && !isJson(format) ? `EMEND-COMPLETE ${COUNTS[format] ?? '2 3'}\n` : '';
  return [
    before ? 'Here is the change.\n\n' : '',
    fenced ? '```\n' : '',
    body,
    fenced ? '```\n' : '',
    marker,
    behind ? '\nThis does what you asked for.\n' : '',
  ].join('');
};

type Perturb = (lines: readonly string[], at: number) => readonly string[];
const insert =
  (...more: readonly string[]): Perturb =>
  (lines, at) => [...lines.slice(0, at), ...more, ...lines.slice(at)];
const PERTURB: Readonly<Record<string, Perturb>> = {
  none: (lines) => lines,
  remove: (lines, at) => lines.filter((_, i) => i !== at),
  double: (lines, at) => lines.flatMap((line, i) => (i === at ? [line, line] : [line])),
  swap: (lines, at) => [
    ...lines.slice(0, at),
    ...lines.slice(at, at + 2).reverse(),
    ...lines.slice(at + 2),
  ],
  indent: (lines, at) => lines.map((line, i) => (i === at ? `  ${line}` : line)),
  'indent all': (lines) => lines.map((line) => `  ${line}`),
  wrap: (lines, at) => [
    ...lines.slice(0, at),
    '```',
    lines[at] ?? '',
    '```',
    ...lines.slice(at + 1),
  ],
  'wrap some': (lines, at) => [
    ...lines.slice(0, at),
    '```',
    ...lines.slice(at, at + 4),
    '```',
    ...lines.slice(at + 4),
  ],
  break: (lines, at) => {
    const line = lines[at] ?? '';
    const half = line.indexOf(' ', line.length / 2);
    return half < 0
      ? lines
      : [...lines.slice(0, at), line.slice(0, half), line.slice(half + 1), ...lines.slice(at + 1)];
  },
  join: (lines, at) => [
    ...lines.slice(0, at),
    lines.slice(at, at + 2).join(' '),
    ...lines.slice(at + 2),
  ],
  'fence before': insert('```python'),
  prose: insert('Now the other part.'),
  blank: insert(''),
  cut: (lines, at) => lines.slice(0, at),
  quote: (lines, at) => lines.map((line, i) => (i === at ? `> ${line}` : line)),
};

const outcomeOf = (format: AnswerFormat, answer: string) =>
  applyAnswer({
    format,
    answer,
    files: new Map(PATHS.map((path) => [path, { bytes: Buffer.from(text(linesOf(path))) }])),
    options: { requireMarker: false },
  });

/** A line that left its block for the prose between blocks is none of an edit's. */
const BLOCKS: Readonly<Partial<Record<AnswerFormat, RegExp>>> = {
  'search-replace': /^FIND:\n[^]*?\nEND$/gm,
  'search-blocks': /^<{7} SEARCH\n[^]*?\n>{7} REPLACE$/gm,
};

/** Tokens that the answer's edits hold and no file got. */
const leftOut = (format: AnswerFormat, answer: string): readonly string[] => {
  const outcome = outcomeOf(format, answer);
  const block = BLOCKS[format];
  const held = block === undefined ? answer : (answer.match(block) ?? []).join('\n');
  if (outcome.outcome !== 'edited')
    return outcome.outcome === 'unchanged' ? TOKENS.filter((token) => held.includes(token)) : [];
  const made = [...outcome.files.values()].map((file) =>
    file === 'absent' ? '' : Buffer.from(file.bytes).toString(),
  );
  return TOKENS.filter(
    (token) => held.includes(token) && !made.some((file) => file.includes(token)),
  );
};

const manner: fc.Arbitrary<Manner> = fc.record({
  fenced: fc.boolean(),
  marked: fc.boolean(),
  before: fc.boolean(),
  between: fc.boolean(),
  behind: fc.boolean(),
});
const OTHERS = fc.constantFrom(...ALL);

describe.each(ALL)('%s', (format) => {
  test('a good answer is applied whole, in every manner', () => {
    fc.assert(
      fc.property(manner, (how) => {
        // Without nonce, marker or fence an END may have been a line of a text that was cut off.
        fc.pre(format !== 'search-replace' || how.fenced || how.marked || !how.behind);
        const outcome = outcomeOf(format, answerOf(format, how));
        const made = outcome.outcome === 'edited' ? [...outcome.files] : [];
        const files = made.map(
          ([path, file]) =>
            [path, file === 'absent' ? null : Buffer.from(file.bytes).toString()] as const,
        );
        expect(outcome.outcome === 'edited' ? new Map(files) : outcome.reasons).toEqual(
          new Map(PATHS.map((path) => [path, text(resultOf(path))])),
        );
      }),
      fuzz(`manners: ${format}`, 32),
    );
  });

  test('one line of it changed: no part of it is left out', () => {
    fc.assert(
      fc.property(
        manner,
        fc.constantFrom(...Object.keys(PERTURB)),
        fc.nat(60),
        (how, name, place) => {
          const lines = answerOf(format, how).split('\n');
          const answer = (PERTURB[name]?.(lines, place % lines.length) ?? []).join('\n');
          expect(leftOut(format, answer)).toEqual([]);
        },
      ),
      fuzz(`one line changed: ${format}`, USUAL, 1 / ALL.length),
    );
  });

  test('another answer before or behind it: both, or none', () => {
    fc.assert(
      fc.property(manner, manner, OTHERS, fc.boolean(), (how, otherHow, other, isBehind) => {
        const more = answerOf(other, otherHow)
          .replaceAll('token_one', 'other_one')
          .replaceAll('token_two', 'other_two')
          .replaceAll('token_three', 'other_three');
        const both = isBehind ? [answerOf(format, how), more] : [more, answerOf(format, how)];
        const outcome = outcomeOf(format, both.join('\n'));
        // Both change the same lines, so that one of them would be left out.
        expect(outcome.outcome).not.toBe('edited');
      }),
      fuzz(`two answers: ${format}`, USUAL / 4, 1 / ALL.length),
    );
  });
});
