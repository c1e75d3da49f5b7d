/** What a terminal shows after a program's output, as an SVG. Knows what `emend` writes: colours, and going back over its last lines. */
const FONT_px = 13;
const CHARACTER_px = 7.83;
const LINE_px = 18;
const EDGE_px = 16;

/** Of GitHub's dark theme: contrast of 4.5 and more on the background. */
const BACKGROUND = '#0d1117';
const PLAIN = '#e6edf3';
const COLOURS = {
  31: '#ff7b72',
  32: '#3fb950',
  33: '#d29922',
  34: '#79c0ff',
  35: '#d2a8ff',
  36: '#56d4dd',
  90: '#8b949e',
};

const PLAIN_STYLE = { colour: PLAIN, bold: false, dim: false };
const styleAfter = (style, codes) =>
  codes.reduce((current, code) => {
    if (code === 0) return PLAIN_STYLE;
    if (code === 1) return { ...current, bold: true };
    if (code === 2) return { ...current, dim: true };
    if (code === 22) return { ...current, bold: false, dim: false };
    if (code === 39) return { ...current, colour: PLAIN };
    if (COLOURS[code] !== undefined) return { ...current, colour: COLOURS[code] };
    throw new Error(`a colour that this does not know: ${code}`);
  }, style);

/** Lines of cells `{ character, style }`. Throws at a control sequence that it does not know. */
const screenOf = (output, columns) => {
  const lines = [[]];
  let [row, column, style] = [0, 0, PLAIN_STYLE];
  const put = (character) => {
    if (column === columns) [row, column] = [row + 1, 0];
    while (lines.length <= row) lines.push([]);
    while (lines[row].length < column) lines[row].push({ character: ' ', style: PLAIN_STYLE });
    lines[row][column] = { character, style };
    column += 1;
  };
  const control = (numbers, letter) => {
    const n = numbers[0];
    if (letter === 'm') style = styleAfter(style, numbers.length === 0 ? [0] : numbers);
    else if (letter === 'A') row = Math.max(0, row - (n ?? 1));
    else if (letter === 'G') column = (n ?? 1) - 1;
    else if (letter === 'J' && (n ?? 0) === 0) {
      lines.length = Math.min(lines.length, row + 1);
      lines[row]?.splice(column);
    } else if (letter === 'K' && (n ?? 0) === 0) lines[row]?.splice(column);
    else
      throw new Error(
        `a control sequence that this does not know: ESC [ ${numbers.join(';')} ${letter}`,
      );
  };
  /* eslint-disable no-control-regex -- these are what a terminal reads */
  const shown = output.replace(/\u001b\[\?[\d;]*[hl]|\u001b[=>]/g, ''); // modes of a pager draw nothing
  for (const [part, numbers, letter] of shown.matchAll(/\u001b\[([\d;]*)([A-Za-z])|[^]/gu)) {
    if (letter !== undefined) control(numbers.split(';').filter(Boolean).map(Number), letter);
    else if (part === '\r') column = 0;
    else if (part === '\n') {
      row += 1;
      while (lines.length <= row) lines.push([]);
    } else put(part);
  }
  while (lines.length > 0 && lines.at(-1).length === 0) lines.pop();
  return lines;
};

/** Blanks stay as they are only as no-break spaces. */
const NO_BREAK = '\u00a0';
const escaped = (text) =>
  text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll(' ', NO_BREAK);

/** Neighbouring cells of one style. */
const runsOf = (line) => {
  const runs = [];
  line.forEach(({ character, style }, at) => {
    const last = runs.at(-1);
    if (last !== undefined && last.style === style) last.text += character;
    else runs.push({ at, text: character, style });
  });
  return runs.filter(({ text }) => text.trim() !== '');
};

const runSvg = ({ at, text, style }, line) => {
  const x = (EDGE_px + at * CHARACTER_px).toFixed(1);
  const y = EDGE_px + (line + 1) * LINE_px - 5;
  const look = [
    ...(style.colour === PLAIN ? [] : [`fill="${style.colour}"`]),
    ...(style.bold ? ['font-weight="bold"'] : []),
    ...(style.dim ? ['opacity=".65"'] : []),
  ];
  // The length keeps columns in line whatever font the reader has.
  const length = (text.length * CHARACTER_px).toFixed(1);
  return `<text ${[`x="${x}"`, `y="${y}"`, `textLength="${length}"`, ...look].join(' ')}>${escaped(text)}</text>`;
};

/** @param {{ output: string, columns: number, title: string }} shown */
export const terminalSvg = ({ output, columns, title }) => {
  const lines = screenOf(output, columns);
  const width = Math.ceil(columns * CHARACTER_px + 2 * EDGE_px);
  const height = lines.length * LINE_px + 2 * EDGE_px;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" role="img" aria-label="${escaped(title)}">`,
    `<rect width="100%" height="100%" rx="8" fill="${BACKGROUND}"/>`,
    `<g fill="${PLAIN}" font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace" font-size="${FONT_px}">`,
    ...lines.flatMap((line, index) => runsOf(line).map((run) => runSvg(run, index))),
    '</g>',
    '</svg>',
    '',
  ].join('\n');
};
