/** How lines of a new file end: .gitattributes, then .editorconfig, then the files beside it, then LF. */
import { join } from 'node:path';
import { literally } from '../../shared/text.js';
import { readGivenText, UNREADABLE, readGiven } from '../../system/given-file.js';
import { git } from '../git/git.js';

const SIBLINGS_FILES = 8; // bound: A new file takes its line ending from so many of its siblings,
const SIBLING_BYTES = 64 * 1024; // bound: of each this much is read.

// `end_of_line` of .editorconfig for a path (https://spec.editorconfig.org): nearest file and last matching section win.

async function editorConfigEol(root: string, path: string): Promise<'\n' | '\r\n' | null> {
  const folders = path.split('/').slice(0, -1);
  for (let depth = folders.length; depth >= 0; depth -= 1) {
    const dir = folders.slice(0, depth).join('/');
    const text = await readGivenText(join(root, dir, '.editorconfig'), UNREADABLE);
    if (text === null) continue;
    const { eol, isRoot } = endOfLineIn(text, dir === '' ? path : path.slice(dir.length + 1));
    if (eol === 'crlf') return '\r\n';
    if (eol === 'lf') return '\n';
    // `unset` takes back what outer files say; `cr` is an ending that we do not write.
    if (isRoot || eol !== null) return null;
  }
  return null;
}

function endOfLineIn(text: string, path: string): { eol: string | null; isRoot: boolean } {
  let eol: string | null = null;
  let isRoot = false;
  let applies: boolean | 'preamble' = 'preamble';
  for (const line of text.replace(/^\ufeff/, '').split(/\r?\n/)) {
    const section = /^\s*\[(.+)\]\s*(?:[#;].*)?$/s.exec(line)?.[1];
    if (section !== undefined) {
      applies = matches(section, path);
      continue;
    }
    const [key, value] = line.split(/=(.*)/s).map((side) => side.trim().toLowerCase());
    if (value === undefined) continue;
    if (applies === 'preamble' && key === 'root') isRoot = value === 'true';
    if (applies === true && key === 'end_of_line') eol = value;
  }
  return { eol, isRoot };
}

function matches(glob: string, path: string): boolean {
  // A glob without a slash matches in every directory below the file; one with a slash from the file's own directory.
  const anchored = glob.includes('/') ? glob.replace(/^\//, '') : `**/${glob}`;
  try {
    return new RegExp(`^${toPattern(anchored)}$`).test(path);
  } catch {
    return false; // an unbalanced bracket
  }
}

const RANGE = /^\{(-?\d+)\.\.(-?\d+)\}/;

function toPattern(glob: string): string {
  let pattern = '';
  let open = 0;
  for (let i = 0; i < glob.length; i += 1) {
    const rest = glob.slice(i);
    const piece = (length: number, as: string): void => {
      pattern += as;
      i += length - 1;
    };
    const set = /^\[(!?)([^\]/]{1,300})\]/.exec(rest);
    const single = /^\{([^{},]{0,300})\}/.exec(rest);
    if (rest.startsWith('\\') && rest.length > 1) piece(2, literally(rest.charAt(1)));
    else if (rest.startsWith('**/')) piece(3, '(?:.*/)?');
    else if (rest.startsWith('**')) piece(2, '.*');
    else if (rest.startsWith('*')) piece(1, '[^/]*');
    else if (rest.startsWith('?')) piece(1, '[^/]');
    else if (set) piece(set[0].length, `[${set[1] === '!' ? '^' : ''}${(set[2] ?? '').replace(/[\\^[]/g, '\\$&')}]`);
    else if (RANGE.test(rest)) piece(RANGE.exec(rest)?.[0].length ?? 1, '-?\\d+');
    else if (single) piece(single[0].length, literally(single[0])); // `{x}` is text, not a choice
    else if (rest.startsWith('{')) {
      open += 1;
      piece(1, '(?:');
    } else if (rest.startsWith('}') && open > 0) {
      open -= 1;
      piece(1, ')');
    } else if (rest.startsWith(',') && open > 0) piece(1, '|');
    else piece(1, literally(rest.charAt(0)));
  }
  return pattern;
}

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
  for (const file of (alike.length > 0 ? alike : beside).slice(0, SIBLINGS_FILES)) {
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
  const head = await readGiven(file, SIBLING_BYTES, 'cut').catch(() => null);
  return head?.toString('latin1') ?? '';
}

const dirOf = (path: string): string => path.slice(0, Math.max(path.lastIndexOf('/'), 0));
const extensionOf = (path: string): string => /\.[^./]+$/.exec(path)?.[0] ?? '';
