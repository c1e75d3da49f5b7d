/** The prompt's part on unified diffs. */
import { markerLine } from '../marked.js';
import { NO_OTHER_FILES, type Form } from './form.js';
import { EXAMPLE, EXAMPLE_PATH, EXAMPLE_TASK } from '../../../shared/example.js';

const grammar =
  (): string => `Form of the answer: one unified diff, as \`git diff\` writes it, over all files that change.
- For each file \`--- a/<path>\` and \`+++ b/<path>\`, then its hunks in order, each with its \`@@ -start,count +start,count @@\` line.
- Every hunk has three lines of context before and after the change where the file has them. Context and removed lines are copied from the
  file exactly, character by character, blanks at line ends too. A blank context line is a line with one blank.
- A new file has \`--- /dev/null\`. ${NO_OTHER_FILES}
- Do not delete files.
- No prose, no code fence.
The last line of the answer is \`EMEND-COMPLETE NONCE <files> <edits>\`: how many files the diff holds, and how many hunks.

${EXAMPLE_TASK}
${EXAMPLE.soup}
${EXAMPLE.bread}
${EXAMPLE.tea}

Answer:
--- a/${EXAMPLE_PATH}
+++ b/${EXAMPLE_PATH}
@@ -1,3 +1,4 @@
 ${EXAMPLE.soup}
-${EXAMPLE.bread}
+${EXAMPLE.newBread}
+${EXAMPLE.coffee}
 ${EXAMPLE.tea}
EMEND-COMPLETE NONCE 1 1`;

const tail = (
  nonce: string,
): string => `Now answer with one unified diff. NONCE is ${nonce}. The last line of the answer, for one file and one hunk (for more, say how many):
${markerLine(nonce, '1', '1')}`;

export const unifiedDiffForm: Form = { shows: 'plain', needsWholeFile: false, grammar, tail };
