/** Bars as inline SVG, with their numbers as text: nothing is loaded, and a reader of screens reads the rows. Pure. */
import { SHOWN_BOUNDS } from '../../shared/bounds.js';
import { html } from './html-text.js';

export interface Bar {
  readonly label: string;
  readonly value: number;
  /** As shown: `1,204`, `$0.0031`. */
  readonly text: string;
}

const ROW = 22;
const LEFT = 260;
const WIDTH = 760;
const LABEL_CHARS = 38;

/** Largest first. Empty where there is nothing to draw. */
export const bars = (title: string, rows: readonly Bar[]): string => {
  const sorted = [...rows].sort((a, b) => b.value - a.value).slice(0, SHOWN_BOUNDS.plotRows);
  const most = Math.max(...sorted.map(({ value }) => value), 0);
  if (most === 0) return '';
  const room = WIDTH - LEFT - 110;
  const drawn = sorted.map(({ label, value, text }, index) => {
    const y = index * ROW;
    const width = Math.max(1, Math.round((value / most) * room));
    const short = label.length <= LABEL_CHARS ? label : `…${label.slice(1 - LABEL_CHARS)}`;
    return [
      `<text x="${LEFT - 8}" y="${y + 15}" text-anchor="end">${html(short)}</text>`,
      `<rect x="${LEFT}" y="${y + 4}" width="${width}" height="14"><title>${html(`${label}: ${text}`)}</title></rect>`,
      `<text x="${LEFT + width + 6}" y="${y + 15}">${html(text)}</text>`,
    ].join('');
  });
  const left = rows.length - sorted.length;
  const more = left > 0 ? `<p>and ${left} more</p>` : '';
  const size = `viewBox="0 0 ${WIDTH} ${sorted.length * ROW}" width="${WIDTH}"`;
  return `<figure><figcaption>${html(title)}</figcaption><svg ${size} role="img" aria-label="${html(title)}">${drawn.join('')}</svg>${more}</figure>`;
};
