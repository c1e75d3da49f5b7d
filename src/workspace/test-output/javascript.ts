/** Readers of TAP, node:test, jest, vitest, mocha and eslint. */
import { endOfBlock, failedTest, FRAME, indentOf, placeIn, range } from './lines.js';
import type { FailedTest, OutputText, TestReader } from './types.js';

const NOT_OK = /^(\s*)not ok \d+(?: - | |$)(.*)$/;
const SUBTEST = /^(\s*)# Subtest: (.*)$/;
/** A comment of tape names the test whose assertions follow; the counts at the end are no names. */
const TAPE_TITLE =
  /^# (?!Subtest: |(?:tests|suites|pass|fail|cancelled|skipped|todo|duration_ms)\s+\d)(.+)$/;
const DIRECTIVE = / # (?:SKIP|TODO)\b/i;

interface Suite {
  readonly indent: number;
  readonly name: string;
}
/** Removes the suites that have ended before a line with this indentation. */
function leave(suites: Suite[], indent: number): void {
  while ((suites.at(-1)?.indent ?? -1) >= indent) suites.pop();
}
const pathOf = (suites: readonly Suite[], name: string): string =>
  [...suites.map((suite) => suite.name), name].join(' > ');

/** Returns the index after the YAML block that follows line `index`. */
function endOfYaml(output: OutputText, index: number): number {
  const next = output.lines[index + 1] ?? '';
  if (next.trim() !== '---') return index + 1;
  const indent = indentOf(next);
  const end = endOfBlock(
    output,
    index + 2,
    (line) => NOT_OK.test(line) || (line.trim() === '...' && indentOf(line) === indent),
  );
  return NOT_OK.test(output.lines[end] ?? '') ? end : end + 1;
}

