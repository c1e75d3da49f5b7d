/**
 * One job whose first answer fails its tests, and whose second one is committed. The tests run before the apply, or without a sandbox after
 * it, so that the first answer is rolled back. Wherever a worker is killed or stopped on the way, the end is the same: one commit, each
 * answer paid for once, nothing of ours left lying about.
 */
import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from '@jest/globals';
import type { ResolvedRun, StepResult } from '../../src/client/index.js';
import { createCallJournal } from '../../src/model/journal/index.js';
import { createAnthropicModel } from '../../src/model/anthropic/client.js';
import { createCallLog } from '../../src/stores/directory/records.js';
import { storePaths } from '../../src/stores/location.js';
import { gitWrapper } from '../support/git-wrapper.js';
import { lockOf } from './ends.js';
import { OWN_STORE } from './homes.js';
import { scene, whole, type Scene, type WorkerProcess } from './support.js';

const FILES = { 'a.js': 'module.exports = 1;\n', 'b.js': 'module.exports = 1;\n' };
const WRONG = 'module.exports = 2;\n';
const RIGHT = 'module.exports = 3;\n';
// At first both files in one call; after the failed tests each is asked for by itself.
const RULES = [
  {
    name: 'wrong',
    match: { contains: '- a.js', times: 1 },
    answer: whole({ 'a.js': WRONG, 'b.js': WRONG }),
  },
  { name: 'a', match: { contains: '- a.js' }, answer: whole({ 'a.js': RIGHT }) },
  { name: 'b', match: { contains: '- b.js' }, answer: whole({ 'b.js': RIGHT }) },
];
const JOB = `---
target_files: [a.js, b.js]
limits: { maxFilesBeforeSplit: 2 }
baseline: off
test: node -e "require('assert').strictEqual(require('./a.js') + require('./b.js'), 6)"
commit: true
approval: auto
---
# Grow

Raise the numbers.
`;

/** Points inside activities, as test/support/fault-points.js reads them. The first ones are always run. */
export const CORE = [
  'proposeEdit:sys:link@answer.json',
  'applyProposal:sys-after:link@verdict-1.json',
  'applyProposal:sys:rename@/b.js',
  'commit:git:update-ref',
];
export const NAMED = [
  ...CORE,
  'applyProposal:sys:link@verdict-1.json',
  'rollBack:sys-after:rename@/a.js',
  'proposeEdit:sys-after:link@answer.json',
  'applyProposal:sys:link@1.json',
  'applyProposal:sys:writeExclusive@-0.tmp',
  'applyProposal:sys:rename@/a.js',
  'applyProposal:sys-after:rename@/a.js',
  'applyProposal:sys-after:link@/b.js',
  'applyProposal:sys:unlinkReading@.backup',
  'applyProposal:sys:link@closed.json',
  'applyProposal:sys-after:link@closed.json',
  'runTests:sys:link@-0.json',
  'runTests:sys-after:link@-0.json',
  'runTests:git:rev-parse',
  'rollBack:git:update-ref',
  'rollBack:git-cut:update-ref',
  'rollBack:sys:link@reverted.json',
  'rollBack:sys:link@verdict-1.json',
  'rollBack:sys-after:link@verdict-1.json',
  'rollBack:sys:rename@/b.js',
  'rollBack:sys-after:link@closed.json',
  'rollBack:sys:link@1.end.json',
  'commit:git:write-tree',
  'commit:git:commit-tree',
  'commit:git-cut:update-ref',
  'commit:git-after:update-ref',
  'commit:sys:link@.end.json',
  'commit:sys-after:link@.end.json',
];

