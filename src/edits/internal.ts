/** What other folders of Emend use of the engine beside its door, which programs import as `emend/edits`. */
export { joinOperations, operationsOf, splitRegion } from './dialects/structured-edit/regions.js';
export { mergeRanges } from './listing.js';
export { endedByItself } from './apply-answer.js';
export { rebase3 } from './merge.js';
export { lookUp } from './paths.js';
export { lineOrigins } from './text/line-diff.js';
export { indexOf } from './text/lines.js';
export { withoutThinking } from './thinking/index.js';
export { isTestData } from './guards/test-data.js';
export { type Rename, renamesAmong } from './proposal/similarity.js';