const unescaped = (name: string): string =>
  name
    .replace(/ # time=\S+$/, '')
    .replace(/\\([#\\])/g, '$1')
    .trim();

/** A suite fails with its tests: only the tests are reported. */
export const readTap: TestReader = (output) => {
  const failures: FailedTest[] = [];
  const suites: Suite[] = [];
  let title: string | null = null;
  for (let index = 0; index < output.lines.length; index += 1) {
    const line = output.lines[index] ?? '';
    title = TAPE_TITLE.exec(line)?.[1] ?? title;
    const [, subtestIndent, subtest] = SUBTEST.exec(line) ?? [];
    if (subtestIndent !== undefined && subtest !== undefined) {
      title = null;
      leave(suites, subtestIndent.length);
      suites.push({ indent: subtestIndent.length, name: unescaped(subtest) });
      continue;
    }
    const [, space, own] = NOT_OK.exec(line) ?? [];
    if (space === undefined || own === undefined || DIRECTIVE.test(own)) continue;
    const lines = range(index, Math.min(endOfYaml(output, index), output.lines.length));
    if (
      lines.some((lineIndex) =>
        (output.lines[lineIndex] ?? '').includes("failureType: 'subtestsFailed'"),
      )
    )
      continue;
    leave(suites, space.length);
    const name = unescaped(own);
    const path = title === null ? pathOf(suites, name) : `${title} > ${name}`;
    const place =
      placeIn(output, lines, FRAME) ?? placeIn(output, lines, /\blocation: '([^']+):(\d+):\d+'/);
    failures.push(failedTest(output, path, lines, place));
  }
  return failures;
};

const SPEC_FAILED = /^(\s*)✖ (?!\d+ problems? \(|failing tests:)(.+)$/;
const SPEC_SUITE = /^(\s*)▶ (.+)$/;
const SPEC_LINE = /^\s*[✖✔▶ℹ﹣] |^test at /;
const withoutDuration = (name: string): string => name.replace(/ \(\d[\d.]*m?s\)$/, '');
const leafOf = (name: string): string => name.slice(name.lastIndexOf(' > ') + 1).replace(/^> /, '');

/** The spec reporter repeats the failures at its end, with their places; some versions print the errors only there. */
export const readNodeSpec: TestReader = (output) => {
  const marker = output.lines.findIndex((line) => line.startsWith('✖ failing tests:'));
  const treeEnd = marker < 0 ? output.lines.length : marker;
  const failures: FailedTest[] = [];
  const suites: Suite[] = [];
  const blockAt = (index: number): readonly number[] =>
    range(
      index,
      endOfBlock(output, index + 1, (line) => SPEC_LINE.test(line)),
    );
  for (let index = 0; index < treeEnd; index += 1) {
    const line = output.lines[index] ?? '';
    const [, suiteSpace, suite] = SPEC_SUITE.exec(line) ?? [];
    const [, space, own] = SPEC_FAILED.exec(line) ?? [];
    if (suiteSpace !== undefined && suite !== undefined) {
      leave(suites, suiteSpace.length);
      suites.push({ indent: suiteSpace.length, name: withoutDuration(suite) });
    } else if (space !== undefined && own !== undefined) {
      const name = withoutDuration(own);
      const top = suites.findLast((entry) => entry.indent === space.length);
      leave(suites, space.length);
      if (top?.name === name) continue;
      const lines = blockAt(index).filter((lineIndex) => lineIndex < treeEnd);
      failures.push(failedTest(output, pathOf(suites, name), lines, placeIn(output, lines, FRAME)));
    }
  }
  return marker < 0 ? failures : withRepeated(output, failures, marker, blockAt);
};

/** Adds the places from the section of failing tests, and the errors if the tree does not have them. */
function withRepeated(
  output: OutputText,
  failures: readonly FailedTest[],
  marker: number,
  blockAt: (index: number) => readonly number[],
): readonly FailedTest[] {
  const repeated = new Map<string, { place: string | null; lines: readonly number[] }[]>();
  for (let index = marker + 1; index < output.lines.length; index += 1) {
    const own = SPEC_FAILED.exec(output.lines[index] ?? '')?.[2];
    if (own === undefined) continue;
    const place = /^test at (\S+):\d+$/.exec(output.lines[index - 1] ?? '')?.[1] ?? null;
    const name = withoutDuration(own);
    const entry = { place, lines: blockAt(index) };
    const list = repeated.get(name);
    if (list === undefined) repeated.set(name, [entry]);
    else list.push(entry);
  }
  const used = new Map<string, number>();
  const whole = failures.map((failure) => {
    const leaf = leafOf(failure.name);
    const number = used.get(leaf) ?? 0;
    used.set(leaf, number + 1);
    const again = repeated.get(leaf)?.[number];
    if (again === undefined) return failure;
    const lines = failure.lines.length > 2 ? failure.lines : again.lines;
    return failedTest(output, failure.name, lines, again.place ?? failure.place);
  });
  if (whole.length > 0) return whole;
  return [...repeated].flatMap(([name, all]) =>
    all.map(({ place, lines }) => failedTest(output, name, lines, place)),
  );
}

const JEST_HEAD = /^\s*● (?!Console$|Validation |Deprecation )(.+)$/;
const JEST_END =
  /^\s*● |^(?:PASS|FAIL) |^Test Suites: |^Summary of all failing tests|^\s+console\.\w+ /;

export const readJest: TestReader = (output) => {
  const failures: FailedTest[] = [];
  const repeated = output.lines.indexOf('Summary of all failing tests');
  let file: string | null = null;
  for (let index = 0; index < output.lines.length && index !== repeated; index += 1) {
    const line = output.lines[index] ?? '';
    file = /^\s*FAIL\s+(?:\S+ )?(\S+\.\w+)/.exec(line)?.[1] ?? file;
    const own = JEST_HEAD.exec(line)?.[1];
    if (own === undefined) continue;
    const lines = range(
      index,
      endOfBlock(output, index + 1, (blockLine) => JEST_END.test(blockLine)),
    );
    const name = own === 'Test suite failed to run' ? `${file ?? 'a file'}: ${own}` : own;
    failures.push(failedTest(output, name, lines, placeIn(output, lines, FRAME) ?? file));
  }
  return failures;
};

const VITEST_HEAD = /^ FAIL {2}(\S.*)$/;
const VITEST_END = /^ FAIL {2}|^⎯{4,}|^ Test Files /;

export const readVitest: TestReader = (output) =>
  output.lines.flatMap((line, index) => {
    const name = VITEST_HEAD.exec(line)?.[1];
    if (name === undefined) return [];
    const lines = range(
      index,
      endOfBlock(output, index + 1, (blockLine) => VITEST_END.test(blockLine)),
    );
    const place = placeIn(output, lines, FRAME) ?? /^(\S+\.\w+)/.exec(name)?.[1] ?? null;
    return [failedTest(output, name, lines, place)];
  });

const MOCHA_HEAD = /^ {2}\d+\) (.*)$/;
const MOCHA_TITLES = 20; // bound: Maximum number of suites that a test of mocha is nested in.

/** Mocha prints the titles of the suites and of the test on lines of their own; the last ends with a colon. */
function mochaName({ lines }: OutputText, from: number): string {
  const titles: string[] = [];
  for (let index = from; index < from + MOCHA_TITLES; index += 1) {
    const title = (MOCHA_HEAD.exec(lines[index] ?? '')?.[1] ?? lines[index] ?? '').trim();
    if (title === '') break;
    titles.push(title);
    if (title.endsWith(':')) break;
  }
  return titles.join(' > ').replace(/:$/, '');
}

export const readMocha: TestReader = (output) => {
  const from = output.lines.findIndex((line) => /^\s+\d+ failing$/.test(line));
  if (from < 0) return [];
  return output.lines.flatMap((line, index) => {
    if (index <= from || !MOCHA_HEAD.test(line)) return [];
    const end = endOfBlock(
      output,
      index + 1,
      (blockLine) => MOCHA_HEAD.test(blockLine) || /^\S/.test(blockLine),
    );
    const lines = range(index, end);
    return [failedTest(output, mochaName(output, index), lines, placeIn(output, lines, FRAME))];
  });
};

const ESLINT_ERROR = /^\s+(\d+):\d+\s+error\s+\S/;

export const readEslint: TestReader = (output) => {
  let file: string | null = null;
  return output.lines.flatMap((line, index) => {
    if (/^\/?\S+\.\w+$/.test(line)) file = line;
    const number = ESLINT_ERROR.exec(line)?.[1];
    if (number === undefined) return [];
    const name = file === null ? line.trim() : `${file}: ${line.trim()}`;
    return [failedTest(output, name, [index], file === null ? null : `${file}:${number}`)];
  });
};
