/**
 * begin-patch, a dialect that other tools taught models: a patch without line numbers.
 *
 *   answer = *( prose / fence ) "*** Begin Patch" NL 1*file "*** End Patch" NL *( prose / fence )
 *   file   = "*** Add File: " path NL *( "+" text NL )
 *          / "*** Delete File: " path NL
 *          / "*** Update File: " path NL [ "*** Move to: " path NL ] 1*chunk
 *   chunk  = *( "@@" [ " " line that stands above ] NL ) 1*( ( " " / "-" / "+" ) text NL ) [ "*** End of File" NL ]
 *
 * A heredoc (`apply_patch <<'EOF'`) and prose may stand round it; after its end no line may look like one of a patch. `a/` or `b/` before a path is passed
 * over where only what follows is a file.
 *
 * A chunk's context and removed lines must stand in exactly one place after the chunk before; `@@` lines, which must each stand once,
 * leave only places below them, and `*** End of File` only the end. Additions without context are refused, except at the end of the
 * file. Add on an existing path is refused. Tolerances: lost_blank, line_endings, trailing_space, lookalikes, indent.
 * Edits, for the marker: chunks; Add and Delete count as one.
 */
import { type Chunk, type ParsedPatch, type PatchedFile, parsePatch } from './parse.js';
import { changesPlan, type FilePlan } from '../../text/changes.js';
import { indexOf, type LineIndex } from '../../text/lines.js';
import { LineChain, type WantedLine } from '../../locate/line-chain.js';
import { levelBetween, levelsOn, toleranceOn } from '../../locate/likeness.js';
import { shiftHunk, shiftedPlaces, UNSHIFTABLE } from '../../locate/indent.js';
import { copyOf, describeNearest, nearest, type Nearest } from '../../locate/nearest.js';
import { lookUp, withoutPrefix } from '../../paths.js';
import type { ContextFile, FormatContext, FormatModule, Reading, Reason, UsedTolerance } from '../../types.js';
import { composeHunks } from '../unified-diff/index.js';

export const beginPatch: FormatModule = {
  format: 'begin-patch',
  read: (body, context) => {
    const parsed = parsePatch(body);
    if (!parsed.ok)
      return { reading: { kind: 'invalid', open: parsed.open, reasons: [parsed.reason] }, files: 0, edits: 0 };
    return { reading: readFiles(parsed, context), files: parsed.files.length, edits: parsed.edits };
  },
};

const readFiles = ({ files, notes }: Extract<ParsedPatch, { ok: true }>, context: FormatContext): Reading => {
  const plans: FilePlan[] = [];
  const tolerances: UsedTolerance[] = [];
  const reasons: Reason[] = [];
  const taken = new Set<string>();
  for (const file of files) {
    const found = lookUp(file.kind === 'add' ? file.path : withoutPrefix(file.path, context), context, file.index);
    if (!found.ok) reasons.push(found.reason);
    else if (taken.has(found.path)) reasons.push(twice(found.path, file.index));
    else {
      taken.add(found.path);
      reasons.push(...planFile(file, found.path, found.file, { context, plans, tolerances, taken }));
    }
  }
  return reasons.length > 0 ? { kind: 'refused', reasons } : { kind: 'plans', plans, tolerances, notes };
};

const twice = (path: string, index: number): Reason => ({
  code: 'file_twice',
  path,
  index,
  message: `${path} comes twice in the patch. Put all its chunks under one header.`,
});

interface Planned {
  readonly context: FormatContext;
  readonly plans: FilePlan[];
  readonly tolerances: UsedTolerance[];
  /** Paths of files and targets of moves that the patch has spoken of: each may come once. */
  readonly taken: Set<string>;
}

