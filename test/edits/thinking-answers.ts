/** Writes answers of two edits in each format, with thinking in each form at each place. */
import type { AnswerFormat } from '../../src/shared/formats.js';

/** One line of a file replaced; `line` is its 1-based number. */
export interface OneLine {
  readonly path: string;
  readonly line: number;
  readonly before: string;
  readonly after: string;
}

/** The files of every answer here. */
export const FILES: Readonly<Record<string, readonly string[]>> = {
  'a.ts': ['const first = 1;', 'const limit = 10;', 'const last = 3;'],
  'b.ts': ['const b = 1;', 'const more = 2;'],
  'c.ts': ['const c = 1;'],
};
const REAL: readonly OneLine[] = [
  { path: 'a.ts', line: 2, before: 'const limit = 10;', after: 'const limit = 20;' },
  { path: 'b.ts', line: 2, before: 'const more = 2;', after: 'const more = 3;' },
];
/** Drafts that no answer may apply, by what makes them dangerous. */
const DRAFTS: Readonly<Record<string, OneLine>> = {
  'the same place': {
    path: 'a.ts',
    line: 2,
    before: 'const limit = 10;',
    after: 'const limit = 99;',
  },
  'another place': {
    path: 'a.ts',
    line: 3,
    before: 'const last = 3;',
    after: 'const last = 99;',
  },
  'another file': { path: 'c.ts', line: 1, before: 'const c = 1;', after: 'const c = 99;' },
};
export const EXPECTED: Readonly<Record<string, string>> = {
  'a.ts': 'const first = 1;\nconst limit = 20;\nconst last = 3;\n',
  'b.ts': 'const b = 1;\nconst more = 3;\n',
};

export interface Manner {
  readonly nonce: string | undefined;
  /** Whether this edit is the last of a JSON answer, which has the marker's keys. */
  readonly isLast: boolean;
}
const mark = ({ nonce }: Manner): string => (nonce === undefined ? '' : ` ${nonce}`);
const json = (value: object, { nonce, isLast }: Manner): string => {
  const marker = nonce === undefined ? { complete: true } : { complete: true, nonce };
  return `${JSON.stringify(isLast ? { ...value, ...marker } : value, null, 1)}\n`;
};
const contentAfter = ({ path, line, after }: OneLine): string =>
  (FILES[path] ?? []).map((text, index) => `${index === line - 1 ? after : text}\n`).join('');
const hunkOf = ({ path, line, before, after }: OneLine): string =>
  (FILES[path] ?? [])
    .map((text, index) => (index === line - 1 ? `-${before}\n+${after}\n` : ` ${text}\n`))
    .join('');

/** One edit in each format. */
export const WRITE: Readonly<Record<AnswerFormat, (edit: OneLine, manner: Manner) => string>> = {
  'whole-file': (edit, manner) =>
    `FILE ${edit.path}${mark(manner)}\n${contentAfter(edit)}END FILE${mark(manner)}\n`,
  'unified-diff': (edit) => {
    const count = FILES[edit.path]?.length ?? 0;
    return `--- a/${edit.path}\n+++ b/${edit.path}\n@@ -1,${count} +1,${count} @@\n${hunkOf(edit)}`;
  },
  'structured-edit': ({ path, line, before, after }, manner) => {
    const context = FILES[path]?.[line - 2];
    const operation = {
      type: 'replace',
      file_path: path,
      line,
      content: `${after}\n`,
      ...(context === undefined ? {} : { context_before: context }),
    };
    return json({ summary: before, operations: [operation] }, manner);
  },
  'search-replace': ({ path, before, after }, manner) =>
    `FILE: ${path}\nFIND:\n${before}\nREPLACE:\n${after}\nEND${mark(manner)}\n`,
  'search-blocks': ({ path, before, after }) =>
    `${path}\n<<<<<<< SEARCH\n${before}\n=======\n${after}\n>>>>>>> REPLACE\n`,
  'begin-patch': ({ path, before, after }) =>
    `*** Begin Patch\n*** Update File: ${path}\n@@\n-${before}\n+${after}\n*** End Patch\n`,
  'string-replace': ({ path, before, after }, manner) =>
    json({ file_path: path, old_string: before, new_string: after }, manner),
  'xml-call': ({ path, before, after }) =>
    `<invoke name="str_replace">\n<parameter name="path">${path}</parameter>\n<parameter name="old_string">${before}</parameter>\n<parameter name="new_string">${after}</parameter>\n</invoke>\n`,
};

