/** Which file a diff's header means, and what it does to it as a whole. */
import { type Names, readName, sameFile, withoutPrefixes } from './names.js';
import { lookUp } from '../../paths.js';
import { fault } from '../../dialects/reader.js';
import type { ContextFile, Fault, FormatContext, Reason } from '../../types.js';

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
  if (word === undefined) return false;
  if (word === 'rename from' || word === 'rename to') {
    const name = readName(value);
    if (name === null) return false;
    file.rename = { ...file.rename, [word === 'rename from' ? 'from' : 'to']: name };
  }
  if (word === 'deleted file mode') file.deleted = true;
  if (word === 'new file mode') file.created = true;
  if (word === 'new file mode' || word === 'new mode') file.newMode = value;
  if (word === 'index') file.blob = /^[\da-f]+\.\.([\da-f]{7,})/.exec(value)?.[1];
  const mode = word.endsWith('mode')
    ? value
    : word === 'index'
      ? / (\d{6})$/.exec(value)?.[1]
      : undefined;
  if (mode === '160000') file.unsupported = { code: 'submodule', message: SUBMODULE };
  if (mode === '120000') file.unsupported = { code: 'symlink', message: SYMLINK };
  if (word.startsWith('copy')) file.unsupported = { code: 'copy', message: COPY };
  return true;
};

/** Permission bits of a mode word, or null where git knows no such mode. */
const permissions = (mode: string): number | null =>
  mode === '100644' ? 0o644 : mode === '100755' ? 0o755 : null;

export interface Target {
  readonly kind: 'edit' | 'create' | 'delete';
  /** The result's path (the deleted one of a deletion). */
  readonly path: string;
  /** The path before, of a rename. */
  readonly from: string | undefined;
  /** The file before; without text where there is none. */
  readonly file: ContextFile;
  /** Permission bits that the header sets. */
  readonly mode?: number | undefined;
}
/** The paths that a diff has dealt with, as they were and as they will be: each may come once. */
export interface DiffPaths {
  readonly old: Set<string>;
  readonly now: Set<string>;
  /** Those that renames of the diff leave, so that another file may come there. */
  readonly left: ReadonlySet<string>;
}
export const diffPaths = (files: readonly FileHeader[]): DiffPaths => ({
  old: new Set(),
  now: new Set(),
  left: new Set(files.flatMap(({ rename }) => rename?.from ?? [])),
});

/** `index`: number of the file's first hunk. */
export const targetOf = (
  file: FileHeader,
  context: FormatContext,
  index: number,
  paths: DiffPaths,
): Target | Reason => {
  const refuse = (code: string, message: string, path?: string): Reason =>
    path === undefined ? { code, index, message } : { code, index, message, path };
  if (file.unsupported)
    return refuse(
      file.unsupported.code,
      `Line ${file.answerLine} of the answer: ${file.unsupported.message}`,
    );
  const names = namesOf(file, context);
  if ('code' in names) return refuse(names.code, names.message);
  const { from, to } = names;
  const shown = to ?? from ?? '';
  const mode = file.newMode === undefined ? undefined : permissions(file.newMode);
  if (mode === null)
    return refuse(
      'bad_mode',
      `${shown}: the mode ${file.newMode ?? ''} is not one of git's file modes (100644, 100755).`,
      shown,
    );

  const sides: { readonly path: string; readonly file: ContextFile }[] = [];
  for (const name of new Set([from ?? shown, to ?? shown])) {
    const looked = lookUp(name, context, index);
    if (!looked.ok) return looked.reason;
    sides.push(looked);
  }
  const [old, now = old] = sides;
  if (old === undefined || now === undefined)
    return refuse('bad_header', 'The header names no file.');
  const { path } = now;
  const isMove = old.path !== path;
  const twice = paths.old.has(old.path) ? old.path : paths.now.has(path) ? path : null;
  if (twice !== null)
    return refuse(
      'file_twice',
      `${twice} appears twice in the diff. Put all its hunks under one header.`,
      twice,
    );
  paths.old.add(old.path);
  paths.now.add(path);
  const said = isMove ? 'renamed' : 'deleted';
  if (old.file.text === null && (isMove || to === null))
    return refuse(
      'target_absent',
      `${old.path} does not exist, so it cannot be ${said}.`,
      old.path,
    );
  if (isMove && now.file.text !== null && !paths.left.has(path))
    return refuse(
      'already_exists',
      `${old.path} cannot be renamed to ${path}: that file exists already.`,
      path,
    );
  if (from === null && now.file.text !== null)
    return refuse(
      'already_exists',
      `The diff creates ${path}, which exists already. Send a diff against its content.`,
      path,
    );
  const kind = to === null ? 'delete' : old.file.text === null ? 'create' : 'edit';
  return { kind, path, file: old.file, mode, from: isMove ? old.path : undefined };
};

