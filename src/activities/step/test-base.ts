/** The tests on the files before the change. */
import type { StepKey } from '../../shared/ids.js';
import { problem } from '../../shared/problems.js';
import type {
  BaseTestRun,
  BaseTests,
  RunTestsInput,
  TestSubject,
} from '../../shared/test-activities.js';
import { putJson } from '../../stores/ports.js';
import { canonicalJson, sha256 } from '../../system/hash.js';
import { NoTurn } from '../../system/turns.js';
import { hashOfBase } from '../../workspace/base-hash.js';
import type { ActivityScope } from '../frame/activity.js';
import type { ActivityPorts } from '../frame/ports.js';
import { recordOnce } from '../frame/recorded.js';
import { judgedBase } from './judge-tests.js';
import { outsideQuestion } from './outside.js';
import { blockedText, refusedBySandbox } from './sandbox.js';
import {
  inTestTurn,
  testsInPlace,
  testsOnOverlay,
  type TestPlace,
  type TestsRan,
} from './test-place.js';

type BaseSubject = Extract<TestSubject, { kind: 'base' }>;
interface BaseVerdict {
  readonly tests: BaseTests;
  /** They failed in the sandbox, and only the reviewer may allow a run outside it. */
  readonly mayRunOutside?: true;
  readonly blocked?: string;
}

/** Tests the base. The result is recorded for all runs on the same base with the same commands. */
export async function testBase(
  ports: ActivityPorts,
  input: RunTestsInput & { readonly on: BaseSubject },
  place: TestPlace,
  scope: ActivityScope,
): Promise<BaseTestRun> {
  const { on, stepKey, commands } = input;
  const { env, sandbox, sandboxFile } = place.config;
  const compute = (): Promise<BaseVerdict> =>
    place.noOverlay === null
      ? judge(ports, input, place, scope)
      : whileLocked(ports, input, scope, () => judge(ports, input, place, scope));
  const { jobPath = '' } = input;
  const hash = await hashOfBase(place.root, (path) => path === jobPath);
  // What the reviewer asked for again is that run's own.
  const run = on.again === 0 ? null : [stepKey, on.again];
  const about = {
    root: place.root,
    hash,
    commands,
    env,
    sandbox,
    sandboxFile,
    outside: on.outside === true,
    run,
  };
  const verdict =
    hash === null
      ? await compute()
      : await recordOnce(
          ports.records,
          `baselines/${sha256(canonicalJson(about))}`,
          compute,
          'later',
        );
  const { tests, mayRunOutside, blocked } = verdict;
  return {
    on: 'base',
    outcome: tests.outcome,
    summary: tests.summary,
    base: await putJson(ports.blobs, tests),
    ...(blocked === undefined ? {} : { blocked }),
    // The record is shared by all runs on this base: which runs came earlier is a question of this one.
    ...(mayRunOutside === true
      ? { outside: await outsideQuestion(ports, { ...input, sandboxFile }, tests.output) }
      : {}),
  };
}

/**
 * Runs the tests, in the sandbox first. Tests that fail in it may fail because of it, but only the reviewer may allow a run outside: a model
 * may have written parts of the base, or of the files that git ignores.
 */
async function judge(
  ports: ActivityPorts,
  input: RunTestsInput & { readonly on: BaseSubject },
  place: TestPlace,
  { signal }: ActivityScope,
): Promise<BaseVerdict> {
  const { timeout_s, maxOutput_bytes, stepKey, on } = input;
  const run = (isOpen: boolean): Promise<TestsRan> => {
    const request = { place, timeout_s, maxOutput_bytes, runsAll: true, isOpen, signal };
    return place.noOverlay === null
      ? testsOnOverlay(ports, request, {
          run: stepKey,
          proposal: [],
          isWarm: !isOpen,
          look: nothing,
        })
      : testsInPlace(ports, request);
  };
  return inTestTurn(ports, { timeout_s: 2 * timeout_s, signal }, async () => {
    const inside = (await run(false)).all;
    const tests = judgedBase(inside, timeout_s);
    const isFinal = place.box === 'off' || inside.some(({ timedOut }) => timedOut);
    if (tests.outcome === 'pass' || isFinal) return { tests };
    if (on.outside !== true) return { tests, mayRunOutside: true };
    const outside = judgedBase((await run(true)).all, timeout_s);
    if (outside.outcome !== 'pass') return { tests };
    const output = inside.map((ran) => ran.output).join('\n');
    const what = 'the tests pass on the untouched files without the sandbox, and fail in it';
    return {
      tests: outside,
      blocked: blockedText(what, refusedBySandbox(output), {
        workspace: input.workspace,
        sandboxFile: place.config.sandboxFile,
      }),
    };
  });
}

const nothing = (): Promise<null> => Promise.resolve(null);

/** Without an overlay the tests write the workspace, so no other run may work in it. */
async function whileLocked<T>(
  { workspace: workspaces }: ActivityPorts,
  { workspace, stepKey }: { readonly workspace: string; readonly stepKey: StepKey },
  { owner, assertCurrent }: ActivityScope,
  work: () => Promise<T>,
): Promise<T> {
  const taking = await workspaces.acquireLock(workspace, stepKey, owner, assertCurrent);
  if (taking.outcome === 'busy')
    throw new NoTurn(problem('busy', `${workspace} is locked`), taking);
  try {
    return await work();
  } finally {
    await workspaces.releaseLock(workspace, stepKey, taking.lock.token);
  }
}
