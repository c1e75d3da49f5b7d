import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { unseenIn, visible, visiblePieces } from '../../src/shared/text.js';
import { seed } from '../support/seeded.js';

const FAMILY = '\u{1F469}\u{1F3FD}\u200d\u{1F4BB}';
const ENGLAND = '\u{1F3F4}\u{E0067}\u{E0062}\u{E0065}\u{E006E}\u{E0067}\u{E007F}';

describe('text of others, shown', () => {
  test.each<[string, string, string]>([
    ['a bidirectional override', 'a\u202eb', 'a\\u{202E}b'],
    ['an isolate', '\u2066', '\\u{2066}'],
    ['a mark', '\u200e\u061c', '\\u{200E}\\u{61C}'],
    [
      'zero width',
      'a\u200bb\u200c\u200d\u2060\ufeff',
      'a\\u{200B}b\\u{200C}\\u{200D}\\u{2060}\\u{FEFF}',
    ],
    ['a soft hyphen', 'a\u00adb', 'a\\u{AD}b'],
    ['fillers', '\u115f\u3164\uffa0', '\\u{115F}\\u{3164}\\u{FFA0}'],
    ['a tag character', 'a\u{E0041}', 'a\\u{E0041}'],
    [
      'a variation selector at a letter and at a digit',
      'x\ufe0f1\ufe0e\u{E0100}',
      'x\\u{FE0F}1\\u{FE0E}\\u{E0100}',
    ],
    ['line and paragraph separators', '\u2028\u2029', '\\u{2028}\\u{2029}'],
    ['annotation marks', '\ufff9', '\\u{FFF9}'],
    ['control characters', '\x1b[2J\x07\x9b', '\\x1b[2J\\x07\\x9b'],
    ['tabs and line ends stay', 'a\tb\nc', 'a\tb\nc'],
    [
      'emoji stay',
      `\u26a0\ufe0f ${FAMILY} 1\ufe0f\u20e3 ${ENGLAND}`,
      `\u26a0\ufe0f ${FAMILY} 1\ufe0f\u20e3 ${ENGLAND}`,
    ],
    [
      'tags after a flag that are none',
      '\u{1F3F4}\u{E0061}\u{E007F}',
      '\u{1F3F4}\\u{E0061}\\u{E007F}',
    ],
    ['a joiner after an emoji that joins nothing', '\u26a0\u200dx', '\u26a0\\u{200D}x'],
    ['a second selector', '\u26a0\ufe0f\ufe0f', '\u26a0\ufe0f\\u{FE0F}'],
    [
      'other scripts stay',
      '\u05e9\u05dc\u05d5\u05dd \u65e5\u672c\u8a9e e\u0301',
      '\u05e9\u05dc\u05d5\u05dd \u65e5\u672c\u8a9e e\u0301',
    ],
  ])('%s', (_, text, shown) => {
    expect(visible(text)).toBe(shown);
  });

  const HIDES =
    /[\p{Bidi_Control}\p{Default_Ignorable_Code_Point}\p{Cf}\p{Zl}\p{Zp}]|[\p{Cc}](?<![\t\n])/gu;
  const withoutEmoji = (text: string): string =>
    text
      .replace(new RegExp('\\p{RGI_Emoji_Tag_Sequence}|\\p{Emoji_Keycap_Sequence}', 'gv'), '\u26a0')
      .replace(/(?<=\p{Extended_Pictographic})[\ufe0e\ufe0f]/gu, '')
      .replace(
        /(?<=\p{Extended_Pictographic}\p{Emoji_Modifier}?)\u200d(?=\p{Extended_Pictographic})/gu,
        '',
      );
  const hostile = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.constantFrom(
      '\u202e',
      '\u2066',
      '\u200b',
      '\u200d',
      '\ufe0f',
      '\u{E0041}',
      '\u{E007F}',
      '\u00ad',
      '\u2028',
      '\x1b',
      '\u{E0100}',
    ),
    fc.constantFrom(
      '\u26a0',
      FAMILY,
      ENGLAND,
      '1\ufe0f\u20e3',
      'a',
      '\u05d0',
      '\u{1F3F4}',
      '\u{1F3FD}',
    ),
  );
  test('nothing that is shown hides or turns what is read, emoji aside; what was there is in it, in order', () => {
    fc.assert(
      fc.property(fc.array(hostile), (parts) => {
        const text = parts.join('');
        expect(withoutEmoji(visible(text)).match(HIDES)).toBeNull();
        const back = visiblePieces(text).map(({ text: piece, escaped }) =>
          escaped
            ? String.fromCodePoint(Number.parseInt(piece.replace(/[^0-9A-Fa-f]/g, ''), 16))
            : piece,
        );
        expect(back.join('')).toBe(text);
        expect(visible(visible(text))).toBe(visible(text));
      }),
      { seed, numRuns: 2_000 },
    );
  });

  test('a guard is told what hides', () => {
    expect(unseenIn(`a\u202e\t\x1b ${FAMILY}\u200b`)).toEqual(['\u202e', '\u200b']);
  });
});
