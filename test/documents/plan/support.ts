/** A plan with every construct, and a plan's files in memory. */
import { readFileSync } from 'node:fs';
import { expect } from '@jest/globals';
import { treeOf as treeOfChange, type Change } from '../../../src/documents/plan/change.js';
import { collapsePhase } from '../../../src/documents/plan/collapse.js';
import { expandPhase } from '../../../src/documents/plan/expand.js';
import { mainFile, type PlanPlace } from '../../../src/documents/plan/plan-paths.js';
import { readTree, type PlanTree } from '../../../src/documents/plan/plan-tree.js';
import { DEFAULT_THRESHOLDS } from '../../../src/documents/plan/thresholds.js';

export const EVERYTHING = `# Feature Implementation Plan

## Metadata
- **Date**: 2026-01-02
- **Expanded Phases**: 0
- **Estimated Time**: 6-8 hours

## Overview

See [the report](../reports/first.md) and [ref][notes].

[notes]: notes.md

## Implementation Phases

### Phase 1: Foundation [COMPLETED]
**Objective**: Lay the ground
for everything.
**Dependencies**: []
**Estimated Time**: 2 hours

- [x] Task 1 in \`src/a.ts\`
* [X] Task 2
  + [ ] a nested one
    1. [ ] deeper

\`\`\`markdown
### Phase 9: Not a phase
- [ ] not a task
**Dependencies**: [77]
\`\`\`

### Phase 2: Core Logic (API) [INCOMPLETE]
**Objective**: Database schema, see [the list](lists/all.md#x) and ![p](./pic.png "a (b)").
**Dependencies**: [1]
**Complexity**: High

#### Prerequisites
- Phase 1 complete
- A test database

#### Stage 1: Tables
- [ ] make \`src/db/schema.sql\`
#### Stage 2: Endpoints
**Objective**: The API.
**Dependencies**: []
- [ ] one
- [ ] two
#### Stage 3: Tests
**Dependencies**: [1, 2]
- [ ] three

### Phase 3: Testing
**Dependencies**: Phase 1
- [ ] extensive tests of src/a.ts

<!--
### Phase 8: neither
-->

## Implementation Progress

**Last Completed**: Phase 1

## Revision History

None.
`;

/** The plan that docs/plans.md shows. */
export const DOCUMENTED =
  /^```markdown\n(# Feature.*?)^```$/ms.exec(readFileSync('docs/plans.md', 'utf8'))?.[1] ?? '';

/** `files`: by path, relative to the folder that the plan lies in. */
export const treeOf = (place: PlanPlace, files: ReadonlyMap<string, string>): PlanTree =>
  readTree(
    place,
    (path) => {
      const text = files.get(path);
      return text === undefined
        ? { reason: `expected a file ${path}, but it does not exist` }
        : { text };
    },
    (path) => path,
  );

export const inOneFile = (text: string): PlanTree => {
  const place = { stem: '010_demo', inFolder: false };
  return treeOf(place, new Map([[mainFile(place), text]]));
};

/** The plan after a change that must be possible and leave no fault. */
export const done = (change: Change): PlanTree => {
  if (!change.ok) throw new Error(JSON.stringify(change.faults));
  const tree = treeOfChange(change);
  expect(tree.faults).toEqual([]);
  return tree;
};
export const expand = (tree: PlanTree, phase: number): PlanTree =>
  done(expandPhase(tree, phase, DEFAULT_THRESHOLDS));
export const collapse = (tree: PlanTree, phase: number): PlanTree =>
  done(collapsePhase(tree, phase));
export const filesOf = ({ files }: PlanTree): Record<string, string> => Object.fromEntries(files);
