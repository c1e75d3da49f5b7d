/** The ports that activities work with: src/worker/adapters.ts names their adapters, tests replace them one by one. */
import type { Logger } from 'pino';
import type { ArchiveSink } from '../../shared/step-activities.js';
import type { CallJournal } from '../../model/ports.js';
import type { Timings } from '../../shared/limits.js';
import type { WorkerGroup } from '../../shared/begin-run.js';
import type { AwaitPhaseResult } from '../../shared/plan-activities.js';
import type { Clock } from '../../system/clock.js';
import type { CommandRunner } from '../../workspace/commands/index.js';
import type { Layers } from '../../workspace/layers/index.js';
import type { Trust } from '../../workspace/trust/index.js';
import type { Workspace } from '../../workspace/ports.js';
import type { Checkouts } from '../../workspace/checkout/index.js';
import type { Repository } from '../../workspace/repository.js';
import { maskedEntries, type Stores } from '../../stores/ports.js';
import type { EditRunner } from './edit-worker.js';

export interface ActivityPorts extends Pick<Stores, 'blobs' | 'records' | 'archive'> {
  /** Throws ProblemError where home or store are not what they were when the worker started (HomeGuard). */
  readonly checkHome: () => Promise<void>;
  readonly journal: CallJournal;
  readonly workspace: Workspace;
  readonly repository: Repository;
  /** For runs on repositories. */
  readonly checkouts: Checkouts;
  /** For a person's commands. */
  readonly commands: CommandRunner;
  /** Overlays that commands write instead of a workspace. */
  readonly layers: Layers;
  /** Which configuration may be a model's. */
  readonly trust: Trust;
  readonly edits: EditRunner;
  readonly clock: Clock;
  /** Waits at most `wait_ms` for the end of a run, by its workflow id; `open`: it has not ended yet, or no server answered. */
  readonly endOf: (
    workflowId: string,
    wait_ms: number,
    signal: AbortSignal,
  ) => Promise<AwaitPhaseResult>;
  readonly group: WorkerGroup;
  readonly timings: Timings;
  readonly logger: Logger;
}

// The worker's end of `ArchiveSink`: events of a pause or an end, appended as those that activities bring.

interface Caller {
  readonly workflowId: string;
  readonly runId: string;
}

/** For `Worker.create({ sinks })`. A failing archive is logged: the run must not depend on it. */
export const archiveSink = ({ archive, checkHome, logger }: ActivityPorts) => ({
  archive: {
    append: {
      fn: async (
        caller: Caller,
        ...[stepKey, events]: Parameters<ArchiveSink['append']>
      ): Promise<void> => {
        try {
          await checkHome();
          await archive.append(stepKey, await maskedEntries(events, caller.runId));
        } catch (error) {
          const { workflowId, runId: workflowRunId } = caller;
          const entry = { workflowId, workflowRunId, stepKey, err: error };
          logger.warn(entry, 'the archive could not be written');
        }
      },
      callDuringReplay: false,
    },
  },
});
