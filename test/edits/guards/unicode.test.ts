import { describe, expect, test } from '@jest/globals';
import { guardFindings } from '../../../src/edits/guards/index.js';

const found = (base: string | null, result: string, path = 'f'): readonly (string | undefined)[] =>
  guardFindings([
    { path, base: base === null ? null : Buffer.from(base), result: Buffer.from(result) },
  ])
    .filter(({ guard }) => guard === 'unicode')
    .map(({ severity, lines, message }) => `${severity} ${lines?.join('-') ?? 'name'} ${message}`);
const HIDES = ': hidden, or changes the order in which text reads.';

describe('characters that nobody sees', () => {
  test.each<[string, string]>([
    ['\\u{202E}', '\u202e'],
    ['\\u{2066}', '\u2066'],
    ['\\u{61C}', '\u061c'],
    ['\\u{200B}', '\u200b'],
    ['\\u{200D}', '\u200d'],
    ['\\u{2060}', '\u2060'],
    ['\\u{AD}', '\u00ad'],
    ['\\u{34F}', '\u034f'],
    ['\\u{115F}', '\u115f'],
    ['\\u{3164}', '\u3164'],
    ['\\u{180E}', '\u180e'],
    ['\\u{FE0F}', '\ufe0f'],
    ['\\u{E0041}', '\u{E0041}'],
    ['\\u{E0100}', '\u{E0100}'],
    ['\\u{2028}', '\u2028'],
    ['\\u{1D173}', '\u{1D173}'],
  ])('%s asks', (name, character) => {
    expect(found('a\n', `a\nb${character}c\n`)).toEqual([
      `ask 2-2 Line 2 of the new f contains ${name}${HIDES}`,
    ]);
    expect(found(null, `b${character}c\n`)).toEqual([
      `ask 1-1 Line 1 of the new f contains ${name}${HIDES}`,
    ]);
  });

  test.each<[string, string, string, readonly string[]]>([
    ['one that the line had stays', 'x\u202ey\n', 'x\u202ez\n', []],
    [
      'one more than the line had',
      'x\u202ey\n',
      'x\u202e\u202ez\n',
      [`ask 1-1 Line 1 of the new f contains \\u{202E}${HIDES}`],
    ],
    [
      'one that stood elsewhere',
      'a\u202e\nb\nc\n',
      'a\u202e\nb\nc\u202e\n',
      [`ask 3-3 Line 3 of the new f contains \\u{202E}${HIDES}`],
    ],
    ['emoji', 'a\n', '\u26a0\ufe0f \u{1F469}\u200d\u{1F4BB} 1\ufe0f\u20e3\n', []],
    [
      'a selector outside emoji',
      'a\n',
      'let x\ufe0f = 1\n',
      [`ask 1-1 Line 1 of the new f contains \\u{FE0F}${HIDES}`],
    ],
    ['a byte order mark of the file', 'a\n', '\ufeffa\nb\n', []],
    ['one that goes', 'a\u202e\n', 'a\n', []],
    [
      'several, told once',
      'a\n',
      'a\nb\u202e\u202d\nc\u202e\u2066\u2067\u2068\u2069\u200b\n',
      [
        `ask 2-3 Line 2 of the new f contains \\u{202E}, \\u{202D}, \\u{2066}, \\u{2067}, \\u{2068} and 2 more${HIDES}`,
      ],
    ],
  ])('%s', (_, base, result, expected) => {
    expect(found(base, result)).toEqual(expected);
  });

  test('a name that a file gets', () => {
    expect(found(null, 'a\n', 'src/\u202ea.ts')).toEqual([
      `ask name The name of the new src/\u202ea.ts contains \\u{202E}${HIDES}`,
    ]);
    expect(found('a\n', 'b\n', 'src/\u202ea.ts')).toEqual([]);
  });
});

describe('identifiers of mixed scripts', () => {
  const mixed = (word: string): string =>
    `ask 1-1 Line 1 of the new f contains ${JSON.stringify(word)}: letters of different scripts in one word.`;
  test.each([
    'p\u0430ss', // Cyrillic a
    'scop\u0435_id',
    '\u03bfbj', // Greek omicron
    '\u0441\u03bfde', // Cyrillic and Greek
    'a\u0561', // Armenian
    '\u13aabc', // Cherokee
    'x\u0585',
    '\u4e00\u0430', // Han and Cyrillic
    '\ud55c\u3042', // Hangul and Hiragana
    '\u3105\u3042', // Bopomofo and Hiragana
  ])('%s asks', (word) => {
    expect(found('a\n', `let ${word} = 1\n`)).toEqual([mixed(word)]);
    expect(found(`${word}\n`, `let ${word} = 1\n`)).toEqual([]);
  });

  test.each([
    ['Latin alone', 'na\u00efve_\u017caba1 \u00b5s'],
    ['Cyrillic alone', '\u043f\u0440\u0438\u0432\u0435\u0442_1'],
    ['Greek alone', '\u03bb\u03cc\u03b3\u03bf\u03c2'],
    ['Japanese with Latin', 'JavaScript\u306e\u30b3\u30fc\u30c9\u3092\u66f8\u304f'],
    ['Chinese with Latin', '\u4f7f\u7528React\u7ec4\u4ef6'],
    ['Bopomofo with Han and Latin', '\u3105\u4e00a'],
    ['Korean with Latin and Han', 'React\ub97c\u4e00'],
    ['Hebrew', '\u05e9\u05dc\u05d5\u05dd'],
    ['Devanagari', '\u0939\u093f\u0928\u094d\u0926\u0940'],
    ['Cherokee alone', '\u13e3\u13b3\u13a9'],
    ['words beside each other', 'json-\u0444\u0430\u0439\u043b a \u0430'],
    ['an accent of its own', 'e\u0301te'],
  ])('%s is as it should be', (_, text) => {
    expect(found('a\n', `// ${text}\n`)).toEqual([]);
  });

  test('five are told, and a name counts, too', () => {
    const words = ['\u0430', '\u0435', '\u043e', '\u0440', '\u0441', '\u0445'].map(
      (letter) => `a${letter}`,
    );
    expect(found('a\n', `${words.join(' ')}\n`)).toEqual([
      `ask 1-1 Line 1 of the new f contains ${words
        .slice(0, 5)
        .map((word) => JSON.stringify(word))
        .join(', ')} and 1 more: letters of different scripts in one word.`,
    ]);
    expect(found(null, 'a\n', 'p\u0430ss.ts')).toEqual([
      'ask name The name of the new p\u0430ss.ts contains "p\u0430ss": letters of different scripts in one word.',
    ]);
  });
});
