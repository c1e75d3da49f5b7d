/** Files of dialects that name each once, with all that becomes of it: diffs and patches. */
import { isKnownBase } from '../locate/likeness.js';
import { checkPath, lookUp, lookUpWhole } from '../paths.js';
import { type FilePlan, grownBy } from '../text/changes.js';
import type { ContextFile, Fault, FormatContext, Reason, UsedTolerance } from '../types.js';
import type { Edit, FileEdit, LinesEdit, UnusableEdit } from '../edit.js';
import {
  AS_WRITTEN,
  changesOf,
  finalNewlineOf,
  findHunks,
  type HunksFound,
  isByBytes,
  reversedHunk,
} from './hunk-file.js';

/** All that a response says of one file. */
export interface FileSection {
  readonly kind: 'file';
  readonly header: FileEdit;
  readonly hunks: readonly LinesEdit[];
}

interface UnusableSection {
  readonly kind: 'unusable';
  readonly edit: UnusableEdit;
}

/** Puts together what the response says of each file. Sections that only change lines of one file are one. */
export const fileSectionsOf = (
  edits: readonly Edit[],
): readonly (FileSection | UnusableSection)[] => {
  const sections: (FileSection | UnusableSection)[] = [];
  const hunks = new Map<number | null, LinesEdit[]>();
  const changed = new Map<string, LinesEdit[]>();
  const joined = new Map<readonly LinesEdit[], Set<string>>();
  for (const edit of edits) {
    if (edit.kind === 'unusable') sections.push({ kind: 'unusable', edit });
    else if (edit.kind === 'file') {
      const path = changedPath(edit);
      const earlier = path === null ? undefined : changed.get(path);
      const own = earlier ?? [];
      if (path !== null) changed.set(path, own);
      if (earlier !== undefined) joined.set(own, joined.get(own) ?? new Set(own.map(keyOf)));
      hunks.set(edit.hint.section, own);
      if (earlier === undefined) sections.push({ kind: 'file', header: edit, hunks: own });
    } else if (edit.kind === 'lines') {
      const own = hunks.get(edit.hint.section);
      if (own !== undefined && isFirst(edit, joined.get(own))) own.push(edit);
    }
  }
  return sections;
};

/** Returns the path of a file of which only lines change; null: more becomes of it. */
const changedPath = ({ before, after, hint }: FileEdit): string | null => {
  const isPlain = hint.mode === null && hint.blob === null && hint.refusal === null;
  if (before === null || before !== after || !isPlain) return null;
  const checked = checkPath(before);
  return checked.ok ? checked.path : null;
};

/** Is a hunk said for the first time? In several sections of one file the same hunk counts once. */
const isFirst = (hunk: LinesEdit, keys: Set<string> | undefined): boolean => {
  if (keys === undefined) return true;
  const key = keyOf(hunk);
  const isNew = !keys.has(key);
  keys.add(key);
  return isNew;
};

const keyOf = ({ before, after, hint }: LinesEdit): string =>
  JSON.stringify([hint.line, hint.hunk?.signs, hint.hunk?.bounds, before, after]);

/** The paths that a response has dealt with, as they were and as they will be: each may come once. */
interface SectionPaths {
  readonly old: Set<string>;
  readonly fresh: Set<string>;
  /** Those that moves of the response leave, so that another file may come there. */
  readonly vacated: ReadonlySet<string>;
}
export const sectionPaths = (
  sections: readonly (FileSection | UnusableSection)[],
): SectionPaths => ({
  old: new Set(),
  fresh: new Set(),
  vacated: new Set(sections.flatMap((section) => vacatedBy(section) ?? [])),
});

/** Returns the path that a section moves its file away from; null: it moves none. */
const vacatedBy = (section: FileSection | UnusableSection): string | null => {
  if (section.kind === 'unusable') return section.edit.before;
  const { before, after } = section.header;
  return after === null || before === after ? null : before;
};

interface Target {
  readonly kind: 'edit' | 'create' | 'delete';
  /** The result's path (the deleted one of a deletion). */
  readonly path: string;
  /** The path before, of a file that moves; null: it stays. */
  readonly from: string | null;
  /** The file before; without bytes if there is none. */
  readonly file: ContextFile;
}

