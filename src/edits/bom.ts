/**
 * The byte order mark is no part of a file's text, yet diffs and copies carry it: git writes ` \ufefffirst line`. In a file that begins
 * with one, a mark at the start of an answer's line is that one and is taken off.
 */
import type { SettleBase } from './settle-changes.js';
import { indexOf } from './lines.js';

const BOM = '\ufeff';

/** Does the file begin with a mark, and no line with one of its own, so that a quoted mark can mean only that one? */
export const quotesItsBom = ({ codec, text }: SettleBase): boolean =>
  codec.bom.length > 0 && !indexOf(text).begins(BOM);

export const withoutBom = (line: string): string => (line.startsWith(BOM) ? line.slice(1) : line);
