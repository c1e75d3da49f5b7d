/** New characters that look like others, or that hide: named with their place, because no reviewer sees them. */
import type { Finding } from '../shared/formats.js';
import type { GuardView } from './guards.js';
import { foldLookalikes } from './nearest.js';
import { characterName } from './text.js';

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

export const characterFindings = ({ path, base, result, origins }: GuardView): Finding[] => {
  let known: Set<string> | null = null;
  const seen = new Map<string, Sighting>();
  for (const [at, line] of result.entries()) {
    if ((origins[at] ?? -1) >= 0 || isAscii(line)) continue;
    known ??= nonAscii(base);
    for (const sighting of sightings(line, at + 1))
      if (!known.has(sighting.character) && !seen.has(sighting.character)) seen.set(sighting.character, sighting);
  }
  return [...seen.values()].map(({ severity, character, line, what }) => ({
    guard: 'lookalikes',
    severity,
    path,
    lines: [line, line],
    message: `Line ${line} of the new ${path} holds ${characterName(character)}, ${what}, which the file did not have.`,
  }));
};

// eslint-disable-next-line no-control-regex -- ASCII includes the control characters
const isAscii = (line: string): boolean => /^[\x00-\x7f]*$/.test(line);

const nonAscii = (lines: readonly string[]): Set<string> => {
  const characters = new Set<string>();
  for (const line of lines) if (!isAscii(line)) for (const c of line) if (c > '\x7f') characters.add(c);
  return characters;
};

const sightings = (line: string, at: number): Sighting[] => {
  const found: Sighting[] = [];
  const mixed = FOREIGN_LETTER.exec(MIXED_WORD.exec(line)?.[0] ?? '')?.[0];
  if (mixed !== undefined)
    found.push({ severity: 'ask', character: mixed, line: at, what: 'a foreign letter inside a Latin word' });
  for (const character of line) {
    if (character <= '\x7f') continue;
    if (HIDDEN.test(character)) found.push({ severity: 'ask', character, line: at, what: 'which is not visible' });
    else if (foldLookalikes(character) !== character)
      found.push({
        severity: 'note',
        character,
        line: at,
        what: `which looks like ${JSON.stringify(foldLookalikes(character))}`,
      });
  }
  return found;
};
