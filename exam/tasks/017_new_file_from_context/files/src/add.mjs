/** The sum of two numbers; anything else is a mistake of the caller. */
export function add(a, b) {
  if (typeof a !== "number" || typeof b !== "number") throw new TypeError("numbers only");
  return a + b;
}
