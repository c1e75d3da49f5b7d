/** The syntax colours of the diff that is drawn. */
import type { Parser } from '@lezer/common';
import { useCallback, useEffect, useState } from 'preact/hooks';
import type { DiffFile, DiffLine, Hunk } from '../model/diff.js';
import { grammarOf, hunkTokens, type Lines, type Token } from '../model/tokens.js';

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
