/**
 * Records the starts of workers in their store, by which the hosts of a store are known: the id of a home, which names its task queue, and the
 * machine that it is on.
 */
import { hostname } from 'node:os';
import { nullOn } from '../shared/problems.js';
import { orNull } from '../system/durable.js';
import { sha256 } from '../system/hash.js';
import { ownProcess } from '../system/process.js';
import type { Sys } from '../system/sys.js';
import { homePaths } from './home.js';
import type { RecordStore } from './ports.js';

/** A running machine: its host name, a lasting id, and an id of this boot (`-`: it has none), which its containers share. */
export type Machine = Readonly<Record<'name' | 'id' | 'boot', string>>;
/**
 * A start of a worker. `machine` and `boot` are 8 hexadecimal digits: a hash of the machine, or of this boot of it, and of this home there. A copy
 * of the home has others.
 */
export interface HostStart {
  readonly name: string;
  readonly machine: string;
  readonly boot: string;
  /** Build of the code that it ran. */
  readonly build: string;
  /** ISO time of the first of several equal starts. */
  readonly at: string;
}
/** The last start of a host. `starts` is the number of recorded ones. */
type KnownHost = HostStart & { readonly starts: number };

const NAME = /^([0-9a-f]{32})\.(\d{6,})\.json$/;
const keyOf = (id: string, start: number): string =>
  `hosts/${id}.${String(start).padStart(6, '0')}`;

const machineOf = async (sys: Sys): Promise<Machine> => {
  const id = await orNull(sys.readFile('/etc/machine-id'), ['ENOENT', 'EACCES']);
  const { boot } = await ownProcess(sys);
  return {
    name: hostname(),
    boot,
    id: id === null ? hostname() : new TextDecoder().decode(id).trim(),
  };
};

/** Returns the start of a worker in a home that has its id. `build` is that of the code that starts. */
export const startOn = async (
  sys: Sys,
  home: string,
  build: string,
  knownMachine?: Machine,
): Promise<HostStart> => {
  const { name, boot, id } = knownMachine ?? (await machineOf(sys));
  // The inode of the file, without the number of its device, which a boot may change.
  const own = (await sys.stat(homePaths(home).hostId)).id.replace(/^.*:/, '');
  const mark = (identity: string): string => sha256(`${identity} ${own}`).slice(0, 8);
  return {
    name,
    machine: mark(id),
    boot: mark(boot === '-' ? id : boot),
    build,
    at: new Date().toISOString(),
  };
};

/** Records that this process has read. They are written once, so each is read once. */
const read = new WeakMap<RecordStore, Map<string, object>>();

/** Returns the last start of each host that ever used this store, by the host's id. For a damaged record it is only the number of starts. */
export const knownHosts = async (records: RecordStore): Promise<ReadonlyMap<string, KnownHost>> => {
  const starts = new Map<string, number>();
  for (const name of await records.names('hosts')) {
    const [, id = '', start = ''] = NAME.exec(name) ?? [];
    if (id !== '') starts.set(id, Math.max(starts.get(id) ?? 0, Number(start)));
  }
  const cache = read.get(records) ?? new Map<string, object>();
  read.set(records, cache);
  const known = [...starts].map(async ([id, last]) => {
    const key = keyOf(id, last);
    const found = () =>
      records.get<HostStart>(key, 'HostStart').catch(nullOn('version_unknown', 'disk'));
    const start = cache.get(key) ?? (await found()) ?? {};
    cache.set(key, start);
    return [id, { ...(start as HostStart), starts: last }] as const;
  });
  return new Map(await Promise.all(known));
};

/** Records the start unless it equals the one before. False: another start came between `before` and this one. */
export const recordStart = async (
  records: RecordStore,
  id: string,
  start: HostStart,
  before?: KnownHost,
) => {
  const facts = ({ name, machine, boot, build }: HostStart): string =>
    JSON.stringify([name, machine, boot, build]);
  if (before !== undefined && facts(before) === facts(start)) return true;
  return (await records.putIfAbsent(keyOf(id, (before?.starts ?? 0) + 1), start)).created;
};
