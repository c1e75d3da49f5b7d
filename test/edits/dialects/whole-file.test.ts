import { describe, expect, test } from '@jest/globals';
import { applyAnswer } from '../../../src/edits/apply-answer.js';
import { wholeFile } from '../../../src/edits/dialects/whole-file.js';
import type { AnswerOutcome, ApplyOptions } from '../../../src/edits/types.js';
import { contextOf, readOne, summary, whyNot } from '../locate-support.js';

const N = 'n0nce0n0nce0';
const run = (
  answer: string,
  options: Partial<ApplyOptions> = {},
  files: Record<string, string | null> = { 'a.ts': 'one\ntwo\n' },
): AnswerOutcome =>
  applyAnswer({
    format: 'whole-file',
    answer,
    files: new Map(
      Object.entries(files).map(([path, text]) => [
        path,
        { bytes: text === null ? null : Buffer.from(text) },
      ]),
    ),
    options: { requireMarker: true, ...options },
  });
const withNonce = (
  answer: string,
  options: Partial<ApplyOptions> = {},
  files?: Record<string, string | null>,
): AnswerOutcome => run(answer, { nonce: N, ...options }, files);
const text = (outcome: AnswerOutcome, path = 'a.ts'): string => {
  if (outcome.outcome !== 'edited') throw new Error(JSON.stringify(outcome));
  const file = outcome.files.get(path);
  return file === undefined || file === 'absent'
    ? String(file)
    : Buffer.from(file.bytes).toString();
};
const codes = (outcome: AnswerOutcome): string[] =>
  'reasons' in outcome ? outcome.reasons.map((r) => r.code) : [];

describe('with a nonce', () => {
  test('a body may hold any marker line without it', () => {
    const body = 'END FILE\nFILE b.ts\nDELETE a.ts\nEMEND-COMPLETE 1 1\nEND FILE other\n';
    expect(text(withNonce(`FILE a.ts ${N}\n${body}END FILE ${N}\nEMEND-COMPLETE ${N} 1 1`))).toBe(
      body,
    );
  });

  test.each<[string, string, string, string[]]>([
    [
      'a file that is not closed',
      `FILE a.ts ${N}\nx\nEMEND-COMPLETE ${N} 1 1\n`,
      'invalid',
      ['cut_inside_file'],
    ],
    [
      'a file that begins inside another',
      `FILE a.ts ${N}\nx\nFILE a.ts ${N}\ny\nEND FILE ${N}\nEMEND-COMPLETE ${N} 1 1\n`,
      'invalid',
      ['end_missing'],
    ],
    ['no file at all', `EMEND-COMPLETE ${N} 0 0\n`, 'invalid', ['no_edits']],
    [
      'a file twice',
      `FILE a.ts ${N}\nx\nEND FILE ${N}\nFILE ./a.ts ${N}\ny\nEND FILE ${N}\nEMEND-COMPLETE ${N} 2 2\n`,
      'refused',
      ['file_twice'],
    ],
    [
      'other counts',
      `FILE a.ts ${N}\nx\nEND FILE ${N}\nEMEND-COMPLETE ${N} 2 2\n`,
      'invalid',
      ['marker_counts'],
    ],
    [
      'another nonce in the marker',
      `FILE a.ts ${N}\nx\nEND FILE ${N}\nEMEND-COMPLETE other 1 1\n`,
      'unmarked',
      ['marker_wrong'],
    ],
    ['no marker', `FILE a.ts ${N}\nx\nEND FILE ${N}\n`, 'unmarked', ['marker_missing']],
    [
      'an edit after the marker',
      `FILE a.ts ${N}\nx\nEND FILE ${N}\nEMEND-COMPLETE ${N} 1 1\nFILE b.ts\n`,
      'invalid',
      ['marker_missing', 'stray_edit'],
    ],
  ])('%s', (_name, answer, outcome, found) => {
    const result = withNonce(answer);
    expect(result.outcome).toBe(outcome);
    expect(codes(result)).toEqual(found);
  });

  test('prose before and between is left out and told', () => {
    const outcome = withNonce(
      `Hello.\nFILE a.ts ${N}\nx\nEND FILE ${N}\nAnd that is it.\nEMEND-COMPLETE ${N} 1 1\n`,
    );
    expect(text(outcome)).toBe('x\n');
    expect(outcome).toMatchObject({ notes: [{ code: 'prose_before' }, { code: 'prose_between' }] });
  });

  test('without requireMarker a missing marker is let pass, an open file is not', () => {
    expect(withNonce(`FILE a.ts ${N}\nx\nEND FILE ${N}\n`, { requireMarker: false }).outcome).toBe(
      'edited',
    );
    expect(withNonce(`FILE a.ts ${N}\nx\n`, { requireMarker: false }).outcome).toBe('truncated');
  });
});

