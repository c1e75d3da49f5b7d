/** Takes a checkout for an attempt: with the hold that its home has on the run, or by taking the run over. */
import { utimes } from 'node:fs/promises';
import { join } from 'node:path';
import { planOf } from '../../shared/ids.js';
import { fail } from '../../shared/problems.js';
import { orNull, putJsonIfAbsent } from '../../system/durable.js';
import { realSys as sys } from '../../system/sys.js';
import { git, valueOf } from '../git/git.js';
import {
  notePath,
  readNote,
  removeRun,
  removeUnused,
  removeWorktree,
  worktreePath,
  type CheckoutHold,
  type Place,
  type RunOnRepository,
} from './place.js';
import * as remotes from './remote.js';

export interface CheckoutRequest extends RunOnRepository {
  /** Commit that the run began at. */
  readonly commit: string;
  /** Time at which the server scheduled this attempt, ms since the epoch. An attempt never replaces the token of one that was scheduled later. */
  readonly scheduledAt_ms: number;
  /** Another attempt may still be at work: this one takes the run over, and the other one can push nothing any more. */
  readonly takeOver: boolean;
  /** For a plan: its files are those of the tip of its branch, if it has one. */
  readonly atTip?: boolean;
}

/** A checkout that an attempt works in. */
export interface TakenCheckout {
  readonly place: Place;
  readonly hold: CheckoutHold;
  /** Commit that its files are of. */
  readonly commit: string;
  /** Commit that the run began at. */
  readonly startCommit: string;
  readonly signal: AbortSignal;
}

/** Returns the commit that the run's base names now. */
export async function resolveCommit(
  { remote, isShared }: Place,
  run: RunOnRepository,
  knownCommit: string | undefined,
): Promise<string> {
  const isPhase = isShared && planOf(run.stepKey) !== run.stepKey;
  // A phase begins where its plan is now.
  const tip = isPhase
    ? await remotes.refuseTakenOut(remote, await remotes.readRefs(remote, run.signal))
    : null;
  return tip ?? (await remotes.resolveBase(remote, run, knownCommit));
}

/** Takes a checkout of the commit that the base names now. It has no token, so nothing can be pushed from it. */
export async function takeForReading(place: Place, run: RunOnRepository): Promise<TakenCheckout> {
  const { signal } = run;
  const commit = await remotes.resolveBase(place.remote, run);
  const path = worktreePath(place);
  await remotes.addWorktree(place.remote, path, commit, signal);
  const hold: CheckoutHold = { token: '', tip: null, last: null, at: 0, path };
  return { place, hold, commit, startCommit: commit, signal };
}

export async function takeForWork(place: Place, request: CheckoutRequest): Promise<TakenCheckout> {
  const { commit: startCommit, signal } = request;
  await remotes.fetchCommit(place.remote, startCommit, signal);
  const hold = (await findHold(place, request)) ?? (await takeOver(place, request));
  const commit = request.atTip === true ? (hold.tip ?? startCommit) : startCommit;
  await utimes(notePath(place), new Date(), new Date());
  // Ignored files stay: dependencies that were installed, and caches.
  valueOf(await git(['reset', '--quiet', '--hard', commit], { cwd: hold.path }));
  valueOf(await git(['clean', '-ffdq'], { cwd: hold.path }));
  return { place, hold, commit, startCommit, signal };
}

/** Returns the hold that this home has on the run; null: this attempt must take the run over. */
async function findHold(
  place: Place,
  { takeOver: mustTakeOver, scheduledAt_ms, signal }: CheckoutRequest,
): Promise<CheckoutHold | null> {
  const hold = mustTakeOver ? null : await readOwnNote(place);
  if (hold === null || hold.at > scheduledAt_ms) return null;
  if (!place.isShared) return hold;
  // Other runs may have pushed to the branch. Their commits are seen for as long as no attempt has taken this run over.
  const refs = await remotes.readRefs(place.remote, signal);
  return refs.token === hold.token ? { ...hold, ...refs } : null;
}

/** Returns the hold of the run's note, if its worktree is there. In a copy of a home the note names the worktree of the original. */
async function readOwnNote(place: Place): Promise<CheckoutHold | null> {
  const note = await readNote(place);
  if (note === null || note.path !== worktreePath(place, note.path.split('.').at(-1))) return null;
  const gitFile = await orNull(sys.lstat(join(note.path, '.git')), ['ENOENT', 'ENOTDIR']);
  return gitFile === null ? null : note;
}

/** Puts a new token on the remote, so that no earlier attempt can push, and makes a worktree. Throws ProblemError `busy`. */
async function takeOver(
  place: Place,
  { commit, signal, scheduledAt_ms }: CheckoutRequest,
): Promise<CheckoutHold> {
  const { remote } = place;
  const refs = await remotes.readRefs(remote, signal);
  await remotes.checkTurn(remote, refs.token, scheduledAt_ms, signal);
  const token = await remotes.newToken(remote, scheduledAt_ms);
  await remotes.push(remote, refs, { token });
  await removeRun(place);
  await removeUnused(place);
  await remotes.pack(remote);
  const hold: CheckoutHold = { ...refs, token, at: scheduledAt_ms, path: worktreePath(place) };
  try {
    await remotes.addWorktree(remote, hold.path, commit, signal);
    const { created } = await putJsonIfAbsent(sys, notePath(place), hold);
    return created ? hold : fail('busy', 'A later attempt took over this run at this moment.');
  } catch (error) {
    await removeWorktree(place, hold);
    throw error;
  }
}
