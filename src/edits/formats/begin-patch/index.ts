/**
 * begin-patch, a dialect that other tools taught models: a patch without line numbers (docs/formats.md says more).
 *
 *   answer = 1*( *( prose / fence ) "*** Begin Patch" NL 1*file "*** End Patch" NL ) *( prose / fence )
 *   file   = "*** Add File: " path NL *( "+" text NL )
 *          / "*** Delete File: " path NL
 *          / "*** Update File: " path NL [ "*** Move to: " path NL ] 1*chunk
 *   chunk  = *( "@@" [ " " line that stands above ] NL ) 1*( ( " " / "-" / "+" ) text NL ) [ "*** End of File" NL ]
 *
 * A chunk's context and removed lines must stand in exactly one place after the chunk before; `@@` lines, which must each stand once,
 * leave only places below them, and `*** End of File` only the end. Additions without context are refused, except at the end of the
 * file. Formatting round a path is passed over (`namedPath`), `a/` or `b/` before it where only what follows is a file. Instead of a patch: `NO-CHANGE: reason` (marker.ts).
 * Tolerances: lost_blank, line_endings, trailing_space, lookalikes, indent. Edits, for the marker: chunks; Add and Delete count as one.
 */
import { type Chunk, type PatchedFile, PatchReader } from './parse.js';
import type { FilePlan } from '../../text/changes.js';
import { indexOf, indexOfLines, type LineIndex, type Text } from '../../text/lines.js';
import { lookUp, namedPath, withoutPrefix } from '../../paths.js';
import type { ToleranceSettings } from '../../../shared/formats.js';
import type {
  Fault,
  FormatContext,
  FormatModule,
  Reading,
  Reason,
  UsedTolerance,
} from '../../types.js';
import { unnumbered, withoutBoms } from '../unified-diff/hunk.js';
import { composeHunks } from '../unified-diff/index.js';
import { HunkLocator, NO_CONTEXT, type Located } from '../unified-diff/locate.js';

export const beginPatch: FormatModule = {
  read: (body, context) => {
    const reader = new PatchReader(body, context);
    const fault = reader.parse();
    if (fault !== null) return { reading: fault, files: 0, edits: 0 };
    const { files, notes, edits } = reader;
    const planner = new Planner(context);
    const reasons = files.flatMap((file) => planner.add(file));
    const { plans, tolerances } = planner;
    const planned: Reading = { kind: 'plans', plans, tolerances, notes };
    return {
      reading: reasons.length > 0 ? { kind: 'refused', reasons } : planned,
      files: files.length,
      edits,
    };
  },
};

class Planner {
  readonly plans: FilePlan[] = [];
  readonly tolerances: UsedTolerance[] = [];
  /** Paths of files and targets of moves that the patch has spoken of: each may come once. */
  readonly #taken = new Set<string>();
  readonly #context: FormatContext;

  constructor(context: FormatContext) {
    this.#context = context;
  }

