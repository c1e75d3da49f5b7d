/** The text of a line: what changed within it marked, its words coloured, and never more of it than a screen can take. */
import type { Parser } from '@lezer/common';
import { useCallback, useEffect, useMemo, useState } from 'preact/hooks';
import {
  type DiffFile,
  type DiffLine,
  type Hunk,
  stretchesOf,
  type Stretch,
} from '../model/diff.js';
import { visiblePieces } from '../../../shared/text.js';
import {
  coloured,
  grammarOf,
  hunkTokens,
  type ColouredPart,
  type Lines,
  type Token,
} from '../model/tokens.js';

/** Of a longer line this much is drawn, from a little before what changed in it; the rest on request, part by part. */
const LINE_chars = 2_000;
const BEFORE_chars = 200;
const PART_chars = 100_000;

interface LineTextProps {
  readonly line: DiffLine;
  readonly other: DiffLine | null;
  readonly tokens: readonly Token[] | null;
  readonly search: string;
}

export const LineText = ({ line, other, tokens, search }: LineTextProps) => {
  const { length } = line.text;
  const [more, setMore] = useState({ before: 0, after: 0 });
  // Words are compared, and their elements made, once, not each time that the list around it moves.
  const whole = useMemo(
    () =>
      other === null
        ? [{ text: line.text, changed: false }]
        : stretchesOf(line.text, other.text, line.sign === '+'),
    [line, other],
  );
  const same =
    whole[0]?.changed === false && whole.length > 1 ? whole[0].text.length - BEFORE_chars : 0;
  const start = length > LINE_chars ? Math.max(0, Math.min(same, length - LINE_chars)) : 0;
  const from = Math.max(0, start - more.before);
  const to = start + LINE_chars + more.after;
  const parts = useMemo(
    () =>
      coloured(cut(whole, from, to), length > LINE_chars ? null : tokens).flatMap(partOf(search)),
    [whole, from, to, tokens, search],
  );
  const rest = (side: keyof typeof more, left: number) =>
    left > 0 && (
      <button
        class="plain more"
        onClick={() => setMore({ ...more, [side]: more[side] + PART_chars })}
      >
        {left.toLocaleString('en-US')} more characters
      </button>
    );
  return (
    <span class="text">
      {rest('before', from)}
      {parts}
      {rest('after', length - to)}
      {line.noEnd === true && <span class="no-end"> (no line end)</span>}
    </span>
  );
};

const cut = (stretches: readonly Stretch[], from: number, to: number): readonly Stretch[] => {
  let end = 0;
  return stretches.flatMap(({ text, changed }) => {
    const start = end;
    end += text.length;
    const part = text.slice(Math.max(0, from - start), Math.max(0, to - start));
    return part === '' ? [] : { text: part, changed };
  });
};

/** Content is text nodes, whatever it looks like. Characters that hide or turn the direction of writing are spelled out. */
const partOf =
  (search: string) =>
  ({ text, changed, colour }: ColouredPart) => {
    const inner = found(text, search).flatMap((piece) =>
      piece.hit ? [<mark>{shown(piece.text)}</mark>] : shown(piece.text),
    );
    const classes = [changed ? 'changed' : '', colour ?? '']
      .filter((name) => name !== '')
      .join(' ');
    return classes === '' ? inner : [<span class={classes}>{inner}</span>];
  };

const found = (
  text: string,
  search: string,
): readonly { readonly text: string; readonly hit: boolean }[] => {
  if (search === '') return [{ text, hit: false }];
  const pieces: { text: string; hit: boolean }[] = [];
  const low = text.toLowerCase();
  let at = 0;
  for (let hit = low.indexOf(search); hit !== -1; hit = low.indexOf(search, at)) {
    pieces.push(
      { text: text.slice(at, hit), hit: false },
      { text: text.slice(hit, hit + search.length), hit: true },
    );
    at = hit + search.length;
  }
  return [...pieces, { text: text.slice(at), hit: false }].filter((piece) => piece.text !== '');
};

const shown = (text: string) =>
  visiblePieces(text).map((piece) =>
    piece.escaped ? <span class="hidden-char">{piece.text}</span> : piece.text,
  );

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
