import type { ApplyOptions } from './types.js';

/**
 * Is this file known to be the one that the answer was made for? `options.base` says so (`compose` refuses another). Then a line number
 * may decide between places where the same text stands; otherwise that is the rung `unchecked_lines` (decision 0029).
 */
export const isKnownBase = (path: string, { base }: ApplyOptions): boolean => base?.has(path) ?? false;
