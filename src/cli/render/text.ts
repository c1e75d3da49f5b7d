/** Text of others (models, files, servers) on a terminal: nothing in it may move the cursor, change colours or reorder what is read. */
import { gitColors, gitPager, PAGER_ENV, type DiffColors, type Paint } from '../git-settings.js';
import type { ColouredPart } from '../../web/page/model/tokens.js';
import type { Io } from '../io.js';
import { describeEvent } from '../../shared/event-text.js';
import type { StepEvent } from '../../shared/events.js';
import { visible as plain } from '../../shared/text.js';

export { count, visible as plain } from '../../shared/text.js';

/** One line of at most `width` characters. */
export const line = (text: string, width: number): string => {
  const flat = plain(text).replace(/[\t\n]+/g, ' ');
  return flat.length <= width ? flat : `${flat.slice(0, Math.max(0, width - 1))}…`;
};

/** A cell of a table: of at most `most` characters on a terminal, whole in a pipe. */
export const cell = (text: string, most: number, columns: number): string =>
  line(text, columns === Infinity ? columns : most);

/** In lines of at most `width` characters, broken at blanks; those after the first are set in by `indent`. A longer word keeps its line. */
export const folded = (text: string, width: number, indent: number): readonly string[] => {
  const lines: string[] = [];
  let rest = text;
  while (rest.length > width) {
    // A break inside the indent would be none.
    const blank = rest.lastIndexOf(' ', width);
    const at = blank > indent ? blank : rest.indexOf(' ', indent + 1);
    if (at < 0) break;
    lines.push(rest.slice(0, at));
    rest = `${' '.repeat(indent)}${rest.slice(at + 1)}`;
  }
  return [...lines, rest];
};

/** Columns padded to their widest cell; the last is not. Cells hold no colour. */
export const table = (rows: readonly (readonly string[])[]): readonly string[] => {
  const widths: number[] = [];
  for (const row of rows)
    row.forEach((cell, index) => (widths[index] = Math.max(widths[index] ?? 0, cell.length)));
  return rows.map((row) =>
    row
      .map((cell, index) => (index === row.length - 1 ? cell : cell.padEnd(widths[index] ?? 0)))
      .join('  ')
      .trimEnd(),
  );
};

// An event in one line for a terminal. Pure.

export const eventText = (event: StepEvent): string => plain(describeEvent(event));

/** Progress says these by itself; a log of a run in a terminal leaves them out. */
const QUIET: readonly StepEvent['type'][] = [
  'format_chosen',
  'edit_chunk_started',
  'edit_chunk_completed',
  'edit_step_paused',
  'decision_resolved',
  'step_finished',
  'plan_finished',
  'markers_checked',
];

export const isWorthALine = (event: StepEvent): boolean => !QUIET.includes(event.type);

// A unified diff on a terminal, in the person's own pager and colours. Piped, it goes out byte for byte, so that it can be applied.

/** `dir`: the workspace, whose git configuration counts. */
export const printDiff = async (io: Io, diff: string, dir: string): Promise<void> => {
  if (!io.outIsTty) {
    io.write(diff);
    return;
  }
  const colors = await gitColors(io, dir);
  const syntax = colors.isOn && diff.length <= SYNTAX_CHARS ? await syntaxOf(diff) : null;
  const text = diff
    .split('\n')
    .map((row, at) => {
      const words = syntax?.get(at);
      return words === undefined ? colored(colors, plain(row)) : inWords(io, colors, words);
    })
    .join('\n');
  const pager = await gitPager(io, dir);
  // What the person set stands.
  const env = Object.fromEntries(
    Object.entries(PAGER_ENV).map(([name, usual]) => [name, io.env[name] ?? usual]),
  );
  // 126 and 127: the shell found no such program.
  if (pager !== null && ![null, 126, 127].includes(await io.runTool(pager, [], text, env))) return;
  io.write(text.endsWith('\n') ? text : `${text}\n`);
};

const SYNTAX_CHARS = 1_000_000; // bound: A longer diff has the colours of its lines only: nobody waits for its grammars.
/** By the classes of the review page. What has none, names for example, has the colour of its line. */
const SYNTAX = {
  'k-keyword': 'magenta',
  'k-string': 'yellow',
  'k-number': 'cyan',
  'k-type': 'blue',
} as const;

type Words = readonly Pick<ColouredPart, 'text' | 'colour'>[];

/** The words of each line in a hunk, by the line's number in the diff. */
const syntaxOf = async (diff: string): Promise<ReadonlyMap<number, Words>> => {
  const [{ parseDiff }, { coloured, grammarOf, hunkTokens }] = await Promise.all([
    import('../../web/page/model/diff.js'),
    import('../../web/page/model/tokens.js'),
  ]);
  const found = new Map<number, Words>();
  const rows = diff.split('\n');
  let at = 0;
  for (const { path, hunks } of parseDiff(diff)) {
    const parser = hunks.length === 0 ? undefined : await grammarOf(path)?.load();
    for (const hunk of hunks) {
      while (rows[at]?.startsWith('@@ -') === false) at += 1;
      const tokens = parser && hunkTokens(parser, hunk);
      for (const line of hunk.lines) {
        do at += 1;
        while (rows[at]?.startsWith('\\') === true);
        const behindSign = tokens?.(line)?.map((token) => ({
          ...token,
          from: token.from + 1,
          to: token.to + 1,
        }));
        found.set(
          at,
          coloured([{ text: `${line.sign}${line.text}`, changed: false }], behindSign ?? null),
        );
      }
    }
  }
  return found;
};

const inWords = ({ colors: own }: Io, colors: DiffColors, words: Words): string => {
  const paint = paintOf(colors, words[0]?.text ?? '');
  const painted = words.map(({ text, colour }) => {
    if (colour === 'k-comment') return own.dim(paint(plain(text)));
    const name = SYNTAX[colour as keyof typeof SYNTAX] as (typeof SYNTAX)['k-type'] | undefined;
    return (name === undefined ? paint : own[name])(plain(text));
  });
  return painted.join('');
};

const colored = (colors: DiffColors, text: string): string => {
  if (text.startsWith('+++') || text.startsWith('---') || text.startsWith('diff '))
    return colors.meta(text);
  return coloredLine(colors, text);
};

/** A line of a hunk: `---` is a removed line that begins with two dashes. */
export const coloredLine = (colors: DiffColors, text: string): string =>
  text === '' ? text : paintOf(colors, text)(text);

const paintOf = (colors: DiffColors, text: string): Paint => {
  if (text.startsWith('@@')) return colors.frag;
  if (text.startsWith('+')) return colors.new;
  return text.startsWith('-') ? colors.old : colors.context;
};
