/** Bounds on answers, one character, line or edit on either side of them. */
import { describe, expect, test } from '@jest/globals';
import { sizeFault, tooManyEdits } from '../../src/edits/answer-size.js';
import { DIALECTS, FORMATS } from '../../src/shared/formats.js';
import { BOUNDS } from '../../src/shared/limits.js';

const { maxAnswer_chars, maxAnswer_lines, maxAnswer_edits } = BOUNDS;
const JSON_FORMATS = ['structured-edit', 'string-replace'];

test('characters', () => {
  expect(sizeFault('whole-file', 'x'.repeat(maxAnswer_chars))).toBeNull();
  expect(sizeFault('whole-file', 'x'.repeat(maxAnswer_chars + 1))).toEqual({
    code: 'answer_too_large',
    message: `The answer has more than ${maxAnswer_chars.toLocaleString('en-US')} characters. Send it in several answers.`,
  });
});

test('lines', () => {
  expect(sizeFault('unified-diff', '\n'.repeat(maxAnswer_lines))).toBeNull();
  expect(sizeFault('unified-diff', `${'\n'.repeat(maxAnswer_lines)}x`)).toBeNull();
  expect(sizeFault('unified-diff', '\n'.repeat(maxAnswer_lines + 1))).toEqual({
    code: 'answer_too_large',
    message: `The answer has more than ${maxAnswer_lines.toLocaleString('en-US')} lines. Send it in several answers.`,
  });
  expect(sizeFault('unified-diff', `x${'\n'.repeat(maxAnswer_lines + 1)}`)?.code).toBe('answer_too_large');
});

describe('edits, where each names its file in JSON', () => {
  const edits = (count: number): string => '"file_path"'.repeat(count);
  test.each([...FORMATS, ...DIALECTS])('%s', (format) => {
    const isJson = JSON_FORMATS.includes(format);
    expect(sizeFault(format, edits(maxAnswer_edits))).toBeNull();
    expect(sizeFault(format, `${edits(maxAnswer_edits)} and some more text`)).toBeNull();
    expect(sizeFault(format, edits(maxAnswer_edits + 1))).toEqual(isJson ? tooManyEdits() : null);
  });
  test('are told by their bound', () => {
    expect(tooManyEdits()).toEqual({
      code: 'too_many_edits',
      message: `The answer has more than ${maxAnswer_edits.toLocaleString('en-US')} edits. Send it in several answers.`,
    });
  });
});
