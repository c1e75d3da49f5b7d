/**
 * What kind of failure a test command's output shows, whether trying again may help, and a signature that stays the same while
 * the same things fail for the same reason. Pure.
 */
import { tally } from '../../shared/text.js';
import { sha256 } from '../../system/hash.js';
import {
  ASSERTION_ERROR,
  EXCEPTION,
  isAssertion,
  isError,
  isProgramError,
  outputText,
  parseTestOutput,
  reportOf,
  type FailedTest,
  type OutputText,
} from '../test-output/index.js';
import { suggestionsFor, runnerOf, type FailureKind } from './runners.js';

const TEST_LINES = 40; // bound: Lines of a test's output that tell of failures,
const TEST_LINE_CHARS = 300; // bound: each cut to this,
const TEST_LAST_LINES = 15; // bound: and of its end where none does.

/** The lines of a test output that name failures. */
interface KeyLines {
  /** Names of failed tests, then errors, without repeats. */
  readonly lines: readonly string[];
  /** The same for a signature: normalised, sorted (tests run side by side report in any order), without repeats. */
  readonly normalised: readonly string[];
  /** Error lines, except those of assertions: the kind of the failure is found in them. */
  readonly errors: readonly string[];
  /** A test failed by name, or an assertion did. */
  readonly isTestReport: boolean;
}

const unique = (lines: readonly string[]): readonly string[] => [
  ...new Set(lines.map((line) => line.trim().slice(0, TEST_LINE_CHARS))),
];

/** Emend's own line about a limit explains what the runtime prints at its end. */
const LIMIT = /^(?:stopped|limited) by Emend: /;

function keyLines(read: OutputText): KeyLines {
  const { failures } = reportOf(read);
  const errors = failures.length === 0 ? errorsOf(read.lines) : errorsAround(read, failures);
  const key =
    failures.length === 0
      ? read.lines.filter(isError)
      : [...failures.map(({ name }) => name), ...failures.flatMap(errorsIn), ...errors];
  const limits = read.lines.filter((line) => LIMIT.test(line));
  const shown =
    key.length > 0 ? key : read.lines.filter((line) => line.trim() !== '').slice(-TEST_LAST_LINES);
  const lines = unique(limits.length > 0 ? limits : shown);
  return {
    lines: lines.slice(0, TEST_LINES),
    normalised: [...new Set(lines.map(normalise))].sort().slice(0, TEST_LINES),
    errors,
    isTestReport: failures.length > 0 || read.lines.some(isAssertion),
  };
}

/** The line that names the test, or one of its suites, may have any word. */
function isHeading({ name }: FailedTest, line: string): boolean {
  const text = line.trim().replace(/:$/, '');
  return text.endsWith(name) || name.split(/ > | › |::/).some((part) => text.endsWith(part));
}
const isOwnError = (failure: FailedTest, line: string): boolean =>
  isProgramError(line) || (isError(line) && !isHeading(failure, line));

const errorsIn = (failure: FailedTest): readonly string[] =>
  failure.block.split('\n').filter((line) => isOwnError(failure, line));

/**
 * Errors in the blocks of tests that failed otherwise than by an assertion, whose values may name any other failure; and errors of
 * the whole program. What tests that passed have printed does not count.
 */
function errorsAround({ lines }: OutputText, failures: readonly FailedTest[]): readonly string[] {
  const inBlocks = new Set(failures.flatMap((failure) => failure.lines));
  const others = failures.filter(({ block }) => !block.split('\n').some(isAssertion));
  return [
    ...others.flatMap(errorsIn),
    ...lines.filter((line, index) => !inBlocks.has(index) && isProgramError(line)),
  ];
}

/** Begins what belongs to one failure of an unknown runner. */
const FAILURE_HEAD = [EXCEPTION, /^_{3,} .+ _{3,}$/, /^thread '.*' .*panicked at|^panic: /];

/** Returns the same if no runner is recognized. */
function errorsOf(all: readonly string[]): readonly string[] {
  const failures: string[][] = [[]];
  for (const line of all) {
    if (FAILURE_HEAD.some((head) => head.test(line)) && !ASSERTION_ERROR.test(line))
      failures.push([line]);
    else failures.at(-1)?.push(line);
  }
  const others = failures.filter((lines) => !lines.some(isAssertion));
  return others.flat().filter(isError);
}

/** Something else than named tests failed, or names may be missing. */
const MORE =
  /Test suite failed to run|coverage threshold .*not met|^\[\.\.\. \d+ bytes cut \.\.\.\]$|^panic: |^fatal error: /im;

/** Returns the names of the tests that failed, and how often each occurs. */
export const failedTests = (output: string): ReadonlyMap<string, number> =>
  tally(parseTestOutput(output).failures.map(({ name }) => name));

/** Returns the same; null if the output names none, or if others may have failed. */
export function failingTests(output: string): Readonly<Record<string, number>> | null {
  const names = failedTests(output);
  return names.size === 0 || MORE.test(outputText(output).text) ? null : Object.fromEntries(names);
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
    /Exceeded timeout of|Timeout of \d+ ?ms exceeded|Test timed out|test timed out|TimeoutError|timed out after|ETIMEDOUT|deadline exceeded/i,
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
  const read = outputText(output);
  const found = keyLines(read);
  const kind = kindOf(found.errors.join('\n'), exit, found.isTestReport);
  const signature = sha256(JSON.stringify([kind, ...found.normalised])).slice(0, 16);
  const suggestions = [...suggestionsFor(runnerOf(read.text), kind), ...SUGGESTIONS[kind]];
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
