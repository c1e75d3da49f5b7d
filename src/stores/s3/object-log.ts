/**
 * Keeps a log of one writer in numbered objects, `<name>/<number>`. The last object is put again with each addition, until it is large. After a
 * put that took more than one try a new object begins: an earlier try may still arrive, and must find its own content.
 */
import type { Objects } from './objects.js';

const SEGMENT_BYTES = 262_144; // bound: Size from which an object of a log in an S3 store is not put again.

export class ObjectLog {
  readonly #objects: Objects;
  readonly #name: string;
  #number = 1;
  #bytes = new Uint8Array();
  #last: Promise<unknown> = Promise.resolve();

  constructor(objects: Objects, name: string) {
    this.#objects = objects;
    this.#name = name;
  }

  /** Appends bytes. Others see them once it resolves. If it fails, the bytes may still arrive. */
  append(bytes: Uint8Array): Promise<void> {
    const put = this.#last.then(() => this.#append(bytes));
    this.#last = put.catch(() => undefined);
    return put;
  }

  async #append(bytes: Uint8Array): Promise<void> {
    const all = Buffer.concat([this.#bytes, bytes]);
    let tries = 0;
    try {
      tries = await this.#objects.put(
        `${this.#name}/${String(this.#number).padStart(6, '0')}`,
        all,
      );
      this.#bytes = all;
    } finally {
      if (tries !== 1 || all.length >= SEGMENT_BYTES) {
        this.#number += 1;
        this.#bytes = new Uint8Array();
      }
    }
  }
}

/** Returns the number of bytes of a log; -1: there is none. */
export const logSize = async (objects: Objects, name: string): Promise<number> => {
  const found = await objects.list(`${name}/`);
  return found.length === 0 ? -1 : found.reduce((sum, { bytes }) => sum + bytes, 0);
};

/** Returns the bytes of a log from `from` on. An object that was removed meanwhile gives none. */
export const readLog = async (objects: Objects, name: string, from = 0): Promise<Uint8Array> => {
  const pieces: Promise<Uint8Array>[] = [];
  let position = 0;
  for (const { key, bytes } of await objects.list(`${name}/`)) {
    const skip = Math.max(0, from - position);
    position += bytes;
    if (skip < bytes)
      pieces.push(objects.get(key).then((found) => (found ?? new Uint8Array()).subarray(skip)));
  }
  return Buffer.concat(await Promise.all(pieces));
};
