/** The prompt's part on structured edits: JSON operations that quote the listing's line numbers with their checks. */
import { LISTING_LEGEND } from '../../../edits/listing.js';
import { NO_OTHER_FILES, type Allowed, type Form } from './form.js';
import { EXAMPLE, EXAMPLE_PATH, EXAMPLE_TASK } from '../../../shared/example.js';

/** Only where the language of a file is known. */
const SYMBOLS = `A whole definition may be named instead of lines, by \`at\` in place of the line numbers:
- \`replace\` {at: {symbol}, content} and \`delete\` {at: {symbol}}: all its lines, with decorators and modifiers,
- \`insert\` {at: {symbol, position}, content}: position "before" or "after" it, or "end", before the closing line of its body.
\`symbol\` is its qualified name, like "Menu.price". Where several have the name, add \`line\`, a line of the one that is meant as it is listed.
`;

const grammar = (allowed: Allowed): string => `Form of the answer: one JSON object of operations on lines.
${LISTING_LEGEND}
The check is made of the line and its neighbours: quote both as one string,
exactly as it is listed, wherever an operation names a line. Numbers are always those of the listing, also after other operations.
Operations, each with \`type\` and \`file_path\`:
- \`insert\` {line, content}: before that line,
- \`replace\` {start_line, end_line, content}: both ends included,
- \`delete\` {start_line, end_line}: both ends included,
- \`append\` {content}: at the end of the file; \`prepend\` {content}: at its start.
${allowed.symbols ? SYMBOLS : ''}\`content\` holds whole lines as they shall stand in the file, indentation included, without numbers and checks, each line ended by \\n. An empty
string is no line at all, "\\n" is one empty line. Replaced and deleted ranges must not overlap, and no insert may fall inside one. Name
only lines that are listed. ${NO_OTHER_FILES} Do not delete files.
The object's keys are, in this order: \`summary\` (one line), \`operations\`, and at the very end \`"complete": true, "nonce": "NONCE"\`.
Where lines that you must see are not listed, ask for them once instead of guessing, with this object and no other key:
{"needs_lines": {"file_path": "...", "ranges": [[120, 180]], "symbols": []}, "complete": true, "nonce": "NONCE"}
Strict JSON: double quotes, no comments, no trailing commas, nothing before or after the object.

${EXAMPLE_TASK}
1:k3f| ${EXAMPLE.soup}
2:q7x| ${EXAMPLE.bread}
3:m2c| ${EXAMPLE.tea}

Answer:
{"summary": "Bread for 1.50, and coffee",
 "operations": [
  {"type": "replace", "file_path": "${EXAMPLE_PATH}", "start_line": "2:q7x", "end_line": "2:q7x", "content": "${EXAMPLE.newBread}\\n"},
  {"type": "insert", "file_path": "${EXAMPLE_PATH}", "line": "3:m2c", "content": "${EXAMPLE.coffee}\\n"}],
 "complete": true, "nonce": "NONCE"}`;

const tail = (nonce: string): string => `Now answer with the one JSON object. Its last keys, exactly as they stand here:
"complete": true, "nonce": "${nonce}"}`;

export const structuredEditForm: Form = { shows: 'checked', needsWholeFile: false, grammar, tail };
