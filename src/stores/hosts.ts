/** The hosts of a store, by the records of their workers' starts: the home's id, which names its task queue, and the machine that it is on. */
import { hostname } from 'node:os';
import { sha256 } from '../system/hash.js';
import { orNull } from '../system/durable.js';
import { ownProcess } from '../system/process.js';
import type { Sys } from '../system/sys.js';
import { nullOfOther } from './directory/archive.js';
import { homePaths } from './home.js';
import type { RecordStore } from './ports.js';

/** A machine as it runs: its name for people, an id that stays, and one for each boot (`-`: it has none), which its containers share. */
export type Machine = Readonly<Record<'name' | 'id' | 'boot', string>>;
/** A start of a worker. `machine` and `boot`: 8 hex digits for the machine, or this boot of it, and this very home there (a copy has others). */
export interface HostStart {
  readonly name: string;
  readonly machine: string;
  readonly boot: string;
  /** Which code it ran. */
  readonly build: string;
  /** ISO time: the first start of those that are alike. */
  readonly at: string;
}
/** `starts`: how many are recorded. */
type KnownHost = HostStart & { readonly starts: number };

const NAME = /^([0-9a-f]{32})\.(\d{6,})\.json$/;
const keyOf = (id: string, start: number): string => `hosts/${id}.${String(start).padStart(6, '0')}`;

const machineOf = async (sys: Sys): Promise<Machine> => {
  const id = await orNull(sys.readFile('/etc/machine-id'), ['ENOENT', 'EACCES']);
  const { boot } = await ownProcess(sys);
  return { name: hostname(), boot, id: id === null ? hostname() : new TextDecoder().decode(id).trim() };
};

/** To be made after the home has its id. `build`: which code starts. */
export const startOn = async (sys: Sys, home: string, build: string, given?: Machine): Promise<HostStart> => {
  const { name, boot, id } = given ?? (await machineOf(sys));
  // The number of the file, without that of its device, which a boot may change.
  const own = (await sys.stat(homePaths(home).hostId)).id.replace(/^.*:/, '');
  const mark = (of: string): string => sha256(`${of} ${own}`).slice(0, 8);
  return { name, machine: mark(id), boot: mark(boot === '-' ? id : boot), build, at: new Date().toISOString() };
};

/** Records are written once: each is read once by a process. */
const read = new WeakMap<RecordStore, Map<string, object>>();

/** The last start of each host that ever was one of this store's, by the host's id. */
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
    const start = cache.get(key) ?? (await records.get(key).catch(nullOfOther)) ?? {};
    cache.set(key, start);
    return [id, { ...(start as HostStart), starts: last }] as const;
  });
  return new Map(await Promise.all(known));
};

/** Keeps the start unless it is like the one before. False: another start came between `before` and this one. */
export const recordStart = async (records: RecordStore, id: string, start: HostStart, before?: KnownHost) => {
  const facts = ({ name, machine, boot, build }: HostStart): string => JSON.stringify([name, machine, boot, build]);
  if (before !== undefined && facts(before) === facts(start)) return true;
  return (await records.putIfAbsent(keyOf(id, (before?.starts ?? 0) + 1), start)).created;
};
