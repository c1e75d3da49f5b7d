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