/** Returns which file a header means, or why what becomes of it is not possible. */
const targetOf = (
  { header, hunks }: FileSection,
  context: FormatContext,
  paths: SectionPaths,
): Target | Reason => {
  const { before, after, hint } = header;
  const { index } = hint;
  const look = hunks.length === 0 && isWhole(header) ? lookUpWhole : lookUp;
  const sides: { readonly path: string; readonly file: ContextFile }[] = [];
  for (const name of new Set([before ?? header.path, after ?? header.path])) {
    const looked = look(name, context, index);
    if (!looked.ok) return before === null ? looked.reason : ofMove(looked.reason, before, name);
    sides.push(looked);
  }
  const [old, fresh = old] = sides;
  if (old === undefined || fresh === undefined) throw new Error('a header without a path');
  const refusal =
    takenTwice(header, old.path, fresh.path, paths) ?? impossible(header, old, fresh, paths);
  if (refusal !== null) return { ...refusal, index };
  return {
    kind: kindOf(header, old.file),
    path: fresh.path,
    file: old.file,
    from: old.path === fresh.path ? null : old.path,
  };
};

/** Returns the reason why a path is not accepted; of the new path of a file that moves, with what would allow it. */
const ofMove = (reason: Reason, from: string, path: string): Reason => {
  if (path === from || reason.code !== 'unknown_file') return reason;
  const to = reason.path ?? path;
  const message = `${from} cannot be renamed to ${to}: no new file may be created there. Keep its path. In a job, \`create: [${to}]\` allows it.`;
  return { ...reason, message };
};

/** Returns whether the file exists and is not text. Only an edit without hunks has such a file. */
const isBinary = ({ bytes, text }: ContextFile): boolean => bytes !== null && text === null;

/** Returns whether the file is deleted or moved, and nothing else becomes of it. */
const isWhole = ({ before, after, hint }: FileEdit): boolean =>
  before !== null && before !== after && (after === null || hint.mode === null);

const kindOf = ({ after }: FileEdit, { bytes }: ContextFile): Target['kind'] => {
  if (after === null) return 'delete';
  return bytes === null ? 'create' : 'edit';
};

type Refusal = Fault & { readonly path: string };

/** Takes the paths of a section. Refuses one that another section has. */
const takenTwice = (
  { hint }: FileEdit,
  old: string,
  fresh: string,
  paths: SectionPaths,
): Refusal | null => {
  const { sections } = hint.rules;
  const twice = paths.old.has(old) ? old : fresh;
  if (paths.old.has(old) || paths.fresh.has(fresh))
    return { code: 'file_twice', message: sections?.twice(twice) ?? '', path: twice };
  paths.old.add(old);
  paths.fresh.add(fresh);
  if (sections?.movesChain !== true) {
    paths.fresh.add(old);
    paths.old.add(fresh);
  }
  return null;
};

/** Returns why a file cannot be created, moved or deleted; null: it can. */
const impossible = (
  { before, after, hint }: FileEdit,
  old: Pick<Target, 'path' | 'file'>,
  fresh: Pick<Target, 'path' | 'file'>,
  { vacated }: SectionPaths,
): Refusal | null => {
  const words = hint.rules.sections;
  if (words === null) throw new Error('a dialect without sections');
  const isMove = old.path !== fresh.path;
  const isAbsent = old.file.bytes === null && before !== null;
  const absent = (message: string): Refusal => ({
    code: 'target_absent',
    message,
    path: old.path,
  });
  if (isAbsent && isMove) return absent(words.gone(old.path, 'renamed'));
  if (isAbsent && after === null) return absent(words.gone(old.path, 'deleted'));
  if (isAbsent) return words.absent === null ? null : absent(words.absent(old.path));
  if (fresh.file.bytes === null) return null;
  const exists = (message: string): Refusal => ({
    code: 'already_exists',
    message,
    path: fresh.path,
  });
  if (before === null) return exists(words.exists(fresh.path));
  const isOccupied = isMove && !vacated.has(fresh.path) && words.occupied !== null;
  return isOccupied ? exists(words.occupied(old.path, fresh.path)) : null;
};

type Planned =
  | {
      readonly plans: readonly FilePlan[];
      readonly tolerances: readonly UsedTolerance[];
      /** Edits that have been made already. */
      readonly done: readonly LinesEdit[];
    }
  | readonly Reason[];

