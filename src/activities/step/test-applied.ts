/**
 * The tests in the workspace after an apply: where commands cannot get an overlay, or run without a sandbox. What they write stays, except
 * in files of the change.
 */
import type { ChangedFiles, NoSandbox, StagedByHook } from '../../shared/proposal-activities.js';
import type { RunTestsInput, TestRun, TestSubject } from '../../shared/test-activities.js';
import { shownKey } from '../../shared/ids.js';
import { putJson } from '../../stores/ports.js';
import { canonicalJson, sha256 } from '../../system/hash.js';
import { changedPaths } from '../../workspace/files/index.js';
import type { ExpectedFile, Found } from '../../workspace/ports.js';
import type { ProposalFile } from '../../workspace/proposal.js';
import type { ActivityScope } from '../frame/activity.js';
import type { ActivityPorts } from '../frame/ports.js';
import { appliedFiles } from './commit.js';
import { isPassed, judged } from './judge-tests.js';
import { testPlace, testsInPlace, type TestPlace } from './test-place.js';

const ALSO_CHANGED = 20; // bound: Other files changed by tests in the workspace that are named.
const KEY_DIGITS = 16; // bound: Digits of a hash in the names of records about one run of tests.

type Input = RunTestsInput & { readonly on: Extract<TestSubject, { kind: 'applied' }> };
type Outcome = TestRun | ChangedFiles;

/** Tests what was applied. The files are what was applied before and after the tests, or the outcome says so. */
export async function testApplied(
  ports: ActivityPorts,
  input: Input,
  scope: ActivityScope,
): Promise<Outcome | NoSandbox> {
  const { on, stepKey, commands } = input;
  const { files } = await appliedFiles(ports, { stepKey, applications: on.applications });
  const place = await testPlace(ports, input, files);
  if ('outcome' in place) return place;
  const about = sha256(canonicalJson({ applications: on.applications, commands }));
  const key = `steps/${stepKey}/tests-${on.run}-${about.slice(0, KEY_DIGITS)}`;
  const before = await beforeTests(ports, input, { files, key }, scope);
  if (before !== null) return before;
  const outcome = await run(ports, input, { place, files, key }, scope);
  if (files.length > 0) await ports.records.putIfAbsent(`${key}-ended`, outcome);
  return outcome;
}

interface Applied {
  readonly files: readonly ProposalFile[];
  /** Prefix of the records about this run of the tests. */
  readonly key: string;
}

async function run(
  ports: ActivityPorts,
  input: Input,
  { place, files, key }: Applied & { readonly place: TestPlace },
  scope: ActivityScope,
): Promise<Outcome> {
  const { timeout_s, maxOutput_bytes, known = false } = input;
  const { signal } = scope;
  const changedBefore = await changedPaths(place.root);
  const request = { place, timeout_s, maxOutput_bytes, runsAll: known, signal };
  const ran = await testsInPlace(ports, request);
  const verdict = await judged(ports, input, ran, { files, signal, box: place.box });
  const found = await ports.workspace.differing(input.workspace, files);
  const kept = await putBack(ports, input, { found, key }, scope);
  if (found.length > 0 && isPassed(verdict)) return changedByTests(ports, found, kept);
  const knownPaths = new Set([...changedBefore, ...files.map(({ path }) => path)]);
  const others = (await changedPaths(place.root)).filter((path) => !knownPaths.has(path));
  const alsoChanged = [...kept, ...others.slice(0, ALSO_CHANGED)];
  return {
    ...verdict,
    on: 'applied',
    baseHash: null,
    ...(alsoChanged.length === 0 ? {} : { alsoChanged }),
  };
}

async function changedByTests(
  { blobs }: ActivityPorts,
  found: Found,
  kept: readonly string[],
): Promise<ChangedFiles> {
  const removed = found.flatMap((file) =>
    file.now === null ? [`${file.path} (removed during the tests, then set to the change)`] : [],
  );
  const files = found.flatMap((file) =>
    file.now === null ? [] : [{ path: file.path, ...file.now, disk: file.result }],
  );
  const staged =
    files.length === 0 ? {} : { staged: await putJson(blobs, { files } satisfies StagedByHook) };
  return { outcome: 'changed_files', by: 'tests', files: [...kept, ...removed], ...staged };
}

/**
 * Returns an outcome without a run of the tests, or null. Before the tests the files are what was applied, or the step must not continue.
 * What tests of a killed worker wrote in them is put back. Tests that ended are not run again on other files: a replay after a reset gets
 * their outcome, and the files stay.
 */
async function beforeTests(
  ports: ActivityPorts,
  input: Input,
  { files, key }: { readonly files: readonly ExpectedFile[]; readonly key: string },
  scope: ActivityScope,
): Promise<Outcome | null> {
  const { records, workspace } = ports;
  const found = await workspace.differing(input.workspace, files);
  if (found.length > 0) {
    const ended = await records.get<Outcome>(`${key}-ended`);
    if (ended !== null) return ended;
    if ((await records.get(`${key}-begun`)) === null)
      return { outcome: 'changed_files', by: 'others', files: found.map(({ path }) => path) };
  }
  if (files.length > 0) await records.putIfAbsent(`${key}-begun`, { files: files.length });
  await putBack(ports, input, { found, key }, scope);
  return null;
}

/**
 * Puts back what was applied, over what tests wrote. It cannot be told from what somebody saved meanwhile, so all of it is recorded first.
 * Returns the files of this and of every earlier time in the same run of the tests, each with what happened to it, for the outcome.
 */
async function putBack(
  { records, workspace }: ActivityPorts,
  input: Input,
  { found, key }: { readonly found: Found; readonly key: string },
  { assertCurrent }: ActivityScope,
): Promise<readonly string[]> {
  if (found.length > 0) {
    const name = sha256(canonicalJson(found)).slice(0, KEY_DIGITS);
    await records.putIfAbsent(`${key}-found/${name}`, { found });
    await workspace.putBack(input.workspace, input.stepKey, found, assertCurrent);
  }
  const names = (await records.names(`${key}-found`)).flatMap(
    (name) => /^([0-9a-f]+)\.json$/.exec(name)?.[1] ?? [],
  );
  const all = await Promise.all(names.map((name) => records.get(`${key}-found/${name}`)));
  const files = all.flatMap((one) => (one as { readonly found: Found } | null)?.found ?? []);
  const kept = files.flatMap((file) =>
    file.now === null
      ? []
      : [
          `${file.path} (written during the tests, then set to the change; what was written is kept: emend show ${shownKey(input.stepKey)} --blob ${file.now.ref})`,
        ],
  );
  return [...new Set(kept)];
}
