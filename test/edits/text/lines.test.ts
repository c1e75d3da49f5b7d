import { describe, expect, jest, test } from '@jest/globals';
import fc from 'fast-check';
import { ByteText } from '../../../src/edits/text/byte-text.js';
import { applyAnswer } from '../../../src/edits/index.js';
import { indexOf, linesWithEnds, splitLines } from '../../../src/edits/text/lines.js';
import { lineOrigins } from '../../../src/edits/text/line-diff.js';
import { answerIndex, answerLines } from '../../../src/edits/text/codec.js';
import { fuzz } from '../../support/fuzz.js';

const pieces = fc.array(
  fc.constantFrom(
    '\n',
    '\r\n',
    '\r',
    'a',
    'bb',
    ' ',
    '\t',
    '\u00e9',
    '\u{1f600}',
    '\ufeff',
    'longer than four',
  ),
);
/** Both ways in which a text's lines are kept: offsets over bytes, and strings. */
const both = (text: string) => {
  const bytes = Buffer.from(text);
  return [ByteText.of(bytes, 0, 'utf8'), indexOf(splitLines(text))] as const;
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
        for (let from = -1; from <= strings.length; from += 1)
          for (let to = from; to <= strings.length + 1; to += 1)
            expect(bytes.range(from, to)).toEqual(strings.range(from, to));
      }),
      fuzz('lines over bytes'),
    );
  });

  test('says of a part what strings say', () => {
    fc.assert(
      fc.property(pieces, fc.nat(), fc.nat(), (parts, one, other) => {
        const [bytes, strings] = both(parts.join(''));
        const [from = 0, to = 0] = [one, other]
          .map((n) => n % (strings.length + 1))
          .sort((a, b) => a - b);
        const [part, wanted] = [bytes.slice(from, to), strings.slice(from, to)];
        expect(part.length).toBe(wanted.length);
        expect(part.lines).toEqual(wanted.all);
        expect(part.range(0, part.length)).toEqual(wanted.all);
        for (let at = -1; at <= part.length; at += 1)
          expect([part.line(at), part.end(at)]).toEqual([wanted.line(at), wanted.end(at)]);
        for (const sought of ['a', '\t', '\u00e9'])
          expect(part.includes(sought)).toBe(wanted.includes(sought));
        if (part.length === 0 || bytes.eol !== 'mixed') expect(part.eol).toBe(wanted.eol);
      }),
      fuzz('parts over bytes'),
    );
  });

  test('compares with another text as strings do', () => {
    fc.assert(
      fc.property(pieces, pieces, fc.boolean(), (parts, others, isSame) => {
        const [bytes, strings] = both(parts.join(''));
        const [otherBytes, otherStrings] = both((isSame ? parts : others).join(''));
        for (let at = -1; at <= bytes.length; at += 1) {
          for (let otherAt = -1; otherAt <= otherBytes.length; otherAt += 1) {
            const line = strings.line(at);
            const equal = line !== undefined && line === otherStrings.line(otherAt);
            for (const other of [otherBytes, otherStrings]) {
              expect(bytes.isLine(at, other, otherAt)).toBe(equal);
              expect(strings.isLine(at, other, otherAt)).toBe(equal);
            }
          }
        }
      }),
      fuzz('lines of two texts'),
    );
  });

  test.each(['\n', '\r\n', '\r'])(
    'counts the lines that two long texts have in common (%j)',
    (end) => {
      fc.assert(
        fc.property(
          fc.array(
            fc.constantFrom('', '}', 'a line of some length, as most are', 'x'.repeat(600)),
            { minLength: 1 },
          ),
          fc.nat(),
          fc.constantFrom('', 'else', 'a line of some length, as most are, and more'),
          fc.tuple(fc.constantFrom(end, ''), fc.constantFrom(end, '')),
          (lines, place, changed, [last, otherLast]) => {
            const at = place % lines.length;
            const text = lines.join(end) + last;
            const other = lines.map((line, i) => (i === at ? changed : line)).join(end) + otherLast;
            const [bytes, strings] = both(text);
            const [otherBytes, otherStrings] = both(other);
            let wanted = 0;
            while (wanted < strings.length && strings.line(wanted) === otherStrings.line(wanted))
              wanted += 1;
            for (const [one, two] of [
              [bytes, otherBytes],
              [otherBytes, bytes],
              [bytes, otherStrings],
              [strings, otherBytes],
            ] as const) {
              for (const most of [0, 1, wanted - 1, wanted, lines.length])
                expect(one.surelySame?.(0, two, 0, Math.max(0, most)) ?? 0).toBeLessThanOrEqual(
                  Math.max(0, Math.min(most, wanted)),
                );
              expect([...lineOrigins(one, two)].slice(0, wanted)).toEqual(
                [...lines.keys()].slice(0, wanted),
              );
            }
          },
        ),
        fuzz(`common lines ${JSON.stringify(end)}`),
      );
    },
  );

  test('of an answer it has the same lines', () => {
    fc.assert(
      fc.property(
        fc.oneof(pieces, fc.array(fc.constantFrom('\n', '\r', '\ud83d', 'a'))),
        (parts) => {
          const text = parts.join('');
          expect(answerIndex(text).all).toEqual(answerLines(text));
        },
      ),
      fuzz('lines of an answer'),
    );
  });

  test('finds what strings find', () => {
    fc.assert(
      fc.property(
        pieces,
        fc.array(
          fc.constantFrom('', 'a', 'bb', 'a\u00e9', '\u{1f600}', '\ud83d', 'a\nb', '\ufeff'),
        ),
        (parts, texts) => {
          const [bytes, strings] = both(parts.join(''));
          const ids = new Map<string, number>(texts.map((text, i) => [text, i]));
          const wanted = strings.all.map((line) => ids.get(line) ?? -1);
          const found = wanted.map(() => -1);
          expect(bytes.findAll(ids, (id, at) => (found[at] = id))).toBe(true);
          expect(found).toEqual(wanted);
          for (const part of ['a', '\ufeff', '\t', '\u00e9'])
            expect(bytes.includes(part)).toBe(strings.includes(part));
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
    const answer =
      '--- a/f\n+++ b/f\n@@ -2500,3 +2500,3 @@\n line 2499\n-line 2500\n+edited\n line 2501\n';
    const outcome = applyAnswer({
      format: 'unified-diff',
      answer,
      files: new Map([['f', { bytes }]]),
      options: { requireMarker: false },
    });
    expect(outcome).toMatchObject({ outcome: 'edited', tolerances: [] });
    expect(all).not.toHaveBeenCalled();
    expect(one.mock.calls.length).toBeLessThan(20);
  } finally {
    one.mockRestore();
    all.mockRestore();
  }
});

test('lines with their ends', () => {
  expect(linesWithEnds('\na\r\n\nb')).toEqual(['\n', 'a\r\n', '\n', 'b']);
  expect(linesWithEnds('a\n')).toEqual(['a\n']);
  expect(linesWithEnds('\ra\nb', '\r')).toEqual(['\r', 'a\nb']);
  expect(linesWithEnds('')).toEqual([]);
});
