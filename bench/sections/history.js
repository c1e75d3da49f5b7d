/** Bytes and events of a step's history, against the size of file and answer, and the number of files. */
import { row, shown } from '../numbers.js';
import { appendAnswer, jobText, ruleFor, runStep, writeJob } from '../runs.js';

const KiB = 1024;
const MiB = 1024 * KiB;
const FILES = { small: 10 * KiB, large: 50 * MiB };
const ANSWERS = { short: KiB, long: 10 * MiB };
const COUNTS = [1, 2, 10, 50, 125, 250, 500];
const LINES = 40;
/** Pieces of a large answer as a fast server sends them. */
const CHUNK_bytes = 64 * KiB;

const line = 'a line of text that stays as it is, sixty-four bytes long......\n';
const bytes = (size) => line.repeat(Math.ceil(size / line.length));
const pathOf = (n) => `many/file-${n}.txt`;

const rules = ({ files }) => [
  ...Object.keys(FILES).map((name) => ruleFor(`${name}.txt`, appendAnswer(`${name}.txt`))),
  ...Object.entries(ANSWERS).map(([name, size]) =>
    ruleFor(`${name}.txt`, appendAnswer(`${name}.txt`, bytes(size)), { chunk_bytes: CHUNK_bytes }),
  ),
  ...Array.from({ length: files }, (_, n) => ruleFor(pathOf(n), appendAnswer(pathOf(n)))),
];

const settings = { format: 'structured-edit', approval: 'auto', commit: false, test: false };

/** `{ small, large, short, long, many }`: each with bytes and events of its history; `many` by number of files. */
const measure = async (stage, { files }) => {
  const seen = {};
  for (const name of [...Object.keys(FILES), ...Object.keys(ANSWERS)]) {
    const path = `${name}.txt`;
    const repo = await stage.repository(`history-${name}`, {
      [path]: bytes(FILES[name] ?? LINES * line.length),
    });
    seen[name] = await sizes(stage, repo, [path]);
  }
  const all = Array.from({ length: files }, (_, n) => pathOf(n));
  const repo = await stage.repository(
    'history-many',
    Object.fromEntries(all.map((path) => [path, bytes(LINES * line.length)])),
  );
  const many = [];
  for (const count of [...COUNTS.filter((n) => n < files), files]) {
    const from = Date.now();
    many.push({
      count,
      ...(await sizes(stage, repo, all.slice(0, count))),
      seconds: (Date.now() - from) / 1000,
    });
  }
  return { ...seen, many };
};

const sizes = async (stage, repo, target_files) => {
  const job = await writeJob(
    repo,
    `${target_files.length}.md`,
    jobText({ target_files, ...settings }),
  );
  const { workflowId, runId } = await runStep(stage, job, 'applied');
  const { raw } = await stage.client.workflow.getHandle(workflowId, runId).describe();
  const { historySizeBytes, historyLength } = raw.workflowExecutionInfo;
  return { bytes: Number(historySizeBytes), events: Number(historyLength) };
};

const rowsOf = ({ small, large, short, long, many }) => {
  const first = many[0];
  const last = many.at(-1);
  const slope = (from, to, what) => (to[what] - from[what]) / (to.count - from.count);
  // From two files on: splitting brings the brief, once.
  const slopes = many.slice(2).map((to, n) => slope(many[n + 1], to, 'bytes'));
  const bend = slopes.at(-1) / slopes[0];
  const perFile = slope(first, last, 'bytes');
  const events = slope(first, last, 'events');
  const against = (a, b) =>
    `${shown(b.bytes / a.bytes, 3)} (${shown(a.bytes)} and ${shown(b.bytes)} bytes)`;
  return [
    row('50 MiB file over 10 KiB file', against(small, large), large.bytes / small.bytes, {
      atMost: 1.02,
    }),
    row('10 MiB answer over 1 KiB answer', against(short, long), long.bytes / short.bytes, {
      atMost: 1.02,
    }),
    row(`bytes per file, 1 to ${last.count} files`, shown(perFile, 0), perFile, { atMost: 2048 }),
    row(`events per file, 1 to ${last.count} files`, shown(events), events, { atMost: 8 }),
    row(
      'linear: bytes of a late file over those of an early one',
      `${shown(bend, 3)} (bytes a file: ${slopes.map((s) => shown(s, 0)).join(', ')})`,
      bend,
      { atMost: 1.05 },
    ),
    ...many.map(({ count, bytes: size, events: length, seconds }) =>
      row(
        `${count} files`,
        `${shown(size)} bytes, ${shown(length)} events, ${shown(seconds, 1)} s`,
      ),
    ),
  ];
};

export const history = { title: 'History', rules, measure, rowsOf };
