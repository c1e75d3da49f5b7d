/** What changed within a line. Pure. */
import { diffWordsWithSpace } from 'diff';

/** A stretch of a line; `changed`: it is not in the other one. */
export interface Stretch {
  readonly text: string;
  readonly changed: boolean;
}

/** Longer lines are compared by their common beginning and end only: words cost time that grows with the square. */
const WORDS_chars = 1_000;
/** Where less than this part is the same, the marks would be noise: the line as a whole has changed. */
const ALIKE = 0.3;

/** The stretches of `text`, whose counterpart is `other`. `isNew`: `text` is the later one. */
export const stretchesOf = (text: string, other: string, isNew: boolean): readonly Stretch[] => {
  const plain: readonly Stretch[] = [{ text, changed: false }];
  if (text === '' || other === '') return plain;
  if (text.length > WORDS_chars || other.length > WORDS_chars) return ends(text, other);
  const parts = isNew ? diffWordsWithSpace(other, text) : diffWordsWithSpace(text, other);
  const own = parts
    .filter((part) => (isNew ? !part.removed : !part.added))
    .map((part) => ({ text: part.value, changed: isNew ? part.added : part.removed }));
  const same = own.filter((part) => !part.changed).reduce((sum, part) => sum + part.text.trim().length, 0);
  return same < ALIKE * text.trim().length ? plain : own;
};

const ends = (text: string, other: string): readonly Stretch[] => {
  const most = Math.min(text.length, other.length);
  let head = 0;
  while (head < most && text[head] === other[head]) head++;
  let tail = 0;
  while (tail < most - head && text[text.length - 1 - tail] === other[other.length - 1 - tail]) tail++;
  return [
    { text: text.slice(0, head), changed: false },
    { text: text.slice(head, text.length - tail), changed: true },
    { text: text.slice(text.length - tail), changed: false },
  ].filter((part) => part.text !== '');
};
