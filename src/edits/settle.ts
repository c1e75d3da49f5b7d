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
import { lookUp } from './paths.js';
import type { EditOutcome, FileOfEdits } from './settle/outcome.js';
import {
  areApplied,
  fileSectionsOf,
  isExactResponse,
  planSection,
  sectionPaths,
} from './settle/sections.js';
import { settleRequest } from './settle/lines-request.js';
import { settleRanges } from './settle/range-file.js';
import { LinesFile } from './settle/lines-file.js';
import { TextFile } from './settle/text-file.js';
import type { FilePlan } from './text/changes.js';
import type { ContextFile, FormatContext, Reading, Reason, UsedTolerance } from './types.js';

/** The edits of one file, or of one part of the response in dialects that name a file once. */
interface Section {
  readonly path: string;
  readonly file: ContextFile;
  readonly edits: Edit[];
}

/** What a response makes of the files before they have bytes; the counts of its files and edits are for the marker's check. */
export interface ReadResponse {
  readonly reading: Reading;
  readonly files: number;
  readonly edits: number;
}

/** Reads a response in a dialect. */
export const read = (dialect: Dialect, body: string, context: FormatContext): ReadResponse => {
  const response = dialect.parse(body, context);
  if (response.fault !== null) return { reading: response.fault, files: 0, edits: response.count };
  if (response.request !== undefined)
    return { reading: settleRequest(response.request, context), files: 0, edits: 0 };
  return { ...settle(response, context), edits: response.count };
};

const settle = (
  response: ParsedResponse,
  context: FormatContext,
): { readonly reading: Reading; readonly files: number } => {
  const settlement = new Settlement(context, response.notes);
  const [first] = response.edits;
  if (first?.hint.rules.words.section !== undefined) {
    const files = settlement.takeSections(response.edits);
    return { reading: settlement.reading(response.summary), files };
  }
  const sections = settlement.sectionsOf(response.edits);
  for (const section of sections) settlement.take(section);
  return { reading: settlement.reading(response.summary), files: sections.length };
};

/** Reasons of hunks that may fit as they are, so they are not taken for applied ones. */
const MAY_FIT = /^(?:ambiguous_sign|context_repeated|no_context)$/;

class Settlement {
  readonly #context: FormatContext;
  readonly #plans: FilePlan[] = [];
  readonly #tolerances: UsedTolerance[] = [];
  readonly #notes: Reason[];
  readonly #reasons: Reason[] = [];
  /** Reasons that count only if the files they are about change. */
  readonly #unsure: Reason[] = [];
  /** Paths that a section of the response is about. */
  readonly #taken = new Set<string>();
  /** Paths of edits that no file has. */
  readonly #refusedPaths = new Set<string>();

  constructor(context: FormatContext, notes: readonly Reason[]) {
    this.#context = context;
    this.#notes = [...notes];
  }

