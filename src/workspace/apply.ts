/** The apply engine: lease, check, transaction, outcome. See design 4.8; apply-transact.ts and apply-forward.ts hold the protocol. */
import { join } from 'node:path';
import { fail, problem } from '../shared/problems.js';
import { isStepKey } from '../shared/refs.js';
import { checkFiles } from './apply-check.js';
import { isAt, look } from './apply-look.js';
import { freshId } from './apply-names.js';
import { ownProcess } from './apply-process.js';
import type { ProcessIdentity } from './apply-process.js';
import { takeBack } from './apply-prepare.js';
import { isOpen, openRecord, recordName } from './apply-record.js';
import type { ClosedRecord, TransactionRecord } from './apply-record.js';
import { asAttempt, problemOf, transact } from './apply-transact.js';
import type { PlanAttempt, TransactContext } from './apply-transact.js';
import { proposalIdOf } from './hash.js';
import { homePaths } from './home.js';
import { createLeaseKeeper } from './lease.js';
import type { LeaseKeeper } from './lease.js';
import { recoverAll } from './recover.js';
import { rollBack, rollbackName } from './rollback.js';
import { onDisk, orNull, readJson } from './sys-put.js';
import { realSys } from './sys.js';
import type { Sys } from './sys.js';
import type { ApplyEngine, ApplyOutcome, ApplyRequest, BlobStore, LeaseHolder } from './types.js';

export interface ApplyEngineOptions {
  /** As resolveHome gives it. */
  readonly home: string;
  readonly blobs: BlobStore;
  readonly sys?: Sys;
  readonly leases?: LeaseKeeper;
  /** Who we are to other processes; found out unless told. */
  readonly process?: ProcessIdentity;
  /** How long another live attempt at the same record is waited for before it is joined. */
  readonly patience_ms?: number;
}

const PATIENCE_MS = 10_000;

export interface EngineParts extends TransactContext {
  readonly transactions: string;
}

export const createApplyEngine = (options: ApplyEngineOptions): ApplyEngine => {
  const { home, blobs, sys = realSys, patience_ms = PATIENCE_MS } = options;
  const leases = options.leases ?? createLeaseKeeper({ home, sys });
  let identity: Promise<ProcessIdentity> | null =
    options.process === undefined ? null : Promise.resolve(options.process);
  const parts = async (): Promise<EngineParts> => {
    const process = await (identity ??= ownProcess(sys));
    return { sys, blobs, process, patience_ms, transactions: homePaths(home).transactions };
  };

  return {
    apply: async (request) => {
      checkRequest(request);
      return onDisk(`Applying to ${request.workspace}`, async () => applyOnce(await parts(), leases, home, request));
    },
    rollback: async (request) => {
      checkRequest(request);
      return onDisk(`Rolling back in ${request.workspace}`, async () => rollBack(await parts(), request));
    },
    releaseLease: (workspace, stepKey) => leases.release(workspace, stepKey),
    readLease: (workspace) => leases.read(workspace),
    recover: () => onDisk('Recovery', async () => recoverAll(await parts())),
  };
};

/** Requests come through histories and JSON: what names files and records is checked again. */
const checkRequest = (request: ApplyRequest): void => {
  const { stepKey, proposalId, proposal, decision, files } = request;
  if (!isStepKey(stepKey)) fail('internal', `${JSON.stringify(stepKey)} is no step key.`);
  if (!Number.isSafeInteger(decision) || decision < 0) fail('internal', `${decision} is no number of a decision.`);
  // What was reviewed is what is applied.
  if (proposalIdOf(proposal) !== proposalId)
    fail('internal', `The proposal does not have the id ${proposalId} that was approved.`);
  const known = new Set(proposal.files.map((file) => file.path));
  const unknown = files.find((path) => !known.has(path));
  if (unknown !== undefined) fail('internal', `${unknown} is not in the proposal ${proposalId}.`);
};

