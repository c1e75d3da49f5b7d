/** What each format's module tells the model: the form of an answer, a tiny example, and the literal lines with the nonce at the end. */
import type { Format } from '../../shared/formats.js';
import type { Create } from '../../shared/pick.js';
import { markerLine, wherePlaced } from './blocks.js';
import { EXAMPLE, EXAMPLE_PATH, EXAMPLE_TASK, LISTING_LEGEND } from '../../edits/index.js';

/** What every format says of files that were not offered. */
const NO_OTHER_FILES = 'Do not create files that are not listed as files to edit.';
/** With what stands there where an answer may create some, and rename those that are listed. */
export const withCreate = (system: string, create: Create, { rename }: Form): string => {
  const may = `Where the task needs a file that does not exist yet, create it in the same answer, though it is not listed${system.includes('`append`') ? ' (one `append` holds all its lines)' : ''}.${wherePlaced(create)} Change no other file that is not listed.${rename === null ? '' : ` ${rename}`}`;
  return create === false ? system : system.replace(NO_OTHER_FILES, () => may);
};

/** What every text format says of an answer without edits. */
const NO_CHANGE =
  'Where no file has to change, the answer is the line `NO-CHANGE: <why>`, then `EMEND-COMPLETE NONCE 0 0` as its last line.';

export interface Allowed {
  /** Definitions may be named: the language of a file is known. */
  readonly symbols: boolean;
  /** An answer is about one file, which operations need not name. */
  readonly oneFile: boolean;
  /** Lines `NOT DONE` may stand before the answer: the job of a phase asks for them. */
  readonly notDone: boolean;
}

export interface Form {
  /** How the files to edit are shown: as they are, or with numbers and checks that operations quote. */
  readonly shows: 'plain' | 'checked';
  /** Does every answer repeat the whole file? Then windows make no sense. */
  readonly needsWholeFile: boolean;
  /** How an answer renames a listed file, where it may create the new path; null: this format cannot. */
  readonly rename: string | null;
  /** The system prompt's part: grammar and example, with the word NONCE for the nonce. */
  readonly grammar: (allowed: Allowed) => string;
  /** The end of the last message. The nonce stands here and nowhere else; the last word of 8 hex digits is the nonce. */
  readonly tail: (nonce: string, paths: readonly string[]) => string;
}

/** Also how files are shown to be read, not edited. */
export const wholeOrWindows = { shows: 'plain', needsWholeFile: false } as const;

const EXAMPLE_FILE = [EXAMPLE.soup, EXAMPLE.bread, EXAMPLE.tea].join('\n');

/** Lines to write literally, one per path, as many as help. */
function sampleLines(paths: readonly string[], line: (path: string) => string): string {
  const SHOWN = 20;
  const more =
    paths.length > SHOWN ? [`(and so on for the other ${paths.length - SHOWN} files)`] : [];
  return [...paths.slice(0, SHOWN).map(line), ...more].join('\n');
}

/** Only where the language of a file is known. */
const SYMBOLS = `A whole definition may be named instead of lines, by \`at\` in place of the line numbers:
- \`replace\` {at: {symbol}, content} and \`delete\` {at: {symbol}}: all its lines, with decorators and modifiers,
- \`insert\` {at: {symbol, position}, content}: position "before" or "after" it, or "end", before the closing line of its body.
\`symbol\` is its qualified name, like "Menu.price". Where several have the name, add \`line\`, a line of the one that is meant as it is listed.
`;

