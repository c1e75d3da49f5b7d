/**
 * Finds a file that a command may write in the workspace but not through an overlay. A sandbox maps the user and the group of its own
 * process only. The kernel cannot copy a file of any other owner or group into the upper layer: append, chmod and create fail with
 * EOVERFLOW there. A file that the process may not write anyway is no obstacle, as it cannot be written without an overlay either.
 */
import type { Stats } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { shellWord } from '../../shared/text.js';
import { listBeneath, statBeneath } from '../../system/beneath.js';
import { orNull } from '../../system/durable.js';
import { ABSENT } from '../../system/given-file.js';

const ENTRIES = 10_000; // bound: Entries of a workspace, the upper directories first, that are searched for files of other owners.

const UNSEEN = [...ABSENT, 'EACCES', 'EPERM', 'ELOOP'];

/** The user and the groups that a command has. */
interface Identity {
  readonly uid: number;
  readonly gid: number;
  readonly groups: readonly number[];
}

/** Returns the reason with the path of one such file; null: there is none among the first entries. */
export async function unmappedProblem(workspace: string): Promise<string | null> {
  const identity = ownIdentity();
  const directories = [''];
  let remaining = ENTRIES;
  // The list grows while it is walked. The workspace's own directory shows the attributes of the upper layer, which is ours.
  for (const directory of directories) {
    const listed = await listBeneath(workspace, directory);
    const names = listed.ok ? listed.value : [];
    const entries = names.filter((name) => name !== '.git').slice(0, remaining);
    remaining -= entries.length;
    for (const { path, stat } of await statsOf(workspace, directory, entries)) {
      if (isUnmapped(stat, identity) && mayWrite(stat, identity))
        return reasonFor(workspace, path, stat, identity);
      if (stat.isDirectory()) directories.push(path);
    }
    if (remaining === 0) return null;
  }
  return null;
}

async function statsOf(workspace: string, directory: string, names: readonly string[]) {
  const entries = await Promise.all(
    names.map(async (name) => {
      const path = join(directory, name);
      const found = await statBeneath(workspace, path);
      return { path, stat: found.ok ? found.value : null };
    }),
  );
  return entries.flatMap(({ path, stat }) => (stat === null ? [] : [{ path, stat }]));
}

function ownIdentity(): Identity {
  const { getuid, getgid, getgroups } = process;
  return { uid: getuid?.() ?? 0, gid: getgid?.() ?? 0, groups: getgroups?.() ?? [] };
}

const isUnmapped = (stat: Stats, { uid, gid }: Identity): boolean =>
  stat.uid !== uid || stat.gid !== gid;

/** Decides by the mode alone: a command in a sandbox has no capabilities, also that of root. */
function mayWrite(stat: Stats, { uid, gid, groups }: Identity): boolean {
  if (!stat.isFile() && !stat.isDirectory()) return false;
  if (stat.uid === uid) return true;
  const isOfGroup = stat.gid === gid || groups.includes(stat.gid);
  return (stat.mode & (isOfGroup ? 0o020 : 0o002)) !== 0;
}

async function reasonFor(
  workspace: string,
  path: string,
  stat: Stats,
  { uid, gid }: Identity,
): Promise<string> {
  const isOwn = stat.uid === uid;
  const owner = isOwn
    ? `group ${await named('/etc/group', stat.gid)}`
    : `user ${await named('/etc/passwd', stat.uid)}`;
  const command = `${isOwn ? `chgrp -R ${gid}` : `chown -R ${uid}:${gid}`} ${shellWord(workspace)}`;
  return `${join(workspace, path)} belongs to ${owner}, and a sandbox maps only user ${uid} and group ${gid}: run \`${command}\`, or start the worker with the user and group of the files`;
}

async function named(table: string, id: number): Promise<string> {
  const lines = ((await orNull(readFile(table, 'utf8'), UNSEEN)) ?? '').split('\n');
  const line = lines.find((entry) => entry.split(':')[2] === String(id));
  return line === undefined ? String(id) : `${id} (${line.split(':')[0]})`;
}
