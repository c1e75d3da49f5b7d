/** Guarantee 1: no truncated answer is ever applied, wherever it is cut. */
import { describe, expect, test } from '@jest/globals';
import { applyAnswer } from '../../src/edits/apply-answer.js';
import { FORMATS } from '../../src/shared/formats.js';
import { spread } from '../support/seeded.js';
import { recordedAnswers } from './answers.js';

const answers = recordedAnswers();
const isUsed = (outcome: string): boolean => outcome === 'edited' || outcome === 'unchanged';

test('there are at least five answers a format', () => {
  for (const format of FORMATS) {
    const names = answers.filter((a) => a.input.format === format).map((a) => a.name.split(' ')[0]);
    expect(new Set(names).size).toBeGreaterThanOrEqual(5);
  }
});

describe.each(answers)('$name', ({ input, expected }) => {
  test('whole, it gives the expected bytes', () => {
    const outcome = applyAnswer(input);
    const texts: Record<string, string> = {};
    if (outcome.outcome === 'edited')
      for (const [path, file] of outcome.files)
        texts[path] = file === 'absent' ? 'absent' : Buffer.from(file.bytes).toString();
    expect({
      outcome: outcome.outcome,
      reasons: 'reasons' in outcome ? outcome.reasons : [],
      texts,
    }).toEqual({
      outcome: 'edited',
      reasons: [],
      texts: expected,
    });
  });

  test('cut at any byte, it is never used', () => {
    const bytes = Buffer.from(input.answer);
    const end = Buffer.from(input.answer.trimEnd()).length;
    const used: number[] = [];
    let tried = 0;
    const cuts = spread(
      Array.from({ length: end }, (_, cut) => cut),
      60,
    );
    for (const cut of cuts) {
      tried += 1;
      const outcome = applyAnswer({ ...input, answer: bytes.subarray(0, cut).toString('utf8') });
      if (isUsed(outcome.outcome)) used.push(cut);
    }
    expect(tried).toBe(cuts.length);
    expect(used).toEqual([]);
  });

  test('only white space after the end may be missing', () => {
    for (let length = input.answer.trimEnd().length; length <= input.answer.length; length += 1)
      expect(applyAnswer({ ...input, answer: input.answer.slice(0, length) }).outcome).toBe(
        'edited',
      );
  });

  test.each(['max_tokens', 'length', 'model_context_window_exceeded', 'tool_use', null])(
    'stop reason %s makes even the whole answer truncated',
    (stopReason) => {
      expect(applyAnswer({ ...input, options: { ...input.options, stopReason } }).outcome).toBe(
        'truncated',
      );
    },
  );
});
