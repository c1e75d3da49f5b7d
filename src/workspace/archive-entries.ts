/** Entries of the archive that several writers make alike. Pure. */
import type { StepEvent } from '../shared/events.js';
import type { ArchiveEntry } from './types.js';

/** A run's events; ids make a retry, or another witness of the same events, add nothing new. */
export const eventEntries = (events: readonly StepEvent[], runId: string): ArchiveEntry[] =>
  events.map((event) => ({
    v: 1,
    id: `event-${runId}-${event.seq}`,
    at: new Date(event.at).toISOString(),
    kind: 'event',
    data: event,
  }));
