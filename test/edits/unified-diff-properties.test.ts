import type { LinesPlan } from '../../src/edits/text/changes.js';
import { describe, expect, test } from '@jest/globals';
import { spliced } from '../../src/edits/text/to-splices.js';
import { createTwoFilesPatch } from 'diff';
import fc from 'fast-check';
import type { Reading } from '../../src/edits/types.js';
import { unifiedDiff } from '../../src/edits/dialects/unified-diff/index.js';
import { read as readResponse } from '../../src/edits/settle.js';
import { fuzz } from '../support/fuzz.js';
import { contextOf, summary, trueEdit, type TrueEdit, linesOf } from './locate-support.js';

const HUNK = /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@$/;

const diffOf = (edit: TrueEdit, context: number): string =>
  createTwoFilesPatch('a/f', 'b/f', edit.before, edit.after, undefined, undefined, {
    context,
  }).replace(/^=+\n/, '');

/** Index in the diff's lines of every hunk header, found by counting: contents may look like headers. */
const headers = (lines: readonly string[]): number[] => {
  const found: number[] = [];
  for (let i = 2; i < lines.length;) {
    const [, , oldCount, , newCount] = HUNK.exec(lines[i] ?? '') ?? [];
    found.push(i++);
    let [o, n] = [Number(oldCount ?? 1), Number(newCount ?? 1)];
    while (o > 0 || n > 0 || lines[i]?.startsWith('\\')) {
      const sign = lines[i++]?.[0];
      if (sign !== '+' && sign !== '\\') o--;
      if (sign !== '-' && sign !== '\\') n--;
    }
    if (lines[i] === '' || lines[i] === undefined) break;
  }
  return found;
};

const linesPlan = (reading: Reading): LinesPlan | null => {
  const plan = reading.kind === 'plans' ? reading.plans[0] : undefined;
  return plan?.kind === 'lines' ? plan : null;
};

const isTrue = (reading: Reading, edit: TrueEdit): boolean => {
  const plan = linesPlan(reading);
  if (plan === null) return false;
  if (plan.exact !== undefined) {
    const resolved = spliced(null, plan);
    return resolved.ok && Buffer.from(resolved.bytes).toString() === edit.after;
  }
  const lines = linesOf(plan, edit.before);
  return lines.length === edit.result.length && lines.every((text, i) => text === edit.result[i]);
};

const read = (body: string, edit: TrueEdit, whole?: boolean): Reading =>
  readResponse(unifiedDiff, body, contextOf({ f: edit.before }, {}, whole)).reading;
const trueOrNone = (body: string, edit: TrueEdit): void => {
  const reading = read(body, edit);
  if (reading.kind === 'plans' && !isTrue(reading, edit))
    throw new Error(
      `${summary(reading, { f: edit.before })}\nnot\n${edit.result.join('|')}\nfrom\n${body}`,
    );
};

const edits = fc.tuple(trueEdit, fc.integer({ min: 1, max: 4 }));
/** A diff, its lines, and one of its hunk headers. */
const withHeader = edits.chain(([edit, context]) => {
  const lines = diffOf(edit, context).split('\n');
  return fc.constantFrom(...headers(lines)).map((at) => ({ edit, lines, at }));
});
const damage = fc.record({
  kind: fc.constantFrom('blank', 'trim', 'bare', 'old start', 'counts'),
  pick: fc.nat(100),
  by: fc.integer({ min: -3, max: 3 }),
});
const replaced = (lines: readonly string[], at: number, text: string): string =>
  lines.map((l, i) => (i === at ? text : l)).join('\n');

