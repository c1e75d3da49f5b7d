/**
 * The dev server that this home started, as its record names it. If no server is configured, this one is used, but only once it is proved:
 * another user's server with Emend's search attributes may listen at the same port, and start runs whose commands a worker would execute.
 */
import { isAlive } from '../system/process.js';
import { listensAt } from '../system/listening.js';
import { realSys } from '../system/sys.js';
import { alreadyRunning, readRecord, type DevServerRecord } from './dev-record.js';

export type OwnServer =
  /** `deaf`: the recorded process lives, but it does not listen at the recorded address. */
  | { readonly is: 'starting' | 'serving' | 'deaf'; readonly record: DevServerRecord }
  /** `record` names a server whose process has ended; null: there is no record. */
  | { readonly is: 'absent'; readonly record: DevServerRecord | null };

/**
 * `serving` is proved as far as this machine can: the recorded process lives (pid, start time, boot) and its own socket listens at the
 * recorded address. If the system does not show the sockets of a process, the cluster id alone decides (connection.ts).
 */
export const ownServer = async (home: string): Promise<OwnServer> => {
  const record = await readRecord(home);
  if (record === null || !(await isAlive(realSys, record.process))) return { is: 'absent', record };
  if (record.state === 'starting') return { is: 'starting', record };
  const listens = await listensAt(realSys, record.process.pid, record.address);
  return { is: listens === 'no' ? 'deaf' : 'serving', record };
};

const OTHERS = 'To use another server: export TEMPORAL_ADDRESS=HOST:PORT';
/** Returns the command that ends the server: through its starter, which ends it in good order, or directly if the starter is dead. */
export const toEnd = async ({ owner, process }: DevServerRecord): Promise<string> => {
  const isOwned = owner !== undefined && (await isAlive(realSys, owner));
  return `kill ${(isOwned ? owner : process).pid}`;
};

/** Returns why no server can be used although none is configured: the message, and what to type. */
export const refusal = async (
  home: string,
  { is, record }: Exclude<OwnServer, { is: 'serving' }>,
): Promise<[message: string, next: string]> => {
  const none = 'No Temporal server is configured';
  if (is === 'starting') return alreadyRunning(home, record);
  if (is === 'deaf')
    return [
      `${none}, and the dev server of this home (${home}) cannot be used: its process (pid ${record.process.pid}) does not listen at ${record.address}.`,
      `Stop it and start it again: ${await toEnd(record)}; emend dev. ${OTHERS}`,
    ];
  if (record === null)
    return [
      `${none}, and no dev server of this home (${home}) is running.`,
      `Start one: emend dev. ${OTHERS}`,
    ];
  return [
    `${none}, and the dev server of this home (${home}), pid ${record.process.pid} at ${record.address}, has ended.`,
    `Start it again: emend dev. ${OTHERS}`,
  ];
};
