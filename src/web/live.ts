/**
 * Streams of server-sent events. All who look at the same thing share one feed: it is watched once, while somebody looks, and what
 * changes is told to all. A stream that broke goes on from `Last-Event-ID`.
 */
import type { ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { BOUNDS } from '../shared/limits.js';
import { ProblemError } from '../shared/problems.js';
import { openStream, problemOf } from './http.js';

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
    if (response.writableLength > BOUNDS.webUnread_bytes) response.destroy();
    if (response.destroyed) return;
    response.write(`${id === null ? '' : `id: ${id}\n`}event: ${event}\ndata: ${JSON.stringify(data)}\n\n`);
  };
  const tellOne = (feed: Feed, listener: Listener): void => {
    if (feed.state === null || feed.state.id === listener.since) return;
    write(listener, 'change', feed.state.id, feed.state.of(listener.since));
    listener.since = feed.state.id;
  };
  const start = (name: string, source: FeedSource): Feed => {
    const feed: Feed = { state: null, trouble: null, listeners: new Set(), stop: new AbortController() };
    feeds.set(name, feed);
    const tell = (state: FeedState): void => {
      feed.state = state;
      feed.trouble = null;
      for (const listener of feed.listeners) tellOne(feed, listener);
    };
    const watch = watching(source, tell, feed.stop.signal, (error) => {
      if (!(error instanceof ProblemError)) onError(error);
      feed.trouble = problemOf(error).message;
      for (const listener of feed.listeners) write(listener, 'trouble', null, { message: feed.trouble });
    }).finally(() => watches.delete(watch));
    watches.add(watch);
    return feed;
  };
  return {
    join: (name, source, response, since) => {
      if (streams >= BOUNDS.webStreams) return false;
      streams += 1;
      const feed = feeds.get(name) ?? start(name, source);
      const listener: Listener = { response, since };
      openStream(response);
      // Node counts it as silence only where the other side takes nothing of what was written either.
      response.setTimeout(BOUNDS.webStalled_ms, () => response.destroy());
      feed.listeners.add(listener);
      const ping = setInterval(() => response.write(': still here\n\n'), BOUNDS.webPing_ms);
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
