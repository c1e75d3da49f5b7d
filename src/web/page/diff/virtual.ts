/** A list so long that only the rows in sight are drawn. Heights are guessed first and known once a row was drawn. */
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { RefObject } from 'preact';
import { firstBehind } from '../../../shared/search.js';

/** Rows drawn above and below what is in sight, in pixels; after a jump in a task of their own. */
const MARGIN_px = 400;
/** Rows are drawn anew after so many pixels, and until then only moved. */
const STEP_px = 200;

export interface Virtual {
  /** Its drawn rows have `data-row`, their key, and `data-at`, their index. */
  readonly list: RefObject<HTMLDivElement | null>;
  readonly first: number;
  readonly last: number;
  /** Of each row within the list, and the whole height. */
  readonly offsets: Float64Array;
  /** Brings a row to `edge_px` below the upper edge of the window. */
  readonly scrollTo: (index: number, edge_px: number) => void;
}

interface VirtualOptions {
  readonly rows: readonly { readonly key: string }[];
  readonly guess: (index: number) => number;
  /** What covers the upper edge of the window. */
  readonly bar_px: number;
  /** The first and last row that can be seen, as they change. */
  readonly onSight: (first: number, last: number) => void;
}

/** Index of the last offset that is not over `y`. */
const indexAt = (offsets: Float64Array, y: number): number =>
  Math.max(0, firstBehind(offsets.length - 1, (at) => (offsets[at] ?? 0) <= y) - 1);

export const useVirtual = ({ rows, guess, bar_px, onSight }: VirtualOptions): Virtual => {
  const list = useRef<HTMLDivElement>(null);
  const heights = useRef(new Map<string, number>());
  const [widths, setWidths] = useState(0);
  const [, setMeasured] = useState(0);
  const [sight, setSight] = useState({ y: 0, height: 900, margin: MARGIN_px });
  const offsets = useMemo(() => {
    const made = new Float64Array(rows.length + 1);
    rows.forEach((row, i) => {
      made[i + 1] = (made[i] ?? 0) + (heights.current.get(row.key) ?? guess(i));
    });
    return made;
  }, [rows, guess, widths]);
  const top = (): number => list.current?.getBoundingClientRect().top ?? 0;
  // Positions are rounded to pixels.
  const firstSeen = (): number => indexAt(offsets, bar_px + 2 - top());
  const look = useRef<() => void>(() => undefined);
  look.current = () => {
    const y = -top();
    onSight(firstSeen(), indexAt(offsets, y + innerHeight));
    setSight((had) => {
      const now = {
        y: Math.max(0, Math.floor(y / STEP_px)) * STEP_px,
        height: innerHeight,
        margin: MARGIN_px,
      };
      if (Math.abs(had.y - now.y) > MARGIN_px) return { ...now, margin: 0 };
      return had.y === now.y && had.height === now.height && had.margin > 0 ? had : now;
    });
  };

  useEffect(() => {
    let asked = 0;
    const ask = (): void => {
      cancelAnimationFrame(asked);
      asked = requestAnimationFrame(() => look.current());
    };
    let width = innerWidth;
    const resized = (): void => {
      // Lines break elsewhere now.
      if (innerWidth !== width) heights.current.clear();
      width = innerWidth;
      setWidths((n) => n + 1);
      ask();
    };
    // Rows that grow by themselves: more of a line, a comment's box.
    const grown = new ResizeObserver(() => setMeasured((n) => n + 1));
    if (list.current?.firstElementChild != null) grown.observe(list.current.firstElementChild);
    addEventListener('scroll', ask, { passive: true });
    addEventListener('resize', resized);
    return () => {
      cancelAnimationFrame(asked);
      grown.disconnect();
      removeEventListener('scroll', ask);
      removeEventListener('resize', resized);
    };
  }, []);
  useEffect(() => {
    const next = setTimeout(() => look.current());
    return () => clearTimeout(next);
  }, [offsets, sight]);

  useLayoutEffect(() => {
    const changes = new Map<number, number>();
    const first = firstSeen();
    let above = 0;
    for (const element of list.current?.querySelectorAll<HTMLElement>('[data-row]') ?? []) {
      const { height } = element.getBoundingClientRect();
      const at = Number(element.dataset.at);
      const by = height - ((offsets[at + 1] ?? 0) - (offsets[at] ?? 0));
      if (height === 0 || Math.abs(by) <= 0.5) continue;
      heights.current.set(element.dataset.row ?? '', height);
      changes.set(at, by);
      if (at < first) above += by;
    }
    // What is read stays where it is.
    if (above !== 0 && top() < bar_px) scrollBy(0, above);
    // In one go: there may be hundreds of thousands.
    let moved = 0;
    for (let i = Math.min(...changes.keys()); i < rows.length; i++) {
      moved += changes.get(i) ?? 0;
      offsets[i + 1] = (offsets[i + 1] ?? 0) + moved;
    }
    if (changes.size > 0) setMeasured((n) => n + 1);
  });

  return {
    list,
    first: indexAt(offsets, sight.y - sight.margin),
    last: indexAt(offsets, sight.y + sight.height + STEP_px + sight.margin),
    offsets,
    scrollTo: (index, edge) => scrollTo(0, top() + scrollY + (offsets[index] ?? 0) - edge),
  };
};
