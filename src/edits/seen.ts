/** What a response that no dialect reads looks like, and what to send instead: for the message that refuses it. */
import { quoted } from '../shared/text.js';
import { formatIn } from './detect.js';
import { isJsonObject, readJson } from './text/json.js';

const SHOWN_CHARS = 60; // bound: Characters of a line that a message quotes.
const KEYS_SHOWN = 6; // bound: Keys of an object that a message lists.

const SEND_BLOCK =
  'Send the path of the file on a line, then `<<<<<<< SEARCH`, the lines as they are in the file, `=======`, the new lines, `>>>>>>> REPLACE`.';
const SEND_FILE =
  'Send `FILE path`, the whole content without a fence, and `END FILE`; or a diff with `---`, `+++` and `@@` lines.';
const SEND_DIFF = 'Send a diff with `--- a/path`, `+++ b/path` and `@@` lines.';
const SEND_CALL =
  'Send `{"file_path": …, "old_string": …, "new_string": …}`, or `{"file_path": …, "content": …}` for a whole file.';

/** What a line looks like, and what to send instead. The first that fits counts. */
const SIGHTS: readonly (readonly [line: RegExp, seen: string, instead: string])[] = [
  [/^<{5,9} \S.*$/m, 'a block whose first marker is not `<<<<<<< SEARCH`', SEND_BLOCK],
  [
    /^&lt;{1,9}|^&lt;(?:[a-z_]+)&gt;/m,
    'an edit whose `<` and `>` are escaped as HTML',
    'Send it with the characters themselves.',
  ],
  [
    /\*\*\* Begin Patch(?:`n|\\n|\\r)/,
    'a patch whose line ends are written as characters',
    'Send each line of the patch on a line of its own.',
  ],
  [
    /^[ \t>]+\*\*\* (?:Begin Patch|(?:Add|Update|Delete) File: )/m,
    'an indented or quoted patch whose lines do not all have the same indentation',
    'Send it without the indentation.',
  ],
  [
    /^[ \t>]+(?:<{5,9} SEARCH|FILE \S|--- \S|@@ )/m,
    'an indented or quoted edit',
    'Send it without the indentation.',
  ],
  [/^\*\*\* \d+(?:,\d+)? \*{4}/m, 'a context diff', SEND_DIFF],
  [/^\d+(?:,\d+)?[acd]\d+(?:,\d+)?$/m, 'a plain diff or an ed script', SEND_DIFF],
  [/^[ \t$>]*(?:cat|tee)\b[^\n]*<<-?\s*["']?\w+/m, 'a shell command that writes a file', SEND_FILE],
  [
    /^[ \t$>]*(?:sed -i|perl -p?i|patch -p|git apply)\b/m,
    'a shell command that edits a file',
    SEND_CALL,
  ],
  [/^ {0,3}(?:`{3,}|~{3,})\d+:\d+:\S+/m, "Cursor's fence around lines of a file", SEND_BLOCK],
  [/^ {0,3}(?:`{3,}|~{3,})diff\b[^\n]*\n(?:[+-])/m, 'a diff without its headers', SEND_DIFF],
  [
    /^[ \t]*[\w.]+\((?:[^)\n]*\b)?(?:old_str|new_str|file_path|path|content)\w*\s*=/m,
    'a call in the syntax of a programming language',
    SEND_CALL,
  ],
];
const PATH_AND_FENCE =
  /^[ \t>#*_`-]{0,8}(?:File:[ \t]*)?`?([\w@./-]*\w\.\w{1,8})[*_:`)]{0,8}[ \t]*\n\s*(?:`{3,}|~{3,})/m;
const FENCE = /^ {0,3}(?:`{3,}|~{3,})/m;
const TAG = /^[ \t]*<([A-Za-z_][\w-]*)(?:[ \t][^>\n]*)?>/m;

/** Returns what a response looks like and what to send instead, in two sentences. */
export const whatIsSeen = (response: string): string => {
  const format = formatIn(response);
  if (format !== null) return `It looks like an edit in the format \`${format}\`.`;
  const sight = SIGHTS.find(([line]) => line.test(response));
  if (sight !== undefined) {
    const line = (sight[0].exec(response)?.[0] ?? '').trim().split('\n')[0] ?? '';
    return `It looks like ${sight[1]}: ${quoted(line, SHOWN_CHARS)}. ${sight[2]}`;
  }
  return jsonSeen(response) ?? fenceSeen(response);
};

/** What JSON says that is no edit; null: there is none. */
const jsonSeen = (response: string): string | null => {
  const start = response.search(/^[ \t]*[{[]/m);
  if (start < 0) return null;
  const from = start + (/^[ \t]*/.exec(response.slice(start))?.[0].length ?? 0);
  const read = readJson(response, from);
  if (read.kind === 'open')
    return `It looks like JSON that ends inside a ${read.inside}. Send the whole object.`;
  if (read.kind === 'broken') {
    const line = response.slice(0, read.at).split('\n').length;
    return `It looks like JSON with a mistake at line ${line}: ${read.message}. ${SEND_CALL}`;
  }
  const first = Array.isArray(read.value)
    ? (read.value as readonly (typeof read.value)[])[0]
    : read.value;
  if (!isJsonObject(first)) return null;
  const keys = Object.keys(first)
    .slice(0, KEYS_SHOWN)
    .map((key) => quoted(key, SHOWN_CHARS));
  return `It looks like a JSON object with the keys ${keys.join(', ') || '(none)'}, which say no edit of a file. ${SEND_CALL}`;
};

const fenceSeen = (response: string): string => {
  const named = PATH_AND_FENCE.exec(response)?.[1];
  if (named !== undefined)
    return `It looks like a whole file in a fence below its path, ${quoted(named, SHOWN_CHARS)}. ${SEND_FILE}`;
  const tag = TAG.exec(response)?.[1];
  if (tag !== undefined && new RegExp(`</${tag}>`).test(response))
    return `It looks like a call in the tags \`<${tag.slice(0, SHOWN_CHARS)}>\`, which is not known. ${SEND_CALL}`;
  if (FENCE.test(response))
    return `It looks like code in a fence, without the path of its file. ${SEND_FILE}`;
  return `It looks like text without an edit. ${SEND_BLOCK}`;
};
