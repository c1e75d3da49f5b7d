/** The CPU work of an edit step, as values that cross into a thread of its own (frame/edit-worker.ts) and back. Pure. */
import * as engine from '../../edits/index.js';
import { indexOf, rebase3, type Rename, renamesAmong, splitRegion } from '../../edits/internal.js';
import * as prompts from '../../model/prompts/index.js';
import { parseTexts, type ParsedTexts, type PlanTexts } from '../../documents/plan/index.js';
import type { Finding } from '../../shared/formats.js';
import { findSecrets, type Secret } from '../../system/secrets.js';
import { dataLanguageOf, languageOf, loadSyntax } from '../../syntax/index.js';

const CONFLICT_PLACES = 3; // bound: Places that an unclean merge tells,
const CONFLICT_LINES = 3; // bound: lines of each side of a place,
const CONFLICT_LINE_CHARS = 80; // bound: and characters of each line.
const REGION_LINES = 100; // bound: Least lines of a region that is split off; of twice as many one is made two.

// An unclean merge in words: each place with what both sides say there, as far as it fits a message.

/** `now`: the file as it is; `proposed`: as the proposal wants it. */
export const conflictText = (
  regions: readonly engine.ConflictRegion[],
  now: Uint8Array,
  proposed: Uint8Array,
): string => {
  const [ours, theirs] = [indexOfBytes(now), indexOfBytes(proposed)];
  const places = regions
    .slice(0, CONFLICT_PLACES)
    .map(
      (region) =>
        `lines ${linesIn(region.ours)} of the file now and lines ${linesIn(region.theirs)} of the proposal change the same place ` +
        `(now: ${said(ours, region.ours)}; proposal: ${said(theirs, region.theirs)})`,
    );
  const more = regions.length - places.length;
  return [...places, ...(more > 0 ? [`and ${more} more places`] : [])].join('; ');
};

const linesIn = ({ first, count }: engine.LineRegion): string =>
  `${first} to ${first + Math.max(0, count - 1)}`;

const indexOfBytes = (bytes: Uint8Array): engine.LineIndex | null => {
  const decoded = engine.decodeFile(bytes);
  return decoded.ok ? indexOf(decoded.text) : null;
};

const said = (index: engine.LineIndex | null, { first, count }: engine.LineRegion): string => {
  if (index === null) return 'no text';
  if (count === 0) return 'nothing';
  const shown = index.range(first - 1, first - 1 + Math.min(count, CONFLICT_LINES));
  const texts = shown.map((line) => JSON.stringify(line.slice(0, CONFLICT_LINE_CHARS)));
  return [...texts, ...(count > shown.length ? [`and ${count - shown.length} more`] : [])].join(
    ', ',
  );
};

/** Kind of work -> its input and result. Both survive a structured clone: bytes, maps, plain data, no functions. */
export interface EditWork {
  readonly answer: {
    readonly input: engine.ApplyAnswerInput;
    readonly result: engine.AnswerOutcome;
  };
  readonly guards: { readonly input: GuardInput; readonly result: readonly Finding[] };
  readonly merge: { readonly input: MergeInput; readonly result: Merged };
  /** Definitions of one file, by its path's language. */
  readonly outline: { readonly input: FileBytes; readonly result: engine.Outline };
  /** A file, or a region of it, cut into regions; one: it cannot be cut. */
  readonly regions: { readonly input: RegionsInput; readonly result: readonly engine.Region[] };
  /** What a snapshot says of a file. */
  readonly describe: { readonly input: FileBytes; readonly result: engine.FileDescription };
  /** The request for an edit: files listed, whole or in windows. */
  readonly prompt: { readonly input: PromptInput; readonly result: prompts.EditPrompt };
  readonly brief: { readonly input: BriefInput; readonly result: prompts.OpenRequest };
  /** The changed files as an audit shows them. */
  readonly audit: {
    readonly input: AuditFiles;
    readonly result: ReturnType<typeof prompts.auditedFiles>;
  };
  readonly diff: { readonly input: readonly engine.DiffFile[]; readonly result: DrawnDiff };
  /** Deleted files that created ones are similar to. */
  readonly renames: {
    readonly input: readonly engine.ChangedFile[];
    readonly result: readonly Rename[];
  };
  /** The documents of a plan. */
  readonly plan: { readonly input: PlanTexts; readonly result: ParsedTexts };
  /** What a model must not see. */
  readonly secrets: { readonly input: string; readonly result: readonly Secret[] };
}
export interface GuardInput extends Pick<
  engine.GuardOptions,
  'guards' | 'asked' | 'movedTo' | 'movedAway' | 'beside' | 'linked' | 'elsewhere'
