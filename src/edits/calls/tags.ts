/**
 * Calls that are written as tags. One call is read from where it opens to its closing tag:
 *
 *   <write_to_file> <path>…</path> <content>…</content> </write_to_file>                              Cline, Roo Code
 *   <invoke name="str_replace"> <parameter name="path">…</parameter> </invoke>                        Claude
 *   <function=edit> <parameter=path>…</parameter> </function>                                         Qwen
 *   <tool_call> { "name": …, "arguments": … } </tool_call>                                            Hermes, Qwen
 *   <boltAction type="file" filePath="…"> content </boltAction>                                       bolt.new, Lovable
 *
 * A value ends at the first closing tag that another argument, or the end of the call, follows. If a second end of the call is behind
 * it, the content may hold tags of its own, and the call is refused.
 */
import { type Json, readJson } from '../text/json.js';
import { argumentOf, isKeyOfCalls, plainKey, unwrapped } from './arguments.js';
import { CALL_FORMS } from './forms.js';

const OPENING_CHARS = 200; // bound: Characters behind the opening tag of a call that are looked at to know its shape.
const TAG_CHARS = 1_000; // bound: Characters of an opening tag.

/** Names of calls that are tags of their own. */
const TAG_NAMES: readonly string[] = [
  ...new Set(
    CALL_FORMS.flatMap(({ names, meaning }) =>
      meaning === 'none' || meaning === 'unread' ? [] : names,
    ).filter((name) => /[_-]/.test(name)),
  ),
];
/** Names of calls whose arguments are attributes. */
const WITH_ATTRIBUTES = ['file', 'boltAction', 'lov-write'];
const NAMED = `(?:${TAG_NAMES.join('|')})(?=>)|(?:${WITH_ATTRIBUTES.join('|')})(?=[ \\t][^>\\n]*[Pp]ath=)`;
/** A tag of any name is a call if its first argument is the path. */
const PATH_TAGS = [...new Set(CALL_FORMS.flatMap(({ keys }) => keys.path ?? []))].join('|');
const UNNAMED = `[A-Za-z_][\\w-]*>\\s*<(?:${PATH_TAGS})>`;
const WRAPPED = `(?:tool_call|tool_use|function_call)>\\s*(?:[{[]|<function=|[\\w.-]+\\s*<arg_key>)`;
const OPENING = `<(?:(?:antml:)?invoke[ \\t]+name=|function=\\w|${WRAPPED}|${NAMED}|${UNNAMED})`;
/** Where a line opens a call. */
export const CALL_TAG = new RegExp(`^[ \\t]*${OPENING}`, 'm');
const CALL_HERE = new RegExp(`^${OPENING}`);
/** A line that occurs only around calls. */
export const AROUND_CALLS =
  /^[ \t]*(?:<\/?(?:antml:)?(?:function_calls|tool_calls|tool_call|tool_use)>|<\/?boltArtifact\b[^>]*>|<\/?lov-code>)[ \t]*$/;

const PART = /^[ \t]*<\/?(?:antml:)?([A-Za-z][\w-]*)(?:=[^>\n]*|[ \t][^>\n]*)?>/;
const PART_NAMES = new Set([...TAG_NAMES, ...WITH_ATTRIBUTES, 'invoke', 'function', 'parameter']);

/** Returns true if a line begins with a tag that occurs only in calls. */
export const isPartOfCall = (line: string): boolean => {
  const name = PART.exec(line)?.[1];
  if (name === undefined) return false;
  return PART_NAMES.has(name) || argumentOf(name) !== null;
};

/** A call in tags, and where it ends. */
export interface TagCall {
  readonly calls: readonly {
    readonly name: string | null;
    readonly args: Readonly<Record<string, Json>>;
  }[];
  /** The offset behind the closing tag. */
  readonly end: number;
}
export interface TagFault {
  readonly code: string;
  readonly message: string;
  /** The text ends within the call. */
  readonly isOpen: boolean;
}

