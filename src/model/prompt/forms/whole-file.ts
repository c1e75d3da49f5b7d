/** The prompt's part on whole-file answers: the new content of each file between two lines that carry the nonce. */
import { markerLine } from '../marked.js';
import { NO_OTHER_FILES, sampleLines, type Form } from './form.js';
import { EXAMPLE, EXAMPLE_PATH, EXAMPLE_TASK } from '../../../shared/example.js';

const grammar = (): string => `Form of the answer: whole files. For each file that changes, and for each new file:
- a line \`FILE <path> NONCE\`,
- the whole new content of the file, every line of it, from the first to the last. It is written to disk as it stands: no line numbers, no
  code fence, no "rest unchanged", no placeholder,
- a line \`END FILE NONCE\`.
Leave out files that do not change; where none has to, answer with one of them as it is. ${NO_OTHER_FILES}
Do not delete files.
The last line of the answer is \`EMEND-COMPLETE NONCE <files> <edits>\`: both numbers are how many files the answer holds.

${EXAMPLE_TASK}
${EXAMPLE.soup}
${EXAMPLE.bread}
${EXAMPLE.tea}

Answer:
FILE ${EXAMPLE_PATH} NONCE
${EXAMPLE.soup}
${EXAMPLE.newBread}
${EXAMPLE.coffee}
${EXAMPLE.tea}
END FILE NONCE
EMEND-COMPLETE NONCE 1 1`;

const tail = (
  nonce: string,
  paths: readonly string[],
): string => `Now answer in whole files. NONCE is ${nonce}. The lines to write literally:
${sampleLines(paths, (path) => `FILE ${path} ${nonce}`)}
END FILE ${nonce}
The last line of the answer, for one file (for more, say in both places how many):
${markerLine(nonce, '1', '1')}`;

export const wholeFileForm: Form = { shows: 'plain', needsWholeFile: true, grammar, tail };