/** Adds the file's plans, or tells why it is refused. */
const planFile = (
  { kind, chunks, moveTo, index }: PatchedFile,
  path: string,
  { text }: ContextFile,
  { context, plans, tolerances, taken }: Planned,
): Reason[] => {
  const refuse = (code: string, message: string): Reason[] => [{ code, path, index, message }];
  if (kind === 'add') {
    if (text !== null)
      return refuse('already_exists', `The patch adds ${path}, which exists already. Send it as \`*** Update File\`.`);
    plans.push({ kind: 'lines', path, lines: chunks.flatMap((chunk) => chunk.lines.map((line) => line.text)) });
    return [];
  }
  if (text === null) return refuse('target_absent', `${path} does not exist. Send it as \`*** Add File\`.`);
  if (kind === 'delete') {
    plans.push({ kind: 'delete', path });
    return [];
  }
  const located = locateAll(chunks, { path, lines: indexOf(text) }, context, tolerances);
  if ('reasons' in located) return located.reasons;
  const to = moveTo === null ? null : lookUp(moveTo, context, index);
  if (to?.ok === false) return [to.reason];
  if (to === null && chunks.length === 0) return refuse('bare_header', `No chunk follows the header of ${path}.`);
  const result = to?.path ?? path;
  if (result !== path && taken.has(result)) return [twice(result, index)];
  taken.add(result);
  if (to !== null) plans.push({ kind: 'move', from: path, path: result });
  if (chunks.length > 0) {
    const composed = composeHunks(indexOf(text), located.places);
    plans.push(changesPlan(result, text, composed.changes, composed));
  }
  return [];
};

type Places = readonly { readonly hunk: { readonly lines: Chunk['lines'] }; readonly at: number }[];

const locateAll = (
  chunks: readonly Chunk[],
  { path, lines }: { readonly path: string; readonly lines: LineIndex },
  { options }: FormatContext,
  tolerances: UsedTolerance[],
): { readonly places: Places } | { readonly reasons: Reason[] } => {
  const chain = new LineChain(lines, () =>
    chunks.flatMap((chunk) => chunk.lines.flatMap((line) => [line.text, line.raw])),
  );
  const named = linesByText(chunks, lines);
  const places: { hunk: { lines: Chunk['lines'] }; at: number }[] = [];
  const reasons: Reason[] = [];
  let next = 0;
  for (const chunk of chunks) {
    const { index } = chunk;
    const refuse = (code: string, message: string, near: Nearest | null = null): void =>
      void reasons.push({
        code,
        path,
        index,
        message: `The chunk at line ${chunk.answerLine} of the answer: ${message}`,
        ...copyOf(near),
      });
    const below = anchor(chunk.above, named, next);
    if (typeof below === 'string') {
      refuse('context_mismatch', below);
      continue;
    }
    const old = chunk.lines.filter((line) => line.sign !== '+');
    if (old.some((line) => line.unsigned) && !toleranceOn('lost_blank', options.tolerances)) {
      refuse('lost_blank', 'A blank line starts with no blank. Give context lines their leading blank.');
      continue;
    }
    if (old.length === 0) {
      if (!chunk.atEnd && lines.length > 0)
        refuse(
          'no_context',
          'It only adds lines and quotes none of the file. Add at least one unchanged line before or after them.',
        );
      else places.push({ hunk: chunk, at: lines.length });
      next = lines.length;
      continue;
    }
    const wanted = old.map((line): WantedLine => ({ text: line.text }));
    let fits: readonly number[] = [];
    let more = false;
    for (const level of levelsOn(options.tolerances)) {
      const found = chain.find(wanted, level);
      fits = found.first.filter((at) => at >= below && (!chunk.atEnd || at + old.length === lines.length));
      ({ more } = found);
      if (fits.length > 0) break;
    }
    const shifted =
      fits.length === 0 && toleranceOn('indent', options.tolerances) ? indented(chain, chunk, below, lines) : null;
    const [at] = shifted === null ? fits : shifted.fits;
    if (shifted !== null) [fits, more] = [shifted.fits, shifted.more];
    if (at === undefined) {
      const texts = old.map((l) => l.text);
      const near = nearest(lines.all, texts, below + 1);
      const where = `${below > 0 ? ` below line ${below}` : ''}${chunk.atEnd ? ' at the end of the file' : ''}`;
      const message = `Its context and removed lines stand nowhere${where}. ${describeNearest(near)} Send these lines exactly as the file has them, chunks in the order of the file.`;
      refuse('context_mismatch', message, near);
    } else if (fits.length > 1 || more)
      refuse(
        'context_repeated',
        `Its context and removed lines stand in several places, at lines ${fits.map((n) => n + 1).join(', ')}${more ? ' and more' : ''}. Add context lines until they fit only one.`,
      );
    else if (shifted !== null && shifted.lines === null) refuse('indent', UNSHIFTABLE);
    else {
      places.push({ hunk: { lines: shifted?.lines ?? chunk.lines }, at });
      for (const tolerance of tolerancesOf(old, lines, at)) tolerances.push({ tolerance, path, index, line: at + 1 });
      if (shifted !== null) tolerances.push({ tolerance: 'indent', path, index, line: at + 1 });
      next = at + old.length;
    }
  }
  return reasons.length > 0 ? { reasons } : { places };
};