/** How a shape writes its call and its arguments. */
interface Shape {
  readonly name: string;
  /** How the opening tag of any call of this shape begins. */
  readonly open: string;
  readonly close: string;
  /** The opening tag of an argument, at the present offset; its first group is the key. */
  readonly argument: RegExp;
  readonly closeOf: (key: string) => string;
  /** A value is the text between its tags, without the line ends next to them. */
  readonly isTrimmed: boolean;
}

/** Reads the call that opens at `offset`, blanks before it aside. Null: none does. */
export const readTagCall = (text: string, offset: number): TagCall | TagFault | null => {
  const from = offset + (/^[ \t]*/.exec(text.slice(offset, offset + 200))?.[0].length ?? 0);
  const stop = text.indexOf('>', from);
  if (text[from] !== '<' || stop < 0) return null;
  const tag = text.slice(from, stop + 1);
  if (tag.length > TAG_CHARS || !CALL_HERE.test(text.slice(from, stop + OPENING_CHARS)))
    return null;
  const wrapper = /^<(tool_call|tool_use|function_call)>$/.exec(tag)?.[1];
  if (wrapper !== undefined) return readWrapped(text, stop + 1, wrapper);
  const attributes = new RegExp(`^<(${WITH_ATTRIBUTES.join('|')})[ \\t]`).exec(tag)?.[1];
  if (attributes !== undefined)
    return readAttributes(text, { tag, name: attributes, from: stop + 1 });
  return readArguments(text, stop + 1, shapeOf(tag));
};

