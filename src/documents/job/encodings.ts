/** Finds the encoding of a file by `encodings:` of `emend.yaml`. */
import ignore from 'ignore';
import type { ProjectConfig } from './types.js';

/** Returns whether each of the 256 bytes is a character of its own. Emend can only edit files in such encodings byte by byte. */
export function isSingleByteEncoding(label: string): boolean {
  try {
    const characters = new TextDecoder(label).decode(
      Uint8Array.from({ length: 256 }, (_, byte) => byte),
    );
    return characters.length === 256 && new Set(Array.from(characters)).size === 256;
  } catch {
    return false;
  }
}

/** Returns the encoding that `encodings:` names for a file. The first pattern that matches the path decides. */
export const encodingOf = (
  { encodings }: Pick<ProjectConfig, 'encodings'>,
  path: string,
): string | undefined =>
  encodings.find(({ pattern }) => ignore().add(pattern).ignores(path))?.encoding;
