/**
 * Reads the outline of a Markdown document: the offsets of its headings, tasks, links, code and comments. The parser is @lezer/markdown
 * (decision 0019).
 */
import { TaskList, parser } from '@lezer/markdown';
import { readHtml, type HtmlTags } from './html-tags.js';
import { EXCESSES, markdownBounds } from './markdown-bounds.js';
import { lineIndex } from './text-spans.js';
import type { Heading, Link, Span, Task } from './types.js';

export interface Outline {
  /** Headings at the top level of the document. A heading in a list or a quotation belongs to that and is left out. */
  readonly headings: readonly Heading[];
  readonly tasks: readonly (Task & { readonly from: number })[];
  /** Links in Markdown and in HTML tags. */
  readonly links: readonly Link[];
  /** Definitions of labels (`[notes]: notes.md`), in order. */
  readonly definitions: readonly Definition[];
  /** Uses of labels (`[text][notes]`, `[notes][]` and `[notes]`), including labels without a definition. */
  readonly uses: readonly Use[];
  readonly ids: HtmlTags['ids'];
  readonly opaque: readonly Span[];
  /** Offset of a code fence that is not closed, or null if there is none. */
  readonly openFence: number | null;
  /** The first place that exceeds a bound of the parser, with its fault. */
  readonly excess: { readonly from: number; readonly message: string } | null;
  readonly lines: ReturnType<typeof lineIndex>;
}

interface Use {
  /** The label in lower case and with single blanks, as Markdown compares labels. */
  readonly label: string;
  readonly from: number;
}

export interface Definition extends Use {
  /** The whole definition in one line. */
  readonly line: string;
}

// Plans need neither of the removed features, and many blanks before a hard break take the parser quadratic time.
const markdown = parser.configure([
  TaskList,
  { remove: ['HardBreak', 'Emphasis'] },
  markdownBounds,
]);

const OPAQUE = new Set([
  'FencedCode',
  'CodeBlock',
  'HTMLBlock',
  'CommentBlock',
  'ProcessingInstructionBlock',
]);

type SyntaxNode = Parameters<
  NonNullable<Parameters<ReturnType<typeof markdown.parse>['iterate']>[0]['enter']>
>[0];

/** The lists of the outline while the syntax tree is walked, and the nesting of the current node. */
interface Walk {
  readonly source: string;
  /** Difference between an offset in the document and the same place in the parsed text. */
  readonly skip: number;
  readonly lines: Outline['lines'];
  readonly headings: Heading[];
  readonly tasks: (Task & { from: number })[];
  readonly links: Link[];
  readonly definitions: Definition[];
  readonly uses: Use[];
  readonly ids: HtmlTags['ids'][number][];
  readonly opaque: Span[];
  openFence: number | null;
  excess: Outline['excess'];
  depth: number;
  listItems: number;
  quotations: number;
}

/** Reads the outline of a document. `skip` is the offset at which the Markdown begins, after a byte order mark and the front matter. */
export function readMarkdown(source: string, skip = 0): Outline {
  // The parser knows only LF, and the replacement keeps all offsets.
  const text = source.slice(skip).replace(/\r\n/g, ' \n').replace(/\r/g, '\n');
  const walk: Walk = {
    source,
    skip,
    lines: lineIndex(source),
    headings: [],
    tasks: [],
    links: [],
    definitions: [],
    uses: [],
    ids: [],
    opaque: [],
    openFence: null,
    excess: null,
    depth: 0,
    listItems: 0,
    quotations: 0,
  };
  markdown.parse(text).iterate({
    enter: (node) => {
      enterNode(walk, node);
      walk.depth += 1;
    },
    leave: ({ name }) => {
      walk.depth -= 1;
      if (name === 'ListItem') walk.listItems -= 1;
      else if (name === 'Blockquote') walk.quotations -= 1;
    },
  });
  const { headings, tasks, links, definitions, uses, ids, opaque, openFence, excess, lines } = walk;
  return { headings, tasks, links, definitions, uses, ids, opaque, openFence, excess, lines };
}

function enterNode(walk: Walk, node: SyntaxNode): void {
  const { name } = node;
  const span = { from: node.from + walk.skip, to: node.to + walk.skip };
  if (walk.depth === 1 && /^(ATX|Setext)Heading\d$/.test(name))
    walk.headings.push(headingAt(walk.source, name, span, walk.lines.lineOf));
  READERS[name]?.(walk, span, node);
  const message = EXCESSES[name];
  if (message !== undefined) walk.excess ??= { from: span.from, message };
  if (OPAQUE.has(name)) walk.opaque.push(span);
}

