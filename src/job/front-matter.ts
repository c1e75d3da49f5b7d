/** Splits a job file into the YAML between `---` lines at its top and the Markdown below, byte for byte. */

export type FrontMatter =
  /** `yaml` null: no front matter. `bodyLine`: 1-based line where the Markdown starts. */
  | { readonly ok: true; readonly yaml: string | null; readonly body: string; readonly bodyLine: number }
  | { readonly ok: false; readonly line: number; readonly message: string };

const FENCE = /^---[ \t]*$/;
const CLOSE = /^(---|\.\.\.)[ \t]*$/;

export function splitFrontMatter(source: string): FrontMatter {
  const text = source.startsWith('\uFEFF') ? source.slice(1) : source;
  const lines = text.split('\n');
  const plain = (line: string | undefined): string => (line ?? '').replace(/\r$/, '');
  if (!FENCE.test(plain(lines[0]))) return { ok: true, yaml: null, body: text, bodyLine: 1 };
  const close = lines.findIndex((line, index) => index > 0 && CLOSE.test(plain(line)));
  if (close === -1)
    return {
      ok: false,
      line: 1,
      message:
        'the front matter opened by `---` is never closed; expected a second `---` line, received the end of the file',
    };
  const yaml = lines.slice(1, close).map(plain).join('\n');
  return { ok: true, yaml, body: lines.slice(close + 1).join('\n'), bodyLine: close + 2 };
}

/** The first ATX heading outside code fences, without marks; null: none. */
export function firstHeading(markdown: string): string | null {
  let fence: string | null = null;
  for (const line of markdown.split(/\r\n|\n|\r/)) {
    const mark = /^ {0,3}(`{3,}|~{3,})/.exec(line)?.[1];
    if (fence !== null) {
      if (mark?.startsWith(fence) && line.trim() === mark) fence = null;
      continue;
    }
    if (mark !== undefined) fence = mark;
    const heading = /^ {0,3}#{1,6}[ \t]+(.*?)[ \t]*#*[ \t]*$/.exec(line)?.[1]?.trim();
    if (heading) return heading;
  }
  return null;
}
