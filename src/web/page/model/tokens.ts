/** Colours the syntax of a diff, on the page and in a terminal. A grammar is loaded when a file needs it. A file without one stays plain. */
import type { Parser } from '@lezer/common';
import { highlightTree, tagHighlighter, tags } from '@lezer/highlight';
import type { Stretch, DiffLine, Hunk } from './diff.js';

type Load = () => Promise<Parser>;

const script =
  (dialect: string): Load =>
  async () =>
    (await import('@lezer/javascript')).parser.configure({ dialect });
const GRAMMARS: readonly (readonly [endings: string, load: Load])[] = [
  ['js mjs cjs jsx', script('jsx')],
  ['ts mts cts', script('ts')],
  ['tsx', script('jsx ts')],
  ['json', async () => (await import('@lezer/json')).parser],
  ['py', async () => (await import('@lezer/python')).parser],
  ['rs', async () => (await import('@lezer/rust')).parser],
  ['go', async () => (await import('@lezer/go')).parser],
  ['java', async () => (await import('@lezer/java')).parser],
  ['c h cc cpp hpp', async () => (await import('@lezer/cpp')).parser],
  ['css', async () => (await import('@lezer/css')).parser],
  ['html htm vue', async () => (await import('@lezer/html')).parser],
  ['yaml yml', async () => (await import('@lezer/yaml')).parser],
];

/** Returns the grammar of a file by the end of its name. Null: there is none. */
export const grammarOf = (path: string): { readonly name: string; readonly load: Load } | null => {
  const name = /\.([A-Za-z]+)$/.exec(path)?.[1]?.toLowerCase() ?? '';
  const [, load] = GRAMMARS.find(([endings]) => endings.split(' ').includes(name)) ?? [];
  return load === undefined ? null : { name, load };
};

/** Maximum size of a hunk that is coloured. A larger one stays plain, because its parsing would delay scrolling. */
const HUNK_chars = 200_000;

const COLOURS = tagHighlighter([
  {
    tag: [tags.keyword, tags.modifier, tags.operatorKeyword, tags.self, tags.bool, tags.null],
    class: 'k-keyword',
  },
  {
    tag: [tags.string, tags.special(tags.string), tags.regexp, tags.attributeValue],
    class: 'k-string',
  },
  { tag: [tags.comment, tags.lineComment, tags.blockComment, tags.docComment], class: 'k-comment' },
  { tag: [tags.number, tags.literal, tags.color, tags.unit], class: 'k-number' },
  { tag: [tags.typeName, tags.className, tags.namespace, tags.tagName], class: 'k-type' },
  {
    tag: [
      tags.definition(tags.variableName),
      tags.function(tags.variableName),
      tags.propertyName,
      tags.attributeName,
    ],
    class: 'k-name',
  },
]);

/** Returns the coloured tokens of a line. Undefined: the hunk is not coloured, or it does not have this line. */
export type Lines = (line: DiffLine) => readonly Token[] | undefined;

const sideTokens = (parser: Parser, lines: readonly DiffLine[]): Lines => {
  const starts = new Map<DiffLine, number>();
  let next = 0;
  for (const line of lines) {
    starts.set(line, next);
    next += line.text.length + 1;
  }
  const tree = parser.parse(lines.map(({ text }) => text).join('\n'));
  const known = new Map<DiffLine, readonly Token[]>();
  return (line) => {
    const start = starts.get(line);
    if (start === undefined || known.has(line)) return known.get(line);
    const found: Token[] = [];
    // Only lines that were drawn keep their tokens. Tokens of all lines would take most of the page's memory; the tree is small.
    const put = (from: number, to: number, colour: string): void => {
      const token = {
        from: Math.max(from - start, 0),
        to: Math.min(to - start, line.text.length),
        colour,
      };
      if (token.to > token.from) found.push(token);
    };
    highlightTree(tree, COLOURS, put, start, start + line.text.length);
    known.set(line, found);
    return found;
  };
};

/**
 * Parses each side of a hunk as a text of its own and returns a function that colours a line. The grammars accept incomplete text.
 * Call it only for a hunk that is drawn.
 */
export const hunkTokens = (parser: Parser, { lines }: Hunk): Lines => {
  if (lines.reduce((sum, line) => sum + line.text.length, 0) > HUNK_chars) return () => undefined;
  const sides = [
    lines.filter(({ sign }) => sign === '-'),
    lines.filter(({ sign }) => sign !== '-'),
  ];
  const [before, after] = sides.map((side) => sideTokens(parser, side));
  return (line) => (line.sign === '-' ? before : after)?.(line);
};

/** Colour of the characters `[from, to)` of a line. */
export interface Token {
  readonly from: number;
  readonly to: number;
  readonly colour: string;
}
export interface ColouredPart extends Stretch {
  readonly colour: string | null;
}

/** Splits stretches at the ends of tokens, so that each part has one colour. The tokens must be in order and must not overlap. */
export const coloured = (
  stretches: readonly Stretch[],
  tokens: readonly Token[] | null,
): readonly ColouredPart[] => {
  if (tokens === null || tokens.length === 0)
    return stretches.map((stretch) => ({ ...stretch, colour: null }));
  const parts: ColouredPart[] = [];
  let start = 0;
  let next = 0;
  for (const { text, changed } of stretches) {
    const end = start + text.length;
    let position = start;
    const put = (to: number, colour: string | null): void => {
      if (to > position)
        parts.push({ text: text.slice(position - start, to - start), changed, colour });
      position = Math.max(position, to);
    };
    for (let token = tokens[next]; token !== undefined && token.from < end; token = tokens[next]) {
      put(Math.min(token.from, end), null);
      put(Math.min(token.to, end), token.colour);
      if (token.to > end) break;
      next += 1;
    }
    put(end, null);
    start = end;
  }
  return parts;
};
