/**
 * `npm run bench:edits`: the edit engine beside jsdiff's `applyPatch`, `git apply`, and reading, hashing and writing the same bytes. Rounds
 * are interleaved, numbers are medians with quartiles, goals stand beside them. Exit code 0 means measured; an answer that does not give
 * the true bytes ends the run.
 */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { performance } from 'node:perf_hooks';
import { parseArgs } from 'node:util';
import { applyPatch } from 'diff';
import { applyAnswer } from '../dist/src/edits/index.js';
import { BOUNDS } from '../dist/src/shared/limits.js';
import { answerOf, diffOf, FORMATS, sample } from './edits-sample.js';
import { median, row, shown, spread, table } from './numbers.js';

const { values } = parseArgs({
  options: {
    lines: { type: 'string', default: '1000000' },
    edits: { type: 'string', default: '10000' },
    rounds: { type: 'string', default: '9' },
    help: { type: 'boolean', default: false },
  },
});
if (values.help) {
  console.log('npm run bench:edits -- [--lines 1000000] [--edits 10000] [--rounds 9]');
  process.exit(0);
}
const [LINES, EDITS, ROUNDS] = [Number(values.lines), Number(values.edits), Number(values.rounds)];
const dir = mkdtempSync(join(tmpdir(), 'emend-bench-edits-'));
const MB = 1_000_000;

const timed = (work) => {
  globalThis.gc?.();
  const from = performance.now();
  const value = work();
  return [performance.now() - from, value];
};

const sha256 = (bytes) => createHash('sha256').update(bytes).digest('hex');

/** Applies one answer and fails where its bytes are not the true ones. `base`: a step says which file it means. */
const engine = (s, format, answer, bytes, { base = false } = {}) => {
  const options = {
    requireMarker: false,
    ...(base ? { base: new Map([[s.path, sha256(bytes)]]) } : {}),
  };
  const [ms, outcome] = timed(() =>
    applyAnswer({ format, answer, files: new Map([[s.path, { bytes }]]), options }),
  );
  const found = outcome.outcome === 'edited' ? outcome.files.get(s.path).bytes : null;
  if (found === null || Buffer.compare(found, Buffer.from(s.resultText)) !== 0)
    throw new Error(
      `${format} is not exact: ${JSON.stringify(outcome.reasons ?? outcome.outcome).slice(0, 400)}`,
    );
  return ms;
};

const jsdiff = (s, patch) => {
  const [ms, text] = timed(() => applyPatch(s.baseText, patch));
  if (text !== s.resultText) throw new Error('jsdiff gives another text');
  return ms;
};

const gitApply = (s, patchPath, file) => {
  writeFileSync(file, s.baseText);
  const [ms] = timed(() => execFileSync('git', ['apply', patchPath], { cwd: dir }));
  if (readFileSync(file, 'utf8') !== s.resultText) throw new Error('git apply gives another text');
  return ms;
};

/** What no program that edits the file can do without. */
const bytesOnly = (from, to) =>
  timed(() => {
    const bytes = readFileSync(from);
    sha256(bytes);
    writeFileSync(to, bytes);
  })[0];

/** The engine with the reading, hashing and writing that a caller has round it. */
const wholeWay = (s, answer, from, to) =>
  timed(() => {
    const bytes = new Uint8Array(readFileSync(from));
    const base = new Map([[s.path, sha256(bytes)]]);
    const options = { requireMarker: false, base };
    const outcome = applyAnswer({
      format: 'unified-diff',
      answer,
      files: new Map([[s.path, { bytes }]]),
      options,
    });
    writeFileSync(to, outcome.files.get(s.path).bytes);
  })[0];

