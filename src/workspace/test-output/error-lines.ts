/** Lines of a test's output that name an error, and lines of tests that passed. */

/** The value of an assertion that failed; what it compares may name any other failure. */
export const ASSERTION_ERROR = /^(E +)?\s*(\w+\.)*(Assertion\w*|ComparisonFailure)( \[\w+\])?(:|$)/;
const ASSERTION = [
  ASSERTION_ERROR, // JavaScript, Python, Java
  /^\s*(expect|assert)\b.*\((received|expected)\b/, // jest
  /^E {3,}(assert |Failed: )/, // pytest
  /^\s+\S+_test\.go:\d+: .*\b(got|want|expected)\b/i, // go
  /^assertion .*failed/, // cargo
  /^\s*code: 'ERR_ASSERTION'/, // TAP of node:test
  /^\s*operator: \w+/, // TAP of tape
  /^\[ERROR\] +\S+:\d+ .*\bbut was:|<<< FAILURE!/, // JUnit under surefire
  /^\s*(\d+\.\d+\) )?Failure\/Error: .*\bexpect\b/, // RSpec
  /^Failed asserting that /, // PHPUnit
];
/** The first line of a failure if no runner is recognized. */
export const EXCEPTION = /^(E +)?\s*(\w+\.)*\w*(Error|Exception|Exceeded)( \[\w+\])?(:|$)/;
/** An error of a compiler, a loader or the whole program: it counts in any place of the output. */
const PROGRAM_ERROR = [
  /^E {3,}\S/, // pytest
  /\berror TS\d+:/, // tsc
  /^error(\[E\d+\])?: .+/, // cargo
  /^thread '.*' (\(\d+\) )?panicked at/, // cargo
  /^panic: .+/, // go
  /^\s*\S+\.go:\d+:\d+: .+/, // go: build and vet
  /Parsing error:|\[(build|setup) failed\]/,
  /^make(\[\d+\])?: \*\*\* No rule to make target|\*\*\* missing separator/,
];
/** An error that may also be printed by a test that passes. */
const ANY_ERROR = [
  ...PROGRAM_ERROR,
  EXCEPTION, // JavaScript, Python, Java
  /^assertion .*failed|^called `\w+::\w+\(\)` on/, // cargo, the line after
  /^\s*Cannot find (module|package) /, // jest
  /^\s*(error: ['"|]|name: '\w+Error')/, // TAP of node:test
  /^\s*\S+\.go:\d+: .+/, // go: t.Error
  /^(fatal|error|ERROR)\b[: ].+/,
  /\b(EADDRINUSE|EBUSY|EACCES|EPERM|ENOENT|ELOCKED|SQLITE_BUSY)\b/,
  /Exceeded timeout of|Timeout of \d+ ?ms exceeded|Test timed out/i,
  /(No such file or directory|Permission denied|not found|database is locked|File exists\.?)$/,
];
/** Lines that only report that something before them failed. */
const EMPTY_WORDS =
  /^\s*(FAIL|FAILED)\s*$|^error: (test failed|process didn't exit)|^ERR_|^error Command failed/;
/** The line of a test that passed, or that begins: it may have the name of any error. */
const PASSING =
  /^\s*(?:ok \d+\b|[✔✓√▶﹣] |# Subtest: |--- (?:PASS|SKIP): |=== |test .* \.\.\. ok$|PASS\b)|\bPASSED\b/;
/** A value that a test expects or receives, which is no error of the run. */
const VALUE = /^\s*(?:[+-] |(?:expected|actual|got|received|message|want)\b.*:)/i;

const isAny = (patterns: readonly RegExp[], line: string): boolean =>
  patterns.some((pattern) => pattern.test(line));

export const isAssertion = (line: string): boolean => isAny(ASSERTION, line);
export const isProgramError = (line: string): boolean =>
  isAny(PROGRAM_ERROR, line) && !EMPTY_WORDS.test(line) && !PASSING.test(line);
export const isError = (line: string): boolean =>
  isAny(ANY_ERROR, line) && !EMPTY_WORDS.test(line) && !PASSING.test(line);
/** Returns whether the line is worth showing if not all of a block fits. */
export const isTelling = (line: string): boolean =>
  isError(line) || isAssertion(line) || VALUE.test(line) || /^\s*[>❯^|] /.test(line);