/** Readers of the nodes that belong to the outline, by the name of the node. */
const READERS: Readonly<Record<string, (walk: Walk, span: Span, node: SyntaxNode) => void>> = {
  ListItem: (walk) => {
    walk.listItems += 1;
  },
  Blockquote: (walk) => {
    walk.quotations += 1;
  },
  TaskMarker: ({ source, tasks, quotations, listItems, lines }, span) => {
    if (quotations === 0) tasks.push(taskAt(source, span, listItems - 1, lines.lineOf));
  },
  URL: readUrl,
  LinkReference: readDefinition,
  Link: readUse,
  Image: readUse,
  HTMLTag: readTags,
  HTMLBlock: readTags,
  FencedCode: (walk, span, { node }) => {
    if (walk.depth === 1 && node.getChildren('CodeMark').length < 2) walk.openFence = span.from;
  },
};

function readUrl({ source, skip, links }: Walk, span: Span, { node }: SyntaxNode): void {
  const { parent } = node;
  if (parent === null || !isLinkTarget(parent.name)) return;
  if (parent.name !== 'LinkReference' || !isFootnote(source, parent.from + skip))
    links.push(linkAt(source, span));
}

function readDefinition(
  { source, skip, definitions }: Walk,
  { from }: Span,
  { node }: SyntaxNode,
): void {
  if (isFootnote(source, from)) return;
  const parts = node
    .getChildren('LinkLabel')
    .concat(node.getChildren('URL'), node.getChildren('LinkTitle'));
  const [label = '', ...rest] = parts.map((part) =>
    foldBlanks(source.slice(part.from + skip, part.to + skip)),
  );
  definitions.push({ label: labelOf(label), from, line: `${label}: ${rest.join(' ')}` });
}

/** Reads the use of a label. In `[text][]` and `[text]` the text is the label. */
function readUse({ source, skip, uses }: Walk, { from, to }: Span, { node }: SyntaxNode): void {
  if (node.getChild('URL') !== null) return;
  const label = node.getChild('LinkLabel');
  const explicitLabel =
    label === null || label.to - label.from <= 2
      ? null
      : source.slice(label.from + skip, label.to + skip);
  const end = label !== null && explicitLabel === null ? label.from + skip : to;
  uses.push({
    label: labelOf(explicitLabel ?? source.slice(from, end).replace(/^!/, '')),
    from,
  });
}

function readTags({ source, links, ids }: Walk, span: Span): void {
  const tags = readHtml(source, span);
  for (const { from, to } of tags.links) links.push({ from, to, target: source.slice(from, to) });
  ids.push(...tags.ids);
}

const isLinkTarget = (parent: string): boolean =>
  parent === 'Link' || parent === 'Image' || parent === 'LinkReference';

const foldBlanks = (text: string): string => text.replace(/\s+/g, ' ').trim();

const labelOf = (brackets: string): string => foldBlanks(brackets.slice(1, -1)).toLowerCase();

/** Returns whether a footnote starts here. The parser reads `[^1]: one` as a definition, but its text is no address. */
const isFootnote = (source: string, offset: number): boolean => source.startsWith('[^', offset);

function headingAt(
  source: string,
  name: string,
  span: Span,
  lineOf: (offset: number) => number,
): Heading {
  // A `\r` at the end is half of a CRLF, and any other `\r` is a line end.
  const lines = source.slice(span.from, span.to).replace(/\r(?!\n|$)/g, '\n');
  const isAtx = name.startsWith('ATX');
  const [open = ''] = (isAtx ? /^#{1,6}[ \t]*/ : /^[ \t]*/).exec(lines) ?? [];
  const closing = isAtx ? /(?<![ \t\r])(?:[ \t]+#+)?[ \t\r]*$/ : /(?<![ \t\r])[ \t\r]*\n[^\n]*$/;
  const text = lines.slice(open.length).replace(closing, '');
  const from = span.from + open.length;
  const words = { from, to: from + text.length };
  return {
    ...span,
    level: Number(name.slice(-1)),
    line: lineOf(span.from),
    words,
    text: source.slice(words.from, words.to),
  };
}

function taskAt(
  source: string,
  marker: Span,
  depth: number,
  lineOf: (offset: number) => number,
): Outline['tasks'][number] {
  const text = (/^[^\r\n]*/.exec(source.slice(marker.to)) ?? [''])[0].trim();
  const done = source.slice(marker.from + 1, marker.to - 1).trim() !== '';
  return { from: marker.from, text, done, depth, line: lineOf(marker.from), mark: marker.from + 1 };
}

function linkAt(source: string, url: Span): Link {
  const text = source.slice(url.from, url.to);
  const hasBrackets = text.startsWith('<') && text.endsWith('>');
  const span = hasBrackets ? { from: url.from + 1, to: url.to - 1 } : url;
  return { ...span, target: source.slice(span.from, span.to) };
}