/** Returns the plans of one file, or why it is refused. */
export const planSection = (
  section: FileSection,
  context: FormatContext,
  paths: SectionPaths,
  isExact: boolean,
): Planned => {
  const { header, hunks } = section;
  const target = targetOf(section, context, paths);
  if ('code' in target) return [target];
  const { path, file, from } = target;
  const { refusal, index, removesLines, rules } = header.hint;
  if (refusal !== null) return [{ ...refusal, path, index }];
  if (target.kind === 'delete' && (!removesLines || isBinary(file)))
    return { plans: [{ kind: 'delete', path }], tolerances: [], done: [] };
  const isKnown = isKnownBase(from ?? path, context.options);
  const settings = context.options.tolerances;
  const hunkPlaces = findHunks({ file, edits: hunks, settings, isKnown, isExact });
  const own = from ?? path;
  if (hunkPlaces.refusals.length > 0)
    return hunkPlaces.refusals.map(({ edit, fault }) => ({
      ...fault,
      path: edit.path === header.after ? path : own,
      index: edit.hint.index,
      message: rules.lead(edit, path) + fault.message,
    }));
  const tolerances: UsedTolerance[] = [];
  for (const { edit, place } of hunkPlaces.located)
    for (const tolerance of place.tolerances)
      tolerances.push({ tolerance, path: own, index: edit.hint.index, line: place.first + 1 });
  const result = { target, header, hunkPlaces: hunkPlaces };
  const plans = target.kind === 'delete' ? deletionOf(result) : plansOf(result);
  return 'code' in plans ? [plans] : { plans, tolerances, done: hunkPlaces.done };
};

interface Placed {
  readonly target: Target;
  readonly header: FileEdit;
  readonly hunkPlaces: HunksFound;
}

/** Returns the plan of a file that is deleted: its hunks must take away every line. */
const deletionOf = ({ target, header, hunkPlaces }: Placed): readonly FilePlan[] | Reason => {
  const { path } = target;
  if (hunkPlaces.index.length + grownBy(changesOf(hunkPlaces)) === 0)
    return [{ kind: 'delete', path }];
  const message = `The diff deletes ${path} but does not remove all of its lines. Remove every line, or keep the file.`;
  return { code: 'delete_leaves_text', path, index: header.hint.index, message };
};

/** Returns the plans of a file that is created, changed or moved. */
const plansOf = ({ target, header, hunkPlaces }: Placed): readonly FilePlan[] => {
  const { path, from, kind } = target;
  const { mode, blob } = header.hint;
  const moves: FilePlan[] = from === null ? [] : [{ kind: 'move', from, path }];
  if (hunkPlaces.located.length === 0 && kind !== 'create' && mode === null) return moves;
  const lines: FilePlan = {
    kind: 'lines',
    path,
    changes: changesOf(hunkPlaces),
    finalNewline: finalNewlineOf(hunkPlaces),
    mode: mode ?? undefined,
    exact: hunkPlaces.exact,
    blob: blob ?? undefined,
  };
  return [...moves, lines];
};

/** Would all of a response, turned around, apply as it is written? Then it has been applied. */
export const areApplied = (
  sections: readonly FileSection[],
  context: FormatContext,
  isExact: boolean,
): boolean => {
  const tolerances = { ...context.options.tolerances, ...AS_WRITTEN };
  const options = { ...context.options, tolerances };
  const turned = sections.map(reversed);
  const paths = sectionPaths(turned);
  return turned.every((section) => {
    const { header, hunks } = section;
    // Nothing proves that a file is gone.
    if (hunks.length === 0) return false;
    const looked = header.before === null ? null : lookUp(header.before, context);
    const isThere = looked?.ok === true && looked.file.text !== null;
    if (!isThere) return false;
    const planned = planSection(section, { ...context, options }, paths, isExact);
    return 'plans' in planned && planned.done.length === 0;
  });
};

const reversed = ({ header, hunks }: FileSection): FileSection => {
  const { before, after, hint } = header;
  return {
    kind: 'file',
    header: { ...header, before: after, after: before, hint: { ...hint, mode: null, blob: null } },
    hunks: hunks.map(reversedHunk),
  };
};

/** Does the response mean bytes, since one of its lines holds a carriage return? */
export const isExactResponse = (edits: readonly Edit[]): boolean =>
  edits.some((edit) => edit.kind === 'lines' && isByBytes(edit));
