/**
 * Arranges the output of a test command for a reader who has room for a part of it only:
 *
 * 1. the names of the failed tests;
 * 2. their blocks: each gets an equal share, and the others share what a short one leaves;
 * 3. the lines that count tests;
 * 4. the rest of the output, including the tests that passed.
 *
 * An output without a failed test that a reader recognizes is shown with its error lines, its beginning and its end.
 */
import { Buffer } from 'node:buffer';
import { count } from '../../shared/text.js';
import { reportOf } from './report.js';
import { isTelling } from './error-lines.js';
import { outputText } from './lines.js';
import type { FailedTest } from './types.js';

const REST_BYTES = 4 * 1024; // bound: Of an output with failed tests, the rest is shown up to this size.
const SUMMARY_BYTES = 2 * 1024; // bound: The lines that count tests are shown up to this size.
const LEAST_BLOCK_BYTES = 300; // bound: A failed test's block that would get less room than this is omitted.
const NAMES_SHARE = 0.3; // bound: The names of failed tests take at most this share of the room,
const BLOCKS_SHARE = 0.9; // bound: and their blocks at most this share of what the names leave.
const LINES_AFTER = 2; // bound: Lines after a telling one that are shown with it.

interface ArrangedOutput {
  readonly text: string;
  /** Number of lines of the output that the text does not have. */
  readonly omitted: number;
}

const sizeOf = (text: string): number => Buffer.byteLength(text) + 1;

export function arrangeTestOutput(output: string, max_bytes: number): ArrangedOutput {
  const read = outputText(output);
  const { failures, summary } = reportOf(read);
  if (failures.length === 0) return shortened(trimmed(read.lines), max_bytes);
  const names = namesOf(failures, Math.floor(max_bytes * NAMES_SHARE));
  let room = max_bytes - sizeOf(names) - 1;
  const blocks = blocksOf(failures, Math.floor(room * BLOCKS_SHARE));
  room -= sizeOf(blocks.text);
  const counts = shortened(
    summary.map((index) => read.lines[index] ?? ''),
    Math.min(SUMMARY_BYTES, room - 2),
  );
  room -= sizeOf(counts.text) + 2;
  const taken = new Set([...summary, ...failures.flatMap(({ lines }) => lines)]);
  const others = trimmed(read.lines.filter((_, index) => !taken.has(index)));
  const title = 'The rest of the output:\n';
  const rest = shortened(others, Math.min(REST_BYTES, room - 2) - sizeOf(title));
  const parts = [names, blocks.text, counts.text, rest.text === '' ? '' : title + rest.text];
  return {
    text: parts.filter((part) => part !== '').join('\n\n'),
    omitted: blocks.omitted + counts.omitted + rest.omitted,
  };
}

/** Returns the output as it was printed, after the names of the failed tests. */
export function wholeTestOutput(output: string): string {
  const read = outputText(output);
  const { failures } = reportOf(read);
  const names = failures.length === 0 ? '' : `${namesOf(failures, Infinity)}\n\n`;
  return names + read.text.trimEnd();
}

/** The lines without empty ones at the ends. */
function trimmed(lines: readonly string[]): readonly string[] {
  const from = lines.findIndex((line) => line.trim() !== '');
  const to = lines.findLastIndex((line) => line.trim() !== '');
  return from < 0 ? [] : lines.slice(from, to + 1);
}

/** Returns each distinct name with its place, and the number of tests of that name. */
function namesOf(failures: readonly FailedTest[], max_bytes: number): string {
  const tests = new Map<string, number>();
  for (const { name, place } of failures) {
    const entry = place === null ? name : `${name} (${place})`;
    tests.set(entry, (tests.get(entry) ?? 0) + 1);
  }
  const lines = [`Failed tests (${failures.length}):`];
  let room = max_bytes - sizeOf(lines[0] ?? '') - sizeOf('… and 1000000 more');
  for (const [entry, times] of tests) {
    const line = `- ${entry}${times > 1 ? ` (${times} times)` : ''}`;
    room -= sizeOf(line);
    if (room < 0 && lines.length > 1) break;
    lines.push(room < 0 ? line.slice(0, Math.max(0, max_bytes / 4)) : line);
  }
  const omitted = tests.size - (lines.length - 1);
  return [...lines, ...(omitted > 0 ? [`… and ${omitted} more`] : [])].join('\n');
}

