/** ◆ Commits what was applied, next to what the person staged; the same input gives the same commit id. Ends the lock. */
import { getJson, putJson } from '../../stores/ports.js';
import { unfinishedText } from '../../shared/unfinished.js';
import { fail, ProblemError } from '../../shared/problems.js';
import { shownKey, type BlobRef } from '../../shared/ids.js';
import { auditLines, type AuditReport } from '../../shared/audit.js';
import type { CommitInput, CommitResult, StagedByHook } from '../../shared/proposal-activities.js';
import {
  proposalIdOf,
  recordName,
  type Proposal,
  type ProposalFile,
} from '../../workspace/proposal.js';
import type { CommitOutcome, WorkspaceLock, StagedFile } from '../../workspace/ports.js';
import type { Activity, ActivityScope } from '../frame/activity.js';
import type { ActivityPorts } from '../frame/ports.js';
import { recordOnce } from '../frame/recorded.js';
import { maskWords } from '../frame/secrets.js';
import { fileNow } from './proposal.js';
import { getSnapshot, getText } from './snapshot.js';
import { blockedText, commandConfig, refusedBySandbox, type CommandConfig } from './sandbox.js';

export const commit: Activity<'commit'> = async (ports, input, scope) => {
  const { files, renames, records, unfinished } = await appliedFiles(ports, input);
  const config = await commandConfig(ports, input, files);
  const { hooks, env, sign, sandbox, commitBody } = config;
  const trailer = input.audit === undefined ? '' : trailerOf(input.audit);
  const words = [
    input.message,
    commitBody === 'request' ? await requestOf(ports, input) : '',
    unfinished,
    trailer,
  ]
    .filter((text) => text !== '')
    .join('\n\n');
  const { message } = await maskWords(ports, input, { message: words }, scope.signal);
  const marks = await marksIn(ports, input.marks);
  const hold = await placeOf(ports, input, scope);
  try {
    const outcome = await ports.repository.commit(
      {
        stepKey: input.stepKey,
        workspace: input.workspace,
        files,
        renames,
        marks,
        message,
        lock: hold.lock,
        date: input.lock.takenAt,
        hooks,
        env,
        sign,
        sandbox,
        records,
        mayMove: async () => {
          scope.assertCurrent();
          return (await ports.workspace.readLock(input.workspace))?.token === hold.lock.token;
        },
      },
      scope.signal,
    );
    // Of a late attempt nobody takes the outcome, and the lock may be the step's next one by now.
    scope.assertCurrent();
    if (outcome.outcome === 'committed' || outcome.outcome === 'nothing') await hold.release();
    switch (outcome.outcome) {
      case 'failed':
        return await ofFailure(ports, input, outcome, config);
      case 'hook_changed':
        return await ofChange(ports, input, outcome.why, outcome.staged);
      default:
        return resultOf(outcome);
    }
  } finally {
    await hold.end();
  }
};

const requestOf = async ({ blobs }: ActivityPorts, { snapshot }: CommitInput): Promise<string> =>
  (await getText(blobs, (await getSnapshot(blobs, snapshot)).instructions)).trim();

/** What an audit that did not plainly pass found. */
const trailerOf = (report: AuditReport): string =>
  report.verdict === 'pass'
    ? ''
    : [report.verdict, ...auditLines(report)].map((line) => `Emend-Audit: ${line}`).join('\n');

type Failure = Extract<CommitOutcome, { outcome: 'failed' }>;

async function ofFailure(
  ports: ActivityPorts,
  input: CommitInput,
  { problem, staged = [] }: Failure,
  { sandbox, sandboxFile }: Pick<CommandConfig, 'sandbox' | 'sandboxFile'>,
): Promise<CommitResult> {
  const { code, message } = problem;
  // A hook that the worker's stop cut short has not failed, and a lock may be gone: the next attempt tries again.
  if (code === 'aborted' || code === 'busy') throw new ProblemError(problem);
  // A hook does nothing on the untouched base: what it says is all that tells.
  const refused = code === 'hook_failed' && sandbox !== 'off' ? refusedBySandbox(message) : null;
  if (refused !== null)
    return {
      outcome: 'sandbox_blocks',
      why: blockedText(message, refused, { workspace: input.workspace, sandboxFile }),
    };
  if (staged.length === 0) return { outcome: 'failed', problem };
  // As `pre-commit` works: a hook mends the files and fails, so that somebody looks at them before they are committed.
  const paths = staged.map(({ path }) => path).join(', ');
  return ofChange(ports, input, `${message}; before that it changed ${paths}`, staged);
}

