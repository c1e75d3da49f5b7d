/** For random files that hold carriage returns: `git diff`, applied by this engine and by the real `git apply`, gives the same bytes. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { applyAnswer } from '../../src/edits/index.js';
import { seed } from '../support/seeded.js';

const GROUPS = Number(process.env.EMEND_CASES ?? 8);
/** Files of one diff: starting git costs more than what it does. */
const FILES_PER_GROUP = 60;

let root: string;
beforeAll(() => {
  root = mkdtempSync(join(tmpdir(), 'emend git endings '));
});
afterAll(() => {
  rmSync(root, { recursive: true, force: true });
});

const git = (dir: string, args: readonly string[], input = ''): string =>
  execFileSync(
    'git',
    ['-c', 'core.autocrlf=false', '-c', 'user.name=t', '-c', 'user.email=t@localhost', ...args],
    {
      cwd: dir,
      input,
      encoding: 'utf8',
      env: {
        PATH: process.env.PATH,
        HOME: root,
        GIT_CONFIG_NOSYSTEM: '1',
        GIT_CEILING_DIRECTORIES: root,
      },
      stdio: ['pipe', 'pipe', 'pipe'],
      maxBuffer: 2 ** 26,
    },
  );

const piece = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.constantFrom('a', 'b', 'c', 'the same line', '', ' ', '}', '\r', 'x\ry', 'x\r'),
  },
  { weight: 2, arbitrary: fc.nat(40).map((n) => `line ${n}`) },
  {
    weight: 1,
    arbitrary: fc.constantFrom(
      '-- a/x',
      '++ b/x',
      '@@ -1 +1 @@',
      '\\ No newline at end of file',
      '\u00e9\ufeff',
      '\ufeff',
      '\u2028',
    ),
  },
);
const end = fc.constantFrom('\n', '\n', '\r\n', '\r\n', '\r');
const lines = fc.array(fc.tuple(piece, end), { maxLength: 30 });
const textOf = (all: readonly (readonly [string, string])[], last: boolean): string => {
  const text = all.map(([line, ending]) => line + ending).join('');
  return last ? text : text.replace(/(\r\n|\n|\r)$/, '');
};
/** A text, and one made of it by taking out, putting in and exchanging lines, and by other ends of some of them. */
const change = fc
  .record({
    base: lines,
    edits: fc.array(fc.tuple(fc.nat(30), fc.nat(3), lines), { maxLength: 3 }),
    ends: fc.array(fc.tuple(fc.nat(30), end), { maxLength: 3 }),
    finals: fc.tuple(fc.boolean(), fc.boolean()),
    // The same on both sides: a mark that a diff without carriage returns takes away stays (docs/formats.md).
    bom: fc.constantFrom('', '', '\ufeff'),
  })
  .map(({ base, edits, ends, finals, bom }) => {
    const result = [...base];
    for (const [at, out, put] of edits)
      result.splice(Math.min(at, result.length), out, ...put.slice(0, 4));
    for (const [at, other] of ends) {
      const line = result[at];
      if (line !== undefined) result[at] = [line[0], other];
    }
    return [bom + textOf(base, finals[0]), bom + textOf(result, finals[1])] as const;
  })
  .filter(([before, after]) => before.includes('\r') && after.includes('\r') && before !== after);

test(`${GROUPS * FILES_PER_GROUP} diffs of files with carriage returns, seed ${seed}`, () => {
  fc.assert(
    fc.property(
      fc.array(change, { minLength: FILES_PER_GROUP, maxLength: FILES_PER_GROUP }),
      (drawn) => {
        const dir = mkdtempSync(join(root, 'g'));
        git(dir, ['init', '-q']);
        const write = (side: 0 | 1): void => {
          for (const [i, texts] of drawn.entries()) writeFileSync(join(dir, `f${i}`), texts[side]);
        };
        write(0);
        git(dir, ['add', '-A']);
        git(dir, ['commit', '-qm', 'a']);
        write(1);
        const diff = git(dir, ['diff']);
        write(0);
        git(dir, ['apply', '--whitespace=nowarn', '-'], diff);
        const expected = drawn.map((_, i) => readFileSync(join(dir, `f${i}`), 'utf8'));
        expect(expected).toEqual(drawn.map(([, after]) => after));
        for (const part of diff.split(/^(?=diff --git )/m)) {
          const i = Number(/^diff --git a\/f(\d+) /.exec(part)?.[1]);
          const [before] = drawn[i] ?? [''];
          const outcome = applyAnswer({
            format: 'unified-diff',
            answer: part,
            files: new Map([[`f${i}`, { bytes: Buffer.from(before) }]]),
            options: { requireMarker: false },
          });
          const result =
            outcome.outcome === 'edited'
              ? Buffer.from((outcome.files.get(`f${i}`) as { bytes: Uint8Array }).bytes)
              : null;
          expect({ part, before, result: result?.toString('utf8') ?? outcome }).toEqual({
            part,
            before,
            result: expected[i],
          });
        }
        rmSync(dir, { recursive: true });
      },
    ),
    { seed, numRuns: GROUPS, endOnFailure: process.env.EMEND_SHRINK !== '1' },
  );
});
