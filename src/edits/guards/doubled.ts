/** An edit that repeats what stands beside it: a block of new lines directly above or below the same block. */
import type { Finding } from '../../shared/formats.js';
import { placesOf } from '../locate/elision.js';
import type { GuardView } from './view.js';

const DOUBLED_FROM_LINES = 4; // bound: Shorter repeats (closing brackets, `break`) are everyday code.
export const DOUBLED_UP_TO_LINES = 400; // bound: Longer repeats than this are not looked for.
const TELLING_CHARS = 3; // bound: Lines with this many letters or digits say something.
const TELLING_LINES = 3; // bound: A repeat needs so many such lines.
export const DOUBLED_FINDINGS = 5; // bound: Doubled blocks told of one file.
const DOUBLED_STEPS = 5_000_000; // bound: Comparisons of lines; what a file of repeats would need beyond is not looked for.

/** Blocks of at least four lines that stand twice in a row (blank lines between them aside), the second or the first of them new. */
export const doubledBlocks = (view: GuardView): Finding[] => {
  const { path, base } = view;
  let old: readonly string[] | null = null;
  const findings: Finding[] = [];
  const steps = { left: DOUBLED_STEPS };
  for (const [first, last] of newRuns(view)) {
    const run = around(view, first, last);
    const { places, text } = run;
    for (
      let at = run.from;
      at < run.to && findings.length < DOUBLED_FINDINGS && steps.left > 0;
      at += 1
    ) {
      const length = repeatAt(run, at, steps);
      if (length === 0) continue;
      old ??= base.all.filter((line) => line.trim() !== '');
      steps.left -= old.length;
      const block = text.slice(at, at + length);
      if (placesOf(old, [...block, ...block]).length > 0) continue;
      const [begin, end] = [places[at] ?? 0, places[at + length - 1] ?? 0];
      const beginning = JSON.stringify((text[at] ?? '').trim().slice(0, 60));
      const message = `Lines ${begin + 1} to ${end + 1} of the new ${path} occur twice in a row, starting ${beginning}.`;
      findings.push({
        guard: 'doubled_block',
        severity: 'ask',
        path,
        lines: [begin + 1, end + 1],
        message,
      });
      at += length - 1;
    }
  }
  return findings;
};

/** Result lines [first, last] of each run of new lines, with at most blank ones between them, that is long enough for a repeat. */
const newRuns = (view: GuardView): [number, number][] => {
  const runs: [number, number][] = [];
  let run: { first: number; last: number; lines: number; to: number } | null = null;
  const close = (): void => {
    if (run !== null && run.lines >= DOUBLED_FROM_LINES) runs.push([run.first, run.last]);
    run = null;
  };
  for (const { at, from, to, lines } of view.changes) {
    if (run !== null && !blankBetween(view, (run as { to: number }).to, from)) close();
    for (let i = 0; i < lines.length; i += 1) {
      if ((lines[i] ?? '').trim() === '') continue;
      run ??= { first: at + i, last: at + i, lines: 0, to };
      run.last = at + i;
      run.lines += 1;
    }
    if (run !== null) run.to = to;
  }
  close();
  return runs;
};
const blankBetween = ({ base }: GuardView, from: number, to: number): boolean => {
  for (let at = from; at < to; at += 1) if (!base.isBlank(at)) return false;
  return true;
};

/** `text` [from, to) is new. */
type Run = Readonly<{
  places: readonly number[];
  text: readonly string[];
  from: number;
  to: number;
}>;

/** The lines of a run that are not blank, and as many on either side: a repeat of some of them reaches no further. */
const around = ({ result }: GuardView, first: number, last: number): Run => {
  const run: number[] = [];
  for (let at = first; at <= last; at += 1) if (result.line(at).trim() !== '') run.push(at);
  const beside = (at: number, step: 1 | -1): number[] => {
    const found: number[] = [];
    for (
      let next = at + step;
      next >= 0 && next < result.length && found.length < run.length;
      next += step
    )
      if (result.line(next).trim() !== '') found.push(next);
    return found;
  };
  const before = beside(first, -1).reverse();
  const places = [...before, ...run, ...beside(last, 1)];
  const from = before.length;
  return { places, text: places.map((at) => result.line(at)), from, to: from + run.length };
};

/** How long the block of new lines from `at` is that stands directly before or behind it as well; 0: none does. */
const repeatAt = ({ text, to }: Run, at: number, steps: { left: number }): number => {
  for (
    let length = DOUBLED_FROM_LINES;
    length <= Math.min(DOUBLED_UP_TO_LINES, to - at);
    length += 1
  ) {
    for (const other of [at - length, at + length]) {
      steps.left -= text[other] === text[at] ? length : 1;
      if (steps.left <= 0) return 0;
      if (text[other] === text[at] && same(text, at, other, length) && tells(text, at, length))
        return length;
    }
  }
  return 0;
};
const same = (text: readonly string[], a: number, b: number, length: number): boolean =>
  b >= 0 &&
  b + length <= text.length &&
  text.slice(a, a + length).every((line, i) => line === text[b + i]);
const tells = (text: readonly string[], at: number, length: number): boolean => {
  const isTelling = (line: string): boolean =>
    (line.match(/[\p{L}\p{N}]/gu) ?? []).length >= TELLING_CHARS;
  return new Set(text.slice(at, at + length).filter(isTelling)).size >= TELLING_LINES;
};
