/**
 * `npm run lint`: runs oxlint and holds its warnings against `scripts/lint-baseline.json`.
 *
 * An error fails. The baseline has the number of warnings of each rule in each file. More of them fail, so a new place has to be written
 * well. Fewer of them are written into the baseline, so that it only shrinks; under CI a baseline with numbers that are too high fails.
 * `npm run lint -- --moved` accepts numbers that moved between files, if no rule has more places than before.
 */
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { root } from './install.js';

const BASELINE = 'scripts/lint-baseline.json';
/** bound: bytes of oxlint's report; 4,000 warnings take 1 MB. */
const MAX_REPORT_BYTES = 256 * 1024 * 1024;
/** bound: ms of one run of oxlint; it takes 15 s on two quiet cores. */
const MAX_LINT_MS = 5 * 60_000;

/** Runs oxlint in `directory` and returns its diagnostics. Throws with its output if that is no report. */
const diagnosticsOf = (directory) => {
  const oxlint = join(root, 'node_modules', 'oxlint', 'bin', 'oxlint');
  const { stdout, stderr } = spawnSync(process.execPath, [oxlint, '--format', 'json'], {
    cwd: directory,
    encoding: 'utf8',
    maxBuffer: MAX_REPORT_BYTES,
    timeout: MAX_LINT_MS,
  });
  try {
    return JSON.parse(stdout).diagnostics;
  } catch {
    throw new Error(`oxlint printed no report:\n${stdout}${stderr}`);
  }
};

const placeOf = ({ filename, labels }) => `${filename}:${labels[0]?.span.line ?? 1}`;
const lineOf = (diagnostic) => `${placeOf(diagnostic)} ${diagnostic.code}: ${diagnostic.message}`;

/** Returns the number of warnings as `{ rule: { file: number } }`, sorted by rule and file. */
export const countWarnings = (warnings) => {
  const counts = {};
  const keyOf = ({ code, filename }) => `${code}\n${filename}`;
  const sorted = [...warnings].sort((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1));
  for (const { code, filename } of sorted) {
    counts[code] ??= {};
    counts[code][filename] = (counts[code][filename] ?? 0) + 1;
  }
  return counts;
};

const totalOf = (files = {}) => Object.values(files).reduce((sum, count) => sum + count, 0);

/** Returns the rules and files of `counts` with more warnings than in `baseline`, as `{ rule, file, count, allowed }`. */
export const excessOf = (counts, baseline) =>
  Object.entries(counts).flatMap(([rule, files]) =>
    Object.entries(files)
      .map(([file, count]) => ({ rule, file, count, allowed: baseline[rule]?.[file] ?? 0 }))
      .filter(({ count, allowed }) => count > allowed),
  );

/** Returns the rules with more warnings in all files together than in `baseline`. */
export const grownRules = (counts, baseline) =>
  Object.keys(counts).filter((rule) => totalOf(counts[rule]) > totalOf(baseline[rule]));

const printExcess = (excess, warnings) => {
  for (const { rule, file, count, allowed } of excess) {
    console.error(`${file}: ${count} of ${rule}, and ${BASELINE} allows ${allowed}:`);
    const places = warnings.filter(({ code, filename }) => code === rule && filename === file);
    for (const warning of places) console.error(`  ${lineOf(warning)}`);
  }
  console.error('Write the new places in another way. For moved code: npm run lint -- --moved');
};

/** Returns the exit code. */
const lint = (directory, { isMove, isCi }) => {
  const diagnostics = diagnosticsOf(directory);
  const errors = diagnostics.filter(({ severity }) => severity === 'error');
  for (const error of errors) console.error(lineOf(error));
  if (errors.length > 0) return 1;

  const path = join(directory, BASELINE);
  const text = readFileSync(path, 'utf8');
  const baseline = JSON.parse(text);
  const counts = countWarnings(diagnostics);
  const excess = excessOf(counts, baseline);
  const isAccepted = isMove ? grownRules(counts, baseline).length === 0 : excess.length === 0;
  if (!isAccepted) {
    printExcess(excess, diagnostics);
    return 1;
  }
  const updated = `${JSON.stringify(counts, null, 2)}\n`;
  if (updated !== text) {
    if (isCi) {
      console.error(`${BASELINE} has places that are gone. Run \`npm run lint\` and commit it.`);
      return 1;
    }
    writeFileSync(path, updated);
    console.log(`${BASELINE}: updated, commit it.`);
  }
  console.log(`0 errors, ${diagnostics.length} warnings, none of them new.`);
  return 0;
};

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const isMove = process.argv.includes('--moved');
  process.exitCode = lint(process.cwd(), { isMove, isCi: process.env.CI === 'true' });
}
