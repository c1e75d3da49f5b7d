/** New characters that look like others, or that hide: named with their place, because no reviewer sees them. */
import type { Finding } from '../shared/formats.js';
import { type GuardView, eachNewLine } from './guards-view.js';
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
