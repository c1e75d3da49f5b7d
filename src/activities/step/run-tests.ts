/** Runs the tests of a run, whatever they run on: the base, a proposal, what was applied, or a plan's workspace. */
import type { NoSandbox } from '../../shared/proposal-activities.js';
import type { RunTestsInput, RunTestsResult, TestRun } from '../../shared/test-activities.js';
import type { Activity, ActivityScope } from '../frame/activity.js';
import type { ActivityPorts } from '../frame/ports.js';
import { remember } from './found-tests.js';
import { judged } from './judge-tests.js';
import { testApplied } from './test-applied.js';
import { testBase } from './test-base.js';
import {
  testPlace,
  testsInPlace,
  testsOnOverlay,
  writesOf,
  type OverlayRan,
  type TestsRan,
} from './test-place.js';
import { testProposal } from './test-proposal.js';

export const runTests: Activity<'runTests'> = async (ports, input, scope) => {
  await remember(ports, input.stepKey, input.remember ?? []);
  const result = await tested(ports, input, scope);
  scope.assertCurrent();
  return (await ports.layers.keeps(input.stepKey)) ? { ...result, keepsOutputs: true } : result;
};

async function tested(
  ports: ActivityPorts,
  input: RunTestsInput,
  scope: ActivityScope,
): Promise<RunTestsResult> {
  const { on } = input;
  switch (on.kind) {
    case 'base': {
      const place = await testPlace(ports, input, []);
      return 'outcome' in place ? place : testBase(ports, { ...input, on }, place, scope);
    }
    case 'proposal':
      return testProposal(ports, { ...input, on }, scope);
    case 'applied':
      return testApplied(ports, { ...input, on }, scope);
    case 'workspace':
      return testWorkspace(ports, input, scope);
  }
}

/** Tests a directory of a plan as it is. A plan has several, and outputs of one are not shown in another, so none are kept. */
async function testWorkspace(
  ports: ActivityPorts,
  input: RunTestsInput,
  { signal }: ActivityScope,
): Promise<TestRun | NoSandbox> {
  const place = await testPlace(ports, input, []);
  if ('outcome' in place) return place;
  const { timeout_s, maxOutput_bytes, stepKey } = input;
  const request = { place, timeout_s, maxOutput_bytes, runsAll: input.known === true, signal };
  const onOverlay = {
    run: stepKey,
    proposal: [],
    isWarm: false,
    look: () => Promise.resolve(null),
  };
  const ran: TestsRan & Partial<OverlayRan<null>> =
    place.noOverlay === null
      ? await testsOnOverlay(ports, request, onOverlay)
      : await testsInPlace(ports, request);
  return {
    ...(await judged(ports, input, ran, { files: [], signal, box: place.box })),
    on: 'workspace',
    baseHash: null,
    ...(ran.writeOut === undefined ? {} : writesOf(ran.writeOut)),
  };
}

/** Ends the step's lock on the workspace. */
export const releaseWorkspace: Activity<'releaseWorkspace'> = async (
  ports,
  { workspace, stepKey, token },
) => {
  await ports.workspace.releaseLock(workspace, stepKey, token);
  return {};
};

/** Removes what is kept on this host for the commands of the run. */
export const removeLayers: Activity<'removeLayers'> = async ({ layers }, { stepKey }) => {
  await layers.remove(stepKey);
  return {};
};
