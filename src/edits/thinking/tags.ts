/** The tags in a response that may begin or end thinking, in order. */

/** The tags whose text is thinking, and HTML comments. */
export const THINKING_TAGS = ['think', 'thinking', 'reasoning'] as const;
export type ThinkingName = (typeof THINKING_TAGS)[number] | 'comment';

/** Attributes of a tag end within its line. */
const ATTRIBUTES_CHARS = 200; // bound: A tag with more characters of attributes is text.
const TAG = new RegExp(
  `<(/?)(${THINKING_TAGS.join('|')})(?:[ \\t][^<>\\r\\n]{0,${ATTRIBUTES_CHARS}})?>|<!--|-->`,
  'gi',
);

/** The line of a tag, without its end. */
export interface TagLine {
  readonly to: number;
  /** Offsets of its first character that is not blank, and behind its last one. */
  readonly firstText: number;
  readonly lastText: number;
  /** True: it begins like an added or removed line of a diff, not like an item of a list. */
  readonly isSigned: boolean;
}

export interface Tag {
  readonly from: number;
  /** Offset behind the tag. */
  readonly to: number;
  readonly name: ThinkingName;
  readonly closes: boolean;
  /** True: the text only mentions the tag, which is in backticks or directly in quotes. */
  readonly isMention: boolean;
  readonly line: TagLine;
}

export const isLineStart = ({ from, line }: Tag): boolean => from <= line.firstText;
/** Returns whether only blanks precede and follow the tag on its line. */
export const isAlone = ({ from, to, line }: Tag): boolean =>
  from <= line.firstText && to >= line.lastText;

export const tagsOf = (text: string): readonly Tag[] => {
  const lines = new TagLines(text);
  const tags: Tag[] = [];
  for (const match of text.matchAll(TAG)) {
    const [tag, slash, name] = match;
    const from = match.index;
    const to = from + tag.length;
    const isInCode = lines.isInCode(from);
    tags.push({
      from,
      to,
      name: (name?.toLowerCase() ?? 'comment') as ThinkingName,
      closes: tag === '-->' || slash === '/',
      isMention: isInCode || isQuoted(text, from, to),
      line: lines.line,
    });
  }
  return tags;
};

const QUOTES: Readonly<Record<string, string>> = { '"': '"', "'": "'", '“': '”', '‘': '’' };
const isQuoted = (text: string, from: number, to: number): boolean => {
  const closing = QUOTES[text[from - 1] ?? ''];
  return closing !== undefined && text[to] === closing;
};

/** The lines of tags and their code spans, which end within a line. Callers pass the offsets in rising order. */
class TagLines {
  line: TagLine = { to: 0, firstText: 0, lastText: 0, isSigned: false };
  readonly #text: string;
  #spans: readonly (readonly [from: number, to: number])[] = [];
  #next = 0;

  constructor(text: string) {
    this.#text = text;
  }

  /** Sets `line` to the line of the offset, and returns whether the offset is in a code span. */
  isInCode(offset: number): boolean {
    if (offset >= this.line.to) this.#readLine(offset);
    while ((this.#spans[this.#next]?.[1] ?? Infinity) <= offset) this.#next += 1;
    return (this.#spans[this.#next]?.[0] ?? Infinity) < offset;
  }

  #readLine(offset: number): void {
    const from = this.#text.lastIndexOf('\n', offset) + 1;
    const end = this.#text.indexOf('\n', offset);
    const to = end < 0 ? this.#text.length : end;
    const text = this.#text.slice(from, to);
    const lastText = from + text.trimEnd().length;
    const firstText = to - text.trimStart().length;
    this.line = { to, firstText, lastText, isSigned: /^(?:\+|-(?! |->))/.test(text) };
    this.#spans = codeSpansIn(text, from);
    this.#next = 0;
  }
}

/** Returns CommonMark's code spans: each begins with a run of backticks and ends with the next run of the same length. */
const codeSpansIn = (line: string, start: number): readonly (readonly [number, number])[] => {
  const runs = [...line.matchAll(/`+/g)];
  const closings: number[] = [];
  const nextOfLength = new Map<number, number>();
  for (let index = runs.length - 1; index >= 0; index -= 1) {
    const length = runs[index]?.[0].length ?? 0;
    closings[index] = nextOfLength.get(length) ?? -1;
    nextOfLength.set(length, index);
  }
  const spans: (readonly [number, number])[] = [];
  for (let index = 0; index < runs.length; index += 1) {
    const [opening, closing] = [runs[index], runs[closings[index] ?? -1]];
    if (opening === undefined || closing === undefined) continue;
    spans.push([start + opening.index, start + closing.index + closing[0].length]);
    index = closings[index] ?? index;
  }
  return spans;
};
