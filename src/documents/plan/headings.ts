/** Reads the headings of phases and stages, and adds and removes their markers. */
import { NEARLY } from './near-misses.js';
import { MARKERS, type Heading, type Marker, type PartHeading, type TextSplice } from './types.js';
import { nearestWord } from '../../shared/text.js';

const MARKER = new RegExp(`(?<![ \\t])[ \\t]*\\[(${MARKERS.join('|')})\\]$`);

const PART = /^(Phase|Stage)[ \t]+(\d{1,4})[ \t]*:[ \t]*(\S.*)$/s;

/** Parses the heading of a phase or a stage. Returns null for any other heading. */
export function partHeading(heading: Heading): PartHeading | null {
  const [, kind, number, rest] = PART.exec(heading.text) ?? [];
  if (kind === undefined || number === undefined || rest === undefined) return null;
  let name = rest;
  const markers: Marker[] = [];
  for (let match = MARKER.exec(name); match !== null; match = MARKER.exec(name)) {
    markers.unshift(match[1] as Marker);
    name = name.slice(0, match.index);
  }
  const part = kind === 'Phase' ? 'phase' : 'stage';
  // A heading that is underlined may have several lines.
  name = name.trim().replace(/(?<![ \t])[ \t]*[\r\n]+[ \t]*/g, ' ');
  return name === '' ? null : { ...heading, kind: part, number: Number(number), name, markers };
}

/** Returns a word in brackets at the end of a heading that its author probably took for a marker: in capitals, or similar to a marker. */
export function unexpectedMarker({ name }: PartHeading): string | null {
  const word = /\[ *([A-Za-z][A-Za-z_-]*) *\]$/.exec(name)?.[1] ?? '';
  return /^(?:[A-Z_-]{2,}|[Dd]one)$/.test(word) || nearestWord(word, MARKERS, NEARLY) !== null
    ? word
    : null;
}

/** Returns the splice that adds a marker at the end of the heading. The list is empty if the heading already has it. */
export const addMarker = (heading: PartHeading, marker: Marker): readonly TextSplice[] =>
  heading.markers.includes(marker)
    ? []
    : [{ from: heading.words.to, to: heading.words.to, text: ` [${marker}]` }];

/** Returns the splice that removes a marker and the blank before it. The list is empty if the heading does not have it. */
export function removeMarker(heading: PartHeading, marker: Marker): readonly TextSplice[] {
  const index = heading.text.lastIndexOf(`[${marker}]`);
  if (!heading.markers.includes(marker) || index < 0) return [];
  const from = heading.words.from + index;
  const blank = /[ \t]/.test(heading.text.charAt(index - 1)) ? 1 : 0;
  return [{ from: from - blank, to: from + marker.length + 2, text: '' }];
}
