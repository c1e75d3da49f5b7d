/** What came of a person's commands, and which of the tests that failed did so before the change. */
import { stripVTControlCharacters } from 'node:util';
import {
  PASSED,
  type BaseTests,
  type RunTestsInput,
  type TestOutput,
  type TestRun,
} from '../../shared/test-activities.js';
import { getJson, putJson } from '../../stores/ports.js';
import {
  classifyFailure,
  failedTests,
  failingTests,
  type Box,
  type CommandOutcome,
} from '../../workspace/commands/index.js';
import type { ProposalFile } from '../../workspace/proposal.js';
import type { ActivityPorts } from '../frame/ports.js';
import { diffsOf } from './prompt-inputs.js';
import { putRefusal } from './refusals.js';
import { stashRefused } from './sandbox.js';

const TESTS_NAMED = 10; // bound: Names of tests in what people and models are told.
const WARNINGS_NAMED = 5; // bound: Lines with a warning that are named, of one run of the tests.
const WARNING_CHARS = 200; // bound: Maximum length of such a line.
const SUMMARY_CHARS = 500; // bound: Of what tests said, in history.

/** A command that ran. `timedOut`: the limit is that of all commands. */
export type Ran = Pick<CommandOutcome, 'output' | 'exit' | 'signal' | 'timedOut'> & {
  readonly command: string;
};

/** Runners that exit 0 without having run anything say so. */
const RAN_NOTHING = [
  /^No tests found/m,
  /no test files\]/,
  /collected 0 items/,
  /\b0 tests?,? 0 passed/i,
];
/** A runner's own count or a compiler's line; npm's notices about itself (`npm warn …`) say nothing about the change. */
const WARNED = /^(?!npm ).*(\bwarning: |\b[1-9]\d* warnings?\b)/im;

/** Returns the first lines with a warning, without colours. */
const warningsIn = (output: string): readonly string[] => [
  ...new Set(
    stripVTControlCharacters(output)
      .split('\n')
      .filter((line) => WARNED.test(line))
      .slice(0, WARNINGS_NAMED)
      .map((line) => line.trim().slice(0, WARNING_CHARS)),
  ),
];

export const isPassed = ({ outcome }: Pick<TestRun, 'outcome'>): boolean =>
  PASSED.includes(outcome);

/** By name: those that failed before, and those that did not; null: they cannot be told apart. */
function apart({ exit, output }: Ran, base: BaseTests | null) {
  const failing = exit === null ? null : failingTests(output);
  if (failing === null || base?.failing == null) return null;
  const before = new Map(Object.entries(base.failing));
  const isOld = (name: string): boolean => (failing[name] ?? 0) <= (before.get(name) ?? 0);
  const names = Object.keys(failing);
  return { fresh: names.filter((name) => !isOld(name)), old: names.filter(isOld) };
}
const listed = (names: readonly string[]): string =>
  `${names.slice(0, TESTS_NAMED).join(', ')}${names.length > TESTS_NAMED ? '…' : ''}`;

const printed = (all: readonly Ran[]): TestOutput => {
  const output = all.map((ran) => `$ ${ran.command}\n${ran.output}\n`).join('');
  return { output, failed: [...failedTests(output).keys()] };
};

/** Returns how a command failed, and the first lines that show why. */
function failureOf(ran: Ran, timeout_s: number) {
  const failure = classifyFailure(ran.output, ran);
  const how = ran.timedOut
    ? `timed out after ${timeout_s} s`
    : `exit ${ran.exit ?? ran.signal ?? 'unknown'}`;
  const what = `${ran.command}: ${how}; ${failure.kind}`;
  return { ...failure, what, reasons: failure.lines.slice(0, 3) };
}
const summaryOf = (what: string, reasons: readonly string[]): string =>
  `${what}: ${reasons.join(' | ')}`.slice(0, SUMMARY_CHARS);

