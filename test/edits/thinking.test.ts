/** Thinking is no part of the response: text in `<think>`, `<thinking>`, `<reasoning>` and HTML comments outside of an edit is never applied. */
import { describe, expect, test } from '@jest/globals';
import {
  applyAnswer,
  detectFormat,
  nonceOf,
  type AnswerOutcome,
  type ApplyOptions,
} from '../../src/edits/index.js';
import { DIALECTS, FORMATS, type AnswerFormat } from '../../src/shared/formats.js';
import { sampled } from '../support/seeded.js';
import {
  answerWith,
  EXPECTED,
  FILES,
  FORMS,
  markerOf,
  PLACES,
  REST,
  textsOf,
  WRITE,
} from './thinking-answers.js';

const ALL: readonly AnswerFormat[] = [...FORMATS, ...DIALECTS];
const NONCE = '1a2b3c4d';
const OFFERED = new Map(
  Object.entries(FILES).map(([path, lines]) => [
    path,
    { bytes: Buffer.from(lines.map((line) => `${line}\n`).join('')) },
  ]),
);
const MANNERS = [
  ['with a nonce', NONCE],
  ['without a nonce', undefined],
] as const;

/** Reads an answer as a step does (with a nonce), or as `emend patch` does. */
const read = (format: AnswerFormat, answer: string, nonce?: string): AnswerOutcome => {
  const options: ApplyOptions =
    nonce === undefined
      ? { requireMarker: false, allowDelete: true, mayCreateUnder: [''] }
      : { requireMarker: true, nonce, stopReason: 'end_turn' };
  return applyAnswer({ format, answer, files: OFFERED, options });
};
/** The texts that an outcome writes, or its name and the codes of its reasons. */
const writtenBy = (outcome: AnswerOutcome): Record<string, string> | readonly string[] =>
  outcome.outcome === 'edited'
    ? Object.fromEntries(
        [...outcome.files].map(([path, file]) => [
          path,
          file === 'absent' ? 'absent' : Buffer.from(file.bytes).toString(),
        ]),
      )
    : [outcome.outcome, ...outcome.reasons.map(({ code }) => code)];
const same = (one: unknown, other: unknown): boolean =>
  JSON.stringify(one) === JSON.stringify(other);

/** In a diff an indented tag behind a hunk is a context line. */
const isContextLine = (format: AnswerFormat, form: string, place: string): boolean =>
  format === 'unified-diff' && form.startsWith('an indented tag') && place !== 'before';

const REAL = {
  path: 'a.ts',
  line: 2,
  before: 'const limit = 10;',
  after: 'const limit = 20;',
};
const DRAFT = { path: 'c.ts', line: 1, before: 'const c = 1;', after: 'const c = 99;' };
const APPLIED = { 'a.ts': 'const first = 1;\nconst limit = 20;\nconst last = 3;\n' };

