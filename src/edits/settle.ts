/**
 * Makes the files' results of edits: which file each edit means, where it belongs, and whether all of a file's edits go together. One
 * refused edit refuses all of them, since a response is used whole or not at all; every one is looked at, so that the model hears of all.
 */
import type {
  DeleteEdit,
  Dialect,
  Edit,
  LinesEdit,
  ParsedResponse,
  RangeEdit,
  TextEdit,
  WriteEdit,
} from './edit.js';
import { lookUp, lookUpWhole } from './paths.js';
import { LinesFile } from './settle/lines-file.js';
import { settleRequest } from './settle/lines-request.js';
import { withMeantPaths } from './settle/meant-paths.js';
import type { EditOutcome, FileOfEdits } from './settle/outcome.js';
import { settleRanges } from './settle/range-file.js';
import {
  areApplied,
  type FileSection,
  fileSectionsOf,
  isExactResponse,
  planSection,
  sectionPaths,
} from './settle/sections.js';
import { TextFile } from './settle/text-file.js';
import type { FilePlan } from './text/changes.js';
import type { LineIndex } from './text/lines.js';
import type {
  ContextFile,
  FormatContext,
  ParseContext,
  Reading,
  Reason,
  UsedTolerance,
} from './types.js';

/** What a response makes of the files before they have bytes; the counts of its files and edits are for the marker's check. */
export interface ReadResponse {
  readonly reading: Reading;
  readonly files: number;
  /** Headers of files: more than files if a response has several of one file. */
  readonly headers: number;
  readonly edits: number;
}

/** Reads a response in a dialect. */
export const read = (dialect: Dialect, body: string, context: FormatContext): ReadResponse => {
  const response = dialect.parse(body, { ...context, holdsLine: lineTest(context.files) });
  const { fault, request, count: edits } = response;
  if (fault !== null) return { reading: fault, files: 0, headers: 0, edits };
  if (request !== null)
    return { reading: settleRequest(request, context), files: 0, headers: 0, edits };
  return { ...settle(response, context), edits };
};

/** Tells whether any file holds a line. The lines are collected for the first question. */
const lineTest = (files: FormatContext['files']): ParseContext['holdsLine'] => {
  let lines: ReadonlySet<string> | null = null;
  return (text, isCut) => {
    lines ??= new Set(
      [...files.values()].flatMap(({ text: own }) => own?.lines ?? []).map((line) => line.trim()),
    );
    return isCut ? [...lines].some((line) => line.startsWith(text)) : lines.has(text);
  };
};

const settle = (
  { edits: stated, notes, summary }: ParsedResponse,
  context: FormatContext,
): Omit<ReadResponse, 'edits'> => {
  const { edits, notes: pathNotes, reasons } = withMeantPaths(stated, context);
  const settlement = new Settlement(context, [...notes, ...pathNotes], reasons);
  const inSections = edits.filter(({ hint }) => hint.rules.sections !== null);
  const others = edits.filter(({ hint }) => hint.rules.sections === null);
  const files = settlement.takeSections(inSections) + settlement.takeFiles(others);
  const headers = edits.filter(({ kind }) => kind === 'file' || kind === 'unusable').length;
  return { reading: settlement.reading(summary), files, headers: headers || files };
};

/** The edits of one file; in whole-file those of one entry. */
interface FileGroup {
  readonly path: string;
  readonly file: ContextFile;
  readonly edits: Edit[];
}

/** Reasons of hunks that may fit as they are, so they are not taken for applied ones. */
const MAY_FIT = /^(?:ambiguous_sign|context_repeated|no_context)$/;

class Settlement {
  readonly #context: FormatContext;
  readonly #plans: FilePlan[] = [];
  readonly #tolerances: UsedTolerance[] = [];
  readonly #notes: Reason[];
  readonly #reasons: Reason[];
  /** Reasons that count only if the files they are about change. */
  readonly #unsure: Reason[] = [];
  /** Paths that are written or deleted whole. */
  readonly #wholePaths = new Set<string>();
  /** Numbers of hunks and chunks that have been made already. */
  readonly #done = new Set<number>();
  /** Paths of edits that no file has. */
  readonly #refusedPaths = new Set<string>();

  constructor(context: FormatContext, notes: readonly Reason[], reasons: readonly Reason[]) {
    this.#context = context;
    this.#notes = [...notes];
    this.#reasons = [...reasons];
  }

