/**
 * What a worker asks the server about runs other than those it works for: whether the holder of a workspace has ended, and once at
 * its start what became of the runs that ended while nobody looked. Opened when first needed; a server that is slow or away holds up
 * nothing.
 */
import { ProblemError } from '../shared/problems.js';
import { WORKFLOWS } from '../shared/protocol.js';
import type { LeaseHolder, RunStanding } from '../workspace/types.js';
import { noteClosed } from './close-archive.js';
import { ARCHIVES, settleHolds } from './leases.js';
import type { Holds } from './leases.js';
import { openEmend } from './open.js';
import { withLive } from './resolve-run.js';
import { standingOfRun } from './run-standing.js';
import type { Emend } from './types.js';

/** Runs that did not come to an end of their own, looked at once by each worker's start. */
const MAX_ENDED = 100;

export interface EndedRuns {
  standingOf(holder: LeaseHolder): Promise<RunStanding>;
  /** Keeps in the archive how cut-off runs ended, and releases or names the workspaces that ended runs hold. Null: it was closed. */
  sweep(): Promise<Holds | null>;
  close(): Promise<void>;
}

export const askEndedRuns = (env: Readonly<Record<string, string | undefined>>): EndedRuns => {
  let opened: Promise<Emend> | null = null;
  let closed = false;
  const open = async (): Promise<Emend> => {
    // The worker has its home already: where it went away, none is made in its place.
    opened ??= openEmend({ env, existing: true });
    try {
      const emend = await opened;
      // A server that was away may be back the next time, and so may a home.
      if (emend.runs === null) opened = null;
      return emend;
    } catch (error) {
      opened = null;
      throw error;
    }
  };
  return {
    standingOf: async (holder) => standingOfRun(await open(), holder),
    sweep: async () => {
      try {
        const emend = await open();
        await noteEnded(emend);
        return await settleHolds(emend, ARCHIVES.workerStart);
      } catch (error) {
        if (closed) return null;
        if (error instanceof ProblemError) return { held: [], released: [], note: error.problem.message };
        throw error;
      }
    },
    close: async () => {
      closed = true;
      await (await opened)?.close();
    },
  };
};

const noteEnded = async (emend: Emend): Promise<void> => {
  const cutOff = ['Terminated', 'TimedOut', 'Failed', 'Canceled'].map((status) => `ExecutionStatus = "${status}"`);
  const ours = `WorkflowType = "${WORKFLOWS.editStep}" AND TaskQueue = "${emend.queues.workflow}"`;
  const found = (await emend.runs?.list(`${ours} AND (${cutOff.join(' OR ')})`, MAX_ENDED)) ?? [];
  for (const run of found) if (run.memo !== null) await noteClosed(emend, await withLive(emend, run.memo.stepKey, run));
};