const shapeOf = (tag: string): Shape => {
  const invoked = /^<(antml:)?invoke[ \t]+name=["']?([^"'>\s]+)/.exec(tag);
  if (invoked !== null) {
    const space = invoked[1] ?? '';
    return {
      name: invoked[2] ?? '',
      open: `<${space}invoke`,
      close: `</${space}invoke>`,
      argument: new RegExp(`<${space}parameter[ \\t]+name=["']?([^"'>\\s]+)["']?[^>\\n]*>`, 'y'),
      closeOf: () => `</${space}parameter>`,
      isTrimmed: false,
    };
  }
  const called = /^<function=["']?([^"'>\s]+)/.exec(tag)?.[1];
  if (called !== undefined)
    return {
      name: called,
      open: '<function=',
      close: '</function>',
      argument: /<parameter=["']?([^"'>\s]+)["']?>/y,
      closeOf: () => '</parameter>',
      isTrimmed: true,
    };
  const name = tag.slice(1, -1);
  return {
    name,
    open: `<${name}>`,
    close: `</${name}>`,
    argument: /<([A-Za-z_]\w*)>/y,
    closeOf: (key) => `</${key}>`,
    isTrimmed: true,
  };
};

const cut = (name: string): TagFault => ({
  code: 'cut_inside_call',
  message: `The call \`${name}\` has no closing tag. Send the whole call.`,
  isOpen: true,
});
const unclear = (name: string): TagFault => ({
  code: 'call_unclear',
  message: `The call \`${name}\` may end in several places, as its text holds the same tags. Send the edit in another form, for example as JSON.`,
  isOpen: false,
});
const strange = (name: string, found: string): TagFault => ({
  code: 'call_unclear',
  message: `In the call \`${name}\` stands ${JSON.stringify(found.slice(0, 60))} where a tag of an argument should. Send each argument in its tags, and nothing between them.`,
  isOpen: false,
});

const skipSpace = (text: string, from: number): number => {
  let offset = from;
  while (offset < text.length && /\s/.test(text.charAt(offset))) offset += 1;
  return offset;
};

/** Returns whether the end of a call is the only one: no other is behind it before the next call of this name. */
const isOnlyEnd = (text: string, end: number, close: string, open: string): boolean => {
  const again = text.indexOf(close, end);
  if (again < 0) return true;
  const next = text.indexOf(open, end);
  return next >= 0 && next < again;
};

/** Reads `<tool_call>` around JSON, or around a call in another shape. */
const readWrapped = (text: string, from: number, wrapper: string): TagCall | TagFault => {
  const start = skipSpace(text, from);
  const close = `</${wrapper}>`;
  const named = /^([\w.-]+)\s*<arg_key>/.exec(text.slice(start, start + OPENING_CHARS))?.[1];
  if (named !== undefined)
    return readArguments(text, start + named.length, {
      name: named,
      open: `<${wrapper}>`,
      close,
      argument: /<arg_key>([^<\n]*)<\/arg_key>\s*<arg_value>/y,
      closeOf: () => '</arg_value>',
      isTrimmed: true,
    });
  const inside = text.startsWith('<function=', start) ? readTagCall(text, start) : null;
  if (inside !== null) {
    if (!('end' in inside)) return inside;
    const behind = skipSpace(text, inside.end);
    return { ...inside, end: text.startsWith(close, behind) ? behind + close.length : inside.end };
  }
  const read = readJson(text, start);
  if (read.kind === 'open') return cut(wrapper);
  if (read.kind === 'broken')
    return {
      code: 'not_json',
      message: `The call in \`<${wrapper}>\` is no JSON: ${read.message}.`,
      isOpen: false,
    };
  const behind = skipSpace(text, read.end);
  if (!text.startsWith(close, behind))
    return behind >= text.length ? cut(wrapper) : strange(wrapper, text.slice(behind));
  return { calls: unwrapped(read.value).calls, end: behind + close.length };
};

/** Reads a call whose arguments are attributes, and whose content is between its tags. */
const readAttributes = (
  text: string,
  { tag, name, from }: { readonly tag: string; readonly name: string; readonly from: number },
): TagCall | TagFault => {
  const close = `</${name}>`;
  const end = text.indexOf(close, from);
  if (end < 0) return cut(name);
  if (!isOnlyEnd(text, end + close.length, close, `<${name} `)) return unclear(name);
  const args: Record<string, Json> = {};
  for (const [, key = '', value = ''] of tag.matchAll(/([\w-]+)=["']([^"']*)["']/g))
    args[key] = value;
  if (name === 'boltAction' && args.type !== 'file')
    return {
      code: 'call_unread',
      message: `The action ${JSON.stringify(args.type ?? null)} edits no file. Send the edits alone.`,
      isOpen: false,
    };
  args.content = withoutEnds(withoutData(text.slice(from, end)));
  return { calls: [{ name, args }], end: end + close.length };
};

/** Tags that only group arguments: those of several files are a call each. */
const GROUPS = new Set(['args', 'file', 'edits', 'edit']);

/** Returns the tag at an offset that only groups arguments; null: there is none. */
const groupingAt = (
  text: string,
  offset: number,
): { readonly length: number; readonly opensCall: boolean } | null => {
  const [tag = '', slash, name = ''] = /^<(\/?)(\w+)>/.exec(text.slice(offset, offset + 20)) ?? [];
  if (!GROUPS.has(name)) return null;
  return { length: tag.length, opensCall: slash === '' && (name === 'file' || name === 'edit') };
};

/** Returns the key of the argument whose tag opens at an offset, and where its value starts; null: none opens there. */
const argumentAt = (
  text: string,
  offset: number,
  argument: RegExp,
): { readonly key: string; readonly start: number } | null => {
  argument.lastIndex = offset;
  const opened = argument.exec(text);
  const key = opened?.[1];
  return opened === null || key === undefined ? null : { key, start: offset + opened[0].length };
};

const readArguments = (text: string, from: number, shape: Shape): TagCall | TagFault => {
  const { name, open, close, argument, closeOf, isTrimmed } = shape;
  const groups: Record<string, Json>[] = [{}];
  for (let offset = skipSpace(text, from); ; offset = skipSpace(text, offset)) {
    if (offset >= text.length) return cut(name);
    if (text.startsWith(close, offset)) {
      const end = offset + close.length;
      if (!isOnlyEnd(text, end, close, open)) return unclear(name);
      return { calls: callsOf(groups).map((args) => ({ name, args })), end };
    }
    const grouping = isTrimmed ? groupingAt(text, offset) : null;
    if (grouping !== null) {
      if (grouping.opensCall) groups.push({});
      offset += grouping.length;
      continue;
    }
    const opened = argumentAt(text, offset, argument);
    if (opened === null) return strange(name, text.slice(offset));
    const { key, start } = opened;
    const value = valueIn(text, start, shape, closeOf(key));
    if (value === null) return withoutEnd(text, start, name, closeOf(key));
    const args = groups.at(-1) ?? {};
    if (key in args) return strange(name, text.slice(offset));
    args[key] = isTrimmed || isWord(key) ? plain(key, value.text) : value.text;
    offset = value.end;
  }
};

/** Returns why a value has no end: the text is cut, or goes on with something else. */
const withoutEnd = (text: string, start: number, name: string, closing: string): TagFault => {
  const end = text.indexOf(closing, start);
  return end < 0 ? cut(name) : strange(name, text.slice(end + closing.length).trim());
};

/** Returns the arguments of each call; those of several edits of one file have the path before them. */
const callsOf = (groups: readonly Record<string, Json>[]): readonly Record<string, Json>[] => {
  const [first = {}, ...others] = groups;
  const isShared =
    others.length > 0 && Object.keys(first).every((key) => argumentOf(key) === 'path');
  const calls = isShared ? others.map((args) => ({ ...first, ...args })) : groups;
  const filled = calls.filter((args) => Object.keys(args).length > 0);
  return filled.length === 0 ? [{}] : filled;
};

/** Returns a value up to the closing tag behind which the call goes on or ends. Null: there is none. */
const valueIn = (
  text: string,
  start: number,
  { close, argument }: Shape,
  closing: string,
): { readonly text: string; readonly end: number } | null => {
  const data = /^\s*<!\[CDATA\[/.exec(text.slice(start, start + 40));
  const first = data === null ? start : text.indexOf(']]>', start);
  if (first < 0) return null;
  for (
    let offset = text.indexOf(closing, first);
    offset >= 0;
    offset = text.indexOf(closing, offset + 1)
  ) {
    const end = offset + closing.length;
    const next = skipSpace(text, end);
    argument.lastIndex = next;
    const key = argument.exec(text)?.[1];
    const goesOn = key !== undefined && isKeyOfCalls(key);
    const isGroup = GROUPS.has(/^<\/?(\w+)>/.exec(text.slice(next, next + 20))?.[1] ?? '');
    if (text.startsWith(close, next) || goesOn || isGroup)
      return { text: withoutData(text.slice(start, offset)), end };
  }
  return null;
};

/** Is the value a word, not a text whose every character counts? */
const isWord = (key: string): boolean => {
  const argument = argumentOf(key);
  return argument === null || !['old', 'new', 'text', 'patch', 'diff'].includes(argument);
};
const plain = (key: string, value: string): string => {
  if (isWord(key)) return value.trim();
  if (plainKey(key) !== 'diff') return withoutEnds(value);
  // Roo Code's diff of several files has its blocks in tags of their own.
  const inner =
    /^\s*<content>([^]*)<\/content>\s*(?:<start_line>\s*\d+\s*<\/start_line>\s*)?$/.exec(
      value,
    )?.[1];
  return withoutEnds(inner === undefined ? value : withoutData(inner));
};

const withoutData = (value: string): string =>
  /^\s*<!\[CDATA\[([^]*)\]\]>\s*$/.exec(value)?.[1] ?? value;
/** A value without the line ends next to its tags, and without the blanks before its closing tag. */
const withoutEnds = (value: string): string =>
  /^\r?\n/.test(value) ? value.replace(/^\r?\n/, '').replace(/\r?\n[ \t]*$/, '') : value;
