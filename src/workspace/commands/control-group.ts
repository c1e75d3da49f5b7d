/** Shows a command the limits of Emend's own control group, by which runtimes as the JVM choose the size of their heap. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { readGivenText, UNREADABLE } from '../../system/given-file.js';

const CONTROL_GROUPS = '/sys/fs/cgroup';

/** Options of bubblewrap; none: the machine has no unified hierarchy of control groups. */
export async function controlGroup(): Promise<string[]> {
  if (!existsSync(join(CONTROL_GROUPS, 'cgroup.controllers'))) return [];
  const table = (await readGivenText('/proc/self/cgroup', UNREADABLE)) ?? '';
  const own = /^0::(\/.*)$/m.exec(table)?.[1];
  // A path that leads out of the hierarchy is that of a group outside the namespace.
  if (own === undefined || own.startsWith('/..')) return [];
  return ['--ro-bind-try', join(CONTROL_GROUPS, own), CONTROL_GROUPS];
}
