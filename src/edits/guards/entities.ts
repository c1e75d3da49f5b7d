/** Entities of HTML in place of the characters that they stand for. */
import type { PlacedChange } from '../text/changes.js';
import { ENTITY, plainOf } from '../text/escapes.js';
import { type Escape, firstIn } from './escape.js';
import { hasCode, isCode, isData, isMarkup, withoutStrings } from './languages.js';
import type { GuardView } from './view.js';

const withoutEntities = (text: string): string => text.replace(ENTITY, '');
const TAG = /<\/?[a-z][^<>]*>/i;
/** Operators that neither a sentence nor an example of markup holds, and those that no sentence holds. */
const OPERATOR = /&amp;&amp;|[-=]&gt;|&lt;[=-]|&lt;&lt;/i;
const COMPARISON = /\d&gt;|&gt;&gt;|\s&[lg]t;\s/i;

/** An entity in code of a file that has none. `refuse`: the file holds the plain character, and the change holds it only escaped. */
export const entityIn = (view: GuardView): Escape | null => {
  const { path, base } = view;
  if (isMarkup(path, view.result.line(0)) && !hasCode(path)) return null;
  const replaces = replacements(view);
  const first = firstIn(view, (line, place, change) => {
    const entity = entityInCode(line);
    if (entity === null) return null;
    const plain = plainOf(entity);
    if (!isCertain(view, line) && !replaces(change, plain)) return null;
    const isOnlyEscaped = !change.lines.some((added) => withoutEntities(added).includes(plain));
    const severity = isCode(path) && base.includes(plain) && isOnlyEscaped ? 'refuse' : 'ask';
    return { place, line, escape: JSON.stringify(entity), plain: JSON.stringify(plain), severity };
  });
  // The file is searched last: it may be large, and few changes hold an entity.
  return first === null || base.all.some((line) => entityInCode(line) !== null) ? null : first;
};

/** Returns whether an entity in the line is a character of code. In data and markup, only an operator shows that. */
const isCertain = ({ path }: GuardView, line: string): boolean => {
  if (OPERATOR.test(line)) return true;
  return !isMarkup(path) && (!isData(path) || COMPARISON.test(line));
};

/** The first entity outside of strings, comments and markup. A line that has its character as well converts one into the other. */
const entityInCode = (line: string): string | null => {
  if (!line.includes('&') || TAG.test(line)) return null;
  const [escape] = withoutStrings(line).match(ENTITY) ?? [];
  return escape === undefined || withoutEntities(line).includes(plainOf(escape)) ? null : escape;
};

/**
 * Returns whether a change of data took the character away and put its entity in its place. `&` is corrected so on purpose. Each change is
 * looked through once per character.
 */
const replacements = ({ path, base }: GuardView) => {
  const known = new Map<string, boolean>();
  return ({ from, to, lines }: PlacedChange, plain: string): boolean => {
    if (!isData(path) || plain === '&') return false;
    const key = `${from} ${to} ${plain}`;
    const isReplaced =
      known.get(key) ??
      (base.range(from, to).some((line) => line.includes(plain)) &&
        !lines.some((line) => withoutEntities(line).includes(plain)));
    known.set(key, isReplaced);
    return isReplaced;
  };
};

const LOST_FROM = 3; // bound: A file that holds a character less often may have been corrected.

/** A file, of any kind, that held a character plain and now holds it only as an entity. */
export const lostToEntities = (view: GuardView): Escape | null => {
  const { base, changes, result } = view;
  const added = changes.flatMap(({ lines }) => lines).filter((line) => line.includes('&'));
  const entities = added.flatMap((line) => line.match(ENTITY) ?? []);
  const plain = ['<', '>', '&', '"'].find((character) => {
    const count = entities.filter((entity) => plainOf(entity) === character).length;
    return (
      count >= LOST_FROM &&
      plainCount(base.all, character) >= LOST_FROM &&
      plainCount(result.all, character) === 0
    );
  });
  if (plain === undefined) return null;
  return firstIn(view, (line, place) => {
    const escape = line.match(ENTITY)?.find((entity) => plainOf(entity) === plain);
    if (escape === undefined) return null;
    return {
      place,
      line,
      escape: JSON.stringify(escape),
      plain: JSON.stringify(plain),
      severity: 'refuse',
    };
  });
};
const plainCount = (lines: readonly string[], character: string): number =>
  lines.reduce((sum, line) => sum + withoutEntities(line).split(character).length - 1, 0);
