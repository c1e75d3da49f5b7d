/** Bounds on answers, one character, line or edit on either side of them. */
import { describe, expect, test } from '@jest/globals';
import {
  sizeFault,
  tooManyEdits,
  MAX_ANSWER_CHARS,
  MAX_ANSWER_LINES,
} from '../../src/edits/answer-size.js';
import { DIALECTS, FORMATS } from '../../src/shared/formats.js';
import { BOUNDS } from '../../src/shared/limits.js';

const JSON_FORMATS = ['structured-edit', 'string-replace'];

test('characters', () => {
  expect(sizeFault('whole-file', 'x'.repeat(MAX_ANSWER_CHARS))).toBeNull();
  expect(sizeFault('whole-file', 'x'.repeat(MAX_ANSWER_CHARS + 1))).toEqual({
    code: 'answer_too_large',
    message: `The answer has more than ${MAX_ANSWER_CHARS.toLocaleString('en-US')} characters. Send it in several answers.`,
  });
});

test('lines', () => {
  expect(sizeFault('unified-diff', '\n'.repeat(MAX_ANSWER_LINES))).toBeNull();
  expect(sizeFault('unified-diff', `${'\n'.repeat(MAX_ANSWER_LINES)}x`)).toBeNull();
  expect(sizeFault('unified-diff', '\n'.repeat(MAX_ANSWER_LINES + 1))).toEqual({
    code: 'answer_too_large',
    message: `The answer has more than ${MAX_ANSWER_LINES.toLocaleString('en-US')} lines. Send it in several answers.`,
  });
  expect(sizeFault('unified-diff', `x${'\n'.repeat(MAX_ANSWER_LINES + 1)}`)?.code).toBe(
    'answer_too_large',
  );
});

describe('edits, where each names its file in JSON', () => {
  const edits = (count: number): string => '"file_path"'.repeat(count);
  test.each([...FORMATS, ...DIALECTS])('%s', (format) => {
    const isJson = JSON_FORMATS.includes(format);
    expect(sizeFault(format, edits(BOUNDS.maxAnswer_edits))).toBeNull();
    expect(sizeFault(format, `${edits(BOUNDS.maxAnswer_edits)} and some more text`)).toBeNull();
    expect(sizeFault(format, edits(BOUNDS.maxAnswer_edits + 1))).toEqual(
      isJson ? tooManyEdits() : null,
    );
  });
  test('are told by their bound', () => {
    expect(tooManyEdits()).toEqual({
      code: 'too_many_edits',
      message: `The answer has more than ${BOUNDS.maxAnswer_edits.toLocaleString('en-US')} edits. Send it in several answers.`,
    });
  });
});
