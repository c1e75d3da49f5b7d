/** Where a run's tests run, and how: on an overlay of the workspace, in the workspace, with or without a sandbox. */
import { randomUUID } from 'node:crypto';
import { homedir } from 'node:os';
import { workspaceWrites } from '../../documents/job/index.js';
import type { NoSandbox } from '../../shared/proposal-activities.js';
import type { RunTestsInput, WrittenByTests } from '../../shared/test-activities.js';
import { shellWord } from '../../shared/text.js';
import { realpath } from '../../system/fs.js';
import type { Box, CommandRequest } from '../../workspace/commands/index.js';
import type { Layer, WriteOutResult } from '../../workspace/layers/index.js';
import type { ExpectedFile } from '../../workspace/ports.js';
import type { ActivityPorts } from '../frame/ports.js';
import type { Ran } from './judge-tests.js';
import { boxFor, commandConfig, isNoSandbox, type CommandConfig } from './sandbox.js';

export interface TestPlace {
  /** Real path of the workspace. */
  readonly root: string;
  readonly box: Box | 'off';
  readonly config: Pick<CommandConfig, 'env' | 'sandbox' | 'sandboxFile' | 'protected'>;
  /** Paths of `sandbox.write` in the workspace, relative to it. */
  readonly writes: readonly string[];
  /** Commands of the run: `worktree.setup` comes first in a checkout, which nobody has prepared. */
  readonly commands: readonly string[];
  /** Why commands cannot get an overlay over the workspace; null: they can. */
  readonly noOverlay: string | null;
}

/** Returns where the tests run. `files`: what the change has on disk or proposes. */
export async function testPlace(
  ports: ActivityPorts,
  input: RunTestsInput,
  files: readonly { readonly path: string }[],
): Promise<TestPlace | NoSandbox> {
  const root = await realpath(await ports.workspace.root(input.workspace));
  const config = await commandConfig(ports, input, files);
  const box = await boxFor(ports, config.sandbox, root);
  if (isNoSandbox(box)) return box;
  const setUp =
    input.repository === undefined || config.worktree?.setup === undefined
      ? []
      : [config.worktree.setup];
  return {
    root,
    box,
    config,
    writes:
      config.sandbox === 'off' ? [] : workspaceWrites(config.sandbox, { root, home: homedir() }),
    commands: [...setUp, ...input.commands],
    noOverlay:
      box === 'off' ? 'the commands run without a sandbox' : await ports.layers.problem(root),
  };
}

export interface TestRequest extends Pick<RunTestsInput, 'timeout_s' | 'maxOutput_bytes'> {
  readonly place: TestPlace;
  /** Also those after the first command that fails. */
  readonly runsAll: boolean;
  /** Outside the sandbox, on the base alone, by the reviewer's answer. */
  readonly isOpen?: boolean;
  readonly signal: AbortSignal;
}
export interface TestsRan {
  readonly all: readonly Ran[];
  readonly seconds: number;
  /** The commands were ended before they had finished: for their time, or because of a limit. */
  readonly isCut: boolean;
}
/** What tests on an overlay left. */
export interface OverlayRan<T> extends TestsRan {
  readonly seen: T;
  /** What they wrote into the workspace as `sandbox.write` allows it, and what they may not write. */
  readonly writeOut: WriteOutResult;
}

const PATHS_NAMED = 20; // bound: Files that `sandbox.write` names, written and not written, of one run of the tests.

/** Returns what the result of a run of the tests says of `sandbox.write`. */
export const writesOf = ({ written, removed, refused }: WriteOutResult): WrittenByTests => {
  const kept = [...written, ...removed].slice(0, PATHS_NAMED);
  return {
    ...(kept.length === 0 ? {} : { written: kept }),
    ...(refused.length === 0 ? {} : { notWritten: refused.slice(0, PATHS_NAMED) }),
  };
};

/** Runs the tests in the workspace itself, where what they write stays, except outside the sandbox by the reviewer's answer. */
export const testsInPlace = (ports: ActivityPorts, request: TestRequest): Promise<TestsRan> => {
  const { place, isOpen = false } = request;
  return runScript(ports, request, place.box === 'off' ? 'off' : { ...place.box, isOpen });
};

