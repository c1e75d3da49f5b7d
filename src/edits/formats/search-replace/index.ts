/**
 * search-replace: blocks that quote lines of a file and say what takes their place; and search-blocks, a dialect that other tools taught
 * models: the same with conflict markers (five to nine of each).
 *
 *   answer = *( prose / fence / block )
 *   block  = [ "FILE: " path NL ] "FIND" [ " " [ "@" ] line ] ":" NL *( text NL ) "REPLACE:" NL *( text NL ) "END" [ " " nonce ] NL
 *
 *   block  = [ path NL ] [ fence NL ] open NL [ ":start_line:" line NL [ ":end_line:" line NL ] [ "-------" NL ] ]
 *            *( text NL ) "=======" NL *( text NL ) close NL
 *   open   = "<<<<<<< SEARCH" / "------- SEARCH"          close = ">>>>>>> REPLACE" / "+++++++ REPLACE"
 *
 * A block without path is of the file that was named last: by FILE, or by a line in Markdown formatting or a fence's info string
 * (`namedPath`), by a heading or the line before the block where they do no more (`fileBefore`; a sentence there about another file
 * refuses it); in search-blocks else of the only offered one. `a/` or `b/` before a path is passed over where only what follows is a file.
 * FIND is whole lines and must stand in exactly one place of the text as the blocks before left it; a line number (of the file as it was
 * shown) decides between several, which is the tolerance unchecked_lines unless the file is known to be that one. An empty FIND creates
 * a file that does not exist, or fills an empty one. FIND equal to REPLACE is skipped; so is a block whose FIND stands nowhere while REPLACE is there once. Where
 * the file is not known to be the one that was shown and other blocks change it, both are refused if FIND stands nowhere. A line of REPLACE
 * that is a marker of conflict-marker blocks is refused, see `stray` (reasons.ts). Without nonces a line in a body that looks like a marker
 * makes the block refused; with them only `REPLACE:` can be unclear, and then that reading counts whose FIND stands in the file, if
 * only one does. Tolerances: earlier_block, unchecked_lines, line_endings, trailing_space, lookalikes, indent, elision, part_of_line, fenced_body.
 * Edits, for the marker: blocks. Without any: `NO-CHANGE: reason` (marker.ts).
 */
import { withoutBom } from '../../text/to-splices.js';
import type { FilePlan } from '../../text/changes.js';
import { lookUp, withoutPrefix } from '../../paths.js';
import { BlockApplier } from './apply.js';
import { type BlockText, FIND_TEXT, SEARCH_TEXT, wordsFor } from './reasons.js';
import { type Block, FindReader, SearchReader } from './parse.js';
import type {
  ContextFile,
  FormatContext,
  FormatModule,
  Reading,
  Reason,
  UsedTolerance,
} from '../../types.js';

const BLOCK_REASONS_REPORTED = 10; // bound: Refusals told of one search-replace answer; each costs a look for the nearest place.

const formatOf = (
  Reader: typeof FindReader | typeof SearchReader,
  words: BlockText,
): FormatModule => ({
  read: (body, context) => {
    const reader = new Reader(body, context);
    const fault = reader.parse();
    const { blocks, notes } = reader;
    const { groups, reasons } = groupByFile(blocks, context);
    const unknown: Reading | null = reasons.length > 0 ? { kind: 'refused', reasons } : null;
    const reading = fault ?? unknown ?? readGroups(groups, notes, context, words);
    return { reading, files: groups.length, edits: blocks.length };
  },
});
export const searchReplace = formatOf(FindReader, FIND_TEXT);
export const searchBlocks = formatOf(SearchReader, SEARCH_TEXT);

type Group = Readonly<{ path: string; file: ContextFile; blocks: Block[] }>;

const groupByFile = (
  blocks: readonly Block[],
  context: FormatContext,
): { groups: Group[]; reasons: Reason[] } => {
  const byAnswered = new Map<string, Group | null>();
  const byPath = new Map<string, Group>();
  const reasons: Reason[] = [];
  for (const block of blocks) {
    let group = byAnswered.get(block.path);
    if (group === undefined) {
      const creates = block.readings.every(({ find }) => find.length === 0);
      const found = lookUp(
        creates ? block.path : withoutPrefix(block.path, context),
        context,
        block.index,
      );
      if (!found.ok) reasons.push(found.reason);
      group = found.ok
        ? (byPath.get(found.path) ?? { path: found.path, file: found.file, blocks: [] })
        : null;
      byAnswered.set(block.path, group);
      if (group) byPath.set(group.path, group);
    }
    group?.blocks.push(group.file.hasBom ? withoutBoms(block) : block);
  }
  return { groups: [...byPath.values()], reasons: reasons.slice(0, BLOCK_REASONS_REPORTED) };
};

const withoutBoms = (block: Block): Block => ({
  ...block,
  readings: block.readings.map((each) => ({
    find: each.find.map(withoutBom),
    replace: each.replace.map(withoutBom),
  })),
});

const readGroups = (
  groups: readonly Group[],
  notes: readonly Reason[],
  context: FormatContext,
  words: BlockText,
): Reading => {
  const plans: FilePlan[] = [];
  const tolerances: UsedTolerance[] = [];
  const allNotes = [...notes];
  const reasons: Reason[] = [];
  for (const { path, file, blocks } of groups) {
    const applier = new BlockApplier(
      file.text,
      blocks,
      { path, options: context.options },
      wordsFor(path, words),
    );
    const unsure: Reason[] = [];
    for (const block of blocks) {
      if (reasons.length >= BLOCK_REASONS_REPORTED) break;
      const outcome = applier.apply(block);
      const { index } = block;
      if (outcome.kind === 'changed') {
        const line = outcome.line === undefined ? {} : { line: outcome.line };
        for (const tolerance of outcome.tolerances)
          tolerances.push({ tolerance, path, index, ...line });
        continue;
      }
      const where = `Block ${index + 1} (${path}, line ${block.answerLine} of the answer): `;
      const { absent, kind, ...why } = outcome;
      const said = { ...why, path, index, message: where + outcome.message };
      (kind === 'refused' ? reasons : allNotes).push(said);
      if (absent !== undefined)
        unsure.push({ ...said, code: 'find_absent', message: where + absent });
    }
    if (reasons.length > 0) continue;
    const changes = applier.changes();
    if (changes.length > 0 && unsure.length > 0)
      reasons.push(...unsure.slice(0, BLOCK_REASONS_REPORTED));
    else plans.push({ kind: 'lines', path, changes });
  }
  return reasons.length > 0
    ? { kind: 'refused', reasons }
    : { kind: 'plans', plans, tolerances, notes: allNotes };
};
