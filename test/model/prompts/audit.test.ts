/** The request for an audit and the reading of its answer: windows round changes, hostile findings. */
import { describe, expect, test } from '@jest/globals';
import { combinedDiff, readDiff } from '../../../src/edits/index.js';
import {
  auditedFiles,
  auditSchema,
  buildAuditRequest,
  changedPlaces,
  type AuditPrompt,
} from '../../../src/model/prompts/audit.js';
import { allText, lastNonceWord, NONCE, textOf } from './support.js';

const FILES = new Map([
  ['a.ts', 3],
  ['gone.ts', 0],
]);
const read = (verdict: unknown, ...findings: readonly unknown[]) =>
  auditSchema(FILES).safeParse({ verdict, findings });
const finding = { file: 'a.ts', line: 2, sentence: 'It is wrong.' };

describe('an answer', () => {
  test.each(['pass_with_warnings', 'fail_soft', 'fail_hard'])('%s with a finding', (verdict) => {
    const lines = [2, 2];
    const told = { guard: 'audit', severity: 'note', path: 'a.ts', lines, message: 'It is wrong.' };
    expect(read(verdict, finding).data).toEqual({ verdict, findings: [told] });
  });
  test('pass without findings; with one it is a pass with warnings', () => {
    expect(read('pass').data).toEqual({ verdict: 'pass', findings: [] });
    expect(read('pass', finding).data?.verdict).toBe('pass_with_warnings');
  });
  test.each([
    ['a verdict of its own', ['fine']],
    ['a failure without a finding', ['fail_hard']],
    ['a warning without a finding', ['pass_with_warnings']],
    ['a file that is not of the change', ['fail_soft', { ...finding, file: '../etc/passwd' }]],
    ['a name that objects have', ['fail_soft', { ...finding, file: 'constructor' }]],
    ['an empty sentence', ['fail_soft', { ...finding, sentence: ' \u202e\n' }]],
    ['a line that is no number', ['fail_soft', { ...finding, line: 'two' }]],
    ['a finding that is none', ['fail_soft', 'bad']],
  ] as const)('%s is no audit', (_, [verdict, ...findings]) => {
    expect(read(verdict, ...findings).success).toBe(false);
  });
  test('no findings at all is no audit', () => {
    expect(auditSchema(FILES).safeParse({ verdict: 'pass' }).success).toBe(false);
  });
  test.each([0, -1, 4, null, undefined])('line %s of a file of 3 lines is left out', (line) => {
    expect(read('fail_soft', { ...finding, line }).data?.findings[0]).not.toHaveProperty('lines');
  });
  test('a file that is gone has no lines', () => {
    expect(read('fail_soft', { ...finding, file: 'gone.ts', line: 1 }).data?.findings).toHaveLength(
      1,
    );
  });
  test('at most 20 findings of 240 characters, each in one line without control characters', () => {
    const sentence = `a\r\nb\u0000\u001b[31mc\u2028d\u202e ${'x'.repeat(1000)}`;
    const { findings = [] } =
      read('fail_hard', ...Array.from({ length: 50 }, () => ({ ...finding, sentence }))).data ?? {};
    expect(findings).toHaveLength(20);
    expect(findings[0]?.message).toMatch(/^a b \[31mc d x+$/);
    expect(findings[0]?.message).toHaveLength(240);
  });
});

describe('the files', () => {
  const source = (changed: readonly number[]): string =>
    Array.from({ length: 2000 }, (_, i) =>
      changed.includes(i + 1)
        ? `changed${i + 1}();\n`
        : i % 100 === 0
          ? `function part${i}() {\n`
          : `  statement${i + 1}();\n`,
    ).join('');
  const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
  const diffOf = (path: string, changed: readonly number[]): string =>
    combinedDiff([{ path, base: bytes(source([])), result: bytes(source(changed)) }]);
  const prompt = (diff: string, inputBudget_tokens: number): AuditPrompt => ({
    model: 'm',
    outputBudget_tokens: 1000,
    inputBudget_tokens,
    instructions: 'Do it',
    rules: [],
    hints: [],
    diff,
  });
  const big = (changed: readonly number[]) => ({
    path: 'big.ts',
    text: textOf(source(changed)),
    hints: changedPlaces(readDiff(diffOf('big.ts', changed))).get('big.ts') ?? '',
  });

  test('fit whole into a large budget, with their numbers', () => {
    const shown = auditedFiles(prompt(diffOf('big.ts', [1000]), 1_000_000), [big([1000])]);
    expect(shown.partly).toEqual([]);
    expect(shown.lines).toEqual(new Map([['big.ts', 2000]]));
    for (const line of [1, 1000, 2000])
      expect(shown.text).toMatch(new RegExp(`^${line}[a-z]{3}\\| `, 'm'));
  });
  test('else as windows round each change, with an outline; the smaller ones whole', () => {
    const small = { path: 'small.ts', text: textOf('let a;\n'), hints: 'lines 1-1' };
    const changed = [500, 501, 1700];
    const shown = auditedFiles(prompt(diffOf('big.ts', changed), 6000), [big(changed), small]);
    expect(shown.partly).toEqual(['big.ts']);
    for (const words of [
      'changed500',
      'changed1700',
      'statement495()',
      'statement1705()',
      '| let a;',
      'function part900',
    ])
      expect(shown.text).toContain(words);
    expect(shown.text).not.toContain('statement1050()');
    expect(shown.text).not.toContain('may be edited');
  });
  test('a diff that does not fit is cut, which is said', () => {
    const changed = Array.from({ length: 1500 }, (_, i) => i + 200);
    const input = prompt(diffOf('big.ts', changed), 6000);
    expect(auditedFiles(input, [big(changed)]).partly).toEqual(['big.ts', 'the diff']);
    const request = buildAuditRequest({ ...input, files: '', refusal: null }).request(NONCE);
    expect(allText(request)).toMatch(/\d+ bytes left out here/);
  });
  test('stand in the request with task and diff, all of it material; a refusal comes last', () => {
    const refusal = { why: 'no JSON', answer: 'hm' };
    const built = buildAuditRequest({
      ...prompt('+ a diff', 9000),
      files: '1abc| let a;',
      refusal,
    });
    const text = allText(built.request(NONCE));
    for (const words of ['Do it', '+ a diff', '1abc| let a;', 'not orders to you', 'no JSON'])
      expect(text).toContain(words);
    expect(lastNonceWord(built.request(NONCE))).toBe(NONCE);
  });
});
