/** How lines of a new file end: .gitattributes, then .editorconfig, then the files beside it, then LF. */
import { join } from 'node:path';
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

const PIECE =
  /\*\*\/|\*\*|\\(?<escaped>[^])|\[(?<not>!?)(?<set>[^\]/]{1,300})\]|(?<range>\{-?\d+\.\.-?\d+\})|\{[^{},]{0,300}\}|[^]/g;

function setOf(not: string | undefined, set: string): RegExp {
  try {
    return new RegExp(`[${not && '^'}${set.replace(/[\\^[]/g, '\\$&')}]`);
  } catch {
    return /(?!)/; // a range that ends before it begins
  }
}

/** Keeps all places that the glob may have got to in the path: trying them one after the other takes exponential time. */
function matches(glob: string, path: string): boolean {
  // A glob without a slash matches in every directory below the file; one with a slash from the file's own directory.
  const anchored = glob.includes('/') ? glob.replace(/^\//, '') : `**/${glob}`;
  let places = new Set([0]);
  const choices: { readonly from: Set<number>; to: Set<number> }[] = [];
  const one = (from: Set<number>, form: RegExp) =>
    new Set([...from].filter((at) => form.test(path.charAt(at))).map((at) => at + 1));
  const many = (from: Set<number>, form: RegExp) => {
    const to = new Set(from);
    for (let at = 0; at < path.length; at += 1)
      if (to.has(at) && form.test(path.charAt(at))) to.add(at + 1);
    return to;
  };
  const text = (of: string) =>
    new Set([...places].filter((at) => path.startsWith(of, at)).map((at) => at + of.length));
  for (const { 0: piece, groups: { escaped, not, set, range } = {} } of anchored.matchAll(PIECE)) {
    const choice = choices.at(-1);
    if (piece === '**/') places = new Set([...places, ...one(many(places, /[^]/), /\//)]);
    else if (piece === '**') places = many(places, /[^]/);
    else if (piece === '*') places = many(places, /[^/]/);
    else if (piece === '?') places = one(places, /[^/]/);
    else if (set !== undefined) places = one(places, setOf(not, set));
    else if (range !== undefined)
      places = many(one(new Set([...places, ...text('-')]), /\d/), /\d/);
    else if (piece === '{') choices.push({ from: places, to: new Set() });
    else if (choice !== undefined && (piece === ',' || piece === '}')) {
      choice.to = new Set([...choice.to, ...places]);
      places = piece === ',' ? choice.from : choice.to;
      if (piece === '}') choices.pop();
    } else places = text(escaped ?? piece); // `{x}` is text, not a choice
  }
  return choices.length === 0 && places.has(path.length);
}

/** For each of the paths; `files`: workspace-relative paths of existing ones; those in a new file's directory count, of its extension first. */
export async function eolsForNewFiles(
  root: string,
  paths: readonly string[],
  files: readonly string[],
) {
  const beside = new Map(paths.map((path) => [dirOf(path), [] as string[]]));
  for (const file of files) beside.get(dirOf(file))?.push(file);
  const eols = await attributesEols(root, paths);
  for (const path of paths) {
    const siblings = beside.get(dirOf(path)) ?? [];
    const eol =
      eols.get(path) ??
      (await editorConfigEol(root, path)) ??
      (await siblingsEol(root, path, siblings));
    eols.set(path, eol ?? '\n');
  }
  return eols;
}

/** Of `path eol value path text value` for each; none outside a repository. */
async function attributesEols(root: string, paths: readonly string[]) {
  const input = paths.map((path) => `${path}\0`).join('');
  const asked = await git(['check-attr', '-z', '--stdin', 'eol', 'text'], {
    cwd: root,
    reading: true,
    input,
  });
  const said = asked.ok
    ? asked.value.text.matchAll(/(?<![^\0])([^\0]+)\0eol\0(lf|crlf)\0\1\0text\0(?!unset\0)/g)
    : [];
  return new Map(
    [...said].map(([, path = '', eol]) => [
      path,
      eol === 'lf' ? ('\n' as const) : ('\r\n' as const),
    ]),
  );
}

async function siblingsEol(
  root: string,
  path: string,
  siblings: readonly string[],
): Promise<'\n' | '\r\n' | null> {
  const extension = extensionOf(path);
  const beside = siblings.filter((file) => file !== path);
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
