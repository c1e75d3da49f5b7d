/**
 * One suite for every format: the same edit said in any of them gives the same bytes, in every kind of file. It runs a second time with two
 * secrets in every file, and answers that hold their placeholders.
 */
import { describe, expect, test } from '@jest/globals';
import { Vault } from '../../src/system/vault.js';
import { DIALECTS as DIALECT_OF } from '../../src/edits/dialects/index.js';
import { findMarker } from '../../src/edits/marker.js';
import { applyAnswer } from '../../src/edits/apply-answer.js';
import type { AnswerOutcome, ApplyOptions, OfferedFile } from '../../src/edits/types.js';
import {
  type AnswerFormat,
  DIALECTS,
  FORMATS,
  TOLERANCES,
  type Tolerance,
} from '../../src/shared/formats.js';
import { type LineEdit, SAY } from './formats.js';

const utf16 = (text: string): Buffer =>
  Buffer.concat([Buffer.from([0xff, 0xfe]), Buffer.from(text, 'utf16le')]);
const utf16be = (text: string): Buffer => utf16(text).swap16();
const bom = (text: string): Buffer => Buffer.from(`\ufeff${text}`);
const latin1 = (text: string): Buffer => Buffer.from(text, 'latin1');

interface Case {
  readonly name: string;
  readonly lines: readonly string[];
  readonly base: Uint8Array;
  readonly edits: readonly LineEdit[];
  readonly expected: Uint8Array;
}
interface Written extends Omit<Case, 'base' | 'expected'> {
  readonly encode: (text: string) => Uint8Array;
  readonly base: string;
  readonly expected: string;
}
/** One that JSON quotes otherwise, and one that it does not. */
const SECRETS = ['7!"\\9/03#81', '59204871365'] as const;
const vault = new Vault(
  'key',
  SECRETS.map((secret) => [secret]),
);
/** In files of four lines with one letter each: behind the first and the last. */
const withSecrets = (text: string): string =>
  text.replaceAll('a', `a${SECRETS[0]}`).replaceAll('d', `d${SECRETS[1]} ${SECRETS[0]}`);
const asIs = (text: string): string => text;

const abc = ['a', 'b', 'c', 'd'];
const change: LineEdit[] = [{ from: 1, to: 2, lines: ['B', 'BB'] }];
const held: LineEdit[] = [{ from: 1, to: 2, lines: ['Ba', 'Bd'] }];
const end: LineEdit[] = [{ from: 4, to: 4, lines: ['e'] }];
const text = (name: string, base: string, edits: LineEdit[], expected: string): Written => ({
  name,
  lines: abc,
  base,
  edits,
  expected,
  encode: (written) => Buffer.from(written),
});

const WRITTEN: readonly Written[] = [
  text('LF', 'a\nb\nc\nd\n', change, 'a\nB\nBB\nc\nd\n'),
  text('CRLF', 'a\r\nb\r\nc\r\nd\r\n', change, 'a\r\nB\r\nBB\r\nc\r\nd\r\n'),
  text('CR only', 'a\rb\rc\rd\r', change, 'a\rB\rBB\rc\rd\r'),
  text('mixed', 'a\nb\r\nc\r\nd\n', change, 'a\nB\nBB\nc\r\nd\n'),
  text(
    'mixed, first line',
    'a\r\nb\nc\r\nd\n',
    [{ from: 0, to: 1, lines: ['A'] }],
    'A\nb\nc\r\nd\n',
  ),
  text('no final newline', 'a\nb\nc\nd', change, 'a\nB\nBB\nc\nd'),
  text('append without final newline', 'a\r\nb\r\nc\r\nd', end, 'a\r\nb\r\nc\r\nd\r\ne'),
  text('append with final newline', 'a\nb\nc\nd\n', end, 'a\nb\nc\nd\ne\n'),
  text('delete the last line', 'a\nb\nc\nd', [{ from: 3, to: 4, lines: [] }], 'a\nb\nc'),
  text('lines that hold what others hold', 'a\nb\nc\nd\n', held, 'a\nBa\nBd\nc\nd\n'),
  text('insert first', 'a\nb\nc\nd\n', [{ from: 0, to: 0, lines: ['0'] }], '0\na\nb\nc\nd\n'),
  text(
    'two edits',
    'a\nb\nc\nd\n',
    [
      { from: 0, to: 1, lines: ['A'] },
      { from: 2, to: 3, lines: [] },
    ],
    'A\nb\nd\n',
  ),
  { ...text('UTF-8 with BOM', 'a\nb\nc\nd\n', change, 'a\nB\nBB\nc\nd\n'), encode: bom },
  { ...text('UTF-16 LE', 'a\r\nb\r\nc\r\nd', change, 'a\r\nB\r\nBB\r\nc\r\nd'), encode: utf16 },
  { ...text('UTF-16 BE', 'a\nb\nc\nd\n', end, 'a\nb\nc\nd\ne\n'), encode: utf16be },
  {
    name: 'neither UTF-8 nor UTF-16',
    lines: ['caf\u00e9', 'b', '\u00ff', 'd'],
    base: 'caf\u00e9\nb\n\u00ff\nd\n',
    edits: change,
    expected: 'caf\u00e9\nB\nBB\n\u00ff\nd\n',
    encode: latin1,
  },
];
const casesOf = (of: (text: string) => string): readonly Case[] =>
  WRITTEN.map(({ name, lines, base, edits, expected, encode }) => ({
    name,
    lines: lines.map(of),
    base: encode(of(base)),
    edits: edits.map((edit) => ({ ...edit, lines: edit.lines.map(of) })),
    expected: encode(of(expected)),
  }));