/** Returns the verdict on tests none of whose failures counts. `old`: names of tests that failed before the change. */
function passVerdict(
  commands: readonly string[],
  output: string,
  old: readonly string[],
): Pick<TestRun, 'outcome' | 'summary' | 'warnings'> {
  const words = commands.join(' && ');
  if (RAN_NOTHING.some((pattern) => pattern.test(output)))
    return { outcome: 'no_tests', summary: `${words}: no test ran` };
  const failedBefore =
    old.length === 0 ? null : `${old.length} that failed before the change: ${listed(old)}`;
  const lines = warningsIn(output);
  const parts = [
    `${words}: passed`,
    ...(failedBefore === null ? [] : [`, except ${failedBefore}`]),
    ...(lines.length === 0 ? [] : [`, with warnings: ${lines.join(' | ')}`]),
  ];
  const summary = parts.join('').slice(0, SUMMARY_CHARS);
  const warnings = [...(failedBefore === null ? [] : [failedBefore]), ...lines];
  return warnings.length === 0
    ? { outcome: 'pass', summary }
    : { outcome: 'pass_with_warnings', summary, warnings };
}

interface Judged {
  readonly box: Box | 'off';
  readonly files: readonly ProposalFile[];
  readonly signal: AbortSignal;
}

/** Returns what the sandbox refused although the output does not name it as the reason. */
function sandboxHints({ output }: Ran, box: Box | 'off'): readonly string[] {
  const refused = box === 'off' ? null : stashRefused(output);
  return refused === null ? [] : [`the sandbox: ${refused}`];
}

/** The verdict on a change, by the first command whose failure counts; where old ones are `known`, not those of tests that failed before. */
export async function judged(
  ports: ActivityPorts,
  {
    commands,
    timeout_s,
    known,
    base: ref,
  }: Pick<RunTestsInput, 'commands' | 'timeout_s' | 'known' | 'base'>,
  { all, seconds }: { readonly all: readonly Ran[]; readonly seconds: number },
  tested: Judged,
): Promise<Omit<TestRun, 'on' | 'baseHash'>> {
  const base =
    ref === undefined ? null : await getJson<BaseTests>(ports.blobs, ref, 'tests of the base');
  const said = printed(all);
  const failed = all
    .filter(({ exit }) => exit !== 0)
    .map((ran) => ({ ran, told: apart(ran, base) }));
  const worst = failed.find(({ told }) => known !== true || told?.fresh.length !== 0);
  if (worst === undefined) {
    const old = failed.flatMap(({ told }) => told?.old ?? []);
    return {
      ...passVerdict(commands, said.output, old),
      kind: null,
      transient: false,
      signature: null,
      suggestions: [],
      seconds,
      output: await putJson(ports.blobs, said),
    };
  }
  const failure = failureOf(worst.ran, timeout_s);
  const { kind, transient, signature, suggestions } = failure;
  const { fresh = [], old = [] } = worst.told ?? {};
  const now = fresh.length === 0 ? '' : `newly failing: ${listed(fresh)}; `;
  const before = `also failing before the change${known === true ? ' (they may fail)' : ''}: ${listed(old)}`;
  const reasons = old.length === 0 ? failure.reasons : [`${now}${before}`];
  const hints = sandboxHints(worst.ran, tested.box);
  const summary = summaryOf(failure.what, [...hints, ...reasons]);
  const diffs = await diffsOf(ports, tested.files, tested.signal);
  return {
    outcome: kind === 'test_failure' || transient ? 'fail_soft' : 'fail_hard',
    kind,
    transient,
    signature,
    summary,
    suggestions,
    seconds,
    output: await putRefusal(ports.blobs, { kind: 'tests', ...said, summary, suggestions, diffs }),
  };
}

/** What the untouched base says. */
export function judgedBase(all: readonly Ran[], timeout_s: number): BaseTests {
  const failed = all.filter(({ exit }) => exit !== 0);
  const [first] = failed;
  const said = printed(all);
  if (first === undefined)
    return {
      outcome: 'pass',
      summary: `${all.map(({ command }) => command).join(' && ')}: passed`,
      failing: {},
      ...said,
    };
  const failing = failingTests(failed.map(({ output }) => output).join('\n'));
  // The shell's own codes: it cannot be run, or is not there.
  const outcome = failed.some(({ exit }) => exit === 126 || exit === 127) ? 'missing' : 'fail';
  const { what, reasons } = failureOf(first, timeout_s);
  return { outcome, summary: summaryOf(what, reasons), failing, ...said };
}
