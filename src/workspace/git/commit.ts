/**
 * Commits a step's files: the changed directories as trees of their own, `commit-tree` with the lock's commit as parent and fixed
 * dates, then the person's index and the branch under git's lock of the index (land-commit.ts). The same request makes the same commit,
 * so a retry finds it done. Killed at any point it leaves loose objects, a scratch directory and a lock that the next attempt ends.
 */
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp } from 'node:fs/promises';
import { join } from 'node:path';
import { fail, ProblemError } from '../../shared/problems.js';
import { planEntries } from './commit-entries.js';
import {
  hookObjects,
  hooksDir,
  runHook,
  runMessageHook,
  type HookBox,
  type HookSettings,
  commitSettings,
  makeCommit,
  markTrailer,
  withTrailer,
} from './commit-hooks.js';
import { checkObjects, filesIn, takeIndex, type ChangedFile } from './hook-results.js';
import { commitSince, stateOfHolder } from './commit-branch.js';
import { recoverIndexLock } from './index-lock.js';
import { landCommit } from './land-commit.js';
import { git, gitLine, repositoryOf, valueOf, type GitRepository } from './git.js';
import { treeChanges, treeEntries, treeWith } from './entries.js';
import { STORE_BOUNDS } from '../../shared/bounds.js';
import { withScratch } from '../../system/scratch.js';
import { realSys, type Sys } from '../../system/sys.js';
import type { BlobStore } from '../../stores/ports.js';
import type { SandboxSettings } from '../../documents/job/index.js';
import type { CommandRunner } from '../commands/index.js';
import { removeTree, type Layers } from '../layers/index.js';
import type { CommitOutcome, CommitRequest, StagedFile } from '../ports.js';
import type { Repository } from '../repository.js';

export interface CommitterSettings {
  readonly blobs: BlobStore;
  /** For hooks. */
  readonly commands: CommandRunner;
  /** For hooks: what they write in the working tree is dropped if there can be an overlay over it. */
  readonly layers: Layers;
  /** How long locks that another git process holds on the index or the branch are waited for. Default 10,000. */
  readonly lockWait_ms?: number;
  /** Time of one commit hook. Default: `hook_s`. */
  readonly hookTimeout_s?: number;
  readonly sys?: Sys;
}

export function createCommitter(settings: CommitterSettings): Repository['commit'] {
  const {
    blobs,
    commands,
    layers,
    lockWait_ms = 10_000,
    hookTimeout_s = STORE_BOUNDS.hook_s,
    sys = realSys,
  } = settings;
  return (request, signal) =>
    withScratch('commit', async (scratch) => {
      try {
        const why = `${request.workspace} is not in a git repository, so it cannot be committed`;
        const repository = (await repositoryOf(request.workspace)) ?? fail('not_a_repository', why);
        return await commitIn({
          repository,
          request,
          blobs,
          commands,
          layers,
          scratch,
          hookTimeout_s,
          signal,
          sys,
          wait_ms: lockWait_ms,
        });
      } catch (error) {
        if (error instanceof ProblemError) return { outcome: 'failed', problem: error.problem };
        throw error;
      }
    });
}

interface Work extends Pick<CommitterSettings, 'blobs' | 'commands' | 'layers'> {
  readonly repository: GitRepository;
  readonly request: CommitRequest;
  readonly scratch: string;
  readonly hookTimeout_s: number;
  readonly signal: AbortSignal | undefined;
  readonly wait_ms: number;
  readonly sys: Sys;
}

async function commitIn(work: Work): Promise<CommitOutcome> {
  const outcome = await tryCommit(work);
  if (outcome.outcome === 'committed') return outcome;
  // An attempt that the server gave up too early may have committed and ended the hold while this one was at work: what kept this one
  // from it then (the hold is gone, the next step changes the files) is no conflict.
  const commit = await commitSince(work.request.workspace, work.request.lock);
  if (commit !== null) return finish(work, commit);
  // Marks hold nothing up: what they conflict with, or a hook says of them, is asked about where they are committed by themselves.
  const { marks = [], ...request } = work.request;
  return marks.length === 0 ? outcome : tryCommit({ ...work, request });
}

