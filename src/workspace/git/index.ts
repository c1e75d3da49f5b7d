/** The door of src/workspace/git: what others may use. */
export { type UndoneNotes, dropUndone, undoneNotes } from './commit-branch.js';
export { git, gitLine, repositoryOf, valueOf } from './git.js';
export { createWorktreeKeeper } from './worktrees.js';
