/** Splits a document into the YAML between `---` lines at its top and the Markdown below, byte for byte. */

export type FrontMatter =
  | {
      readonly ok: true;
      /** Null if the file has no front matter. */
      readonly yaml: string | null;
      readonly body: string;
      /** Line at which the Markdown starts, counted from 1. */
      readonly bodyLine: number;
    }
  | { readonly ok: false; readonly line: number; readonly message: string };

const FENCE = /^---[ \t]*$/;

const CLOSE = /^(---|\.\.\.)[ \t]*$/;

/**
 * Splits a document into its front matter and its Markdown. A `---` line below blank lines is a rule of Markdown, unless keys follow it: then
 * the author meant front matter, and the blank lines are a fault.
 */
export function splitFrontMatter(source: string): FrontMatter {
  const text = source.startsWith('\uFEFF') ? source.slice(1) : source;
  const lines = text.split(/(?<=\n|\r(?!\n))/);
  const withoutLineEnd = (line = ''): string => line.replace(/[\r\n]+$/, '');
  const onlyMarkdown = { ok: true, yaml: null, body: text, bodyLine: 1 } as const;
  const first = lines.findIndex((line) => line.trim() !== '');
  if (!FENCE.test(withoutLineEnd(lines[first]))) return onlyMarkdown;
  const close = lines.findIndex((line, index) => index > first && CLOSE.test(withoutLineEnd(line)));
  const inner = lines.slice(first + 1, Math.max(close, 0)).map(withoutLineEnd);
  const fault = (message: string) => ({ ok: false as const, line: first + 1, message });
  if (first > 0 && !inner.some((line) => /^[\w-]+[ \t]*:/.test(line))) return onlyMarkdown;
  if (first > 0)
    return fault(
      'expected front matter to start on line 1, received blank lines above it; remove them',
    );
  if (close === -1)
    return fault(
      'the front matter opened by `---` is never closed; expected a second `---` line, received the end of the file',
    );
  return {
    ok: true,
    yaml: inner.join('\n'),
    body: lines.slice(close + 1).join(''),
    bodyLine: close + 2,
  };
}
