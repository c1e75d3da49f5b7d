import { formatPrice } from './format.mjs';

export const label = (name, cents) => `${name} (${formatPrice(cents)})`;
