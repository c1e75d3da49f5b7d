/** The prompt's part on search-replace blocks. */
import { markerLine } from '../marked.js';
import { createRule, EXAMPLE_PATH, sampleLines } from './form.js';
import type { Allowed, Form } from './form.js';

const grammar = (
  allowed: Allowed,
): string => `Form of the answer: blocks that find whole lines and replace them. Each block is
- a line \`FILE: <path>\`,
- a line \`FIND:\`, then one or more whole lines copied exactly from the file, character by character, indentation too,
- a line \`REPLACE:\`, then the lines that take their place (none at all deletes the found lines),
- a line \`END NONCE\`.
The found lines must stand in the file exactly once: add neighbouring lines until they do. To insert, find a line and replace it by itself and
the new lines. Blocks are applied in order. Keep them small: only lines that change, and as many around them as make them unique.
${createRule(allowed)} A new file is one block with nothing between \`FIND:\` and \`REPLACE:\`. Do not delete files. No prose, no code fence, no line numbers.
The last line of the answer is \`EMEND-COMPLETE NONCE <files> <edits>\`: how many different files the blocks name, and how many blocks there are.

Example of the form (not part of any task): the menu's second line becomes \`rye bread\`.

FILE: ${EXAMPLE_PATH}
FIND:
bread
REPLACE:
rye bread
END NONCE
EMEND-COMPLETE NONCE 1 1`;

const tail = (
  nonce: string,
  paths: readonly string[],
): string => `Now answer in blocks. NONCE is ${nonce}. The lines to write literally:
${sampleLines(paths, (path) => `FILE: ${path}`)}
FIND:
REPLACE:
END ${nonce}
and as the last line, with the number of files and of blocks:
${markerLine(nonce, '<files>', '<edits>')}`;

export const searchReplaceForm: Form = { shows: 'plain', needsWholeFile: false, grammar, tail };
