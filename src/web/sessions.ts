/**
 * Who may use the page. A token (made at the start, good once) or the shared secret is exchanged for two halves: a cookie that scripts
 * cannot read, and a key that the page keeps for its own origin and sends as a header. Each request needs both: cookies are shared by
 * all ports of a host, a header that only our page knows is not, and no other site can send it.
 */
import { createHash, randomBytes, timingSafeEqual as same } from 'node:crypto';
import { BOUNDS } from '../shared/limits.js';

export const WEB_SESSIONS = 100; // bound: Sessions at once; the oldest goes first.
const WEB_REQUESTS_BURST = 400; // bound: Requests of one session, at once,
const WEB_REQUESTS_PER_SECOND = 100; // bound: and per second.

/** A bound on how fast something may come: `burst` at once, then `perSecond`. */
export interface RateBound {
  take(): boolean;
}

export const rateBound = (
  burst: number,
  perSecond: number,
  now: () => number = () => performance.now(),
): RateBound => {
  let left = burst;
  let at = now();
  return {
    take: () => {
      const time = now();
      left = Math.min(burst, left + ((time - at) / 1000) * perSecond);
      at = time;
      if (left < 1) return false;
      left -= 1;
      return true;
    },
  };
};

type Rate = Readonly<Record<'burst' | 'perSecond', number>>;

/**
 * A bound for each address and one for all together. One that is over its own uses up nothing of the others': it shuts out nobody else.
 * At most `addresses` are remembered, so many addresses together are bounded by `all`.
 */
export const addressBound = (
  { each, all, addresses }: { readonly each: Rate; readonly all: Rate; readonly addresses: number },
  now?: () => number,
): { take(address: string): boolean } => {
  const overall = rateBound(all.burst, all.perSecond, now);
  const bounds = new Map<string, RateBound>();
  return {
    take: (address) => {
      const own = bounds.get(address) ?? rateBound(each.burst, each.perSecond, now);
      bounds.delete(address);
      bounds.set(address, own);
      const [oldest] = bounds.keys();
      if (bounds.size > addresses && oldest !== undefined) bounds.delete(oldest);
      return own.take() && overall.take();
    },
  };
};

export interface Session {
  /** Who decides: kept with every decision. */
  readonly person: string;
  readonly rate: RateBound;
}
export interface OpenedSession {
  /** Value of the cookie. */
  readonly cookie: string;
  /** What the page sends as the header `x-emend-key`. */
  readonly key: string;
  /** Value of the cookie that opens the Temporal UI, and nothing else: no page of ours is there that could send a key. */
  readonly ui: string;
}

const digest = (text: string): Buffer => createHash('sha256').update(text).digest();
const fresh = (): string => randomBytes(32).toString('base64url');

interface Kept extends Session {
  readonly key: Buffer;
  readonly ui: Buffer;
  endsAt: number;
}

export const createSessions = (secret: string | null, now: () => number = Date.now) => {
  let token: Buffer | null = null;
  const wanted = secret === null ? null : digest(secret);
  // Kept by digest: looking one up takes no longer for a guess that is nearly right.
  const sessions = new Map<string, Kept>();
  const idOf = (cookie: string): string => digest(cookie).toString('hex');
  const open = (person: string): OpenedSession => {
    for (const [id, kept] of sessions) if (kept.endsAt < now()) sessions.delete(id);
    const [oldest] = sessions.keys();
    if (sessions.size >= WEB_SESSIONS && oldest !== undefined) sessions.delete(oldest);
    const opened = { cookie: fresh(), key: fresh(), ui: fresh() };
    const rate = rateBound(WEB_REQUESTS_BURST, WEB_REQUESTS_PER_SECOND);
    const kept = {
      person,
      rate,
      key: digest(opened.key),
      ui: digest(opened.ui),
      endsAt: now() + BOUNDS.webSession_ms,
    };
    sessions.set(idOf(opened.cookie), kept);
    return opened;
  };
  return {
    /** A new token; earlier unused ones count no longer. */
    token: (): string => {
      const made = fresh();
      token = digest(made);
      return made;
    },
    /** Null: it is not the token, or was used. */
    byToken: (given: string, person: string): OpenedSession | null => {
      if (token === null || !same(token, digest(given))) return null;
      token = null;
      return open(person);
    },
    /** Null: there is no secret, or another. */
    bySecret: (given: string, person: string): OpenedSession | null =>
      wanted !== null && same(wanted, digest(given)) ? open(person) : null,
    find: (cookie: string | undefined, key: string | undefined): Session | null => {
      if (cookie === undefined || key === undefined) return null;
      const kept = sessions.get(idOf(cookie));
      if (kept === undefined || kept.endsAt < now() || !same(kept.key, digest(key))) return null;
      kept.endsAt = now() + BOUNDS.webSession_ms;
      return kept;
    },
    findUi: (cookie: string | undefined): Session | null => {
      if (cookie === undefined) return null;
      const given = digest(cookie);
      return (
        [...sessions.values()].find(({ ui, endsAt }) => endsAt >= now() && same(ui, given)) ?? null
      );
    },
    end: (cookie: string | undefined): void => {
      if (cookie !== undefined) sessions.delete(idOf(cookie));
    },
  };
};
