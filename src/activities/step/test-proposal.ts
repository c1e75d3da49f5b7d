/** The tests on the workspace with a proposal over it, before anything of the proposal is applied. */
import { STORE_BOUNDS } from '../../shared/bounds.js';
import { fail } from '../../shared/problems.js';
import type { ChangedFiles, NoSandbox, StagedByHook } from '../../shared/proposal-activities.js';
import type {
  NoOverlay,
  RunTestsInput,
  TestRun,
  TestSubject,
} from '../../shared/test-activities.js';
import { getJson, putJson } from '../../stores/ports.js';
import { readBeneath, refusalText, type Refusal } from '../../system/beneath.js';
import { canonicalJson, sha256 } from '../../system/hash.js';
import { withoutIgnored } from '../../workspace/files/index.js';
import { hashOfBase } from '../../workspace/base-hash.js';
import { stateInLayer, type Layer } from '../../workspace/layers/index.js';
import { toApply, type Proposal, type ProposalFile } from '../../workspace/proposal.js';
import type { ActivityScope } from '../frame/activity.js';
import type { ActivityPorts } from '../frame/ports.js';
import { appliedFiles } from './commit.js';
import { isPassed, judged } from './judge-tests.js';
import { fileNow } from './proposal.js';
import { testPlace, testsOnOverlay, writesOf, type TestPlace } from './test-place.js';

const PATHS_NAMED = 20; // bound: Other files written by tests that are named, for each kind of them.

type ProposalSubject = Extract<TestSubject, { kind: 'proposal' }>;
type Input = RunTestsInput & { readonly on: ProposalSubject };

/** Tests a proposal. A pass is recorded for its bytes, the commands and the base, and the same bytes are not tested a second time. */
export async function testProposal(
  ports: ActivityPorts,
  input: Input,
  scope: ActivityScope,
): Promise<TestRun | NoSandbox | NoOverlay | ChangedFiles> {
  const { on, stepKey, commands, known } = input;
  const proposal = await getJson<Proposal>(ports.blobs, on.proposal, 'proposal');
  const files = toApply(proposal, on.files).proposal.files.filter(({ path }) =>
    on.files.includes(path),
  );
  const applied = (await appliedFiles(ports, { stepKey, applications: on.applications })).files;
  const all = new Set([...applied, ...files].map(({ path }) => path));
  const place = await testPlace(ports, input, [...applied, ...files]);
  if ('outcome' in place) return place;
  if (place.noOverlay !== null) return { outcome: 'no_overlay', reason: place.noOverlay };
  const baseHash = await baseHashOf(place.root, input, all, place.writes);
  const { env, sandbox } = place.config;
  const about = { files, applied, commands, known, baseHash, env, sandbox, base: input.base };
  const key = `steps/${stepKey}/tests/${sha256(canonicalJson(about))}`;
  const passed = baseHash === null ? null : await ports.records.get<TestRun>(`${key}-passed`);
  if (passed !== null) return passed;
  const ended = await ports.records.get<TestRun | ChangedFiles>(`${key}-${on.run}`);
  if (ended !== null) return ended;
  const outcome = await run(ports, input, { place, files, baseHash }, scope);
  const isBound = baseHash !== null && outcome.outcome !== 'changed_files' && isPassed(outcome);
  await ports.records.putIfAbsent(isBound ? `${key}-passed` : `${key}-${on.run}`, outcome);
  return outcome;
}

/**
 * Returns the hash of the files under the change. It leaves out those of the change, which are compared when it is applied, and `writes`,
 * the paths that the tests themselves may write.
 */
export const baseHashOf = (
  root: string,
  { jobPath = '' }: Pick<RunTestsInput, 'jobPath'>,
  changed: ReadonlySet<string>,
  writes: readonly string[],
): Promise<string | null> =>
  hashOfBase(
    root,
    (path) =>
      path === jobPath ||
      changed.has(path) ||
      writes.some((written) => path === written || path.startsWith(`${written}/`)),
  );

interface Tested {
  readonly place: TestPlace;
  readonly files: readonly ProposalFile[];
  readonly baseHash: string | null;
}

