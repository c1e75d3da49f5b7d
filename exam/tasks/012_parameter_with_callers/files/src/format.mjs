/** An amount of cents as text. */
export function formatPrice(cents) {
  return `${(cents / 100).toFixed(2)} EUR`;
}
