/** Prints `N passed, N failed` as the very last line on standard output; a file that does not load counts as one failure. */
export default class LastLine {
  onRunComplete(_contexts, results) {
    const failed = results.numFailedTests + results.numRuntimeErrorTestSuites;
    process.on('exit', () =>
      process.stdout.write(`${results.numPassedTests} passed, ${failed} failed\n`),
    );
  }
}
