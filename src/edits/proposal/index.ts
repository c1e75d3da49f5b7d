/** The door of src/edits/proposal: what others may use. */
export { type ChangeNeed, neededName } from './needs.js';
export { type DiffHunk, type DiffSection, readDiff } from './read-diff.js';
export { readName } from '../dialects/unified-diff/names.js';
