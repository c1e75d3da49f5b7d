/** Models put a file's content into a fence of its own. It is taken off only where it cannot be content. */
import type { LineIndex } from './lines.js';

const MARKDOWN_LIKE = /\.(md|mdx|mdc|markdown|mkd|qmd|rmd|rst|adoc|txt)$|(^|\/)readme[^/]*$/i;
/** Files whose content may be anything: no ending that tells, templates, and what tests or programs wrote. */
const ANYTHING =
  /(^|\/)\.?[^./]+$|\.(text|tmpl|tpl|template|hbs|ejs|j2|jinja|liquid|snap|prompt|in|out|log|golden|expected)$/i;
const FENCE = /^ {0,3}(`{3,}|~{3,})/;

/**
 * The body without a fence round all of it, or the same body. Never in Markdown-like files, nor where the base or body holds other
 * fences. Null: the fence may be content or the model's own, and nothing tells which.
 */
export const stripBodyFence = (path: string, body: LineIndex, base: LineIndex): LineIndex | null => {
  const opening = /^(`{3,}|~{3,})[\w+#.-]*\s*$/.exec(body.line(0) ?? '')?.[1];
  if (opening === undefined || body.length < 2 || body.line(body.length - 1)?.trimEnd() !== opening) return body;
  if (MARKDOWN_LIKE.test(path)) return body;
  const inner = body.slice(1, body.length - 1);
  if (inner.all.some((line) => FENCE.test(line)) || base.all.some((line) => FENCE.test(line))) return body;
  return ANYTHING.test(path) ? null : inner;
};
