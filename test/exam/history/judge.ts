/** Asks the engine for one true answer in one format and holds the outcome against the commit's bytes. */
import { applyAnswer } from '../../../src/edits/apply-answer.js';
import type { AnswerOutcome, ApplyOptions, Edited, OfferedFile } from '../../../src/edits/types.js';
import { type AnswerFormat, DIALECTS } from '../../../src/shared/formats.js';
import { sayChange, type TrueChange } from '../../edits/formats.js';
import type { Sayable } from './change.js';

export type Verdict =
  /** The commit's bytes, path and mode, and nothing else touched. */
  | { readonly kind: 'exact'; readonly tolerances: readonly string[] }
  /** The commit's text; of its line ends those that no answer says are as the base has them. */
  | { readonly kind: 'ends' }
  | { readonly kind: 'refused'; readonly code: string; readonly message: string }
  | { readonly kind: 'wrong'; readonly why: string }
  /** The format has no words for this change. */
  | { readonly kind: 'unsaid' };

const NONCE = 'c0ffee5eedc0ffee5eed';
const isDialect = (format: AnswerFormat): boolean =>
  (DIALECTS as readonly string[]).includes(format);
const permissions = (mode: string | undefined): number => (mode === '100755' ? 0o755 : 0o644);

/** The part of the change that the format has words for; null: none. */
const sayableIn = (format: AnswerFormat, change: TrueChange): TrueChange | null => {
  const { kind, edits, from, final, baseFinal, baseMode, base } = change;
  if (kind === 'delete')
    return format === 'whole-file' || format === 'unified-diff' || format === 'begin-patch'
      ? change
      : null;
  if (kind === 'create') {
    const empty = edits.length === 0;
    if (empty && (format === 'structured-edit' || format === 'string-replace')) return null;
    return format === 'unified-diff' ? change : { ...change, mode: '100644' };
  }
  if (format === 'unified-diff') return change;
  // Moves are said by diffs alone; elsewhere the content changes where it was.
  const here: TrueChange = {
    kind,
    edits,
    base,
    path: from ?? change.path,
    baseFinal: baseFinal ?? true,
    final: final ?? true,
    ...(baseMode === undefined ? {} : { baseMode, mode: baseMode }),
  };
  if (edits.length > 0 && base.length > 0)
    return format === 'begin-patch' ? { ...here, ...moved(change) } : here;
  // An empty file has nothing that could be quoted.
  if (edits.length > 0)
    return format === 'whole-file' || format === 'structured-edit' ? here : null;
  return format === 'whole-file' && final !== baseFinal ? here : null;
};

const moved = ({ path, from }: TrueChange): Partial<TrueChange> =>
  from === undefined ? {} : { path, from };

export const judge = (
  format: AnswerFormat,
  sayable: Sayable,
  encoding: string | undefined,
): Verdict => {
  const change = sayableIn(format, sayable.change);
  if (change === null) return { kind: 'unsaid' };
  const nonce = isDialect(format) ? {} : { nonce: NONCE };
  const answer = sayChange(format, change, { careful: true, ...nonce });
  const offered = change.kind === 'create' ? change.path : (change.from ?? change.path);
  const file: OfferedFile = {
    bytes: sayable.base,
    ...(change.kind === 'create' ? {} : { mode: permissions(change.baseMode) }),
    ...(encoding === undefined ? {} : { encoding }),
  };
  // Only a diff says whether the last line ends; elsewhere the job's `final_newline` does.
  const toldBesides =
    format !== 'unified-diff' &&
    (change.final ?? true) !== (change.baseFinal ?? true) &&
    change.kind !== 'delete';
  const options: ApplyOptions = {
    requireMarker: true,
    ...nonce,
    allowDelete: true,
    mayCreateUnder: [''],
    newFileEol: sayable.newFileEol,
    ...(toldBesides ? { finalNewline: change.final ?? true } : {}),
  };
  const files = new Map(change.kind === 'create' ? [] : [[offered, file]]);
  return verdictOn(applyAnswer({ format, answer, files, options }), change, sayable, offered);
};

const verdictOn = (
  outcome: AnswerOutcome,
  change: TrueChange,
  sayable: Sayable,
  offered: string,
): Verdict => {
  if (outcome.outcome === 'unchanged') return { kind: 'wrong', why: 'said to change nothing' };
  if (outcome.outcome !== 'edited') {
    const [first] = outcome.reasons;
    return {
      kind: 'refused',
      code: first?.code ?? outcome.outcome,
      message: first?.message ?? outcome.outcome,
    };
  }
  const others = [...outcome.files.keys()].filter(
    (path) => path !== change.path && path !== offered,
  );
  if (others.length > 0) return { kind: 'wrong', why: `touches ${others.join(', ')}` };
  if (change.from !== undefined && outcome.files.get(offered) !== 'absent')
    return { kind: 'wrong', why: 'the moved file stays' };
  const found = outcome.files.get(change.path);
  if (change.kind === 'delete')
    return found === 'absent' ? exact(outcome) : { kind: 'wrong', why: 'the file is not deleted' };
  if (found === undefined || found === 'absent')
    return { kind: 'wrong', why: 'the file is not there' };
  const wantedMode = permissions(change.mode);
  if ((found.mode ?? 0o644) !== wantedMode)
    return {
      kind: 'wrong',
      why: `mode ${(found.mode ?? 0).toString(8)}, wanted ${wantedMode.toString(8)}`,
    };
  if (Buffer.compare(found.bytes, sayable.result ?? new Uint8Array(0)) === 0) return exact(outcome);
  return sayable.endsMayDiffer
    ? judgeEnds(found.bytes, sayable)
    : { kind: 'wrong', why: firstDifference(found.bytes, sayable) };
};

const exact = ({ tolerances }: Edited): Verdict => ({
  kind: 'exact',
  tolerances: tolerances.map(({ tolerance }) => tolerance),
});

/** The same text, and before the first and after the last change the base's very line ends. */
const judgeEnds = (
  bytes: Uint8Array,
  { baseText, resultText, readResult, change }: Sayable,
): Verdict => {
  const found = readResult(bytes);
  if (typeof found === 'string') return { kind: 'wrong', why: `the result: ${found}` };
  if (found.lines.join('\n') !== resultText.lines.join('\n'))
    return { kind: 'wrong', why: 'another text' };
  const final = found.lines.length === 0 || found.ends.at(-1) !== '';
  if (final !== (change.final ?? true)) return { kind: 'wrong', why: 'another final line end' };
  const head = Math.min(change.edits[0]?.from ?? 0, baseText.lines.length - 1);
  const tail = baseText.lines.length - (change.edits.at(-1)?.to ?? 0);
  for (let at = 0; at < head; at += 1)
    if (found.ends[at] !== baseText.ends[at])
      return { kind: 'wrong', why: `the end of untouched line ${at + 1}` };
  for (let back = 2; back <= tail; back += 1)
    if (found.ends.at(-back) !== baseText.ends.at(-back))
      return {
        kind: 'wrong',
        why: `the end of untouched line ${baseText.lines.length - back + 1}`,
      };
  return { kind: 'ends' };
};

const firstDifference = (found: Uint8Array, { result }: Sayable): string => {
  const wanted = Buffer.from(result ?? []);
  const bytes = Buffer.from(found);
  let at = 0;
  while (at < wanted.length && wanted[at] === bytes[at]) at += 1;
  const near = (side: Buffer): string =>
    JSON.stringify(side.toString('latin1', Math.max(0, at - 20), at + 40));
  return `byte ${at}: wanted ${near(wanted)}, found ${near(bytes)}`;
};
