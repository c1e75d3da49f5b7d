/**
 * The door of src/workspace/checkout: checkouts of repositories, which are nobody's working tree. In `<home>-repositories/<URL>/` a bare mirror
 * and a worktree for each run and fencing token; all of it can be made again from the remote and the store, so it is neither locked nor
 * recorded, and what is not used for long is removed.
 */
import { randomBytes } from 'node:crypto';
import { readdir, rm, stat, utimes } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { fail, problem, ProblemError, type Problem } from '../../shared/problems.js';
import { phaseBranchOf, type RepositoryBase } from '../../shared/repository.js';
import { planOf, type StepKey } from '../../shared/ids.js';
import { homePaths } from '../../stores/home.js';
import type { BlobStore } from '../../stores/ports.js';
import { orNull, putJsonIfAbsent, readJson } from '../../system/durable.js';
import { sha256 } from '../../system/hash.js';
import { realSys as sys } from '../../system/sys.js';
import { checkRequest } from '../apply/engine.js';
import { commitOfStep, markTrailer } from '../git/commit-hooks.js';
import { git, valueOf } from '../git/git.js';
import { mergeInto } from '../landing/merge.js';
import type {
  ApplyEngine,
  ApplyRequest,
  CommitOutcome,
  CommitRequest,
  Workspace,
  WorkspaceLock,
} from '../ports.js';
import type { Repository } from '../repository.js';
import * as remotes from './remote.js';

const DIGITS = 16; // bound: Of the hash of a URL, in the name of its directory.
const NONCE_BYTES = 8; // bound: Random part of the name of a worktree.
const UNUSED_DAYS = 7; // bound: A checkout that no activity used for so long is removed.

export interface RunOnRepository {
  readonly stepKey: StepKey;
  readonly repository: RepositoryBase;
  readonly signal: AbortSignal;
}
export interface CheckoutWanted extends RunOnRepository {
  /** The commit that the run begins at. */
  readonly commit: string;
  /** When the server scheduled this attempt, ms since the epoch: of a later one's token it may not take the place, however late it wakes up. */
  readonly at: number;
  /** Another attempt may still be at work: the run is taken over, and that one can push nothing any more. */
  readonly takeOver: boolean;
  /** Of a plan: its files are those of its branch's tip, once it has one. */
  readonly atTip?: boolean;
}
/** A run's own checkout, its files as its base commit has them. Whatever the ports are asked of is it, whatever its name. */
export interface Checkout {
  readonly workspace: Workspace;
  readonly repository: Repository;
  /** Of an attempt that was given up: nobody uses its checkout again. Another attempt's of the same run stays. */
  leave(): Promise<void>;
}
export interface Checkouts {
  /** The id of the home: who had a checkout last is asked first. */
  readonly host: string;
  /** The commit that its base names now; `known` has been looked at. Throws ProblemError `job_invalid`, `repository_unsupported`, `remote_refused`, `git_failed`. */
  resolve(run: RunOnRepository, known?: string): Promise<{ readonly commit: string }>;
  /** Of the commit that its base names now: nothing is pushed, and whoever gave the home removes it. Throws as both others do. */
  look(run: RunOnRepository): Promise<Checkout>;
  /** Throws ProblemError `busy`: another attempt takes over at this moment; `remote_refused`, `git_failed`. */
  use(wanted: CheckoutWanted): Promise<Checkout>;
}

/** ◆ What a home remembers of a run: the token that it put on the remote, and the worktree made under it. */
interface Held extends remotes.RunRefs {
  readonly at: number;
  readonly path: string;
}
interface Place {
  readonly remote: remotes.Remote;
  /** What the run is based on, as it was named. */
  readonly branch: string;
  /** Others push to its branch, too. */
  readonly isShared: boolean;
  readonly dir: string;
}

