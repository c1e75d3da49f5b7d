/** The settings of the answer `move`: a directory of a host, or a repository, in which the run continues. */
import { resolve } from 'node:path';
import { needRuns, type Emend } from '../client/types.js';
import type { DecideOptions } from '../client/runs/decide.js';
import { hostOfQueue, hostQueueOf } from '../shared/names.js';
import { ProblemError } from '../shared/problems.js';
import { orNull } from '../system/durable.js';
import { realSys } from '../system/sys.js';
import { noWorker } from '../temporal/live-workers.js';
import type { Io } from './io.js';

type Settings = NonNullable<DecideOptions['set']>;

/**
 * Returns the settings for a directory of a host with a running worker. `to` null: the same path as before. `host` null: the host of this home.
 * Throws ProblemError `no_worker`.
 */
export const directorySettings = async (
  emend: Emend,
  { cwd }: Pick<Io, 'cwd'>,
  { to, host }: { readonly to: string | null; readonly host: string | null },
): Promise<Settings> => {
  const own = hostOfQueue(emend.queues.host);
  const id = host ?? own;
  const queue = hostQueueOf(emend.queues, id);
  if (!(await needRuns(emend).polled(queue))) throw new ProblemError(noWorker([queue]));
  if (to === null) return { host: id };
  // Another machine's path is taken as it was typed.
  const real = id === own ? await orNull(realSys.realpath(resolve(cwd, to))) : null;
  return { host: id, workspace: real ?? to };
};

/** Returns the settings for one typed line: a URL (`https://…`, `git@host:path`), or a directory of this machine. */
export const placeSettings = (
  emend: Emend,
  io: Pick<Io, 'cwd'>,
  place: string,
): Promise<Settings> =>
  /^[a-z][a-z0-9+.-]*:\/\/|^[^/\s]+@[^/\s]+:/i.test(place)
    ? Promise.resolve({ repository: place })
    : directorySettings(emend, io, { to: place, host: null });
