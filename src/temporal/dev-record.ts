/**
 * `dev-server.json` in EMEND_HOME: the dev server that serves this home, or the process that is just starting one. It is both what a
 * client without a configured address connects to (own-server.ts), and the claim that keeps a second server off the same database.
 */
import { randomUUID } from 'node:crypto';
import { rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { ProblemError, versioned } from '../shared/problems.js';
import { isAlive, sameProcess, type ProcessIdentity } from '../system/process.js';
import {
  orNull,
  putFileIfAbsent,
  readJson,
  removeClaim,
  removePut,
  writeTemp,
} from '../system/durable.js';
import { linksFail, realSys, type Sys } from '../system/sys.js';
import { pageLinks, type PageLinks } from './page-record.js';

export interface DevServerRecord {
  /** `starting`: `process` is the one that starts the server; `serving`: it is the server itself. */
  readonly state: 'starting' | 'serving';
  readonly process: ProcessIdentity;
  /** Who started it, and ends it: a server whose owner was killed is left behind. Absent: nobody knows, so it is nobody's to end. */
  readonly owner?: ProcessIdentity;
  /** host:port */
  readonly address: string;
  /** The server's own name for itself, which its database keeps over restarts; null while it starts. */
  readonly clusterId: string | null;
  /** Where its Temporal UI listens: for the review page's server to let through, not for people. Null: nowhere. */
  readonly hiddenUi: string | null;
}

/** A dev server that serves, with the addresses of the review page that belongs to it. */
export interface LiveDevServer extends DevServerRecord, PageLinks {}

export const recordPath = (home: string): string => join(home, 'dev-server.json');

/**
 * The record, whoever it belongs to; null when there is none or it cannot be read as one. Throws ProblemError `version_unknown` for one
 * of another version: its server may be alive on the same database.
 */
export const readRecord = (home: string): Promise<DevServerRecord | null> =>
  recordAt(recordPath(home));
const recordAt = (path: string): Promise<DevServerRecord | null> =>
  readJson<DevServerRecord>(realSys, path, 'DevServerRecord').catch((error: unknown) => {
    if (error instanceof ProblemError && error.problem.code === 'version_unknown') throw error;
    return null;
  });

/** The record, if its process is alive: of a server that starts or serves. */
const liveRecord = async (home: string): Promise<DevServerRecord | null> => {
  const record = await readRecord(home);
  return record !== null && (await isAlive(realSys, record.process)) ? record : null;
};

/** The dev server that serves this home now, if its process is alive. */
export const liveDevServer = async (home: string): Promise<LiveDevServer | null> => {
  const record = await liveRecord(home);
  if (record?.state !== 'serving') return null;
  return { ...record, ...(await pageLinks(home, record.owner)) };
};

/**
 * Claims the home for a server about to start. Of several processes that try at once exactly one gets `null`; the others get the live
 * record that stands in their way. A record of a dead process is taken over.
 */
export const claimRecord = async (
  home: string,
  record: DevServerRecord,
  sys = realSys,
): Promise<DevServerRecord | null> => {
  for (;;) {
    const { created } = await putFileIfAbsent(sys, recordPath(home), serialise(record));
    if (created) return null;
    const holder = await liveRecord(home);
    if (holder !== null) return holder;
    await removeDead(home, sys);
  }
};

/** Replaces our own claim: starting -> serving. Only the process that starts the server may call it. */
export const replaceRecord = async (home: string, record: DevServerRecord): Promise<void> => {
  await rename(await writeTemp(realSys, recordPath(home), serialise(record), {}), recordPath(home));
};

/** Removes the record if it still names this process. */
export const removeRecord = async (
  home: string,
  owner: ProcessIdentity,
  sys = realSys,
): Promise<void> => {
  const record = await readRecord(home).catch(() => null);
  if (record && sameProcess(record.process, owner)) await removePut(sys, recordPath(home));
};

/** Takes the record aside and looks again: between our read and our rename another process may have put a live one there. */
const removeDead = async (home: string, sys: Sys): Promise<void> => {
  const path = recordPath(home);
  const aside = `${path}.${randomUUID()}`;
  if ((await orNull(rename(path, aside).then(() => true))) === null) return;
  const taken = await recordAt(aside).catch(() => null);
  if (taken === null || !(await isAlive(sys, taken.process))) await removeClaim(sys, path);
  else
    await sys
      .link(aside, path)
      .catch((error: unknown) => (linksFail(error) ? rename(aside, path) : undefined));
  await rm(aside, { force: true });
};

/** Why no second one is started: message and what to type. */
export const alreadyRunning = (
  home: string,
  holder: DevServerRecord,
): [message: string, next: string] =>
  holder.state === 'serving'
    ? [
        `A dev server of this home (${home}) is already running: pid ${holder.process.pid}, ${holder.address}.`,
        `Use it, or stop it first: kill ${(holder.owner ?? holder.process).pid}`,
      ]
    : [
        `Another process (pid ${holder.process.pid}) is starting a dev server for this home (${home}).`,
        `Wait a moment and try again; if it hangs: kill ${holder.process.pid} (its claim is ${recordPath(home)})`,
      ];

const serialise = (record: DevServerRecord): Uint8Array =>
  Buffer.from(`${JSON.stringify(versioned(record), null, 2)}\n`);
