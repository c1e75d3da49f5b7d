/** Text of others (models, files, servers) on a terminal: nothing in it may move the cursor, change colours or reorder what is read. */
import { gitColors, gitPager, PAGER_ENV, type DiffColors } from '../git-settings.js';
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
  for (const row of rows) row.forEach((cell, index) => (widths[index] = Math.max(widths[index] ?? 0, cell.length)));
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
  const text = diff
    .split('\n')
    .map((line) => colored(colors, plain(line)))
    .join('\n');
  const pager = await gitPager(io, dir);
  const env = { ...PAGER_ENV, ...pickEnv(io) };
  // 126 and 127: the shell found no such program.
  if (pager !== null && ![null, 126, 127].includes(await io.runTool(pager, [], text, env))) return;
  io.write(text.endsWith('\n') ? text : `${text}\n`);
};

/** What the person set stands. */
const pickEnv = ({ env }: Io): Record<string, string> =>
  Object.fromEntries(
    Object.keys(PAGER_ENV).flatMap((name) => (env[name] === undefined ? [] : [[name, env[name]] as const])),
  );

const colored = (colors: DiffColors, text: string): string => {
  if (text.startsWith('+++') || text.startsWith('---') || text.startsWith('diff ')) return colors.meta(text);
  return coloredLine(colors, text);
};

/** A line of a hunk: `---` is a removed line that begins with two dashes. */
export const coloredLine = (colors: DiffColors, text: string): string => {
  if (text.startsWith('@@')) return colors.frag(text);
  if (text.startsWith('+')) return colors.new(text);
  if (text.startsWith('-')) return colors.old(text);
  return text === '' ? text : colors.context(text);
};
