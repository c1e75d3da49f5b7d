/** Markdown with offsets: headings, tasks, links, and what is code or comment. The parser is @lezer/markdown (decision 0019). */
import { parser, TaskList } from '@lezer/markdown';
import { EXCESSES, markdownBounds } from './markdown-bounds.js';
import { type Span, lineIndex, type Heading, type Link, type Task } from './types.js';

const PLAN_TAG_CHARS = 4_000; // bound: Links are not looked for in an HTML tag with more attributes than that.

// Links and anchors of the HTML in a Markdown text. Only tags are read; what is in comments is none.

export interface HtmlTags {
  /** Where `href` of `<a>` and `src` of `<img>` stand, without quotes and blanks around. */
  readonly links: readonly Span[];
  /** `id` of any tag, `name` of `<a>`. */
  readonly ids: readonly { readonly id: string; readonly from: number }[];
}

/** A tag with `<` or `>` in an attribute is not read; each tag's attributes are bounded, so reading is linear. */
const TAG = new RegExp(
  `<!--[^]*?(?:-->|$)|<([a-z][a-z0-9-]*)(?=[\\s/])([^<>]{0,${PLAN_TAG_CHARS}})>`,
  'gi',
);
const ATTRIBUTE = /(?<=^|[\s"'/])([^\s"'<>/=]+)\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'=<>`]+))/dg;

function readHtml(source: string, { from, to }: Span): HtmlTags {
  const links: Span[] = [];
  const ids: { id: string; from: number }[] = [];
  for (const tag of source.slice(from, to).matchAll(TAG)) {
    const [, tagName, attributes] = tag;
    if (tagName === undefined || attributes === undefined) continue;
    const name = tagName.toLowerCase();
    const begin = from + tag.index + 1 + name.length;
    for (const attribute of attributes.matchAll(ATTRIBUTE)) {
      const [, key = '', double, single, bare] = attribute;
      const value = double ?? single ?? bare ?? '';
      const at =
        begin +
        ([2, 3, 4]
          .map((group) => attribute.indices?.[group]?.[0])
          .find((each) => each !== undefined) ?? 0);
      const what = `${name} ${key.toLowerCase()}`;
      const start = at + value.length - value.trimStart().length;
      if (what === 'a href' || what === 'img src')
        links.push({ from: start, to: start + value.trim().length });
      if (key.toLowerCase() === 'id' || what === 'a name') ids.push({ id: value, from: at });
    }
  }
  return { links, ids };
}

export interface Outline {
  /** At the document's top level only: one in a list or a quotation is part of that. */
  readonly headings: readonly Heading[];
  readonly tasks: readonly (Task & { readonly from: number })[];
  /** In HTML too. */
  readonly links: readonly Link[];
  /** `[notes]: notes.md`, in order. */
  readonly definitions: readonly Definition[];
  /** Labels of `[text][notes]`, `[notes][]` and `[notes]`, whether or not they are defined. */
  readonly uses: readonly Use[];
  readonly ids: HtmlTags['ids'];
  readonly opaque: readonly Span[];
  /** Offset of a fence that nothing closes. */
  readonly openFence: number | null;
  /** The first place that is more than the parser is given to read, and what is wrong there. */
  readonly excess: { readonly from: number; readonly message: string } | null;
  readonly lines: ReturnType<typeof lineIndex>;
}

interface Use {
  /** As labels are compared: blanks folded, in small letters. */
  readonly label: string;
  readonly from: number;
}
export interface Definition extends Use {
  /** All of it in one line. */
  readonly line: string;
}

// Neither is asked for, and many blanks take the parser quadratic time with the one.
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

/** `skip`: offset where the Markdown begins, after a byte order mark and front matter. */
export function readMarkdown(source: string, skip = 0): Outline {
  // The parser knows LF only, and offsets must not move.
  const text = source.slice(skip).replace(/\r\n/g, ' \n').replace(/\r/g, '\n');
  const lines = lineIndex(source);
  const headings: Heading[] = [];
  const tasks: (Task & { from: number })[] = [];
  const links: Link[] = [];
  const definitions: Definition[] = [];
  const uses: Use[] = [];
  const ids: HtmlTags['ids'][number][] = [];
  const opaque: Span[] = [];
  let openFence: number | null = null;
  let excess: Outline['excess'] = null;
  let depth = 0;
  let items = 0;
  let quotes = 0;
  markdown.parse(text).iterate({
    enter: ({ name, from, to, node }) => {
      const at = { from: from + skip, to: to + skip };
      if (depth === 1 && /^(ATX|Setext)Heading\d$/.test(name))
        headings.push(headingAt(source, name, at, lines.lineOf));
      else if (name === 'ListItem') items += 1;
      else if (name === 'Blockquote') quotes += 1;
      else if (name === 'TaskMarker' && quotes === 0)
        tasks.push(taskAt(source, at, items - 1, lines.lineOf));
      else if (name === 'URL' && isLinkTarget(node.parent?.name)) {
        const link = linkAt(source, at);
        if (node.parent?.name !== 'LinkReference' || !isFootnote(source, node.parent.from + skip))
          links.push(link);
      } else if (name === 'LinkReference') {
        const parts = node
          .getChildren('LinkLabel')
          .concat(node.getChildren('URL'), node.getChildren('LinkTitle'));
        const [label = '', ...rest] = parts.map((part) =>
          folded(source.slice(part.from + skip, part.to + skip)),
        );
        if (!isFootnote(source, at.from))
          definitions.push({
            label: labelOf(label),
            from: at.from,
            line: `${label}: ${rest.join(' ')}`,
          });
      } else if ((name === 'Link' || name === 'Image') && node.getChild('URL') === null) {
        const label = node.getChild('LinkLabel');
        const given =
          label === null || label.to - label.from <= 2
            ? null
            : source.slice(label.from + skip, label.to + skip);
        const end = label !== null && given === null ? label.from + skip : at.to;
        uses.push({
          label: labelOf(given ?? source.slice(at.from, end).replace(/^!/, '')),
          from: at.from,
        });
      } else if (name === 'HTMLTag' || name === 'HTMLBlock') {
        const tags = readHtml(source, at);
        for (const span of tags.links)
          links.push({ ...span, target: source.slice(span.from, span.to) });
        ids.push(...tags.ids);
      }
      const message = EXCESSES[name];
      if (message !== undefined) excess ??= { from: at.from, message };
      if (OPAQUE.has(name)) opaque.push(at);
      if (name === 'FencedCode' && depth === 1 && node.getChildren('CodeMark').length < 2)
        openFence = at.from;
      depth += 1;
    },
    leave: ({ name }) => {
      depth -= 1;
      if (name === 'ListItem') items -= 1;
      else if (name === 'Blockquote') quotes -= 1;
    },
  });
  return { headings, tasks, links, definitions, uses, ids, opaque, openFence, excess, lines };
}

const isLinkTarget = (parent: string | undefined): boolean =>
  parent === 'Link' || parent === 'Image' || parent === 'LinkReference';

const folded = (text: string): string => text.replace(/\s+/g, ' ').trim();
const labelOf = (written: string): string => folded(written.slice(1, -1)).toLowerCase();
/** `[^1]: one` reads like a definition, and its text is no address. */
const isFootnote = (source: string, at: number): boolean => source.startsWith('[^', at);

function headingAt(
  source: string,
  name: string,
  at: Span,
  lineOf: (offset: number) => number,
): Heading {
  // A `\r` at its end is half of a CRLF.
  const written = source.slice(at.from, at.to).replace(/\r(?!\n|$)/g, '\n');
  const isAtx = name.startsWith('ATX');
  const [open = ''] = (isAtx ? /^#{1,6}[ \t]*/ : /^[ \t]*/).exec(written) ?? [];
  const closing = isAtx ? /(?<![ \t\r])(?:[ \t]+#+)?[ \t\r]*$/ : /(?<![ \t\r])[ \t\r]*\n[^\n]*$/;
  const text = written.slice(open.length).replace(closing, '');
  const from = at.from + open.length;
  const words = { from, to: from + text.length };
  return {
    ...at,
    level: Number(name.slice(-1)),
    line: lineOf(at.from),
    words,
    text: source.slice(words.from, words.to),
  };
}

function taskAt(
  source: string,
  at: Span,
  depth: number,
  lineOf: (offset: number) => number,
): Outline['tasks'][number] {
  const text = (/^[^\r\n]*/.exec(source.slice(at.to)) ?? [''])[0].trim();
  const done = source.slice(at.from + 1, at.to - 1).trim() !== '';
  return { from: at.from, text, done, depth, line: lineOf(at.from), mark: at.from + 1 };
}

function linkAt(source: string, at: Span): Link {
  const written = source.slice(at.from, at.to);
  const angle = written.startsWith('<') && written.endsWith('>');
  const span = angle ? { from: at.from + 1, to: at.to - 1 } : at;
  return { ...span, target: source.slice(span.from, span.to) };
}