function blocksOf(failures: readonly FailedTest[], max_bytes: number): ArrangedOutput {
  const blocks = [...new Set(failures.map(({ block }) => block))].filter((block) => block !== '');
  const note = (number: number): string =>
    `[… the output of ${count(number, 'more failed test')} …]`;
  const most = Math.max(1, Math.floor((max_bytes - 60) / LEAST_BLOCK_BYTES));
  const shown = blocks.slice(0, most);
  const sizes = sharesOf(
    shown.map((block) => sizeOf(block) + 1),
    max_bytes - (blocks.length > most ? 60 : 0),
  );
  const parts = shown.map((block, index) => shortened(block.split('\n'), (sizes[index] ?? 0) - 2));
  const texts = parts.map(({ text }) => text).filter((text) => text !== '');
  const rest = blocks.slice(most);
  if (rest.length > 0) texts.push(note(rest.length));
  return {
    text: texts.join('\n\n'),
    omitted:
      parts.reduce((sum, { omitted }) => sum + omitted, 0) +
      rest.reduce((sum, block) => sum + block.split('\n').length, 0),
  };
}

/** Divides the room: no part gets more than it needs, and the others share the rest equally. */
function sharesOf(sizes: readonly number[], room: number): readonly number[] {
  const shares: number[] = [];
  let remaining = room;
  const order = sizes.map((size, index) => ({ size, index })).sort((a, b) => a.size - b.size);
  order.forEach(({ size, index }, position) => {
    const share = Math.min(size, Math.floor(remaining / (order.length - position)));
    shares[index] = share;
    remaining -= share;
  });
  return shares;
}

/** Keeps the first line, then telling lines with what follows them, then the end and the beginning, as far as they fit. */
function shortened(lines: readonly string[], max_bytes: number): ArrangedOutput {
  const whole = lines.join('\n');
  if (sizeOf(whole) <= max_bytes + 1) return { text: whole, omitted: 0 };
  if (max_bytes < NOTE_BYTES) return { text: '', omitted: lines.length };
  const kept = new Set<number>();
  let room = max_bytes;
  const keep = (index: number): boolean => {
    const line = lines[index];
    if (line === undefined || kept.has(index)) return true;
    // A line may stand alone between two notes of what is omitted.
    const size = sizeOf(line) + (kept.has(index - 1) || kept.has(index + 1) ? 0 : NOTE_BYTES);
    if (size > room) return false;
    kept.add(index);
    room -= size;
    return true;
  };
  room -= NOTE_BYTES;
  for (const index of byImportance(lines)) if (!keep(index)) break;
  return gapped(lines, kept);
}

const NOTE_BYTES = 40; // bound: The note of omitted lines is at most this long.

function* byImportance(lines: readonly string[]): Generator<number> {
  yield 0;
  for (const [index, line] of lines.entries())
    if (isTelling(line)) for (let after = 0; after <= LINES_AFTER; after += 1) yield index + after;
  for (let index = 1; index <= lines.length; index += 1) {
    yield lines.length - index;
    yield index;
  }
}

function gapped(lines: readonly string[], kept: ReadonlySet<number>): ArrangedOutput {
  const out: string[] = [];
  let omitted = 0;
  let gap = 0;
  const close = (): void => {
    if (gap > 0) out.push(`[… ${count(gap, 'line')} omitted …]`);
    omitted += gap;
    gap = 0;
  };
  for (const [index, line] of lines.entries()) {
    if (!kept.has(index)) {
      gap += 1;
      continue;
    }
    close();
    out.push(line);
  }
  close();
  return { text: out.join('\n'), omitted };
}
