import { describe, expect, test } from '@jest/globals';
import { listing } from '../../../src/edits/index.js';
import {
  buildEditRequest,
  type EditPromptInput,
  UNFINISHED_ASKED,
} from '../../../src/model/prompts/edit.js';
import { estimateRequestTokens } from '../../../src/model/tokens.js';
import { FORMATS } from '../../../src/shared/formats.js';
import { allText, blocksOf, editInput, lastNonceWord, NONCE, textOf } from './support.js';

/** An input with every part there is. */
const full = (changes: Partial<EditPromptInput> = {}): EditPromptInput =>
  editInput({
    files: [
      { path: 'src/a.ts', text: textOf('one\ntwo\nthree\n') },
      { path: 'src/new file.ts', text: null },
    ],
    rules: [{ path: 'CLAUDE.md', content: 'Use tabs.' }],
    hints: ['Node 20'],
    context: [{ path: 'docs/cli.md', content: 'The manual' }],
    brief: 'Shared: SHOUT',
    accepted: [{ path: 'src/b.ts', diff: '--- a/src/b.ts\n+++ b/src/b.ts\n' }],
    note: 'Not in the comment, please',
    refusal: {
      kind: 'refused',
      reasons: '1. src/a.ts: FIND stands nowhere (find_absent)',
      answer: 'FILE src/a.ts aaaaaaaa\nONE\nEND FILE aaaaaaaa\nEMEND-COMPLETE aaaaaaaa 1 1',
    },
    ...changes,
  });

describe.each(FORMATS)('%s', (format) => {
  const built = buildEditRequest(full({ format }));
  const request = built.request(NONCE);

  test('the nonce stands in the last block alone, and is the last word of 8 hex digits', () => {
    const blocks = blocksOf(request);
    expect(blocks.at(-1)?.text).toContain(NONCE);
    expect(
      [...request.system, ...blocks.slice(0, -1)].map((block) => block.text).join('\n'),
    ).not.toContain(NONCE);
    expect(lastNonceWord(request)).toBe(NONCE);
  });

  test('another nonce changes the last block alone', () => {
    const other = built.request('f'.repeat(8));
    expect({ ...other, messages: [blocksOf(other).slice(0, -1)] }).toEqual({
      ...request,
      messages: [blocksOf(request).slice(0, -1)],
    });
    expect(blocksOf(other).at(-1)?.text).toBe(
      blocksOf(request).at(-1)?.text.replaceAll(NONCE, 'f'.repeat(8)),
    );
  });

  test('the haystack is the whole request but the last block', () => {
    for (const block of [...request.system, ...blocksOf(request).slice(0, -1)])
      expect(built.haystack).toContain(block.text);
    expect(built.haystack).not.toContain(NONCE);
  });

  test('the literal lines of the form stand in the last block', () => {
    const lines = {
      'whole-file': [
        `FILE src/a.ts ${NONCE}`,
        `FILE src/new file.ts ${NONCE}`,
        `END FILE ${NONCE}`,
        `EMEND-COMPLETE ${NONCE} 1 1`,
      ],
      'unified-diff': [`EMEND-COMPLETE ${NONCE} 1 1`],
      'structured-edit': [`"complete": true, "nonce": "${NONCE}"}`],
      'search-replace': [`END ${NONCE}`, `EMEND-COMPLETE ${NONCE} 1 1`],
    }[format];
    const tail = blocksOf(request).at(-1)?.text.split('\n');
    expect(tail).toEqual(expect.arrayContaining(lines));
    expect(tail?.at(-1)).toBe(lines.at(-1));
  });

  test('four cache marks: what follows the last one changes with each call', () => {
    const all = [...request.system, ...blocksOf(request)];
    expect(all.map((block) => block.cache_control !== undefined)).toEqual([
      true,
      true,
      true,
      true,
      false,
      false,
    ]);
    const marked = ['Form of the answer', 'Use tabs.', 'three', 'Say two louder'];
    for (const [at, words] of marked.entries()) expect(all[at]?.text).toContain(words);
    for (const words of ['Not in the comment', 'find_absent', NONCE]) {
      expect(all.slice(0, 4).some(({ text }) => text.includes(words))).toBe(false);
      expect(all.slice(4).some(({ text }) => text.includes(words))).toBe(true);
    }
  });

  test('everything that was given is told', () => {
    const text = allText(request);
    for (const words of [
      'Use tabs.',
      '- Node 20',
      'The manual',
      '# Say two louder',
      'Shared: SHOUT',
      '+++ b/src/b.ts',
      'Not in the comment, please',
    ])
      expect(text).toContain(words);
    for (const path of ['src/a.ts', 'src/new file.ts'])
      expect(blocksOf(request).at(-3)?.text).toContain(`- ${path}\n`);
    expect(text).toContain('## src/new file.ts (does not exist yet; create it)');
  });

  test('the last refusal is shown with the refused answer, without its nonce', () => {
    const text = allText(request);
    for (const words of [
      'FIND stands nowhere (find_absent)',
      'FILE src/a.ts NONCE\nONE\nEND FILE NONCE\nEMEND-COMPLETE NONCE 1 1',
      'answer again, in full, from the original',
    ])
      expect(text).toContain(words);
    expect(text).not.toContain('aaaaaaaa');
  });

  test('after failed tests: the original, the failed edit and what the tests said', () => {
    const failed = {
      kind: 'tests_failed',
      reasons: 'npm test: exit 1; expected 2, got 3',
      answer: '--- a/src/a.ts\n+++ b/src/a.ts\n-one\n+ONE\n',
    } as const;
    const text = allText(buildEditRequest(full({ format, refusal: failed })).request(NONCE));
    for (const words of [
      'three',
      '# The tests failed with your last edit',
      'The failed edit:\n```\n--- a/src/a.ts\n+++ b/src/a.ts\n-one\n+ONE\n```',
      'What the tests said:\nnpm test: exit 1; expected 2, got 3',
      'answer again, in full, from the original',
    ])
      expect(text).toContain(words);
    expect(text).not.toContain('refused');
  });

  test('model, budget, no window', () => {
    expect(request).toMatchObject({ model: 'claude-sonnet-4-5', max_tokens: 16_384 });
    expect(request.messages.map((message) => message.role)).toEqual(['user']);
    expect([...built.seen]).toEqual([]);
    expect(built.omitted).toEqual([]);
  });

  test('a bare input has no empty block', () => {
    for (const block of blocksOf(buildEditRequest(editInput({ format })).request(NONCE)))
      expect(block.text.trim()).not.toBe('');
  });

  test('the example speaks of no file of the task', () => {
    expect(request.system[0]?.text).toContain(
      format === 'unified-diff' ? '+++ b/example-only/menu.txt' : 'example-only/menu.txt',
    );
    expect(request.system[0]?.text).not.toContain('src/');
  });
});

