/** `emend backup` and `emend restore`: a home as one file, and a home from such a file. */
import { resolve } from 'node:path';
import { archivedRun } from '../../client/archive/run.js';
import { backUp } from '../../client/files/backup.js';
import { headOfBackup, refuseFullHome, restoreBackup } from '../../client/files/restore.js';
import { hostQueueOf, queuesFor } from '../../shared/names.js';
import { isStepKey, planOf, shownKey, type StepKey } from '../../shared/ids.js';
import { fail, nullOn, problemOn, sentence } from '../../shared/problems.js';
import { shellWord } from '../../shared/text.js';
import { homeLocation, requireHome, resolveHome } from '../../stores/home.js';
import { openStores, resolveStore } from '../../stores/location.js';
import type { Archive, BlobStore } from '../../stores/ports.js';
import { together } from '../../system/together.js';
import { connectClient } from '../../temporal/connection.js';
import { HOST_SILENT_MS, pollingOf, workersOf } from '../../temporal/live-workers.js';
import { resolveTimings } from '../../temporal/settings.js';
import type { Io, JsonFlag } from '../io.js';
import { printFound } from '../json.js';
import { count, plain } from '../render/text.js';

const OPEN_LISTED = 20; // bound: Open runs that `emend restore` names; of others the number is shown.

/** Works while workers run. */
export const backup = async (io: Io, file: string, flags: JsonFlag): Promise<void> => {
  await requireHome(io.env);
  const home = await resolveHome(io.env);
  const { dir, objects } = await resolveStore(io.env, home);
  const result = await backUp(home, resolve(io.cwd, file));
  const store = objects === null ? null : dir;
  printFound({ io, flags }, 'backup', { v: 1, store, ...result }, [
    `${plain(result.path)}: ${count(result.files, 'file')}, ${count(result.bytes, 'byte')}. Restore it with: emend restore ${plain(shellWord(file))}`,
  ]);
  if (store !== null)
    io.err(
      plain(
        `The bucket ${store} is not in it. Copy the bucket after this backup, never before it.`,
      ),
    );
  if (result.damaged.length > 0)
    io.err(
      plain(
        `${count(result.damaged.length, 'content')} did not match its hash and is in the backup as it is. See: emend doctor --deep`,
      ),
    );
};

/** Into an absent or empty EMEND_HOME. */
export const restore = async (io: Io, file: string, flags: JsonFlag): Promise<void> => {
  const path = resolve(io.cwd, file);
  const home = homeLocation(io.env);
  await refuseFullHome(home);
  const { host } = await headOfBackup(path);
  await refuseLiveHost(io, home, host);
  const result = await restoreBackup(path, home);
  const found = await openRuns(io, home).catch(problemOn('store_unusable', 'disk'));
  const open = 'code' in found ? [] : found;
  if ('code' in found) io.err(plain(sentence(found)));
  printFound({ io, flags }, 'restore', { v: 1, open, ...result }, [
    `${plain(home)} is restored: ${count(result.files, 'file')}, as of ${result.backupAt}. Each matches its hash.`,
    ...noteOf(open),
  ]);
};

const noteOf = (open: readonly StepKey[]): readonly string[] => {
  if (open.length === 0) return [];
  const listed = open.slice(0, OPEN_LISTED).map((stepKey) => shownKey(stepKey));
  const more = open.length > OPEN_LISTED ? ` and ${open.length - OPEN_LISTED} more` : '';
  return [
    `${count(open.length, 'run')} had not ended then: ${listed.join(', ')}${more}.`,
    'What they did since is not in the backup. A change or commit that they made is found, not made again. Before a model call that may be paid for already, they ask (call_lost).',
  ];
};

const noBlobs = (): Promise<never> =>
  Promise.reject(new Error('A question about workers has no large values.'));
const NO_BLOBS: BlobStore = { get: noBlobs, put: noBlobs };

/** Two machines must not work as one host. Without a server nothing can be asked; the start of a worker is refused then. */
const refuseLiveHost = async (io: Io, home: string, host: string): Promise<void> => {
  const { connect_ms } = resolveTimings(io.env);
  // There is no home yet, and none is to be made for this.
  const connecting = connectClient({ env: io.env, home, connect_ms, blobs: NO_BLOBS });
  const server = await connecting.catch(nullOn('no_server'));
  if (server === null) return;
  try {
    const queue = hostQueueOf(queuesFor(io.env, host), host);
    const [worker] = pollingOf((await workersOf(server, queue, [queue])).workers);
    if (worker !== undefined)
      fail(
        'conflict',
        `A worker of the host ${shownKey(host)}, whose home this backup is, may still work: ${worker.said}. Nothing was restored.`,
        `Stop it first; one that was killed counts as gone after ${HOST_SILENT_MS / 1000} s.`,
      );
  } finally {
    await server.close();
  }
};

/** Runs of which the archive knows no end; a plan stands for its phases. */
const openRuns = async (io: Io, home: string): Promise<readonly StepKey[]> => {
  const { archive } = await openStores(home, await resolveStore(io.env, home));
  const listed = await archive.names();
  const found = await together(
    listed.filter((stepKey) => isStepKey(stepKey) && planOf(stepKey) === stepKey),
    async (stepKey) => ((await isOpen(archive, stepKey)) ? [stepKey] : []),
  );
  return found.flat();
};

const FINISHED: readonly string[] = ['step_finished', 'plan_finished'];
const isOpen = async (archive: Pick<Archive, 'read'>, stepKey: StepKey): Promise<boolean> => {
  const { closed, events } = archivedRun(stepKey, await archive.read(stepKey));
  return closed === null && !events.some(({ type }) => FINISHED.includes(type));
};
