/** Runs a person's commands on the applied files. No test found or run is `no_tests`, never `pass`. */
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { FoundTests, TestPlan } from '../../shared/plan.js';
import { discoverTests, classifyFailure, type Box, type DiscoveredTests } from '../../workspace/commands/index.js';
import { canonicalJson, sha256 } from '../../system/hash.js';
import type { ActivityPorts } from '../frame/ports.js';
import type {
  ChangedFiles,
  SandboxBlocks,
  StagedByHook,
  VerifyInput,
  VerifyOutcome,
  VerifyResult,
} from '../../shared/proposal-activities.js';
import { putJson } from '../../stores/ports.js';
import { changedPaths } from '../../workspace/files/index.js';
import type { ExpectedFile } from '../../workspace/ports.js';
import type { ProposalFile } from '../../workspace/proposal.js';
import { appliedFiles } from './commit.js';
import { shellWord } from '../../system/environment.js';
import { withScratch } from '../../system/scratch.js';
import { commandTurn } from '../../system/turns.js';
import type { ActivityScope } from '../frame/activity.js';
import { recordOnce } from '../frame/recorded.js';
import { diffsOf } from './prompt-inputs.js';
import { putRefusal } from './refusals.js';
import { blockedText, boxFor, commandConfig, isNoSandbox, refusedBySandbox } from './sandbox.js';

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
    confirmed = commands.every((command) => stands.has(command)) && (await Promise.all(words)).every(Boolean);
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

/** Runners that exit 0 without having run anything say so. */
const RAN_NOTHING = [/^No tests found/m, /no test files\]/, /collected 0 items/, /\b0 tests?,? 0 passed/i];

/** A runner's own count or a compiler's line; npm's notices about itself (`npm warn …`) say nothing about the change. */
const WARNED = /^(?!npm ).*(\bwarning: |\b[1-9]\d* warnings?\b)/im;

