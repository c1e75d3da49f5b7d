/**
 * The edit engine: base bytes and a model's answer in, result bytes or reasons out. Pure, without I/O; works with no server and no model.
 */
export { changeNeeds, wordsOf } from './proposal/needs.js';
export type { ChangeNeed } from './proposal/needs.js';
export { detectFormat, nonceOf } from './detect.js';
export { combinedDiff, countChanged } from './proposal/write-diff.js';
export type { ChangedLines, DiffFile } from './proposal/write-diff.js';
export { guardFindings } from './guards/index.js';
export type { GuardedFile, GuardOptions } from './guards/index.js';
export { LISTING_LEGEND, lineCheck, listing } from './listing.js';
export { windowedListing } from './listing.js';
export { neededName } from './proposal/needs.js';
export { applyAnswer } from './apply-answer.js';
export { renderReasons } from './apply-answer.js';
export { checkPath } from './paths.js';
export { readDiff } from './proposal/read-diff.js';
export type { DiffChange, DiffHunk, DiffSection } from './proposal/read-diff.js';
export { changesByPath, numberedChanges, selectChanges } from './proposal/select.js';
export { applySplices, composeSplices, invertSplices } from './text/splices.js';
export { decodeFile, describeFile } from './text/codec.js';
export type { Outline, SymbolPlace, Syntax } from './syntax-port.js';
export type { FileDescription } from './text/codec.js';
export type * from './types.js';
export { wantedPaths } from './apply-answer.js';
export type { Region } from './formats/structured-edit/regions.js';
export { EXAMPLE, EXAMPLE_PATH, EXAMPLE_TASK } from './guards/lines.js';
export type { LineRange } from './listing.js';
export type { ConflictRegion, LineRegion } from './merge.js';
export type { SymbolKind, SyntaxFault } from './syntax-port.js';
export type { Json } from './text/json.js';
export type { LineIndex, Text } from './text/lines.js';
export type {
  AnswerOutcome,
  ApplyAnswerInput,
  Edited,
  OfferedFile,
  Reason,
  StopReason,
  UsedTolerance,
} from './types.js';
