/**
 * Lists directories as a command left them, by mounting its layers once more. Only the kernel knows which directories of an upper layer hide
 * what is below them (`opaque`): Node.js cannot read extended attributes.
 */
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { SANDBOX_ON } from '../../documents/job/index.js';
import { readBeneath, refusalText } from '../../system/beneath.js';
import type { CommandRunner, Overlay } from '../commands/index.js';
import { removeTree } from './remove.js';

export interface View {
  readonly commands: CommandRunner;
  /** Real path of the workspace. */
  readonly workspace: string;
  /** The overlay of the command, which has ended. */
  readonly overlay: Overlay;
  /** Directory of ours on the filesystem of the layer, for the time of the listing. */
  readonly dir: string;
}

const VIEW_S = 60; // bound: Seconds in which the directories that a command changed are listed.
const VIEW_BYTES = 64 * 1024 * 1024; // bound: Bytes of such a listing.
const MESSAGE_BYTES = 4_096; // bound: Bytes of the error message, if the listing fails.
const LIST =
  'xargs -0 -r sh -c \'find "$@" -mindepth 1 -maxdepth 1 -print0\' sh <"$VIEW/directories" >"$VIEW/names"';

/** Returns the names in each of the directories, whose paths are relative to the workspace. */
export async function namesIn(
  { commands, workspace, overlay, dir }: View,
  directories: readonly string[],
): Promise<ReadonlyMap<string, ReadonlySet<string>>> {
  const [upper, work, lists] = ['upper', 'work', 'lists'].map((name) => join(dir, name));
  if (upper === undefined || work === undefined || lists === undefined) throw new RangeError(dir);
  for (const path of [dir, upper, work, lists]) await mkdir(path);
  try {
    const paths = directories.map((path) => `./${path}\0`);
    await writeFile(join(lists, 'directories'), paths.join(''));
    const ran = await commands.run({
      command: LIST,
      cwd: workspace,
      env: [],
      more: { VIEW: lists },
      timeout_s: VIEW_S,
      maxOutput_bytes: MESSAGE_BYTES,
      sandbox: {
        settings: SANDBOX_ON,
        workspace,
        overlay: { lower: [...overlay.lower, overlay.upper], upper, work },
        scratch: [lists],
      },
    });
    if (ran.exit !== 0) throw new Error(`could not list what a command left: ${ran.output.trim()}`);
    const names = await readBeneath(lists, 'names', VIEW_BYTES);
    if (!names.ok) throw new Error(`could not list what a command left: ${refusalText(names)}`);
    return byDirectory(names.value.bytes.toString('utf8'));
  } finally {
    await removeTree(dir);
  }
}

function byDirectory(listing: string): ReadonlyMap<string, ReadonlySet<string>> {
  const names = new Map<string, Set<string>>();
  for (const path of listing.split('\0').filter((entry) => entry !== '')) {
    const end = path.lastIndexOf('/');
    const dir = path.slice('./'.length, end);
    const known = names.get(dir) ?? new Set();
    names.set(dir, known.add(path.slice(end + 1)));
  }
  return names;
}
