/** Answers that mean harm: each is refused, or read in time and memory that grow with its length. A regular expression that explodes would not end. EMEND_LONG=1: all. */
import { describe, expect, test } from '@jest/globals';
import {
  applyAnswer,
  combinedDiff,
  detectFormat,
  nonceOf,
  wantedPaths,
  type AnswerOutcome,
} from '../../src/edits/index.js';
import { DIALECTS, FORMATS, type AnswerFormat } from '../../src/shared/formats.js';
import { BOUNDS } from '../../src/shared/limits.js';
import { sampled } from '../support/seeded.js';
import { longOnly, testIf } from '../support/skipped.js';
import { MAX_ANSWER_LINES } from '../../src/edits/answer-size.js';
import { REASONS_REPORTED } from '../../src/edits/apply-answer.js';

const ALL: readonly AnswerFormat[] = [...FORMATS, ...DIALECTS];
const utf8 = (text: string): Uint8Array => new TextEncoder().encode(text);

/** The edit of one line, or a file made, said in each format. */
const editOf: Record<AnswerFormat, (path: string, old: string, now: string) => string> = {
  'whole-file': (path, _old, now) => `FILE ${path}\n${now}\nEND FILE\n`,
  'unified-diff': (path, old, now) =>
    `--- a/${path}\n+++ b/${path}\n@@ -1 +1 @@\n-${old}\n+${now}\n`,
  'structured-edit': (path, _old, now) =>
    JSON.stringify({
      operations: [{ type: 'replace', file_path: path, start_line: 1, end_line: 1, content: now }],
    }),
  'search-replace': (path, old, now) => `FILE: ${path}\nFIND:\n${old}\nREPLACE:\n${now}\nEND\n`,
  'search-blocks': (path, old, now) =>
    `${path}\n<<<<<<< SEARCH\n${old}\n=======\n${now}\n>>>>>>> REPLACE\n`,
  'begin-patch': (path, old, now) =>
    `*** Begin Patch\n*** Update File: ${path}\n@@\n-${old}\n+${now}\n*** End Patch\n`,
  'string-replace': (path, old, now) =>
    JSON.stringify({ file_path: path, old_string: old, new_string: now }),
  'xml-call': (path, old, fresh) =>
    `<invoke name="str_replace">\n<parameter name="path">${path}</parameter>\n<parameter name="old_string">${old}</parameter>\n<parameter name="new_string">${fresh}</parameter>\n</invoke>\n`,
};
const makeOf: Record<AnswerFormat, (path: string) => string> = {
  'whole-file': (path) => `FILE ${path}\nx\nEND FILE\n`,
  'unified-diff': (path) => `--- /dev/null\n+++ b/${path}\n@@ -0,0 +1 @@\n+x\n`,
  'structured-edit': (path) =>
    JSON.stringify({ operations: [{ type: 'append', file_path: path, content: 'x' }] }),
  'search-replace': (path) => `FILE: ${path}\nFIND:\nREPLACE:\nx\nEND\n`,
  'search-blocks': (path) => `${path}\n<<<<<<< SEARCH\n=======\nx\n>>>>>>> REPLACE\n`,
  'begin-patch': (path) => `*** Begin Patch\n*** Add File: ${path}\n+x\n*** End Patch\n`,
  'string-replace': (path) => JSON.stringify({ file_path: path, old_string: '', new_string: 'x' }),
  'xml-call': (path) =>
    `<write_to_file>\n<path>${path}</path>\n<content>\nx\n</content>\n</write_to_file>\n`,
};
const FREE = { requireMarker: false, allowDelete: true, mayCreateUnder: [''] };

