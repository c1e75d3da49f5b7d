/** Keeps the head and the tail of an output within a bound: readers look for the first error and for the summary. */
export class BoundedOutput {
  readonly #max_bytes: number;
  readonly #head: Buffer[] = [];
  #headRoom: number;
  #tail: Buffer[] = [];
  #tail_bytes = 0;
  #cut_bytes = 0;

  constructor(max_bytes: number) {
    this.#max_bytes = max_bytes;
    this.#headRoom = Math.floor(max_bytes / 2);
  }

  add(chunk: Buffer): void {
    const first = chunk.subarray(0, this.#headRoom);
    const rest = chunk.subarray(first.length);
    if (first.length > 0) this.#head.push(first);
    this.#headRoom -= first.length;
    if (rest.length === 0) return;
    this.#tail.push(rest);
    this.#tail_bytes += rest.length;
    // Trimmed in strides, so that many small chunks do not cost a copy each.
    if (this.#tail_bytes > 2 * this.#max_bytes) this.#trim();
  }

  /** Returns the head and the tail as text, with the number of bytes that were cut between them. */
  text(): string {
    this.#trim();
    const head = Buffer.concat(this.#head).toString('utf8');
    const tail = Buffer.concat(this.#tail).toString('utf8');
    return this.#cut_bytes === 0
      ? head + tail
      : `${head}\n[... ${this.#cut_bytes} bytes cut ...]\n${tail}`;
  }

  #trim(): void {
    const room = Math.ceil(this.#max_bytes / 2);
    const over = this.#tail_bytes - room;
    if (over <= 0) return;
    this.#tail = [Buffer.from(Buffer.concat(this.#tail).subarray(over))];
    this.#tail_bytes = room;
    this.#cut_bytes += over;
  }
}
