/**
 * `node bench/profile.js DIR`: where a worker's CPU goes, activity by activity, from what `BENCH_CPU_PROF=DIR npm run bench:step -- --only
 * budget` left in DIR: profiles of the worker's threads, and when each activity began and ended. Prints a Markdown table.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { shown } from './numbers.js';

const PLACES = 6;
const [dir] = process.argv.slice(2);
if (dir === undefined) {
  console.error('Expected: node bench/profile.js DIR');
  process.exit(2);
}

/** As profiles have it: microseconds of the same clock. */
const us = ([seconds, nanos]) => seconds * 1e6 + nanos / 1e3;
const activities = readFileSync(join(dir, 'activities.jsonl'), 'utf8')
  .split('\n')
  .slice(0, -1)
  .map((line) => JSON.parse(line))
  .map(({ name, from, to }) => ({ name, from: us(from), to: us(to) }));

/** Ours by folder, a package by its name, Node's modules by theirs; what has no file is named by itself. */
const placeOf = ({ url, functionName }) =>
  /node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(url)?.[1] ??
  /dist\/(src\/[^/]+)/.exec(url)?.[1] ??
  (url.startsWith('node:') ? url.split('/').slice(0, 2).join('/') : functionName);

const spent = {};
const count = {};
for (const { name } of activities) count[name] = (count[name] ?? 0) + 1;
for (const file of readdirSync(dir).filter((name) => name.endsWith('.cpuprofile'))) {
  const { nodes, samples, timeDeltas, startTime } = JSON.parse(
    readFileSync(join(dir, file), 'utf8'),
  );
  const places = new Map(nodes.map(({ id, callFrame }) => [id, placeOf(callFrame)]));
  let at = startTime;
  for (const [n, sample] of samples.entries()) {
    at += timeDeltas[n];
    const place = places.get(sample);
    if (place === '(idle)') continue;
    const during = activities.find(({ from, to }) => from <= at && at <= to);
    if (during === undefined) continue;
    const of = (spent[during.name] ??= {});
    of[place] = (of[place] ?? 0) + timeDeltas[n] / 1e3;
  }
}

console.log('| activity | ms of CPU | of them |\n|---|---|---|');
for (const [name, of] of Object.entries(spent)) {
  const sorted = Object.entries(of).sort((a, b) => b[1] - a[1]);
  const each = (ms) => shown(ms / count[name], 1);
  const total = sorted.reduce((sum, [, ms]) => sum + ms, 0);
  const parts = sorted.slice(0, PLACES).map(([place, ms]) => `${place} ${each(ms)}`);
  console.log(`| ${name} | ${each(total)} | ${parts.join(', ')} |`);
}