export const verify =
  (ports: ActivityPorts) =>
  async (input: VerifyInput, scope: ActivityScope): Promise<VerifyOutcome> => {
    await remember(ports, input.stepKey, input.remember ?? []);
    const passed = async (result: Omit<VerifyResult, 'v'>): Promise<VerifyResult> => {
      scope.assertCurrent();
      if (input.releaseOnPass) await ports.workspace.releaseLock(input.workspace, input.stepKey, input.token);
      return { ...result };
    };
    const nothing = { kind: null, transient: false, signature: null, output: null, suggestions: [] };
    if (input.commands.length === 0)
      return passed({ ...nothing, outcome: 'no_tests', summary: 'no tests were named', seconds: 0 });

    const cwd = await ports.workspace.root(input.workspace);
    const expected = (await appliedFiles(ports, { ...input, applications: input.applications ?? [] })).files;
    const { sandbox, env } = await commandConfig(ports, input, expected);
    const box = await boxFor(ports, sandbox, cwd);
    if (isNoSandbox(box)) return box;
    const runAll = async (): Promise<VerifyResult> => {
      let output = '';
      let seconds = 0;
      for (const command of input.commands) {
        const ran = await ports.commands.run({
          command,
          cwd,
          env,
          sandbox: box,
          // The limit is that of all the commands.
          timeout_s: Math.max(0, input.timeout_s - seconds),
          maxOutput_bytes: input.maxOutput_bytes,
          signal: scope.signal,
        });
        // Cancelled, or the worker stops: tests that were cut short have not failed. The wrapper says which of the two it was.
        if (ran.aborted) throw new Error('the tests were stopped');
        seconds += ran.seconds;
        output += `$ ${command}\n${ran.output}\n`;
        if (ran.exit === 0) continue;
        const failure = classifyFailure(ran.output, { exit: ran.exit, signal: ran.signal, timedOut: ran.timedOut });
        const how = ran.timedOut
          ? `timed out after ${input.timeout_s} s`
          : `exit ${ran.exit ?? ran.signal ?? 'unknown'}`;
        const summary = `${command}: ${how}; ${failure.kind}: ${failure.lines.slice(0, 3).join(' | ')}`.slice(0, 500);
        return {
          outcome: failure.kind === 'test_failure' || failure.transient ? 'fail_soft' : 'fail_hard',
          kind: failure.kind,
          transient: failure.transient,
          signature: failure.signature,
          summary,
          suggestions: failure.suggestions,
          output: await putRefusal(ports.blobs, {
            kind: 'tests',
            output,
            summary,
            suggestions: failure.suggestions,
            diffs: await diffsOf(ports, expected, scope.signal),
          }),
          seconds,
        };
      }
      const kept = await ports.blobs.put(new TextEncoder().encode(output));
      const idle = RAN_NOTHING.some((pattern) => pattern.test(output));
      const words = input.commands.join(' && ');
      return {
        ...nothing,
        outcome: idle ? 'no_tests' : WARNED.test(output) ? 'pass_with_warnings' : 'pass',
        summary: idle ? `${words}: ran no test` : `${words}: passed`,
        output: kept,
        seconds,
      };
    };
    const tested = async (): Promise<VerifyOutcome> => {
      const others = await changedPaths(cwd);
      const ran = await runAll();
      const staged = await takeBack(ports, input, expected, scope);
      if (staged !== null && isPassed(ran)) return staged;
      // What took all its time says nothing of the sandbox, and would take all of it again.
      const mayTell = box !== 'off' && input.modelBase !== true && expected.length > 0 && ran.seconds < input.timeout_s;
      const blocked =
        isPassed(ran) || !mayTell ? null : await failsOnlyInside(ports, input, { box, env, expected }, scope);
      if (blocked !== null) return blocked;
      const known = new Set([...others, ...expected.map(({ path }) => path)]);
      const alsoChanged = (await changedPaths(cwd)).filter((path) => !known.has(path)).slice(0, ALSO_CHANGED);
      return alsoChanged.length === 0 ? ran : { ...ran, alsoChanged };
    };
    const turn = {
      wait_ms: ports.timings.commandTurn_ms,
      // Where they fail, the base is tried in the sandbox, and without it.
      work_ms: (box === 'off' ? 1 : 3) * input.timeout_s * 1000,
      signal: scope.signal,
    };
    const about = canonicalJson({ applications: input.applications ?? [], commands: input.commands });
    const key = `steps/${input.stepKey}/tests-${input.run ?? 0}-${sha256(about).slice(0, KEY_DIGITS)}`;
    return commandTurn(turn, async () => {
      let outcome = await untested(ports, input, { expected, key }, scope);
      if (outcome === null) {
        outcome = await tested();
        if (expected.length > 0) await ports.records.putIfAbsent(`${key}-ended`, outcome);
      }
      return isPassed(outcome) ? passed(outcome) : outcome;
    });
  };

const ALSO_CHANGED = 20; // bound: Of the other files that tests changed so many are told.

const PASSED = ['pass', 'pass_with_warnings', 'no_tests'] as const;
const isPassed = (outcome: VerifyOutcome): outcome is VerifyResult & { outcome: (typeof PASSED)[number] } =>
  PASSED.some((passed) => passed === outcome.outcome);

const KEY_DIGITS = 16; // bound: Of a hash, in the name of what one run of tests left.

/**
 * Before the tests: the files are what was applied, or the step must not go on. What these tests wrote before the worker was killed over
 * them goes back. Tests that ended are not run again on other files: a replay after a reset gets what they said, and the files stay.
 */
