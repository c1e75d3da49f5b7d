/**
 * In which order jest runs the files: the longest first, so that none of them is left to run alone at the end. And how
 * `npm run test:long -- --share K/6` deals them out: by what they were measured to take, so that each share takes about as long as the
 * others. Jest itself goes by a hash of the name.
 */
import { readFileSync } from 'node:fs';
import { relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import Sequencer from '@jest/test-sequencer';

const root = fileURLToPath(new URL('..', import.meta.url));
/** Seconds of each file that takes one or more, in `npm test` and in `npm run test:long`; written by scripts/measured.js. */
const measured = JSON.parse(readFileSync(new URL('measured.json', import.meta.url), 'utf8'));
const column = process.env.EMEND_LONG === '1' ? 'test:long' : 'test';
/** A file that nobody has measured yet may be long. */
const NEW_S = 5;
const KNOWN_SHORT_S = 0.5;

const nameOf = ({ path }) => relative(root, path).split(sep).join('/');
const secondsOf = (test, row) => {
  const entry = measured.files[nameOf(test)];
  if (entry === undefined) return NEW_S;
  return entry[row] ?? entry['test:long'] ?? entry.test ?? KNOWN_SHORT_S;
};

/** By seconds, the most first; by name where they are equal: the same order on every machine. */
const heaviestFirst = (tests, row) =>
  [...tests].sort(
    (a, b) =>
      secondsOf(b, row) - secondsOf(a, row) ||
      (nameOf(a) < nameOf(b) ? -1 : nameOf(a) > nameOf(b) ? 1 : 0),
  );

/**
 * Each file, the heaviest first, to the share that has the least so far: `count` lists.
 * @param {readonly {path: string}[]} tests
 * @param {number} count
 */
export const shares = (tests, count) => {
  const dealt = Array.from({ length: count }, () => ({ seconds: 0, tests: [] }));
  for (const test of heaviestFirst(tests, 'test:long')) {
    const least = dealt.reduce((a, b) => (b.seconds < a.seconds ? b : a));
    least.tests.push(test);
    least.seconds += secondsOf(test, 'test:long');
  }
  return dealt;
};

export default class HeaviestFirst extends Sequencer {
  sort(tests) {
    return heaviestFirst(tests, column);
  }
  shard(tests, { shardIndex, shardCount }) {
    return shares(tests, shardCount)[shardIndex - 1].tests;
  }
}
