/**
 * The edit engine: base bytes and a model's answer in, result bytes or reasons out. Pure, without I/O; works with no server and no model.
 */
export type * from './types.js';
export { applyAnswer, renderReasons, wantedPaths } from './apply-answer.js';
export type { LineRange as Region } from './listing.js';
export { type GuardedFile, type GuardOptions, guardFindings } from './guards/index.js';
export { EXAMPLE, EXAMPLE_PATH, EXAMPLE_TASK } from './guards/lines.js';
export { LISTING_LEGEND, lineCheck, type LineRange, listing, windowedListing } from './listing.js';
export type { ConflictRegion, LineRegion } from './merge.js';
export { checkPath, type CheckedPath } from './paths.js';
export { type ChangeNeed, changeNeeds, neededName, wordsOf } from './proposal/needs.js';
export {
  type DiffChange,
  type DiffHunk,
  type DiffSection,
  readDiff,
} from './proposal/read-diff.js';
export { changesByPath, numberedChanges, selectChanges } from './proposal/select.js';
export {
  type ChangedLines,
  combinedDiff,
  countChanged,
  type DiffFile,
} from './proposal/write-diff.js';
export { detectFormat, nonceOf, seenIn } from './response.js';
export type {
  DataCheck,
  DataFault,
  DataFile,
  LineSource,
  Outline,
  SymbolKind,
  SymbolPlace,
  Syntax,
  SyntaxFault,
} from './syntax-port.js';
export { decodeFile, describeFile, type FileDescription } from './text/codec.js';
export type { Json } from './text/json.js';
export type { LineIndex, Text } from './text/lines.js';
export { applySplices, invertSplices } from './text/splices.js';
