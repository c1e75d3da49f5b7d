/** The door of src/workspace/git: what others may use. */
export { type RevertedNotes, dropReverted, revertedNotes } from './commit-branch.js';
export { fileAtCommit, placeInRepository } from './file-at-commit.js';
export { git, gitLine, repositoryOf, topOf, valueOf, variablesForTool } from './git.js';
export { createWorktreeKeeper } from './worktrees.js';
