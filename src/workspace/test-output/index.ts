/** Reads the output of a test command: which tests failed, why, and which part is shown if not all of it fits. Pure. */
export { arrangeTestOutput, wholeTestOutput } from './arrange.js';
export * from './error-lines.js';
export { outputText } from './lines.js';
export { parseTestOutput, reportOf } from './report.js';
export type { FailedTest, OutputText } from './types.js';