  /** Takes the edits of dialects that name each file once; returns the number of files. */
  takeSections(edits: readonly Edit[]): number {
    const sections = fileSectionsOf(edits);
    const files = sections.flatMap((section) => (section.kind === 'file' ? [section] : []));
    const isExact = isExactResponse(edits);
    const paths = sectionPaths(
      edits.flatMap((edit) => (edit.kind === 'file' || edit.kind === 'unusable' ? [edit] : [])),
    );
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
      } else this.#reasons.push(...planned);
    }
    const isReversible = edits[0]?.hint.rules.isReversible === true;
    const mayFit = this.#reasons.some(({ code }) => MAY_FIT.test(code));
    const isUsable = files.length === sections.length;
    if (this.#reasons.length === 0 || !isReversible || mayFit || !isUsable) return sections.length;
    if (areApplied(files, this.#context, isExact)) this.#skipAll(edits);
    return sections.length;
  }

  /** All hunks have been applied already. */
  #skipAll(edits: readonly Edit[]): void {
    for (const list of [this.#reasons, this.#plans, this.#tolerances]) list.length = 0;
    for (const { kind, hint } of edits) {
      if (kind !== 'lines') continue;
      const message = `Hunk ${hint.index + 1} is already in the file.`;
      this.#notes.push({ code: 'already_present', index: hint.index, message });
    }
  }

  /** Puts the edits of one file together. An edit whose path is refused is in no section. */
  sectionsOf(edits: readonly Edit[]): readonly Section[] {
    const sections: Section[] = [];
    const byPath = new Map<string | number, Section>();
    for (const edit of edits) {
      if (edit.path === null) continue;
      const found = lookUp(edit.path, this.#context, edit.hint.index);
      if (!found.ok) {
        this.#refusePath(found.reason, edit);
        continue;
      }
      const { path, file } = found;
      const key = edit.hint.section ?? path;
      let section = byPath.get(key);
      if (section === undefined) {
        byPath.set(key, (section = { path, file, edits: [] }));
        sections.push(section);
      }
      section.edits.push(edit);
    }
    return sections;
  }

  /** Reports a refused path: for every edit if the messages differ, else once. */
  #refusePath(reason: Reason, edit: Edit): void {
    const { section, rules } = edit.hint;
    const path = edit.path ?? '';
    const isFirst = !this.#refusedPaths.has(path);
    this.#refusedPaths.add(path);
    if (rules.words.leadsPaths) this.#reasons.push(withLead(reason, edit, path));
    else if (section !== null) this.#reasons.push(reason);
    else if (isFirst && this.#refusedPaths.size <= rules.mostRefusals) this.#reasons.push(reason);
  }

  take(section: Section): void {
    const [first] = section.edits;
    if (first === undefined) return;
    if (first.kind === 'write' || first.kind === 'delete') this.#takeWhole(first, section);
    else if (first.kind === 'range')
      this.#takeRanges(section, section.edits as readonly RangeEdit[]);
    else if (first.kind === 'lines')
      this.#takeLines(section, section.edits as readonly LinesEdit[]);
    else
      this.#takeInOrder(
        section.edits as readonly TextEdit[],
        new TextFile(section.path, section.file, this.#context.options),
        section.path,
      );
  }

  #takeRanges({ path, file }: Section, edits: readonly RangeEdit[]): void {
    const settled = settleRanges(path, file, edits, this.#context.options);
    this.#plans.push(...settled.plans);
    this.#tolerances.push(...settled.tolerances);
    this.#notes.push(...settled.notes);
    for (const { edit, fault } of settled.refusals)
      this.#reasons.push(withLead({ ...fault, path, index: edit.hint.index }, edit, path));
  }

  #takeLines({ path, file }: Section, edits: readonly LinesEdit[]): void {
    const lines = new LinesFile({ path, file, edits }, this.#context.options);
    this.#takeInOrder(edits, lines, path);
  }

  /** A file that is written whole, or deleted. */
  #takeWhole(edit: WriteEdit | DeleteEdit, { path, file }: Section): void {
    const { index, rules } = edit.hint;
    const { words } = rules;
    const refuse = (code: string, message: string): void =>
      void this.#reasons.push({ code, path, index, message });
    const isTwice = this.#taken.has(path);
    this.#taken.add(path);
    if (isTwice) refuse('file_twice', words.twice(path));
    else if (edit.kind === 'write') {
      const { refusal, unfenced } = edit.hint;
      if (refusal !== null) return refuse(refusal.code, refusal.message);
      if (unfenced) this.#tolerances.push({ tolerance: 'fenced_body', path, index });
      this.#plans.push({ kind: 'lines', path, result: edit.after, rewritten: true, index });
    } else if (file.bytes === null) refuse('delete_absent', words.deletesAbsent(path));
    else if (this.#context.options.allowDelete === true) this.#plans.push({ kind: 'delete', path });
    else refuse('delete_not_allowed', words.deletesProtected(path));
  }

  /** Edits that each see the text as those before it left it. */
  #takeInOrder<E extends Edit>(edits: readonly E[], file: FileOfEdits<E>, path: string): void {
    const unsure: Reason[] = [];
    let refusals = 0;
    for (const edit of edits) {
      if (refusals >= edit.hint.rules.mostRefusals) break;
      const outcome = file.take(edit);
      if (outcome.kind === 'refused') refusals += 1;
      this.#note(outcome, edit, path, unsure);
    }
    const most = edits[0]?.hint.rules.mostRefusals;
    if (file.isChanged) this.#unsure.push(...unsure.slice(0, most));
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

const withLead = (reason: Reason, edit: Edit, path: string): Reason => ({
  ...reason,
  message: edit.hint.rules.words.lead(edit, path) + reason.message,
});

/** Sorts what is said of edits by their order in the response; what is said of no edit comes first. */
const inOrder = <T extends { readonly index?: number }>(list: readonly T[]): T[] =>
  [...list].sort((a, b) => (a.index ?? -1) - (b.index ?? -1));
