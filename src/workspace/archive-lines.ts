/** Append-only files of JSON lines that survive torn writes: a line counts once its line end is on disk. */
import { dirname } from 'node:path';
import { fail } from '../shared/problems.js';
import { ensureDir, orNull } from './sys-put.js';
import { errnoOf, type Sys } from './sys.js';
import { STORE_BOUNDS } from '../shared/bounds.js';

const LF = 0x0a;

/** Files whose name this process has seen durable: as long as they are there, their directory need not be synced again. */
const durable = new Set<string>();
const remember = (path: string): void => {
  if (durable.size >= STORE_BOUNDS.rememberedArchives) durable.clear();
  durable.add(path);
};

/**
 * Appends the values as lines with one write, then fsyncs. A torn line that a dead writer left is closed first. Values may be
 * there twice after a retry or a short write: readers drop what they know by its id.
 */
export const appendLines = async (sys: Sys, path: string, values: readonly unknown[]): Promise<void> => {
  if (values.length === 0) return;
  const text = values.map((value) => `${JSON.stringify(value)}\n`).join('');
  const last = await orNull(sys.lastByte(path));
  let torn = last !== null && last !== LF;
  for (let append = 0; append < STORE_BOUNDS.shortWrites; append++) {
    const bytes = new TextEncoder().encode(torn ? `\n${text}` : text);
    const written = await appendIn(sys, path, bytes);
    if (written === bytes.length) {
      // Whoever made the file, we or another process, may have died before its name was durable.
      if (last === null || !durable.has(path)) await sys.fsyncDir(dirname(path));
      remember(path);
      return;
    }
    torn = true;
  }
  return fail('disk', `Appending to ${path} failed: the disk took only a part of ${text.length} characters (ENOSPC).`);
};

const appendIn = async (sys: Sys, path: string, bytes: Uint8Array): Promise<number> => {
  try {
    return await sys.append(path, bytes);
  } catch (error) {
    if (errnoOf(error) !== 'ENOENT') throw error;
    await ensureDir(sys, dirname(path));
    return sys.append(path, bytes);
  }
};

/** The whole lines of the file that are JSON, in order; torn ones are left out. Empty where there is no file. */
export const readLines = async (sys: Sys, path: string): Promise<readonly unknown[]> => {
  const bytes = await orNull(sys.readFile(path));
  if (bytes === null) return [];
  const text = new TextDecoder().decode(bytes);
  const values: unknown[] = [];
  for (const line of text.slice(0, text.lastIndexOf('\n') + 1).split('\n')) {
    if (line === '') continue;
    try {
      values.push(JSON.parse(line) as unknown);
    } catch {
      // A torn line that a later append closed: never acknowledged to anybody.
    }
  }
  return values;
};