export interface OnOverlay<T> {
  /** Key of the run. */
  readonly run: string;
  readonly proposal: readonly ExpectedFile[];
  readonly isWarm: boolean;
  /** Looks at what the tests left, before it is removed. */
  readonly look: (layer: Layer) => Promise<T>;
}

/** Runs the tests on an overlay of the workspace: nothing that they write there stays. */
export const testsOnOverlay = <T>(
  ports: ActivityPorts,
  request: TestRequest,
  { run, proposal, isWarm, look }: OnOverlay<T>,
): Promise<OverlayRan<T>> => {
  const { place, isOpen = false } = request;
  return ports.layers.use({ run, workspace: place.root, proposal, isWarm }, async (layer) => {
    const box: Box | 'off' =
      place.box === 'off' ? 'off' : { ...place.box, overlay: layer.overlay, isOpen };
    const ran = await runScript(ports, request, box);
    // A partly written object file would look finished to the next build.
    if (ran.isCut) layer.discardOutputs();
    const seen = await look(layer);
    const writeOut = await layer.writeOut({
      paths: place.writes,
      except: proposal.map(({ path }) => path),
      protectedPatterns: place.config.protected,
    });
    return { ...ran, seen, writeOut };
  });
};

/** Runs the commands one after the other in one shell, up to the first that fails, or all of them. */
async function runScript(
  { commands: runner }: ActivityPorts,
  { place, timeout_s, maxOutput_bytes, runsAll, signal }: TestRequest,
  sandbox: CommandRequest['sandbox'],
): Promise<TestsRan> {
  const { commands, root, config } = place;
  const mark = randomUUID();
  const end = `e=$?; printf '\\n${mark} %s\\n' $e; ${runsAll ? 'r=$((r|e))' : '[ $e = 0 ] || exit $e'}`;
  const script = [
    'r=0',
    // By two pipes, what a command wrote to standard error could arrive after the mark of its end.
    ...commands.map((command) => `sh -c ${shellWord(command)} 2>&1; ${end}`),
    'exit $r',
  ].join('\n');
  const ran = await runner.run({
    command: ['/bin/sh', '-c', script],
    cwd: root,
    env: config.env,
    timeout_s,
    maxOutput_bytes,
    signal,
    sandbox,
  });
  // Cancelled, or the worker stops: tests that were cut short have not failed. The wrapper says which of the two it was.
  if (ran.aborted) throw new Error('the tests were stopped');
  const isCut = ran.timedOut || ran.ended !== undefined || ran.exit === null;
  return { all: byCommand(commands, mark, ran), seconds: ran.seconds, isCut };
}

type Outcome = Omit<Ran, 'command'>;

/** Splits the output of the script into that of each command. */
function byCommand(commands: readonly string[], mark: string, ran: Outcome): readonly Ran[] {
  const parts = ran.output.split(new RegExp(`\\n${mark} (\\d+)\\n`));
  const ended = commands.slice(0, (parts.length - 1) / 2).map((command, index): Ran => {
    const exit = Number(parts[2 * index + 1]);
    return { ...ran, command, output: parts[2 * index] ?? '', exit, timedOut: false };
  });
  const rest = parts.filter((_, index) => index % 2 === 0).slice(ended.length);
  const next = commands[ended.length];
  // Killed, mostly for its time, in the command that had not ended.
  if (ran.exit === null && rest.length === 1 && next !== undefined)
    return [...ended, { ...ran, command: next, output: rest.join('') }];
  // Output that was cut, or that contradicts the exit code, is the output of all commands together.
  const isWhole = rest.length === 1 && (ran.exit !== 0 || next === undefined);
  const isConsistent = isWhole && ended.some(({ exit }) => exit !== 0) === (ran.exit !== 0);
  const output = [...ended.map((one) => one.output), ...rest].join('\n');
  return isConsistent ? ended : [{ ...ran, command: commands.join(' && '), output }];
}
