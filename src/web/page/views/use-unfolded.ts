/** Unchanged parts of files that a person wants to see, too: the file is read when the first of its parts is unfolded. */
import { useState } from 'preact/hooks';
import { getJson } from '../api.js';

export interface Unfolded {
  readonly texts: ReadonlyMap<string, readonly string[]>;
  readonly unfolded: ReadonlySet<string>;
  readonly unfold: (path: string, gap: number) => void;
}

const linesOf = (text: string): readonly string[] => {
  const lines = text.split('\n');
  return lines.at(-1) === '' ? lines.slice(0, -1) : lines;
};

export const useUnfolded = (stepKey: string, proposalId: string): Unfolded => {
  const [texts, setTexts] = useState<ReadonlyMap<string, readonly string[]>>(new Map());
  const [unfolded, setUnfolded] = useState<ReadonlySet<string>>(new Set());
  const unfold = async (path: string, gap: number): Promise<void> => {
    if (!texts.has(path)) {
      const at = `/api/runs/${stepKey}/file/${proposalId}?path=${encodeURIComponent(path)}`;
      const { after } = await getJson<{ readonly after: string | null }>(at);
      if (after === null) return;
      setTexts((had) => new Map([...had, [path, linesOf(after)]]));
    }
    setUnfolded((had) => new Set([...had, `${path}:${gap}`]));
  };
  return { texts, unfolded, unfold: (path, gap) => void unfold(path, gap).catch(() => undefined) };
};