const HOSTILE = {
  'an absolute path': '/etc/passwd',
  'a doubled slash in front': '//etc/passwd',
  'the folder above': '../up.txt',
  'up again further on': 'a/b/../../../up.txt',
  'a NUL': 'a\0.txt',
  "git's folder": '.git/config',
  "git's folder, another case": '.GiT/hooks/post-checkout',
  "git's folder of a submodule": 'vendor/lib/.git/config',
  'the git file of a submodule': 'vendor/lib/.git',
  'a short name of it': 'GIT~1/config',
  'a trailing dot': '.git./config',
  'a stream of it': '.git::$INDEX_ALLOCATION/config',
  'a letter that some file systems drop': '.g\u200cit/config',
  'a drive': 'C:/Windows/x',
  'a drive without slash': 'c:x',
  backslashes: 'a\\..\\..\\x',
  'a share': '\\\\host\\share\\x',
  'the device con': 'con',
  'the device nul with an ending': 'src/NUL.txt',
  'a port with blanks': 'com1 .log',
  'a superscript port': 'lpt\u00b9.txt',
  'a carriage return inside': 'a\rb.txt',
  'a carriage return that hides the start': 'a.txt\r../../up.txt',
  'a line end inside': 'a\n../up.txt',
  'a carriage return before the slash': '..\r/up.txt',
  'a carriage return in the name of the git folder': '.git\r/config',
  'the console of Windows': 'CONOUT$',
  'a device with a stream': 'nul:x',
  'a device as a folder': 'aux/x.txt',
  'a share by slashes': '//?/C:/x',
  'a vertical line end of other scripts': 'a\u2028b.txt',
  'letters that turn the name round': 'a\u202etxt.exe',
  'a home': '~/x',
  'an escape': 'a\x1b[2J.txt',
  'five thousand characters': 'x'.repeat(5000),
} as const;

/** Every path that an outcome would write. */
const written = (outcome: AnswerOutcome): readonly string[] =>
  outcome.outcome === 'edited' ? [...outcome.files.keys()] : [];

describe.each(ALL)('%s: hostile paths', (format) => {
  test.each(Object.entries(HOSTILE))('%s', (_what, path) => {
    for (const answer of [
      makeOf[format](path),
      makeOf[format](path).replaceAll('\n', '\r\n'),
      editOf[format](path, 'x', 'y'),
    ]) {
      const outcome = applyAnswer({ format, answer, files: new Map(), options: FREE });
      // A line end in a path ends the line in text formats: what is left of it is another, harmless path or none.
      expect(written(outcome).filter((each) => each !== 'a' && each !== 'a.txt')).toEqual([]);
      if (!path.includes('\n'))
        expect({ answer, outcome: outcome.outcome }).not.toEqual({ answer, outcome: 'edited' });
    }
  });

  test('the same where the path was offered by its normal name', () => {
    const files = new Map([['.git/config', { bytes: utf8('x\n') }]]);
    const outcome = applyAnswer({
      format,
      answer: editOf[format]('./.git//config', 'x', 'y'),
      files,
      options: FREE,
    });
    expect(outcome.outcome).not.toBe('edited');
  });
});

/** What takes seconds each. */
const SLOW = ['most lines', 'long lines', 'operations', 'no file', 'fit nowhere', 'bombs'] as const;
const drawnOfSlow = sampled('slow answers', SLOW, 2);
const slow = (which: (typeof SLOW)[number]): ReturnType<typeof testIf> =>
  testIf(drawnOfSlow.includes(which), `${which} were not drawn`);

