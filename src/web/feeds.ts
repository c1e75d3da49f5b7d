/** What can be looked at live: the list of runs, and one run with its events. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { RunList } from '../client/list-runs.js';
import { resolveRun } from '../client/resolve-run.js';
import { runEvents, showRun, type RunView } from '../client/show-run.js';
import type { Emend } from '../client/types.js';
import { watchList } from '../client/watch-list.js';
import { watchRun } from '../client/watch-run.js';
import type { StepEvent } from '../shared/events.js';
import { BOUNDS } from '../shared/limits.js';
import type { StepKey } from '../shared/refs.js';
import type { FeedSource, FeedState } from './live.js';

export interface ListMessage {
  readonly list: RunList;
}
export interface RunMessage {
  readonly view: RunView;
  /** Those after what the listener has seen; all of them where `from` is 0. */
  readonly events: readonly StepEvent[];
  readonly from: number;
}

export const listFeed =
  (source: () => Promise<Emend>): FeedSource =>
  async (tell, signal) => {
    let version = 0;
    const mark = Date.now().toString(36);
    await watchList(
      await source(),
      (list) => {
        const message: ListMessage = { list };
        tell({ id: `${mark}.${(version += 1)}`, of: () => message });
      },
      { signal },
    );
  };

/** The id of a state: `<feed>.<version>.<last event>`. */
export const runFeed =
  (source: () => Promise<Emend>, stepKey: StepKey): FeedSource =>
  async (tell, signal) => {
    const emend = await source();
    const mark = Date.now().toString(36);
    let version = 0;
    let events: readonly StepEvent[] = [];
    const look = async (): Promise<RunView> => {
      const run = await resolveRun(emend, stepKey);
      const view = await showRun(emend, run);
      // A reset takes the run back: its events begin again at an earlier number.
      if (view.status.lastSeq < (events.at(-1)?.seq ?? 0)) events = [];
      for (;;) {
        const more = await runEvents(emend, run, events.at(-1)?.seq ?? 0);
        if (more.length === 0) break;
        events = [...events, ...more];
        if (view.source === 'archive' || (events.at(-1)?.seq ?? 0) >= view.status.lastSeq) break;
      }
      if (!signal.aborted) tell(stateOf(`${mark}.${(version += 1)}.${events.at(-1)?.seq ?? 0}`, view, events));
      return view;
    };
    for (;;) {
      const run = await resolveRun(emend, stepKey);
      if (run.live?.open !== true || emend.runs === null) {
        await look();
        return;
      }
      const again = new AbortController();
      let waiting = false;
      await watchRun(
        emend,
        run,
        async () => {
          const { note } = await look();
          if (note === null || waiting) return;
          waiting = true;
          void untilWorker(emend, run.live?.queue ?? '', AbortSignal.any([signal, again.signal]), again);
        },
        { signal: AbortSignal.any([signal, again.signal]) },
      );
      if (signal.aborted) return;
      again.abort();
    }
  };

/** Where no worker answers, the run itself changes nothing when one comes. Asking who polls a queue costs no action. */
const untilWorker = async (emend: Emend, queue: string, signal: AbortSignal, again: AbortController): Promise<void> => {
  const over = (): boolean => signal.aborted;
  while (!over()) {
    await sleep(BOUNDS.webAgain_ms, undefined, { signal }).catch(() => undefined);
    if (over()) return;
    const there = await emend.runs?.polled(queue).catch(() => false);
    if (there === true) again.abort();
  }
};

const stateOf = (id: string, view: RunView, events: readonly StepEvent[]): FeedState => ({
  id,
  of: (since): RunMessage => {
    const seen = Number(since?.split('.').at(-1) ?? 0);
    const from = Number.isSafeInteger(seen) && seen > 0 && seen <= (events.at(-1)?.seq ?? 0) ? seen : 0;
    return { view, events: events.filter((event) => event.seq > from), from };
  },
});
