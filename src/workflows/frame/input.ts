/**
 * Checks what a run goes by, if the plan of a phase or the run before (continue-as-new) handed it over: code that reads a value of another
 * shape throws, Temporal repeats a task that throws for ever, and neither a signal nor a cancel ends the run. What was typed is
 * checked by the first activity. Pure.
 */
import { ApplicationFailure } from '@temporalio/common';
import { INPUT_EXAMPLES } from '../../shared/start-input.js';
import { isRecord } from '../../shared/text.js';

/** The wrong field (a path with dots; empty for the value itself), and what it must be. */
interface Fault {
  readonly field: string;
  readonly expected: string;
}
/** Returns the first fault of a value; null if it fits. */
type Check = (value: unknown) => Fault | null;
export type Fields = Readonly<Record<string, Check>>;

const must =
  (expected: string, fits: (value: unknown) => boolean): Check =>
  (value) =>
    fits(value) ? null : { field: '', expected };

export const isNumber = (value: unknown): boolean => typeof value === 'number';
export const isText = (value: unknown): boolean => typeof value === 'string';
const number = must('a number', isNumber);
export const text = must('a text that is not empty', (value) => isText(value) && value !== '');
export const flag = must('true or false', (value) => typeof value === 'boolean');
const texts = must('a list of texts', (value) => Array.isArray(value) && value.every(isText));
const anyObject = must('an object', isRecord);
export const orNull = (expected: string, fits: (value: unknown) => boolean): Check =>
  must(`${expected} or null`, (value) => value === null || fits(value));

const firstFault = (checks: Iterable<readonly [string, Fault | null]>): Fault | null => {
  for (const [name, fault] of checks)
    if (fault !== null)
      return { ...fault, field: fault.field === '' ? name : `${name}.${fault.field}` };
  return null;
};
/** Checks the named fields. Others are not looked at. */
export const object =
  (fields: Fields): Check =>
  (value) =>
    isRecord(value)
      ? firstFault(Object.entries(fields).map(([name, check]) => [name, check(value[name])]))
      : anyObject(value);
/** Checks each entry of a table. An empty table would leave the run without the values that it reads from it. */
const tableOf =
  (check: Check): Check =>
  (value) =>
    isRecord(value) && Object.keys(value).length > 0
      ? firstFault(Object.entries(value).map(([name, entry]) => [name, check(entry)]))
      : { field: '', expected: 'an object with at least one entry' };

/** Fields that a run of any kind needs. */
const RUN: Fields = {
  stepKey: text,
  workspace: text,
  title: must('a text', isText),
  queues: object({ workflow: text, model: text, host: text }),
  timings: tableOf(number),
  rules: object({
    bounds: tableOf(number),
    limits: anyObject,
    answers: tableOf(texts),
    wholeAnswers: texts,
  }),
  overrides: anyObject,
  hints: texts,
  searchAttributes: flag,
};

/** Throws ApplicationFailure `InvalidInput` with the first field that is missing or of another type. */
export const checkSetup = (setup: unknown, fields: Fields): void => {
  const fault = object({ ...RUN, ...fields })(setup);
  if (fault === null) return;
  const { field, expected } = fault;
  throw invalidInput(
    `Emend did not write this input: ${field === '' ? 'it' : `\`${field}\``} must be ${expected}. Start a run with an input of your own: docs/library.md.`,
  );
};

/** Throws ApplicationFailure `InvalidInput` if there are several arguments: the second one would have no effect. */
export const checkOneArgument = (args: readonly unknown[], kind: 'job' | 'plan'): void => {
  if (args.length <= 1) return;
  throw invalidInput(
    `The workflow expects one argument, an object with all keys; it received ${args.length}. Example: ${INPUT_EXAMPLES[kind]}`,
  );
};

export const invalidInput = (message: string): ApplicationFailure =>
  ApplicationFailure.nonRetryable(message, 'InvalidInput');
