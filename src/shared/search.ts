/** The first of `length` places in order that does not lie before what is sought; `length`: all do. By halves. Pure. */
export function firstBehind(length: number, isBefore: (at: number) => boolean): number {
  let [low, high] = [0, length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (isBefore(middle)) low = middle + 1;
    else high = middle;
  }
  return low;
}
