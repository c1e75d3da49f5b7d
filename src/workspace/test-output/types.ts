/** The parts of a test command's output that the readers of the runners find. */

/** An output without colours, as its readers see it. */
export interface OutputText {
  readonly text: string;
  /** The lines of `text`, each cut to a bound. */
  readonly lines: readonly string[];
}

export interface FailedTest {
  /** The name with the names of its suites, as the runner prints them. */
  readonly name: string;
  /** `file:line`, or the file alone; null if the output does not name it. */
  readonly place: string | null;
  /** Indices of the lines that are about this test, in ascending order; empty for XML. */
  readonly lines: readonly number[];
  /** The text of those lines, without their common indentation. */
  readonly block: string;
}

export interface TestReport {
  readonly failures: readonly FailedTest[];
  /** Indices of the lines that count tests. */
  readonly summary: readonly number[];
}

/** Finds the failed tests of one runner. */
export type TestReader = (output: OutputText) => readonly FailedTest[];
