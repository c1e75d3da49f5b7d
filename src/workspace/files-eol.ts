/** How lines of a new file end: .gitattributes, then .editorconfig, then the files beside it, then LF. */
import { join } from 'node:path';

import { editorConfigEol } from './files-editorconfig.js';
import { git } from './git.js';
import { readGiven } from './given-file.js';
import { STORE_BOUNDS } from '../shared/bounds.js';

/** `siblings`: workspace-relative paths of existing files; those in the new file's directory count, of its extension first. */
export async function eolForNewFile(root: string, path: string, siblings: readonly string[]): Promise<'\n' | '\r\n'> {
  return (
    (await attributesEol(root, path)) ??
    (await editorConfigEol(root, path)) ??
    (await siblingsEol(root, path, siblings)) ??
    '\n'
  );
}

async function attributesEol(root: string, path: string): Promise<'\n' | '\r\n' | null> {
  const asked = await git(['check-attr', '-z', 'eol', 'text', '--', path], { cwd: root, reading: true });
  if (!asked.ok) return null; // not a repository
  const fields = asked.value.text.split('\0');
  const value = (name: string): string | undefined => fields[fields.indexOf(name, 1) + 1];
  if (value('text') === 'unset') return null;
  const eol = fields.includes('eol') ? value('eol') : undefined;
  return eol === 'crlf' ? '\r\n' : eol === 'lf' ? '\n' : null;
}

async function siblingsEol(root: string, path: string, siblings: readonly string[]): Promise<'\n' | '\r\n' | null> {
  const [dir, extension] = [dirOf(path), extensionOf(path)];
  const beside = siblings.filter((file) => file !== path && dirOf(file) === dir);
  const alike = beside.filter((file) => extensionOf(file) === extension);
  let [lf, crlf] = [0, 0];
  for (const file of (alike.length > 0 ? alike : beside).slice(0, STORE_BOUNDS.siblings_files)) {
    const head = await headOf(join(root, file));
    const ends = head.match(/\r?\n/g);
    if (ends === null || head.includes('\0')) continue;
    if (ends.filter((end) => end === '\r\n').length * 2 > ends.length) crlf += 1;
    else lf += 1;
  }
  if (lf === 0 && crlf === 0) return null;
  return crlf > lf ? '\r\n' : '\n';
}

/** The first bytes of a file as latin1; '' where it cannot be read. */
async function headOf(file: string): Promise<string> {
  const head = await readGiven(file, STORE_BOUNDS.sibling_bytes, 'cut').catch(() => null);
  return head?.toString('latin1') ?? '';
}

const dirOf = (path: string): string => path.slice(0, Math.max(path.lastIndexOf('/'), 0));
const extensionOf = (path: string): string => /\.[^./]+$/.exec(path)?.[0] ?? '';
