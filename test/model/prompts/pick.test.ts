import { describe, expect, test } from '@jest/globals';
import { buildPickRequest, candidateList, pickSchema } from '../../../src/model/prompts/pick.js';
import { allText, lastNonceWord, NONCE } from './support.js';

const candidates = [
  { path: 'src/a.ts', reasons: ['defines Parser', 'uses flag'], symbols: ['Parser', 'Parser.next'] },
  { path: 'src/b.ts', reasons: ['imports src/a.ts'], symbols: [] },
];
const common = {
  ...{ model: 'm', outputBudget_tokens: 2000, refusal: null, hints: ['HINT'] },
  instructions: 'Add a flag to the parser',
  rules: [{ path: 'AGENTS.md', content: 'RULE' }],
  list: candidateList(candidates, 12).text,
};

describe('the request for a pick', () => {
  test('has rules, hints, task, and each file with its reasons and names; the nonce comes last', () => {
    const built = buildPickRequest({ ...common, lookedFor: null });
    const request = built.request(NONCE);
    const rows =
      'src/a.ts: defines Parser; uses flag\n  Parser, Parser.next\nsrc/b.ts: imports src/a.ts\n(10 more files';
    for (const words of ['RULE', 'HINT', 'Add a flag to the parser', rows, '"look_for"'])
      expect(allText(request)).toContain(words);
    expect(lastNonceWord(request)).toBe(NONCE);
    expect(built.haystack).not.toContain(NONCE);
  });

  test('once words were looked for they are shown, and there is no second wish', () => {
    const text = allText(buildPickRequest({ ...common, lookedFor: ['parse'] }).request(NONCE));
    expect(text).toContain('What was looked for beside the words of the task\n\nparse\n');
    expect(text).not.toContain('"look_for"');
  });

  test('a list ends at 4,000 tokens, the best first, and says how many files are left out', () => {
    const many = Array.from({ length: 500 }, (_, i) => ({
      ...{ path: `src/file-${i}.ts`, reasons: ['uses flag'.repeat(100)] },
      symbols: Array.from({ length: 100 }, (__, n) => `symbol${n}`),
    }));
    const { text, listed } = candidateList(many, 9000);
    expect(listed).toEqual(many.slice(0, listed.length).map(({ path }) => path));
    expect(listed.length).toBeGreaterThan(20);
    expect(text.length).toBeLessThan(16_000);
    expect(text).toContain(`(${(9000 - listed.length).toLocaleString('en-US')} more files of the project left out)`);
  });
});

describe('the answer', () => {
  const schema = pickSchema(['src/a.ts', 'src/b.ts', 'src/c.ts']);
  const said = (...paths: string[]) => ({ files: paths.map((path) => ({ path, why: 'it' })) });
  test.each([
    ['in its order', said('src/b.ts', 'src/a.ts'), said('src/b.ts', 'src/a.ts')],
    ['twice the same', said('src/a.ts', './src/a.ts'), said('src/a.ts')],
    ['unlisted files beside', said('../../etc/passwd', 'src/a.ts', '__proto__'), said('src/a.ts')],
    ['no file', said(), said()],
    ['words to look for', { look_for: ['parse', 'x'] }, { words: ['parse', 'x'] }],
    ['words beside no file', { look_for: ['parse'], files: [] }, { words: ['parse'] }],
    ['files win over words', { look_for: ['parse'], ...said('src/a.ts') }, said('src/a.ts')],
    ['no reason', { files: [{ path: 'src/a.ts', why: 7 }] }, { files: [{ path: 'src/a.ts', why: '' }] }],
  ])('%s', (_, given, expected) => {
    expect(schema.parse(given)).toEqual(expected);
  });
  test.each([
    ['another object', { 'src/a.ts': 1 }],
    ['paths alone', { files: ['src/a.ts'] }],
    ['numbers', { files: [{ path: 1 }] }],
    ['only unlisted files', said('/etc/passwd')],
    ['no words', { look_for: [] }],
  ])('%s cannot be used', (_, given) => {
    expect(schema.safeParse(given).success).toBe(false);
  });
  test('what a model says is one line and bounded', () => {
    const words = schema.parse({ look_for: Array.from({ length: 1000 }, () => 'w'.repeat(1000)) });
    expect(JSON.stringify(words).length).toBeLessThan(2000);
    const files = schema.parse({ files: [{ path: 'src/a.ts', why: 'w\n\u202e'.repeat(9000) }] });
    expect(JSON.stringify(files)).toMatch(/^[\x20-\x7e]{1,500}$/);
  });
});
