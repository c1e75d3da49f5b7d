/** Each tolerance, as `emend.yaml` switches it: on, it is used and shown; off, the answer is refused; unsaid, it has its default. */
import { describe, expect, test } from '@jest/globals';
import { applyAnswer } from '../../src/edits/apply-answer.js';
import type { AnswerOutcome } from '../../src/edits/types.js';
import { parseConfig } from '../../src/documents/job/config.js';
import { type AnswerFormat, type Tolerance, TOLERANCES } from '../../src/shared/formats.js';
import { LOOSE_STRINGS } from '../../src/edits/locate/string-text.js';

interface Sample {
  readonly format: AnswerFormat;
  readonly base: string;
  readonly answer: string;
  readonly result: string;
}

const diff = (body: string): string => `--- a/f\n+++ b/f\n${body}EMEND-COMPLETE 1 1\n`;
const block = (find: string, replace: string): string =>
  `FILE: f\nFIND:\n${find}REPLACE:\n${replace}END\n`;
const blocks = (...list: string[]): string => `${list.join('')}EMEND-COMPLETE 1 ${list.length}\n`;

/** Answers that need exactly this tolerance. */
const NEEDING: Readonly<Record<Tolerance, Sample>> = {
  line_drift: {
    format: 'unified-diff',
    base: 'a\nb\nc\nd\n',
    answer: diff('@@ -1,2 +1,2 @@\n c\n-d\n+D\n'),
    result: 'a\nb\nc\nD\n',
  },
  counts: {
    format: 'unified-diff',
    base: 'a\nb\n',
    answer: diff('@@ -1,7 +1,9 @@\n a\n-b\n+B\n'),
    result: 'a\nB\n',
  },
  line_endings: {
    format: 'search-replace',
    base: 'a\r\nb\r\r\n',
    answer: blocks(block('b\n', 'B\n')),
    result: 'a\r\nB\r\n',
  },
  trailing_space: {
    format: 'search-replace',
    base: 'a  \nb\n',
    answer: blocks(block('a\n', 'A\n')),
    result: 'A\nb\n',
  },
  lost_blank: {
    format: 'unified-diff',
    base: 'a\nb\n',
    answer: diff('@@ -1,2 +1,2 @@\na\n-b\n+B\n'),
    result: 'a\nB\n',
  },
  fenced_body: {
    format: 'whole-file',
    base: 'a\n',
    answer: '```\nFILE f\nb\n```\nEND FILE\nEMEND-COMPLETE 1 1\n',
    result: 'b\n',
  },
  earlier_block: {
    format: 'search-replace',
    base: 'a\nb\n',
    answer: blocks(block('a\n', 'x\n'), block('x\n', 'y\n')),
    result: 'y\nb\n',
  },
  unchecked_lines: {
    format: 'structured-edit',
    base: 'a\nb\n',
    answer: JSON.stringify({
      operations: [{ type: 'replace', file_path: 'f', start_line: 2, end_line: 2, content: 'B' }],
      complete: true,
    }),
    result: 'a\nB\n',
  },
  part_of_line: {
    format: 'search-replace',
    base: 'a\n  call(one, two);\nc\n',
    answer: blocks(block('one, two\n', 'three\n')),
    result: 'a\n  call(three);\nc\n',
  },
  tabs: {
    format: 'search-replace',
    base: 'a\n\tb\n',
    answer: blocks(block('a\n    b\n', 'a\n    B\n')),
    result: 'a\n\tB\n',
  },
  listing_numbers: {
    format: 'search-replace',
    base: 'a\nb\n',
    answer: blocks(block('1| a\n2| b\n', '1| a\n2| B\n')),
    result: 'a\nB\n',
  },
  indent: {
    format: 'search-replace',
    base: '  a\n    b\n',
    answer: blocks(block('a\n  b\n', 'a\n  B\n')),
    result: '  a\n    B\n',
  },
  lookalikes: {
    format: 'search-replace',
    base: 'say(“hi”, 1);\n',
    answer: blocks(block('say("hi", 1);\n', 'say("hi", 2);\n')),
    result: 'say(“hi”, 2);\n',
  },
  elision: {
    format: 'search-replace',
    base: 'a\nb\nc\nd\n',
    answer: blocks(block('a\n// ...\nd\n', 'A\nd\n')),
    result: 'A\nd\n',
  },
};

/** An insert before line 2 whose context is the line before it. */
const insert = (context: string): string =>
  JSON.stringify({
    operations: [
      { type: 'insert', file_path: 'f', line: 2, content: 'x\n', context_before: `${context}\n` },
    ],
    complete: true,
  });
const string = (old: string, now: string): string =>
  JSON.stringify({ file_path: 'f', old_string: old, new_string: now, complete: true });
