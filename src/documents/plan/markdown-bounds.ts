/**
 * Bounds for the Markdown parser. Its work grows with the square of the openings in one paragraph, and with the square of the nesting of one
 * line. Markdown beyond a bound is read as text, and a node in the syntax tree marks the place.
 */
import type { BlockContext, InlineContext, Line, MarkdownConfig } from '@lezer/markdown';

const OPENINGS = 1_000; // bound: Brackets, tags and code spans that one paragraph opens.
const DEPTH = 50; // bound: Lists and quotations within each other.

/** Names of these nodes with the fault that each of them marks. */
export const EXCESSES: Readonly<Record<string, string>> = {
  ManyOpenings: `expected at most ${OPENINGS} brackets, tags and code spans in one paragraph; split the paragraph`,
  DeepNesting: `expected at most ${DEPTH} lists and quotations within each other`,
};

const OPENING = new Set(['[', '<', '`'].map((sign) => sign.charCodeAt(0)));
const counts = new WeakMap<InlineContext, number>();

/** Returns the offset after a sign that is read as text, or -1 if the other parsers may read it. */
function pastOpening(context: InlineContext, next: number, offset: number): number {
  if (!OPENING.has(next)) return -1;
  const count = (counts.get(context) ?? 0) + 1;
  counts.set(context, count);
  if (count <= OPENINGS) return -1;
  if (count === OPENINGS + 1)
    return context.addElement(context.elt('ManyOpenings', offset, offset + 1));
  return offset + 1;
}

/** Reads the rest of a line as text if it nests too deeply. Returns false if the other parsers may read it. */
function takeDeepLine(context: BlockContext, line: Line): boolean {
  if (context.depth <= DEPTH) return false;
  const from = context.lineStart + line.pos;
  context.addElement(context.elt('DeepNesting', from, context.lineStart + line.text.length));
  context.nextLine();
  return true;
}

export const markdownBounds: MarkdownConfig = {
  defineNodes: ['ManyOpenings', { name: 'DeepNesting', block: true }],
  parseInline: [{ name: 'ManyOpenings', parse: pastOpening, before: 'Escape' }],
  parseBlock: [{ name: 'DeepNesting', parse: takeDeepLine, before: 'IndentedCode' }],
};
