/**
 * A stage's file as people write it who know nothing of Emend: no body line, fields in a list, headings of every level, and
 * here-documents with fences of their own, so that a code block ends where Markdown ends it and not where its author meant.
 */
import { expect, test } from '@jest/globals';
import { collapsePhase, collapseStage } from '../../../src/documents/plan/collapse.js';
import { expandPhase, expandStage } from '../../../src/documents/plan/expand.js';
import { reportOf } from '../../../src/documents/plan/plan-report.js';
import { DEFAULT_THRESHOLDS, resolveThresholds } from '../../../src/documents/plan/thresholds.js';
import type { PlanTree } from '../../../src/documents/plan/plan-tree.js';
import { done, inOneFile, treeOf } from './support.js';

const STAGE_FILE = `# Stage 3: Merge the Loaders

## Metadata
- **Stage Number**: 3
- **Parent Phase**: phase_2_tidy
- **Phase Number**: 2
- **Objective**: One loader in place of two
- **Complexity**: High
- **Status**: PENDING
- **Estimated Time**: 2-3 hours

## Overview

Two loaders, one of which copies the other.

## Detailed Tasks

### Task 1: Write the Guide (40 lines)

**Objective**: Say how a loader is written.

**Implementation Steps**:

1. **Write it**:
\`\`\`bash
cat > guide.md << 'END'
# Guide

## Phases

### Phase 1: Read

\`\`\`yaml
# Settings
limit: 3
\`\`\`

### Reading
END
\`\`\`

2. **Look at it**:
\`\`\`bash
# Is it there?
test -f guide.md
\`\`\`

## Success Criteria

- [ ] The guide is there
- [x] Both loaders were read
- [ ] One loader is gone

---
**Part of**: [phase 2](phase_2_overview.md)
`;
const MAIN = `# Tidy

### Phase 1: Look
- [ ] Look

### Phase 2: Tidy [EXPANDED]
**See**: [phase 2](phase_2_tidy/phase_2_overview.md)
`;
const OVERVIEW = `# Phase 2: Tidy
<!-- emend:body -->
#### Stage 1: Names
- [ ] Name
#### Stage 3: Merge the Loaders [EXPANDED]
**See**: [stage 3](stage_3_merge_the_loaders.md)
`;
const planWith = (stageFile: string): PlanTree =>
  treeOf(
    { stem: '025_tidy', inFolder: true },
    new Map([
      ['025_tidy/025_tidy.md', MAIN],
      ['025_tidy/phase_2_tidy/phase_2_overview.md', OVERVIEW],
      ['025_tidy/phase_2_tidy/stage_3_merge_the_loaders.md', stageFile],
    ]),
  );
const check = (of: PlanTree) => reportOf(of, resolveThresholds([]), (path) => path);
const partsOf = (of: PlanTree) =>
  check(of).phases.map(({ number, name, stages }) => [
    number,
    name,
    stages.map((stage) => [stage.number, stage.name]),
  ]);
const PARTS = [
  [1, 'Look', []],
  [
    2,
    'Tidy',
    [
      [1, 'Names'],
      [3, 'Merge the Loaders'],
    ],
  ],
];

test('alone it is no plan, which is told with file and line, and with what was expected', () => {
  expect(check(inOneFile(STAGE_FILE)).faults).toEqual([
    { file: '010_demo.md', line: 1, message: 'expected a heading `### Phase N: Name`, found none' },
  ]);
});

test('beside its phase it has no fault, its tasks count, and none of its headings is a phase or stage', () => {
  const tree = planWith(STAGE_FILE);
  expect(check(tree).faults).toEqual([]);
  expect(partsOf(tree)).toEqual(PARTS);
  expect(check(tree).phases[1]?.tasks.map(({ text, done: ticked }) => [text, ticked])).toEqual([
    ['Name', false],
    ['The guide is there', false],
    ['Both loaders were read', true],
    ['One loader is gone', false],
  ]);
});

test('collapsed into its phase and into the plan, and expanded again: the same phases and stages, each line of its text', () => {
  const flat = done(collapsePhase(done(collapseStage(planWith(STAGE_FILE), 2, 3)), 2));
  expect([...flat.files.keys()]).toEqual(['025_tidy.md']);
  expect(partsOf(flat)).toEqual(PARTS);
  const again = done(expandStage(done(expandPhase(flat, 2, DEFAULT_THRESHOLDS)), 2, 3));
  expect(partsOf(again)).toEqual(PARTS);
  const file = again.files.get('025_tidy/phase_2_tidy/stage_3_merge_the_loaders.md') ?? '';
  const lines = (text: string): string[] =>
    text.split('\n').map((line) => line.replace(/^#+ /, ''));
  expect(lines(file)).toEqual(expect.arrayContaining(lines(STAGE_FILE)));
});

test('a heading that the early end of its code makes a phase of the plan: collapsing is refused with its line', () => {
  const tree = planWith(STAGE_FILE.replace('### Reading', '### Phase 2: Read again'));
  expect(check(tree).faults).toEqual([]);
  expect(partsOf(tree)).toEqual(PARTS);
  const stage = done(collapseStage(tree, 2, 3));
  expect(collapsePhase(stage, 2)).toMatchObject({
    ok: false,
    faults: [
      {
        line: 46,
        message:
          "expected ###, the level of this plan's first phase, received ###### before Phase 2",
      },
    ],
  });
});
