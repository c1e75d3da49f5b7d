/**
 * Answers that were damaged on their way, or made for another base: the true result or a refusal, never anything else.
 * `npm run exam:properties -- --cases N --seed S` raises the number of cases and repeats a seed.
 */
import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { createHash } from 'node:crypto';
import { applyAnswer } from '../../src/edits/outcome.js';
import type { AnswerOutcome } from '../../src/edits/types.js';
import type { AnswerFormat } from '../../src/shared/formats.js';
import { DIALECTS, FORMATS } from '../../src/shared/formats.js';
import type { LineEdit } from './formats.js';
import { SAY, apply } from './formats.js';

const seed = Number(process.env.EMEND_FUZZ_SEED ?? Date.now() % 2 ** 31);
const cases = Number(process.env.EMEND_FUZZ_RUNS ?? 2_000);
const ALL = [...FORMATS, ...DIALECTS];
/** Tests per format below: the cases are spread over all. */
const PROPERTIES = 6;

interface Sample {
  readonly lines: readonly string[];
  readonly edits: readonly LineEdit[];
  readonly crlf: boolean;
  readonly n: number;
}

/** Few different lines, so that places repeat; true edits with a kept line between them. */
const sample: fc.Arbitrary<Sample> = fc
  .record({
    lines: fc.array(fc.constantFrom('{', '}', '', '  x = 1;', '  y = 2;', '\tz();', 'end'), {
      minLength: 3,
      maxLength: 14,
    }),
    tags: fc.array(fc.boolean(), { minLength: 14, maxLength: 14 }),
    fresh: fc.array(fc.constantFrom('new a', '  new b', '}', 'x = 1;'), { minLength: 1, maxLength: 3 }),
    cuts: fc.array(fc.nat({ max: 14 }), { minLength: 2, maxLength: 4 }),
    crlf: fc.boolean(),
    n: fc.nat({ max: 1_000 }),
  })
  .map(({ lines, tags, fresh, cuts, crlf, n }) => {
    const base = lines.map((line, i) => (tags[i] === true ? `${line} // ${i}` : line));
    const places = [...new Set(cuts.map((c) => c % (base.length + 1)))].sort((a, b) => a - b);
    const edits: LineEdit[] = [];
    for (let i = 0; i + 1 < places.length; i += 2) {
      const from = Math.max(places[i] ?? 0, (edits.at(-1)?.to ?? -2) + 2);
      const to = places[i + 1] ?? 0;
      if (from <= to) edits.push({ from, to, lines: fresh });
    }
    return { lines: base, edits, crlf, n };
  })
  .filter(({ lines, edits }) => edits.length > 0 && apply(lines, edits).join('\n') !== lines.join('\n'));

const encode = (lines: readonly string[], crlf: boolean): Buffer =>
  Buffer.from(lines.map((line) => line + (crlf ? '\r\n' : '\n')).join(''));

const run = (format: AnswerFormat, answer: string, file: Buffer, madeFor?: Buffer): AnswerOutcome =>
  applyAnswer({
    format,
    answer,
    files: new Map([['f.txt', { bytes: file }]]),
    options: {
      requireMarker: true,
      ...(madeFor === undefined
        ? {}
        : { base: new Map([['f.txt', createHash('sha256').update(madeFor).digest('hex')]]) }),
    },
  });

/** Edited to the true bytes, or not used. */
const trueOrRefused = (outcome: AnswerOutcome, truth: Buffer, file: Buffer): void => {
  if (outcome.outcome === 'unchanged') expect(file.toString()).toBe(truth.toString());
  if (outcome.outcome !== 'edited') return;
  const result = outcome.files.get('f.txt');
  expect(result === 'absent' || result === undefined ? null : Buffer.from(result.bytes).toString()).toBe(
    truth.toString(),
  );
};

const check = (name: string, property: (s: Sample) => void): void => {
  const runs = Math.ceil(cases / (ALL.length * PROPERTIES));
  process.stdout.write(`${name}: seed ${seed}, ${runs} runs\n`);
  fc.assert(
    fc.property(sample, (s) => property(s)),
    { seed, numRuns: runs },
  );
};

const say = (format: AnswerFormat, s: Sample): string => SAY[format]('f.txt', s.lines, s.edits);
/** Where lines repeat, another change may leave one of several places: only the base's hash tells that it is the wrong one. */
const repeats = (s: Sample): boolean => new Set(s.lines).size < s.lines.length;
const truthOf = (s: Sample): Buffer => encode(apply(s.lines, s.edits), s.crlf);