/** `repository`: the adapter for directories, which a checkout is one of. */
export const createCheckouts = (
  {
    home,
    host,
    blobs,
  }: { readonly home: string; readonly host: string; readonly blobs: BlobStore },
  engine: ApplyEngine,
  repository: Repository,
): Checkouts => {
  const placeOf = async ({ stepKey, repository }: RunOnRepository): Promise<Place> => {
    const { url, base, branch } = repository;
    const dir = join(homePaths(home).repositories, sha256(url).slice(0, DIGITS));
    const remote = await remotes.openRemote(join(dir, 'mirror.git'), stepKey, repository);
    return { remote, dir, branch: branch ?? base, isShared: branch !== undefined };
  };
  const takeOver = async (place: Place, { commit, signal, at }: CheckoutWanted): Promise<Held> => {
    const { remote, dir } = place;
    const seen = await remotes.readRefs(remote, signal);
    await remotes.checkTurn(remote, seen.token, at, signal);
    const token = await remotes.newToken(remote, at);
    await remotes.push(remote, seen, { token });
    await drop(place);
    await dropUnused(dir);
    await remotes.pack(remote);
    const held: Held = { ...seen, token, at, path: pathFor(place) };
    try {
      await remotes.addWorktree(remote, held.path, commit, signal);
      const { created } = await putJsonIfAbsent(sys, pathFor(place, 'json'), held);
      return created ? held : fail('busy', 'A later attempt took over this run at this moment.');
    } catch (error) {
      await leave(place, held);
      throw error;
    }
  };
  return {
    host,
    resolve: async (run, known) => {
      const { remote, isShared } = await placeOf(run);
      const isPhase = isShared && planOf(run.stepKey) !== run.stepKey;
      // Where its plan has come to.
      const tip = isPhase
        ? await remotes.refuseTakenOut(remote, await remotes.readRefs(remote, run.signal))
        : null;
      return { commit: tip ?? (await remotes.resolveBase(remote, run, known)) };
    },
    look: async (run) => {
      const place = await placeOf(run);
      const commit = await remotes.resolveBase(place.remote, run);
      const path = pathFor(place);
      await remotes.addWorktree(place.remote, path, commit, run.signal);
      return boundTo(
        place,
        { token: '', tip: null, last: null, at: 0, path },
        { commit, since: commit, signal: run.signal },
      );
    },
    use: async (wanted) => {
      const place = await placeOf(wanted);
      await remotes.fetchCommit(place.remote, wanted.commit, wanted.signal);
      const found = wanted.takeOver
        ? null
        : await readJson<Held>(sys, pathFor(place, 'json'), 'Held');
      // In a copy of the home, or one that was moved, the note names another's.
      const isOwn = found !== null && found.path === pathFor(place, found.path.split('.').at(-1));
      const noted =
        isOwn && (await orNull(sys.lstat(join(found.path, '.git')), ['ENOENT', 'ENOTDIR']))
          ? found
          : null;
      // What others pushed meanwhile it sees as long as nobody has taken it over.
      const seen =
        noted && place.isShared ? await remotes.readRefs(place.remote, wanted.signal) : noted;
      const isTurn = noted !== null && noted.at <= wanted.at && seen?.token === noted.token;
      const held = isTurn ? { ...noted, ...seen } : await takeOver(place, wanted);
      const commit = wanted.atTip === true ? (held.tip ?? wanted.commit) : wanted.commit;
      await utimes(pathFor(place, 'json'), new Date(), new Date());
      // What is ignored stays: dependencies that were installed, and caches.
      valueOf(await git(['reset', '--quiet', '--hard', commit], { cwd: held.path }));
      valueOf(await git(['clean', '-ffdq'], { cwd: held.path }));
      return boundTo(place, held, { ...wanted, commit, since: wanted.commit });
    },
  };

  function boundTo(place: Place, held: Held, begun: Begun): Checkout {
    const { path } = held;
    const { commit: base, signal } = begun;
    const { remote } = place;
    const lockOf = (
      stepKey: StepKey,
      { workflowId, namespace }: ApplyRequest['holder'],
    ): WorkspaceLock => ({
      stepKey,
      workflowId,
      namespace,
      takenAt: new Date().toISOString(),
      // Nobody else has the directory; the token on the remote is what counts.
      token: 1,
      head: base,
      headRef: null,
    });
    const workspace: Workspace = {
      root: () => Promise.resolve(path),
      apply: async (request, assertCurrent) => {
        checkRequest(request);
        const { files, proposal, holder, stepKey } = request;
        const applied = { outcome: 'applied', files, lock: lockOf(stepKey, holder) } as const;
        // An attempt before this one may have pushed it: its commit is found.
        if ((await pushedBefore(held, begun, stepKey)) !== null) return applied;
        const wanted = proposal.files.filter((file) => files.includes(file.path));
        // Of a file's mode two hosts may differ in what others may do.
        const isSame = ({ result, now }: (typeof found)[number]): boolean =>
          result?.ref === now?.ref && (((result?.mode ?? 0) ^ (now?.mode ?? 0)) & 0o111) === 0;
        const found = await engine.differing(path, atBase(wanted));
        const why = `changed on ${place.branch} (${base.slice(0, 12)}) since the proposal was made`;
        const conflicts = found
          .filter((file) => !isSame(file))
          .map((file) => ({ path: file.path, why }));
        if (conflicts.length > 0) return { outcome: 'base_changed', conflicts };
        await engine.putBack(path, null, await engine.differing(path, wanted), assertCurrent);
        return applied;
      },
      rollback: async ({ proposal, files, stepKey }, assertCurrent) => {
        const commit = await pushedBefore(held, begun, stepKey);
        if (commit !== null) return { outcome: 'committed', commit };
        const taken = proposal.files.filter((file) => files.includes(file.path));
        await engine.putBack(
          path,
          null,
          await engine.differing(path, atBase(taken)),
          assertCurrent,
        );
        return { outcome: 'rolled_back', files, leftAlone: [] };
      },
      differing: (_, files) => engine.differing(path, files),
      putBack: (_, _step, files, assertCurrent) => engine.putBack(path, null, files, assertCurrent),
      releaseLock: () => Promise.resolve(),
      acquireLock: (_, stepKey, holder) =>
        Promise.resolve({ outcome: 'held', lock: lockOf(stepKey, holder), taken: false }),
      readLock: () => Promise.resolve(lockOf(remote.stepKey, { workflowId: '', namespace: '' })),
      committedWork: () => Promise.resolve(null),
      newestOtherLock: () => Promise.resolve(null),
      // A checkout is made for its run alone.
      earlierRuns: () => Promise.resolve([]),
    };
    return {
      workspace,
      leave: () => leave(place, held),
      repository: {
        ...repository,
        head: () => repository.head(path),
        hasHooks: () => repository.hasHooks(path),
        committed: (_, file) => repository.committed(path, file),
        isPersons: (_, command, paths) => repository.isPersons(path, command, paths),
        message: (_, commit) => repository.message(path, commit),
        holds: (_, commit) => repository.holds(path, commit),
        planCommits: (_, planPath) => repository.planCommits(path, planPath),
        runCommits: (_, limit) => repository.runCommits(path, limit),
        commit: (request, aborted) =>
          commitAndPush(place, held, begun, { ...request, workspace: path }, aborted),
        merge: async (request, assertCurrent) => {
          await remotes.refuseTakenOut(remote, held);
          await remotes.fetchCommit(remote, request.theirs, signal);
          const parts = { engine: { ...engine, ...workspace }, blobs };
          const merged = await mergeInto(parts, { ...request, workspace: path }, assertCurrent);
          // One that was made before is pushed.
          if (merged.outcome !== 'merged' || merged.parent !== base) return merged;
          assertCurrent();
          const failed = await pushed(place, held, merged.commit);
          return failed === null
            ? merged
            : { outcome: 'failed', problem: problem('git_failed', failed.message) };
        },
        worktrees: {
          ...repository.worktrees,
          make: (wanted, attempt) =>
            repository.worktrees.make({ ...wanted, workspace: path }, attempt),
          // Of a plan, which has none on a disk.
          remove: async (plan, name) => {
            if (!place.isShared || plan !== remote.stepKey)
              return repository.worktrees.remove(plan, name);
            const branch = phaseBranchOf(plan, name);
            return { name, branch, ...(await remotes.dropBranch(remote, branch, base, signal)) };
          },
        },
      },
    };
  }

  /** The same commit as another attempt's is found on the branch; whatever else is there is not ours to replace. */
  async function commitAndPush(
    ...[place, held, begun, request, signal]: [Place, Held, Begun, CommitRequest, AbortSignal?]
  ): Promise<CommitOutcome> {
    const { remote, isShared } = place;
    const where = `the branch ${remote.branch} of ${remote.url}`;
    const done = { outcome: 'committed', note: `pushed to ${where}` } as const;
    const before = await pushedBefore(held, begun, request.stepKey);
    if (before !== null) {
      const [mark] = request.marks ?? [];
      const said = await repository.message(held.path, before);
      await drop(place);
      return {
        ...done,
        commit: before,
        marks: mark !== undefined && said.includes(markTrailer(mark)),
      };
    }
    await remotes.refuseTakenOut(remote, held);
    if (held.tip !== null && !(isShared && held.tip === request.lock.head)) {
      // Nobody is at work for this run any more, and the next attempt looks at the remote anew.
      await drop(place);
      const why = isShared
        ? `${where} has moved to ${held.tip.slice(0, 12)} since the files were changed`
        : `${where} is not this run's: delete it first`;
      return { outcome: 'conflict', why };
    }
    const made = await repository.commit(request, signal);
    if (made.outcome === 'failed') await remotes.clearDamage(remote, made.problem.message);
    if (made.outcome !== 'committed') return made;
    if ((await request.mayMove?.()) === false) fail('busy', 'This attempt may push no more.');
    const failed = await pushed(place, held, made.commit);
    if (failed === null) return { ...made, ...done };
    return failed.code === 'conflict'
      ? { outcome: 'conflict', why: failed.message }
      : { outcome: 'failed', problem: failed };
  }

  /** Null: it is at the tip of the branch now; `conflict`: that has moved, and the next attempt looks anew. Throws ProblemError `busy`. */
  async function pushed(place: Place, held: Held, tip: string): Promise<Problem | null> {
    try {
      await remotes.push(place.remote, held, {
        token: await remotes.newToken(place.remote, held.at),
        tip,
      });
    } catch (error) {
      if (!(error instanceof ProblemError) || error.problem.code === 'busy') throw error;
      if (error.problem.code === 'conflict') await drop(place);
      return error.problem;
    }
    await drop(place);
    return null;
  }
};

