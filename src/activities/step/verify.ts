/** Runs a person's commands on the applied files. No test found or run is `no_tests`, never `pass`. */
import type { FoundTests, TestPlan } from '../../shared/plan.js';
import { discoverTests, type DiscoveredTests } from '../../workspace/commands/index.js';
import { canonicalJson, sha256 } from '../../system/hash.js';
import type { ActivityPorts } from '../frame/ports.js';
import type {
  StagedByHook,
  VerifyInput,
  VerifyOutcome,
  VerifyResult,
} from '../../shared/proposal-activities.js';
import { putJson } from '../../stores/ports.js';
import { changedPaths } from '../../workspace/files/index.js';
import type { ExpectedFile, Found } from '../../workspace/ports.js';
import { appliedFiles } from './commit.js';
import { commandTurn } from '../../system/turns.js';
import type { Activity, ActivityScope } from '../frame/activity.js';
import { isPassed, judged } from './judge-tests.js';
import { boxFor, commandConfig, isNoSandbox } from './sandbox.js';
import { runTests, treeOf } from './try-tests.js';

// Which commands verify a step. Found commands are asked for once, and again when what defines them changes.

/** Found commands, and whether they may run: a person confirmed these, or `trusts` and they stand in `paths` of the base commit by a person's commit. */
export async function foundTests(
  { records, repository }: Pick<ActivityPorts, 'records' | 'repository'>,
  workspace: string,
  { commands, source, definedBy, read }: DiscoveredTests,
  { trusts, paths }: { readonly trusts: boolean; readonly paths: readonly string[] },
): Promise<FoundTests> {
  const key = `test-commands/${sha256(canonicalJson({ workspace, commands, definedBy }))}`;
  let confirmed = (await records.get(key)) !== null;
  if (!confirmed && trusts && read !== undefined) {
    const committed = await Promise.all(paths.map((path) => repository.committed(workspace, path)));
    const stands = new Set(committed.flatMap((text) => (text === null ? [] : read(text))));
    const words = commands.map((command) => repository.isPersons(workspace, command, paths));
    confirmed =
      commands.every((command) => stands.has(command)) && (await Promise.all(words)).every(Boolean);
  }
  return { commands, source, key, confirmed };
}

export async function testPlan(
  ports: Pick<ActivityPorts, 'records' | 'repository' | 'workspace'>,
  workspace: string,
  wanted: readonly string[] | 'auto',
  trusts = false,
): Promise<TestPlan> {
  if (wanted !== 'auto') return { commands: wanted, found: null };
  const found = await discoverTests(await ports.workspace.root(workspace));
  if (found === null) return { commands: [], found: null };
  const paths = found.definedBy.map(({ path }) => path);
  return testPlanOf(await foundTests(ports, workspace, found, { trusts, paths }));
}
export const testPlanOf = (from: FoundTests): TestPlan =>
  from.confirmed
    ? { commands: from.commands, found: null, from }
    : { commands: [], found: from.commands.join(' && '), from };