async function run(
  ports: ActivityPorts,
  input: Input,
  { place, files, baseHash }: Tested,
  { signal }: ActivityScope,
): Promise<TestRun | ChangedFiles> {
  const { on, timeout_s, maxOutput_bytes, stepKey } = input;
  const request = { place, timeout_s, maxOutput_bytes, runsAll: input.known === true, signal };
  const ran = await testsOnOverlay(ports, request, {
    run: stepKey,
    proposal: files,
    isWarm: on.isFresh !== true,
    look: (layer) => writtenBy(ports, layer, { place, files }),
  });
  const { own, others } = ran.seen;
  const { written, removed } = ran.writeOut;
  const kept = [...written, ...removed];
  const alsoChanged = others.filter((path) => !kept.includes(path)).slice(0, PATHS_NAMED);
  const verdict = await judged(ports, input, ran, { files, signal, box: place.box });
  if (own.length > 0 && isPassed(verdict)) return changedByTests(ports, place, files, own);
  return {
    ...verdict,
    on: 'proposal',
    baseHash,
    ...(alsoChanged.length === 0 ? {} : { alsoChanged }),
    ...(place.writes.length === 0 ? {} : { writes: place.writes }),
    ...writesOf(ran.writeOut),
  };
}

/** A file of the proposal as the tests left it; `result` null: they removed it. */
type Own = Pick<ProposalFile, 'path' | 'result'>;

/** Reads which files of the proposal the tests changed, and names other files that they wrote and git does not ignore. */
async function writtenBy(
  { blobs }: ActivityPorts,
  layer: Layer,
  { place, files }: Pick<Tested, 'place' | 'files'>,
): Promise<{ readonly own: readonly Own[]; readonly others: readonly string[] }> {
  const paths = new Set(files.flatMap(({ path }) => withParents(path)));
  // The list of all changes is limited.
  const ofFiles = await layer.changes((path) => paths.has(path));
  const removed = new Set(ofFiles.flatMap(({ path, kind }) => (kind === 'removed' ? [path] : [])));
  const own: Own[] = [];
  for (const file of files) {
    const remains = await ownFile(blobs, layer, file, removed);
    if (remains !== null) own.push(remains);
  }
  const proposed = new Set(files.map(({ path }) => path));
  const changes = await layer.changes();
  const others = changes.map(({ path }) => path).filter((path) => !proposed.has(path));
  return { own, others: await withoutIgnored(place.root, others) };
}

/** Returns the path after those of the directories above it. */
function withParents(path: string): readonly string[] {
  const parts = path.split('/');
  return parts.map((_, index) => parts.slice(0, index + 1).join('/'));
}

/** Returns a file of the proposal as the tests left it; null: as it was proposed. */
async function ownFile(
  blobs: ActivityPorts['blobs'],
  { overlay: { upper } }: Layer,
  { path, result }: ProposalFile,
  removed: ReadonlySet<string>,
): Promise<Own | null> {
  const isRemoved = withParents(path).some((above) => removed.has(above));
  const state = isRemoved ? 'removed' : await stateInLayer(upper, path);
  if (state === 'kept') return null;
  if (state === 'removed') return result === null ? null : { path, result: null };
  const remains = await readBeneath(upper, path, STORE_BOUNDS.target_bytes);
  if (!remains.ok) return unreadable(remains);
  const { bytes, mode } = remains.value;
  const ref = await blobs.put(bytes);
  return ref === result?.ref ? null : { path, result: { ref, mode: result?.mode ?? mode } };
}

/** Throws ProblemError `target_too_large` or `target_not_a_file`. */
function unreadable(refusal: Refusal): never {
  const code = refusal.reason === 'too_large' ? 'target_too_large' : 'target_not_a_file';
  return fail(code, `The tests left a file that Emend cannot take: ${refusalText(refusal)}.`);
}

/** The proposal as the tests left it, for the reviewer: what they removed stays as proposed. */
async function changedByTests(
  { blobs }: ActivityPorts,
  { root }: TestPlace,
  files: readonly ProposalFile[],
  own: readonly Own[],
): Promise<ChangedFiles> {
  const changed = new Map(
    own.flatMap(({ path, result }) => (result === null ? [] : [[path, result]])),
  );
  const staged: StagedByHook['files'][number][] = [];
  const removed: string[] = [];
  for (const { path, result } of files) {
    const remains = changed.get(path) ?? result;
    if (remains === null) removed.push(path);
    else staged.push({ path, ...remains, disk: await fileNow(blobs, root, path) });
  }
  return {
    outcome: 'changed_files',
    by: 'tests',
    files: own.map(({ path }) => path),
    staged: await putJson(blobs, { files: staged, removed } satisfies StagedByHook),
  };
}