> {
  readonly files: readonly engine.GuardedFile[];
}
export interface MergeInput {
  readonly base: Uint8Array;
  /** The file as it is now. */
  readonly ours: Uint8Array;
  /** The proposal's result. */
  readonly theirs: Uint8Array;
}
/** `why`: the places where both sides differ. */
type Merged = Readonly<
  { outcome: 'clean'; bytes: Uint8Array } | { outcome: 'conflict'; why: string }
>;
export interface FileBytes {
  readonly path: string;
  /** Null: there is no such file yet. */
  readonly bytes: Uint8Array | null;
  readonly encoding: string | null;
}
export interface RegionsInput {
  readonly file: FileBytes;
  /** Null: all of its lines. */
  readonly range: engine.Region | null;
  readonly parts: number;
}
/** A prompt's input, its files as bytes: a text is made of them where the work is done. */
export type PromptInput = Omit<prompts.EditPromptInput, 'files'> & {
  readonly files: readonly FileBytes[];
};
export type BriefInput = Omit<prompts.BriefPromptInput, 'files'> & {
  readonly files: readonly FileBytes[];
};
export interface AuditFiles extends prompts.AuditPrompt {
  readonly files: readonly (FileBytes & { readonly hints: string })[];
}
export interface DrawnDiff {
  /** One git-style diff over all files. */
  readonly text: string;
  /** Lines added and removed, in the order of the input; `changes`: how many can be chosen one by one, where that can be done. */
  readonly changed: readonly (engine.ChangedLines & { readonly changes?: number })[];
}
export type EditWorkKind = keyof EditWork;
type Doers = {
  readonly [K in EditWorkKind]: (
    input: EditWork[K]['input'],
    syntax: engine.Syntax,
  ) => EditWork[K]['result'] | Promise<EditWork[K]['result']>;
};

const writeDiff = (files: readonly engine.DiffFile[]): DrawnDiff => {
  const text = engine.combinedDiff(files);
  const numbered = engine.numberedChanges(text);
  const changed = files.map((file) => {
    const changes = numbered.get(file.path)?.length;
    return { ...engine.countChanged([file]), ...(changes === undefined ? {} : { changes }) };
  });
  return { text, changed };
};

const NO_BYTES = new Uint8Array(0);

const textOf = ({ bytes, encoding }: FileBytes): engine.Text | null => {
  const decoded = bytes === null ? null : engine.decodeFile(bytes, encoding ?? undefined);
  return decoded?.ok === true ? decoded.text : null;
};
const textsOf = (files: readonly FileBytes[]): readonly prompts.PromptFile[] =>
  files.map((file) => {
    const text = textOf(file);
    const binary_bytes = file.bytes === null || text !== null ? undefined : file.bytes.length;
    return { path: file.path, text, ...(binary_bytes === undefined ? {} : { binary_bytes }) };
  });

const outlineOf = (file: FileBytes, syntax: engine.Syntax): engine.Outline =>
  syntax.outline(file.path, textOf(file)?.lines ?? []);

const cutIn = (
  { file, range, parts }: RegionsInput,
  syntax: engine.Syntax,
): readonly engine.Region[] => {
  const text = textOf(file);
  const lines = text === null ? null : indexOf(text);
  const [from, to] = range ?? [1, lines?.length ?? 0];
  if (lines === null || to - from + 1 < 2 * REGION_LINES) return [[from, to]];
  const outline = outlineOf(file, syntax);
  const starts = outline.kind === 'read' ? outline.symbols.map((symbol) => symbol.lead + 1) : [];
  const isBlank = (line: number): boolean => lines.line(line - 1)?.trim() === '';
  return splitRegion([from, to], { parts, least_lines: REGION_LINES }, starts, isBlank);
};

const mergeText = ({ base, ours, theirs }: MergeInput): Merged => {
  const merged = rebase3(base, ours, theirs);
  return merged.outcome === 'clean'
    ? merged
    : { outcome: 'conflict', why: conflictText(merged.regions, ours, theirs) };
};

