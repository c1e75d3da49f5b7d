/** What several views share: where we are, what is live, which keys do what. */
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { openStream, type Link } from './api.js';

export type Place =
  | { readonly page: 'runs' }
  | { readonly page: 'run' | 'review'; readonly stepKey: string };

const placeOf = (hash: string): Place => {
  const [, stepKey, review] = /^#\/run\/([0-9a-z-]+)(\/review)?$/.exec(hash) ?? [];
  if (stepKey === undefined) return { page: 'runs' };
  return { page: review === undefined ? 'run' : 'review', stepKey };
};

export const usePlace = (): Place => {
  const [place, setPlace] = useState(placeOf(location.hash));
  useEffect(() => {
    const moved = (): void => {
      setPlace(placeOf(location.hash));
      scrollTo(0, 0);
    };
    addEventListener('hashchange', moved);
    return () => removeEventListener('hashchange', moved);
  }, []);
  return place;
};

/** Keeps a value until it is needed again; where there is no room, marks of other runs go, or it is not kept: the page works without. */
export const keep = (storage: Storage, place: string, value: unknown): void => {
  for (;;)
    try {
      return storage.setItem(place, JSON.stringify(value));
    } catch {
      const other = Object.keys(storage).find(
        (key) => /^emend-(?:seen|viewed)-/.test(key) && key !== place,
      );
      if (other === undefined) return;
      storage.removeItem(other);
    }
};

export interface Live {
  readonly link: Link;
  readonly trouble: string | null;
}

/** Follows a stream while the view is there. */
export const useStream = (path: string, onChange: (data: unknown) => void): Live => {
  const [link, setLink] = useState<Link>('connecting');
  const [trouble, setTrouble] = useState<string | null>(null);
  const latest = useRef(onChange);
  latest.current = onChange;
  useEffect(
    () =>
      openStream(path, {
        change: (data) => latest.current(data),
        trouble: setTrouble,
        link: setLink,
      }),
    [path],
  );
  return { link, trouble };
};

export const toggled = <T>(set: ReadonlySet<T>, item: T): Set<T> => {
  const next = new Set(set);
  if (!next.delete(item)) next.add(item);
  return next;
};

/** What the server answers at an address, asked anew as that changes; both null: nothing yet. */
export const useAnswer = <T>(at: string | null, ask: (at: string) => Promise<T>) => {
  const [got, setGot] = useState<{
    at: string | null;
    value: T | null;
    problem: string | null;
  } | null>(null);
  useEffect(() => {
    if (at === null) return;
    let gone = false;
    const tell = (value: T | null, problem: string | null) =>
      gone || setGot({ at, value, problem });
    void ask(at).then(
      (value) => tell(value, null),
      (error: unknown) => tell(null, String(error)),
    );
    return () => {
      gone = true;
    };
  }, [at]);
  return got?.at === at ? got : { value: null, problem: null };
};

export type Keys = Readonly<Record<string, () => void>>;

const isTyping = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement &&
  (/^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName) || target.isContentEditable);

/** Single keys, while nobody is typing and no dialog is open. */
export const useKeys = (keys: Keys): void => {
  const latest = useRef(keys);
  latest.current = keys;
  // Before it is painted: a key pressed at what was just shown is not lost.
  useLayoutEffect(() => {
    const pressed = (event: KeyboardEvent): void => {
      if (
        event.defaultPrevented ||
        event.ctrlKey ||
        event.metaKey ||
        event.altKey ||
        isTyping(event.target)
      )
        return;
      if (document.querySelector('dialog[open]') !== null) return;
      // What has the focus takes Enter itself.
      if (
        event.key === 'Enter' &&
        event.target instanceof HTMLElement &&
        event.target.closest('a, button, summary') !== null
      )
        return;
      const action = latest.current[event.key];
      if (action === undefined) return;
      event.preventDefault();
      action();
    };
    addEventListener('keydown', pressed);
    return () => removeEventListener('keydown', pressed);
  }, []);
};

/** Once the server says that we are not let in any more, the door is shown. */
export const useOut = ({ link }: Live, onOut: () => void): void =>
  useEffect(() => {
    if (link === 'out') onOut();
  }, [link]);
