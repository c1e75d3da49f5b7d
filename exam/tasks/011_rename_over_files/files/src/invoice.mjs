import { calc } from './calc.mjs';

export const invoice = (items) => items.map(({ name, net }) => `${name}: ${calc(net, 0.2)}`).join('\n');