const namesOfPair = (
  from: string | null,
  to: string | null,
  file: FileHeader,
  known: (path: string) => boolean,
): Names => {
  // A name written as on the git line, which has two to pair, means what it means there.
  const { git = { from, to } } = file;
  const isGits = (from ?? git.from) === git.from && (to ?? git.to) === git.to;
  const both = withoutPrefixes(isGits ? git : { from, to }, known);
  const names = { from: from === null ? null : both.from, to: to === null ? null : both.to };
  const isGit = file.git !== undefined || file.rename !== undefined;
  const same =
    isGit || names.from === null || names.to === null
      ? null
      : sameFile(names.from, names.to, known);
  return same === null ? names : { from: same, to: same };
};

/** Old and new path, null where the file is absent on that side. Every line of the header that names one must agree. */
const namesOf = (file: FileHeader, context: FormatContext): Names | Fault => {
  const known = (path: string): boolean => context.files.has(path);
  const at = `the header at line ${file.answerLine} of the answer`;
  const git = file.git && withoutPrefixes(file.git, known);
  const pair =
    file.from === undefined || file.to === undefined
      ? undefined
      : namesOfPair(file.from, file.to, file, known);
  const { rename } = file;
  if (rename) {
    if (rename.from === undefined || rename.to === undefined)
      return fault(
        'bad_header',
        `The rename in ${at} has only one of \`rename from\` and \`rename to\`.`,
      );
    const { from, to } = rename;
    // Without prefixes, folders `a` and `b` look like them.
    const agree = (...read: (Partial<Names> | undefined)[]): boolean =>
      read.every((n) => n === undefined) || read.some((n) => n?.from === from && n.to === to);
    if (!agree(pair, pair && file) || !agree(git, file.git))
      return fault(
        'names_differ',
        `The names of the rename in ${at} and those of its other lines differ.`,
      );
    return { from, to };
  }
  if (!pair && !git)
    return fault(
      'bad_header',
      `The file names in ${at} are ambiguous. Add \`---\` and \`+++\` lines.`,
    );
  const stamped = pair !== undefined && git === undefined;
  const from = file.created && (stamped || !pair) ? null : ((pair ?? git)?.from ?? null);
  const to = file.deleted && (stamped || !pair) ? null : ((pair ?? git)?.to ?? null);
  if (from === null && to === null)
    return fault('bad_header', `Both names in ${at} are /dev/null.`);
  if ((file.created && from !== null) || (file.deleted && to !== null))
    return fault('names_differ', `The names in ${at} do not match its file mode line.`);
  if (pair && git && ((from !== null && from !== git.from) || (to !== null && to !== git.to)))
    return fault(
      'names_differ',
      `The names after \`diff --git\` and those after \`---\` and \`+++\` differ in ${at}.`,
    );
  if (from !== null && to !== null && from !== to)
    return fault(
      'names_differ',
      `The names ${from} and ${to} differ in ${at}. A rename needs \`rename from\` and \`rename to\` lines.`,
    );
  return { from, to };
};
