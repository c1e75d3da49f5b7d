/** Two checks of `emend doctor`: whether commands get an overlay over the workspace here, and which layers were left behind. */
import { realpath } from 'node:fs/promises';
import { archivedRun } from '../../client/archive/run.js';
import { isStepKey } from '../../shared/ids.js';
import { openStores, resolveStore } from '../../stores/location.js';
import type { Environment } from '../../system/environment.js';
import { createLocalRunner } from '../../workspace/commands/index.js';
import { gitLine } from '../../workspace/git/index.js';
import {
  createLayers,
  listLayers,
  sizeOf,
  type RunLayers,
  type Size,
} from '../../workspace/layers/index.js';
import type { Check } from '../json-types.js';
import { count } from '../render/text.js';

type Finding = Omit<Check, 'name'>;

/** Tries an overlay over the workspace that holds `cwd`. If there can be none, runs work nevertheless: nothing is missing. */
export async function overlayFinding(
  env: Environment,
  home: string,
  cwd: string,
): Promise<Finding> {
  const top = await gitLine(['rev-parse', '--show-toplevel'], { cwd, environment: env });
  const workspace = await realpath(top.ok ? top.value : cwd);
  const store = await resolveStore(env, home);
  const { blobs } = await openStores(home, store);
  const commands = createLocalRunner(env, { hidden: [home] });
  const problem = await createLayers({ home, blobs, commands }).problem(workspace);
  const found =
    problem === null
      ? `commands write a layer over ${workspace}`
      : `none over ${workspace}, so tests run there after a change is applied: ${problem}`;
  return { ok: true, found, fix: null };
}

/** Reports the layers of killed commands and of ended runs, as the archive knows them. */
export async function leftoversFinding(env: Environment, home: string): Promise<Finding> {
  const listed = await listLayers(home);
  const ended = await endedRuns(env, home, listed);
  const dead = listed.filter((layers) => !ended.includes(layers)).flatMap((layers) => layers.dead);
  if (dead.length + ended.length === 0) return { ok: true, found: 'none left behind', fix: null };
  const parts = [
    ...(dead.length === 0 ? [] : [`${dead.length} of killed commands`]),
    ...(ended.length === 0 ? [] : [`those of ${count(ended.length, 'ended run')}`]),
  ];
  const { files, bytes } = total(
    await Promise.all([...dead, ...ended.map(({ path }) => path)].map(sizeOf)),
  );
  return {
    ok: true,
    found: `left behind: ${parts.join(', ')} (${count(files, 'file')}, ${count(bytes, 'byte')})`,
    fix: `Remove them with: ${ended.length === 0 ? 'emend recover' : 'emend gc'}`,
  };
}

async function endedRuns(
  env: Environment,
  home: string,
  listed: readonly RunLayers[],
): Promise<readonly RunLayers[]> {
  const ofRuns = listed.filter(({ run, isUsed }) => isStepKey(run) && !isUsed);
  if (ofRuns.length === 0) return [];
  const { archive } = await openStores(home, await resolveStore(env, home));
  const ended = await Promise.all(
    ofRuns.map(async (layers) => {
      const { closed, events } = archivedRun(layers.run, await archive.read(layers.run));
      const isFinished = events.some(({ type }) => FINISHED.includes(type));
      return closed !== null || isFinished ? [layers] : [];
    }),
  );
  return ended.flat();
}
const FINISHED: readonly string[] = ['step_finished', 'plan_finished'];

const total = (sizes: readonly Size[]): Size => ({
  files: sizes.reduce((sum, { files }) => sum + files, 0),
  bytes: sizes.reduce((sum, { bytes }) => sum + bytes, 0),
});
