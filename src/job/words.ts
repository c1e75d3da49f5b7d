/** Says values and near misses in words, for messages about job files and `emend.yaml`. */
import { SHOWN_BOUNDS } from '../shared/bounds.js';

/** A received YAML value in a few words: `"edti"`, `3`, `a list of 2`, `a map`, `nothing`. */
export function described(value: unknown): string {
  if (value === null || value === undefined) return 'nothing';
  if (typeof value === 'string') return shortened(JSON.stringify(value));
  if (Array.isArray(value)) return value.length === 0 ? 'an empty list' : `a list of ${value.length}`;
  if (typeof value === 'object') return 'a map';
  return shortened(typeof value === 'number' ? String(value) : JSON.stringify(value));
}

const shortened = (text: string): string =>
  text.length > SHOWN_BOUNDS.jobValue_chars ? `${text.slice(0, SHOWN_BOUNDS.jobValue_chars)}…` : text;

/** The known word nearest to what was written, or null where none is near: at most a third of its letters differ. */
export function nearestWord(written: string, known: readonly string[]): string | null {
  const plain = letters(written);
  let best: { word: string; distance: number } | null = null;
  for (const word of known) {
    const distance = editDistance(plain, letters(word));
    if (best === null || distance < best.distance) best = { word, distance };
  }
  return best !== null && best.distance <= Math.max(1, Math.floor(letters(best.word).length / 3)) ? best.word : null;
}

/** `targetFiles`, `target-files` and `target_files` are the same word to a person. */
const letters = (word: string): string =>
  word.slice(0, SHOWN_BOUNDS.jobValue_chars).toLowerCase().replace(/[-_ ]/g, '');

/** Levenshtein, with two rows. */
function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const swap = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(swap, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[b.length] ?? 0;
}
