/** The sum of all prices. */
export function total(prices) {
  let sum = 0;
  console.log('DEBUG', prices);
  for (const price of prices) sum += price;
  return sum;
}
