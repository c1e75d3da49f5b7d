/** The worker's end of `ArchiveSink`: events of a pause or an end, appended as those that activities bring. */
import type { ArchiveSink } from '../shared/protocol.js';
import { eventEntries } from '../workspace/archive-entries.js';
import type { ActivityDependencies } from './dependencies.js';

interface Caller {
  readonly runId: string;
}

/** For `Worker.create({ sinks })`. A failing archive is logged: the run must not depend on it. */
export const archiveSink = ({ archive, checkHome, logger }: ActivityDependencies) => ({
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