  /** Takes the edits of dialects that name each file once, with all that becomes of it. Returns the number of files. */
  takeSections(edits: readonly Edit[]): number {
    if (edits.length === 0) return 0;
    const sections = fileSectionsOf(edits);
    const usable = sections.flatMap((section) => (section.kind === 'file' ? [section] : []));
    const isExact = isExactResponse(edits);
    const paths = sectionPaths(sections);
    for (const section of sections) {
      if (section.kind === 'unusable') {
        const { path, hint } = section.edit;
        const where = path === null ? {} : { path };
        this.#reasons.push({ ...hint.refusal, index: hint.index, ...where });
        continue;
      }
      const planned = planSection(section, this.#context, paths, isExact);
      if ('plans' in planned) {
        this.#plans.push(...planned.plans);
        this.#tolerances.push(...planned.tolerances);
        this.#noteIdle(section.hunks);
        for (const edit of planned.done) this.#noteDone(edit);
      } else this.#reasons.push(...planned);
    }
    if (usable.length === sections.length && this.#isApplied(usable, isExact)) this.#skip(edits);
    return sections.length;
  }

  /** Notes hunks and chunks that change nothing. */
  #noteIdle(hunks: readonly LinesEdit[]): void {
    for (const edit of hunks) {
      const { before, after, hint } = edit;
      const isSame = before.length === after.length && before.every((line, i) => line === after[i]);
      const newline = hint.hunk?.lacksNewline;
      if (!isSame || hint.hunk?.returns !== null || newline?.before !== newline?.after) continue;
      const message = `${edit.hint.rules.lead(edit, edit.path)}It changes nothing.`;
      this.#notes.push({ code: 'no_change', path: edit.path, index: edit.hint.index, message });
    }
  }

  #isApplied(sections: readonly FileSection[], isExact: boolean): boolean {
    const isReversible = sections[0]?.header.hint.rules.sections?.isReversible === true;
    if (this.#reasons.length === 0 || !isReversible) return false;
    if (this.#reasons.some(({ code }) => MAY_FIT.test(code))) return false;
    return areApplied(sections, this.#context, isExact);
  }

  /** All hunks have been applied already. */
  #skip(edits: readonly Edit[]): void {
    for (const list of [this.#reasons, this.#plans, this.#tolerances]) list.length = 0;
    for (const edit of edits) if (edit.kind === 'lines') this.#noteDone(edit);
  }

  /** Notes a hunk or a chunk that has been made already. */
  #noteDone({ path, hint: { index, hunk } }: LinesEdit): void {
    const name = hunk?.bounds === null ? 'Hunk' : 'Chunk';
    const message = `${name} ${index + 1} is already in the file.`;
    if (!this.#done.has(index)) this.#notes.push({ code: 'already_present', path, index, message });
    this.#done.add(index);
  }

  /** Takes the edits of all other dialects. Returns the number of files. */
  takeFiles(edits: readonly Edit[]): number {
    const groups = this.#groupsOf(edits);
    for (const group of groups) this.#take(group);
    return groups.length;
  }

  /** Puts the edits of one file together. An edit whose path is refused is in no group. */
  #groupsOf(edits: readonly Edit[]): readonly FileGroup[] {
    const groups: FileGroup[] = [];
    const byKey = new Map<string | number, FileGroup>();
    for (const edit of edits) {
      if (edit.path === null) continue;
      const look = edit.kind === 'delete' ? lookUpWhole : lookUp;
      const looked = look(edit.path, this.#context, edit.hint.index);
      if (!looked.ok) {
        this.#refusePath(edit.path, looked.reason, edit);
        continue;
      }
      const { path, file } = looked;
      const key = edit.hint.section ?? path;
      let group = byKey.get(key);
      if (group === undefined) {
        byKey.set(key, (group = { path, file, edits: [] }));
        groups.push(group);
      }
      group.edits.push(edit);
    }
    return groups;
  }

  /** Reports a refused path: for every edit if the messages differ, else once. */
  #refusePath(path: string, reason: Reason, edit: Edit): void {
    const { section, rules } = edit.hint;
    const isFirst = !this.#refusedPaths.has(path);
    this.#refusedPaths.add(path);
    if (rules.leadsPaths) this.#reasons.push(withLead(reason, edit, path));
    else if (section !== null) this.#reasons.push(reason);
    else if (isFirst && this.#refusedPaths.size <= rules.mostRefusals) this.#reasons.push(reason);
  }

  /** All edits of a file are of one kind: its dialect has no other. */
  #take(group: FileGroup): void {
    const [first] = group.edits;
    if (first?.hint.rules.order === 'response') this.#takeInOrder(group);
    else if (first?.kind === 'write' || first?.kind === 'delete') this.#takeWhole(first, group);
    else if (first?.kind === 'range') this.#takeRanges(group, group.edits as RangeEdit[]);
  }

  /** Takes edits that each see the text as those before it left it. */
  #takeInOrder({ path, file, edits }: FileGroup): void {
    const { options } = this.#context;
    if (edits[0]?.kind === 'text')
      this.#takeEach(edits as TextEdit[], new TextFile(path, file, options), path);
    else {
      const lines = edits as LinesEdit[];
      this.#takeEach(lines, new LinesFile({ path, file, edits: lines }, options), path);
    }
  }

  /** Takes a file that is written whole, or deleted. */
  #takeWhole(edit: WriteEdit | DeleteEdit, { path, file }: FileGroup): void {
    const { index, rules } = edit.hint;
    const refuse = (code: string, message = ''): void =>
      void this.#reasons.push({ code, path, index, message });
    const isTwice = this.#wholePaths.has(path);
    this.#wholePaths.add(path);
    if (isTwice) refuse('file_twice', rules.whole?.twice(path));
    else if (edit.kind === 'write') {
      const { refusal, unfenced } = edit.hint;
      if (refusal !== null) return refuse(refusal.code, refusal.message);
      if (edit.hint.mayBePart && mayBePart(edit.after, file))
        return refuse('fence_unclear', partOf(path));
      if (unfenced) this.#tolerances.push({ tolerance: 'fenced_body', path, index });
      this.#plans.push({ kind: 'lines', path, result: edit.after, rewritten: true, index });
    } else if (file.bytes === null) refuse('delete_absent', rules.whole?.deletesAbsent(path));
    else if (this.#context.options.allowDelete === true) this.#plans.push({ kind: 'delete', path });
    else refuse('delete_not_allowed', rules.whole?.deletesProtected(path));
  }

  /** Takes edits that name lines of the file as it was shown. */
  #takeRanges({ path, file }: FileGroup, edits: readonly RangeEdit[]): void {
    const settled = settleRanges(path, file, edits, this.#context.options);
    this.#plans.push(...settled.plans);
    this.#tolerances.push(...settled.tolerances);
    this.#notes.push(...settled.notes);
    for (const { edit, fault } of settled.refusals)
      this.#reasons.push(withLead({ ...fault, path, index: edit.hint.index }, edit, path));
  }

  #takeEach<E extends Edit>(edits: readonly E[], file: FileOfEdits<E>, path: string): void {
    const most = edits[0]?.hint.rules.mostRefusals ?? 0;
    const unsure: Reason[] = [];
    let refusals = 0;
    for (const edit of edits) {
      if (refusals >= most) break;
      const outcome = file.take(edit);
      if (outcome.kind === 'refused') refusals += 1;
      this.#note(outcome, edit, path, unsure);
    }
    if (unsure.length > 0 && file.isChanged) this.#unsure.push(...unsure.slice(0, most));
    this.#plans.push(...file.plans());
  }

  #note(outcome: EditOutcome, edit: Edit, path: string, unsure: Reason[]): void {
    const { index } = edit.hint;
    if (outcome.kind === 'changed') {
      for (const { tolerance, line } of outcome.tolerances)
        this.#tolerances.push({ tolerance, path, index, ...(line === null ? {} : { line }) });
      return;
    }
    const { code, message, copy } = outcome;
    const reason = { code, path, index, message, ...(copy === undefined ? {} : { copy }) };
    const reasons = outcome.kind === 'refused' ? this.#reasons : this.#notes;
    reasons.push(withLead(reason, edit, path));
    if (outcome.kind === 'refused' || outcome.absence === null) return;
    const absent = { code: 'find_absent', path, index, message: outcome.absence };
    unsure.push(withLead(absent, edit, path));
  }

