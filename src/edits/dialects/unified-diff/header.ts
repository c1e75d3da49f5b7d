/** Which file a diff's header means, and what becomes of it as a whole. */
import type { FileEdit, Hint, UnusableEdit } from '../../edit.js';
import type { Fault } from '../../types.js';
import { fault } from '../reader.js';
import { type Names, readName, sameFile, withoutPrefixes } from './names.js';

export interface FileHeader {
  /** 1-based line of the answer. */
  readonly answerLine: number;
  /** Names of `---` and `+++` with their prefixes; null: /dev/null; absent: no such lines. */
  from?: string | null;
  to?: string | null;
  /** The names of the `diff --git` line, where they can be told apart. */
  git?: { readonly from: string; readonly to: string };
  rename?: { readonly from?: string; readonly to?: string };
  /** The mode as written: `100644`. */
  newMode?: string;
  /** The beginning of the new blob's hash. */
  blob?: string | undefined;
  created?: boolean;
  deleted?: boolean;
  /** What it does that is refused by name. */
  unsupported?: { readonly code: string; readonly message: string };
}

const WORDS =
  /^(old mode|new mode|new file mode|deleted file mode|rename from|rename to|copy from|copy to|similarity index|dissimilarity index|index) (.+)$/;
const COPY = 'Copies are not supported. Send the new file as a separate addition (--- /dev/null).';
const SUBMODULE = 'Changes of submodules are not supported.';
const SYMLINK = 'Changes of symbolic links are not supported.';

/** Notes one extended header line (`rename from x`) in `file`; false: it is none. */
export const readExtendedHeader = (line: string, file: FileHeader): boolean => {
  const [, word, value = ''] = WORDS.exec(line) ?? [];
  switch (word) {
    case undefined:
      return false;
    case 'rename from':
    case 'rename to': {
      const name = readName(value);
      if (name === null) return false;
      file.rename = { ...file.rename, [word === 'rename from' ? 'from' : 'to']: name };
      return true;
    }
    case 'index':
      file.blob = /^[\da-f]+\.\.([\da-f]{7,})/.exec(value)?.[1];
      noteKind(file, / (\d{6})$/.exec(value)?.[1]);
      return true;
    case 'copy from':
    case 'copy to':
      file.unsupported = { code: 'copy', message: COPY };
      return true;
    default:
      noteMode(file, word, value);
      return true;
  }
};

/** Notes a line of a mode, if it is one. */
const noteMode = (file: FileHeader, word: string, value: string): void => {
  if (word === 'deleted file mode') file.deleted = true;
  if (word === 'new file mode') file.created = true;
  if (word === 'new file mode' || word === 'new mode') file.newMode = value;
  if (word.endsWith('mode')) noteKind(file, value);
};

/** Notes what a mode says that the file is, if that is no plain file. */
const noteKind = (file: FileHeader, mode: string | undefined): void => {
  if (mode === '160000') file.unsupported = { code: 'submodule', message: SUBMODULE };
  if (mode === '120000') file.unsupported = { code: 'symlink', message: SYMLINK };
};

/** Permission bits by the modes that git knows. */
const PERMISSIONS: ReadonlyMap<string, number> = new Map([
  ['100644', 0o644],
  ['100755', 0o755],
]);

/** What a header says of its file: old and new path, null if the file is absent on that side; or why it cannot be used. */
export const fileEditOf = (
  header: FileHeader,
  isOffered: (path: string) => boolean,
  hint: Hint,
): FileEdit | UnusableEdit => {
  const unusable = (refusal: Fault, path: string | null): UnusableEdit => ({
    kind: 'unusable',
    path,
    before: header.rename?.from ?? null,
    after: null,
    hint: { ...hint, refusal },
  });
  const { unsupported, answerLine, newMode, blob = null } = header;
  if (unsupported !== undefined) {
    const message = `Line ${answerLine} of the answer: ${unsupported.message}`;
    return unusable({ code: unsupported.code, message }, null);
  }
  const names = namesOf(header, isOffered);
  if ('code' in names) return unusable(names, null);
  const { from, to } = names;
  const path = to ?? from ?? '';
  const mode = PERMISSIONS.get(newMode ?? '') ?? null;
  if (newMode !== undefined && mode === null) {
    const message = `${path}: the mode ${newMode} is not one of git's file modes (100644, 100755).`;
    return unusable({ code: 'bad_mode', message }, path);
  }
  const more = { mode, blob, removesLines: true, refusal: null };
  return { kind: 'file', path, before: from, after: to, hint: { ...hint, ...more } };
};