  /** Adds the file's plans, or tells why it is refused. */
  add({ kind, path: answered, chunks, moveTo, index }: PatchedFile): readonly Reason[] {
    const { files } = this.#context;
    const stated = namedPath(answered, files) ?? answered;
    const found = lookUp(
      kind === 'add' ? stated : withoutPrefix(stated, this.#context),
      this.#context,
      index,
    );
    if (!found.ok) return [found.reason];
    const { path } = found;
    const { text } = found.file;
    const refuse = (code: string, message: string, of = path): Reason[] => [
      { code, path: of, index, message },
    ];
    const twice = (of: string): Reason[] =>
      refuse(
        'file_twice',
        `${of} appears twice in the patch. Put all its chunks under one header.`,
        of,
      );
    if (this.#taken.has(path)) return twice(path);
    this.#taken.add(path);
    if (kind === 'add') {
      if (text !== null)
        return refuse(
          'already_exists',
          `The patch adds ${path}, which exists already. Send it as \`*** Update File\`.`,
        );
      const added = chunks.flatMap((chunk) => chunk.lines.map((line) => line.text));
      this.plans.push({ kind: 'lines', path, result: indexOfLines(added) });
      return [];
    }
    if (text === null)
      return refuse('target_absent', `${path} does not exist. Send it as \`*** Add File\`.`);
    if (kind === 'delete') {
      this.plans.push({ kind: 'delete', path });
      return [];
    }
    const lines = indexOf(text);
    const places: Located[] = [];
    const reasons = this.#locate(
      found.file.hasBom ? chunks.map(withoutBoms) : chunks,
      path,
      text,
      places,
    );
    if (reasons.length > 0) return reasons;
    const to =
      moveTo === null ? null : lookUp(namedPath(moveTo, files) ?? moveTo, this.#context, index);
    if (to?.ok === false) return [to.reason];
    if (to === null && chunks.length === 0)
      return refuse('bare_header', `No chunk follows the header of ${path}.`);
    const result = to?.path ?? path;
    if (result !== path && this.#taken.has(result)) return twice(result);
    this.#taken.add(result);
    if (to !== null) this.plans.push({ kind: 'move', from: path, path: result });
    if (chunks.length > 0)
      this.plans.push({ kind: 'lines', path: result, ...composeHunks(lines, places) });
    return [];
  }

  #locate(
    chunks: readonly Chunk[],
    path: string,
    text: Text,
    places: Located[],
  ): readonly Reason[] {
    const locator = new ChunkLocator(chunks, text, this.#context.options.tolerances);
    return chunks.flatMap((chunk): Reason[] => {
      const { index, answerLine } = chunk;
      const found = locator.locate(chunk);
      if ('code' in found)
        return [
          {
            ...found,
            path,
            index,
            message: `The chunk at line ${answerLine} of the answer: ${found.message}`,
          },
        ];
      places.push(found);
      for (const tolerance of found.tolerances)
        this.tolerances.push({ tolerance, path, index, line: found.at + 1 });
      return [];
    });
  }
}

/** Finds the chunks of one file, in their order. */
class ChunkLocator {
  readonly #lines: LineIndex;
  readonly #locator: HunkLocator;
  /** Where the lines named by `@@` stand, blanks round them aside: up to two places each. */
  readonly #named: ReadonlyMap<string, number[]>;
  #next = 0;

  constructor(chunks: readonly Chunk[], text: Text, settings: ToleranceSettings | undefined) {
    this.#lines = indexOf(text);
    this.#locator = new HunkLocator(text, chunks.map(unnumbered), settings, false);
    this.#named = new Map(chunks.flatMap((chunk) => chunk.above.map((line) => [line, []])));
    for (const [at, line] of this.#named.size === 0 ? [] : this.#lines.all.entries()) {
      const places = this.#named.get(line.trim());
      if (places !== undefined && places.length < 2) places.push(at);
    }
  }

  locate(chunk: Chunk): Located | Fault {
    const below = this.#below(chunk.above);
    if (typeof below === 'string') return { code: 'context_mismatch', message: below };
    const hunk = { ...unnumbered(chunk), bounds: { below, atEnd: chunk.atEnd } };
    const { length } = this.#lines;
    if (hunk.oldLines === 0) {
      this.#next = length;
      const isEnd = chunk.atEnd || length === 0;
      return isEnd
        ? { hunk, at: length, tolerances: [] }
        : { code: 'no_context', message: NO_CONTEXT };
    }
    const found = this.#locator.locate(hunk);
    if (!('code' in found)) this.#next = found.at + hunk.oldLines;
    return found;
  }

  /** The first line that a chunk may begin at, or why its `@@` lines name no place. */
  #below(above: readonly string[]): number | string {
    let below = this.#next;
    for (const text of above) {
      const [at, ...others] = this.#named.get(text) ?? [];
      const quote = JSON.stringify(text.slice(0, 120));
      if (at === undefined)
        return `No line of the file is ${quote}, which \`@@\` names. Quote a whole line.`;
      if (others.length > 0)
        return `Several lines of the file are ${quote}, which \`@@\` names. Name one that occurs once.`;
      below = Math.max(below, at);
    }
    return below;
  }
}
