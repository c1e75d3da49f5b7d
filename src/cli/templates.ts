/** What `emend init` and `emend new` write. A test reads each back with our own readers. Pure. */

/** What stands below the heading of a job until somebody writes there. */
export const UNWRITTEN =
  'Say here what should change, as you would to a colleague: what, where, and what must stay as it is.';

export const CONFIG = `# Emend's settings for this project; every key may be left out. All keys: docs/configuration.md of Emend.

# The model that writes edits, where no route and no job names another.
# model: claude-sonnet-5-5

# Run after a change is applied and before it is committed. A job's own \`test:\` wins.
# test: npm test

# Commit what passed its tests.
# commit: true

# Project rules that every prompt gets, beside CLAUDE.md and AGENTS.md.
# rules: [docs/style.md]

# Files that are always shown to a person, beside the ones that Emend protects by itself (CI, hooks, manifests).
# protected: ["infra/**"]

# Limits; reaching one asks a person, and keeps the work so far.
# limits:
#   budget_usd: 2
#   maxFilesBeforeSplit: 1
`;

const front = (files: readonly string[]): string =>
  files.length === 0
    ? '# target_files: [src/a.js]   # without it Emend looks for paths in the text below, else asks the model\n'
    : `target_files: [${files.map((file) => JSON.stringify(file)).join(', ')}]\n`;

/** A job; `test` null: none is known. */
export const job = (title: string, files: readonly string[], test: string | null): string => `---
${front(files)}${test === null ? '# test: npm test\n' : `test: ${JSON.stringify(test)}\n`}commit: true
---

# ${title}

${UNWRITTEN}
`;

export const plan = (title: string): string => `# ${title}

### Phase 1: Prepare

**Objective**: What this phase achieves.

**Dependencies**: []

- [ ] A task, with the files that it touches: \`src/a.js\`

### Phase 2: Build

**Objective**: What this phase achieves.

**Dependencies**: [1]

- [ ] A task
`;