const IN_JSON: readonly AnswerFormat[] = ['structured-edit', 'string-replace'];
/** As it comes back from a model that saw placeholders. */
const throughVault = (format: AnswerFormat, answer: string): string => {
  const masked = vault.mask(answer);
  for (const secret of SECRETS) expect(masked).not.toContain(secret.slice(-6));
  const { text: restored, unknown } = vault.restore(masked, IN_JSON.includes(format));
  expect(unknown).toEqual([]);
  return restored;
};

const run = (
  format: AnswerFormat,
  c: Case,
  options: Partial<ApplyOptions> = {},
  file: Partial<OfferedFile> = {},
): AnswerOutcome =>
  applyAnswer({
    format,
    answer: throughVault(format, SAY[format]('f.txt', c.lines, c.edits)),
    files: new Map([['f.txt', { bytes: c.base, ...file }]]),
    options: { requireMarker: true, ...options },
  });

const MADE = { 'as it is': asIs, 'with two secrets': withSecrets } as const;

describe.each(
  ([...FORMATS, ...DIALECTS] as const).flatMap((format) =>
    (['as it is', 'with two secrets'] as const).map((made) => ({ format, made })),
  ),
)('$format, $made', ({ format, made }) => {
  const of = MADE[made];
  const CASES = casesOf(of);

  test.each(CASES)('$name', (c) => {
    const outcome = run(format, c, {}, { mode: 0o755 });
    if (outcome.outcome !== 'edited') throw new Error(JSON.stringify(outcome));
    const file = outcome.files.get('f.txt');
    expect(file === 'absent' ? null : [...(file?.bytes ?? [])]).toEqual([...c.expected]);
    expect(file).toMatchObject({ mode: 0o755 });
    expect(outcome.tolerances).toEqual([]);
  });

  test('an answer with placeholders is what is judged', () => {
    const said = SAY[format](
      'f.txt',
      abc.map(of),
      held.map((edit) => ({ ...edit, lines: edit.lines.map(of) })),
    );
    const placeholders = new Set(vault.mask(said).match(/EMEND_SECRET_[0-9a-f]{8}_1/g));
    expect(placeholders.size).toBe(made === 'as it is' ? 0 : SECRETS.length);
  });

  const [plain] = CASES as [Case];

  test('the dialect reads edits in order, with its own rules, and looks at no text', () => {
    const response = SAY[format]('f.txt', abc, [
      { from: 0, to: 1, lines: ['A'] },
      { from: 2, to: 3, lines: ['C'] },
    ]);
    const file = {
      bytes: plain.base,
      get text(): never {
        throw new Error('a dialect looked at the text of a file');
      },
    };
    const { marker, body } = findMarker(format, response, undefined);
    const { edits, count, fault } = DIALECT_OF[format].parse(body, {
      files: new Map([['f.txt', file]]),
      options: { requireMarker: true },
      holdsLine: () => false,
    });
    expect({ marker, fault, isCounted: count > 0 }).toEqual({
      marker: 'right',
      fault: null,
      isCounted: true,
    });
    const indexes = edits.map(({ hint }) => hint.index);
    expect(indexes).toEqual([...indexes].sort((a, b) => a - b));
    for (const { path, hint } of edits) {
      expect(path).toBe('f.txt');
      expect(hint.rules).toBe(DIALECT_OF[format].rules);
    }
  });

  test('a tolerance that the dialect does not have is never offered', () => {
    const { tolerances } = DIALECT_OF[format].rules;
    for (const tolerance of Object.keys(TOLERANCES) as Tolerance[]) {
      const edits: LineEdit[] = [{ from: 1, to: 2, lines: ['B'] }];
      const lines = abc.map((line) => `${line}x`);
      const outcome = run(
        format,
        { ...plain, lines, edits },
        { tolerances: { [tolerance]: true } },
      );
      const used = outcome.outcome === 'edited' ? outcome.tolerances : [];
      for (const { tolerance: name } of used) expect(tolerances).toContain(name);
    }
  });

  test('a path that was not offered is refused; whether the workspace has the file is told', () => {
    const answer = SAY[format]('other.txt', plain.lines, plain.edits);
    const files = new Map([['f.txt', { bytes: plain.base }]]);
    const asked = (beside: readonly string[]) =>
      applyAnswer({ format, answer, files, options: { requireMarker: true, beside } });
    const reason = (code: string) => ({
      outcome: 'refused',
      reasons: [{ code, path: 'other.txt' }],
    });
    expect(asked([])).toMatchObject(reason('unknown_file'));
    expect(asked(['other.txt'])).toMatchObject(reason('file_not_offered'));
  });

  test.each(['../f.txt', '/etc/passwd', '.git/config', 'a/.GIT/config', 'C:/x'])(
    'the path %s is refused',
    (path) => {
      const answer = SAY[format](path, plain.lines, plain.edits);
      const outcome = applyAnswer({
        format,
        answer,
        files: new Map([['f.txt', { bytes: plain.base }]]),
        options: { requireMarker: true, mayCreateUnder: [''] },
      });
      expect(outcome).toMatchObject({ outcome: 'refused' });
      expect('reasons' in outcome && outcome.reasons[0]?.code).toBe('bad_path');
    },
  );

  test('a line that stands for text is refused, unless the file has it', () => {
    const left = '// ... existing code ...';
    const said: Case = { ...plain, edits: [{ from: 1, to: 2, lines: ['B', left] }] };
    const reasons = [{ code: 'elision', path: 'f.txt' }];
    expect(run(format, said)).toMatchObject({ outcome: 'refused', reasons });
    const lines = [...plain.lines, left];
    expect(
      run(format, { ...said, lines, base: Buffer.from(lines.map((line) => `${line}\n`).join('')) }),
    ).toMatchObject({ outcome: 'edited' });
  });

  test('a binary file is refused', () => {
    expect(run(format, { ...plain, base: Buffer.from('a\0b') })).toMatchObject({
      outcome: 'refused',
      reasons: [{ code: 'binary' }],
    });
  });

  test('another base than the answer was made for is refused', () => {
    expect(run(format, plain, { base: new Map([['f.txt', '0'.repeat(64)]]) })).toMatchObject({
      outcome: 'refused',
      reasons: [{ code: 'base', path: 'f.txt' }],
    });
  });

  test('an edit that changes nothing is unchanged', () => {
    const edits: LineEdit[] = [{ from: 1, to: 2, lines: ['b'] }];
    expect(run(format, { ...plain, edits }).outcome).toBe('unchanged');
  });

  test('a character that the file cannot hold is refused by name', () => {
    const c = CASES.at(-1)!;
    const outcome = run(format, { ...c, edits: [{ from: 1, to: 2, lines: ['\u2019'] }] });
    expect(outcome).toMatchObject({ outcome: 'refused', reasons: [{ code: 'character' }] });
    expect('reasons' in outcome && outcome.reasons[0]?.message).toContain('U+2019');
  });

  test('the job\u2019s final_newline is obeyed', () => {
    const outcome = run(format, plain, { finalNewline: false });
    if (outcome.outcome !== 'edited') throw new Error(outcome.outcome);
    const file = outcome.files.get('f.txt');
    expect(file !== 'absent' && Buffer.from(file?.bytes ?? []).toString()).toBe(
      of('a\nB\nBB\nc\nd'),
    );
  });

  test('a refusal by the model is declined, an unknown end truncated', () => {
    expect(run(format, plain, { stopReason: 'refusal' }).outcome).toBe('declined');
    expect(run(format, plain, { stopReason: 'something_new' }).outcome).toBe('truncated');
  });
});