const DO: Doers = {
  answer: (input, syntax) =>
    engine.applyAnswer({ ...input, options: { ...input.options, syntax } }),
  guards: ({ files, ...options }, syntax) => engine.guardFindings(files, { ...options, syntax }),
  merge: mergeText,
  diff: writeDiff,
  renames: renamesAmong,
  outline: outlineOf,
  regions: cutIn,
  describe: ({ bytes, encoding }) => engine.describeFile(bytes ?? NO_BYTES, encoding ?? undefined),
  prompt: ({ files, ...rest }) => prompts.editPrompt({ ...rest, files: textsOf(files) }),
  brief: ({ files, ...rest }) => prompts.briefPrompt({ ...rest, files: textsOf(files) }),
  audit: ({ files, ...rest }) =>
    prompts.auditedFiles(
      rest,
      files.map((file) => ({ path: file.path, text: textOf(file), hints: file.hints })),
    ),
  plan: parseTexts,
  secrets: findSecrets,
};

/** Grammars are loaded before the work begins: nothing else of it touches a file. */
export const doWork = async <K extends EditWorkKind>(
  kind: K,
  input: EditWork[K]['input'],
): Promise<EditWork[K]['result']> => DO[kind](input, await loadSyntax(pathsOf(kind, input)));

/** The paths whose syntax the work may ask for. */
const pathsOf = <K extends EditWorkKind>(
  kind: K,
  input: EditWork[K]['input'],
): readonly string[] => {
  if (kind === 'answer') return [...(input as EditWork['answer']['input']).files.keys()];
  if (kind === 'outline') return [(input as FileBytes).path];
  if (kind === 'regions') return [(input as RegionsInput).file.path];
  return kind === 'guards' ? (input as GuardInput).files.map(({ path }) => path) : [];
};

/** A syntax tree costs about this many times what else is done with a text. */
const TREE_COST = 4;
/** Finding line ends and listing windows cost parts of it, even where every line is empty. */
const DESCRIBE_COST = 1 / 16;
const PROMPT_COST = 1 / 2;
/** Markdown with thousands of headings, links and tasks. */
const PLAN_COST = 8;

/** What the work costs for each byte that it goes over. */
export const costOf = <K extends EditWorkKind>(kind: K, input: EditWork[K]['input']): number => {
  if (kind === 'describe') return DESCRIBE_COST;
  if (kind === 'plan') return PLAN_COST;
  if (kind === 'prompt' || kind === 'brief' || kind === 'audit') return PROMPT_COST;
  const isParsed = (path: string): boolean =>
    languageOf(path) !== null || dataLanguageOf(path) !== null;
  return pathsOf(kind, input).some(isParsed) ? TREE_COST : 1;
};

const promptSize = (input: PromptInput | BriefInput | AuditFiles): number => {
  const files = input.files.reduce((sum, { bytes }) => sum + (bytes?.byteLength ?? 0), 0);
  const others = [...input.rules, ...('context' in input ? input.context : [])];
  return others.reduce((sum, { content }) => sum + content.length, files);
};

const fileSize = ({ bytes }: FileBytes): number => bytes?.byteLength ?? 0;

const planSize = ({ files }: PlanTexts): number =>
  [...files.values()].reduce((sum, file) => sum + ('text' in file ? file.text.length : 0), 0);

/** About how many bytes the work goes over: what decides between doing it here and in a thread. */
export const sizeOf = <K extends EditWorkKind>(kind: K, input: EditWork[K]['input']): number => {
  if (kind === 'answer') {
    const { answer, files } = input as EditWork['answer']['input'];
    return [...files.values()].reduce(
      (sum, { bytes }) => sum + (bytes?.byteLength ?? 0),
      answer.length,
    );
  }
  if (kind === 'merge') {
    const { base, ours, theirs } = input as MergeInput;
    return base.byteLength + ours.byteLength + theirs.byteLength;
  }
  if (kind === 'outline' || kind === 'describe') return fileSize(input as FileBytes);
  if (kind === 'regions') return fileSize((input as RegionsInput).file);
  if (kind === 'prompt' || kind === 'brief' || kind === 'audit')
    return promptSize(input as PromptInput | BriefInput | AuditFiles);
  if (kind === 'plan') return planSize(input as PlanTexts);
  if (kind === 'secrets') return (input as EditWork['secrets']['input']).length;
  const files =
    kind === 'guards' ? (input as GuardInput).files : (input as EditWork['diff']['input']);
  return files.reduce(
    (sum, { base, result }) => sum + (base?.byteLength ?? 0) + (result?.byteLength ?? 0),
    0,
  );
};