interface Indented {
  readonly fits: readonly number[];
  readonly more: boolean;
  /** The chunk's lines in the file's indentation, where it fits in one place; null where an added line cannot be shifted. */
  readonly lines: Chunk['lines'] | null;
}

/** The tolerance `indent`; null: the chunk stands nowhere in another indentation. */
const indented = (chain: LineChain, chunk: Chunk, below: number, lines: LineIndex): Indented | null => {
  const old = chunk.lines.filter((line) => line.sign !== '+').map((line) => line.text);
  const { places, more } = shiftedPlaces(chain, old);
  const fits = places.filter(({ first }) => first >= below && (!chunk.atEnd || first + old.length === lines.length));
  const [place] = fits;
  if (place === undefined) return null;
  const shifted = shiftHunk(chunk.lines, lines.range(place.first, place.first + old.length), place.shift);
  return { fits: fits.map(({ first }) => first), more, lines: shifted };
};

const tolerancesOf = (old: Chunk['lines'], lines: LineIndex, at: number): Set<UsedTolerance['tolerance']> => {
  const tolerances = new Set<UsedTolerance['tolerance']>();
  for (const [i, line] of old.entries()) {
    const level = levelBetween(line.text, lines.line(at + i) ?? '') ?? 'exact';
    if (line.unsigned) tolerances.add('lost_blank');
    if (level !== 'exact') tolerances.add(level);
  }
  return tolerances;
};

/** Where the lines named by `@@` stand, blanks round them aside: up to two places each. */
const linesByText = (chunks: readonly Chunk[], index: LineIndex): Map<string, number[]> => {
  const named = new Map<string, number[]>(chunks.flatMap((chunk) => chunk.above.map((text) => [text, []])));
  if (named.size === 0) return named;
  for (const [at, line] of index.all.entries()) {
    const places = named.get(line.trim());
    if (places !== undefined && places.length < 2) places.push(at);
  }
  return named;
};

/** The first line that a chunk may begin at, or why its `@@` lines name no place. */
const anchor = (
  above: readonly string[],
  named: ReadonlyMap<string, readonly number[]>,
  from: number,
): number | string => {
  let below = from;
  for (const text of above) {
    const places = named.get(text) ?? [];
    const [at] = places;
    if (at === undefined)
      return `No line of the file is ${JSON.stringify(text.slice(0, 120))}, which \`@@\` names. Quote a whole line.`;
    if (places.length > 1)
      return `Several lines of the file are ${JSON.stringify(text.slice(0, 120))}, which \`@@\` names. Name one that stands once.`;
    below = Math.max(below, at);
  }
  return below;
};
