/** Events, each in a line. */
import { eventWords } from '../../../shared/event-words.js';
import type { StepEvent } from '../../../shared/events.js';

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
        <span class="event-type">{event.type.replaceAll('_', ' ')}</span> <span>{eventWords(event)}</span>
      </li>
    ))}
  </ol>
);
