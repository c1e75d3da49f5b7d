/** Events, each in a line. */
import { describeEvent } from '../../../shared/event-text.js';
import type { StepEvent } from '../../../shared/events.js';
import type { RunState } from '../../../shared/run.js';
import type { Live } from '../hooks.js';

interface EventListProps {
  readonly events: readonly StepEvent[];
  /** They stand in the other order: newest first. */
  readonly reversed?: boolean;
}

export const EventList = ({ events, reversed = false }: EventListProps) => (
  <ol class="events" reversed={reversed}>
    {events.map((event) => (
      <li key={event.seq}>
        <time dateTime={new Date(event.at).toISOString()}>{new Date(event.at).toLocaleTimeString('en-GB')}</time>{' '}
        <span class="event-type">{event.type.replaceAll('_', ' ')}</span> <span>{describeEvent(event)}</span>
      </li>
    ))}
  </ol>
);

// Small pieces of text and marks that several pages show.

export { shownKey } from '../../../shared/ids.js';
export { count } from '../../../shared/text.js';

export const timeText = (at: string | number | null): string =>
  at === null ? '' : new Date(at).toLocaleString('en-GB', { dateStyle: 'medium', timeStyle: 'short' });

const MARKS: Record<RunState | 'unknown', string> = {
  waiting: 'waits for you',
  running: 'running',
  done: 'done',
  failed: 'failed',
  aborted: 'aborted',
  unknown: 'not known',
};
export const StateMark = ({ state }: { readonly state: RunState | 'unknown' }) => (
  <span class={`mark ${state}`}>{MARKS[state]}</span>
);

/** Is what is shown still true? */
export const LinkMark = ({ live, note }: { readonly live: Live; readonly note: string | null }) => (
  <div role="status" class="link-state">
    {live.link === 'lost' && (
      <p class="box warn">The connection to the page's server is lost; trying again. What is shown may be old.</p>
    )}
    {live.trouble !== null && <p class="box warn">{live.trouble}</p>}
    {note !== null && <p class="box warn">{note}</p>}
  </div>
);
