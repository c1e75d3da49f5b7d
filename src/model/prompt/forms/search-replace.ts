/** The prompt's part on search-replace blocks. */
import { markerLine } from '../marked.js';
import { NO_OTHER_FILES, sampleLines, type Form } from './form.js';
import { EXAMPLE, EXAMPLE_PATH, EXAMPLE_TASK } from '../../../shared/example.js';

const grammar = (): string => `Form of the answer: blocks that find whole lines and replace them. Each block is
- a line \`FILE: <path>\`,
- a line \`FIND:\`, then one or more whole lines copied exactly from the file, character by character, indentation too,
- a line \`REPLACE:\`, then the lines that take their place (none at all deletes the found lines),
- a line \`END NONCE\`.
The found lines must stand in the file exactly once: add neighbouring lines until they do. To insert, find a line and replace it by itself and
the new lines. Blocks are applied in order. Keep them small: only lines that change, and as many around them as make them unique.
${NO_OTHER_FILES} A new file is one block with nothing between \`FIND:\` and \`REPLACE:\`. Do not delete files. No prose, no code fence, no line numbers.
The last line of the answer is \`EMEND-COMPLETE NONCE <files> <edits>\`: how many different files the blocks name, and how many blocks there are.

${EXAMPLE_TASK}
${EXAMPLE.soup}
${EXAMPLE.bread}
${EXAMPLE.tea}

Answer:
FILE: ${EXAMPLE_PATH}
FIND:
${EXAMPLE.bread}
REPLACE:
${EXAMPLE.newBread}
${EXAMPLE.coffee}
END NONCE
EMEND-COMPLETE NONCE 1 1`;

const tail = (
  nonce: string,
  paths: readonly string[],
): string => `Now answer in blocks. NONCE is ${nonce}. A block begins with its file:
${sampleLines(paths, (path) => `FILE: ${path}`)}
then \`FIND:\` and whole lines copied from that file as it is shown, then \`REPLACE:\` and the lines that take their place, and it ends with
END ${nonce}
The last line of the answer, for one file and one block (for more, say how many):
${markerLine(nonce, '1', '1')}`;

export const searchReplaceForm: Form = { shows: 'plain', needsWholeFile: false, grammar, tail };