/** A scene whose workers can be hit round git, too. A stopped worker's polls swallow attempts: there are more of them. */
export const faultScene = async (signal: 'SIGKILL' | 'SIGSTOP'): Promise<Scene> => {
  const env: Record<string, string> = {
    ...OWN_STORE,
    CRASH_SIGNAL: signal,
    // Not as short as elsewhere: a busy machine must not look like a stopped process.
    EMEND_HOSTHEARTBEATTIMEOUT_MS: '3000',
    EMEND_COMMANDHEARTBEATTIMEOUT_MS: '3000',
    EMEND_HEARTBEATTIMEOUT_MS: '3000',
    EMEND_HOSTACTIVITYATTEMPTS: '40',
    EMEND_MODELCALLATTEMPTS: '40',
  };
  const s = await scene(FILES, RULES, { env });
  const bin = join(s.home, '..', 'bin');
  mkdirSync(bin);
  // The scene's environment is what its workers get.
  s.env.PATH = `${gitWrapper(bin)}:${process.env.PATH ?? ''}`;
  return s;
};
export const UNBOXED = 'sandbox: off\n';
/** Lines of front matter under which a run gets to the point: only tests after the apply are followed by a rollback. */
export const frontFor = (point: string): string => (point.startsWith('rollBack:') ? UNBOXED : '');
/** `more`: lines of its front matter. */
export const startJob = (s: Scene, more: string): Promise<ResolvedRun> =>
  s.start('job.md', JOB.replace('---\n', `---\n${more}`));

/** Has the execution that was hit ended? A stopped one's does after it was woken. */
export const endedLate = (worker: WorkerProcess): boolean => existsSync(`${worker.mark}-ended`);

/**
 * The commit, the tree, the lock and the calls as they must be. `asleep`: a stopped process lives, so its backups are left to it
 * until it wakes up.
 */
export async function expectOneEnd(
  s: Scene,
  run: ResolvedRun,
  result: StepResult,
  asleep = false,
): Promise<string> {
  for (const path of Object.keys(FILES))
    expect({ path, is: s.read(path) }).toEqual({ path, is: RIGHT });
  expect(s.git('log', '--format=%s').trim().split('\n')).toHaveLength(2);
  const left = s.git('status', '--porcelain', '--ignored').trim().split('\n');
  expect(left.filter((line) => !asleep || !line.endsWith('.backup'))).toEqual(['?? job.md']);
  expect(await lockOf(s)).toBeNull();
  expect(s.git('rev-parse', 'HEAD').trim()).toBe(result.commit);
  await expectPaidOnce(s, run, result);
  return s.git('rev-parse', 'HEAD').trim();
}

/**
 * Each answer is recorded once and none is asked for again once it is there. A call that a heartbeat time-out cut off on the way (a busy
 * machine looks like a dead worker) may be followed by one more, and is told: as unknown where the server had begun to answer.
 */
async function expectPaidOnce(
  s: Scene,
  run: ResolvedRun,
  { outcome, usage }: StepResult,
): Promise<void> {
  const journal = createCallJournal({
    calls: createCallLog({ dir: storePaths(s.store).calls }),
    model: createAnthropicModel({ env: s.env, streamIdle_ms: 1000 }),
    callOwner_ms: 1000,
  });
  const attempts = await journal.attempts(run.stepKey);
  const cutOff = attempts.filter(({ state }) => state !== 'answered');
  const unknown = cutOff.filter(({ state }) => state === 'unknown').length;
  const answered = attempts
    .filter(({ state }) => state === 'answered')
    .map(({ callKey }) => callKey);
  expect({
    answered: answered.length,
    calls: new Set(attempts.map(({ callKey }) => callKey)).size,
  }).toEqual({
    answered: 3,
    calls: 3,
  });
  expect(new Set(answered).size).toBe(3);
  expect(cutOff.filter(({ state }) => state === 'open')).toEqual([]);
  expect({ outcome, calls: usage.calls, unknown: usage.unknownCalls }).toEqual({
    outcome: 'committed',
    calls: 3 + unknown,
    unknown,
  });
  const rules = s.rehearsal.requests().map(({ rule }) => rule);
  expect(rules.length).toBeLessThanOrEqual(attempts.length);
  if (cutOff.length === 0) expect(rules).toEqual(['wrong', 'a', 'b']);
  else
    process.stdout.write(
      `cut off and asked again: ${JSON.stringify(cutOff.map(({ state }) => state))}\n`,
    );
}
