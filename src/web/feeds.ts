/**
 * Streams of server-sent events. All who look at the same thing share one feed: it is watched once, while somebody looks, and what
 * changes is told to all. A stream that broke goes on from `Last-Event-ID`.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { ServerResponse } from 'node:http';
import type { RunList } from '../client/runs/list.js';
import { resolveRun } from '../client/runs/resolve.js';
import { runEvents, showRun, type RunView } from '../client/runs/show.js';
import { needRuns, type Emend } from '../client/types.js';
import { watchList } from '../client/runs/watch-list.js';
import { watchRun } from '../client/runs/watch.js';
import type { StepEvent } from '../shared/events.js';
import { BOUNDS } from '../shared/limits.js';
import type { StepKey } from '../shared/ids.js';
import { ProblemError } from '../shared/problems.js';
import { openStream, problemOf } from './http.js';

const WEB_STREAMS = 64; // bound: Live streams at once.
const WEB_PING_MS = 20_000; // bound: A silent stream gets a sign of life this often.
// bound: A stream whose reader has this much still to take is cut off before more is added: a page that reads comes again, and is told what is new;
export const WEB_UNREAD_BYTES = 4 * 1024 * 1024;
const WEB_STALLED_MS = 60_000; // bound: and one whose reader takes nothing at all of what waits for it for so long.

/** What a feed knows now, and which number it has. `since`: the id that the listener saw last; null: it has seen nothing. */
export interface FeedState {
  readonly id: string;
  of(since: string | null): unknown;
}
/** Watches until `signal` aborts or there is nothing more to come, and calls `tell` after each change. */
export type FeedSource = (tell: (state: FeedState) => void, signal: AbortSignal) => Promise<void>;

export interface Feeds {
  /** False: there are too many streams. */
  join(name: string, source: FeedSource, response: ServerResponse, since: string | null): boolean;
  /** Ends all streams, and returns when nothing is watched any more. */
  close(): Promise<void>;
}

interface Listener {
  readonly response: ServerResponse;
  since: string | null;
}
interface Feed {
  state: FeedState | null;
  trouble: string | null;
  readonly listeners: Set<Listener>;
  readonly stop: AbortController;
}

export const createFeeds = (onError: (error: unknown) => void): Feeds => {
  const feeds = new Map<string, Feed>();
  const watches = new Set<Promise<void>>();
  let streams = 0;

  const write = ({ response }: Listener, event: string, id: string | null, data: unknown): void => {
    // What a reader leaves lying lies in our memory.
    if (response.writableLength > WEB_UNREAD_BYTES) response.destroy();
    if (response.destroyed) return;
    response.write(
      `${id === null ? '' : `id: ${id}\n`}event: ${event}\ndata: ${JSON.stringify(data)}\n\n`,
    );
  };
  const tellOne = (feed: Feed, listener: Listener): void => {
    if (feed.state === null || feed.state.id === listener.since) return;
    write(listener, 'change', feed.state.id, feed.state.of(listener.since));
    listener.since = feed.state.id;
  };
  const start = (name: string, source: FeedSource): Feed => {
    const feed: Feed = {
      state: null,
      trouble: null,
      listeners: new Set(),
      stop: new AbortController(),
    };
    feeds.set(name, feed);
    const tell = (state: FeedState): void => {
      feed.state = state;
      feed.trouble = null;
      for (const listener of feed.listeners) tellOne(feed, listener);
    };
    const watch = watching(source, tell, feed.stop.signal, (error) => {
      if (!(error instanceof ProblemError)) onError(error);
      feed.trouble = problemOf(error).message;
      for (const listener of feed.listeners)
        write(listener, 'trouble', null, { message: feed.trouble });
    }).finally(() => watches.delete(watch));
    watches.add(watch);
    return feed;
  };
  return {
    join: (name, source, response, since) => {
      if (response.destroyed) return true; // Who went away while its run was looked for is told of no 'close' any more.
      if (streams >= WEB_STREAMS) return false;
      streams += 1;
      const feed = feeds.get(name) ?? start(name, source);
      const listener: Listener = { response, since };
      openStream(response);
      // Node counts it as silence only where the other side takes nothing of what was written either.
      response.setTimeout(WEB_STALLED_MS, () => response.destroy());
      feed.listeners.add(listener);
      const ping = setInterval(() => response.write(': still here\n\n'), WEB_PING_MS);
      response.on('close', () => {
        clearInterval(ping);
        streams -= 1;
        feed.listeners.delete(listener);
        if (feed.listeners.size > 0) return;
        // Nobody looks any more: nothing is watched.
        feed.stop.abort();
        if (feeds.get(name) === feed) feeds.delete(name);
      });
      tellOne(feed, listener);
      if (feed.trouble !== null) write(listener, 'trouble', null, { message: feed.trouble });
      return true;
    },
    close: async () => {
      for (const feed of feeds.values()) {
        feed.stop.abort();
        for (const { response } of feed.listeners) response.destroy();
      }
      await Promise.all(watches);
    },
  };
};

/** A watch that fails (the server went away) begins anew; one that came to its end has told all there is. */
const watching = async (
  source: FeedSource,
  tell: (state: FeedState) => void,
  signal: AbortSignal,
  onTrouble: (error: unknown) => void,
): Promise<void> => {
  const over = (): boolean => signal.aborted;
  while (!over()) {
    try {
      await source(tell, signal);
      return;
    } catch (error) {
      if (over()) return;
      onTrouble(error);
      await sleep(BOUNDS.webAgain_ms, undefined, { signal }).catch(() => undefined);
    }
  }
};

// What can be looked at live: the list of runs, and one run with its events.

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
    const look = async (): Promise<void> => {
      const run = await resolveRun(emend, stepKey);
      const view = await showRun(emend, run);
      // A reset takes the run back: its events begin again at an earlier number.
      if (view.status.lastSeq < (events.at(-1)?.seq ?? 0)) events = [];
      events = [...events, ...(await runEvents(emend, run, events.at(-1)?.seq ?? 0))];
      if (!signal.aborted)
        tell(stateOf(`${mark}.${(version += 1)}.${events.at(-1)?.seq ?? 0}`, view, events));
    };
    for (;;) {
      const run = await resolveRun(emend, stepKey);
      if (run.live?.open !== true) {
        await look();
        // Without a server there may be more to come: it fails, and is begun anew.
        if (run.archived.closed === null) needRuns(emend);
        return;
      }
      const changed = async ({ status }: RunView): Promise<undefined> => {
        if (status.stage !== 'closed') await look();
      };
      await watchRun(emend, run, changed, { signal });
      if (signal.aborted) return;
    }
  };

const stateOf = (id: string, view: RunView, events: readonly StepEvent[]): FeedState => ({
  id,
  of: (since): RunMessage => {
    const seen = Number(since?.split('.').at(-1) ?? 0);
    const from =
      Number.isSafeInteger(seen) && seen > 0 && seen <= (events.at(-1)?.seq ?? 0) ? seen : 0;
    return { view, events: events.filter((event) => event.seq > from), from };
  },
});