const applyOnce = async (
  parts: EngineParts,
  leases: LeaseKeeper,
  home: string,
  request: ApplyRequest,
): Promise<ApplyOutcome> => {
  const { sys, transactions } = parts;
  const { stepKey, proposalId, decision, workspace } = request;
  const record = openRecord(sys, transactions, recordName(stepKey, proposalId, decision));
  const { closed } = await record.load();
  if (closed !== null) return again(parts, record, closed);

  const root = await orNull(sys.realpath(workspace));
  if (root === null) return { outcome: 'failed', problem: problem('disk', `The workspace ${workspace} is not there.`) };
  if (`${root}/`.startsWith(`${home}/`))
    return {
      outcome: 'failed',
      problem: problem('home_unusable', `The workspace ${root} lies in Emend's home ${home}.`),
    };
  const held = await leases.take(root, stepKey, request.holder).catch((error: unknown) => failedAt(error, root));
  if (held.outcome === 'failed') return held;
  if (held.outcome === 'busy') return { outcome: 'busy', holder: held.holder };

  const done = await asAttempt((attempt) =>
    transact(parts, record, attempt, async (generation): Promise<PlanAttempt> => {
      const checked = await checkFiles(sys, parts.blobs, { root, home }, request);
      if (checked.conflicts.length > 0) return { ok: false, conflicts: checked.conflicts };
      const ids = { stepKey, proposalId, decision, generation, attempt, token: freshId(), process: parts.process };
      const { files, dirs } = checked;
      const plan = {
        v: 1,
        kind: 'apply',
        ...ids,
        workspace: root,
        lease: held.lease,
        files,
        dirs,
        dropDirs: [],
      } as const;
      return { ok: true, plan, checked };
    }).catch((error: unknown) => openOrFailed(parts, record, attempt, error, root)),
  );
  if (done.outcome === 'closed') return outcomeOf(record, done.closed);
  // Nothing of this step was written by this call: others may have the workspace, unless it holds earlier files of the step.
  // Where even that cannot be written down, the step's end releases the lease.
  await releaseIfIdle(parts, leases, root, held.lease).catch(() => undefined);
  return done;
};

const failedAt = (error: unknown, root: string) => ({ outcome: 'failed', problem: problemOf(error, root) }) as const;

/** After an error: an outcome where nothing was written and nothing will be, else thrown on, as the record must be gone on with. */
const openOrFailed = async (
  { sys }: EngineParts,
  record: TransactionRecord,
  attempt: string,
  error: unknown,
  root: string,
) => {
  const state = await record.load();
  if (state.closed !== null) return { outcome: 'closed', closed: state.closed } as const;
  if (state.plan === null || !isOpen(state)) return failedAt(error, root);
  // Without a verdict nothing goes forward, and only the attempt that planned, which ends here, could have asked for one.
  if (state.verdict === 'committed' || state.plan.attempt !== attempt) throw error;
  await takeBack(sys, state.plan).catch(() => undefined);
  return failedAt(error, root);
};

const releaseIfIdle = async (
  parts: EngineParts,
  leases: LeaseKeeper,
  root: string,
  lease: LeaseHolder,
): Promise<void> => {
  if (!(await holdsFiles(parts, lease.stepKey, lease))) await leases.release(root, lease.stepKey);
};

const outcomeOf = (record: TransactionRecord, { outcome, files, conflicts, lease }: ClosedRecord): ApplyOutcome =>
  outcome === 'applied'
    ? { outcome, record: record.name, files, lease }
    : { outcome, record: record.name, files, lease, conflicts };

/** A closed record is not applied again. Where all its files are at their base somebody undid it, and a person must say what now. */
const again = async ({ sys }: EngineParts, record: TransactionRecord, closed: ClosedRecord): Promise<ApplyOutcome> => {
  const { plan } = await record.load();
  const applied = plan?.files.filter((file) => closed.files.includes(file.path) && file.by === 'model') ?? [];
  for (const file of applied) {
    const seen = await look(sys, join(plan?.workspace ?? '', file.real));
    if (isAt(seen, file.result) || !isAt(seen, file.base)) return outcomeOf(record, closed);
  }
  if (applied.length === 0) return outcomeOf(record, closed);
  const conflicts = applied.map(({ path }) => ({
    path,
    why: `${path}: it was applied, and somebody put it back to its base`,
  }));
  return { outcome: 'conflict', record: record.name, conflicts, files: [], lease: closed.lease };
};

/** Did the step apply files under this lease that were not rolled back? */
const holdsFiles = async (
  { sys, transactions }: EngineParts,
  stepKey: string,
  lease: LeaseHolder,
): Promise<boolean> => {
  const closedOf = (name: string) =>
    readJson(sys, join(transactions, stepKey, name, 'closed.json')) as Promise<ClosedRecord | undefined>;
  const names = (await orNull(sys.readdir(join(transactions, stepKey)))) ?? [];
  for (const name of names) {
    if (rollbackName(name) === name || names.includes(rollbackName(name))) continue;
    const closed = await closedOf(name);
    if (closed?.lease.number === lease.number && closed.files.length > 0) return true;
  }
  return false;
};