const namesOfPair = (
  from: string | null,
  to: string | null,
  file: FileHeader,
  isOffered: (path: string) => boolean,
): Names => {
  // A name written as on the git line, which has two to pair, means what it means there.
  const { git = { from, to } } = file;
  const isGits = (from ?? git.from) === git.from && (to ?? git.to) === git.to;
  const both = withoutPrefixes(isGits ? git : { from, to }, isOffered);
  const names = { from: from === null ? null : both.from, to: to === null ? null : both.to };
  const isGit = file.git !== undefined || file.rename !== undefined;
  const same =
    isGit || names.from === null || names.to === null
      ? null
      : sameFile(names.from, names.to, isOffered);
  return same === null ? names : { from: same, to: same };
};

/** Old and new path, null where the file is absent on that side. Every line of the header that names one must agree. */
const namesOf = (file: FileHeader, isOffered: (path: string) => boolean): Names | Fault => {
  const where = `the header at line ${file.answerLine} of the answer`;
  const git = file.git && withoutPrefixes(file.git, isOffered);
  const pair =
    file.from === undefined || file.to === undefined
      ? undefined
      : namesOfPair(file.from, file.to, file, isOffered);
  if (file.rename) return namesOfMove(file, file.rename, { pair, git }, where);
  const stated = pair ?? git;
  if (stated === undefined)
    return fault(
      'bad_header',
      `The file names in ${where} are ambiguous. Add \`---\` and \`+++\` lines.`,
    );
  // A time stamp of names alone, or a mode line, says that a side is no file.
  const isStamped = git === undefined || pair === undefined;
  const names = {
    from: file.created === true && isStamped ? null : stated.from,
    to: file.deleted === true && isStamped ? null : stated.to,
  };
  return disagreement(file, names, { pair, git }, where) ?? names;
};

interface StatedNames {
  /** Of `---` and `+++`. */
  readonly pair: Names | undefined;
  /** Of `diff --git`. */
  readonly git: Names | undefined;
}

const namesOfMove = (
  file: FileHeader,
  { from, to }: NonNullable<FileHeader['rename']>,
  { pair, git }: StatedNames,
  where: string,
): Names | Fault => {
  if (from === undefined || to === undefined)
    return fault(
      'bad_header',
      `The rename in ${where} has only one of \`rename from\` and \`rename to\`.`,
    );
  // Without prefixes, folders `a` and `b` look like them.
  const agree = (...read: (Partial<Names> | undefined)[]): boolean =>
    read.every((names) => names === undefined) ||
    read.some((names) => names?.from === from && names.to === to);
  if (agree(pair, pair && file) && agree(git, file.git)) return { from, to };
  return fault(
    'names_differ',
    `The names of the rename in ${where} and those of its other lines differ.`,
  );
};

/** Returns in what the lines of a header differ; null: they agree. */
const disagreement = (
  { created, deleted }: FileHeader,
  { from, to }: Names,
  { pair, git }: StatedNames,
  where: string,
): Fault | null => {
  if (from === null && to === null)
    return fault('bad_header', `Both names in ${where} are /dev/null.`);
  if ((created === true && from !== null) || (deleted === true && to !== null))
    return fault('names_differ', `The names in ${where} do not match its file mode line.`);
  const isOther = (name: string | null, gits: string | null): boolean =>
    name !== null && name !== gits;
  if (pair && git && (isOther(from, git.from) || isOther(to, git.to)))
    return fault(
      'names_differ',
      `The names after \`diff --git\` and those after \`---\` and \`+++\` differ in ${where}.`,
    );
  if (from === null || to === null || from === to) return null;
  return fault(
    'names_differ',
    `The names ${from} and ${to} differ in ${where}. A rename needs \`rename from\` and \`rename to\` lines.`,
  );
};
