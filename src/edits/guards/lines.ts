/** New characters that look like others, or that hide: named with their place, because no reviewer sees them. */
import type { Finding } from '../../shared/formats.js';
import { type GuardView, eachNewLine, prefixes } from './view.js';
import { foldLookalikes } from '../locate/nearest.js';
import { characterName } from '../text/codec.js';
import { foldedName } from '../../shared/text.js';

/** Change the reading order or are not shown at all. */
const HIDDEN = /[\u061c\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]/u;
/** A word of Latin letters with a Cyrillic or Greek one among them. */
const MIXED_WORD = /(?=[\p{L}_]*\p{Script=Latin})[\p{L}_]*[\p{Script=Cyrillic}\p{Script=Greek}][\p{L}_]*/u;
const FOREIGN_LETTER = /[\p{Script=Cyrillic}\p{Script=Greek}]/u;

interface Sighting {
  readonly severity: 'note' | 'ask';
  readonly character: string;
  readonly line: number;
  readonly what: string;
}

export const characterFindings = (view: GuardView): Finding[] => {
  const { path, base } = view;
  const known = new Map<string, boolean>();
  const had = (character: string): boolean => {
    const told = known.get(character) ?? base.includes(character);
    known.set(character, told);
    return told;
  };
  const seen = new Map<string, Sighting>();
  eachNewLine(view, (line, at) => {
    if (isAscii(line)) return;
    for (const sighting of sightings(line, at + 1))
      if (!seen.has(sighting.character) && !had(sighting.character)) seen.set(sighting.character, sighting);
  });
  return [...seen.values()].map(({ severity, character, line, what }) => {
    const message = `Line ${line} of the new ${path} holds ${characterName(character)}, ${what}, which the file did not have.`;
    return { guard: 'lookalikes', severity, path, lines: [line, line], message };
  });
};

// eslint-disable-next-line no-control-regex -- ASCII includes the control characters
const isAscii = (line: string): boolean => /^[\x00-\x7f]*$/.test(line);

const sightings = (line: string, at: number): Sighting[] => {
  const found: Sighting[] = [];
  const tell = (severity: Sighting['severity'], character: string, what: string): void => {
    found.push({ severity, character, line: at, what });
  };
  const mixed = FOREIGN_LETTER.exec(MIXED_WORD.exec(line)?.[0] ?? '')?.[0];
  if (mixed !== undefined) tell('ask', mixed, 'a foreign letter inside a Latin word');
  for (const character of line) {
    if (character <= '\x7f') continue;
    const plain = foldLookalikes(character);
    if (HIDDEN.test(character)) tell('ask', character, 'which is not visible');
    else if (plain !== character) tell('note', character, `which looks like ${JSON.stringify(plain)}`);
  }
  return found;
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
