/** Statistics over runs, on a terminal. Pure. */
import { METRIC_NAMES, type RunStats } from '../../client/run-stats.js';
import { count, plain, table } from './text.js';
import { tokensIn } from '../../shared/usage.js';

export const statsLines = ({ runs, counts, usage, medianAnswer_s }: RunStats): readonly string[] => [
  count(runs, 'run'),
  ...table(
    METRIC_NAMES.flatMap((name) => {
      const words = Object.entries(counts[name]).map(([word, n]) => `${plain(word)} ${n}`);
      return words.length === 0 ? [] : [[`  ${name}`, words.join(', ')]];
    }),
  ),
  ...table([
    ['  model calls', String(usage.calls)],
    ['  tokens', `${tokensIn(usage).toLocaleString('en-US')} in, ${usage.output_tokens.toLocaleString('en-US')} out`],
    ['  money', usage.usd === null ? 'not known' : `$${usage.usd.toFixed(4)}`],
    ...(medianAnswer_s === null ? [] : [['  answered after', `${Math.round(medianAnswer_s)} s (median)`]]),
  ]),
];