describe('without a nonce', () => {
  test.each([
    ['an end line inside', 'FILE a.ts\nx\nEND FILE\ny\nEND FILE\nEMEND-COMPLETE 1 1\n'],
    ['a file line inside', 'FILE a.ts\nFILE x\nEND FILE\nEMEND-COMPLETE 1 1\n'],
    ['a marker inside', 'FILE a.ts\nEMEND-COMPLETE 1 1\nEND FILE\nEMEND-COMPLETE 1 1\n'],
  ])('%s is refused as ambiguous', (_name, answer) => {
    expect(run(answer)).toMatchObject({
      outcome: 'refused',
      reasons: [{ code: 'marker_in_body' }],
    });
  });
});

describe('what stands round the files', () => {
  const file = 'FILE a.ts\nx\nEND FILE\n';
  const read = (answer: string, nonce?: string) =>
    readOne(
      wholeFile,
      answer,
      contextOf({ 'a.ts': 'one\n' }, nonce === undefined ? {} : { nonce }),
    );
  test.each<[string, string, string | undefined, string]>([
    [
      'blanks behind the lines of the grammar',
      'FILE a.ts \t\nx\nEND FILE  \n',
      undefined,
      'a.ts=x',
    ],
    ['blanks before the nonce', `FILE a.ts  ${N} \nx\nEND FILE ${N}\n`, N, 'a.ts=x'],
    [
      'lines of a body that begin with the same letters',
      'FILE a.ts\nEXPORT FILE x\nDo EMEND-COMPLETE it\nFILE\nEND FILE\n',
      undefined,
      'a.ts=EXPORT FILE x|Do EMEND-COMPLETE it|FILE',
    ],
    ['an end twice', file + 'END FILE\n', undefined, 'refused: marker_in_body'],
    [
      'an end twice, with a nonce',
      `FILE a.ts ${N}\nx\nEND FILE ${N}\nEND FILE ${N}\n`,
      N,
      'invalid: stray_edit',
    ],
    ['an end before all files', `END FILE\n${file}`, undefined, 'invalid: stray_edit'],
  ])('%s', (_name, answer, nonce, expected) => {
    expect(summary(read(answer, nonce), { 'a.ts': 'one\n' })).toBe(expected);
  });
  test('three lines of prose are told, and blank lines are none', () => {
    const notes = (answer: string) => {
      const reading = read(answer);
      return (
        reading.kind === 'plans' &&
        reading.notes.map(({ message }) => message.replace(/ outside.*/, ''))
      );
    };
    expect(notes(`Here:\n${file}  \n\`\`\`\n\`\`\`\n`)).toEqual([]);
    expect(notes(`${file}a\n \nb\nc\nd\n`)).toEqual(['Line 4', 'Line 6', 'Line 7']);
  });
  test('of a marker line in a body eighty characters are shown', () => {
    const message = whyNot(read(`FILE a.ts\nFILE ${'x'.repeat(100)}\nEND FILE\n`));
    expect(message).toContain(
      `The body of a.ts contains the marker line "FILE ${'x'.repeat(75)}", which`,
    );
  });
});