export const verify: Activity<'verify'> = async (ports, input, scope) => {
  await remember(ports, input.stepKey, input.remember ?? []);
  const passed = async (result: Omit<VerifyResult, 'v'>): Promise<VerifyResult> => {
    scope.assertCurrent();
    if (input.releaseOnPass)
      await ports.workspace.releaseLock(input.workspace, input.stepKey, input.token);
    return { ...result };
  };
  const nothing = { kind: null, transient: false, signature: null, output: null, suggestions: [] };
  if (input.commands.length === 0)
    return passed({
      ...nothing,
      outcome: 'no_tests',
      summary: 'no tests are configured',
      seconds: 0,
    });

  const cwd = await ports.workspace.root(input.workspace);
  const expected = (await appliedFiles(ports, { ...input, applications: input.applications ?? [] }))
    .files;
  const { known: isKnown = false } = input;
  const { sandbox, env, worktree } = await commandConfig(ports, input, expected);
  // Nobody has made a checkout ready to be tested.
  const setUp =
    input.repository === undefined || worktree?.setup === undefined ? [] : [worktree.setup];
  const box = await boxFor(ports, sandbox, cwd);
  if (isNoSandbox(box)) return box;
  const tested = async (): Promise<VerifyOutcome> => {
    const others = await changedPaths(cwd);
    const commands = [...setUp, ...input.commands];
    const all = await runTests(
      ports,
      { ...input, commands, dir: cwd, env, box },
      { signal: scope.signal, all: isKnown },
    );
    const ran = await judged(ports, input, all, { files: expected, signal: scope.signal });
    const found = await ports.workspace.differing(input.workspace, expected);
    const kept = await putBack(ports, input, { found, key }, scope);
    if (found.length > 0 && isPassed(ran)) {
      const gone = found.flatMap(({ path, now }) => (now === null ? [path] : []));
      const files = found.flatMap(({ path, now, result }) =>
        now === null ? [] : [{ path, ...now, disk: result }],
      );
      const staged =
        files.length === 0
          ? {}
          : { staged: await putJson(ports.blobs, { files } satisfies StagedByHook) };
      return { outcome: 'changed_files', by: 'tests', files: [...kept, ...gone], ...staged };
    }
    const known = new Set([...others, ...expected.map(({ path }) => path)]);
    const more = (await changedPaths(cwd))
      .filter((path) => !known.has(path))
      .slice(0, ALSO_CHANGED);
    const alsoChanged = [...kept, ...more];
    return alsoChanged.length === 0 ? ran : { ...ran, alsoChanged };
  };
  const turn = {
    wait_ms: ports.timings.commandTurn_ms,
    work_ms: input.timeout_s * 1000,
    signal: scope.signal,
  };
  const about = canonicalJson({ applications: input.applications ?? [], commands: input.commands });
  const key = `steps/${input.stepKey}/tests-${input.run ?? 0}-${sha256(about).slice(0, KEY_DIGITS)}`;
  return commandTurn(turn, async () => {
    let outcome = await untested(ports, input, { expected, key }, scope);
    // What they said of these very bytes on this very base before a person approved them; where time may help they run again.
    const tree =
      input.tried === true ? await treeOf(ports, input, { env, sandbox }, expected) : null;
    const before =
      tree &&
      (await ports.records.get(`steps/${input.stepKey}/trial-${tree.name({ known: isKnown })}`));
    if (before !== null && !(before as VerifyResult).transient) outcome ??= before as VerifyResult;
    if (outcome === null) {
      outcome = await tested();
      if (expected.length > 0) await ports.records.putIfAbsent(`${key}-ended`, outcome, 'later');
    }
    return isPassed(outcome) ? passed(outcome) : outcome;
  });
};

const ALSO_CHANGED = 20; // bound: Of the other files that tests changed so many are told.

const KEY_DIGITS = 16; // bound: Of a hash, in the name of what one run of tests left.

/**
 * Before the tests: the files are what was applied, or the step must not go on. What was written before the worker was killed over these
 * tests goes back. Tests that ended are not run again on other files: a replay after a reset gets what they said, and the files stay.
 */
async function untested(
  ports: ActivityPorts,
  input: VerifyInput,
  { expected, key }: { readonly expected: readonly ExpectedFile[]; readonly key: string },
  scope: ActivityScope,
): Promise<VerifyOutcome | null> {
  const found = await ports.workspace.differing(input.workspace, expected);
  if (found.length > 0) {
    const ended = await ports.records.get(`${key}-ended`);
    if (ended !== null) return ended as VerifyOutcome;
    if ((await ports.records.get(`${key}-begun`)) === null)
      return { outcome: 'changed_files', by: 'others', files: found.map(({ path }) => path) };
  }
  if (expected.length > 0)
    await ports.records.putIfAbsent(`${key}-begun`, { files: expected.length });
  await putBack(ports, input, { found, key }, scope);
  return null;
}

/**
 * What was applied, over what tests wrote. Nothing tells that from what a person saved meanwhile, so all of it is recorded first. Gives
 * the files of this and of every earlier time in the same run of the tests, each with the name of its bytes: the outcome tells them.
 */
async function putBack(
  { records, workspace }: ActivityPorts,
  input: VerifyInput,
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
  return [
    ...new Set(
      files.flatMap(({ path, now }) => (now === null ? [] : [`${path} (kept as ${now.ref})`])),
    ),
  ];
}

/** A person confirmed commands that were found: they are not asked for again while what defined them then stays the same. */
export async function remember(
  { records }: ActivityPorts,
  stepKey: string,
  keys: readonly string[],
): Promise<void> {
  for (const key of keys) await records.putIfAbsent(key, { stepKey });
}
