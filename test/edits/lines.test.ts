import { describe, expect, jest, test } from '@jest/globals';
import fc from 'fast-check';
import { ByteText } from '../../src/edits/byte-text.js';
import { applyAnswer } from '../../src/edits/index.js';
import { indexOf } from '../../src/edits/lines.js';
import { splitLines } from '../../src/edits/text.js';
import { fuzz } from '../support/fuzz.js';

const pieces = fc.array(
  fc.constantFrom('\n', '\r\n', '\r', 'a', 'bb', ' ', '\t', '\u00e9', '\u{1f600}', '\ufeff', 'longer than four'),
);
/** Both ways in which a text's lines are kept: offsets over bytes, and strings. */
const both = (text: string) => {
  const bytes = Buffer.from(text);
  return [new ByteText(bytes, 0, 'utf8'), indexOf(splitLines(text))] as const;
};

describe('an index over bytes', () => {
  test('says of each line what strings say', () => {
    fc.assert(
      fc.property(pieces, (parts) => {
        const [bytes, strings] = both(parts.join(''));
        expect(bytes.length).toBe(strings.length);
        expect(bytes.eol).toBe(strings.eol);
        expect(bytes.lines).toEqual(strings.all);
        for (let at = -1; at <= strings.length; at += 1) {
          const line = strings.line(at);
          expect([bytes.line(at), bytes.end(at)]).toEqual([line, strings.end(at)]);
          expect(bytes.isBlank(at)).toBe(strings.isBlank(at));
          for (const other of ['', 'a', 'bb', '\u00e9', `${line ?? ''}x`, line ?? 'none'])
            expect(bytes.is(at, other)).toBe(line === other);
        }
        expect(bytes.range(-1, 3)).toEqual(strings.range(-1, 3));
      }),
      fuzz('lines over bytes'),
    );
  });

  test('finds what strings find', () => {
    fc.assert(
      fc.property(
        pieces,
        fc.array(fc.constantFrom('', 'a', 'bb', 'a\u00e9', '\u{1f600}', '\ud83d', 'a\nb', '\ufeff')),
        (parts, texts) => {
          const [bytes, strings] = both(parts.join(''));
          const ids = new Map<string, number>(texts.map((text, i) => [text, i]));
          const wanted = strings.all.map((line) => ids.get(line) ?? -1);
          expect([...(bytes.findAll(ids) ?? [])]).toEqual(wanted);
          for (const part of ['a', '\ufeff', '\t', '\u00e9']) {
            expect(bytes.includes(part)).toBe(strings.includes(part));
            expect(bytes.begins(part)).toBe(strings.begins(part));
          }
        },
      ),
      fuzz('finds over bytes'),
    );
  });
});

test('what a distant line holds is not decoded for an edit of another', () => {
  const lines = Array.from({ length: 5_000 }, (_, i) => `line ${i}`);
  const bytes = Buffer.from(`${lines.join('\n')}\n`);
  const one = jest.spyOn(ByteText.prototype, 'line');
  const all = jest.spyOn(ByteText.prototype, 'lines', 'get');
  try {
    const answer = '--- a/f\n+++ b/f\n@@ -2500,3 +2500,3 @@\n line 2499\n-line 2500\n+edited\n line 2501\n';
    const outcome = applyAnswer({
      format: 'unified-diff',
      answer,
      files: new Map([['f', { bytes }]]),
      options: { requireMarker: false },
    });
    expect(outcome).toMatchObject({ outcome: 'edited', rungs: [] });
    expect(all).not.toHaveBeenCalled();
    expect(one.mock.calls.length).toBeLessThan(20);
  } finally {
    one.mockRestore();
    all.mockRestore();
  }
});
