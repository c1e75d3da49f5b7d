/**
 * Covers Emend's own installation where it is inside the workspace (docs/decisions/0038): what a command writes there is dropped when the
 * command ends. A command on an overlay of the workspace needs no cover.
 */
import { execFile } from 'node:child_process';
import { dirname } from 'node:path';
import { promisify } from 'node:util';
import { ownPlacesIn } from '../../system/own-installation.js';
import { isWithin } from '../../system/paths.js';
import { ownEnvironment } from '../../system/programs.js';
import type { Bubblewrap } from './bubblewrap.js';
import type { Mounts, Overlay } from './mounts.js';

const TRIED_MS = 20_000; // bound: Bubblewrap mounts the cover and runs nothing under it within this time.

/** Returns the directories between a place and the workspace. As mount points they cannot be renamed. */
const parentsOf = (place: string, workspace: string): string[] => {
  const parent = dirname(place);
  return parent !== workspace && isWithin(parent, workspace)
    ? [...parentsOf(parent, workspace), parent]
    : [];
};

interface Written {
  readonly workspace: string;
  readonly overlay?: Overlay;
  readonly isReadOnly?: boolean;
}

/** Mounts a throw-away overlay over each directory of the installation in a workspace that the command writes. */
export const guardInstallation = (
  mounts: Mounts,
  { workspace, overlay, isReadOnly = false }: Written,
): void => {
  if (overlay !== undefined || isReadOnly) return;
  for (const place of ownPlacesIn(workspace)) {
    for (const parent of parentsOf(place, workspace)) mounts.show(parent, 'write');
    mounts.show(place, 'overlay');
  }
};

const run = promisify(execFile);

/** Options of bubblewrap that cover these places and change nothing else. Root keeps its permissions for files of others. */
const coverArguments = (workspace: string, places: readonly string[]): string[] => [
  ...(process.getuid?.() === 0 ? [] : ['--unshare-user']),
  ...['--die-with-parent', '--dev-bind', '/', '/'],
  ...places.flatMap((place) => [
    ...parentsOf(place, workspace).flatMap((parent) => ['--bind', parent, parent]),
    ...['--overlay-src', place, '--tmp-overlay', place],
  ]),
];

/**
 * Returns how a command without a sandbox starts in a workspace: bubblewrap and its options, to be followed by the command. Empty: Emend is
 * installed elsewhere, or this machine cannot mount the cover.
 */
export const coverFor = async (
  workspace: string,
  findBubblewrap: () => Promise<Bubblewrap>,
): Promise<readonly string[]> => {
  const places = ownPlacesIn(workspace);
  if (places.length === 0) return [];
  const found = await findBubblewrap();
  if (!found.works) return [];
  const options = coverArguments(workspace, places);
  const call = { timeout: TRIED_MS, env: ownEnvironment(process.env) };
  const isPossible = await run(found.path, [...options, '--', '/bin/sh', '-c', ':'], call).then(
    () => true,
    () => false,
  );
  return isPossible ? [found.path, ...options, '--'] : [];
};