/** The beginning of an edit that is never finished, with a fence that is never closed. */
const UNBALANCED: Readonly<Record<AnswerFormat, string>> = {
  'whole-file': '```ts\nFILE c.ts\nconst c = 99;\n',
  'unified-diff':
    '```diff\n--- a/c.ts\n+++ b/c.ts\n@@ -1,9 +1,9 @@\n-const c = 1;\n+const c = 99;\n',
  'structured-edit': '```json\n{"operations": [{"type": "append", "file_path": "c.ts",\n',
  'search-replace': '```\nFILE: c.ts\nFIND:\nconst c = 1;\nREPLACE:\n',
  'search-blocks': '```\nc.ts\n<<<<<<< SEARCH\nconst c = 1;\n=======\n',
  'begin-patch': '```\n*** Begin Patch\n*** Update File: c.ts\n@@\n-const c = 1;\n',
  'string-replace': '```json\n{"file_path": "c.ts", "old_string": "const c\n',
  'xml-call': '```xml\n<write_to_file>\n<path>c.ts</path>\n<content>\nconst c = 99;\n',
};

/** Puts thinking around its text; each form ends where the next line of the answer begins. */
export const FORMS: Readonly<Record<string, (text: string) => string>> = {
  '<think>': (text) => `<think>\nMaybe:\n${text}No.\n</think>\n`,
  '<thinking>': (text) => `<thinking>\nMaybe:\n\n${text}\nNo.\n</thinking>\n\n`,
  '<reasoning>': (text) => `<reasoning>\n${text}</reasoning>\n`,
  'a comment': (text) => `<!-- Maybe:\n${text}No. -->\n`,
  'a comment on lines of its own': (text) => `<!--\n${text}-->\n`,
  'capital letters': (text) => `<THINK>\n${text}</Think>\n`,
  attributes: (text) => `<thinking budget="12" lang='en'>\n${text}</thinking>\n`,
  'text behind the opening tag': (text) => `<think>Okay, maybe\n${text}That is wrong.</think>\n`,
  'an opening tag within a line': (text) => `Let me see. <think>I could write\n${text}</think>\n`,
  'an indented tag': (text) => `  <think>\n${text}  </think>\n`,
  'an indented tag behind a blank line': (text) => `\n  <think>\n${text}  </think>\n`,
  'nested tags': (text) => `<think>\n<think>\n${text}</think>\n${text}</think>\n`,
  'a nested tag within a line': (text) =>
    `<think>\nI <think>wonder</think> whether\n${text}\n</think>\n`,
  'one tag inside another': (text) =>
    `<think>\n<reasoning>\n${text}</reasoning>\n${text}</think>\n`,
  'a mention in backticks inside': (text) =>
    `<think>\nAll until \`</think>\` is thinking, and '</think>' too.\n${text}</think>\n`,
  'an opening tag named inside': (text) => `<think>\nThe tag <think> opens it.\n${text}</think>\n`,
  'the answer begins behind the closing tag': (text) => `<think>\n${text}</think>`,
  'two in a row': (text) => `<think>\n${text}</think>\n<thinking>\n${text}</thinking>\n`,
  'CRLF line ends': (text) => `<think>\n${text}</think>\n`.replaceAll('\n', '\r\n'),
};

/** The rest of a form without its thinking, if it is not empty. */
export const REST: Readonly<Record<string, string>> = {
  'an opening tag within a line': 'Let me see. \n',
};

/** The contents of the thinking. */
export const textsOf = (
  format: AnswerFormat,
  nonce: string | undefined,
): Readonly<Record<string, string>> => {
  const entries = Object.entries(DRAFTS).flatMap(([name, draft]): [string, string][] => {
    const plain = WRITE[format](draft, { nonce, isLast: false });
    const complete = WRITE[format](draft, { nonce, isLast: true });
    const tail = complete === plain ? markerOf(nonce, 1, 1) : '';
    return [
      [name, plain],
      [`${name}, with its marker`, `${complete}${tail}`],
      [`${name}, in a fence`, `\`\`\`\n${plain}\`\`\`\n`],
    ];
  });
  return {
    ...Object.fromEntries(entries),
    'an unfinished edit': UNBALANCED[format],
    'no edit': 'Nothing speaks against it.\n',
  };
};

export const markerOf = (nonce: string | undefined, files: number, edits: number): string =>
  `EMEND-COMPLETE${nonce === undefined ? '' : ` ${nonce}`} ${files} ${edits}\n`;

export const PLACES = [
  'before',
  'between',
  'before the marker',
  'after',
  'before and between',
] as const;
export type Place = (typeof PLACES)[number];

/** Returns the answer with its real edits and `thinking` at the place. Null: the format has no such place. */
export const answerWith = (
  format: AnswerFormat,
  nonce: string | undefined,
  thinking: string,
  place: Place,
): string | null => {
  const isJson = format === 'structured-edit' || format === 'string-replace';
  if (isJson && place === 'before the marker') return null;
  const [first = '', second = ''] = REAL.map((edit, index) =>
    WRITE[format](edit, { nonce, isLast: index === REAL.length - 1 }),
  );
  const thinkingAt = (...places: readonly Place[]): string =>
    places.includes(place) ? thinking : '';
  const marker = isJson ? '' : markerOf(nonce, 2, 2);
  const start = thinkingAt('before', 'before and between');
  const middle = thinkingAt('between', 'before and between');
  return `${start}${first}${middle}${second}${thinkingAt('before the marker')}${marker}${thinkingAt('after')}`;
};