describe('fences round a body', () => {
  const answer = (body: string, path = 'a.ts'): string =>
    `FILE ${path} ${N}\n${body}END FILE ${N}\nEMEND-COMPLETE ${N} 1 1\n`;
  test('are taken off where they cannot be content', () => {
    const outcome = withNonce(answer('```ts\nx\n```\n'));
    expect(text(outcome)).toBe('x\n');
    expect(outcome).toMatchObject({
      tolerances: [{ tolerance: 'fenced_body', path: 'a.ts', index: 0 }],
    });
  });
  test.each([
    ['Markdown', 'a.md', '```ts\nx\n```\n', 'a\n'],
    ['a base with fences', 'a.ts', '```\nx\n```\n', '```\ny\n```\n'],
    [
      'Markdown in a fence of Markdown that the file begins with',
      'a.md',
      '```md\nx\n```\n',
      '```md\ny\n```\n',
    ],
    ['Markdown between two fences', 'a.md', '```md\nx\n```\ny\n```sh\nz\n```\n', 'a\n'],
    ['Markdown that ends in a fence', 'a.md', 'a\n```sh\nx\n```\n', 'a\n'],
    ['Markdown that ends in a lone fence', 'a.md', 'a\nx\n```\n', 'a\n'],
  ])('stay: %s', (_name, path, body, base) => {
    expect(text(withNonce(answer(body, path), {}, { [path]: base }), path)).toBe(body);
  });
  test.each([
    ['an opening fence alone', 'a.ts', '```ts\nx\n'],
    ['a fence at the end that one in the text opened', 'a.ts', 'a\n```\nb\n```\n'],
    ['a fence that another closes', 'a.ts', '```ts\nx\n```\ny\n```\n'],
    ['a lone fence at the end of a file of any kind', 'page.tmpl', 'x\n```\n'],
  ])('are unclear: %s', (_name, path, body) => {
    expect(codes(withNonce(answer(body, path), {}, { [path]: 'a\n' }))).toEqual(['fence_unclear']);
  });
  test.each([
    ['in prose', 'FILE a.ts\nx\nEND FILE\n'],
    [
      'opened before and closed behind, with a fence of its own',
      '```\nFILE a.ts\n```ts\nx\n```\nEND FILE\n```\n',
    ],
    ['closed twice', '```\nFILE a.ts\nx\n```\nEND FILE\n```\nDone.\n'],
    ['closed without having been opened', 'FILE a.ts\nx\nEND FILE\n```\n'],
    ['opened by a path', '**a.ts**\n```ts\nFILE a.ts\nx\nEND FILE\n```\n'],
  ])('round an entry: %s', (_name, said) => {
    const outcome = run(`Text.\n\n${said}`, { requireMarker: false });
    expect([outcome.outcome, outcome.outcome === 'edited' && text(outcome)]).toEqual(
      said.includes('Done.') ? ['truncated', false] : ['edited', 'x\n'],
    );
  });
});

test.each(['answer', 'tools/run', '.prompt', 'page.tmpl', 'out/log.golden'])(
  'a fence round all of %s is refused, since it may be content',
  (path) => {
    const answer = `FILE ${path} ${N}\n\`\`\`json\n{}\n\`\`\`\nEND FILE ${N}\nEMEND-COMPLETE ${N} 1 1\n`;
    expect(codes(withNonce(answer, {}, { [path]: '{}\n' }))).toEqual(['fence_unclear']);
    expect(codes(withNonce(answer, {}, { [path]: null }))).toEqual(['fence_unclear']);
    expect(text(withNonce(answer, {}, { [path]: '```\n[]\n```\n' }), path)).toBe(
      '```json\n{}\n```\n',
    );
  },
);

describe('deletions and new files', () => {
  const answer = `DELETE a.ts ${N}\nEMEND-COMPLETE ${N} 1 1\n`;
  test('a deletion is refused unless asked for, and then a finding', () => {
    expect(codes(withNonce(answer))).toEqual(['delete_not_allowed']);
    const outcome = withNonce(answer, { allowDelete: true });
    expect(text(outcome)).toBe('absent');
    expect(outcome).toMatchObject({
      findings: [{ guard: 'deletion', severity: 'ask', path: 'a.ts' }],
    });
    expect(codes(withNonce(answer, { allowDelete: true }, { 'a.ts': null }))).toEqual([
      'delete_absent',
    ]);
  });
  test('a file is made only where it was offered or may be created', () => {
    const made = `FILE src/b.ts ${N}\nx\nEND FILE ${N}\nEMEND-COMPLETE ${N} 1 1\n`;
    expect(codes(withNonce(made))).toEqual(['unknown_file']);
    expect(codes(withNonce(made, { mayCreateUnder: ['lib'] }))).toEqual(['unknown_file']);
    expect(text(withNonce(made, { mayCreateUnder: ['src/'] }), 'src/b.ts')).toBe('x\n');
  });
});

test('an elided body is refused', () => {
  const base = Array.from({ length: 30 }, (_, i) => `const v${i} = ${i};\n`).join('');
  const body = 'const v0 = 100;\n// ... rest of the code unchanged ...\n';
  const outcome = withNonce(
    `FILE a.ts ${N}\n${body}END FILE ${N}\nEMEND-COMPLETE ${N} 1 1\n`,
    {},
    { 'a.ts': base },
  );
  expect(outcome).toMatchObject({
    outcome: 'refused',
    reasons: [{ code: 'elision', path: 'a.ts' }],
  });
});
