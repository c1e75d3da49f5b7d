/** What guards look for in single lines and in names: typographic look-alikes, lines of the prompt's example, names that clash. */
import type { Finding } from '../../shared/formats.js';
import { type GuardView, eachNewLine, prefixes } from './view.js';
import { foldLookalikes } from '../locate/nearest.js';
import { characterName } from '../text/codec.js';
import { foldedName } from '../../shared/text.js';

/** New characters that look like plain ones, each told once. What hides is the guard `unicode`'s. */
export const characterFindings = (view: GuardView): Finding[] => {
  const { path, base } = view;
  const seen = new Map<string, Finding | null>();
  eachNewLine(view, (line, at) => {
    for (const character of line.match(/\P{ASCII}/gu) ?? []) {
      if (seen.has(character)) continue;
      const plain = foldLookalikes(character);
      const isNew = plain !== character && plain !== '' && !base.includes(character);
      const message = `Line ${at + 1} of the new ${path} holds ${characterName(character)}, which looks like ${JSON.stringify(plain)}, which the file did not have.`;
      seen.set(
        character,
        isNew ? { guard: 'lookalikes', severity: 'note', path, lines: [at + 1, at + 1], message } : null,
      );
    }
  });
  return [...seen.values()].filter((finding) => finding !== null);
};

/** The file that the examples of the prompts edit: a menu, which no task is about. A guard looks for its lines in results. */
export const EXAMPLE_PATH = 'example-only/menu.txt';
/** One line changes, one is new. */
export const EXAMPLE = {
  soup: 'price of soup: 4.50',
  bread: 'price of bread: 1.20',
  tea: 'price of tea: 2.00',
  newBread: 'price of bread: 1.50',
  coffee: 'price of coffee: 2.80',
} as const;
/** Says the change in words that are not the file's, so that the found line is seen to come from the file. */
export const EXAMPLE_TASK =
  'Example of the form (not part of any task). Task: bread costs 1.50 now; add coffee for 2.80 below it. File:';

const EXAMPLE_LINES: ReadonlySet<string> = new Set(Object.values(EXAMPLE));

// A small model that loses its way goes on with the example of the prompt: its lines are no part of any task.

/** New lines that only the prompt's example has: neither the file nor the instructions do. */
export const exampleFindings = (view: GuardView, asked: string): Finding[] => {
  const { path, base } = view;
  const findings: Finding[] = [];
  eachNewLine(view, (line, at) => {
    const text = line.trim();
    if (!EXAMPLE_LINES.has(text) || asked.includes(text) || base.all.some((old) => old.trim() === text)) return;
    const message = `Line ${at + 1} of the new ${path} (${JSON.stringify(text)}) is a line of the example that shows the form of an answer. Send the lines of ${path} itself.`;
    findings.push({ guard: 'example', severity: 'refuse', path, lines: [at + 1, at + 1], message });
  });
  return findings;
};

// New names that another file system takes for those of other files, or cannot hold.

/** Characters that Windows allows in no name; a blank or a dot that it drops at the end of one. */
const NOT_ON_WINDOWS = /[<>:"|?*]|[. ](?=\/|$)/;

/**
 * `made`: paths of new files and targets of moves. `there`: paths (of folders too) that stand beside them afterwards. One finding a new
 * path at most.
 */
export const nameFindings = (made: readonly string[], there: readonly string[]): Finding[] => {
  // Each path with the folders that it lies in, as it is spelt first.
  const spelt = new Map<string, string>();
  const twinOf = (path: string): readonly [string, string] | null => {
    for (const part of prefixes(path, '/')) {
      const folded = foldedName(part);
      const other = spelt.get(folded);
      if (other === undefined) spelt.set(folded, part);
      else if (other !== part) return [part, other];
    }
    return null;
  };
  for (const path of there) twinOf(path);
  return made.flatMap((path): Finding[] => {
    const ask = (message: string): Finding[] => [{ guard: 'file_name', severity: 'ask', path, message }];
    const twin = twinOf(path);
    if (twin !== null)
      return ask(
        `${twin[0]} is new, and ${twin[1]} is the same name where letter case does not count (macOS, Windows).`,
      );
    const [odd] = NOT_ON_WINDOWS.exec(path) ?? [];
    return odd === undefined
      ? []
      : ask(`${path} is new, and its name (${JSON.stringify(odd)}) cannot be made on Windows.`);
  });
};
