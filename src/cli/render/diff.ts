/** A unified diff on a terminal, in the person's own pager and colours. Piped, it goes out byte for byte, so that it can be applied. */
import { gitColors, gitPager, PAGER_ENV, type DiffColors } from '../git-settings.js';
import type { Io } from '../io.js';
import { plain } from './text.js';

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