const timeRows = () => {
  const s = sample(LINES, EDITS);
  const bytes = new Uint8Array(Buffer.from(s.baseText));
  const patch = diffOf(s);
  const [file, patchPath, base, out] = [s.path, 'edits.patch', 'base', 'out'].map((name) =>
    join(dir, name),
  );
  // `git apply` copies the file for each hunk: at full size that takes minutes, so both are compared at a tenth.
  const tenth = sample(LINES / 10, EDITS / 10);
  const tenthBytes = new Uint8Array(Buffer.from(tenth.baseText));
  const tenthPatch = diffOf(tenth);
  writeFileSync(patchPath, tenthPatch);
  writeFileSync(base, bytes);
  const answers = Object.fromEntries(FORMATS.map((format) => [format, answerOf(format, s)]));
  const ours = Object.fromEntries(
    [...FORMATS, 'known', 'whole way', 'tenth'].map((name) => [name, []]),
  );
  const [patched, applied, plain] = [[], [], []];
  for (let round = -1; round < ROUNDS; round += 1) {
    const taken = {
      patched: jsdiff(s, patch),
      applied: gitApply(tenth, patchPath, file),
      tenth: engine(tenth, 'unified-diff', tenthPatch, tenthBytes),
      plain: bytesOnly(base, out),
      known: engine(s, 'unified-diff', answers['unified-diff'], bytes, { base: true }),
      'whole way': wholeWay(s, answers['unified-diff'], base, out),
    };
    for (const format of FORMATS) taken[format] = engine(s, format, answers[format], bytes);
    // The first round warms the code up.
    if (round < 0) continue;
    patched.push(taken.patched);
    applied.push(taken.applied);
    plain.push(taken.plain);
    for (const name of Object.keys(ours)) ours[name].push(taken[name]);
  }
  const ratio = (own, other) => own.map((ms, i) => ms / other[i]);
  const against = (name, own, other, atMost) =>
    row(
      name,
      spread(ratio(own, other)),
      median(ratio(own, other)),
      atMost === undefined ? undefined : { atMost },
    );
  const time = (name, ms) => row(name, `${spread(ms, 0)} ms`, median(ms));
  return [
    row(
      'the file',
      `${shown(bytes.length / MB, 1)} MB, ${shown(LINES)} lines, ${shown(EDITS)} edits`,
      0,
    ),
    time('jsdiff `applyPatch`, strings to string', patched),
    time('`git apply`, file to file, a tenth of lines and edits', applied),
    time('unified-diff, bytes to bytes, a tenth of lines and edits', ours.tenth),
    time('reading, hashing (sha-256), writing', plain),
    ...FORMATS.map((format) => time(`${format}, bytes to bytes`, ours[format])),
    time('unified-diff, the base known by its hash', ours.known),
    time('unified-diff, with reading, hashing and writing', ours['whole way']),
    ...FORMATS.map((format) => against(`${format} over jsdiff`, ours[format], patched, 0.1)),
    against('unified-diff over `git apply`, both at a tenth', ours.tenth, applied, 0.5),
    ...FORMATS.map((format) =>
      against(`${format} over reading, hashing, writing`, ours[format], plain, 2),
    ),
  ];
};

/** Milliseconds over a tenth, a hundredth and all of the lines, as many edits a line. */
const slopeRows = () => {
  const sizes = [LINES / 100, LINES / 10, LINES];
  const rows = [];
  for (const format of FORMATS) {
    const medians = sizes.map((lines) => {
      const s = sample(lines, EDITS * (lines / LINES));
      const [bytes, answer] = [new Uint8Array(Buffer.from(s.baseText)), answerOf(format, s)];
      const times = [];
      for (let round = 0; round < Math.max(3, ROUNDS); round += 1)
        times.push(engine(s, format, answer, bytes));
      return median(times);
    });
    const slope = Math.log(medians[2] / medians[1]) / Math.log(10);
    const told = medians.map((ms, i) => `${shown(ms, 1)} ms (${shown(sizes[i])})`).join(', ');
    rows.push(
      row(`${format}: exponent of the last tenfold; ${told}`, shown(slope), slope, { atMost: 1.1 }),
    );
  }
  return rows;
};

const peakRows = () => {
  const s = sample(LINES, EDITS);
  const base = join(dir, 'peak-base');
  writeFileSync(base, s.baseText);
  const size = Buffer.byteLength(s.baseText);
  const program = join(dirname(fileURLToPath(import.meta.url)), 'edits-peak.js');
  const answer = join(dir, 'peak-answer');
  const peak = (format, name, flags) => {
    writeFileSync(answer, answerOf(format, s));
    // When V8 looks for garbage differs from run to run, so one run says little.
    const runs = Array.from({ length: Math.max(3, ROUNDS) }, () =>
      JSON.parse(String(execFileSync(process.execPath, [...flags, program, format, answer, base]))),
    );
    const times = runs.map((run) => (run.peak - run.idle) / size);
    const [{ idle, read }] = runs;
    const told = `${spread(times)} (after reading file and answer ${shown((read - idle) / size, 1)}; Node itself ${shown(idle / MB, 0)} MB)`;
    return row(
      `${format}${name}: peak memory beyond an idle Node, over the file`,
      told,
      median(times),
      { atMost: 3 },
    );
  };
  // A young generation is three times its half.
  const worker = [
    `--max-semi-space-size=${BOUNDS.editYoung_MiB / 3}`,
    `--heap-growing-percent=${BOUNDS.heapGrowing_percent}`,
  ];
  return FORMATS.flatMap((format) => [
    peak(format, ', V8 as it is', []),
    peak(
      format,
      `, as in the worker's threads (a young generation of ${BOUNDS.editYoung_MiB} MiB)`,
      worker,
    ),
  ]);
};

try {
  console.log(
    table(`${shown(EDITS)} edits in ${shown(LINES)} lines (${ROUNDS} rounds)`, timeRows()),
  );
  console.log(table('Cost against size', slopeRows()));
  console.log(table('Memory', peakRows()));
} finally {
  rmSync(dir, { recursive: true, force: true });
}