async function tryCommit(work: Work): Promise<CommitOutcome> {
  const { repository, request } = work;
  const { root } = repository;
  await recoverIndexLock(work.sys, repository);
  const standing = await stateOfHolder(repository, request.lock);
  if (standing.kind === 'committed') return finish(work, standing.commit);
  if (standing.kind === 'elsewhere') return { outcome: 'conflict', why: standing.why };

  const planned = await planEntries(root, repository.prefix, request, work.blobs);
  if (planned.conflicts.length > 0)
    return { outcome: 'conflict', why: planned.conflicts.join('; ') };
  if (planned.paths.length === 0) return { outcome: 'nothing' };
  const { tree, lost } = await treeWith(root, planned.folders, planned);
  // A new file under the name of a committed directory, or the reverse, would silently push that out of the tree.
  if (lost.length > 0) {
    const why = `committing would also remove ${lost.slice(0, 5).join(', ')} from the parent commit`;
    return { outcome: 'conflict', why };
  }

  let message = await withTrailer(root, request.message, request);
  const settings = await commitSettings(root);
  const dir = request.hooks ? await hooksDir(repository, settings) : null;
  if (dir !== null) {
    const why = request.sandbox === 'off' ? null : await work.commands.withoutSandbox();
    if (why !== null) return { outcome: 'no_sandbox', why };
    const box = request.sandbox === 'off' ? null : await boxOf(work, request.sandbox, dir);
    const checked = await withHooks(work, box, { tree, message });
    if ('outcome' in checked) return checked;
    if (checked.message !== message) message = await withTrailer(root, checked.message, request);
  }
  const parents = request.lock.head === null ? [] : [request.lock.head];
  const { date, sign } = request;
  const commit = valueOf(await makeCommit(root, { tree, parents, message, settings, date, sign }));
  const landed = await landCommit({
    repository,
    lock: request.lock,
    commit,
    subject: message.slice(0, message.indexOf('\n')),
    records: request.records ?? [],
    changes: planned,
    wait_ms: work.wait_ms,
    mayMove: request.mayMove ?? (() => Promise.resolve(true)),
    sys: work.sys,
  });
  switch (landed.kind) {
    case 'failed':
      return { outcome: 'failed', problem: landed.problem };
    case 'elsewhere':
      return { outcome: 'conflict', why: landed.why };
    case 'committed':
      return finish(work, landed.commit);
    case 'moved':
      return finish(work, commit, landed.note);
  }
}

async function boxOf(work: Work, settings: SandboxSettings, hooks: string): Promise<HookBox> {
  const { repository, request, commands, layers } = work;
  const { root } = repository;
  const asked = ['rev-parse', '--path-format=absolute', '--git-path', 'objects'];
  const objects = valueOf(await gitLine(asked, { cwd: root, reading: true }));
  const hasOverlay = (await layers.problem(root)) === null;
  return {
    commands,
    layers: hasOverlay ? layers : null,
    run: request.stepKey,
    settings,
    hooks,
    objects,
  };
}

interface ToCheck {
  readonly tree: string;
  readonly message: string;
}
type Checked = { readonly message: string } | CommitOutcome;

/** Runs the hooks in a directory of their own: an attempt before this one may have left anything in its. */
async function withHooks(work: Work, box: HookBox | null, commit: ToCheck): Promise<Checked> {
  const { repository, request, hookTimeout_s: timeout_s, signal } = work;
  const place = await mkdtemp(join(work.scratch, 'hooks.'));
  const dir = join(place, 'shared');
  try {
    await mkdir(dir);
    await mkdir(filesIn(dir).objects);
    const hooks: HookSettings = {
      root: repository.root,
      dir,
      files: request.files
        .filter(({ result }) => result !== null)
        .map(({ path }) => repository.prefix + path),
      timeout_s,
      env: request.env,
      box,
      ...(signal === undefined ? {} : { signal }),
    };
    return await runHooks(work, hooks, { ...commit, index: join(place, 'index') });
  } finally {
    await removeTree(place);
  }
}

