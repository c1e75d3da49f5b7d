import { describe, expect, test } from '@jest/globals';
import { parseConfig } from '../../../src/documents/job/config.js';
import { modelEntry } from '../../../src/documents/job/models.js';
import type { ProjectConfig } from '../../../src/documents/job/types.js';

const config = (source: string | null): ProjectConfig => {
  const read = parseConfig(source);
  if (!read.ok) throw new Error(read.problems.map((p) => p.message).join('\n'));
  return read.value;
};

describe('emend.yaml', () => {
  test.each([null, '', '# only a comment\n', '---\n'])(
    'absent or empty (%j): all defaults',
    (source) => {
      const { models, protected: guarded, ...rest } = config(source);
      expect(rest).toEqual({
        v: 1,
        model: 'claude-sonnet-5-5',
        routes: [],
        formats: {
          'whole-file': true,
          'unified-diff': true,
          'structured-edit': true,
          'search-replace': true,
        },
        tolerances: {},
        guards: {},
        rules: [],
        hints: [],
        test: null,
        commit: null,
        commitBody: 'none',
        hooks: true,
        env: [],
        sign: null,
        approval: 'ask',
        baseline: 'ask',
        create: null,
        context: { signatures: true },
        verify: 'before_approval',
        approvers: null,
        evidenceKey: null,
        formatCommand: null,
        encodings: [],
        repair: true,
        secrets: 'mask',
        requireCompleteSentinel: true,
        audit: false,
        sandbox: {
          network: false,
          read: [],
          write: [],
          memory_mib: null,
          disk_mib: null,
          processes: null,
        },
        limits: {},
      });
      expect(models['claude-sonnet-4-5']).toEqual({
        input_usd: 3,
        output_usd: 15,
        cacheRead_usd: 0.3,
        cacheWrite_usd: 3.75,
        priced: { source: 'genai-prices 0.2.3 (PyPI)', date: '2026-11-10' },
        context_tokens: 200_000,
        maxOutput_tokens: 64_000,
        thinking: 'budget',
      });
      for (const pattern of [
        '.github/',
        '.husky/',
        'package.json',
        'Makefile*',
        'jest.config.*',
        'package-lock.json',
      ])
        expect(guarded).toContain(pattern);
    },
  );

  test.each([
    ['{input_usd: 4, output_usd: 15}', [4, 15, 4, 5]],
    ['{input_usd: 4, output_usd: 15, cacheRead_usd: 0.4, cacheWrite_usd: 0}', [4, 15, 0.4, 0]],
    ['{output_usd: 15}', [null, 15, null, null]],
  ])('prices of the cache that are not said, from the price of input: %s', (entry, prices) => {
    const { input_usd, output_usd, cacheRead_usd, cacheWrite_usd } = modelEntry(
      config(`models: {m: ${entry}}`),
      'm',
    );
    expect([input_usd, output_usd, cacheRead_usd, cacheWrite_usd]).toEqual(prices);
  });

  test('every key', () => {
    const read = config(
      [
        'model: claude-opus-4-5',
        'routes:\n  - {category: docs, model: claude-haiku-4-5}\n  - {complexity: high, model: claude-opus-4-5, outputBudget_tokens: 32000}',
        'models:\n  llama3: {context_tokens: 8192, maxOutput_tokens: 4096, input_usd: 0, output_usd: 0}\n  claude-sonnet-4-5: {input_usd: 2.5}\n  other: {input_usd: null}',
        'formats: {unified-diff: false}',
        'tolerances: {indent: true, counts: false}',
        'rules: [docs/style.md]',
        'hints: [Use tabs]',
        'test: npm test',
        'commit: true',
        'commitBody: request',
        'hooks: false',
        'sign: true',
        'approval: auto',
        'protected: ["infra/**", "!package.json"]',
        'approvers: signers',
        'formatCommand: npx prettier --write {file}',
        'encodings: [{pattern: "*.sql", encoding: latin1}]',
        'env: [DATABASE_URL, GITHUB_TOKEN]',
        'repair: false',
        'requireCompleteSentinel: false',
        'audit: claude-opus-4-5',
        'sandbox: {network: true, read: [~/.x, /opt/y], write: [reports/, ~/out], memory_mib: 512, disk_mib: 16}',
        'verify: after_approval',
        'limits: {maxFilesBeforeSplit: 3}',
      ].join('\n'),
    );
    expect(read.routes).toEqual([
      { category: 'docs', model: 'claude-haiku-4-5' },
      { complexity: 'high', model: 'claude-opus-4-5', outputBudget_tokens: 32_000 },
    ]);
    expect(read.models.llama3).toEqual({
      input_usd: 0,
      output_usd: 0,
      cacheRead_usd: 0,
      cacheWrite_usd: 0,
      priced: { source: 'emend.yaml', date: null },
      thinking: 'none',
      context_tokens: 8192,
      maxOutput_tokens: 4096,
    });
    expect(read.models['claude-sonnet-4-5']).toMatchObject({ input_usd: 2.5, output_usd: 15 });
    expect(read.formats).toEqual({
      'whole-file': true,
      'unified-diff': false,
      'structured-edit': true,
      'search-replace': true,
    });
    expect(read.tolerances).toEqual({ indent: true, counts: false });
    // Who may approve is protected, whatever is taken out.
    expect(read.protected.slice(-4)).toEqual([
      'infra/**',
      '!package.json',
      '# it defines who may approve',
      '/signers',
    ]);
    expect(read).toMatchObject({
      model: 'claude-opus-4-5',
      rules: ['docs/style.md'],
      hints: ['Use tabs'],
      test: ['npm test'],
      commit: true,
      commitBody: 'request',
      hooks: false,
      sign: true,
      approval: 'auto',
      formatCommand: 'npx prettier --write {file}',
      encodings: [{ pattern: '*.sql', encoding: 'latin1' }],
      env: ['DATABASE_URL', 'GITHUB_TOKEN'],
      repair: false,
      requireCompleteSentinel: false,
      audit: { model: 'claude-opus-4-5', when: 'after_tests' },
      sandbox: {
        network: true,
        read: ['~/.x', '/opt/y'],
        write: ['reports/', '~/out'],
        memory_mib: 512,
        disk_mib: 16,
        processes: null,
      },
      verify: 'after_approval',
      limits: { maxFilesBeforeSplit: 3 },
    });
  });

  test.each([
    ['modl: x', '1: modl', ['unknown key', '`model`']],
    [
      'model: claude\nlimits:\n  maxAttemptPerFile: 2',
      '3: limits.maxAttemptPerFile',
      ['`maxAttemptsPerFile`'],
    ],
    ['limits:\n  concurrency: 0', '2: limits.concurrency', ['from 1 to 32']],
    [
      'limits:\n  maxLinesFullFile: 900\n  maxLinesDiff: 800',
      '2: limits.maxLinesFullFile',
      ['at most `maxLinesDiff` (800)', 'received 900'],
    ],
    [
      'routes:\n  - model: m\n  - category: docs',
      '3: routes.1.model',
      ['expected the name of a model', 'received nothing'],
    ],
    [
      'routes:\n  - {model: m, complexity: hard}',
      '2: routes.0.complexity',
      ['one of low, medium, high', '"hard"'],
    ],
    [
      'routes:\n  - {model: m, budget: 3}',
      '2: routes.0.budget',
      ['unknown key', 'did you mean `outputBudget_tokens`?'],
    ],
    ['routes: {model: m}', '1: routes', ['a list of routes', 'a map']],
    ['models:\n  m:\n    input: 3', '3: models.m.input', ['unknown key']],
    [
      'models:\n  m:\n    input_usd: -3',
      '3: models.m.input_usd',
      ['US dollars per million tokens', '-3'],
    ],
    [
      'models:\n  m:\n    context_tokens: many',
      '3: models.m.context_tokens',
      ['a whole number of tokens', '"many"'],
    ],
    ['formats: {whole-files: false}', '1: formats.whole-files', ['`whole-file`']],
    [
      'formats: {whole-file: false, unified-diff: false, structured-edit: false, search-replace: false}',
      '1: formats',
      ['at least one format'],
    ],
    ['tolerances: {fuzzy: true}', '1: tolerances.fuzzy', ['unknown key']],
    ['tolerances: {indent: 3}', '1: tolerances.indent', ['true or false', '3']],
    ['rules: [../x.md]', '1: rules.0', ['inside the workspace']],
    ['hints: Use tabs', '1: hints', ['a list of hints']],
    ['commit: a message', '1: commit', ['true or false', '"a message"']],
    ['approval: never', '1: approval', ['one of ask, auto']],
    ['protected: [""]', '1: protected.0', ['a gitignore-style pattern']],
    [
      'encodings:\n  - {pattern: "*.x", encoding: klingon}',
      '2: encodings.0.encoding',
      ['a single-byte encoding', '"klingon"'],
    ],
    [
      'encodings:\n  - {pattern: "*.x", encoding: shift_jis}',
      '2: encodings.0.encoding',
      ['a single-byte encoding'],
    ],
    ['encodings: {"*.x": latin1}', '1: encodings', ['a list of maps']],
    ['env: [DATABASE_URL, ANTHROPIC_API_KEY]', '1: env.1', ['none of ANTHROPIC']],
    ['env: [emend_home]', '1: env.0', ['none of ANTHROPIC']],
    ['env: ["A=B"]', '1: env.0', ['the name of a variable']],
    ['sandbox: maybe', '1: sandbox', ['on, off, or a map']],
    ['sandbox: {netwrk: true}', '1: sandbox.netwrk', ['did you mean `network`']],
    ['sandbox: {read: [../x]}', '1: sandbox.read.0', ['an absolute path']],
    ['sandbox: {read: [reports]}', '1: sandbox.read.0', ['an absolute path', '"reports"']],
    ['sandbox:\n  write: [reports, ""]', '2: sandbox.write.1', ['a path that is not empty']],
    ['sandbox: {write: ["a\\0b"]}', '1: sandbox.write.0', ['without NUL']],
    ['sandbox: {write: [3]}', '1: sandbox', ['on, off, or a map']],
    ['sandbox: {write: [.]}', '1: sandbox.write.0', ['not the workspace itself']],
    ['sandbox: {write: [./]}', '1: sandbox.write.0', ['not the workspace itself']],
    ['sandbox: {write: [a/..]}', '1: sandbox.write.0', ['without ".."']],
    ['sandbox: {write: [a/../reports]}', '1: sandbox.write.0', ['without ".."']],
    ['sandbox: {write: [../reports]}', '1: sandbox.write.0', ['a path inside the workspace']],
    ['sandbox: {write: [/a/../b]}', '1: sandbox.write.0', ['an absolute path']],
    ['sandbox: {write: [~user]}', '1: sandbox.write.0', ['does not start with "~"']],
    ['sandbox: {write: [docs/.git/hooks]}', '1: sandbox.write.0', ['a path outside .git']],
    ['sandbox: {write: [/srv/app/.GIT]}', '1: sandbox.write.0', ['a path outside .git']],
    ['sandbox: {write: [node_modules/.cache]}', '1: sandbox.write.0', ['dependency folders']],
    ['sandbox: {write: [ios/Pods/]}', '1: sandbox.write.0', ['dependency folders']],
    ['sandbox: {write: [emend.yaml]}', '1: sandbox.write.0', ['(models and agents follow it)']],
    ['sandbox: {write: [.env]}', '1: sandbox.write.0', ['not protected']],
    ['sandbox: {write: [package.json]}', '1: sandbox.write.0', ['(package managers use it)']],
    ['sandbox: {write: [.github]}', '1: sandbox.write.0', ['runs it)']],
    ['sandbox: {write: [.github/]}', '1: sandbox.write.0', ['runs it)']],
    ['sandbox: {write: [.github/workflows/x]}', '1: sandbox.write.0', ['runs it)']],
    ['sandbox: {write: [jobs]}', '1: sandbox.write.0', ['(Emend obeys it)', '"jobs"']],
    ['sandbox: {write: [a/plans/]}', '1: sandbox.write.0', ['(Emend obeys it)']],
    ['sandbox: {write: [review.yaml]}', '1: sandbox.write.0', ['(Emend obeys it)']],
    ['sandbox: {write: [build]}', '1: sandbox.write.0', ['or a folder with "/" at its end']],
    [
      'approvers: keys/who\nsandbox: {write: [./keys/who]}',
      '2: sandbox.write.0',
      ['(it defines who may approve)', '"./keys/who"'],
    ],
    [
      'protected: [infra/**]\nsandbox: {write: [reports, infra/out]}',
      '2: sandbox.write.1',
      ['(`protected` in emend.yaml lists it)'],
    ],
    ['sandbox: {disk_mib: 15}', '1: sandbox.disk_mib', ['a whole number from 16 to 1048576']],
    ['sandbox: {disk_mib: 1048577}', '1: sandbox.disk_mib', ['from 16 to 1048576']],
    ['sandbox: {disk_mib: 16.5}', '1: sandbox.disk_mib', ['a whole number']],
    [
      'verify: after_apply',
      '1: verify',
      ['one of before_approval, after_approval', '"after_apply"'],
    ],
    ['requireCompleteSentinel: never', '1: requireCompleteSentinel', ['true or false']],
    ['audit: yes', '1: audit', ['the name of a model, a map of model and when']],
    ['audit: true', '1: audit', ['the name of a model, a map of model and when']],
    [
      'audit: {model: m, when: later}',
      '1: audit',
      ['a map of model and when (after_tests or before_approval)'],
    ],
    ['audit: {when: after_tests}', '1: audit', ['the name of a model']],
    ['audit: {model: m, wen: after_tests}', '1: audit.wen', ['did you mean `when`']],
    ['model:', '1: model', ['the name of a model', 'nothing']],
    ['commit:', '1: commit', ['received nothing']],
    ['- a', '1', ['a map of keys']],
    ['a: [', '1:5', ['bad YAML']],
  ])('%j is refused at %s', (source, at, says) => {
    const read = parseConfig(source);
    const problems = read.ok ? [] : read.problems;
    expect(problems).toHaveLength(1);
    expect(problems[0]?.code).toBe('config_invalid');
    expect(problems[0]?.message.startsWith(`emend.yaml:${at}: `)).toBe(true);
    for (const words of says) expect(problems[0]?.message).toContain(words);
  });
});

describe('modelEntry', () => {
  const known = config(null);
  test.each([
    ['claude-opus-4-5', 5],
    ['claude-opus-4-5-20251101', 5],
    ['claude-haiku-4-5-latest', 1],
    ['claude-opus-4-55', null],
    ['toString', null],
  ])('%s', (model, input_usd) => {
    expect(modelEntry(known, model).input_usd).toBe(input_usd);
  });
});