async function untested(
  ports: ActivityPorts,
  { workspace }: VerifyInput,
  { expected, key }: { readonly expected: readonly ExpectedFile[]; readonly key: string },
  { assertCurrent }: ActivityScope,
): Promise<VerifyOutcome | null> {
  const found = await ports.workspace.differing(workspace, expected);
  if (found.length > 0) {
    const ended = await ports.records.get(`${key}-ended`);
    if (ended !== null) return ended as VerifyOutcome;
    if ((await ports.records.get(`${key}-begun`)) === null)
      return { outcome: 'changed_files', by: 'others', files: found.map(({ path }) => path) };
  }
  if (expected.length > 0) await ports.records.putIfAbsent(`${key}-begun`, { files: expected.length });
  await ports.workspace.putBack(workspace, found, assertCurrent);
  return null;
}

/**
 * Tests that fail in the sandbox may fail because of it: the untouched base tells, a person's own bytes, which may run without. Its files
 * stand over those of the workspace for the moment, and what the commands write is dropped. Once for each way the sandbox is configured.
 */
async function failsOnlyInside(
  ports: ActivityPorts,
  { stepKey, workspace, commands, timeout_s, maxOutput_bytes }: VerifyInput,
  tried: { readonly box: Box; readonly env: readonly string[]; readonly expected: readonly ProposalFile[] },
  { signal }: ActivityScope,
): Promise<SandboxBlocks | null> {
  const { box, env, expected } = tried;
  const about = sha256(canonicalJson({ commands, env, settings: box.settings })).slice(0, KEY_DIGITS);
  const { why } = await recordOnce(ports.records, `steps/${stepKey}/base-${about}`, () =>
    withScratch('base', async (scratch) => {
      for (const { path, base } of expected) {
        if (base === null) continue;
        await mkdir(dirname(join(scratch, path)), { recursive: true });
        await writeFile(join(scratch, path), await ports.blobs.get(base.ref), { mode: base.mode });
      }
      const toBase =
        'for f; do rm -f -- "$f"; [ ! -e "$BASE_SCRATCH/$f" ] || { mkdir -p "$(dirname "$f")" && cp -- "$BASE_SCRATCH/$f" "$f"; }; done';
      const all = commands.map((command) => `sh -c ${shellWord(command)}`).join(' && ');
      const run = async (isOpen: boolean) => {
        const ran = await ports.commands.run({
          command: ['/bin/sh', '-c', `${toBase}; ${all}`, 'sh', ...expected.map(({ path }) => `./${path}`)],
          ...{ cwd: box.workspace, env, more: { BASE_SCRATCH: scratch }, timeout_s, maxOutput_bytes, signal },
          sandbox: { ...box, dropsWrites: true, scratch: [scratch], isOpen },
        });
        if (ran.aborted) throw new Error('the tests were stopped');
        return ran;
      };
      const inside = await run(false);
      if (inside.exit === 0 || inside.timedOut || (await run(true)).exit !== 0) return { why: null };
      const what = 'the tests pass on the untouched files without the sandbox, and fail in it';
      return { why: blockedText(what, refusedBySandbox(inside.output), workspace) };
    }),
  );
  return why === null ? null : { outcome: 'sandbox_blocks', why };
}

/** After the tests: what they wrote to these files is kept, and what was applied is put back. Null: they wrote nothing to them. */
async function takeBack(
  ports: ActivityPorts,
  { workspace }: VerifyInput,
  expected: readonly ExpectedFile[],
  { assertCurrent }: ActivityScope,
): Promise<ChangedFiles | null> {
  const found = await ports.workspace.differing(workspace, expected);
  if (found.length === 0) return null;
  await ports.workspace.putBack(workspace, found, assertCurrent);
  const files = found.flatMap(({ path, now, result }) => (now === null ? [] : [{ path, ...now, disk: result }]));
  const staged = files.length === 0 ? {} : { staged: await putJson(ports.blobs, { files } satisfies StagedByHook) };
  return { outcome: 'changed_files', by: 'tests', files: found.map(({ path }) => path), ...staged };
}

/** A person confirmed commands that were found: they are not asked for again while what defined them then stays the same. */
export async function remember({ records }: ActivityPorts, stepKey: string, keys: readonly string[]): Promise<void> {
  for (const key of keys) await records.putIfAbsent(key, { stepKey });
}
