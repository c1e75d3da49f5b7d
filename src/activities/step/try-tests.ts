/**
 * Tests on files that are not applied: on the untouched base, in a prepared worktree or the workspace, and on a proposal, in a worktree.
 * In a sandbox nothing that they write stays.
 */
import { randomUUID } from 'node:crypto';
import { lstat, mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { ProjectConfig } from '../../documents/job/index.js';
import { planOf, trialName } from '../../shared/ids.js';
import { problem } from '../../shared/problems.js';
import type { VerifyInput } from '../../shared/proposal-activities.js';
import type { TryInput } from '../../shared/step-activities.js';
import { getJson, putJson } from '../../stores/ports.js';
import { shellWord } from '../../shared/text.js';
import { orNull } from '../../system/durable.js';
import { canonicalJson, sha256 } from '../../system/hash.js';
import { withScratch } from '../../system/scratch.js';
import { commandTurn, NoTurn } from '../../system/turns.js';
import type { Box } from '../../workspace/commands/index.js';
import { changedPaths } from '../../workspace/files/index.js';
import type { ExpectedFile } from '../../workspace/ports.js';
import type { Proposal, ProposalFile } from '../../workspace/proposal.js';
import type { Activity } from '../frame/activity.js';
import type { ActivityPorts } from '../frame/ports.js';
import { recordOnce } from '../frame/recorded.js';
import { readyWorktree } from '../plan/phases.js';
import { judged, judgedBase, type Ran } from './judge-tests.js';
import { outsideQuestion } from './outside.js';
import { blockedText, boxFor, commandConfig, isNoSandbox, refusedBySandbox } from './sandbox.js';

const DIRTY_FILES = 2_000; // bound: Files that are not as HEAD has them, of a base that is kept or copied,
const DIRTY_BYTES = 64 * 1024 * 1024; // bound: and their bytes together.

interface Place extends Pick<VerifyInput, 'commands' | 'timeout_s' | 'maxOutput_bytes'> {
  readonly dir: string;
  readonly env: readonly string[];
  readonly box: Box | 'off';
  /** Stand over what is there, and nothing that is written in a sandbox stays; absent: the files as they are. */
  readonly over?: readonly ExpectedFile[];
  /** A worktree of ours: without a sandbox what was written there before goes first. */
  readonly isOurs?: boolean;
}
const OVER_WAS = 'git reset -q --hard && git clean -fdq || exit 1';
const TO_OVER =
  'for f; do rm -f -- "$f"; [ ! -e "$BASE_SCRATCH/$f" ] || { mkdir -p "$(dirname "$f")" && cp -- "$BASE_SCRATCH/$f" "$f"; }; done';

/** The commands one after the other: all of them (`all`), or up to the first that fails. `isOpen`: without the sandbox, for its base alone. */
export const runTests = (
  ports: ActivityPorts,
  { dir, over, env, box, commands, timeout_s, maxOutput_bytes, isOurs }: Place,
  {
    signal,
    all,
    isOpen = false,
  }: { readonly signal: AbortSignal; readonly all: boolean; readonly isOpen?: boolean },
) =>
  withScratch('base', async (scratch) => {
    for (const { path, result } of over ?? []) {
      if (result === null) continue;
      await mkdir(dirname(join(scratch, path)), { recursive: true });
      await writeFile(join(scratch, path), await ports.blobs.get(result.ref), {
        mode: result.mode,
      });
    }
    const mark = randomUUID();
    const end = `e=$?; printf '\\n${mark} %s\\n' $e; ${all ? 'r=$((r|e))' : '[ $e = 0 ] || exit $e'}`;
    const lines = [
      TO_OVER,
      'r=0',
      ...commands.map((command) => `sh -c ${shellWord(command)}; ${end}`),
      'exit $r',
    ];
    const script = (box === 'off' && isOurs === true ? [OVER_WAS, ...lines] : lines).join('\n');
    const layer = { run: 'tests', workspace: dir, proposal: [], isWarm: false };
    const ran = await ports.layers.use(layer, ({ overlay }) => {
      const shut = over === undefined ? {} : { overlay, scratch: [scratch], isOpen };
      return ports.commands.run({
        command: ['/bin/sh', '-c', script, 'sh', ...(over ?? []).map(({ path }) => `./${path}`)],
        cwd: dir,
        env,
        more: { BASE_SCRATCH: scratch },
        timeout_s,
        maxOutput_bytes,
        signal,
        sandbox: box === 'off' ? box : { ...box, ...shut },
      });
    });
    // Cancelled, or the worker stops: tests that were cut short have not failed. The wrapper says which of the two it was.
    if (ran.aborted) throw new Error('the tests were stopped');
    const parts = ran.output.split(new RegExp(`\\n${mark} (\\d+)\\n`));
    const each = commands.slice(0, (parts.length - 1) / 2).map((command, at): Ran => {
      const exit = Number(parts[2 * at + 1]);
      return { ...ran, command, output: parts[2 * at] ?? '', exit, timedOut: false };
    });
    const rest = parts.filter((_, at) => at % 2 === 0).slice(each.length);
    const next = commands[each.length];
    // Killed, mostly for its time: in the command that had not ended.
    if (ran.exit === null && rest.length === 1 && next !== undefined)
      return {
        all: [...each, { ...ran, command: next, output: rest.join('') }],
        seconds: ran.seconds,
      };
    // What was cut, or says of itself how it ended, is the output of all of them together.
    const isWhole = rest.length === 1 && (ran.exit !== 0 || next === undefined);
    const isTold = isWhole && each.some(({ exit }) => exit !== 0) === (ran.exit !== 0);
    const output = [...each.map((one) => one.output), ...rest].join('\n');
    return {
      all: isTold ? each : [{ ...ran, command: commands.join(' && '), output }],
      seconds: ran.seconds,
    };
  });

/**
 * Tests the base. Tests that fail in the sandbox may fail because of it, but only a person may allow one run outside: a model may have
 * written parts of the base, or of the files that git ignores.
 */
async function testBase(ports: ActivityPorts, place: Place, input: TryInput, signal: AbortSignal) {
  const inside = (await runTests(ports, place, { signal, all: true })).all;
  const tests = judgedBase(inside, place.timeout_s);
  const isOver = place.box === 'off' || inside.some(({ timedOut }) => timedOut);
  if (tests.outcome === 'pass' || isOver) return { tests };
  const output = inside.map((ran) => ran.output).join('\n');
  if (input.outside !== true) return { tests, mayRunOutside: true };
  const open = judgedBase(
    (await runTests(ports, place, { signal, all: true, isOpen: true })).all,
    place.timeout_s,
  );
  if (open.outcome !== 'pass') return { tests };
  const what = 'the tests pass on the untouched files without the sandbox, and fail in it';
  return { tests: open, blocked: blockedText(what, refusedBySandbox(output), input.workspace) };
}

/** HEAD, what is not as HEAD has it, and a name for both with the commands. Null: no commit, or what is not committed is too much, or no file. */
export async function treeOf(
  ports: ActivityPorts,
  { workspace, commands, jobPath = '' }: Pick<VerifyInput, 'workspace' | 'commands' | 'jobPath'>,
  { env, sandbox }: Pick<ProjectConfig, 'env' | 'sandbox'>,
  files: readonly ProposalFile[],
) {
  const head = (await ports.repository.head(workspace))?.head ?? null;
  if (head === null) return null;
  const root = await ports.workspace.root(workspace);
  const own = new Set([jobPath, ...files.map(({ path }) => path)]);
  const paths = (await changedPaths(root, 'all'))
    .filter((path) => !own.has(path))
    .slice(0, DIRTY_FILES + 1);
  let size = 0;
  for (const path of paths)
    size += (await orNull(lstat(join(root, path)), ['ENOENT', 'ENOTDIR']))?.size ?? 0;
  if (paths.length > DIRTY_FILES || size > DIRTY_BYTES) return null;
  const absent = paths.map((path): ExpectedFile => ({ path, result: null }));
  const there = new Map(
    (await ports.workspace.differing(workspace, absent)).map(({ path, now }) => [path, now]),
  );
  if ([...there.values()].includes(null)) return null;
  const dirty = paths.map((path): ExpectedFile => ({ path, result: there.get(path) ?? null }));
  const about = { root, head, dirty, files, commands, env, sandbox };
  return {
    head,
    dirty,
    name: (more: object): string => sha256(canonicalJson({ ...about, ...more })),
  };
}

const NO_TREE = 'there is no commit to create a worktree from, or too much is uncommitted';

export const tryTests: Activity<'tryTests'> = async (ports, input, scope) => {
  const { workspace, stepKey, proposal, again, known = false, outside = false } = input;
  const { signal, assertCurrent } = scope;
  const dir = await ports.workspace.root(workspace);
  const config = await commandConfig(ports, input, []);
  const box = await boxFor(ports, config.sandbox, dir);
  if (isNoSandbox(box)) return { outcome: 'untried', why: `there is no sandbox: ${box.why}` };
  const at = { ...input, env: config.env, box, dir, over: [] };
  const files =
    proposal === undefined
      ? []
      : (await getJson<Proposal>(ports.blobs, proposal, 'proposal')).files;
  const tree = await treeOf(ports, input, config, files);
  const inTurn = <T>(work: () => Promise<T>): Promise<T> =>
    commandTurn(
      { wait_ms: ports.timings.commandTurn_ms, work_ms: 2 * input.timeout_s * 1000, signal },
      work,
    );
  /** A text: why there is no such worktree. */
  const apart = async ({ head, dirty }: NonNullable<typeof tree>): Promise<Place | string> => {
    const [plan, name] = [planOf(stepKey), trialName(stepKey)];
    const wanted = { ...input, stepKey: plan, name, base: head, again: false };
    let ready = await readyWorktree(ports, wanted, config, scope);
    if (ready.outcome === 'ready' && ready.base !== head) {
      await ports.repository.worktrees.remove(plan, name);
      ready = await readyWorktree(ports, wanted, config, scope);
    }
    if (ready.outcome === 'failed') return ready.why;
    const inside = box === 'off' ? box : { ...box, workspace: ready.workspace };
    return { ...at, dir: ready.workspace, over: [...dirty, ...files], box: inside, isOurs: true };
  };

  if (proposal !== undefined) {
    if (tree === null) return { outcome: 'untried', why: NO_TREE };
    const place = await apart(tree);
    if (typeof place === 'string') return { outcome: 'untried', why: place };
    const result = await recordOnce(
      ports.records,
      `steps/${stepKey}/trial-${tree.name({ known })}`,
      async () => {
        const ran = await inTurn(() => runTests(ports, place, { signal, all: known }));
        return judged(ports, input, ran, { files, signal });
      },
    );
    return { outcome: 'tested', result };
  }
  const compute = async () => {
    const place = config.worktree?.setup === undefined || tree === null ? '' : await apart(tree);
    if (typeof place !== 'string')
      return { ...(await inTurn(() => testBase(ports, place, input, signal))), prepared: true };
    const held = await ports.workspace.acquireLock(workspace, stepKey, scope.owner, assertCurrent);
    if (held.outcome === 'busy') throw new NoTurn(problem('busy', `${workspace} is locked`), held);
    try {
      // What is written meanwhile, by tests without a sandbox or by a person, stays: the apply finds it, and says so.
      return { ...(await inTurn(() => testBase(ports, at, input, signal))), prepared: false };
    } finally {
      await ports.workspace.releaseLock(workspace, stepKey, held.lock.token);
    }
  };
  const asked = again === 0 ? null : [stepKey, again];
  const { tests, mayRunOutside, ...how } =
    tree === null
      ? await compute()
      : await recordOnce(
          ports.records,
          `baselines/${tree.name({ outside, asked })}`,
          compute,
          'later',
        );
  return {
    outcome: tests.outcome,
    summary: tests.summary,
    ...how,
    // The record is shared by all runs on this base: which runs came earlier is a question of this one.
    ...(mayRunOutside === true
      ? { outside: await outsideQuestion(ports, input, tests.output) }
      : {}),
    base: await putJson(ports.blobs, tests),
  };
};
