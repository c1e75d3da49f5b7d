import { formatPrice } from './format.mjs';

export const totalLine = (all) => `Total: ${formatPrice(all.reduce((sum, cents) => sum + cents, 0))}`;
