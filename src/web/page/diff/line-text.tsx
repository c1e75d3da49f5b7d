/** The text of a line: what changed within it marked, its words coloured, and never more of it than a screen can take. */
import { useMemo, useState } from 'preact/hooks';
import { type DiffLine, stretchesOf, type Stretch } from '../model/diff.js';
import { visiblePieces } from '../../../shared/text.js';
import { coloured, type Token } from '../model/tokens.js';

/** Of a longer line this much is drawn; the rest on request. */
const LINE_chars = 2_000;
const PART_chars = 100_000;

interface LineTextProps {
  readonly line: DiffLine;
  readonly other: DiffLine | null;
  readonly tokens: readonly Token[] | null;
  readonly search: string;
}

export const LineText = ({ line, other, tokens, search }: LineTextProps) => {
  const [all, setAll] = useState(false);
  const most = all ? PART_chars : LINE_chars;
  // Words are compared once, not each time that the list around it moves.
  const parts = useMemo(() => {
    const whole = other === null ? null : stretchesOf(line.text, other.text, line.sign === '+');
    const stretches = cut(whole ?? [{ text: line.text, changed: false }], most);
    return coloured(stretches, line.text.length > LINE_chars ? null : tokens);
  }, [line, other, tokens, most]);
  return (
    <span class="text">
      {parts.map((part, i) => (
        <Part key={i} part={part} search={search} />
      ))}
      {line.text.length > most && (
        <button
          class="plain more"
          onClick={() => {
            setAll(true);
          }}
          disabled={all}
        >
          {(line.text.length - most).toLocaleString('en-US')} more characters{all ? ' are not shown' : ''}
        </button>
      )}
      {line.noEnd === true && <span class="no-end"> (no line end)</span>}
    </span>
  );
};

const cut = (stretches: readonly Stretch[], most: number): readonly Stretch[] => {
  let left = most;
  const kept: Stretch[] = [];
  for (const stretch of stretches) {
    if (left <= 0) break;
    kept.push({ ...stretch, text: stretch.text.slice(0, left) });
    left -= stretch.text.length;
  }
  return kept;
};

interface PartProps {
  readonly part: { readonly text: string; readonly changed: boolean; readonly colour: string | null };
  readonly search: string;
}

/** Content is text nodes, whatever it looks like. Characters that hide or turn the direction of writing are spelled out. */
const Part = ({ part, search }: PartProps) => {
  const classes = [part.changed ? 'changed' : '', part.colour ?? ''].filter((name) => name !== '').join(' ');
  const pieces = found(part.text, search);
  const inner = pieces.map((piece, i) => (piece.hit ? <mark key={i}>{shown(piece.text)}</mark> : shown(piece.text)));
  return classes === '' ? <>{inner}</> : <span class={classes}>{inner}</span>;
};

const found = (text: string, search: string): readonly { readonly text: string; readonly hit: boolean }[] => {
  if (search === '') return [{ text, hit: false }];
  const pieces: { text: string; hit: boolean }[] = [];
  const low = text.toLowerCase();
  let at = 0;
  for (let hit = low.indexOf(search); hit !== -1; hit = low.indexOf(search, at)) {
    pieces.push({ text: text.slice(at, hit), hit: false }, { text: text.slice(hit, hit + search.length), hit: true });
    at = hit + search.length;
  }
  return [...pieces, { text: text.slice(at), hit: false }].filter((piece) => piece.text !== '');
};

const shown = (text: string) =>
  visiblePieces(text).map((piece, i) =>
    piece.escaped ? (
      <span key={i} class="hidden-char">
        {piece.text}
      </span>
    ) : (
      piece.text
    ),
  );
