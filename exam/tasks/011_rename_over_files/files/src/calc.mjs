/** A price with tax, in cents. */
export function calc(net, rate) {
  return Math.round(net * (1 + rate));
}