const IN_STRINGS: readonly (readonly [Tolerance, Sample])[] = [
  [
    'trailing_space',
    {
      format: 'string-replace',
      base: 'one  \ntwo\t\nthree\n',
      answer: string('ne\ntwo\nthr', 'ne\n2\nthr'),
      result: 'one  \n2\nthree\n',
    },
  ],
  [
    'lookalikes',
    {
      format: 'string-replace',
      base: 'a\nsay(“hi…”, 1);\n',
      answer: string('("hi...", 1)', '("hi...", 2)'),
      result: 'a\nsay(“hi…”, 2);\n',
    },
  ],
];
/** The same tolerances in the contexts of a structured edit; all that is on takes in what is milder. */
const IN_CONTEXTS: readonly (readonly [Tolerance, Sample])[] = [
  [
    'line_endings',
    {
      format: 'structured-edit',
      base: 'a\r\r\nb\r\n',
      answer: insert('a'),
      result: 'a\r\r\nx\r\nb\r\n',
    },
  ],
  [
    'trailing_space',
    { format: 'structured-edit', base: 'a  \nb\n', answer: insert('a'), result: 'a  \nx\nb\n' },
  ],
  [
    'lookalikes',
    {
      format: 'structured-edit',
      base: 'say(“hi”)\nb\n',
      answer: insert('say("hi")'),
      result: 'say(“hi”)\nx\nb\n',
    },
  ],
];

/** As `propose` passes them: the settings of the resolved configuration. */
const run = ({ format, base, answer }: Sample, yaml: string): AnswerOutcome => {
  const config = parseConfig(yaml);
  if (!config.ok) throw new Error(config.problems.map((p) => p.message).join('\n'));
  return applyAnswer({
    format,
    answer,
    files: new Map([['f', { bytes: Buffer.from(base) }]]),
    options: { requireMarker: true, tolerances: config.value.tolerances },
  });
};
const expectUsed = (outcome: AnswerOutcome, tolerance: Tolerance, result: string): void => {
  if (outcome.outcome !== 'edited') throw new Error(JSON.stringify(outcome));
  const file = outcome.files.get('f');
  expect(file === 'absent' || file === undefined ? null : Buffer.from(file.bytes).toString()).toBe(
    result,
  );
  expect(outcome.tolerances.map((used) => used.tolerance)).toEqual([tolerance]);
};

const SAMPLES = [
  ...Object.keys(TOLERANCES).map(
    (tolerance) => [tolerance as Tolerance, NEEDING[tolerance as Tolerance]] as const,
  ),
  ...IN_CONTEXTS,
  ...IN_STRINGS,
];

describe.each(SAMPLES)('%s', (tolerance, sample) => {
  test('on: used, and shown', () => {
    expectUsed(run(sample, `tolerances: { ${tolerance}: true }\n`), tolerance, sample.result);
  });
  test('off: refused with a reason', () => {
    // A carriage return before a line end is white space there too.
    const others = tolerance === 'line_endings' ? ', trailing_space: false' : '';
    const outcome = run(sample, `tolerances: { ${tolerance}: false${others} }\n`);
    expect(outcome).toMatchObject({ outcome: 'refused', reasons: [{ path: 'f' }] });
    if (IN_CONTEXTS.some(([, own]) => own === sample))
      expect(outcome).toMatchObject({
        reasons: [{ message: expect.stringContaining(`The tolerance \`${tolerance}\``) }],
      });
  });
  test(`unsaid: ${TOLERANCES[tolerance].default ? 'on' : 'off'}`, () => {
    const outcome = run(sample, '');
    if (TOLERANCES[tolerance].default) expectUsed(outcome, tolerance, sample.result);
    else expect(outcome.outcome).toBe('refused');
  });
});

describe('tolerances of string-replace', () => {
  test('are looked for so often in an answer, then it is refused', () => {
    const count = LOOSE_STRINGS + 1;
    const lines = Array.from({ length: count }, (_, i) => `line${i}.`);
    const edits = lines.map((line) => ({
      old_string: `${line}\n`,
      new_string: `${line}${line}\n`,
    }));
    const answer = JSON.stringify({ file_path: 'f', edits, complete: true });
    const base = lines.map((line) => `${line} \n`).join('');
    const outcome = run({ format: 'string-replace', base, answer, result: '' }, '');
    expect(outcome).toMatchObject({
      outcome: 'refused',
      reasons: [{ code: 'find_absent', index: count - 1 }],
    });
  });
  const ON = 'tolerances: { lookalikes: true }\n';
  test.each([
    ['two places at a tolerance', 'x \ny\nx\t\ny\n', string('x\ny', 'z'), 'find_repeated'],
    [
      'a place that begins inside of what one character stands for',
      'a…b\n',
      string('.b', 'c'),
      'find_absent',
    ],
    ['a place that ends inside of it', 'a…b\n', string('a.', 'c'), 'find_absent'],
    [
      'all places',
      'x \ny\n',
      string('x\ny', 'z').replace('"complete"', '"replace_all":true,"complete"'),
      'find_absent',
    ],
  ])('%s: refused', (_name, base, answer, code) => {
    const outcome = run({ format: 'string-replace', base, answer, result: '' }, ON);
    expect(outcome).toMatchObject({ outcome: 'refused', reasons: [{ code }] });
  });
});
