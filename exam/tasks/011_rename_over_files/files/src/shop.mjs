import { calc } from './calc.mjs';

/** The sum of a basket with tax. */
export function basket(nets) {
  let sum = 0;
  for (const net of nets) sum += calc(net, 0.2);
  return sum;
}
