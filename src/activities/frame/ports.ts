/** What activities work with; wired once in worker.ts, replaced piece by piece in tests. */
import type { Logger } from 'pino';
import type { ArchiveSink } from '../../shared/step-activities.js';
import { eventEntries } from '../../stores/index.js';
import type { CallJournal, ModelPort } from '../../model/ports.js';
import type { Timings } from '../../shared/limits.js';
import type { AwaitPhaseResult } from '../../shared/plan-activities.js';
import type { Committer } from '../../workspace/git/index.js';
import type { ApplyEngine, LeaseHolder, RunStanding } from '../../workspace/ports.js';
import type { Archive, BlobStore, RecordStore } from '../../stores/ports.js';
import type { EditRunner } from './edit-worker.js';

export interface ActivityPorts {
  readonly home: string;
  /** Throws ProblemError where home or store are not what they were when the worker started (HomeGuard). */
  readonly checkHome: () => Promise<void>;
  readonly blobs: BlobStore;
  readonly records: RecordStore;
  readonly archive: Archive;
  readonly journal: CallJournal;
  readonly model: Pick<ModelPort, 'ready'>;
  readonly engine: ApplyEngine;
  readonly edits: EditRunner;
  readonly commit: Committer;
  /** Asks the server about the run that holds a workspace; one that does not answer in time is `unknown`. */
  readonly standingOf: (holder: LeaseHolder) => Promise<RunStanding>;
  /** Waits at most `wait_ms` for the end of a run, by its workflow id; `open`: it has not ended yet, or no server answered. */
  readonly endOf: (workflowId: string, wait_ms: number, signal: AbortSignal) => Promise<AwaitPhaseResult>;
  readonly timings: Timings;
  readonly logger: Logger;
  /** Environment for a person's commands; secrets are taken out by the runner. */
  readonly env: Readonly<Record<string, string | undefined>>;
}

// The worker's end of `ArchiveSink`: events of a pause or an end, appended as those that activities bring.

interface Caller {
  readonly runId: string;
}

/** For `Worker.create({ sinks })`. A failing archive is logged: the run must not depend on it. */
export const archiveSink = ({ archive, checkHome, logger }: ActivityPorts) => ({
  archive: {
    append: {
      fn: async (caller: Caller, ...[stepKey, events]: Parameters<ArchiveSink['append']>): Promise<void> => {
        try {
          await checkHome();
          await archive.append(stepKey, eventEntries(events, caller.runId));
        } catch (error) {
          logger.warn({ err: error, stepKey }, 'the archive could not be written');
        }
      },
      callDuringReplay: false,
    },
  },
});
