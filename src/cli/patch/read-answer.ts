/** The answer of `emend patch`, from a file or stdin: bounded, and decoded. */
import { open } from 'node:fs/promises';
import { resolve } from 'node:path';
import { fail } from '../../shared/problems.js';
import type { Io } from '../io.js';

/** `source` is a path, or `-` for stdin. Throws ProblemError `usage` (no such file), `limit_reached` or `disk`. */
export const readAnswer = async (io: Io, source: string, most_bytes: number): Promise<string> => {
  const bytes = source === '-' ? await io.readAll(most_bytes) : await readBounded(resolve(io.cwd, source), most_bytes);
  if (bytes !== null) return decodeAnswer(bytes);
  return fail(
    'limit_reached',
    `The answer has more than ${most_bytes} bytes (maxAnswer_bytes).`,
    'Send it in parts, or raise `limits: maxAnswer_bytes` in emend.yaml.',
  );
};

/** Null: it holds more. A size that the file system tells is not trusted: pipes and files that grow have none. */
const readBounded = async (path: string, most_bytes: number): Promise<Uint8Array | null> => {
  const file = await open(path, 'r').catch((error: unknown) => {
    const code = (error as NodeJS.ErrnoException).code;
    if (code === 'ENOENT' || code === 'ENOTDIR')
      return fail('usage', `There is no file ${path}.`, 'Name the file that holds the answer, or `-` for stdin.');
    throw error;
  });
  try {
    if ((await file.stat()).isDirectory())
      return fail('usage', `${path} is a directory.`, 'Name the file that holds the answer, or `-` for stdin.');
    const parts: Buffer[] = [];
    let bytes = 0;
    for await (const part of file.createReadStream({ autoClose: false }) as AsyncIterable<Buffer>) {
      bytes += part.length;
      if (bytes > most_bytes) return null;
      parts.push(part);
    }
    return Buffer.concat(parts);
  } finally {
    await file.close();
  }
};

/**
 * UTF-8, or UTF-16 where a byte order mark says so (a Windows shell writes that); the mark is taken off. Bytes that are no UTF-8 are
 * read as the characters of their numbers, as files are that are no UTF-8 either: a diff of such a file then fits it.
 */
const decodeAnswer = (bytes: Uint8Array): string => {
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return new TextDecoder('utf-16le').decode(bytes);
  if (bytes[0] === 0xfe && bytes[1] === 0xff) return new TextDecoder('utf-16be').decode(bytes);
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    return Buffer.from(bytes).toString('latin1');
  }
};
