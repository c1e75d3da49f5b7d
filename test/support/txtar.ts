/**
 * Text archives in the txtar format of Go: a comment, then files, each below a line `-- name --`. Two marks after the name hold what the
 * format cannot: `(no newline at end)`, and `(base64)` for bytes that are no plain text.
 */

export interface ArchivedFile {
  readonly path: string;
  readonly bytes: Buffer;
}

const NO_NEWLINE = 'no newline at end';
const BASE64 = 'base64';
const HEADING = new RegExp(`^-- (?<path>.+?)(?: \\((?<mark>${NO_NEWLINE}|${BASE64})\\))? --$`);

/** As many characters as a mail has in a line. */
const BASE64_LINE = /.{1,76}/g;

/** Returns the files of the archive in their order. Throws for text before the first file that is no comment line (`# …`). */
export function readTxtar(text: string): readonly ArchivedFile[] {
  const files: { path: string; mark: string | undefined; lines: string[] }[] = [];
  for (const line of text.split(/(?<=\n)/)) {
    const heading = HEADING.exec(line.trimEnd())?.groups;
    if (heading !== undefined)
      files.push({ path: heading.path ?? '', mark: heading.mark, lines: [] });
    else if (files.length > 0) files.at(-1)?.lines.push(line);
    else if (!/^(?:#.*)?\n$/.test(line))
      throw new Error(`a line before the first "-- name --": ${line}`);
  }
  return files.map(({ path, mark, lines }) => ({ path, bytes: bytesOf(lines.join(''), mark) }));
}

function bytesOf(body: string, mark: string | undefined): Buffer {
  if (mark === BASE64) return Buffer.from(body, 'base64');
  return Buffer.from(mark === NO_NEWLINE ? body.replace(/\n$/, '') : body);
}

/** Returns the archive that {@link readTxtar} reads back, byte for byte. */
export const writeTxtar = (files: readonly ArchivedFile[]): string => files.map(section).join('');

function section({ path, bytes }: ArchivedFile): string {
  const text = bytes.toString('utf8');
  if (!isPlain(text, bytes)) {
    const lines = bytes.toString('base64').replace(BASE64_LINE, '$&\n');
    return `-- ${path} (${BASE64}) --\n${lines}`;
  }
  if (text === '' || text.endsWith('\n')) return `-- ${path} --\n${text}`;
  return `-- ${path} (${NO_NEWLINE}) --\n${text}\n`;
}

/** Text that an editor, a diff and git show as it is: UTF-8 without marks and control characters, and without a line that opens a file. */
const isPlain = (text: string, bytes: Buffer): boolean =>
  Buffer.from(text).equals(bytes) &&
  !/(?![\n\t])[\p{Cc}\ufeff]/u.test(text) &&
  !text.split('\n').some((line) => HEADING.test(line.trimEnd()));
