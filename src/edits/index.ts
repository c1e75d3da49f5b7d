/**
 * The edit engine: base bytes and a model's answer in, result bytes or reasons out. Pure, without I/O; works with no server and no model.
 */
export { changeNeeds, wordsOf } from './change-needs.js';
export type { ChangeNeed } from './change-needs.js';
export { detectFormat, nonceOf } from './detect.js';
export { combinedDiff, countChanged } from './diff.js';
export type { ChangedLines, DiffFile } from './diff.js';
export { guardFindings } from './guards.js';
export type { GuardedFile, GuardOptions } from './guards.js';
export { LISTING_LEGEND, lineCheck, listing } from './listing.js';
export { windowedListing } from './listing-windows.js';
export { neededName } from './need-name.js';
export { applyAnswer } from './outcome.js';
export { renderReasons } from './outcome-words.js';
export { checkPath } from './paths.js';
export { readSealedDiff } from './sealed-diff.js';
export type { DiffChange, DiffHunk, DiffSection } from './sealed-diff.js';
export { changesByPath, numberedChanges, selectChanges } from './select-changes.js';
export { applySplices, composeSplices, invertSplices } from './splices.js';
export { decodeFile, describeFile } from './text.js';
export type { Outline, SymbolPlace, Syntax } from './syntax.js';
export type { FileDescription } from './text.js';
export type * from './types.js';
export { wantedPaths } from './wanted-paths.js';
