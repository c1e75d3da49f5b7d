import { readFileSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';
import {
  evaluatePolicy,
  parsePolicy,
  POLICY_KEYS,
  type Policy,
} from '../../../src/documents/job/policy.js';
import type {
  ProposalFileSummary,
  ProposalSummary,
} from '../../../src/shared/proposal-activities.js';

const parsed = (source: string): Policy => {
  const read = parsePolicy(source, 'review.yaml');
  if (!read.ok) throw new Error(JSON.stringify(read.problems));
  return read.value;
};
const file = (path: string, more: Partial<ProposalFileSummary> = {}): ProposalFileSummary => ({
  path,
  change: 'edit',
  by: 'model',
  added: 3,
  removed: 2,
  key: 'k',
  ...more,
});
const proposal = (
  files: readonly ProposalFileSummary[],
  more: Partial<ProposalSummary> = {},
): ProposalSummary => ({
  id: 'p'.repeat(64),
  ref: `sha256:${'0'.repeat(64)}`,
  diff: `sha256:${'0'.repeat(64)}`,
  files,
  findings: [],
  tolerances: [],
  mustAsk: [],
  ...more,
});
const finding = { guard: 'syntax', severity: 'ask', path: 'src/a.ts', message: 'broken' } as const;
const A = file('src/a.ts');
const TEA = proposal([file('src/tea.ts', { change: 'create' })], {
  mustAsk: ['new file src/tea.ts: a model chose to make it'],
});
const moveTo = (path: string) =>
  proposal(
    [
      file(path, { change: 'move', from: 'src/old.ts' }),
      file('src/old.ts', { change: 'move', to: path, added: 0, removed: 0 }),
    ],
    { mustAsk: [`move of src/old.ts to ${path}`] },
  );
const MOVE = moveTo('src/a.ts');
const MOVE_OUT = moveTo('lib/a.ts');
const GUARDED = 'protected path src/a.ts: builds run it';

describe('what a policy lets through', () => {
  test.each<[string, string, ProposalSummary, readonly string[]]>([
    ['all within', '', proposal([A]), []],
    ['a path outside', '', proposal([file('lib/a.ts')]), ['lib/a.ts matches none of paths']],
    ['an exception', 'except: ["**/a.ts"]', proposal([A]), ['src/a.ts matches except']],
    [
      'too many files',
      'max_files: 1',
      proposal([A, file('src/b.ts')]),
      ['2 files; max_files is 1'],
    ],
    ['too many lines', 'max_lines: 4', proposal([A]), ['5 changed lines; max_lines is 4']],
    [
      'too many in one',
      'max_lines_per_file: 4',
      proposal([A]),
      ['src/a.ts: 5 changed lines; max_lines_per_file is 4'],
    ],
    [
      'a new file',
      '',
      proposal([file('src/a.ts', { change: 'create' })]),
      ['src/a.ts: create is not in changes'],
    ],
    [
      'a new file that may be',
      'changes: [edit, create]',
      proposal([file('src/a.ts', { change: 'create' })]),
      [],
    ],
    [
      'a move',
      '',
      MOVE,
      ['src/a.ts: move is not in changes', 'src/old.ts: move is not in changes'],
    ],
    ['a move that may be', 'changes: [move]', MOVE, []],
    ['a move by its two parts', 'changes: [create, delete]', MOVE, []],
    [
      'a move to where a new file may be, where no file may go',
      'create: ["src/**"]',
      MOVE,
      ['src/old.ts: move is not in changes'],
    ],
    ['a move out of the paths', 'changes: [move]', MOVE_OUT, ['lib/a.ts matches none of paths']],
    [
      'a finding',
      '',
      proposal([A], { findings: [finding], mustAsk: ['syntax in src/a.ts'] }),
      ['src/a.ts: syntax (ask): broken'],
    ],
    [
      'a finding that may be',
      'findings: ask',
      proposal([A], { findings: [finding], mustAsk: ['syntax in src/a.ts'] }),
      [],
    ],
    ['a note', '', proposal([A], { findings: [{ ...finding, severity: 'note' }] }), []],
    [
      'no finding at all',
      'findings: none',
      proposal([A], { findings: [{ ...finding, severity: 'note' }] }),
      ['src/a.ts: syntax (note): broken'],
    ],
    [
      'a format',
      'formats: [unified-diff]',
      proposal([A]),
      ['src/a.ts came as whole-file, not in formats'],
    ],
    [
      'a tolerance',
      '',
      proposal([A], { tolerances: ['counts src/a.ts:3'] }),
      ['tolerance used: counts in src/a.ts, line 3: hunk header with wrong counts'],
    ],
    [
      'a tolerance that may be',
      'tolerances: [counts]',
      proposal([A], { tolerances: ['counts src/a.ts:3'] }),
      [],
    ],
    ['a protected path', '', proposal([A], { mustAsk: [GUARDED] }), [GUARDED]],
    ['one that may be', 'protected_paths: ["src/a.*"]', proposal([A], { mustAsk: [GUARDED] }), []],
    [
      'another than those that may be',
      'protected_paths: [package.json]',
      proposal([A], { mustAsk: [GUARDED] }),
      [GUARDED],
    ],
    [
      'one whose name begins as that of one that may be',
      'protected_paths: ["src/a.ts"]',
      proposal([A, file('src/a.ts: git runs or follows it')], {
        mustAsk: ['protected path src/a.ts: git runs or follows it: why'],
      }),
      ['protected path src/a.ts: git runs or follows it: why'],
    ],
    [
      'more reasons than are told',
      'protected_paths: ["src/**"]',
      proposal([A], { mustAsk: [GUARDED, '1 more reason'] }),
      ['1 more reason'],
    ],
    [
      'a new file that a model chose',
      'changes: [edit, create]',
      TEA,
      ['new file src/tea.ts: a model chose to make it'],
    ],
    ['one that `create` lets pass', 'create: ["src/*.ts"]', TEA, []],
    [
      'another one than it lets pass',
      'create: ["src/a.ts"]',
      TEA,
      ['src/tea.ts: create is not in changes', 'new file src/tea.ts: a model chose to make it'],
    ],
    // Whatever else a step insists on showing is shown, also what this version does not know.
    [
      'something new',
      '',
      proposal([A], { mustAsk: ['files changed after the proposal'] }),
      ['files changed after the proposal'],
    ],
  ])('%s', (_, more, of, expected) => {
    const policy = parsed(`v: 1\npaths: ["src/**"]\n${more}\n`);
    expect(evaluatePolicy(policy, of, [{ path: 'src/a.ts', format: 'whole-file' }])).toEqual(
      expected,
    );
  });

  test('without any path nothing is let through', () => {
    expect(evaluatePolicy(parsed('paths: []'), proposal([A]), [])).toEqual([
      'src/a.ts matches none of paths',
    ]);
  });
});

describe('a policy file', () => {
  test.each([
    ['', /review\.yaml:1: paths: expected a list of gitignore-style patterns, received nothing/],
    ['paths: src', /review\.yaml:1: paths: expected a list/],
    [
      'paths: ["a"]\nmax_lins: 3',
      /review\.yaml:2: max_lins: unknown key; did you mean `max_lines`\?/,
    ],
    ['paths: ["a"]\ntolerances: [luck]', /review\.yaml:2: tolerances\.0: expected one of/],
    ['paths: ["a"]\nmax_files: -1', /expected a whole number of files/],
    [
      'paths: ["a"]\nprotected_paths: true',
      /review\.yaml:2: protected_paths: expected a list of .*, as in `protected_paths: \["package\.json"\]`, received true/,
    ],
    ['paths: ["a"]\nprotected_paths: false', /received false/],
    ['paths: ["a"]\nv: 2', /expected 1, received 2/],
    ['paths: [', /bad YAML/],
  ])('%j is refused with its line', (source, expected) => {
    const read = parsePolicy(source, 'review.yaml');
    expect(read.ok ? [] : read.problems.map(({ message }) => message)).toEqual([
      expect.stringMatching(expected),
    ]);
    expect(read.ok ? [] : read.problems.map(({ next }) => next)).toEqual([
      expect.stringContaining('the policy'),
    ]);
  });

  test('docs/headless.md names every key', () => {
    const text = readFileSync('docs/headless.md', 'utf8');
    expect(POLICY_KEYS.filter((key) => !text.includes(`| \`${key}\` |`))).toEqual([]);
  });
});

describe('63: a pattern never lets a path through that a reader would not expect', () => {
  const reasons = (policy: string, path: string): readonly string[] =>
    evaluatePolicy(parsed(`v: 1\n${policy}\n`), proposal([file(path)]), []);
  const isOutside = (path: string) => [`${path} matches none of paths`];
  const isExcepted = (path: string) => [`${path} matches except`];

  test.each<[string, string, string, readonly string[]]>([
    ['letter case counts in paths', 'paths: [docs/**]', 'Docs/a.md', isOutside('Docs/a.md')],
    [
      'letter case does not count in except',
      'paths: ["**"]\nexcept: [secret/**]',
      'Secret/a.md',
      isExcepted('Secret/a.md'),
    ],
    [
      'a file that `!` takes out of paths waits, below a folder that another pattern names',
      'paths: ["docs/**", "!docs/secret/a.md"]',
      'docs/secret/a.md',
      isOutside('docs/secret/a.md'),
    ],
    [
      'a folder that `!` takes out of paths waits, in any letter case',
      'paths: ["docs/", "!docs/secret/**"]',
      'docs/Secret/a.md',
      isOutside('docs/Secret/a.md'),
    ],
    ['the others may pass', 'paths: ["docs/", "!docs/secret/**"]', 'docs/a.md', []],
    [
      'a file that `!` takes out of except may pass',
      'paths: ["**"]\nexcept: ["*.md", "!README.md"]',
      'README.md',
      [],
    ],
    [
      'a file with another letter case is not taken out of except',
      'paths: ["**"]\nexcept: ["*.md", "!README.md"]',
      'readme.md',
      isExcepted('readme.md'),
    ],
  ])('%s', (_, policy, path, expected) => {
    expect(reasons(policy, path)).toEqual(expected);
  });

  test.each<[string, string]>([
    ['"!docs/**"', 'a pattern before the first one that starts with "!"'],
    ['"#secret"', 'a pattern that does not start with "#"'],
    ['"./secret/**"', 'a pattern relative to the workspace'],
    ['"a/../secret"', 'a pattern relative to the workspace'],
    ['"secret\\\\a"', 'a pattern with "/" between folders'],
    ['" secret"', 'a pattern without a blank at its beginning'],
    ['"a\\nb"', 'a pattern of one line'],
    ['"a", "!"', 'a gitignore-style pattern, as text that is not empty'],
  ])('refuses [%s], which fits nothing', (pattern, expected) => {
    const read = parsePolicy(`v: 1\npaths: ["**"]\nexcept: [${pattern}]\n`, 'review.yaml');
    expect(read).toMatchObject({
      ok: false,
      problems: [{ message: expect.stringContaining(`expected ${expected}`) }],
    });
    expect(read.ok ? '' : read.problems[0]?.message).toMatch(/^review\.yaml:3:/);
  });
});
