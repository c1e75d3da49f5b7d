/** Tags of tool calls in new text: a model that writes its call as text may end a file with them. */
import type { Finding } from '../../shared/formats.js';
import type { PlacedChange } from '../text/changes.js';
import { isMarkup } from './languages.js';
import { type GuardView, eachNewLine } from './view.js';

/** Names that only tools use. */
const TOOL_NAMES =
  'write_to_file|replace_in_file|apply_diff|insert_content|search_and_replace|read_file|execute_command|attempt_completion|edit_file|' +
  'create_file|update_file|str_replace|str_replace_editor|function_calls|function_call|tool_call|tool_calls|tool_use|tool_result|invoke|' +
  'antml:\\w+|\\w+:function_call|file_text|file_content|old_string|new_string|old_str|new_str|line_count|boltAction|boltArtifact|' +
  'antArtifact|final_answer';
/** Names that a document may use as well; they count only where a closing tag has no opening one. */
const OTHER_NAMES =
  'content|path|file|file_path|diff|parameter|arguments|args|edit|edits|code|answer|response|result|function|tool|artifact|FILE';
/** Tokens that end a message or a call. */
const END_OF_TOKENS =
  /<\|(?:im_end|im_start|endoftext|eot_id|end_of_text|end|assistant|user)\|>|<｜[^｜<>]{1,40}｜>|\[\/?TOOL_CALLS?\]$/;
/** A line that is one tag or ends in closing ones. */
const TAG_LINE = new RegExp(
  `^\\s*<(/?)(${TOOL_NAMES}|${OTHER_NAMES})(?:\\s[^<>]*)?>\\s*$|</(${TOOL_NAMES}|${OTHER_NAMES})>\\s*$`,
);
const IS_TOOL_NAME = new RegExp(`^(?:${TOOL_NAMES})$`);
/** Comments that hold markup: C#, Visual Basic, Java, JavaScript. */
const COMMENT = /^\s*(?:\/\/|'|\*|#)/;
const LAST_TAG = /<[^<>]*>\s*$/;
/** The argument of a call that names its file. */
const PATH_LINE = /^\s*<(path|file_path|filename)>([^<>]+)<\/\1>\s*$/;

/** The first tag of a tool call in new lines that has no counterpart and that the file did not have. */
export const toolFindings = (view: GuardView): Finding[] => {
  const { path } = view;
  const isUnbalanced = unbalancedTags(view);
  const isKnown = knownTags(view);
  const findings: Finding[] = [];
  eachNewLine(view, (line, place, change) => {
    if (findings.length > 0 || !/[<[]/.test(line)) return;
    if (!isRemnant(path, line, change, isUnbalanced) || isKnown(line)) return;
    const text = JSON.stringify(line.trim().slice(0, 80));
    const message = `Line ${place + 1} of the new ${path} is part of a tool call: ${text}. Send the text of the file alone.`;
    findings.push({
      guard: 'tool_remnant',
      severity: 'ask',
      path,
      lines: [place + 1, place + 1],
      message,
    });
  });
  return findings;
};

/** Returns whether the file had the last tag of a line. Each tag is looked for once. */
const knownTags = ({ base }: GuardView): ((line: string) => boolean) => {
  const known = new Map<string, boolean>();
  return (line) => {
    const tag = (LAST_TAG.exec(line)?.[0] ?? line).trim();
    const isKnown = known.get(tag) ?? base.includes(tag);
    known.set(tag, isKnown);
    return isKnown;
  };
};

const isRemnant = (
  path: string,
  line: string,
  { lines }: PlacedChange,
  isUnbalanced: (name: string) => boolean,
): boolean => {
  const isFirst = lines[0] === line;
  const isLast = lines.at(-1) === line;
  const isAtEdge = isFirst || isLast;
  if (isLast && END_OF_TOKENS.test(line)) return true;
  if (isAtEdge && namesFile(path, line)) return true;
  const tag = tagIn(line);
  if (tag === null) return false;
  // A whole call is at the edge of the text that it was sent as.
  if (tag.isAlone && tag.isTool && isAtEdge) return true;
  const isOpening = tag.isAlone && isFirst && !isMarkup(path);
  return (tag.isTool || tag.isClosing || isOpening) && isUnbalanced(tag.name);
};

/** Null: the line neither is a tag of a call nor ends in one. */
const tagIn = (line: string) => {
  const [matched = '', , single, atTheEnd] = TAG_LINE.exec(line) ?? [];
  const name = single ?? atTheEnd;
  if (name === undefined) return null;
  return {
    name,
    isTool: IS_TOOL_NAME.test(name),
    isAlone: matched.trim() === line.trim(),
    isClosing: matched.includes(`</${name}`) && !COMMENT.test(line),
  };
};

/** Returns whether the line is the argument of a call that names the file itself. */
const namesFile = (path: string, line: string): boolean => {
  const named = PATH_LINE.exec(line)?.[2]?.trim() ?? null;
  return named !== null && path.endsWith(named) && !isMarkup(path);
};

/** Returns whether a change left a tag without its counterpart. Each name is counted once. */
const unbalancedTags = ({ base, result }: GuardView): ((name: string) => boolean) => {
  const known = new Map<string, boolean>();
  return (name) => {
    const isUnbalanced =
      known.get(name) ?? (surplus(result.all, name) !== 0 && surplus(base.all, name) === 0);
    known.set(name, isUnbalanced);
    return isUnbalanced;
  };
};

/** Opening tags less closing ones. A tag may go over several lines. */
const surplus = (lines: readonly string[], name: string): number => {
  const tags = new RegExp(`<(/?)${name}(?=[\\s/>])[^<>]*?(/?)>`, 'g');
  let count = 0;
  for (const [, closes, ends] of lines.join('\n').matchAll(tags))
    if (closes === '/') count -= 1;
    else if (ends !== '/') count += 1;
  return count;
};
