/**
 * Answers that were damaged on their way, or made for another base: the true result or a refusal, never anything else.
 * `npm run exam:properties -- --cases N --seed S` raises the number of cases and repeats a seed.
 */
import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { createHash } from 'node:crypto';
import { applyAnswer } from '../../src/edits/apply-answer.js';
import type { AnswerOutcome } from '../../src/edits/types.js';
import { lineCheck } from '../../src/edits/listing.js';
import {
  type AnswerFormat,
  type ToleranceSettings,
  DIALECTS,
  FORMATS,
} from '../../src/shared/formats.js';
import { fuzz } from '../support/fuzz.js';
import { type LineEdit, SAY, apply } from './formats.js';

/** Cases of all properties together in `npm test`. */
const USUAL = 2_000;
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
    // In half of the files nothing tells equal lines apart, and there are few kinds of them.
    kinds: fc.constantFrom(1, 2, 7, 7),
    tags: fc.array(fc.boolean(), { minLength: 14, maxLength: 14 }),
    fresh: fc.array(fc.constantFrom('new a', '  new b', '}', 'x = 1;'), {
      minLength: 1,
      maxLength: 3,
    }),
    cuts: fc.array(fc.nat({ max: 14 }), { minLength: 2, maxLength: 4 }),
    crlf: fc.boolean(),
    n: fc.nat({ max: 1_000 }),
  })
  .map(({ lines: drawn, kinds, tags, fresh, cuts, crlf, n }) => {
    const lines = drawn.map((line, i) =>
      kinds === 7 ? line : (drawn[(line.length + i) % kinds] ?? line),
    );
    const base = lines.map((line, i) =>
      kinds === 7 && tags[i] === true ? `${line} // ${i}` : line,
    );
    const places = [...new Set(cuts.map((c) => c % (base.length + 1)))].sort((a, b) => a - b);
    const edits: LineEdit[] = [];
    for (let i = 0; i + 1 < places.length; i += 2) {
      const from = Math.max(places[i] ?? 0, (edits.at(-1)?.to ?? -2) + 2);
      const to = places[i + 1] ?? 0;
      if (from <= to) edits.push({ from, to, lines: fresh });
    }
    return { lines: base, edits, crlf, n };
  })
  .filter(
    ({ lines, edits }) => edits.length > 0 && apply(lines, edits).join('\n') !== lines.join('\n'),
  );

const encode = (lines: readonly string[], crlf: boolean): Buffer =>
  Buffer.from(lines.map((line) => line + (crlf ? '\r\n' : '\n')).join(''));

