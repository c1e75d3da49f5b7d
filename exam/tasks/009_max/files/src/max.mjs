/** The largest number of a list; -Infinity for an empty one. */
export function max(numbers) {
  let largest = -Infinity;
  for (const n of numbers) {
    if (n < largest) largest = n;
  }
  return largest;
}