describe.each(ALL)('%s', (format) => {
  const manners = sampled(`manners of ${format}`, MANNERS, 1);
  const isJson = format === 'structured-edit' || format === 'string-replace';

  test.each(manners)('reads an answer as if its thinking were not there, %s', (_, nonce) => {
    const wrong: string[] = [];
    let [count, applied] = [0, 0];
    for (const place of PLACES)
      for (const [form, wrap] of Object.entries(FORMS))
        for (const [text, draft] of Object.entries(textsOf(format, nonce))) {
          const answer = answerWith(format, nonce, wrap(draft), place);
          const plain = answerWith(format, nonce, REST[form] ?? '', place);
          if (answer === null || plain === null) continue;
          count += 1;
          const result = writtenBy(read(format, answer, nonce));
          const name = `${place}: ${form}: ${text}`;
          if (same(result, EXPECTED)) applied += 1;
          if (JSON.stringify(result).includes('99')) wrong.push(`${name}: the draft is applied`);
          else if (isContextLine(format, form, place)) continue;
          else if (!same(result, writtenBy(read(format, plain, nonce))))
            wrong.push(`${name}: ${JSON.stringify(result)}`);
          else if (detectFormat(answer) !== format) wrong.push(`${name}: another format`);
          else if (!isJson && nonceOf(answer) !== nonce) wrong.push(`${name}: another nonce`);
        }
    expect(wrong).toEqual([]);
    expect(count).toBeGreaterThan(500);
    expect(applied).toBeGreaterThan(count * 0.9);
  });

  const write = (edit: typeof REAL, isLast = true): string =>
    WRITE[format](edit, { nonce: undefined, isLast });
  const draft = write(DRAFT, false);
  const marker = isJson ? '' : markerOf(undefined, 1, 1);
  const real = `${write(REAL)}${marker}`;

  test.each([
    ['a draft', `I could write\n${draft}No.\n</think>\n`],
    ['no draft', 'The user wants 20.\n</think>\n'],
    ['a draft in a fence', `Like this:\n\`\`\`\n${draft}\`\`\`\nNo.</think>\n`],
    ['the end of the line', '</think>'],
  ])('takes all before a lone closing tag as thinking: %s', (_, thinking) => {
    expect(writtenBy(read(format, `${thinking}${real}`))).toEqual(APPLIED);
  });

  test.each([
    ['in backticks', 'I strip `<think>` and `</think>` now.\n\n'],
    ['in quotes', 'I strip "<think>" and \'</think>\' now.\n\n'],
    ['within a sentence', 'I strip <think> tags and <!-- now.\n\n'],
    ['both within a sentence', 'All between <think> and </think> is dropped.\n\n'],
    ['in a fence', 'Example:\n\n```\n<think>\n```\n\n'],
    ['a comment in a fence', 'Example:\n\n```html\n<!-- not closed\n```\n\n'],
  ])('reads on behind a tag that is only mentioned: %s', (_, prose) => {
    const outcome = writtenBy(read(format, `${prose}${real}`));
    expect(outcome).toEqual(
      writtenBy(read(format, `${prose.replaceAll(/[<>]/g, '|').replaceAll('!--', '')}${real}`)),
    );
    expect(outcome).toEqual(APPLIED);
  });

  test.each([
    ['a draft', `<think>\nI could write\n${draft}`, 'truncated'],
    ['a draft behind an opening tag within a line', `Sure. <think>maybe\n${draft}`, 'truncated'],
    ['two tags, one closed', `<think>\n<think>\n${draft}</think>\n${draft}`, 'truncated'],
    ['an edit behind', `<think>\n${real}`, 'invalid'],
    ['a comment', `<!--\n${draft}`, 'truncated'],
  ])('applies nothing of an answer that ends within thinking: %s', (_, answer, outcome) => {
    expect(writtenBy(read(format, answer))).toEqual([outcome, 'cut_inside_thinking']);
    expect(writtenBy(read(format, `${write(REAL, false)}${answer}`))).toEqual([
      outcome,
      'cut_inside_thinking',
    ]);
  });

  test('cut at any byte within thinking, an answer is never used', () => {
    const answer = `${write(REAL, false)}<think>\n${draft}</think>\n${real}`;
    const end = answer.indexOf('</think>');
    for (let cut = 0; cut < end; cut += 1)
      expect(writtenBy(read(format, answer.slice(0, cut), NONCE))).not.toHaveProperty('a.ts');
    for (let cut = answer.indexOf('<think>') + 7; cut < end; cut += 1)
      expect(read(format, answer.slice(0, cut)).outcome).toBe('truncated');
  });

  test.each([
    ['edits on both sides of a closing tag within a line', `${draft}so </think> now\n${real}`],
    [
      'edits before a lone closing tag behind thinking',
      `<think>\n</think>\n${draft}</think>\n${real}`,
    ],
    ['edits before a closing tag in a fence', `${draft}\n\`\`\`\n</think>\n\`\`\`\n\n${real}`],
    ['only edits before a closing tag', `${real}</think>\n`],
  ])('refuses where it is unclear what is thinking: %s', (_, answer) => {
    expect(writtenBy(read(format, answer))).toEqual(['invalid', 'thinking_unclear']);
  });

  test('reads an unclosed tag behind the marker as text', () => {
    expect(writtenBy(read(format, `${real}<think>\nDone.\n`))).toEqual(APPLIED);
  });

  test('reads a comment on one line that names a file', () => {
    expect(writtenBy(read(format, `<!-- a.ts -->\n${real}`))).toEqual(APPLIED);
  });

  test('names the lines of the thinking in a note', () => {
    const outcome = read(format, `<think>\n${draft}</think>\n${real}`);
    const last = draft.split('\n').length + 1;
    expect(outcome).toMatchObject({
      notes: [
        { code: 'thinking', message: `Thinking was ignored: lines 1 to ${last} of the answer.` },
      ],
    });
  });

  test('an answer without any other text than thinking is not applied', () => {
    const outcome = read(format, `<think>\n${draft}${real}</think>\n`);
    expect(writtenBy(outcome)).toEqual(['invalid', 'no_edits']);
  });
});

test('keeps tags in a call that begins on the line where the thinking ends', () => {
  const call = WRITE['xml-call'](
    { path: 'c.ts', line: 1, before: 'const c = 1;', after: 'const c = "x <think> y";\n</think>' },
    { nonce: undefined, isLast: true },
  );
  expect(writtenBy(read('xml-call', `<think>\nMaybe.\n</think> ${call}`))).toEqual({
    'c.ts': 'const c = "x <think> y";\n</think>\n',
  });
});

test('reasons name the lines of the answer as it came', () => {
  const thinking = '<think>\nOne\ntwo\n</think>\n';
  const block = 'a.ts\n<<<<<<< SEARCH\nabsent\n=======\nx\n>>>>>>> REPLACE\n';
  const [reason] =
    (read('search-blocks', thinking + block) as { reasons?: readonly { message: string }[] })
      .reasons ?? [];
  expect(reason?.message).toContain('line 6 of the answer');
});

test('many closing tags in the content of an edit are read in time that grows with their number', () => {
  const answer = `Plan: <think>\nFILE src/a.js\n${'</think>\n'.repeat(32_000)}END FILE\n<thinking>done</thinking>\n`;
  const start = performance.now();
  expect(read('whole-file', answer)).toMatchObject({
    outcome: 'invalid',
    reasons: [{ code: 'thinking_unclear' }],
  });
  expect(performance.now() - start).toBeLessThan(5_000);
});