describe('unified-diff, random files and edits', () => {
  test('a true diff gives the true lines and final line end, never a refusal', () => {
    fc.assert(
      fc.property(edits, ([edit, context]) => {
        const reading = read(diffOf(edit, context), edit);
        if (!isTrue(reading, edit))
          throw new Error(`${summary(reading, { f: edit.before })}\nnot\n${edit.result.join('|')}`);
        const [had, has] = [edit.before.endsWith('\n'), edit.after.endsWith('\n')];
        if (linesPlan(reading)?.exact === undefined)
          expect(linesPlan(reading)?.finalNewline ?? had).toBe(has);
      }),
      fuzz('true diffs'),
    );
  });

  test('a shifted old line number gives the true result or none', () => {
    let drifted = 0;
    fc.assert(
      fc.property(withHeader, fc.integer({ min: -6, max: 6 }), ({ edit, lines, at }, by) => {
        const header = (lines[at] ?? '').replace(
          /-(\d+)/,
          (_, n: string) => `-${Math.max(0, Number(n) + by)}`,
        );
        const body = replaced(lines, at, header);
        trueOrNone(body, edit);
        if (read(body, edit).kind === 'plans' && by !== 0) drifted++;
      }),
      fuzz('shifted numbers'),
    );
    expect(drifted).toBeGreaterThan(0);
  });

  test('both line numbers shifted: the true result, none, or what the numbers now truly say', () => {
    fc.assert(
      fc.property(withHeader, fc.integer({ min: -6, max: 6 }), ({ edit, lines, at }, by) => {
        const header = (lines[at] ?? '').replace(
          /([-+])(\d+)/g,
          (_, sign: string, n: string) => `${sign}${Math.max(0, Number(n) + by)}`,
        );
        const start = Number(HUNK.exec(header)?.[1]) - 1;
        const count = Number(HUNK.exec(header)?.[2] ?? 1);
        const old: string[] = [];
        for (let i = at + 1; old.length < count; i++)
          if (!/^[+\\]/.test(lines[i] ?? ''))
            old.push((lines[i] ?? '').slice(1).replace(/\r$/, ''));
        if (old.every((text, i) => edit.base[start + i] === text)) return;
        trueOrNone(replaced(lines, at, header), edit);
      }),
      fuzz('shifted hunks'),
    );
  });

  test('wrong counts give the true result or none', () => {
    let used = 0;
    fc.assert(
      fc.property(
        withHeader,
        fc.integer({ min: -3, max: 3 }),
        fc.integer({ min: -3, max: 3 }),
        fc.boolean(),
        ({ edit, lines, at }, o, n, whole) => {
          const [, from = '', fromN = '1', to = '', toN = '1'] = HUNK.exec(lines[at] ?? '') ?? [];
          const body = replaced(
            lines,
            at,
            `@@ -${from},${Math.max(0, Number(fromN) + o)} +${to},${Math.max(0, Number(toN) + n)} @@`,
          );
          const reading = read(body, edit, whole);
          if (reading.kind !== 'plans') return;
          if (reading.tolerances.some((r) => r.tolerance === 'counts')) used++;
          if (!isTrue(reading, edit))
            throw new Error(
              `${summary(reading, { f: edit.before })}\nnot\n${edit.result.join('|')}\nfrom\n${body}`,
            );
        },
      ),
      fuzz('wrong counts'),
    );
    expect(used).toBeGreaterThan(0);
  });

  test('a context line without its blank gives the true result or none', () => {
    let used = 0;
    fc.assert(
      fc.property(edits, fc.nat(100), ([edit, context], pick) => {
        const lines = diffOf(edit, context).split('\n');
        const contexts = lines
          .map((l, i) => (i > 2 && l.startsWith(' ') ? i : -1))
          .filter((i) => i >= 0);
        if (contexts.length === 0) return;
        const at = contexts[pick % contexts.length] ?? 0;
        const body = replaced(lines, at, (lines[at] ?? '').slice(1));
        const reading = read(body, edit);
        if (reading.kind !== 'plans') return;
        if (reading.tolerances.some((r) => r.tolerance === 'lost_blank')) used++;
        trueOrNone(body, edit);
      }),
      fuzz('lost blanks'),
    );
    expect(used).toBeGreaterThan(0);
  });

  test('two damages of one diff give the true result or none', () => {
    let used = 0;
    fc.assert(
      fc.property(
        withHeader,
        fc.array(damage, { minLength: 2, maxLength: 2 }),
        ({ edit, lines: whole, at }, damages) => {
          const lines = [...whole];
          // A context line that looks like a header or a note, without its blank, is one.
          const contexts = [...lines.keys()].filter(
            (i) => i > 2 && /^ (?!@@|\\)/.test(lines[i] ?? ''),
          );
          const change = (i: number | undefined, to: (line: string) => string): void => {
            if (i !== undefined) lines[i] = to(lines[i] ?? '');
          };
          for (const { kind, pick, by } of damages) {
            const context = contexts[pick % contexts.length];
            if (kind === 'blank') change(context, (line) => line.replace(/^ /, ''));
            if (kind === 'trim') change(context, (line) => line.trimEnd());
            if (kind === 'bare') change(at, () => '@@');
            if (kind === 'old start')
              change(at, (line) => line.replace(/-\d+/, (n) => `-${Math.max(0, by - Number(n))}`));
            if (kind === 'counts')
              change(at, (line) =>
                line.replace(/,(\d+)/g, (_, n: string) => `,${Math.max(0, Number(n) + by)}`),
              );
          }
          const body = lines.join('\n');
          if (read(body, edit).kind === 'plans') used++;
          trueOrNone(body, edit);
        },
      ),
      fuzz('two damages'),
    );
    expect(used).toBeGreaterThan(0);
  });

  test('a cut diff is no edit, has other counts, or was cut in its last line, which only the marker can tell', () => {
    let cuts = 0;
    fc.assert(
      fc.property(edits, fc.double({ min: 0, max: 1, noNaN: true }), ([edit, context], share) => {
        const body = diffOf(edit, context);
        const whole = readResponse(unifiedDiff, body, contextOf({ f: edit.before }));
        const lastLine = body
          .trimEnd()
          .replace(/\n\\ No newline at end of file$/, '')
          .lastIndexOf('\n');
        const cut = body.slice(0, Math.floor(share * lastLine));
        const {
          reading,
          files,
          edits: count,
        } = readResponse(unifiedDiff, cut, contextOf({ f: edit.before }));
        cuts++;
        if (reading.kind !== 'plans') return;
        expect([files, count]).not.toEqual([whole.files, whole.edits]);
      }),
      fuzz('cut diffs'),
    );
    expect(cuts).toBeGreaterThan(0);
  });
});