/** A checkout's commit, and the one that the run began at. */
interface Begun extends Pick<CheckoutWanted, 'commit' | 'signal'> {
  readonly since: string;
}
const pushedBefore = async (
  { path, tip }: Held,
  { since }: Begun,
  stepKey: StepKey,
): Promise<string | null> => (tip === null ? null : commitOfStep(path, since, tip, stepKey));
const atBase = (files: ApplyRequest['proposal']['files']) =>
  files.map(({ path, base }) => ({ path, result: base }));

/** `json`: of its note. */
const pathFor = (
  { dir, remote }: Place,
  nonce = randomBytes(NONCE_BYTES).toString('hex'),
): string => join(dir, `${remote.stepKey}.${nonce}`);

/** What a run has left here under its token. */
const drop = ({ dir, remote }: Place): Promise<void> =>
  remotes.removeNamed(dir, `${remote.stepKey}.`);

const leave = async (place: Place, { path }: Held): Promise<void> => {
  if ((await readJson<Held>(sys, pathFor(place, 'json'), 'Held'))?.path === path)
    await rm(pathFor(place, 'json'), { force: true });
  await remotes.removeNamed(place.dir, basename(path));
};

/** Of runs that ended without a commit, or went on elsewhere. */
async function dropUnused(dir: string): Promise<void> {
  for (const name of (await readdir(dir)).filter((each) => each.endsWith('.json'))) {
    const { mtimeMs } = await stat(join(dir, name)).catch(() => ({ mtimeMs: Infinity }));
    if (Date.now() - mtimeMs >= UNUSED_DAYS * 86_400_000)
      await remotes.removeNamed(dir, name.slice(0, -'json'.length));
  }
}
