import { describe, expect, test } from '@jest/globals';
import { effectiveMode, parseJob } from '../../../src/documents/job/job.js';
import type { Job } from '../../../src/documents/job/types.js';
import { BAD_JOBS } from './bad-jobs.js';

const job = (front: string, body = '# Do it\n'): Job => {
  const read = parseJob(`---\n${front}\n---\n${body}`, 'jobs/a.md');
  if (!read.ok) throw new Error(read.problems.map((p) => p.message).join('\n'));
  return read.value;
};
const problemsOf = (source: string, path = 'jobs/a.md') => {
  const read = parseJob(source, path);
  return read.ok ? [] : read.problems;
};

describe('bad job files', () => {
  test.each(BAD_JOBS)('$name', ({ front, source, path = 'jobs/a.md', at, key, says }) => {
    const problems = problemsOf(source ?? `---\n${front ?? ''}\n---\n# Do it\n`, path);
    expect(problems.map((p) => p.code)).toEqual(problems.map(() => 'job_invalid'));
    const start = `${path}:${at}: ${key === undefined ? '' : `${key}: `}`;
    const message = problems.map((p) => p.message).find((m) => m.startsWith(start));
    expect(problems.map((p) => p.message)).toContain(message);
    for (const words of says) expect(message).toContain(words);
    expect(problems).toHaveLength(1);
  });

  test('every problem is told at once', () => {
    const source =
      '---\nmode: edits\ntarget_files: [/a, ../b]\nmodle: x\nlimits: {concurrency: 0, nope: 1}\n---\n\n';
    const keys = problemsOf(source).map((p) => p.message.replace(/: (expected|unknown key).*/, ''));
    expect(keys).toEqual([
      'jobs/a.md:2: mode',
      'jobs/a.md:3: target_files.0',
      'jobs/a.md:3: target_files.1',
      'jobs/a.md:4: modle',
      'jobs/a.md:5: limits.concurrency',
      'jobs/a.md:5: limits.nope',
      'jobs/a.md:7: expected instructions in Markdown below the front matter, received nothing'.replace(
        /: expected.*/,
        '',
      ),
    ]);
  });

  test('a bad output key is not also called missing', () => {
    expect(
      problemsOf('---\nmode: standard\noutput_dir: /x\n---\n# Do it\n').map((p) => p.message),
    ).toEqual([
      'jobs/a.md:3: output_dir: expected a path relative to the workspace, not absolute, received "/x"',
    ]);
  });

  test('nesting deeper than the stack is a problem, not a crash', () => {
    expect(problemsOf(`---\nmode: ${'['.repeat(50_000)}\n---\n# Do it\n`)[0]?.code).toBe(
      'job_invalid',
    );
  });

  test('an alias bomb is a problem, not a crash', () => {
    const bomb = [
      'a: &a [x,x,x,x,x,x,x,x,x]',
      ...'bcdefgh'
        .split('')
        .map((c, i) => `${c}: &${c} [${Array(9).fill(`*${'abcdefg'[i]}`).join(',')}]`),
    ].join('\n');
    expect(problemsOf(`---\n${bomb}\n---\n# Do it\n`)[0]?.message).toContain('bad YAML');
  });
});