async function ofChange(
  ports: ActivityPorts,
  { workspace }: CommitInput,
  why: string,
  staged: readonly StagedFile[],
): Promise<CommitResult> {
  const kept = await keepStaged(ports, workspace, staged);
  return { outcome: 'conflict', reason: 'hook_changed', why, ...kept };
}

/** Beside what was staged: the files as they are now, so that the next proposal can tell a hook that left them alone from one that did not. */
async function keepStaged(
  { blobs, workspace }: ActivityPorts,
  name: string,
  staged: readonly StagedFile[],
) {
  const root = await workspace.root(name);
  const files: StagedByHook['files'][number][] = [];
  for (const file of staged) files.push({ ...file, disk: await fileNow(blobs, root, file.path) });
  return files.length === 0
    ? {}
    : { staged: await putJson(blobs, { files } satisfies StagedByHook) };
}

function resultOf(
  outcome: Exclude<CommitOutcome, { outcome: 'hook_changed' | 'failed' }>,
): CommitResult {
  switch (outcome.outcome) {
    case 'committed': {
      const { commit: made, note = null, marks } = outcome;
      return { outcome: 'committed', commit: made, note, marks };
    }
    case 'nothing':
    case 'no_sandbox':
      return outcome;
    case 'conflict':
      return { outcome: 'conflict', reason: 'conflict', why: outcome.why };
  }
}

export const marksIn = (
  { blobs }: Pick<ActivityPorts, 'blobs'>,
  marks: readonly BlobRef[] = [],
): Promise<Proposal[]> => Promise.all(marks.map((mark) => getJson<Proposal>(blobs, mark, 'mark')));

/** First base and last result of every file over all applications of the step. */
export async function appliedFiles(
  { blobs }: Pick<ActivityPorts, 'blobs'>,
  input: Pick<CommitInput, 'stepKey' | 'applications'>,
) {
  const files = new Map<string, ProposalFile>();
  const renames: Proposal['renames'][number][] = [];
  const records: string[] = [];
  let unfinished = '';
  for (const application of input.applications) {
    const proposal = await getJson<Proposal>(blobs, application.proposal, 'proposal');
    const applied = new Set(application.files);
    unfinished = unfinishedText(proposal.unfinished ?? []);
    records.push(recordName(input.stepKey, proposalIdOf(proposal), application.decision));
    for (const file of proposal.files) {
      if (!applied.has(file.path)) continue;
      const first = files.get(file.path);
      files.set(file.path, first === undefined ? file : { ...file, base: first.base });
    }
    renames.push(
      ...proposal.renames.filter(({ from, to }) => applied.has(from) && applied.has(to)),
    );
  }
  return {
    files: [...files.values()].sort((a, b) => (a.path < b.path ? -1 : 1)),
    renames,
    records,
    unfinished,
  };
}

interface CommitPlace {
  /** The parent is HEAD as it was when the lock was taken, or, after `rebase` at a commit conflict, as it was at the first such attempt. */
  readonly lock: WorkspaceLock;
  /** Ends the step's lock. */
  readonly release: () => Promise<void>;
  /** Ends what this attempt itself took. */
  readonly end: () => Promise<void>;
}

async function placeOf(
  ports: ActivityPorts,
  input: CommitInput,
  { assertCurrent, owner }: ActivityScope,
): Promise<CommitPlace> {
  const { workspace, stepKey } = input;
  const release = (number: number) => (): Promise<void> =>
    ports.workspace.releaseLock(workspace, stepKey, number);
  const lock: WorkspaceLock = { stepKey, ...owner, ...input.lock };
  if (input.ontoCurrent === null)
    return { lock, release: release(lock.token), end: () => Promise.resolve() };
  // A person said that the commit goes on top of what is there now; where the hold had ended, it is taken anew.
  const held = await ports.workspace.acquireLock(workspace, stepKey, owner, assertCurrent);
  if (held.outcome === 'busy')
    return fail('busy', `Step ${shownKey(held.holder.stepKey)} holds ${workspace}.`);
  const onto = async (): Promise<Pick<WorkspaceLock, 'head' | 'headRef'>> => {
    // Kept for good, so nothing is noted of a directory that is not mounted at this moment.
    const now =
      (await ports.repository.head(workspace)) ??
      fail('not_a_repository', `${workspace} is not in a git repository.`);
    return { head: now.head, headRef: now.headRef };
  };
  const key = `steps/${stepKey}/onto-${input.ontoCurrent}`;
  const { head, headRef } = await recordOnce(ports.records, key, onto);
  const { token } = held.lock;
  const end = held.taken ? release(token) : () => Promise.resolve();
  return { lock: { ...lock, head, headRef, token }, release: release(token), end };
}