describe('answers beyond all bounds', () => {
  const files = new Map([['a.txt', { bytes: utf8('x\n') }]]);
  const judge = (format: AnswerFormat, answer: string): AnswerOutcome =>
    applyAnswer({ format, answer, files, options: FREE });

  test.each(ALL)(
    '%s: 200 MB of one character, and of lines, are refused by their size',
    (format) => {
      for (const answer of ['x'.repeat(200_000_000), 'ab\n'.repeat(67_000_000)]) {
        expect(judge(format, answer)).toMatchObject({
          outcome: 'invalid',
          reasons: [{ code: 'answer_too_large' }],
        });
        expect(wantedPaths({ format, answer, files, options: FREE })).toEqual([]);
      }
    },
  );

  slow('most lines').each(
    sampled('most lines', ['whole-file', 'unified-diff', 'search-blocks'] as const, 1),
  )('%s: as many lines as are read at all', (format) => {
    const most = MAX_ANSWER_LINES;
    expect(judge(format, '\n'.repeat(most + 1))).toMatchObject({
      outcome: 'invalid',
      reasons: [{ code: 'answer_too_large' }],
    });
    expect(judge(format, '\n'.repeat(most)).outcome).not.toBe('edited');
  });

  slow('long lines').each(
    sampled(
      'long lines',
      ['FILE **', 'File: a.', '```a.b', '~~~ a.b', 'FILE a  ', ' ```', 'a/a.b'],
      1,
    ),
  )('a long line of %p outside of all bodies', (part) => {
    const long = `${part.repeat(200_000)} \n\`\`\`\`\n${part}${part.at(-1)?.repeat(1_000_000)}\` x y\n`;
    for (const format of ALL) judge(format, `${long}${editOf[format]('a.txt', 'x', 'y')}${long}`);
    expect(
      judge('whole-file', `${editOf['whole-file']('a.txt', 'x', 'y')}--- a\n+++ a\n${long}`)
        .outcome,
    ).not.toBe('edited');
  });

  slow('operations')('10,000 operations on one line', () => {
    const operation = '{"type":"delete","file_path":"a.txt","start_line":1,"end_line":1},';
    // Each overlaps the others, and a hundred reasons are enough.
    const answer = `{"operations":[${operation.repeat(9_999)}${operation.slice(0, -1)}]}`;
    const outcome = judge('structured-edit', answer);
    expect(outcome).toMatchObject({ outcome: 'refused' });
    expect(outcome.outcome === 'edited' ? 0 : outcome.reasons.length).toBe(REASONS_REPORTED);
  });

  test.each(ALL)(
    '%s: a million edits are refused by their number or the length of the answer',
    (format) => {
      const edit = editOf[format]('a.txt', 'x', 'y');
      const many =
        format === 'structured-edit'
          ? `{"operations":[${`{"type":"delete","file_path":"a.txt","start_line":1,"end_line":1},`.repeat(999_999)}{}]}`
          : format === 'string-replace'
            ? `{"edits":[${`${edit},`.repeat(999_999)}${edit}]}`
            : edit.repeat(1_000_000);
      const outcome = judge(format, many);
      expect(outcome).toMatchObject({ outcome: 'invalid' });
      const [reason] = outcome.outcome === 'invalid' ? outcome.reasons : [];
      expect(['answer_too_large', 'too_many_edits']).toContain(reason?.code);
    },
  );

  slow('no file')(
    'operations that name no file are refused by their number, too, before one of them is looked at',
    () => {
      const answer = `{"operations":[${'{"start_line":1},'.repeat(BOUNDS.maxAnswer_edits)}{}]}`;
      expect(judge('structured-edit', answer)).toMatchObject({
        outcome: 'invalid',
        reasons: [{ code: 'too_many_edits' }],
      });
    },
  );

  const NOWHERE = [
    ['search-replace', 'FILE: a.txt\nFIND:\nzz\nREPLACE:\ny\nEND\n'],
    ['search-blocks', 'a.txt\n<<<<<<< SEARCH\nzz\n=======\ny\n>>>>>>> REPLACE\n'],
    ['unified-diff', '@@ -1 +1 @@\n-zz\n+y\n'],
    ['begin-patch', '@@\n-zz\n+y\n'],
  ] as const;
  slow('fit nowhere').each(sampled('edits that fit nowhere', NOWHERE, 1))(
    '20,000 edits in %s that fit nowhere',
    (format, edit) => {
      const head = {
        'unified-diff': '--- a/a.txt\n+++ b/a.txt\n',
        'begin-patch': '*** Begin Patch\n*** Update File: a.txt\n',
      };
      const tail = format === 'begin-patch' ? '*** End Patch\n' : '';
      const answer = `${format in head ? head[format as keyof typeof head] : ''}${edit.repeat(20_000)}${tail}`;
      expect(['invalid', 'refused']).toContain(judge(format, answer).outcome);
    },
  );

  test.each(['structured-edit', 'string-replace'] as const)(
    '%s: brackets a million deep',
    (format) => {
      const nests = [
        ['[', ']'],
        ['{"a":', '}'],
      ] as const;
      for (const [nest, close] of nests) {
        expect(judge(format, nest.repeat(1_000_000)).outcome).not.toBe('edited');
        expect(
          judge(format, `{"operations":${nest.repeat(1_000_000)}1${close.repeat(1_000_000)}}`)
            .outcome,
        ).not.toBe('edited');
      }
    },
  );

  test('a key that reaches the prototype of objects changes nothing', () => {
    const answer =
      '{"operations":[{"type":"append","file_path":"a.txt","content":"y"}],"__proto__":{"polluted":true}}';
    judge('structured-edit', answer);
    expect(({} as Record<string, unknown>).polluted).toBeUndefined();
  });
});

