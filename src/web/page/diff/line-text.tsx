/** The text of a line: what changed within it marked, its words coloured, and never more of it than a screen can take. */
import type { Parser } from '@lezer/common';
import { useCallback, useEffect, useMemo, useState } from 'preact/hooks';
import { type DiffFile, type DiffLine, type Hunk, stretchesOf, type Stretch } from '../model/diff.js';
import { visiblePieces } from '../../../shared/text.js';
import { coloured, grammarOf, hunkTokens, type ColouredPart, type Lines, type Token } from '../model/tokens.js';

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
  // Words are compared, and their elements made, once, not each time that the list around it moves.
  const stretches = useMemo(() => {
    const whole = other === null ? null : stretchesOf(line.text, other.text, line.sign === '+');
    return cut(whole ?? [{ text: line.text, changed: false }], most);
  }, [line, other, most]);
  const parts = useMemo(
    () => coloured(stretches, line.text.length > LINE_chars ? null : tokens).flatMap(partOf(search)),
    [stretches, tokens, search],
  );
  return (
    <span class="text">
      {parts}
      {line.text.length > most && (
        <button class="plain more" onClick={() => setAll(true)} disabled={all}>
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

/** Content is text nodes, whatever it looks like. Characters that hide or turn the direction of writing are spelled out. */
const partOf =
  (search: string) =>
  ({ text, changed, colour }: ColouredPart) => {
    const inner = found(text, search).flatMap((piece) =>
      piece.hit ? [<mark>{shown(piece.text)}</mark>] : shown(piece.text),
    );
    const classes = [changed ? 'changed' : '', colour ?? ''].filter((name) => name !== '').join(' ');
    return classes === '' ? inner : [<span class={classes}>{inner}</span>];
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
  visiblePieces(text).map((piece) => (piece.escaped ? <span class="hidden-char">{piece.text}</span> : piece.text));

// The syntax colours of the diff that is drawn.

export type Tokens = (file: DiffFile, hunk: number, line: DiffLine) => readonly Token[] | null;

export const useTokens = (files: readonly DiffFile[]): Tokens => {
  const [parsers, setParsers] = useState<ReadonlyMap<string, Parser>>(new Map());
  const [done] = useState(() => new WeakMap<Hunk, Lines>());
  useEffect(() => {
    const wanted = new Map(
      files
        .flatMap((file) => (file.hunks.length === 0 ? [] : [grammarOf(file.path)]))
        .flatMap((g) => (g === null ? [] : [[g.name, g.load] as const])),
    );
    for (const [name, load] of wanted)
      // A grammar that does not come leaves its files plain.
      load().then(
        (parser) => setParsers((had) => new Map([...had, [name, parser]])),
        () => undefined,
      );
  }, [files]);
  return useCallback(
    (file, index, line) => {
      const hunk = file.hunks[index];
      const parser = parsers.get(grammarOf(file.path)?.name ?? '');
      if (hunk === undefined || parser === undefined) return null;
      const lines = done.get(hunk) ?? hunkTokens(parser, hunk);
      done.set(hunk, lines);
      return lines(line) ?? null;
    },
    [parsers],
  );
};
