/**
 * What kind of failure a test command's output shows, whether trying again may help, and a signature that stays the same while
 * the same things fail for the same reason. Pure.
 */
import { stripVTControlCharacters } from 'node:util';
import { suggestionsFor, runnerOf, type FailureKind } from './runners.js';
import { tally } from '../../shared/text.js';
import { sha256 } from '../../system/hash.js';

const READ_LINE_CHARS = 1_000; // bound: Of each line of a test's output so much is read; a longer one is data.
const TEST_LINES = 40; // bound: Lines of a test's output that tell of failures,
const TEST_LINE_CHARS = 300; // bound: each cut to this,
const TEST_LAST_LINES = 15; // bound: and of its end where none does.

// The lines of a test output that say what failed, and their form without what changes from run to run.

export interface KeyLines {
  /** Failing tests and errors in order of appearance, without repeats. */
  readonly lines: readonly string[];
  /** The same for a signature: normalised, sorted (tests run side by side report in any order), without repeats. */
  readonly normalised: readonly string[];
  /** Where kinds are looked for: error lines but those of assertions, or the whole output where no line is a key line. */
  readonly text: string;
  /** A test or a check failed by name, or an assertion did. */
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
  /^\[ERROR\] +\S+:\d+ |<<< (FAILURE|ERROR)!/, // JUnit under surefire
];
const ASSERTION_ERROR = /^(E +)?\s*(\w+\.)*(Assertion\w*|ComparisonFailure)( \[\w+\])?(:|$)/;
/** A value was not what a test expects. */
const ASSERTION = [
  ASSERTION_ERROR, // JavaScript, Python, Java
  /^\s*(expect|assert)\b.*\((received|expected)\b/, // jest
  /^E {3,}(assert |Failed: )/, // pytest
  /^\s+\S+_test\.go:\d+: .*\b(got|want|expected)\b/, // go
  /^assertion .*failed/, // cargo
  /^\s+code: 'ERR_ASSERTION'/, // TAP of node:test
  /^\[ERROR\] +\S+:\d+ .*\bbut was:|<<< FAILURE!/, // JUnit under surefire
];
/** Begins what belongs to one failure. */
const EXCEPTION = /^(E +)?\s*(\w+\.)*\w*(Error|Exception|Exceeded)( \[\w+\])?(:|$)/;
const FAILURE_HEAD = [
  ...FAILED_TEST,
  EXCEPTION,
  /^_{3,} .+ _{3,}$/,
  /^thread '.*' .*panicked at|^panic: /,
];
/** What went wrong. */
const ERROR_LINE = [
  /^E {3,}\S/, // pytest
  EXCEPTION, // JavaScript, Python, Java
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
const EMPTY_WORDS =
  /^\s*(FAIL|FAILED)\s*$|^error: (test failed|process didn't exit)|^ERR_|^error Command failed/;

const LONG_LINE = new RegExp(`^([^\\n]{${READ_LINE_CHARS}})[^\\n]+`, 'gm');
const readable = (output: string): string =>
  stripVTControlCharacters(output).replace(LONG_LINE, '$1');
const isAny = (patterns: readonly RegExp[], line: string): boolean =>
  patterns.some((pattern) => pattern.test(line));

/** Lines that say what went wrong, without those of a failed assertion: what it compares may name any other failure. */
function errorLines(all: readonly string[]): readonly string[] {
  const failures: string[][] = [[]];
  for (const line of all) {
    if (isAny(FAILURE_HEAD, line) && !ASSERTION_ERROR.test(line)) failures.push([line]);
    else failures.at(-1)?.push(line);
  }
  const others = failures.filter((lines) => !lines.some((line) => isAny(ASSERTION, line)));
  return others.flat().filter((line) => !EMPTY_WORDS.test(line) && isAny(ERROR_LINE, line));
}

function keyLines(output: string): KeyLines {
  const all = readable(output).split(/\r?\n/);
  const key = all.filter(
    (line) => !EMPTY_WORDS.test(line) && isAny([...FAILED_TEST, ...ERROR_LINE], line),
  );
  const shown =
    key.length > 0 ? key : all.filter((line) => line.trim() !== '').slice(-TEST_LAST_LINES);
  const lines = [...new Set(shown.map((line) => line.trim().slice(0, TEST_LINE_CHARS)))];
  const normalised = [...new Set(lines.map(normalise))].sort().slice(0, TEST_LINES);
  return {
    lines: lines.slice(0, TEST_LINES),
    normalised,
    text: (key.length > 0 ? errorLines(all) : all).join('\n'),
    isTestReport: all.some((line) => isAny([...FAILED_TEST, ...ASSERTION], line)),
  };
}

/** Something else than named tests failed, or names may be missing. */
const MORE =
  /Test suite failed to run|coverage threshold .*not met|^\[\.\.\. \d+ bytes cut \.\.\.\]$|^panic: |^fatal error: /im;
/** What a runner prints of a failing test beside its name: the number in a list, where and why. */
const BESIDE_NAME =
  /^\s*not ok \d+ - | - (?<=^(?:FAILED|ERROR) \S+ - ).*|:\d+ (?<=^\[ERROR\] +\S+:\d+ ).*/;

/** Tests that failed, by the lines that name them, and how often each was printed. */
export function failedTests(output: string): ReadonlyMap<string, number> {
  const lines = readable(output)
    .split(/\r?\n/)
    .filter((line) => isAny(FAILED_TEST, line));
  return tally(
    lines.map((line) =>
      line.replace(BESIDE_NAME, '').replace(DURATION, '').trim().slice(0, TEST_LINE_CHARS),
    ),
  );
}

/** The same; null: none was named, or there may be more. */
export function failingTests(output: string): Readonly<Record<string, number>> | null {
  const names = failedTests(output);
  return names.size === 0 || MORE.test(readable(output)) ? null : Object.fromEntries(names);
}

/** Temporary directories of the usual systems, up to the name that is made new for each run. */
const TEMPORARY =
  /(?:\/private)?(?:\/var\/folders\/[^/\s]+\/[^/\s]+\/T|\/var\/tmp|\/tmp|\/dev\/shm)\/[^/\s:'")]+/g;
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

export interface Failure {
  readonly kind: FailureKind;
  /** The same bytes may pass when tried again, with more time. */
  readonly transient: boolean;
  /** 16 hex digits over kind and key lines; numbers, times, addresses and temporary paths do not count. */
  readonly signature: string;
  /** Failing tests and first error lines, as shown to people and models. */
  readonly lines: readonly string[];
  /** Of the runner that printed it, where it is a known one, then of the kind. */
  readonly suggestions: readonly string[];
}
/** How the command ended. */
export interface FailedExit {
  readonly exit: number | null;
  readonly timedOut?: boolean;
}

/** Looked for in this order: what hides other failures (a lock, a missing module) comes before what it causes. */
const KINDS: readonly (readonly [FailureKind, RegExp])[] = [
  [
    'locked',
    /database is locked|(index|shallow|config)\.lock'?: File exists|could not (get|acquire|obtain) (a )?lock|lock(file)? (is )?(already )?held|ELOCKED|SQLITE_BUSY/i,
  ],
  [
    'busy',
    /EADDRINUSE|address already in use|\bEBUSY\b|device or resource busy|text file busy|\bETXTBSY\b|resource temporarily unavailable|\bEAGAIN\b/i,
  ],
  [
    'import_error',
    /Cannot find module|Cannot find package|ERR_MODULE_NOT_FOUND|ModuleNotFoundError|ImportError|does not provide an export named|Failed to resolve (import|entry)|Could not resolve "|unresolved import|cannot find (package|crate)|no required module provides package|package \S+ is not in (std|GOROOT)|error TS2307|error TS2305|error\[E0432\]|error\[E0433\]/,
  ],
  [
    'syntax',
    /SyntaxError|IndentationError|TabError|Parsing error:|error TS\d+|error\[E\d+\]|error: could not compile|\[(build|setup) failed\]|syntax error|\*\*\* missing separator|error: (expected|unexpected|unclosed|mismatched|this file contains)|Transform failed|Expected ".*" but found/,
  ],
  ['permission', /EACCES|EPERM|Permission denied|PermissionError|Operation not permitted/],
  [
    'file_not_found',
    /ENOENT|FileNotFoundError|No such file or directory|No rule to make target|command not found|: not found$|could not read (file|source)/m,
  ],
  [
    'null_error',
    /Cannot (read|set) propert(y|ies) .*of (undefined|null)|(undefined|null) is not (an object|a function|iterable)|'NoneType' object|nil pointer dereference|assignment to entry in nil map|called `Option::unwrap\(\)` on a `None` value|NullPointerException/,
  ],
  [
    'timeout',
    /Exceeded timeout of|Test timed out|test timed out|TimeoutError|timed out after|ETIMEDOUT|deadline exceeded/i,
  ],
];

const SUGGESTIONS: Readonly<Record<FailureKind, readonly string[]>> = {
  syntax: [
    'Read the first error: later ones often follow from it.',
    'Check brackets, quotes, indentation and types near the named line.',
    'Look for an edit that ended too early or was inserted twice.',
  ],
  test_failure: [
    'Compare what the first failing test expected with what it got.',
    'Check whether the test or the code states what the job asks for.',
    'Run the failing test alone.',
  ],
  file_not_found: [
    'Check the path, and the directory that the command runs in.',
    'Create the file, or correct what names it.',
  ],
  import_error: [
    'Check the spelling and the extension of the import, and that the name is exported.',
    'Install the missing dependency, or add it to the manifest.',
    'Look for modules that import each other.',
  ],
  null_error: [
    'Find out where the value should have been set.',
    'Check the order of initialisation, and handle the missing value.',
  ],
  timeout: [
    'Run again with a longer time limit (`testTimeout_s`).',
    'Look for a promise that is never settled, a loop that does not end, or a server left open.',
  ],
  permission: [
    'Check owner and mode of the named file.',
    'Do not write outside the workspace in tests.',
  ],
  busy: [
    'Run again: another process uses the port, file or device.',
    'Let tests ask for a free port.',
  ],
  locked: ['Run again when the other process has released the lock.'],
  unknown: ['Read the end of the output.', 'Run the command by hand in the workspace.'],
};
const TRANSIENT: ReadonlySet<FailureKind> = new Set(['timeout', 'busy', 'locked']);

export function classifyFailure(output: string, exit: FailedExit): Failure {
  const found = keyLines(output);
  const kind = kindOf(found.text, exit, found.isTestReport);
  const signature = sha256(JSON.stringify([kind, ...found.normalised])).slice(0, 16);
  const suggestions = [...suggestionsFor(runnerOf(readable(output)), kind), ...SUGGESTIONS[kind]];
  return { kind, transient: TRANSIENT.has(kind), signature, lines: found.lines, suggestions };
}

function kindOf(text: string, exit: FailedExit, isTestReport: boolean): FailureKind {
  if (exit.timedOut === true) return 'timeout';
  const named = KINDS.find(([, pattern]) => pattern.test(text));
  if (named !== undefined) return named[0];
  if (exit.exit === 126) return 'permission';
  if (exit.exit === 127) return 'file_not_found';
  return isTestReport ? 'test_failure' : 'unknown';
}
