/** An answer written exactly as the prompt asks is accepted by the edit engine; the same answer with another nonce is not. */
import { describe, expect, test } from '@jest/globals';
import { applyAnswer, listing } from '../../../src/edits/index.js';
import type { ApplyAnswerInput } from '../../../src/edits/types.js';
import { buildEditRequest } from '../../../src/model/prompts/edit.js';
import { type Format, FORMATS } from '../../../src/shared/formats.js';
import { blocksOf, editInput, NONCE, textOf } from './support.js';

const BEFORE = 'one\n\ttwo\nthree\nfour\n';
const AFTER = 'one\n\tTWO\nthree\nfour\n';
const PATH = 'src/a b.ts';

/** The quoted `2xyz` of the second line, taken from the prompt as a model would. */
const quoted = (prompt: string): string => /^(2[a-z]{3})\| /m.exec(prompt)?.[1] ?? 'absent';
const literal = (tail: string, start: string): string =>
  tail.split('\n').find((line) => line.startsWith(start)) ?? 'absent';
const completed = (tail: string): string => literal(tail, 'EMEND-COMPLETE');

const ANSWERS: Readonly<Record<Format, (prompt: string, tail: string) => string>> = {
  'whole-file': (_, tail) =>
    `${literal(tail, `FILE ${PATH}`)}\n${AFTER}${literal(tail, 'END FILE')}\n${completed(tail)}`,
  'unified-diff': (_, tail) =>
    `@@ -1,4 +1,4 @@\n one\n-\ttwo\n+\tTWO\n three\n four\n${completed(tail)}`,
  'structured-edit': (prompt, tail) =>
    `{"summary": "Louder", "operations": [{"type": "replace", "file_path": "${PATH}", "line": "${quoted(prompt)}", "content": "\\tTWO\\n"}],\n ${literal(tail, '"complete"')}`,
  'search-replace': (_, tail) =>
    `${literal(tail, 'FILE:')}\nFIND:\n\ttwo\nREPLACE:\n\tTWO\n${literal(tail, 'END')}\n${completed(tail)}`,
};

describe.each(FORMATS)('%s', (format) => {
  const request = buildEditRequest(
    editInput({ format, files: [{ path: PATH, text: textOf(BEFORE) }] }),
  ).request(NONCE);
  const tail = blocksOf(request).at(-1)?.text ?? '';
  const prompt = blocksOf(request)
    .map((block) => block.text)
    .join('\n');
  const answer = ANSWERS[format](prompt, tail);
  const apply = (changes: Partial<ApplyAnswerInput['options']> = {}) =>
    applyAnswer({
      format,
      answer,
      files: new Map([[PATH, { bytes: Buffer.from(BEFORE) }]]),
      options: { nonce: NONCE, requireMarker: true, stopReason: 'end_turn', ...changes },
    });

  test('is accepted, without any tolerance', () => {
    const outcome = apply();
    if (outcome.outcome !== 'edited') throw new Error(JSON.stringify(outcome));
    const file = outcome.files.get(PATH);
    expect(
      file === undefined || file === 'absent' ? file : Buffer.from(file.bytes).toString(),
    ).toBe(AFTER);
    expect(outcome.tolerances).toEqual([]);
    expect(outcome.notes).toEqual([]);
  });
  test('with the nonce of another request is not', () => {
    expect(apply({ nonce: 'f'.repeat(8) }).outcome).not.toBe('edited');
  });
});

const files = ['src/a.ts', 'src/b.ts'].map((path) => ({ path, text: textOf('one\n') }));
const ONE_OR_TWO = FORMATS.flatMap((format) => [1, 2].map((count) => [format, count] as const));
/** The examples of the system prompts, with the nonce put in, are answers that the engine takes. */
describe.each(ONE_OR_TWO)('the example for %s, where %d is offered', (format, count) => {
  const before = 'price of soup: 4.50\nprice of bread: 1.20\nprice of tea: 2.00\n';
  const after =
    'price of soup: 4.50\nprice of bread: 1.50\nprice of coffee: 2.80\nprice of tea: 2.00\n';
  const system =
    buildEditRequest(editInput({ format, files: files.slice(0, count) })).request(NONCE).system[0]
      ?.text ?? '';
  const own = listing(textOf(before)).split('\n');
  const answer = (system.split('\nAnswer:\n')[1] ?? '')
    .replaceAll('NONCE', NONCE)
    .replaceAll('2qwx', own[1]?.split('|')[0] ?? '')
    .replaceAll('3mbc', own[2]?.split('|')[0] ?? '');
  const answered = (path: string, base: string, asked: string) =>
    applyAnswer({
      format,
      answer: answer.replaceAll('example-only/menu.txt', path),
      files: new Map([[path, { bytes: Buffer.from(base) }]]),
      options: { nonce: NONCE, requireMarker: true, stopReason: 'end_turn', asked },
    });

  test('is a right answer, where the task is the example', () => {
    const outcome = answered('example-only/menu.txt', before, after);
    if (outcome.outcome !== 'edited') throw new Error(JSON.stringify(outcome));
    const file = outcome.files.get('example-only/menu.txt');
    expect(
      file === undefined || file === 'absent' ? file : Buffer.from(file.bytes).toString(),
    ).toBe(after);
    expect(outcome.tolerances).toEqual([]);
  });
  test('is refused for its lines in any other task', () => {
    const outcome = answered('src/a.txt', before, 'Make bread dearer.');
    expect(
      outcome.outcome === 'refused' ? outcome.reasons.map(({ code }) => code) : outcome.outcome,
    ).toEqual(['example', 'example']);
  });
});