const run = (
  format: AnswerFormat,
  answer: string,
  file: Buffer,
  madeFor?: Buffer,
  tolerances: ToleranceSettings = {},
): AnswerOutcome =>
  applyAnswer({
    format,
    answer,
    files: new Map([['f.txt', { bytes: file }]]),
    options: {
      requireMarker: true,
      tolerances,
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
  expect(
    result === 'absent' || result === undefined ? null : Buffer.from(result.bytes).toString(),
  ).toBe(truth.toString());
};

/** Gives the number of cases. */
const check = (name: string, property: (s: Sample) => void): number => {
  const settings = fuzz(name, USUAL, 1 / (ALL.length * PROPERTIES));
  fc.assert(
    fc.property(sample, (s) => property(s)),
    settings,
  );
  return settings.numRuns;
};

const say = (format: AnswerFormat, s: Sample): string => SAY[format]('f.txt', s.lines, s.edits);
const truthOf = (s: Sample): Buffer => encode(apply(s.lines, s.edits), s.crlf);

/** Without the tolerances that take a place for which the base's text does not speak. */
const STRICT: ToleranceSettings = { unchecked_lines: false, earlier_block: false };

interface Stale {
  readonly now: readonly string[];
  /** Results that hold both changes; none where they touch the same lines. */
  readonly truths: readonly (readonly string[])[];
  /** 0-based base line that is another now; null: lines came in. */
  readonly replaced: number | null;
}

const changedSince = (s: Sample): Stale => {
  const replaced = s.n % 3 === 0 ? s.n % s.lines.length : null;
  const foreign = Array.from({ length: 1 + (s.n % 2) }, (_, i) => `SOMEBODY ELSE ${i}`);
  if (replaced !== null) {
    const now = s.lines.map((line, i) => (i === replaced ? 'SOMEBODY ELSE' : line));
    const inside = s.edits.some((e) => e.from <= replaced && replaced < e.to);
    return { now, truths: inside ? [] : [apply(now, s.edits)], replaced };
  }
  const at = s.n % (s.lines.length + 1);
  const now = [...s.lines.slice(0, at), ...foreign, ...s.lines.slice(at)];
  if (s.edits.some((e) => at > e.from && at < e.to)) return { now, truths: [], replaced };
  // An insert right where the other lines came may go before or after them.
  const truths = [true, false].map((after) =>
    apply(
      now,
      s.edits.map((e) => {
        const comes =
          at < e.from || (at === e.from && (after || e.to > e.from)) ? foreign.length : 0;
        return { ...e, from: e.from + comes, to: e.to + comes };
      }),
    ),
  );
  return { now, truths, replaced };
};

const oneOf = (
  outcome: AnswerOutcome,
  truths: readonly (readonly string[])[],
  crlf: boolean,
): void => {
  if (outcome.outcome !== 'edited') return;
  const result = outcome.files.get('f.txt');
  const found =
    result === 'absent' || result === undefined ? null : Buffer.from(result.bytes).toString();
  expect(truths.map((lines) => encode(lines, crlf).toString())).toContain(found);
};

/** Does the answer's text tell its places in the base that it was made for, and all of the lines that go away? */
const tellsPlaces = (format: AnswerFormat, s: Sample, { replaced }: Stale): boolean => {
  // A string that ends in an empty line says no more than the line end before it.
  if ((format === 'string-replace' || format === 'xml-call') && s.lines.includes('')) return false;
  if (format === 'structured-edit') {
    // The checks at both ends reach two lines into a range; what lies deeper is not quoted.
    if (
      s.edits.some(({ from, to }) => replaced !== null && from + 1 < replaced && replaced < to - 2)
    )
      return false;
    if (checksCollide(s.lines)) return false;
  }
  return (
    run(format, say(format, s), encode(s.lines, s.crlf), undefined, STRICT).outcome === 'edited'
  );
};

/** Two texts with the same check of 17,576: such a file is left out. */
const checksCollide = (lines: readonly string[]): boolean => {
  const texts = new Map<string, string>();
  for (const [i, line] of lines.entries()) {
    const text = JSON.stringify([lines[i - 1], line, lines[i + 1]]);
    const code = lineCheck(lines[i - 1], line, lines[i + 1]);
    if ((texts.get(code) ?? text) !== text) return true;
    texts.set(code, text);
  }
  return false;
};

/** The same answer with other line numbers; checks stay. */
const shifted = (answer: string, by: number): string =>
  answer
    .replace(
      /^@@ -(\d+),(\d+) \+(\d+),(\d+) @@/gm,
      (_, a: string, b: string, c: string, d: string) =>
        `@@ -${Math.max(0, Number(a) + by)},${b} +${Math.max(0, Number(c) + by)},${d} @@`,
    )
    .replace(
      /"(\d+)([a-z]{3})"/g,
      (_, line: string, code: string) => `"${Math.max(1, Number(line) + by)}${code}"`,
    );

/** Blanks added at the ends of quoted lines: context and removed lines, FIND and SEARCH. */
const damaged = (format: AnswerFormat, answer: string): string => {
  if (format === 'unified-diff' || format === 'begin-patch')
    return answer.replace(/^([ ]|-(?!-- )).*$/gm, '$&  ');
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
      trueOrRefused(run(format, answer, file, undefined, STRICT), truthOf(s), file);
    });
  });

  // New lines are as the answer says them, so only what it quotes is damaged.
  test('white space at the ends of quoted lines', () => {
    check(`${format}, white space`, (s) => {
      const file = encode(s.lines, s.crlf);
      trueOrRefused(run(format, damaged(format, say(format, s)), file), truthOf(s), file);
    });
  });

  /**
   * Somebody else's lines come in, or take the place of others. They hold text that no answer quotes, so they can destroy a place but
   * make none: what told its place in the base may stand in no other now (decision 0008).
   */
  test('the base changed since', () => {
    let told = 0;
    let used = 0;
    const count = check(`${format}, stale base`, (s) => {
      const stale = changedSince(s);
      const answer = say(format, s);
      const [file, madeFor] = [encode(stale.now, s.crlf), encode(s.lines, s.crlf)];
      // What only a number tells apart in the base must come with the base's hash; so must a whole file.
      if (format === 'whole-file' || !tellsPlaces(format, s, stale)) {
        expect(run(format, answer, file, madeFor).outcome).toBe('refused');
        return;
      }
      told += 1;
      const outcome = run(format, answer, file, undefined, STRICT);
      if (outcome.outcome === 'edited') used += 1;
      oneOf(outcome, stale.truths, s.crlf);
      // By default a number may decide, or the text that an earlier block made; then it is said.
      const byDefault = run(format, answer, file);
      if (
        byDefault.outcome !== 'edited' ||
        byDefault.tolerances.some(({ tolerance }) => STRICT[tolerance] === false)
      )
        return;
      oneOf(byDefault, stale.truths, s.crlf);
    });
    // The property must have had something to say.
    if (format !== 'whole-file' && count >= USUAL / (ALL.length * PROPERTIES))
      expect([told > 0, used > 0]).toEqual([true, true]);
  });

  test('everything that is quoted stands twice', () => {
    check(`${format}, doubled`, (s) => {
      const now = [...s.lines, ...s.lines];
      const file = encode(now, s.crlf);
      const truth = encode([...apply(s.lines, s.edits), ...s.lines], s.crlf);
      const madeFor =
        format === 'whole-file' || format === 'structured-edit'
          ? encode(s.lines, s.crlf)
          : undefined;
      const atEnd = s.edits.some((e) => e.to === s.lines.length);
      if (!atEnd) trueOrRefused(run(format, say(format, s), file, madeFor), truth, file);
    });
  });

  test('cut anywhere', () => {
    check(`${format}, cut`, (s) => {
      const answer = say(format, s).trimEnd();
      const cut = answer.slice(0, s.n % answer.length);
      expect(['edited', 'unchanged']).not.toContain(
        run(format, cut, encode(s.lines, s.crlf)).outcome,
      );
    });
  });
});
