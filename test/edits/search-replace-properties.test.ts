import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { lineOrigins } from '../../src/edits/text/line-diff.js';
import { searchReplace } from '../../src/edits/dialects/search-replace.js';
import { read as readResponse } from '../../src/edits/settle.js';
import type { Reading } from '../../src/edits/types.js';
import { fuzz } from '../support/fuzz.js';
import { contextOf, summary, trueEdit, type TrueEdit, linesOf } from './locate-support.js';

const NONCE = 'k3f9q2';

interface Change {
  readonly find: readonly string[];
  readonly replace: readonly string[];
  /** 1-based line of the base. */
  readonly at: number;
}

/** The changes that lead from the base to the result, each with up to `context` kept lines around it, none overlapping. */
const changesOf = ({ base, result }: TrueEdit, context: number): Change[] => {
  const origins = lineOrigins(base, result);
  const stretches: { from: number; to: number; start: number; end: number }[] = [];
  let next = 0;
  for (let j = 0; j <= result.length; j++) {
    const origin = j === result.length ? base.length : (origins[j] ?? -1);
    if (origin < 0) continue;
    let start = j;
    while (start > 0 && (origins[start - 1] ?? -1) < 0) start--;
    if (origin > next || start < j) stretches.push({ from: next, to: origin, start, end: j });
    next = origin + 1;
  }
  const joined: typeof stretches = [];
  for (const stretch of stretches) {
    const last = joined.at(-1);
    if (last && stretch.from - last.to <= 2 * context)
      Object.assign(last, { to: stretch.to, end: stretch.end });
    else joined.push({ ...stretch });
  }
  return joined.map(({ from, to, start, end }) => {
    const before = Math.min(context, from, start);
    const after = Math.min(context, base.length - to, result.length - end);
    return {
      find: base.slice(from - before, to + after),
      replace: result.slice(start - before, end + after),
      at: from - before + 1,
    };
  });
};

const answerOf = (changes: readonly Change[], hinted: boolean): string =>
  changes
    .map(({ find, replace, at }) =>
      [
        'FILE: f',
        hinted ? `FIND @${at}:` : 'FIND:',
        ...find,
        'REPLACE:',
        ...replace,
        `END ${NONCE}`,
        '',
      ].join('\n'),
    )
    .join('\n');

const read = (body: string, edit: TrueEdit): Reading =>
  readResponse(searchReplace, body, contextOf({ f: edit.before }, { nonce: NONCE })).reading;
const isTrue = (reading: Reading, edit: TrueEdit): boolean => {
  const plan = reading.kind === 'plans' ? reading.plans[0] : undefined;
  return plan?.kind === 'lines' && linesOf(plan, edit.before).join('\n') === edit.result.join('\n');
};
const trueOrNone = (reading: Reading, edit: TrueEdit, body: string): void => {
  if (reading.kind === 'plans' && !isTrue(reading, edit))
    throw new Error(
      `${summary(reading, { f: edit.before })}\nnot\n${edit.result.join('|')}\nfrom\n${body}`,
    );
};

const cases = fc
  .tuple(trueEdit, fc.integer({ min: 0, max: 3 }))
  .map(([edit, context]) => ({ edit, changes: changesOf(edit, context) }))
  .filter(({ changes }) =>
    changes.every(
      ({ find, replace }) =>
        find.length > 0 &&
        ![...find, ...replace].includes('REPLACE:') &&
        // A lone fence around new text belongs to the response.
        !replace.some((line) => line.startsWith('```')),
    ),
  );

describe('search-replace, random files and edits', () => {
  test('true blocks give the true lines, or a refusal where FIND stands in several places', () => {
    let applied = 0;
    fc.assert(
      fc.property(cases, ({ edit, changes }) => {
        const body = answerOf(changes, false);
        const reading = read(body, edit);
        trueOrNone(reading, edit, body);
        if (reading.kind === 'plans') applied++;
        else expect([...new Set(reading.reasons.map((r) => r.code))]).toEqual(['find_repeated']);
      }),
      fuzz('true blocks'),
    );
    expect(applied).toBeGreaterThan(0);
  });

  test('with line hints true blocks are never refused', () => {
    fc.assert(
      fc.property(cases, ({ edit, changes }) => {
        // A block before may have made, or joined up, another copy; FIND is looked for in the text as it is by then.
        const body = answerOf(changes, true);
        const reading = read(body, edit);
        if (!isTrue(reading, edit))
          throw new Error(
            `${summary(reading, { f: edit.before })}\nnot\n${edit.result.join('|')}\nfrom\n${body}`,
          );
      }),
      fuzz('hinted blocks'),
    );
  });

  test('a hint that is wrong: the true lines, none, or the place that it now truly names', () => {
    fc.assert(
      fc.property(
        cases,
        fc.nat(),
        fc.integer({ min: -40, max: 40 }),
        ({ edit, changes }, pick, by) => {
          const wrong = changes.map((change, i) =>
            i === pick % changes.length ? { ...change, at: Math.max(0, change.at + by) } : change,
          );
          if (
            wrong.some(({ at, find }, i) => at !== changes[i]?.at && edit.base[at - 1] === find[0])
          )
            return;
          const body = answerOf(wrong, true);
          trueOrNone(read(body, edit), edit, body);
        },
      ),
      fuzz('wrong hints'),
    );
  });

  test('white space damaged in FIND and REPLACE gives the true lines, tolerances aside, or none', () => {
    let used = 0;
    fc.assert(
      fc.property(
        cases,
        fc.constantFrom('  ', '\t', '\r'),
        fc.nat(),
        ({ edit, changes }, blank, pick) => {
          const damaged = changes.map((change, i) => {
            if (i !== pick % changes.length) return change;
            return { ...change, find: change.find.map((text) => text + blank) };
          });
          const reading = read(answerOf(damaged, false), edit);
          if (reading.kind === 'plans' && reading.tolerances.length > 0) used++;
          if (
            reading.kind !== 'plans' ||
            reading.notes.some((note) => note.code === 'already_present')
          )
            return;
          trueOrNone(reading, edit, answerOf(damaged, false));
        },
      ),
      fuzz('damaged white space'),
    );
    expect(used).toBeGreaterThan(0);
  });

  test('cut anywhere: no edit, or other counts', () => {
    fc.assert(
      fc.property(cases, fc.double({ min: 0, max: 1, noNaN: true }), ({ edit, changes }, share) => {
        const body = answerOf(changes, true).trimEnd();
        const context = contextOf({ f: edit.before }, { nonce: NONCE });
        const cut = readResponse(
          searchReplace,
          body.slice(0, Math.floor(share * body.length * 0.999)),
          context,
        );
        const full = readResponse(searchReplace, body, context);
        if (cut.reading.kind === 'plans') expect(cut.edits).toBeLessThan(full.edits);
      }),
      fuzz('cut blocks'),
    );
  });
});
