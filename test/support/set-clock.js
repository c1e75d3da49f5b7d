/** `--import` this into a process whose clock is to be wrong: CLOCK_SHIFT_MS ahead (or behind) of the machine's. */
const shift = Number(process.env.CLOCK_SHIFT_MS);
const Real = Date;
globalThis.Date = class extends Real {
  constructor(...args) {
    if (args.length === 0) super(Real.now() + shift);
    else super(...args);
  }
  static now() {
    return Real.now() + shift;
  }
};
