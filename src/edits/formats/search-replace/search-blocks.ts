/**
 * search-blocks, a dialect that other tools taught models: conflict-marker blocks.
 *
 *   answer = *( prose / fence / block )
 *   block  = [ path NL ] [ fence NL ] open NL [ ":start_line:" line NL [ ":end_line:" line NL ] [ "-------" NL ] ]
 *            *( text NL ) "=======" NL *( text NL ) close NL
 *   open   = "<<<<<<< SEARCH" / "------- SEARCH"          close = ">>>>>>> REPLACE" / "+++++++ REPLACE"
 *
 * Five to nine `<`, `-`, `=`, `>`, `+` are accepted. The last line before a block that names a file (`namedPath`: an offered path or one that
 * looks like a path, also in Markdown formatting or a fence's info string) says its file; else the file of the block before, else the only
 * offered one. From there on it is search-replace: SEARCH is whole lines that stand in exactly one place; `:start_line:` decides between
 * several; an empty SEARCH creates a file that does not exist. A line of REPLACE that is one of these markers is refused, unless SEARCH
 * quotes it or the file is Markdown, reStructuredText, AsciiDoc or a diff. Edits, for the marker: blocks.
 */
import { namedPath } from '../../paths.js';
import { Outside } from '../../detect.js';
import { readParsed } from './index.js';
import type { Block, ParsedBlocks } from './parse.js';
import type { FormatContext, FormatModule } from '../../types.js';

const DIVIDERS = 100; // bound: Dividers of a block that are tried: each is a reading of its own, with its own copy of the lines.

const SEARCH = /^(?:<{5,9}|-{5,9}) SEARCH\s*$/;
const DIVIDER = /^={5,9}\s*$/;
const REPLACE = /^(?:>{5,9}|\+{5,9}) REPLACE\s*$/;
/** Lines that only stand outside of a block where something is wrong with one. */
const STRAY = /^(?:={5,9}|<{5,9}|>{5,9}|\+{5,9})\s*$/;
const WORDS = {
  find: 'SEARCH',
  divider: '=======',
  hint: ':start_line:LINE',
  stray: /^(?:[<=>+-]{7}|={5,9}|[<-]{5,9} SEARCH|[>+]{5,9} REPLACE|:(?:start|end)_line:[ \t]*\d*)\s*$/,
};
const LINE = /^:(start|end)_line:[ \t]*(\d{1,9})\s*$/;
const RULE = /^-{5,9}\s*$/;

export const searchBlocks: FormatModule = {
  format: 'search-blocks',
  read: (body, context) => readParsed(parse(body, context), context, WORDS),
};

const parse = (body: string, context: FormatContext): ParsedBlocks => {
  const lines = body.split('\n').map((line) => (line.endsWith('\r') ? line.slice(0, -1) : line));
  const blocks: Block[] = [];
  const bad = (code: string, message: string, open = false): ParsedBlocks => ({
    kind: 'invalid',
    open,
    blocks,
    reason: { code, index: blocks.length, message },
  });
  let path: string | null = context.files.size === 1 ? ([...context.files.keys()][0] ?? null) : null;
  let prose = false;
  const outside = new Outside();
  for (let at = 0; at < lines.length; at += 1) {
    const line = lines[at] ?? '';
    const isFence = outside.take(at, line);
    if (STRAY.test(line) || REPLACE.test(line))
      return bad('stray_line', `Line ${at + 1} of the answer, ${line.trim()}, belongs to no block that is open.`);
    if (!SEARCH.test(line)) {
      const named = namedPath(line, context.files);
      path = named ?? path;
      prose ||= named === null && line.trim() !== '' && !isFence;
      continue;
    }
    let end = at + 1;
    while (end < lines.length && !REPLACE.test(lines[end] ?? '') && !SEARCH.test(lines[end] ?? '')) end += 1;
    if (end === lines.length)
      return bad('open_block', `The block at line ${at + 1} has no line \`>>>>>>> REPLACE\`.`, true);
    if (SEARCH.test(lines[end] ?? ''))
      return bad('open_block', `The block at line ${at + 1} is not closed before the next one, at line ${end + 1}.`);
    if (path === null)
      return bad(
        'find_without_file',
        `The line before the block at line ${at + 1} does not name its file. Put its path there.`,
      );
    const { from, hint } = readHint(lines, at + 1);
    const dividers = lines.slice(from, end).flatMap((other, i) => (DIVIDER.test(other) ? [from + i] : []));
    if (dividers.length === 0) return bad('no_replace', `The block at line ${at + 1} has no line \`=======\`.`);
    if (dividers.length > DIVIDERS)
      return bad(
        'stray_line',
        `The block at line ${at + 1} holds ${dividers.length} lines \`=======\`; which of them divides it cannot be told.`,
      );
    blocks.push({
      index: blocks.length,
      path,
      ...(hint === null ? {} : { hint }),
      readings: dividers.map((d) => ({ find: lines.slice(from, d), replace: lines.slice(d + 1, end) })),
      answerLine: at + 1,
    });
    outside.belongs(at);
    at = end;
  }
  const fault = outside.fault(blocks.length);
  if (fault !== null) return { kind: 'invalid', blocks, ...fault };
  if (blocks.length === 0) return bad('no_edits', 'The answer holds no block: no line is `<<<<<<< SEARCH`.');
  const notes = prose ? [{ code: 'prose', message: 'Text around the blocks was passed over.' }] : [];
  return { kind: 'blocks', blocks, notes };
};

/** `:start_line:`, `:end_line:` and the rule after them, where they stand first in the block. */
const readHint = (lines: readonly string[], start: number): { from: number; hint: number | null } => {
  let from = start;
  let hint: number | null = null;
  for (let match = LINE.exec(lines[from] ?? ''); match !== null; match = LINE.exec(lines[from] ?? '')) {
    if (match[1] === 'start') hint = Number(match[2]);
    from += 1;
  }
  return { from: from > start && RULE.test(lines[from] ?? '') ? from + 1 : from, hint };
};