test('operations name their file where an answer may be about several', () => {
  const names = (changes: Partial<EditPromptInput>): boolean => {
    const { system } = buildEditRequest(
      editInput({ format: 'structured-edit', ...changes }),
    ).request(NONCE);
    const said = (system[0]?.text ?? '').match(/file_path/g)?.length ?? 0;
    expect([0, 4]).toContain(said);
    return said > 0;
  };
  expect(names({})).toBe(false);
  expect(names({ create: ['docs/**'] })).toBe(true);
  expect(names({ files: full().files })).toBe(true);
});

describe('how files are shown', () => {
  const content = 'a\tb\n```\nc\n````\n';
  test('structured-edit lists numbers and checks', () => {
    const text = allText(
      buildEditRequest(
        editInput({ format: 'structured-edit', files: [{ path: 'a', text: textOf(content) }] }),
      ).request(NONCE),
    );
    expect(text).toContain(`\n\`\`\`\`\`\n${listing(textOf(content))}\`\`\`\`\`\n`);
  });
  test.each(['whole-file', 'unified-diff', 'search-replace'] as const)(
    '%s shows the text as it is, in a fence that it cannot close',
    (format) => {
      const text = allText(
        buildEditRequest(
          editInput({ format, files: [{ path: 'a', text: textOf(content) }] }),
        ).request(NONCE),
      );
      expect(text).toContain(`## a (4 lines)\n\`\`\`\`\`\n${content}\`\`\`\`\`\n`);
    },
  );
  test('what is said of ends and of empty files', () => {
    const files = [
      { path: 'a', text: textOf('x\r\ny') },
      { path: 'b', text: textOf('') },
      { path: 'c', text: textOf('x\n') },
    ];
    const text = allText(buildEditRequest(editInput({ files })).request(NONCE));
    expect(text).toContain('## a (2 lines, the last without a line end)\n```\nx\ny\n```');
    expect(text).toContain('## b (an empty file)');
    expect(text).toContain('## c (1 line)');
  });
  test('a context file that is offered for editing is not shown twice', () => {
    const text = allText(
      buildEditRequest(editInput({ context: [{ path: 'src/a.ts', content: 'OLD' }] })).request(
        NONCE,
      ),
    );
    expect(text).not.toContain('OLD');
  });
});

