/** The CPU work of an edit step, as values that cross into a thread of its own (edit-runner.ts) and back. Pure. */
import { applyAnswer, combinedDiff, countChanged, guardFindings, numberedChanges } from '../edits/index.js';
import type { ChangedLines, DiffFile, GuardedFile, GuardOptions } from '../edits/index.js';
import type { Outline, Syntax } from '../edits/syntax.js';
import type { AnswerOutcome, ApplyAnswerInput } from '../edits/types.js';
import type { Finding } from '../shared/formats.js';
import { languageOf, loadSyntax } from '../syntax/index.js';
import { rebase3 } from '../workspace/rebase.js';
import type { Rebased } from '../workspace/rebase.js';

/** Kind of work -> its input and result. Both survive a structured clone: bytes, maps, plain data, no functions. */
export interface EditWork {
  readonly answer: { readonly input: ApplyAnswerInput; readonly result: AnswerOutcome };
  readonly guards: { readonly input: GuardInput; readonly result: readonly Finding[] };
  readonly merge: { readonly input: MergeInput; readonly result: Rebased };
  /** Definitions of one file, by its path's language. */
  readonly outline: { readonly input: OutlineInput; readonly result: Outline };
  readonly diff: { readonly input: readonly DiffFile[]; readonly result: DrawnDiff };
}
export interface GuardInput extends Pick<GuardOptions, 'guards' | 'asked'> {
  readonly files: readonly GuardedFile[];
}
export interface MergeInput {
  readonly base: Uint8Array;
  /** The file as it is now. */
  readonly ours: Uint8Array;
  /** The proposal's result. */
  readonly theirs: Uint8Array;
}
export interface OutlineInput {
  readonly path: string;
  readonly lines: readonly string[];
}
export interface DrawnDiff {
  /** One git-style diff over all files. */
  readonly text: string;
  /** Lines added and removed, in the order of the input; `changes`: how many can be chosen one by one, where that can be done. */
  readonly changed: readonly (ChangedLines & { readonly changes?: number })[];
}
export type EditWorkKind = keyof EditWork;
type Doers = {
  readonly [K in EditWorkKind]: (input: EditWork[K]['input'], syntax: Syntax) => EditWork[K]['result'];
};

const drawDiff = (files: readonly DiffFile[]): DrawnDiff => {
  const text = combinedDiff(files);
  const numbered = numberedChanges(text);
  const changed = files.map((file) => {
    const changes = numbered.get(file.path)?.length;
    return { ...countChanged([file]), ...(changes === undefined ? {} : { changes }) };
  });
  return { text, changed };
};

const DO: Doers = {
  answer: (input, syntax) => applyAnswer({ ...input, options: { ...input.options, syntax } }),
  guards: ({ files, ...options }, syntax) => guardFindings(files, { ...options, syntax }),
  merge: ({ base, ours, theirs }) => rebase3(base, ours, theirs),
  diff: drawDiff,
  outline: ({ path, lines }, syntax) => syntax.outline(path, lines),
};

/** Grammars are loaded before the work begins: nothing else of it touches a file. */
export const doWork = async <K extends EditWorkKind>(
  kind: K,
  input: EditWork[K]['input'],
): Promise<EditWork[K]['result']> => DO[kind](input, await loadSyntax(pathsOf(kind, input)));

/** The paths whose syntax the work may ask for. */
const pathsOf = <K extends EditWorkKind>(kind: K, input: EditWork[K]['input']): readonly string[] => {
  if (kind === 'answer') return [...(input as EditWork['answer']['input']).files.keys()];
  if (kind === 'outline') return [(input as OutlineInput).path];
  return kind === 'guards' ? (input as GuardInput).files.map(({ path }) => path) : [];
};

/** A syntax tree costs about this many times what else is done with a text. */
const TREE_COST = 4;
/** What the work costs for each byte that it goes over. */
export const costOf = <K extends EditWorkKind>(kind: K, input: EditWork[K]['input']): number =>
  pathsOf(kind, input).some((path) => languageOf(path) !== null) ? TREE_COST : 1;

/** About how many bytes the work goes over: what decides between doing it here and in a thread. */
export const sizeOf = <K extends EditWorkKind>(kind: K, input: EditWork[K]['input']): number => {
  if (kind === 'answer') {
    const { answer, files } = input as EditWork['answer']['input'];
    return [...files.values()].reduce((sum, { bytes }) => sum + (bytes?.byteLength ?? 0), answer.length);
  }
  if (kind === 'merge') {
    const { base, ours, theirs } = input as MergeInput;
    return base.byteLength + ours.byteLength + theirs.byteLength;
  }
  if (kind === 'outline') return (input as OutlineInput).lines.reduce((sum, line) => sum + line.length + 1, 0);
  const files = kind === 'guards' ? (input as GuardInput).files : (input as EditWork['diff']['input']);
  return files.reduce((sum, { base, result }) => sum + (base?.byteLength ?? 0) + (result?.byteLength ?? 0), 0);
};
