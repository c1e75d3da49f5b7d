/** Finds the first heading of a Markdown text, which is the title of a job. */

/** Returns the text of the first ATX heading outside code fences, without its `#` signs. Returns null if there is none. */
export function firstHeading(markdown: string): string | null {
  let fence: string | null = null;
  for (const line of markdown.split(/\r\n|\n|\r/)) {
    const mark = /^ {0,3}(`{3,}|~{3,})/.exec(line)?.[1];
    if (fence !== null) {
      if (mark?.startsWith(fence) && line.trim() === mark) fence = null;
      continue;
    }
    if (mark !== undefined) fence = mark;
    const content = /^ {0,3}#{1,6}[ \t](.*)$/.exec(line)?.[1] ?? '';
    const heading = content.replace(/(?<!#)#+\s*$/, '').trim();
    if (heading !== '') return heading;
  }
  return null;
}