describe('a second call of a step', () => {
  const lines = Array.from(
    { length: 3000 },
    (_, at) => `  work(${at}, 'some text that takes its room');`,
  );
  const large = { path: 'src/a.ts', text: textOf(lines.join('\n')) };
  const refusal = {
    kind: 'refused',
    reasons: 'FIND stands nowhere, see line 1500',
    answer: 'x\n'.repeat(500),
  } as const;
  const marked = (changes: Partial<EditPromptInput>): string => {
    const { system, messages } = buildEditRequest(editInput(changes)).request(NONCE);
    const all = [...system, ...messages.flatMap(({ content }) => content)];
    return JSON.stringify(
      all.slice(0, 1 + all.findLastIndex(({ cache_control }) => cache_control !== undefined)),
    );
  };
  const wantedLines = new Map([['src/a.ts', [[1700, 1710]] as const]]);
  test.each(FORMATS)('has the same bytes up to its last cache mark (%s)', (format) => {
    for (const first of [{ format }, { format, files: [large], inputBudget_tokens: 30_000 }]) {
      const before = marked(first);
      expect(before).toContain('Say two louder');
      for (const next of [{ refusal }, { note: 'Mind line 2500' }, { wantedLines }])
        expect(marked({ ...first, ...next })).toBe(before);
    }
  });

  test('lines that are asked for, or that a note or a refusal names, stand beside those that were shown', () => {
    const first = {
      format: 'structured-edit',
      files: [large],
      inputBudget_tokens: 30_000,
    } as const;
    const seenIn = (changes: Partial<EditPromptInput>, line: number): boolean => {
      const built = buildEditRequest(editInput({ ...first, ...changes }));
      const listed =
        allText(built.request(NONCE)).match(new RegExp(`^${line}[a-z]{3}\\|`, 'gm'))?.length ?? 0;
      const ranges = built.seen.get('src/a.ts') ?? [];
      expect(listed).toBe(ranges.some(([from, to]) => from <= line && line <= to) ? 1 : 0);
      return listed === 1;
    };
    for (const line of [1700, 1710, 2500, 1500]) expect(seenIn({}, line)).toBe(false);
    for (const line of [10, 1700, 1710]) expect(seenIn({ wantedLines }, line)).toBe(true);
    for (const line of [10, 2500]) expect(seenIn({ note: 'Mind line 2500' }, line)).toBe(true);
    for (const line of [10, 1500]) expect(seenIn({ refusal }, line)).toBe(true);
  });

  test("of a refused answer the lines that are the file's own are shown at the ends of their runs alone", () => {
    const own = Array.from({ length: 100 }, (_, at) => `line ${at + 1}`);
    const answer = ['FILE src/a.ts NONCE', ...own.with(49, 'LINE 50'), 'END FILE NONCE'].join('\n');
    const files = [
      { path: 'src/a.ts', text: textOf(own.join('\n')) },
      { path: 'b', text: null },
    ];
    const text = allText(
      buildEditRequest(editInput({ files, refusal: { ...refusal, answer } })).request(NONCE),
    );
    const told = text.slice(text.indexOf('The refused answer'));
    const left = '[… 41 lines of src/a.ts, left out here alone …]';
    expect(told).toContain(
      [
        'FILE src/a.ts NONCE',
        ...own.slice(0, 4),
        left,
        ...own.slice(45, 49),
        'LINE 50',
        ...own.slice(50, 54),
      ].join('\n'),
    );
    expect(told.split('\n').length).toBeLessThan(40);
  });
});