/** The same answer with other line numbers; checks stay. */
const shifted = (answer: string, by: number): string =>
  answer
    .replace(
      /^@@ -(\d+),(\d+) \+(\d+),(\d+) @@/gm,
      (_, a: string, b: string, c: string, d: string) =>
        `@@ -${Math.max(0, Number(a) + by)},${b} +${Math.max(0, Number(c) + by)},${d} @@`,
    )
    .replace(
      /"(\d+):([0-9a-z]{3})"/g,
      (_, line: string, code: string) => `"${Math.max(1, Number(line) + by)}:${code}"`,
    );

/** Blanks added at the ends of quoted lines: context and removed lines, FIND and SEARCH. */
const damaged = (format: AnswerFormat, answer: string): string => {
  if (format === 'unified-diff' || format === 'begin-patch') return answer.replace(/^([ ]|-(?!-- )).*$/gm, '$&  ');
  if (format !== 'search-replace' && format !== 'search-blocks') return answer;
  let quoting = false;
  return answer
    .split('\n')
    .map((line) => {
      if (/^(REPLACE:|=======)$/.test(line)) quoting = false;
      const quoted = quoting;
      if (/^(FIND:|<<<<<<< SEARCH)$/.test(line)) quoting = true;
      return quoted ? `${line}  ` : line;
    })
    .join('\n');
};

describe.each(ALL)('%s', (format) => {
  test('plain: the true result, or refused because its place is not clear', () => {
    check(`${format}, plain`, (s) => {
      const file = encode(s.lines, s.crlf);
      trueOrRefused(run(format, say(format, s), file), truthOf(s), file);
    });
  });

  test('numbers shifted', () => {
    check(`${format}, shifted numbers`, (s) => {
      const answer = shifted(say(format, s), (s.n % 9) - 4);
      const file = encode(s.lines, s.crlf);
      trueOrRefused(run(format, answer, file), truthOf(s), file);
    });
  });

  // New lines are as the answer says them, so only what it quotes is damaged.
  test('white space at the ends of quoted lines', () => {
    check(`${format}, white space`, (s) => {
      const file = encode(s.lines, s.crlf);
      trueOrRefused(run(format, damaged(format, say(format, s)), file), truthOf(s), file);
    });
  });

  test('a line of the base changed since', () => {
    check(`${format}, stale base`, (s) => {
      const at = s.n % (s.lines.length + 1);
      const now = [...s.lines.slice(0, at), 'SOMEBODY ELSE', ...s.lines.slice(at)];
      const file = encode(now, s.crlf);
      const answer = say(format, s);
      // Where the other change lies within an edit nothing but a refusal is true.
      const inside = s.edits.some((e) => at > e.from && at < e.to);
      const moved = s.edits.map((e) => ({
        ...e,
        from: e.from + (at <= e.from ? 1 : 0),
        to: e.to + (at <= e.from ? 1 : 0),
      }));
      const before = s.edits.map((e) => ({
        ...e,
        from: e.from + (at < e.from ? 1 : 0),
        to: e.to + (at < e.from || (at === e.from && e.to > e.from) ? 1 : 0),
      }));
      // What only a number tells apart in the base must come with the base's hash; so must a whole file.
      const madeFor = encode(s.lines, s.crlf);
      // A string that ends in an empty line says no more than the line end before it.
      const loose = format === 'whole-file' || (format === 'string-replace' && s.lines.includes('')) || repeats(s);
      const clear = !loose && run(format, shifted(answer, 5), madeFor).outcome === 'edited';
      const outcome = run(format, answer, file, clear ? undefined : madeFor);
      if (outcome.outcome !== 'edited') return;
      const result = outcome.files.get('f.txt');
      const found = result === 'absent' || result === undefined ? null : Buffer.from(result.bytes).toString();
      expect(inside).toBe(false);
      // An insert right where the other line came may go before or after it.
      expect([encode(apply(now, moved), s.crlf).toString(), encode(apply(now, before), s.crlf).toString()]).toContain(
        found,
      );
    });
  });

  test('everything that is quoted stands twice', () => {
    check(`${format}, doubled`, (s) => {
      const now = [...s.lines, ...s.lines];
      const file = encode(now, s.crlf);
      const truth = encode([...apply(s.lines, s.edits), ...s.lines], s.crlf);
      const madeFor = format === 'whole-file' || format === 'structured-edit' ? encode(s.lines, s.crlf) : undefined;
      const atEnd = s.edits.some((e) => e.to === s.lines.length);
      if (!atEnd) trueOrRefused(run(format, say(format, s), file, madeFor), truth, file);
    });
  });

  test('cut anywhere', () => {
    check(`${format}, cut`, (s) => {
      const answer = say(format, s).trimEnd();
      const cut = answer.slice(0, s.n % answer.length);
      expect(['edited', 'unchanged']).not.toContain(run(format, cut, encode(s.lines, s.crlf)).outcome);
    });
  });
});
