/** A list so long that only the rows in sight are drawn. Heights are guessed first and known once a row was drawn. */
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { RefObject } from 'preact';
import { firstBehind } from '../../../shared/search.js';

/** Rows drawn above and below what is in sight, in pixels. */
const MARGIN_px = 600;

export interface VirtualRow {
  readonly key: string;
}
export interface Virtual {
  readonly list: RefObject<HTMLDivElement | null>;
  readonly first: number;
  readonly last: number;
  /** Of row `first`, within the list. */
  readonly top_px: number;
  readonly height_px: number;
  /** The row at the upper edge of what is in sight. */
  readonly at: number;
  readonly scrollTo: (index: number) => void;
  /** To be given to each drawn row. */
  readonly measure: (key: string) => (element: HTMLElement | null) => void;
}

/** Index of the last offset that is not over `y`. */
const indexAt = (offsets: Float64Array, y: number): number =>
  Math.max(0, firstBehind(offsets.length - 1, (at) => (offsets[at] ?? 0) <= y) - 1);

/** `edge_px`: what covers the upper edge of the window. */
export const useVirtual = (rows: readonly VirtualRow[], guess: (index: number) => number, edge_px: number): Virtual => {
  const list = useRef<HTMLDivElement>(null);
  const heights = useRef(new Map<string, number>());
  const [measured, setMeasured] = useState(0);
  const [sight, setSight] = useState({ y: 0, height: 900 });
  const offsets = useMemo(() => {
    const made = new Float64Array(rows.length + 1);
    rows.forEach((row, i) => {
      made[i + 1] = (made[i] ?? 0) + (heights.current.get(row.key) ?? guess(i));
    });
    return made;
  }, [rows, guess, measured]);

  useEffect(() => {
    let asked = 0;
    const look = (): void => {
      asked = 0;
      const top = list.current?.getBoundingClientRect().top ?? 0;
      setSight((had) => {
        const now = { y: -top, height: innerHeight };
        return had.y === now.y && had.height === now.height ? had : now;
      });
    };
    const ask = (): void => {
      if (asked === 0) asked = requestAnimationFrame(look);
    };
    let width = innerWidth;
    const resized = (): void => {
      // Lines break elsewhere now.
      if (innerWidth !== width) heights.current.clear();
      width = innerWidth;
      setMeasured((n) => n + 1);
      ask();
    };
    look();
    addEventListener('scroll', ask, { passive: true });
    addEventListener('resize', resized);
    return () => {
      cancelAnimationFrame(asked);
      removeEventListener('scroll', ask);
      removeEventListener('resize', resized);
    };
  }, []);

  const drawn = useRef(new Map<string, HTMLElement>());
  useLayoutEffect(() => {
    let changed = false;
    for (const [key, element] of drawn.current) {
      const height = element.getBoundingClientRect().height;
      const had = heights.current.get(key);
      if (height > 0 && (had === undefined || Math.abs(had - height) > 0.5)) {
        heights.current.set(key, height);
        changed = true;
      }
    }
    if (changed) setMeasured((n) => n + 1);
  });

  const first = indexAt(offsets, Math.max(0, sight.y - MARGIN_px));
  const last = Math.min(rows.length - 1, indexAt(offsets, sight.y + sight.height + MARGIN_px));
  return {
    list,
    first,
    last,
    top_px: offsets[first] ?? 0,
    height_px: offsets[rows.length] ?? 0,
    at: indexAt(offsets, Math.max(0, sight.y + edge_px + 1)),
    scrollTo: (index) => {
      const top = (list.current?.getBoundingClientRect().top ?? 0) + scrollY;
      scrollTo(0, top + (offsets[index] ?? 0) - edge_px);
    },
    measure: (key) => (element) => {
      if (element === null) drawn.current.delete(key);
      else drawn.current.set(key, element);
    },
  };
};
