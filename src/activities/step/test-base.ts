/** The tests on the files before the change. */
import { shownKey, type StepKey } from '../../shared/ids.js';
import type {
  BaseTestRun,
  BaseTests,
  LockedWorkspace,
  RunTestsInput,
  TestSubject,
  WrittenByTests,
} from '../../shared/test-activities.js';
import { putJson } from '../../stores/ports.js';
import { canonicalJson, sha256 } from '../../system/hash.js';
import { hashOfBase } from '../../workspace/base-hash.js';
import type { WriteOutResult } from '../../workspace/layers/index.js';
import type { ActivityScope } from '../frame/activity.js';
import type { ActivityPorts } from '../frame/ports.js';
import { judgedBase } from './judge-tests.js';
import { outsideQuestion } from './outside.js';
import { blockedText, refusedBySandbox } from './sandbox.js';
import {
  testsInPlace,
  testsOnOverlay,
  writesOf,
  type TestPlace,
  type TestRequest,
  type TestsRan,
} from './test-place.js';

type BaseSubject = Extract<TestSubject, { kind: 'base' }>;
interface BaseVerdict {
  readonly tests: BaseTests;
  /** They failed in the sandbox, and only the reviewer may allow a run outside it. */
  readonly mayRunOutside?: true;
  readonly blocked?: string;
  /** Who ran them, and what they wrote as `sandbox.write` allows it; absent: nothing. */
  readonly writes?: { readonly run: StepKey; readonly files: WrittenByTests };
}

/** Tests the base. The result is recorded for all runs on the same base with the same commands. */
export async function testBase(
  ports: ActivityPorts,
  input: RunTestsInput & { readonly on: BaseSubject },
  place: TestPlace,
  scope: ActivityScope,
): Promise<BaseTestRun | LockedWorkspace> {
  const { on, stepKey, commands } = input;
  const { env, sandbox, sandboxFile } = place.config;
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
  const key = hash === null ? null : `baselines/${sha256(canonicalJson(about))}`;
  const verdict = await verdictOf(ports, key, () => judgeWhenFree(ports, input, place, scope));
  if ('holder' in verdict) return verdict;
  const { tests, mayRunOutside, blocked, writes } = verdict;
  return {
    on: 'base',
    outcome: tests.outcome,
    summary: tests.summary,
    base: await putJson(ports.blobs, tests),
    ...(blocked === undefined ? {} : { blocked }),
    // For another run that finds the record nothing was written.
    ...(writes?.run === stepKey ? writes.files : {}),
    // The record is shared by all runs on this base: which runs came earlier is a question of this one.
    ...(mayRunOutside === true
      ? { outside: await outsideQuestion(ports, { ...input, sandboxFile }, tests.output) }
      : {}),
  };
}

/** Returns the first verdict under a key. A run that met a locked workspace has none. */
async function verdictOf(
  { records }: ActivityPorts,
  key: string | null,
  judgeNow: () => Promise<BaseVerdict | LockedWorkspace>,
): Promise<BaseVerdict | LockedWorkspace> {
  const recorded = key === null ? null : await records.get<BaseVerdict>(key);
  if (recorded !== null) return recorded;
  const verdict = await judgeNow();
  if (key === null || 'holder' in verdict) return verdict;
  return (await records.putIfAbsent(key, verdict)).value;
}

/** Without an overlay the tests write the workspace, so no other run may work in it. */
async function judgeWhenFree(
  ports: ActivityPorts,
  input: RunTestsInput & { readonly on: BaseSubject },
  place: TestPlace,
  scope: ActivityScope,
): Promise<BaseVerdict | LockedWorkspace> {
  const { noOverlay } = place;
  if (noOverlay === null) return judge(ports, input, place, scope);
  const { workspace, stepKey } = input;
  const { owner, assertCurrent } = scope;
  const workspaces = ports.workspace;
  const taking = await workspaces.acquireLock(workspace, stepKey, owner, assertCurrent);
  if (taking.outcome === 'busy') {
    const { holder, advice } = taking;
    const more = advice === undefined ? {} : { advice };
    return { outcome: 'busy', holder: shownKey(holder.stepKey), noOverlay, ...more };
  }
  try {
    return await judge(ports, input, place, scope);
  } finally {
    await workspaces.releaseLock(workspace, stepKey, taking.lock.token);
  }
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
  const { timeout_s, stepKey, on } = input;
  const { all, writeOut } = await runBase(ports, input, { place, signal, isOpen: false });
  const tests = judgedBase(all, timeout_s);
  const isFinal = place.box === 'off' || all.some(({ timedOut }) => timedOut);
  const inside = { tests, ...writesBy(stepKey, writeOut) };
  if (tests.outcome === 'pass' || isFinal) return inside;
  if (on.outside !== true) return { ...inside, mayRunOutside: true };
  const open = await runBase(ports, input, { place, signal, isOpen: true });
  const outside = judgedBase(open.all, timeout_s);
  const writes = writesBy(stepKey, together(writeOut, open.writeOut));
  if (outside.outcome !== 'pass') return { tests, ...writes };
  const output = all.map((ran) => ran.output).join('\n');
  const what = 'the tests pass on the untouched files without the sandbox, and fail in it';
  const { workspace } = input;
  const { sandboxFile } = place.config;
  const blocked = blockedText(what, refusedBySandbox(output), { workspace, sandboxFile });
  return { tests: outside, blocked, ...writes };
}

/** Runs the tests of the base once: all of them, so that each failing test is known. */
function runBase(
  ports: ActivityPorts,
  { timeout_s, maxOutput_bytes, stepKey }: RunTestsInput,
  { place, signal, isOpen }: Pick<TestRequest, 'place' | 'signal'> & { readonly isOpen: boolean },
): Promise<TestsRan & { readonly writeOut?: WriteOutResult }> {
  const request = { place, timeout_s, maxOutput_bytes, runsAll: true, isOpen, signal };
  const onOverlay = { run: stepKey, proposal: [], isWarm: !isOpen, look: nothing };
  return place.noOverlay === null
    ? testsOnOverlay(ports, request, onOverlay)
    : testsInPlace(ports, request);
}

const NO_WRITES: WriteOutResult = { written: [], removed: [], refused: [] };

/** Returns what two runs of the tests wrote, each file once. */
const together = (first = NO_WRITES, second = NO_WRITES): WriteOutResult => {
  const known = new Set(first.refused.map(({ path }) => path));
  return {
    written: [...new Set([...first.written, ...second.written])],
    removed: [...new Set([...first.removed, ...second.removed])],
    refused: [...first.refused, ...second.refused.filter(({ path }) => !known.has(path))],
  };
};

function writesBy(run: StepKey, writeOut = NO_WRITES): Pick<BaseVerdict, 'writes'> {
  const files = writesOf(writeOut);
  return Object.keys(files).length === 0 ? {} : { writes: { run, files } };
}

const nothing = (): Promise<null> => Promise.resolve(null);
