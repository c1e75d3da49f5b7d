/**
 * Random files with odd endings, random true edits: each format gives the true bytes, a cut answer is never used, and what no edit
 * names stays as it was. `EMEND_FUZZ_RUNS` raises the number of runs, `EMEND_FUZZ_SEED` repeats one.
 */
import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { applyAnswer } from '../../src/edits/apply-answer.js';
import type { AnswerOutcome } from '../../src/edits/types.js';
import type { Format } from '../../src/shared/formats.js';
import { fuzz } from '../support/fuzz.js';
import { drawn } from '../support/seeded.js';
import { type LineEdit, SAY, apply } from './formats.js';

/** Cases of a property; `npm test` draws a quarter of them. */
const USUAL = drawn(500, 2_000);

type Encoding = 'utf8' | 'bom' | 'utf16le' | 'latin1';
interface Sample {
  readonly encoding: Encoding;
  readonly eol: 'lf' | 'crlf' | 'cr';
  readonly final: boolean;
  readonly lines: readonly string[];
  readonly edits: readonly LineEdit[];
}

// Unique lines, so that every format can say where; marker lines and prose-like lines among them.
const tail = fc.constantFrom(
  '',
  ' = 1;',
  '\t{',
  '}',
  ' é',
  ' 👋 "x"',
  '  ',
  ' FILE x',
  ' --- a/b',
  ' ```',
);
const word = (prefix: string) =>
  fc
    .array(tail, { minLength: 1, maxLength: 12 })
    .map((tails) => tails.map((t, i) => `${prefix}${i}${t}`));
const plain = (line: string): string => line.replace(/[^\x20-\x7e\t]/gu, '');

const sample: fc.Arbitrary<Sample> = fc
  .record({
    encoding: fc.constantFrom<Encoding>('utf8', 'bom', 'utf16le', 'latin1'),
    eol: fc.constantFrom<Sample['eol']>('lf', 'crlf', 'cr'),
    final: fc.boolean(),
    lines: word('line '),
    fresh: word('new '),
    cuts: fc.array(fc.nat({ max: 24 }), { minLength: 2, maxLength: 6 }),
    sizes: fc.array(fc.nat({ max: 3 }), { minLength: 3, maxLength: 3 }),
  })
  .map(({ encoding, eol, final, lines, fresh, cuts, sizes }) => {
    const base = encoding === 'latin1' ? lines.map((line) => `${plain(line)} ÿ`) : lines;
    const added = encoding === 'latin1' ? fresh.map(plain) : fresh;
    const places = [...new Set(cuts.map((c) => c % (base.length + 1)))].sort((a, b) => a - b);
    const edits: LineEdit[] = [];
    let at = 0;
    for (let i = 0; i + 1 < places.length; i += 2) {
      const from = Math.max(places[i] ?? 0, (edits.at(-1)?.to ?? -2) + 2);
      const to = places[i + 1] ?? 0;
      const size = sizes[i / 2] ?? 0;
      const news = added.slice(at, at + size);
      at += size;
      if (from <= to && (from < to || news.length > 0)) edits.push({ from, to, lines: news });
    }
    return { encoding, eol, final, lines: base, edits };
  })
  .filter(({ edits, lines }) => edits.length > 0 && apply(lines, edits).length > 0);

const END = { lf: '\n', crlf: '\r\n', cr: '\r' } as const;

const encode = (lines: readonly string[], s: Sample): Buffer => {
  const text = lines.join(END[s.eol]) + (s.final && lines.length > 0 ? END[s.eol] : '');
  if (s.encoding === 'utf16le')
    return Buffer.concat([Buffer.from([0xff, 0xfe]), Buffer.from(text, 'utf16le')]);
  if (s.encoding === 'bom') return Buffer.from(`\ufeff${text}`);
  return Buffer.from(text, s.encoding);
};

/** A file of one line without end has no kind of line end that a new line could take. */
const tellsItsEol = (s: Sample): boolean => s.eol === 'lf' || s.final || s.lines.length > 1;

const run = (format: Format, s: Sample, answer: string): AnswerOutcome =>
  applyAnswer({
    format,
    answer,
    files: new Map([['f.txt', { bytes: encode(s.lines, s) }]]),
    options: { requireMarker: true, nonce: NONCE },
  });
const NONCE = 'c0ffee5eedc0ffee5eed';

/** The answer of `SAY` with nonces, as a step asks for them. */
const say = (format: Format, s: Sample): string =>
  SAY[format]('f.txt', s.lines, s.edits, { nonce: NONCE });

test.each<Format>(['whole-file', 'structured-edit', 'unified-diff', 'search-replace'])(
  '%s: true edits give the true bytes',
  (format) => {
    const property = fc.property(sample.filter(tellsItsEol), (s) => {
      const outcome = run(format, s, say(format, s));
      if (outcome.outcome !== 'edited') throw new Error(JSON.stringify(outcome));
      const file = outcome.files.get('f.txt');
      const found =
        file === 'absent' || file === undefined ? null : Buffer.from(file.bytes).toString('latin1');
      expect(found).toBe(encode(apply(s.lines, s.edits), s).toString('latin1'));
    });
    fc.assert(property, fuzz(`${format}, true edits`, USUAL));
  },
);

test.each<Format>(['whole-file', 'structured-edit', 'unified-diff', 'search-replace'])(
  '%s: a cut answer is never used',
  (format) => {
    const property = fc.property(sample, fc.nat(), (s, where) => {
      const bytes = Buffer.from(say(format, s));
      const cut = where % (bytes.toString().trimEnd().length - 1);
      const outcome = run(format, s, bytes.subarray(0, cut).toString());
      expect(['edited', 'unchanged']).not.toContain(outcome.outcome);
    });
    fc.assert(property, fuzz(`${format}, cut answers`, USUAL));
  },
);

test('mixed line ends: untouched lines keep theirs, whatever the format', () => {
  const mixed = fc.record({
    s: sample,
    ends: fc.array(fc.constantFrom('\n', '\r\n'), { minLength: 12, maxLength: 12 }),
  });
  fc.assert(
    fc.property(mixed, ({ s, ends }) => {
      const text = s.lines.map((line, i) => line + (ends[i] ?? '\n')).join('');
      const results = (['whole-file', 'structured-edit'] as const).map((format) => {
        const outcome = applyAnswer({
          format,
          answer: say(format, s),
          files: new Map([['f.txt', { bytes: Buffer.from(text) }]]),
          options: { requireMarker: true, nonce: NONCE },
        });
        const file = outcome.outcome === 'edited' ? outcome.files.get('f.txt') : undefined;
        if (file === undefined || file === 'absent') throw new Error(JSON.stringify(outcome));
        return Buffer.from(file.bytes).toString();
      });
      expect(results[1]).toBe(results[0]);
      const kept = new Set(s.edits.flatMap((e) => s.lines.slice(e.from, e.to)));
      for (const [i, line] of s.lines.entries())
        if (!kept.has(line)) expect(results[0]).toContain(line + (ends[i] ?? '\n'));
    }),
    fuzz('mixed line ends', USUAL),
  );
});
