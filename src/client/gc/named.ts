/** References that were found in texts, in little memory: 16 bytes each. A collision of 128 bits would keep a blob that nothing names. */
import { type BlobRef, blobRefsIn } from '../../shared/ids.js';

const PREFIX_CHARS = 'sha256:'.length;
const WORDS = 4; // bound: Words of 32 bits of a hash that are kept.
const WORD_CHARS = 8; // bound: Hex digits of such a word.
const FIRST_ENTRIES = 65_536; // bound: Entries of the table at the beginning: it doubles when it is half full.

export class NamedRefs {
  #table = new Uint32Array(FIRST_ENTRIES * WORDS);
  #size = 0;

  has(ref: BlobRef): boolean {
    return this.#isAt(this.#placeOf(wordsOf(ref)));
  }

  /** Adds the references of a text. Returns those that are new. */
  addFrom(text: string): readonly BlobRef[] {
    const added: BlobRef[] = [];
    for (const ref of blobRefsIn(text)) if (this.#add(wordsOf(ref))) added.push(ref);
    return added;
  }

  #add(words: Uint32Array): boolean {
    const place = this.#placeOf(words);
    if (this.#isAt(place)) return false;
    this.#table.set(words, place);
    this.#size += 1;
    if (this.#size * WORDS * 2 > this.#table.length) this.#grow();
    return true;
  }

  /** An empty entry is all zeros, which is no hash that anybody finds. */
  #isAt(place: number): boolean {
    for (let n = 0; n < WORDS; n += 1) if (this.#table[place + n] !== 0) return true;
    return false;
  }

  #isSame(place: number, words: Uint32Array): boolean {
    for (let n = 0; n < WORDS; n += 1) if (this.#table[place + n] !== words[n]) return false;
    return true;
  }

  /** Returns where these words are, or the empty entry where they would be. */
  #placeOf(words: Uint32Array): number {
    const entries = this.#table.length / WORDS;
    for (let entry = (words[0] ?? 0) % entries; ; entry = (entry + 1) % entries) {
      const place = entry * WORDS;
      if (!this.#isAt(place) || this.#isSame(place, words)) return place;
    }
  }

  #grow(): void {
    const before = this.#table;
    this.#table = new Uint32Array(before.length * 2);
    for (let place = 0; place < before.length; place += WORDS) {
      const words = before.slice(place, place + WORDS);
      if (words.some((word) => word !== 0)) this.#table.set(words, this.#placeOf(words));
    }
  }
}

const wordsOf = (ref: BlobRef): Uint32Array => {
  const words = new Uint32Array(WORDS);
  for (let n = 0; n < WORDS; n += 1) {
    const from = PREFIX_CHARS + n * WORD_CHARS;
    words[n] = Number.parseInt(ref.slice(from, from + WORD_CHARS), 16);
  }
  return words;
};
