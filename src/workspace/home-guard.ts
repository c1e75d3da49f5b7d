/**
 * A running worker's hold on its home and store: both must stay the directories that it started with. One that is moved away, not
 * mounted any more or replaced by an empty one is neither made anew nor given a new host id: work waits until it is back.
 */
import { fail } from '../shared/problems.js';
import { homePaths } from './home.js';
import { storeIdPath, type Store } from './store.js';
import { orNull } from './sys-put.js';
import { errnoOf, type Sys } from './sys.js';

export interface HomeGuard {
  /** For all stores of the worker: it makes no directory that holds the home or the store, nor these themselves. */
  readonly sys: Sys;
  /** Throws ProblemError `home_unusable` or `store_unusable` where one of them is not what it was at the start. */
  readonly check: () => Promise<void>;
}

const NEXT = 'Put the directory back (or mount it) and answer `retry`; another home needs a worker of its own.';

/** To be made after the home has its host id and the store its own. */
export const guardHome = async (home: string, store: Store, sys: Sys): Promise<HomeGuard> => {
  const marks = [
    { path: homePaths(home).hostId, code: 'home_unusable' as const, what: `EMEND_HOME at ${home}` },
    ...(store.apart
      ? [{ path: storeIdPath(store.dir), code: 'store_unusable' as const, what: `EMEND_STORE at ${store.dir}` }]
      : []),
  ];
  const read = async (path: string): Promise<string | null> => {
    const bytes = await orNull(sys.readFile(path), ['ENOENT', 'ENOTDIR']);
    return bytes === null ? null : new TextDecoder().decode(bytes).trim();
  };
  const known = await Promise.all(marks.map(({ path }) => read(path)));
  const roots = [home, store.dir];

  return {
    sys: {
      ...sys,
      mkdir: async (path, mode) => {
        if (!roots.some((root) => root === path || root.startsWith(`${path}/`))) return sys.mkdir(path, mode);
        // It was there when the worker started.
        throw Object.assign(new Error(`ENOENT: the home or store is gone, mkdir '${path}'`), {
          code: 'ENOENT',
          syscall: 'mkdir',
          path,
        });
      },
    },
    check: async (): Promise<void> => {
      for (const [index, { path, code, what }] of marks.entries()) {
        const now = await read(path).catch((error: unknown) => {
          const errno = errnoOf(error);
          if (errno === null) throw error;
          return fail(code, `${what} cannot be read (${errno} at ${path}).`, NEXT);
        });
        if (now === null)
          fail(code, `${what} is gone or was emptied while the worker ran: ${path} is not there.`, NEXT);
        if (now !== known[index])
          fail(code, `${what} was replaced while the worker ran: ${path} holds another id.`, NEXT);
      }
    },
  };
};
