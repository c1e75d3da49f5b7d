/** Which test files `npm test` runs, and which `npm run test:long`. Each file is in one of them at least. */
import { readFileSync, readdirSync } from 'node:fs';
import { sep } from 'node:path';
import { root } from './install.js';

/** Long ones, for `npm run test:long` alone: `npm test` has other proofs of the same promises (the table in README.md). */
export const LONG_ONLY = [
  'test/crash/patch-kill.test.ts',
  'test/crash/plan-kill.test.ts',
  'test/e2e/adversary-workspace.test.ts',
  'test/e2e/advice.test.ts',
  'test/e2e/bad-input.test.ts',
  'test/e2e/baseline.test.ts',
  'test/e2e/bucket.test.ts',
  'test/e2e/cancelled.test.ts',
  'test/e2e/carried.test.ts',
  'test/e2e/crash-more.test.ts',
  'test/e2e/decisions.test.ts',
  'test/e2e/defaults.test.ts',
  'test/e2e/deleting.test.ts',
  'test/e2e/demo-plan.test.ts',
  'test/e2e/demo.test.ts',
  'test/e2e/deploys.test.ts',
  'test/e2e/dev-version.test.ts',
  'test/e2e/disk.test.ts',
  'test/e2e/doc-commands.test.ts',
  'test/e2e/engine.test.ts',
  'test/e2e/evidence.test.ts',
  'test/e2e/exam.test.ts',
  'test/e2e/examples.test.ts',
  'test/e2e/foreign-server.test.ts',
  'test/e2e/formatter.test.ts',
  'test/e2e/from-pr.test.ts',
  'test/e2e/git-programs.test.ts',
  'test/e2e/headless.test.ts',
  'test/e2e/held.test.ts',
  'test/e2e/histories.test.ts',
  'test/e2e/home-others.test.ts',
  'test/e2e/home.test.ts',
  'test/e2e/hook-staged.test.ts',
  'test/e2e/host-gone.test.ts',
  'test/e2e/hosts.test.ts',
  'test/e2e/instructions.test.ts',
  'test/e2e/kills.test.ts',
  'test/e2e/ledger.test.ts',
  'test/e2e/left-behind.test.ts',
  'test/e2e/long-run.test.ts',
  'test/e2e/lost-hosts.test.ts',
  'test/e2e/mcp.test.ts',
  'test/e2e/move.test.ts',
  'test/e2e/new-files.test.ts',
  'test/e2e/outage.test.ts',
  'test/e2e/own-programs.test.ts',
  'test/e2e/page-attacks.test.ts',
  'test/e2e/page-large.test.ts',
  'test/e2e/page-more.test.ts',
  'test/e2e/page-tree.test.ts',
  'test/e2e/page-words.test.ts',
  'test/e2e/page.test.ts',
  'test/e2e/pick.test.ts',
  'test/e2e/plan-decisions.test.ts',
  'test/e2e/plan-left.test.ts',
  'test/e2e/plan-level-1.test.ts',
  'test/e2e/plan-life.test.ts',
  'test/e2e/plan-phases.test.ts',
  'test/e2e/plan-replan.test.ts',
  'test/e2e/plan-repository.test.ts',
  'test/e2e/plan-start.test.ts',
  'test/e2e/plan-waves.test.ts',
  'test/e2e/power-cut.test.ts',
  'test/e2e/readers.test.ts',
  'test/e2e/reasons-commit.test.ts',
  'test/e2e/reasons.test.ts',
  'test/e2e/regions.test.ts',
  'test/e2e/repair.test.ts',
  'test/e2e/resets.test.ts',
  'test/e2e/review.test.ts',
  'test/e2e/roles.test.ts',
  'test/e2e/runaway.test.ts',
  'test/e2e/second-round.test.ts',
  'test/e2e/sentinel.test.ts',
  'test/e2e/services.test.ts',
  'test/e2e/signatures.test.ts',
  'test/e2e/signing.test.ts',
  'test/e2e/sleep.test.ts',
  'test/e2e/stop.test.ts',
  'test/e2e/stops.test.ts',
  'test/e2e/stuck.test.ts',
  'test/e2e/terminal.test.ts',
  'test/e2e/terminated.test.ts',
  'test/e2e/test-output.test.ts',
  'test/e2e/timeouts.test.ts',
  'test/e2e/two-steps.test.ts',
  'test/e2e/unicode.test.ts',
  'test/e2e/usage.test.ts',
  'test/e2e/versions.test.ts',
  'test/e2e/watching.test.ts',
  'test/e2e/web-beside-dev.test.ts',
  'test/temporal/live-workers.test.ts',
  'test/temporal/payloads-server.test.ts',
  'test/workflows/step/size.test.ts',
  'test/workspace/apply-two.test.ts',
  'test/workspace/commands/sandbox-limits.test.ts',
  'test/workspace/late-attempts.test.ts',
  'test/workspace/layers/projects.test.ts',
];

/** What marks a file of which `npm test` runs a part: it draws from a matrix, or leaves tests to the long run. */
const IN_PART = /EMEND_(LONG|SHORT|WHOLE)\b|\blongOnly\b|support\/(seeded|fuzz|store-faults)/;

/** All but those of `npm run test:cluster`, by their path from the root. */
export const testFiles = () =>
  readdirSync(`${root}test`, { recursive: true, encoding: 'utf8' })
    .map((name) => `test/${name.split(sep).join('/')}`)
    .filter((path) => path.endsWith('.test.ts') && !path.startsWith('test/cluster/'))
    .sort();

export const filesOfTest = () => testFiles().filter((path) => !LONG_ONLY.includes(path));

/** What `npm test` runs whole would only be run a second time. */
export const filesOfLong = () =>
  testFiles().filter(
    (path) => LONG_ONLY.includes(path) || IN_PART.test(readFileSync(`${root}${path}`, 'utf8')),
  );