const EXAMPLE_FILE_KEY = `"file_path": "${EXAMPLE_PATH}", `;
export const FORMS: Readonly<Record<Format, Form>> = {
  'whole-file': {
    shows: 'plain',
    needsWholeFile: true,
    rename: null,
    grammar:
      () => `Form of the answer: whole files. For each file that changes, and for each new file:
- a line \`FILE <path> NONCE\`,
- the whole new content of the file, every line of it, from the first to the last. It is written to disk as it stands: no line numbers, no
  code fence, no "rest unchanged", no placeholder,
- a line \`END FILE NONCE\`.
Leave out files that do not change. ${NO_CHANGE} ${NO_OTHER_FILES}
Do not delete files.
The last line of the answer is \`EMEND-COMPLETE NONCE <files> <edits>\`: both numbers are how many files the answer holds.

${EXAMPLE_TASK}
${EXAMPLE_FILE}

Answer:
FILE ${EXAMPLE_PATH} NONCE
${EXAMPLE.soup}
${EXAMPLE.newBread}
${EXAMPLE.coffee}
${EXAMPLE.tea}
END FILE NONCE
EMEND-COMPLETE NONCE 1 1`,
    tail: (
      nonce,
      paths,
    ) => `Now answer in whole files. NONCE is ${nonce}. The lines to write literally:
${sampleLines(paths, (path) => `FILE ${path} ${nonce}`)}
END FILE ${nonce}
The last line of the answer, for one file (for more, say in both places how many):
${markerLine(nonce, '1', '1')}`,
  },
  'unified-diff': {
    ...wholeOrWindows,
    rename:
      'To rename a listed file, write the lines `diff --git a/<path> b/<new path>`, `rename from <path>` and `rename to <new path>`; its `---`, `+++` and hunks follow only where its text changes too.',
    grammar: ({
      oneFile,
    }) => `Form of the answer: one unified diff, as \`git diff\` writes it, over all files that change.
- ${oneFile ? 'Only one file is listed: no `---` and `+++` lines, only' : 'For each file `--- a/<path>` and `+++ b/<path>`, then'} its hunks in order, each with its \`@@ -start,count +start,count @@\` line.
- Every hunk has three lines of context before and after the change where the file has them. Context and removed lines are copied from the
  file exactly, character by character, blanks at line ends too. A blank context line is a line with one blank.
- ${oneFile ? '' : 'A new file has `--- /dev/null`. '}${NO_OTHER_FILES}
- Do not delete files.
- No prose, no code fence.
The last line of the answer is \`EMEND-COMPLETE NONCE <files> <edits>\`: how many files the diff holds, and how many hunks.
${NO_CHANGE}

${EXAMPLE_TASK}
${EXAMPLE_FILE}

Answer:
${oneFile ? '' : `--- a/${EXAMPLE_PATH}\n+++ b/${EXAMPLE_PATH}\n`}@@ -1,3 +1,4 @@
 ${EXAMPLE.soup}
-${EXAMPLE.bread}
+${EXAMPLE.newBread}
+${EXAMPLE.coffee}
 ${EXAMPLE.tea}
EMEND-COMPLETE NONCE 1 1`,
    tail: (
      nonce,
    ) => `Now answer with one unified diff. NONCE is ${nonce}. The last line of the answer, for one file and one hunk (for more, say how many):
${markerLine(nonce, '1', '1')}`,
  },
  'structured-edit': {
    shows: 'checked',
    needsWholeFile: false,
    rename: null,
    grammar: (allowed) => `Form of the answer: one JSON object of operations on lines.
${LISTING_LEGEND}
The check is made of the line and its neighbours: quote both as one string,
exactly as it is listed, wherever an operation names a line. Numbers are always those of the listing, also after other operations.
Operations, each with \`type\`${allowed.oneFile ? '' : ' and `file_path`'}:
- \`insert\` {line, content}: before that line,
- \`replace\` {start_line, end_line, content}: both ends included; one line is {line, content},
- \`delete\` {start_line, end_line}: both ends included; one line is {line},
- \`append\` {content}: at the end of the file; \`prepend\` {content}: at its start.
${allowed.symbols ? SYMBOLS : ''}\`content\` holds whole lines as they shall stand in the file, indentation included, without numbers and checks, each line ended by \\n. An empty
string is no line at all, "\\n" is one empty line. Replaced and deleted ranges must not overlap, and no insert may fall inside one. Name
only lines that are listed. ${NO_OTHER_FILES} Do not delete files.
The object's keys are, in this order: \`summary\` (one line), \`operations\`, and at the very end \`"complete": true, "nonce": "NONCE"\`.
Where no file has to change, \`operations\` is an empty array, and \`"reason": "<why>"\` follows it.
Where lines that you must see are not listed, ask for them once instead of guessing, with this object and no other key:
{"needs_lines": {${allowed.oneFile ? '' : '"file_path": "...", '}"ranges": [[120, 180]], "symbols": []}, "complete": true, "nonce": "NONCE"}
Strict JSON: double quotes, no comments, no trailing commas, nothing before or after the object.

${EXAMPLE_TASK}
1kef| ${EXAMPLE.soup}
2qwx| ${EXAMPLE.bread}
3mbc| ${EXAMPLE.tea}

Answer:
{"summary": "Bread for 1.50, and coffee",
 "operations": [
  {"type": "replace", ${allowed.oneFile ? '' : EXAMPLE_FILE_KEY}"line": "2qwx", "content": "${EXAMPLE.newBread}\\n"},
  {"type": "insert", ${allowed.oneFile ? '' : EXAMPLE_FILE_KEY}"line": "3mbc", "content": "${EXAMPLE.coffee}\\n"}],
 "complete": true, "nonce": "NONCE"}`,
    tail: (
      nonce,
    ) => `Now answer with the one JSON object. Its last keys, exactly as they stand here:
"complete": true, "nonce": "${nonce}"}`,
  },
  'search-replace': {
    ...wholeOrWindows,
    rename: null,
    grammar: () => `Form of the answer: blocks that find whole lines and replace them. Each block is
- a line \`FILE: <path>\`,
- a line \`FIND:\`, then one or more whole lines copied exactly from the file, character by character, indentation too,
- a line \`REPLACE:\`, then the lines that take their place (none at all deletes the found lines),
- a line \`END NONCE\`.
The found lines must stand in the file exactly once: add neighbouring lines until they do. To insert, find a line and replace it by itself and
the new lines. Blocks are applied in order. Keep them small: only lines that change, and as many around them as make them unique.
${NO_OTHER_FILES} A new file is one block with nothing between \`FIND:\` and \`REPLACE:\`. Do not delete files. No prose, no code fence, no line numbers.
The last line of the answer is \`EMEND-COMPLETE NONCE <files> <edits>\`: how many different files the blocks name, and how many blocks there are.
${NO_CHANGE}

${EXAMPLE_TASK}
${EXAMPLE_FILE}

Answer:
FILE: ${EXAMPLE_PATH}
FIND:
${EXAMPLE.bread}
REPLACE:
${EXAMPLE.newBread}
${EXAMPLE.coffee}
END NONCE
EMEND-COMPLETE NONCE 1 1`,
    tail: (nonce, paths) => `Now answer in blocks. NONCE is ${nonce}. A block begins with its file:
${sampleLines(paths, (path) => `FILE: ${path}`)}
then \`FIND:\` and whole lines copied from that file as it is shown, then \`REPLACE:\` and the lines that take their place, and it ends with
END ${nonce}
The last line of the answer, for one file and one block (for more, say how many):
${markerLine(nonce, '1', '1')}`,
  },
};
