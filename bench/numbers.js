/** Medians, quartiles, goals. */

/** The value below which `part` (0..1) of the sorted values lie, linear between two. */
export const quantile = (values, part) => {
  const sorted = [...values].sort((a, b) => a - b);
  const at = (sorted.length - 1) * part;
  const low = Math.floor(at);
  const high = Math.ceil(at);
  return sorted[low] + (sorted[high] - sorted[low]) * (at - low);
};

export const median = (values) => quantile(values, 0.5);

export const shown = (value, digits = 2) =>
  value.toLocaleString('en-US', { maximumFractionDigits: digits });

/** `1.31 (1.25 to 1.40)`: median and quartiles. */
export const spread = (values, digits = 2) =>
  `${shown(median(values), digits)} (${shown(quantile(values, 0.25), digits)} to ${shown(quantile(values, 0.75), digits)})`;

/** A goal's verdict, in a word; `null` goal: nothing to meet. */
export const verdict = (value, { atMost, atLeast } = {}) => {
  if (atMost !== undefined) return value <= atMost ? 'met' : 'missed';
  if (atLeast !== undefined) return value >= atLeast ? 'met' : 'missed';
  return '';
};

const goalText = ({ atMost, atLeast } = {}) =>
  atMost !== undefined ? `<= ${atMost}` : atLeast !== undefined ? `>= ${atLeast}` : '';

/** One measure: what, its number in words, the value that the goal judges, the goal. */
export const row = (what, measured, value, goal) => ({
  what,
  measured,
  goal: goalText(goal),
  verdict: verdict(value, goal),
});

/** A Markdown table, so that a run can be kept as it is printed. */
export const table = (title, rows) =>
  [
    `### ${title}`,
    '',
    '| measure | measured | goal | |',
    '|---|---|---|---|',
    ...rows.map(
      ({ what, measured, goal, verdict: word }) => `| ${what} | ${measured} | ${goal} | ${word} |`,
    ),
    '',
  ].join('\n');
