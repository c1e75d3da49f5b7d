/** Finds out whether commands can get an overlay over a workspace: by the reasons that are known to prevent it, then by mounting one. */
import { mkdir, realpath } from 'node:fs/promises';
import { SANDBOX_ON } from '../../documents/job/index.js';
import { mountPoints } from '../../system/mount-info.js';
import { isWithin } from '../../system/paths.js';
import type { CommandRunner } from '../commands/index.js';
import type { Layer, LayerRequest } from './layer.js';
import { failedObstacle, knownObstacle } from './obstacles.js';
import { layersDir } from './paths.js';

const PROBE_S = 20; // bound: Seconds in which a command that does next to nothing must end on an overlay.
const PROBE_OUTPUT_BYTES = 4_096; // bound: Output of the probe that is read for the reason.
const NONE_KNOWN_MS = 600_000; // bound: If there can be no overlay over a workspace, one is tried again after this time.

export interface Probe {
  readonly home: string;
  readonly commands: CommandRunner;
  readonly use: <T>(request: LayerRequest, work: (layer: Layer) => Promise<T>) => Promise<T>;
}

interface Answer {
  readonly at_ms: number;
  /** Mount points around the workspace and the layers, of which the answer is. */
  readonly mounts: string;
  readonly problem: Promise<string | null>;
}

/**
 * Returns a function that returns why there can be no overlay over a workspace; null: there can. Each workspace is tried once, and again
 * when something was mounted or unmounted around it, or some time after a failure.
 */
export function createProbe(probe: Probe): (workspace: string) => Promise<string | null> {
  const answers = new Map<string, Answer>();
  return async (workspace) => {
    const mounts = await mountsAround(workspace, probe.home);
    const known = answers.get(workspace);
    if (known?.mounts === mounts) {
      const problem = await known.problem;
      if (problem === null || performance.now() - known.at_ms < NONE_KNOWN_MS) return problem;
    }
    const problem = overlayProblem(probe, workspace);
    answers.set(workspace, { at_ms: performance.now(), mounts, problem });
    return problem;
  };
}

async function mountsAround(workspace: string, home: string): Promise<string> {
  const points = await mountPoints();
  return [workspace, layersDir(home)].flatMap((path) => around(path, points)).join('\n');
}

/** Returns the mount points at, above and below a path: a change among them may change whether there can be an overlay over it. */
const around = (path: string, points: readonly string[]): readonly string[] =>
  points.filter((point) => isWithin(point, path) || isWithin(path, point));

/** Writes, renames and removes a file and a directory: what file systems fail at that cannot hold an upper layer. */
const TRIED =
  '[ ! -w . ] || { : >.emend-1 && mv .emend-1 .emend-2 && rm .emend-2 && mkdir .emend-2 && rmdir .emend-2; }';

async function overlayProblem(
  { home, commands, use }: Probe,
  workspace: string,
): Promise<string | null> {
  const withoutSandbox = await commands.withoutSandbox();
  if (withoutSandbox !== null) return withoutSandbox;
  try {
    await mkdir(layersDir(home), { recursive: true, mode: 0o700 });
    const places = { workspace, layers: await realpath(layersDir(home)) };
    const known = await knownObstacle(places);
    if (known !== null) return known;
    const failure = await tryOverlay({ commands, use }, workspace);
    return failure === null ? null : ((await failedObstacle(places)) ?? failure);
  } catch (error) {
    return message(error);
  }
}

/** Returns how a command on an overlay failed; null: it did not. */
async function tryOverlay(
  { commands, use }: Pick<Probe, 'commands' | 'use'>,
  workspace: string,
): Promise<string | null> {
  try {
    const request = { run: 'probe', workspace, proposal: [], isWarm: false };
    const ran = await use(request, ({ overlay }) =>
      commands.run({
        command: TRIED,
        cwd: workspace,
        env: [],
        timeout_s: PROBE_S,
        maxOutput_bytes: PROBE_OUTPUT_BYTES,
        sandbox: { settings: SANDBOX_ON, workspace, overlay },
      }),
    );
    if (ran.exit === 0) return null;
    const end = ran.exit ?? ran.signal ?? 'no exit code';
    return `a command on an overlay over ${workspace} ended with ${end}: ${ran.output.trim()}`;
  } catch (error) {
    return message(error);
  }
}

const message = (error: unknown): string =>
  error instanceof Error ? error.message : String(error);