describe('good job files', () => {
  test('every key', () => {
    const read = job(
      [
        'mode: edit',
        'target_files: [./src//a.ts, src/b.ts]',
        'context_files:\n  - docs/x.md',
        'output_dir: src/',
        'output_files: [a.ts]',
        'format: unified-diff',
        'category: refactor',
        'complexity: high',
        'test: [npm test, npm run lint]',
        'commit: "Add a flag"',
        'approval: auto',
        'model: claude-opus-4-5',
        'final_newline: true',
        'repair: false',
        'secrets: send',
        'requireCompleteSentinel: false',
        'audit: {model: m, when: before_approval}',
        'sandbox: off',
        'limits: {maxTotalChunks: 20}',
        'budget_usd: 1.5',
        'effort: max',
      ].join('\n'),
      '\n# Add the flag ##\n\nText\r\n',
    );
    const { lines, ...rest } = read;
    expect(rest).toEqual({
      v: 1,
      base: null,
      repository: null,
      baseline: null,
      create: null,
      context: null,
      verify: null,
      path: 'jobs/a.md',
      title: 'Add the flag',
      instructions: '\n# Add the flag ##\n\nText\r\n',
      mode: 'edit',
      targetFiles: ['src/a.ts', 'src/b.ts'],
      newFiles: [],
      deleteFiles: [],
      contextFiles: ['docs/x.md'],
      outputFiles: ['src/a.ts'],
      outputDir: 'src',
      format: 'unified-diff',
      category: 'refactor',
      complexity: 'high',
      effort: 'max',
      test: ['npm test', 'npm run lint'],
      commit: 'Add a flag',
      approval: 'auto',
      model: 'claude-opus-4-5',
      finalNewline: true,
      repair: false,
      secrets: 'send',
      requireCompleteSentinel: false,
      audit: { model: 'm', when: 'before_approval' },
      sandbox: 'off',
      limits: { maxTotalChunks: 20, budget_usd: 1.5 },
    });
    expect(lines).toMatchObject({
      mode: 2,
      target_files: 3,
      'target_files.1': 3,
      context_files: 4,
      'context_files.0': 5,
      budget_usd: 22,
    });
  });

  test('plain Markdown is a job with no settings', () => {
    const read = parseJob('Rename `a` to `b` in src/a.ts\n', 'rename it.markdown');
    expect(read).toMatchObject({
      ok: true,
      value: {
        title: 'rename it',
        mode: null,
        targetFiles: [],
        test: null,
        commit: null,
        limits: {},
        lines: {},
      },
    });
  });

  test.each([
    ['a string', 'test: npm test', ['npm test']],
    ['auto', 'test: auto', 'auto'],
    ['false', 'test: false', []],
    ['an empty list', 'test: []', []],
    ['not said', 'mode: edit', null],
  ])('test: %s', (_, front, wanted) => {
    expect(job(front).test).toEqual(wanted);
  });

  test.each([
    ['a BOM and CRLF', '\uFEFF---\r\nmode: edit\r\n---\r\n# Do it\r\n', '# Do it\r\n'],
    ['line ends of an old Mac', '---\rmode: edit\r---\r# Do it\r', '# Do it\r'],
    ['a rule below a blank line', '\n---\n# Do it\n', '\n---\n# Do it\n'],
    ['`...` as the end', '---\nmode: edit\n...\n# Do it', '# Do it'],
    ['empty front matter', '---\n---\n# Do it\n---\n', '# Do it\n---\n'],
    ['a rule further down', '# Do it\n\n---\n\nMore\n', '# Do it\n\n---\n\nMore\n'],
  ])('%s', (_, source, instructions) => {
    expect(parseJob(source, 'a.md')).toMatchObject({
      ok: true,
      value: { instructions, title: 'Do it' },
    });
  });

  test('the title is the first heading outside a fence', () => {
    expect(job('mode: edit', '```sh\n# not this\n```\n## `x` and *y*\n').title).toBe('`x` and *y*');
  });

  test('output keys beside mode edit, as jobs for other runners have them', () => {
    const read = job(
      'mode: edit\ntarget_files:\n  - src/main.rs\n  - src/commands/run.rs\noutput_dir: src/\noutput_file: main.rs',
    );
    expect(read).toMatchObject({
      mode: 'edit',
      outputFiles: ['src/main.rs'],
      targetFiles: ['src/main.rs', 'src/commands/run.rs'],
    });
  });

  test.each([
    ['output_file: a.ts', 'standard'],
    ['output_dir: src', 'standard'],
    ['output_dir: .', 'standard'],
    ['mode: edit\noutput_file: a.ts', 'edit'],
    ['mode: sequential\noutput_files: [a.ts, b.ts]', 'sequential'],
    ['target_files: [a.ts]', null],
  ])('effective mode of %j', (front, wanted) => {
    expect(effectiveMode(job(front))).toBe(wanted);
  });
});
