/** An edit that repeats what stands beside it: a block of new lines directly above or below the same block. */
import type { Finding } from '../shared/formats.js';
import type { GuardView } from './guards.js';

/** Shorter repeats (closing brackets, `break`) are everyday code; longer ones are looked for up to the second number. */
const FROM_LINES = 4;
const UP_TO_LINES = 400;
/** Lines with this many letters or digits say something. */
const TELLING_CHARS = 3;
const TELLING_LINES = 3;
const MAX_FINDINGS = 5;
/** Comparisons of lines; what a file of repeats would need beyond is not looked for. */
const MAX_STEPS = 5_000_000;

/** Blocks of at least four lines that stand twice in a row (blank lines between them aside), the second or the first of them new. */
export const doubledBlocks = ({ path, base, result, origins }: GuardView): Finding[] => {
  const kept = result.map((_, i) => i).filter((i) => (result[i] ?? '').trim() !== '');
  const text = kept.map((i) => result[i] ?? '');
  const isNew = kept.map((i) => (origins[i] ?? -1) < 0);
  const old = base.filter((line) => line.trim() !== '');
  const findings: Finding[] = [];
  const steps = { left: MAX_STEPS };
  for (let at = 0; at < text.length && findings.length < MAX_FINDINGS && steps.left > 0; at += 1) {
    if (isNew[at] !== true) continue;
    const length = repeatAt(text, isNew, at, steps);
    steps.left -= length === 0 ? 0 : old.length;
    if (length === 0 || stoodTwice(old, text.slice(at, at + length))) continue;
    const [from, to] = [kept[at] ?? 0, kept[at + length - 1] ?? 0];
    findings.push({
      guard: 'doubled_block',
      severity: 'ask',
      path,
      lines: [from + 1, to + 1],
      message: `Lines ${from + 1} to ${to + 1} of the new ${path} stand twice in a row, beginning ${JSON.stringify((text[at] ?? '').trim().slice(0, 60))}.`,
    });
    at += length - 1;
  }
  return findings;
};

/** The longest block of new lines from `at` that stands directly before or behind it as well; 0: none. */
const repeatAt = (text: readonly string[], isNew: readonly boolean[], at: number, steps: { left: number }): number => {
  for (let length = FROM_LINES; length <= UP_TO_LINES && isNew[at + length - 1] === true; length += 1) {
    for (const other of [at - length, at + length]) {
      steps.left -= text[other] === text[at] ? length : 1;
      if (steps.left <= 0) return 0;
      if (text[other] === text[at] && same(text, at, other, length) && tells(text, at, length)) return length;
    }
  }
  return 0;
};
const same = (text: readonly string[], a: number, b: number, length: number): boolean => {
  if (b < 0 || b + length > text.length) return false;
  for (let i = 0; i < length; i += 1) if (text[a + i] !== text[b + i]) return false;
  return true;
};
const tells = (text: readonly string[], at: number, length: number): boolean => {
  const block = text.slice(at, at + length);
  return (
    new Set(block.filter((line) => (line.match(/[\p{L}\p{N}]/gu) ?? []).length >= TELLING_CHARS)).size >= TELLING_LINES
  );
};
const stoodTwice = (lines: readonly string[], block: readonly string[]): boolean => {
  const twice = [...block, ...block];
  for (let at = lines.indexOf(block[0] ?? ''); at >= 0; at = lines.indexOf(block[0] ?? '', at + 1))
    if (twice.every((line, i) => lines[at + i] === line)) return true;
  return false;
};
