/** A bound on how fast something may come: `burst` at once, then `perSecond`. */
export interface RateBound {
  take(): boolean;
}

export const rateBound = (burst: number, perSecond: number, now: () => number = () => performance.now()): RateBound => {
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

export interface Rate {
  readonly burst: number;
  readonly perSecond: number;
}

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
