/** The lines of a test output that say what failed, and their form without what changes from run to run. */
import { stripVTControlCharacters } from 'node:util';
import { SHOWN_BOUNDS } from '../shared/bounds.js';

export interface KeyLines {
  /** Failing tests and errors in order of appearance, without repeats. */
  readonly lines: readonly string[];
  /** The same for a signature: normalised, sorted (tests run side by side report in any order), without repeats. */
  readonly normalised: readonly string[];
  /** Where kinds are looked for: error lines (a test's name says nothing), or the whole output where no line is a key line. */
  readonly text: string;
  /** A test or a check failed by name. */
  readonly isTestReport: boolean;
}

/** A test or check that failed, by runner. */
const FAILED_TEST = [
  /^\s*● .+/, // jest: `● suite › test`
  /^\s*(FAIL)\s+\S+/, // jest, vitest, go
  /^\s*[×✕✗✖] .+/, // vitest, jest, node:test; eslint's sum
  /^(FAILED|ERROR) \S+/, // pytest
  /^\s*--- FAIL: \S+/, // go
  /^test \S.* \.\.\. FAILED$/, // cargo
  /^\s*not ok \d+/, // TAP
  /^\s+\d+:\d+\s+error\s+\S+/, // eslint
  /^FAIL: \S+|^ERROR: \S+ \(/, // unittest
];
/** What went wrong. */
const ERROR_LINE = [
  /^E {3,}\S/, // pytest
  /^\s*(?:\w+\.)*\w*(?:Error|Exception|Exceeded)(?: \[\w+\])?(?::|$)/, // JavaScript, Python, Java
  /\berror TS\d+:/, // tsc
  /^error(\[E\d+\])?: .+/, // cargo
  /^thread '.*' (\(\d+\) )?panicked at/, // cargo
  /^assertion .*failed|^called `\w+::\w+\(\)` on/, // cargo, the line after
  /^\s*Cannot find (module|package) /, // jest
  /^\s+(error: ['"|]|name: '\w+Error')/, // TAP of node:test
  /^panic: .+/,
  /^\s*\S+\.go:\d+(:\d+)?: .+/, // go: build, vet, t.Error
  /^(fatal|error|ERROR)\b[: ].+/,
  /\b(EADDRINUSE|EBUSY|EACCES|EPERM|ENOENT|ELOCKED|SQLITE_BUSY)\b/,
  /Parsing error:|\[(build|setup) failed\]/,
  /Exceeded timeout of|Test timed out/i,
  /(No such file or directory|Permission denied|not found|database is locked|File exists\.?)$/,
  /^make(\[\d+\])?: \*\*\* No rule to make target|\*\*\* missing separator/,
];
/** Says only that something before it failed. */
const EMPTY_WORDS = /^\s*(FAIL|FAILED)\s*$|^error: (test failed|process didn't exit)|^ERR_|^error Command failed/;

export function keyLines(output: string): KeyLines {
  const all = stripVTControlCharacters(output).split(/\r?\n/);
  const tests = all.filter((line) => FAILED_TEST.some((pattern) => pattern.test(line)));
  const key = all.filter(
    (line) => !EMPTY_WORDS.test(line) && [...FAILED_TEST, ...ERROR_LINE].some((pattern) => pattern.test(line)),
  );
  const shown = key.length > 0 ? key : all.filter((line) => line.trim() !== '').slice(-SHOWN_BOUNDS.testLastLines);
  const lines = [...new Set(shown.map((line) => line.trim().slice(0, SHOWN_BOUNDS.testLine_chars)))];
  const normalised = [...new Set(lines.map(normalise))].sort().slice(0, SHOWN_BOUNDS.testLines);
  return {
    lines: lines.slice(0, SHOWN_BOUNDS.testLines),
    normalised,
    text:
      key.length > 0
        ? key.filter((line) => ERROR_LINE.some((pattern) => pattern.test(line))).join('\n')
        : all.join('\n'),
    isTestReport: tests.length > 0,
  };
}

/** Temporary directories of the usual systems, up to the name that is made new for each run. */
const TEMPORARY = /(?:\/private)?(?:\/var\/folders\/[^/\s]+\/[^/\s]+\/T|\/var\/tmp|\/tmp|\/dev\/shm)\/[^/\s:'")]+/g;
const UUID = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/gi;
const HEX = /0x[0-9a-f]+|\b(?=[a-f]*\d)(?=\d*[a-f])[0-9a-f]{7,64}\b/gi;
const DURATION = /[([]?\b\d+(?:\.\d+)?\s?(?:ns|µs|us|ms|s|sec|seconds|m|min|minutes)\b[)\]]?/g;

function normalise(line: string): string {
  return line
    .replace(TEMPORARY, '<tmp>')
    .replace(UUID, '<id>')
    .replace(HEX, '<hex>')
    .replace(DURATION, '<time>')
    .replace(/\d+/g, '#')
    .replace(/#(?:[:.,T-]#)+Z?/g, '#')
    .replace(/\s+/g, ' ')
    .trim();
}
