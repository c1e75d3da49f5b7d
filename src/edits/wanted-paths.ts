/** Which files an answer is about, by the same reading that will apply it: for callers who hold the answer before the files. */
import { sizeFault } from './answer-size.js';
import { findMarker } from './marker.js';
import { MODULES } from './modules.js';
import { decodeOffered } from './outcome-compose.js';
import type { ApplyAnswerInput, ContextFile } from './types.js';

/** Remembers what was asked for and is not there. */
class AskedFiles extends Map<string, ContextFile> {
  readonly missing = new Set<string>();

  override get(path: string): ContextFile | undefined {
    const file = super.get(path);
    if (file === undefined) this.missing.add(path);
    return file;
  }
  override has(path: string): boolean {
    const there = super.has(path);
    if (!there) this.missing.add(path);
    return there;
  }
}

/**
 * Paths, as the answer says them and in no order, that reading it asks for and that `files` does not hold. Not every one is a path of
 * the answer (a diff's prefixes are tried both ways): those that do not exist are left out of `files`, those that do are added, and
 * the answer is asked again until nothing new comes. Applies nothing, and checks no path: `checkPath` does.
 */
export const wantedPaths = ({ format, answer, files, options }: ApplyAnswerInput): readonly string[] => {
  if (sizeFault(format, answer) !== null) return [];
  const found = findMarker(format, answer, options.nonce);
  const asked = new AskedFiles(decodeOffered(files));
  const whole = found.marker === 'right' && !found.openFence;
  MODULES[format].read(found.body, { files: asked, options, whole });
  return [...asked.missing];
};