describe('files that do not fit', () => {
  const lines = Array.from({ length: 5000 }, (_, i) =>
    i === 3210 ? '  const bananaPeel = 1;' : `  work(${i}, 'some text that takes its room');`,
  );
  const large = { path: 'src/large.ts', text: textOf(lines.join('\n')) };
  const instructions = 'Rename `bananaPeel` to `skin`.';

  test.each(['structured-edit', 'unified-diff', 'search-replace'] as const)(
    '%s shows windows, and says which',
    (format) => {
      const inputBudget_tokens = 8000;
      const built = buildEditRequest(
        editInput({ format, instructions, inputBudget_tokens, files: [large] }),
      );
      const ranges = built.seen.get('src/large.ts') ?? [];
      expect(ranges.some(([from, to]) => from <= 3211 && 3211 <= to)).toBe(true);
      const text = allText(built.request(NONCE));
      expect(text).toContain('const bananaPeel = 1;');
      expect(text).toContain('only a part of them is shown');
      expect(text).not.toContain('work(2000,');
      expect(estimateRequestTokens(built.request(NONCE))).toBeLessThan(inputBudget_tokens);
      expect(text).toContain('work(0,');
    },
  );
  test('a listing with checks weighs 6 tokens a line more than its text', () => {
    const files = [{ path: 'src/large.ts', text: textOf(`${'x'.repeat(40)}\n`.repeat(400)) }];
    const seen = (format: EditPromptInput['format']): number =>
      buildEditRequest(editInput({ format, instructions, inputBudget_tokens: 6900, files })).seen
        .size;
    expect({ plain: seen('unified-diff'), checked: seen('structured-edit') }).toEqual({
      plain: 0,
      checked: 1,
    });
  });
  test('without a budget everything is shown', () => {
    const files = [{ path: 'src/large.ts', text: textOf(`${'x'.repeat(40)}\n`.repeat(400)) }];
    const built = buildEditRequest(
      editInput({ format: 'structured-edit', inputBudget_tokens: Infinity, files }),
    );
    expect(built.seen.size).toBe(0);
    expect(allText(built.request(NONCE))).toMatch(/^400[a-z]{3}\|/m);
  });
  test('a small file beside it stays whole', () => {
    const files = [large, { path: 'src/a.ts', text: textOf('one\n') }];
    const built = buildEditRequest(
      editInput({ format: 'structured-edit', instructions, inputBudget_tokens: 8000, files }),
    );
    expect([...built.seen.keys()]).toEqual(['src/large.ts']);
  });
  test('whole-file needs the whole file, whatever it weighs', () => {
    const built = buildEditRequest(
      editInput({ instructions, inputBudget_tokens: 8000, files: [large] }),
    );
    expect(built.seen.size).toBe(0);
    expect(allText(built.request(NONCE))).toContain('work(2000,');
    expect(estimateRequestTokens(built.request(NONCE))).toBeGreaterThan(8000);
  });
  test('context files that do not fit are left out and named', () => {
    const context = [
      { path: 'small.md', content: 'SMALL' },
      { path: 'huge.md', content: 'HUGE word '.repeat(20_000) },
      { path: 'last.md', content: 'LAST' },
    ];
    const built = buildEditRequest(editInput({ inputBudget_tokens: 8000, context }));
    expect(built.omitted).toEqual(['huge.md']);
    const text = allText(built.request(NONCE));
    expect(text).toContain('SMALL');
    expect(text).toContain('LAST');
    expect(text).not.toContain('HUGE');
  });
  test('a refused answer and accepted diffs are bounded', () => {
    const answer = `START${'x y '.repeat(50_000)}FINISH`;
    const accepted = ['old', 'new'].map((name) => ({
      path: `${name}.ts`,
      diff: `${name} ${'d '.repeat(20_000)}`,
    }));
    const text = allText(
      buildEditRequest(
        editInput({ refusal: { kind: 'refused', reasons: 'why', answer }, accepted }),
      ).request(NONCE),
    );
    for (const words of [
      'START',
      'FINISH',
      'bytes left out here',
      'left out for their size: old.ts',
      'new d d',
    ])
      expect(text).toContain(words);
    expect(text.length).toBeLessThan(130_000);
  });
});

test.each(FORMATS)('%s is told that no other file may be made or deleted', (format) => {
  const text = buildEditRequest(editInput({ format })).request(NONCE).system[0]?.text ?? '';
  expect(text).toContain('Do not create files that are not listed');
  expect(text).toContain('Do not delete files');
});

test('a job that asks what is left undone is told where to say it', () => {
  const system = (instructions: string): string =>
    buildEditRequest(editInput({ instructions })).request(NONCE).system[0]?.text ?? '';
  expect(system(`1. Write it\n\n${UNFINISHED_ASKED}`)).toContain(
    'Nothing before the answer but the `NOT DONE` lines',
  );
  expect(system('1. Write it')).toContain('Nothing before the answer, nothing after it.');
});

test('a binary file is named, and nothing of it is shown', () => {
  const file = { path: 'logo.png', text: null, binary_bytes: 1234 };
  const prompt = buildEditRequest(full({ format: 'unified-diff', files: [file], create: true }));
  const text = allText(prompt.request(NONCE));
  expect(text).toContain(
    '## logo.png (a binary file of 1234 bytes: it may be renamed, its content may not change)\n',
  );
  expect(text).toContain('`rename from <path>`');
});

test.each(FORMATS)(
  '%s: where files may be created nothing forbids it, and the rest is as it was',
  (format) => {
    const text = (changes: Partial<EditPromptInput>) =>
      allText(buildEditRequest(full({ format, ...changes })).request(NONCE));
    const [plain, created] = [text({}), text({ create: ['docs/**'] })];
    const may =
      /Where the task needs a file that does not exist yet, create it[^\n]*docs\/\*\*\. Change no other file that is not listed\.(?<rename> To rename a listed file, [^\n]*)?/;
    expect(created).not.toContain('Do not create');
    expect(created.replace(may, 'Do not create files that are not listed as files to edit.')).toBe(
      plain,
    );
    expect(text({ create: false })).toBe(plain);
    // The others have no words for a rename.
    expect(may.exec(created)?.groups?.rename !== undefined).toBe(format === 'unified-diff');
  },
);
