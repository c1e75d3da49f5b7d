import { describe, expect, test } from '@jest/globals';
import { buildPickRequest, candidateList, pickSchema } from '../../../src/model/prompts/pick.js';
import type { CheckedPath } from '../../../src/edits/index.js';
import { allText, lastNonceWord, NONCE } from './support.js';

const candidates = [
  {
    path: 'src/a.ts',
    reasons: ['defines Parser', 'uses flag'],
    symbols: ['Parser', 'Parser.next'],
  },
  { path: 'src/b.ts', reasons: ['imports src/a.ts'], symbols: [] },
];
const common = {
  model: 'm',
  outputBudget_tokens: 2000,
  refusal: null,
  hints: ['HINT'],
  instructions: 'Add a flag to the parser',
  rules: [{ path: 'AGENTS.md', content: 'RULE' }],
  list: candidateList(candidates, 12).text,
  create: false,
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

  test('new files are spoken of where they may be made alone, with the patterns', () => {
    const text = (create: boolean | string[]) =>
      allText(buildPickRequest({ ...common, lookedFor: null, create }).request(NONCE));
    expect(text(false)).not.toContain('new_files');
    expect(text(true)).toContain('"new_files"');
    expect(text(['docs/**'])).toContain('patterns: docs/**.');
  });

  test('a list ends at 4,000 tokens, the best first, and says how many files are left out', () => {
    const many = Array.from({ length: 500 }, (_, i) => ({
      path: `src/file-${i}.ts`,
      reasons: ['uses flag'.repeat(100)],
      symbols: Array.from({ length: 100 }, (__, n) => `symbol${n}`),
    }));
    const { text, listed } = candidateList(many, 9000);
    expect(listed).toEqual(many.slice(0, listed.length).map(({ path }) => path));
    expect(listed.length).toBeGreaterThan(20);
    expect(text.length).toBeLessThan(16_000);
    expect(text).toContain(
      `(${(9000 - listed.length).toLocaleString('en-US')} more files of the project left out)`,
    );
  });
});

describe('the answer', () => {
  const isTea = (path: string) =>
    (path.endsWith('tea.ts') ? { ok: true, path } : { ok: false, why: '' }) as CheckedPath;
  const schema = pickSchema(['src/a.ts', 'src/b.ts', 'src/c.ts'], isTea);
  const said = (...paths: string[]) => ({ files: paths.map((path) => ({ path, why: 'it' })) });
  test.each([
    ['in its order', said('src/b.ts', 'src/a.ts'), said('src/b.ts', 'src/a.ts')],
    ['twice the same', said('src/a.ts', './src/a.ts'), said('src/a.ts')],
    ['unlisted files beside', said('../../etc/passwd', 'src/a.ts', '__proto__'), said('src/a.ts')],
    ['no file', said(), said()],
    ['words to look for', { look_for: ['parse', 'x'] }, { words: ['parse', 'x'] }],
    ['words beside no file', { look_for: ['parse'], files: [] }, { words: ['parse'] }],
    ['files win over words', { look_for: ['parse'], ...said('src/a.ts') }, said('src/a.ts')],
    [
      'new files, of which some may be made',
      { ...said('src/a.ts'), new_files: said('../x', 'tea.ts', 'src/a.ts').files },
      {
        files: [
          { path: 'src/a.ts', why: 'it' },
          { path: 'tea.ts', why: 'new file: it', isNew: true },
        ],
      },
    ],
    [
      'a new file alone',
      { files: [], new_files: said('tea.ts').files },
      { files: [{ path: 'tea.ts', why: 'new file: it', isNew: true }] },
    ],
    [
      'no reason',
      { files: [{ path: 'src/a.ts', why: 7 }] },
      { files: [{ path: 'src/a.ts', why: '' }] },
    ],
  ])('%s', (_, given, expected) => {
    expect(schema.parse(given)).toEqual(expected);
  });
  test.each([
    ['another object', { 'src/a.ts': 1 }],
    ['paths alone', { files: ['src/a.ts'] }],
    ['numbers', { files: [{ path: 1 }] }],
    ['only unlisted files', said('/etc/passwd')],
    ['a new file among those of the list', said('tea.ts')],
    ['only new files that may not be made', { files: [], new_files: said('/etc/passwd').files }],
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