/** `index`: where what the hooks leave as the index is copied to. */
async function runHooks(
  work: Work,
  hooks: HookSettings,
  { tree, message, index }: ToCheck & { readonly index: string },
): Promise<Checked> {
  const { root, prefix } = work.repository;
  const shared = { GIT_INDEX_FILE: filesIn(hooks.dir).index };
  // A split index would leave a shared part of our temporary index in the person's git directory.
  valueOf(
    await git(['-c', 'core.splitIndex=false', 'read-tree', tree], { cwd: root, env: shared }),
  );
  const { problem: refused, changed: rewritten } = await runHook(hooks, 'pre-commit');
  if (refused !== null) {
    const staged = await rewrittenFiles(work, rewritten);
    return { outcome: 'failed', problem: refused, ...(staged.length === 0 ? {} : { staged }) };
  }
  await takeIndex(hooks.dir, index);
  if (hooks.box !== null) await checkObjects(hooks.dir);
  const env = { GIT_INDEX_FILE: index, ...hookObjects(hooks) };
  const now = valueOf(await gitLine(['write-tree'], { cwd: root, env }));
  if (now !== tree) {
    const { paths: changed } = await treeChanges(root, tree, now);
    const paths = changed.map((path) =>
      path.startsWith(prefix) ? path.slice(prefix.length) : path,
    );
    return {
      outcome: 'hook_changed',
      why: `the pre-commit hook changed what was to be committed: ${paths.join(', ')}`,
      staged: await stagedFiles(work, hooks, now, paths),
    };
  }
  const checked = await runMessageHook(hooks, message);
  return 'problem' in checked ? { outcome: 'failed', problem: checked.problem } : checked;
}

/** Files of the request as a pre-commit hook rewrote them on its overlay before it failed. */
async function rewrittenFiles(
  { repository, request, blobs }: Work,
  changed: readonly ChangedFile[],
): Promise<readonly StagedFile[]> {
  const files: StagedFile[] = [];
  for (const { path: inRoot, bytes, mode } of changed) {
    const path = inRoot.slice(repository.prefix.length);
    const isExecutable = (mode & 0o100) !== 0;
    files.push({ path, ref: await blobs.put(bytes), mode: modeOf(request, path, isExecutable) });
  }
  return files;
}

const modeOf = ({ files }: CommitRequest, path: string, isExecutable: boolean): number => {
  const bits = files.find((file) => file.path === path)?.result?.mode ?? 0o644;
  return isExecutable ? bits | 0o111 : bits & ~0o111;
};

/** What a tree holds for files of the request, with line endings and filters as a checkout would give them. */
async function stagedFiles(
  { repository, request, blobs }: Work,
  hooks: HookSettings,
  tree: string,
  paths: readonly string[],
) {
  const { root, prefix } = repository;
  const ours = request.files.map(({ path }) => path).filter((path) => paths.includes(path));
  const inRoot = ours.map((path) => prefix + path);
  const held = await treeEntries(root, tree, inRoot);
  const staged: StagedFile[] = [];
  for (const path of ours) {
    const entry = held.get(prefix + path);
    if (entry?.mode.startsWith('100') !== true) continue;
    const call = { cwd: root, reading: true, env: hookObjects(hooks) };
    const { bytes } = valueOf(
      await git(['cat-file', '--filters', `--path=${prefix}${path}`, entry.id], call),
    );
    const mode = modeOf(request, path, entry.mode === '100755');
    staged.push({ path, ref: await blobs.put(bytes), mode });
  }
  return staged;
}

/** The commit is in the branch. */
async function finish(
  work: Work,
  commit: string,
  indexNote: string | null = null,
): Promise<CommitOutcome> {
  const { repository, request } = work;
  const { root } = repository;
  const { headRef } = request.lock;
  const [mark] = request.marks ?? [];
  const message = ['log', '-1', '--format=%B', commit, '--'];
  const marks =
    mark !== undefined &&
    valueOf(await git(message, { cwd: root, reading: true })).text.includes(markTrailer(mark));
  const committed = { outcome: 'committed', commit, marks } as const;
  const current = await repositoryOf(request.workspace);
  const isAtCommit = current?.head === commit && current.headRef === headRef;
  const rebases = ['rebase-merge', 'rebase-apply'].map((name) => join(repository.gitDir, name));
  const detached = rebases.some((path) => existsSync(path)) ? REBASING : DETACHED;
  const notes = [isAtCommit && headRef === null ? detached : null, indexNote];
  const note = notes.filter((each) => each !== null).join('; ');
  return note === '' ? committed : { ...committed, note };
}

const DETACHED = 'HEAD is detached: no local branch has this commit';
const REBASING = 'a rebase is in progress: `git rebase --abort` would drop this commit';
