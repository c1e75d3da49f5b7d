/** For random files and changes: the combined diff, applied by the real `git apply`, makes the true result. EMEND_CASES says how many groups. */
import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { combinedDiff, type DiffFile } from '../../src/edits/index.js';
import { seed } from '../support/seeded.js';

const GROUPS = Number(process.env.EMEND_CASES ?? 8);
/** Files of one diff: starting git costs more than what it does. */
const FILES_PER_GROUP = 60;

let root: string;
beforeAll(() => {
  root = mkdtempSync(join(tmpdir(), 'emend git apply '));
});
afterAll(() => {
  rmSync(root, { recursive: true, force: true });
});

const piece = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.constantFrom('a', 'b', 'the same line', '', ' ', '\t', '}', '// end'),
  },
  {
    weight: 3,
    arbitrary: fc.string({ maxLength: 12 }).map((text) => text.replace(/[\n\0]/g, '.')),
  },
  {
    weight: 2,
    arbitrary: fc.constantFrom(
      '--- a/x',
      '+++ b/x',
      '@@ -1 +1 @@',
      '\\ No newline at end of file',
      'diff --git a/x b/x',
      '-- ',
      'GIT binary patch',
      '# x',
    ),
  },
  {
    weight: 2,
    arbitrary: fc.constantFrom(
      '\u00e9\u4e2d\ud83d\ude00',
      '\ufeff',
      '\u2028x\u0085',
      'x\ry',
      '\x0c\x1b[0m',
      '\x07',
    ),
  },
);
const end = fc.constantFrom('\n', '\n', '\n', '\r\n', '\r');
const lines = fc.array(fc.tuple(piece, end), { maxLength: 25 });
const textOf = (all: readonly (readonly [string, string])[], last: boolean): string => {
  const text = all.map(([line, ending]) => line + ending).join('');
  return last ? text : text.replace(/(\r\n|\n|\r)$/, '');
};
/** A text, and one made of it by taking out, putting in and exchanging lines. */
const change = fc
  .tuple(
    lines,
    fc.array(fc.tuple(fc.nat(30), fc.nat(3), lines), { maxLength: 4 }),
    fc.boolean(),
    fc.boolean(),
  )
  .map(([base, edits, baseEnds, resultEnds]) => {
    const result = [...base];
    for (const [at, out, put] of edits)
      result.splice(Math.min(at, result.length), out, ...put.slice(0, 4));
    return [textOf(base, baseEnds), textOf(result, resultEnds)] as const;
  });
const name = fc
  .array(
    fc.oneof(
      { weight: 4, arbitrary: fc.constantFrom('a', 'b', 'file', '.txt', '-', '_') },
      {
        weight: 2,
        arbitrary: fc.constantFrom(
          ' ',
          '"',
          "'",
          '\\',
          '\t',
          '{',
          '}',
          '=>',
          '#',
          '*',
          '[',
          '%',
          '~',
          '\x01',
        ),
      },
      { weight: 1, arbitrary: fc.constantFrom('\u00fc', '\u65e5\u672c', '\ud83d\ude00', '\u00a0') },
    ),
    { minLength: 1, maxLength: 5 },
  )
  .map((parts) => parts.join(''));
const mode = fc.constantFrom(0o644, 0o644, 0o755);
const NOT_UTF8 = [0xe9, 0xff, 0xc3];

const kinds = fc.constantFrom(
  'edit',
  'edit',
  'edit',
  'create',
  'delete',
  'rename',
  'mode',
  'latin1',
  'binary',
);
const fileArbitrary = fc.tuple(kinds, name, name, change, mode, mode, fc.nat(2));

interface Case {
  readonly file: DiffFile;
  /** What `git apply` leaves under the path of the result; null: nothing. */
  readonly expected: Uint8Array | null;
  readonly executable: boolean;
  /** Is there nothing under the path before any more? */
  readonly moved: boolean;
}

const caseOf = (
  folder: string,
  [
    kind,
    oldName,
    newName,
    [before, after],
    baseMode,
    resultMode,
    odd,
  ]: typeof fileArbitrary extends fc.Arbitrary<infer T> ? T : never,
): Case => {
  const [base, result] = [new TextEncoder().encode(before), new TextEncoder().encode(after)];
  const path = `${folder}/${oldName}`;
  const at = { path, baseMode, resultMode: baseMode };
  const as = (
    file: DiffFile,
    expected: Uint8Array | null,
    bits = file.resultMode ?? 0o644,
    moved = false,
  ): Case => ({
    file,
    expected,
    moved,
    executable: (bits & 0o111) !== 0,
  });
  switch (kind) {
    case 'create':
      return as({ path, base: null, result, resultMode }, result);
    case 'delete':
      return as({ path, base, result: null, baseMode }, null);
    case 'rename':
      return as(
        { path: `${folder}/to/${newName}`, moveFrom: path, base, result, baseMode, resultMode },
        result,
        resultMode,
        true,
      );
    case 'mode':
      return as({ path, base, result: base, baseMode, resultMode }, base);
    case 'latin1':
    case 'binary': {
      // What a text cannot say: the file stays as it was, whatever was to be done with it.
      const byte = kind === 'binary' ? [0] : [NOT_UTF8[odd] ?? 0xff];
      const [odder, other] = [
        new Uint8Array([...base, ...byte]),
        new Uint8Array([...result, ...byte, 0x78]),
      ];
      if (odd === 0) return as({ path, base: null, result: odder, resultMode }, null);
      if (odd === 1) return as({ path, base: odder, result: null, baseMode }, odder, baseMode);
      return as({ ...at, base: odder, result: other }, odder, baseMode);
    }
    default:
      return as({ path, base, result, baseMode, resultMode }, result, resultMode);
  }
};

test(`${GROUPS * FILES_PER_GROUP} random changes, seed ${seed}`, () => {
  fc.assert(
    fc.property(
      fc.array(fileArbitrary, { minLength: FILES_PER_GROUP, maxLength: FILES_PER_GROUP }),
      (drawn) => {
        const dir = mkdtempSync(join(root, 'g'));
        const cases = drawn.map((one, i) => caseOf(String(i), one));
        for (const { file } of cases) {
          const at = join(dir, file.moveFrom ?? file.path);
          mkdirSync(dirname(at), { recursive: true });
          if (file.base !== null) writeFileSync(at, file.base);
          if (file.base !== null) chmodSync(at, file.baseMode ?? 0o644);
        }
        const diff = combinedDiff(cases.map(({ file }) => file));
        execFileSync('git', ['apply', '--whitespace=nowarn', '--allow-empty', '-'], {
          cwd: dir,
          input: diff,
          env: {
            PATH: process.env.PATH,
            HOME: root,
            GIT_CONFIG_NOSYSTEM: '1',
            GIT_CEILING_DIRECTORIES: root,
          },
          stdio: ['pipe', 'pipe', 'pipe'],
        });
        for (const { file, expected, executable, moved } of cases) {
          const at = join(dir, file.path);
          expect({ file, there: existsSync(at) }).toEqual({ file, there: expected !== null });
          if (moved) expect(existsSync(join(dir, file.moveFrom ?? ''))).toBe(false);
          if (expected === null) continue;
          expect({ file, bytes: readFileSync(at) }).toEqual({ file, bytes: Buffer.from(expected) });
          expect({ file, executable: (statSync(at).mode & 0o100) !== 0 }).toEqual({
            file,
            executable,
          });
        }
        rmSync(dir, { recursive: true });
      },
    ),
    { seed, numRuns: GROUPS, endOnFailure: process.env.EMEND_SHRINK !== '1' },
  );
});
