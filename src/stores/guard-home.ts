/**
 * Checks that a worker's home and bucket stay the same while it runs. A home that was moved away, unmounted or emptied is not created again and
 * gets no new host id: work waits until it is back.
 */
import { fail } from '../shared/problems.js';
import { orNull } from '../system/durable.js';
import { errnoOf, type Sys } from '../system/sys.js';
import { homePaths } from './home.js';
import { STORE_ID, storeIdPath, type Store } from './location.js';

const NEXT =
  'Restore the directory (or mount it) and answer `retry`; another home needs its own worker.';
const NEXT_OF_BUCKET = 'Restore the objects below this prefix and answer `retry`.';

/** A file or object whose content must stay the same while a worker runs. */
interface Mark {
  readonly path: string;
  readonly code: 'home_unusable' | 'store_unusable';
  readonly what: string;
  readonly next: string;
  read(): Promise<Uint8Array | null>;
}

const marksOf = (home: string, { dir, objects }: Store, sys: Sys): readonly Mark[] => {
  const hostIdPath = homePaths(home).hostId;
  const ofHome: Mark = {
    path: hostIdPath,
    code: 'home_unusable',
    what: `EMEND_HOME at ${home}`,
    next: NEXT,
    read: () => orNull(sys.readFile(hostIdPath), ['ENOENT', 'ENOTDIR']),
  };
  if (objects === null) return [ofHome];
  const ofBucket: Mark = {
    path: storeIdPath(dir),
    code: 'store_unusable',
    what: `EMEND_STORE at ${dir}`,
    next: NEXT_OF_BUCKET,
    read: () => objects.get(STORE_ID),
  };
  return [ofHome, ofBucket];
};

const contentOf = async (mark: Mark): Promise<string | null> => {
  const bytes = await mark.read();
  return bytes === null ? null : new TextDecoder().decode(bytes).trim();
};

const checkMark = async (mark: Mark, known: string | null | undefined): Promise<void> => {
  const { path, code, what, next } = mark;
  const content = await contentOf(mark).catch((error: unknown) => {
    const errno = errnoOf(error);
    if (errno === null) throw error;
    return fail(code, `${what} cannot be read (${errno} at ${path}).`, next);
  });
  if (content === null)
    fail(
      code,
      `${what} was removed or emptied while the worker ran: ${path} does not exist.`,
      next,
    );
  if (content !== known)
    fail(code, `${what} was replaced while the worker ran: ${path} has another id.`, next);
};

/** Returns the system calls of a worker's stores, and a check of its home and store. The home must have its host id, and the store its own. */
export const guardHome = async (home: string, store: Store, sys: Sys) => {
  const marks = marksOf(home, store, sys);
  const known = await Promise.all(marks.map(contentOf));

  /** System calls of all stores of the worker. They create neither the home nor a directory above it. */
  const guarded: Sys = {
    ...sys,
    mkdir: async (path: string, mode: number) => {
      if (home !== path && !home.startsWith(`${path}/`)) return sys.mkdir(path, mode);
      // It existed when the worker started.
      throw Object.assign(new Error(`ENOENT: the home was removed, mkdir '${path}'`), {
        code: 'ENOENT',
        syscall: 'mkdir',
        path,
      });
    },
  };
  return {
    sys: guarded,
    /** Throws ProblemError `home_unusable` or `store_unusable` if one of them differs from what it was at the start. */
    check: async (): Promise<void> => {
      for (const [index, mark] of marks.entries()) await checkMark(mark, known[index]);
    },
  };
};