  /** Returns all that was taken, in the order of the response. */
  reading(summary: string | null): Reading {
    const reasons = [...inOrder(this.#reasons), ...this.#unsure];
    if (reasons.length > 0) return { kind: 'refused', reasons };
    return {
      kind: 'plans',
      plans: this.#plans,
      tolerances: inOrder(this.#tolerances),
      notes: inOrder(this.#notes),
      ...(summary === null ? {} : { summary }),
    };
  }
}

const WHOLE_SHARE = 0.5; // bound: Share of a file's lines that new text has which nothing says to be the whole file.

/** Has the text less than half of the file's lines? */
const mayBePart = (after: LineIndex, { text }: ContextFile): boolean => {
  const own = (text?.lines ?? []).filter((line) => line.trim() !== '');
  const lines = new Set(after.all);
  return own.filter((line) => lines.has(line)).length < WHOLE_SHARE * own.length;
};
const partOf = (path: string): string =>
  `It is not clear whether the fence holds all of ${path} or a part of it. Send \`FILE ${path}\`, the whole text, \`END FILE\`.`;

const withLead = (reason: Reason, edit: Edit, path: string): Reason => ({
  ...reason,
  message: edit.hint.rules.lead(edit, path) + reason.message,
});

/** Sorts what is said of edits by their order in the response; what is said of no edit comes first. */
const inOrder = <T extends { readonly index?: number }>(list: readonly T[]): T[] =>
  [...list].sort((a, b) => (a.index ?? -1) - (b.index ?? -1));
