/** Each rung, as `emend.yaml` switches it: on, it is used and shown; off, the answer is refused; unsaid, it has its default. */
import { describe, expect, test } from '@jest/globals';
import { applyAnswer } from '../../src/edits/outcome.js';
import type { AnswerOutcome } from '../../src/edits/types.js';
import { parseConfig } from '../../src/job/config.js';
import type { AnswerFormat, Rung } from '../../src/shared/formats.js';
import { RUNGS } from '../../src/shared/formats.js';

interface Sample {
  readonly format: AnswerFormat;
  readonly base: string;
  readonly answer: string;
  readonly result: string;
}

const diff = (body: string): string => `--- a/f\n+++ b/f\n${body}EMEND-COMPLETE 1 1\n`;
const block = (find: string, replace: string): string => `FILE: f\nFIND:\n${find}REPLACE:\n${replace}END\n`;
const blocks = (...list: string[]): string => `${list.join('')}EMEND-COMPLETE 1 ${list.length}\n`;

/** Answers that need exactly this rung. */
const NEEDING: Readonly<Record<Rung, Sample>> = {
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
    answer: blocks(block('a\n// ...\nd\n', 'A\n// ...\nd\n')),
    result: 'A\nb\nc\nd\n',
  },
};

/** As `propose` passes them: the settings of the resolved configuration. */
const run = ({ format, base, answer }: Sample, yaml: string): AnswerOutcome => {
  const config = parseConfig(yaml, 'emend.yaml');
  if (!config.ok) throw new Error(config.problems.map((p) => p.message).join('\n'));
  return applyAnswer({
    format,
    answer,
    files: new Map([['f', { bytes: Buffer.from(base) }]]),
    options: { requireMarker: true, rungs: config.value.rungs },
  });
};
const expectUsed = (outcome: AnswerOutcome, rung: Rung, result: string): void => {
  if (outcome.outcome !== 'edited') throw new Error(JSON.stringify(outcome));
  const file = outcome.files.get('f');
  expect(file === 'absent' || file === undefined ? null : Buffer.from(file.bytes).toString()).toBe(result);
  expect(outcome.rungs.map((used) => used.rung)).toEqual([rung]);
};

describe.each(Object.keys(RUNGS) as Rung[])('%s', (rung) => {
  const sample = NEEDING[rung];
  test('on: used, and shown', () => {
    expectUsed(run(sample, `rungs: { ${rung}: true }\n`), rung, sample.result);
  });
  test('off: refused with a reason', () => {
    // A carriage return before a line end is white space there too.
    const others = rung === 'line_endings' ? ', trailing_space: false' : '';
    const outcome = run(sample, `rungs: { ${rung}: false${others} }\n`);
    expect(outcome).toMatchObject({ outcome: 'refused', reasons: [{ path: 'f' }] });
  });
  test(`unsaid: ${RUNGS[rung].default ? 'on' : 'off'}`, () => {
    const outcome = run(sample, '');
    if (RUNGS[rung].default) expectUsed(outcome, rung, sample.result);
    else expect(outcome.outcome).toBe('refused');
  });
});
