/** A run, live: its page, or the review of its proposal. */
import { useEffect, useState } from 'preact/hooks';
import type { RunView } from '../../../client/show-run.js';
import type { StepEvent } from '../../../shared/events.js';
import type { RunMessage } from '../../feeds.js';
import { type Place, useStream } from '../hooks.js';
import { ReviewPage } from './review-page.js';
import { RunPage } from './run-page.js';
import { useOut } from './use-out.js';
import { LinkMark } from './words.js';

interface RunPagesProps {
  readonly place: Exclude<Place, { readonly page: 'runs' }>;
  readonly onOut: () => void;
}

export const RunPages = ({ place, onOut }: RunPagesProps) => {
  const [view, setView] = useState<RunView | null>(null);
  const [events, setEvents] = useState<readonly StepEvent[]>([]);
  const live = useStream(`/api/runs/${place.stepKey}/live`, (data) => {
    const message = data as RunMessage;
    setView(message.view);
    setEvents((had) => [...had.filter((event) => event.seq <= message.from), ...message.events]);
  });
  useOut(live, onOut);
  const title = view?.status.title ?? 'Run';
  useEffect(() => {
    document.title = `${title} - Emend`;
    return () => {
      document.title = 'Emend';
    };
  }, [title]);
  if (view === null)
    return (
      <>
        <h1>Run</h1>
        <LinkMark live={live} note={null} />
        <p class="quiet">Looking …</p>
      </>
    );
  const mark = <LinkMark live={live} note={view.note} />;
  return place.page === 'review' ? (
    <ReviewPage view={view} events={events} mark={mark} />
  ) : (
    <RunPage view={view} events={events} mark={mark} />
  );
};