describe('content that makes regular expressions explode', () => {
  const LONG = 100_000;
  /** Runs before something that a pattern does not expect: what a backtracking engine needs for a quadratic search. */
  const BOMBS = {
    'blanks before a letter': `${' '.repeat(LONG)}x`,
    'tabs before a letter': `${'\t'.repeat(LONG)}x`,
    'blanks and tabs': `${' \t'.repeat(LONG / 2)}x`,
    'blanks within a comment': `// existing code${' '.repeat(LONG)}x`,
    dots: `${'.'.repeat(LONG)}x`,
    backquotes: `${'`'.repeat(LONG)}x`,
    'a fence, then blanks': `\`\`\`${' '.repeat(LONG)}!`,
    'equals signs': `${'='.repeat(LONG)}x`,
    angles: `${'<'.repeat(LONG)}x`,
    letters: `${'a'.repeat(LONG)}!`,
    braces: '{'.repeat(LONG),
    'braces and quotes': '{"'.repeat(LONG / 2),
    backslashes: '\\'.repeat(LONG),
    dashes: `--- ${'-'.repeat(LONG)}`,
    numbers: `@@ -${'1'.repeat(LONG)}`,
    words: 'END '.repeat(LONG / 4),
    'carriage returns': `${'\r'.repeat(LONG)}x`,
    'a marker, then blanks': `EMEND-COMPLETE${' '.repeat(LONG)}x`,
  } as const;

  slow('bombs').each(sampled('bombs', Object.entries(BOMBS), 1))('%s', (_what, bomb) => {
    const base = `first\n${bomb}\nlast\n`;
    const files = new Map([['a.txt', { bytes: utf8(base) }]]);
    for (const format of ALL) {
      const answers = [
        bomb,
        `${bomb}\n`.repeat(20),
        editOf[format]('a.txt', bomb, `${bomb}y`),
        editOf[format]('a.txt', `${bomb} `, 'y'),
        `${bomb}\n${editOf[format]('a.txt', 'first', bomb)}${bomb}\n`,
      ];
      for (const answer of answers) {
        applyAnswer({
          format,
          answer,
          files,
          options: { ...FREE, tolerances: { indent: true, lookalikes: true, elision: true } },
        });
        detectFormat(answer);
        nonceOf(answer);
      }
    }
    const result = utf8(base.replace('first', bomb));
    expect(combinedDiff([{ path: 'a.txt', base: utf8(base), result }])).toContain('diff --git');
  });

  longOnly('several seconds of one computation')(
    'twenty thousand lines that read as left-out text',
    () => {
      const note = '// ... rest of the code unchanged ...\n';
      const files = new Map([['a.ts', { bytes: utf8('x\n'.repeat(50)) }]]);
      const outcome = applyAnswer({
        format: 'whole-file',
        answer: `FILE a.ts\n${note.repeat(20_000)}END FILE\n`,
        files,
        options: FREE,
      });
      expect(outcome.outcome).toBeDefined();
    },
  );
});
