/**
 * Finds edits that a response describes in prose, in shell commands or in the tags of another tool. No dialect reads them, so a response that
 * holds one next to its edits is refused whole: half of a change is not the change.
 */
import { type Fence, openingFence } from './text/fence.js';

/** A line of a response outside of the edits that were read. */
export interface ProseLine {
  readonly text: string;
  /** The fence that it is in or that it opens. Null: it is in none, or the line stands for an edit. */
  readonly fence: Fence | null;
  /** Of a line that stands for an edit: the fence round the edit; null: another line. */
  readonly round: Fence | null;
}

const LINE_CHARS = 400; // bound: A longer line tells of no edit.

const PATH = String.raw`(?:[\w@.-]+[/\\])*(?:[\w@-][\w@.-]*)?\.[A-Za-z][\w+-]{0,9}`;
/** Names that end like files and are none. */
const NO_FILE =
  /\b(?:e\.g|i\.e|etc|node\.js|next\.js|vue\.js|express\.js|d3\.js|three\.js|asp\.net)\b/gi;
const NAMES_PATH = new RegExp(`(?:^|[\\s\`*_"'(\\[<])${PATH}(?=$|[\\s\`*_"'),:;\\]>.])`);
const ONLY_PATH = new RegExp(
  `^[\\s>#*_\`"'\\d.)-]*(?:(?:file|path|in)\\b:?[\\s*_\`]*)?${PATH}[\\s*_\`"':]*(?:\\([^()]*\\)[\\s*_\`:]*)?$`,
  'i',
);
const COMMENTED_PATH = new RegExp(
  `^\\s*(?://+|#+|--|;+|%+|/\\*+|<!--)\\s*(?:(?:file(?:name)?|path):\\s*)?${PATH}\\s*(?:\\*/|-->)?\\s*$`,
  'i',
);
/** A path alone, where more than paths follows. */
const BARE_PATH = new RegExp(`^${PATH}:?\\s*$`);
const TELLS_EDIT =
  /\b(?:create|add|update|updated|replace|change|modify|modified|edit|rewrite|write|overwrite|put|insert|append|prepend|delete|remove|save|new)\b/i;
const TELLS_OLD = /\b(?:replace|change|find|before|old|from|original|current)\b/i;
const TELLS_NEW = /^\W*(?:with|by|to|into|becomes|after|new|updated|→|->)(?:\b|\W|$).{0,60}$/i;
const DIFF_INFO = /^(?:diff|patch|udiff)\b/i;
const SHELL_INFO = /^(?:bash|sh|shell|zsh|console|terminal|powershell|cmd|bat)\b/i;
const OUTPUT_INFO = /^(?:text|txt|output|plaintext|log)\b/i;
const SHELL_PATH = /\.(?:sh|bash|zsh|ps1|bat|cmd)\b/i;

/** Shell commands that write a file. */
const WRITES_FILE =
  /^[ \t>$]*(?:(?:sudo )?(?:cat|tee)\b[^\n]*<<-?\s*['"\\]?\w|sed (?:-\w+ )*-i|perl -\w*pi|(?:echo|printf)\b[^\n]*[^-=]>>?\s*["']?[\w./-]+\.\w+["']?\s*$)/;
/** Tags of other tools that edit files, and tags that name a file outside of fences. */
const EDIT_TAG =
  /^[ \t>]*<(?:write_to_file|write_file|create_file|new_file|edit_file|replace_in_file|apply_diff|apply_patch|insert_content|search_and_replace|str_replace\w*|file_edit|code_edit|boltAction|antArtifact|delete_file)\b/i;
const PATH_TAG = new RegExp(
  `^[ \\t>]*<(?:path|file_?path|filename)>\\s*${PATH}\\s*</|^[ \\t>]*<\\w+\\b[^<>]*\\b(?:file_?path|filename|path|file|name)\\s*=\\s*["']${PATH}["'][^<>]*>\\s*$`,
  'i',
);

const shortOf = (line: ProseLine | undefined): string =>
  line === undefined || line.text.length > LINE_CHARS ? '' : line.text;

/** Returns the number of the first line that tells of an edit; -1: none does. */
export const proseEditIn = (lines: readonly ProseLine[]): number => {
  for (const [i, { text: line, fence }] of lines.entries()) {
    const text = line.length > LINE_CHARS ? '' : line;
    if (WRITES_FILE.test(text) || EDIT_TAG.test(text)) return i;
    if (fence === null && PATH_TAG.test(text)) return i;
    const isOpening =
      fence !== null && lines[i - 1]?.fence !== fence && openingFence(text) !== null;
    const editLine = isOpening ? editInFence(lines, i, fence) : -1;
    if (editLine >= 0) return editLine;
  }
  return -1;
};

/** Returns the line that shows that the fence at line `start` holds an edit, or -1 if it holds none. */
const editInFence = (lines: readonly ProseLine[], start: number, fence: Fence): number => {
  let end = start + 1;
  while (lines[end]?.fence === fence) end += 1;
  // A fence around edits that are read.
  if (lines[end]?.round === fence) return -1;
  const content = lines.slice(start + 1, end);
  if (DIFF_INFO.test(fence.info)) {
    const changed = content.findIndex(({ text }) => /^[-+]/.test(text));
    return changed < 0 ? -1 : start + 1 + changed;
  }
  if (content.length === 0 || OUTPUT_INFO.test(fence.info)) return -1;
  return beginsWithPath(content) || isIntroduced(lines, { start, end }, fence) ? start : -1;
};

/** Returns true if the first line of a fence names a file, as a path alone or in a comment. */
const beginsWithPath = (content: readonly ProseLine[]): boolean => {
  if (content.length < 2) return false;
  const [first = '', second = ''] = content.map(shortOf);
  const isPathAlone = BARE_PATH.test(first) && !BARE_PATH.test(second);
  return isPathAlone || COMMENTED_PATH.test(first);
};

/** Does the line before a fence tell that it holds an edit? */
const isIntroduced = (
  lines: readonly ProseLine[],
  { start, end }: { readonly start: number; readonly end: number },
  { info }: Fence,
): boolean => {
  const before = lines[start - 1];
  if (before?.fence !== null || before.round !== null) return false;
  const intro = shortOf(before).replace(NO_FILE, '');
  if (TELLS_OLD.test(intro) && isFollowedByNew(lines, end)) return true;
  if (SHELL_INFO.test(info) && !SHELL_PATH.test(intro)) return false;
  return ONLY_PATH.test(intro) || (NAMES_PATH.test(intro) && TELLS_EDIT.test(intro));
};

/** Does a line like "with" and another fence follow? */
const isFollowedByNew = (lines: readonly ProseLine[], end: number): boolean => {
  const [between, next] = [lines[end], lines[end + 1]];
  if (between?.fence !== null || !TELLS_NEW.test(shortOf(between))) return false;
  return (next?.fence ?? null) !== null && openingFence(next?.text) !== null;
};
