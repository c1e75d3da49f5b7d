/**
 * Reads the output of a test command: which tests failed, by name, with the lines that are about them, and the lines that count
 * tests. An output may be of several commands and runners. Pure.
 */
import * as javascript from './javascript.js';
import { outputText } from './lines.js';
import * as others from './others.js';
import type { FailedTest, OutputText, TestReader, TestReport } from './types.js';

const SUMMARY_LINES = 40; // bound: Lines of an output that count tests; the last ones are kept.

/** A test that several of them find is of the first: the lines of one failure may quote the output of another runner. */
const READERS: readonly TestReader[] = [
  javascript.readTap,
  javascript.readVitest,
  javascript.readJest,
  javascript.readMocha,
  javascript.readNodeSpec,
  others.readPytest,
  others.readUnittest,
  others.readGo,
  others.readCargo,
  others.readSurefire,
  others.readRspec,
  others.readPhpunit,
  javascript.readEslint,
  others.readJunitXml,
];

const SUMMARY = [
  /^# (?:tests|suites|pass|fail|cancelled|skipped|todo|ok)\b\s*\d*$/, // TAP
  /^ℹ (?:tests|suites|pass|fail|cancelled|skipped|todo) \d/, // node:test
  /^(?:Test Suites|Tests|Snapshots): +\d/, // jest
  /^\s+(?:Test Files|Tests) {2}\d/, // vitest
  /^\s+\d+ (?:passing|failing|pending)\b/, // mocha
  /^(?:=+ )?\d+ (?:failed|passed|error)\S*[ ,].* in [\d.]+s/, // pytest
  /^Ran \d+ tests? in |^FAILED \(/, // unittest
  /^(?:FAIL|ok)\s+\S+\s+(?:[\d.]+s|\(cached\)|\[)/, // go
  /^test result: /, // cargo
  /^\[(?:ERROR|WARNING|INFO)\] Tests run: [^<]*\d$/, // surefire
  /^\d+ examples?, \d+ failures?/, // RSpec
  /^(?:FAILURES!|ERRORS!|Tests: \d+, Assertions)/, // PHPUnit
  /^✖ \d+ problems? \(/, // eslint
];

export function parseTestOutput(output: string): TestReport {
  return reportOf(outputText(output));
}

export function reportOf(output: OutputText): TestReport {
  const failures: FailedTest[] = [];
  const taken = new Set<number>();
  for (const read of READERS) {
    const found = read(output).filter(({ lines }) => !lines.some((line) => taken.has(line)));
    for (const failure of found) failures.push(failure);
    for (const { lines } of found) for (const line of lines) taken.add(line);
  }
  const summary = output.lines.flatMap((line, index) =>
    !taken.has(index) && SUMMARY.some((pattern) => pattern.test(line)) ? [index] : [],
  );
  failures.sort((a, b) => (a.lines[0] ?? Infinity) - (b.lines[0] ?? Infinity) || 0);
  return { failures, summary: summary.slice(-SUMMARY_LINES) };
}
