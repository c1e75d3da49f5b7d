/** Readers of pytest, unittest, go test, cargo test, JUnit, RSpec and PHPUnit. */
import { endOfBlock, failedTest, placeIn, range } from './lines.js';
import type { FailedTest, OutputText, TestReader } from './types.js';

const PYTEST_SUMMARY = /^(?:FAILED|ERROR) (\S+\.py\S*(?:::.*)?|\S+::.*)$/;
const PYTEST_HEAD = /^_{3,} (\S.*\S|\S) _{3,}$/;
const PYTEST_END = /^_{3,} \S.* _{3,}$|^={3,} .* ={3,}$/;
const PYTEST_PLACE = /^([^\s:]+\.py):(\d+): /;

/** Removes the reason that pytest appends to the name; a parameter may contain the same separator. */
function pytestName(text: string): string {
  const parameters = text.indexOf('[');
  const reason = text.indexOf(' - ');
  if (reason < 0) return text;
  if (parameters < 0 || reason < parameters) return text.slice(0, reason);
  const end = text.indexOf('] - ');
  return end < 0 ? text : text.slice(0, end + 1);
}
/** The heading of a test's block: `Class.test[parameter]`. */
const headingOf = (name: string): string => name.split('::').slice(1).join('.') || name;

/** Returns the blocks by heading, in the order of the output. */
function pytestBlocks(output: OutputText): Map<string, (readonly number[])[]> {
  const blocks = new Map<string, (readonly number[])[]>();
  output.lines.forEach((line, index) => {
    const heading = PYTEST_HEAD.exec(line)?.[1]?.replace(
      /^ERROR (?:collecting|at (?:setup|teardown) of) /,
      '',
    );
    if (heading === undefined) return;
    const end = endOfBlock(output, index + 1, (blockLine) => PYTEST_END.test(blockLine));
    const list = blocks.get(heading);
    if (list === undefined) blocks.set(heading, [range(index, end)]);
    else list.push(range(index, end));
  });
  return blocks;
}

export const readPytest: TestReader = (output) => {
  const blocks = pytestBlocks(output);
  const used = new Map<string, number>();
  const failures = output.lines.flatMap((line, index) => {
    const text = PYTEST_SUMMARY.exec(line)?.[1];
    if (text === undefined) return [];
    const name = pytestName(text);
    const heading = headingOf(name);
    const number = used.get(heading) ?? 0;
    used.set(heading, number + 1);
    const block = blocks.get(heading)?.[number] ?? [];
    const place = placeIn(output, [...block].reverse(), PYTEST_PLACE);
    return [failedTest(output, name, [...block, index], place)];
  });
  if (failures.length > 0) return failures;
  return [...blocks].flatMap(([name, all]) =>
    all.map((lines) =>
      failedTest(output, name, lines, placeIn(output, [...lines].reverse(), PYTEST_PLACE)),
    ),
  );
};

const UNITTEST_HEAD = /^(?:FAIL|ERROR): (\S+ \(.*|\S+)$/;

export const readUnittest: TestReader = (output) =>
  output.lines.flatMap((line, index) => {
    const name = UNITTEST_HEAD.exec(line)?.[1];
    if (name === undefined || !/^={20,}$|^$/.test(output.lines[index - 1] ?? '')) return [];
    const end = endOfBlock(
      output,
      index + 1,
      (blockLine) => UNITTEST_HEAD.test(blockLine) || /^={20,}$|^Ran \d+ tests?/.test(blockLine),
    );
    const lines = range(index, end);
    const place = placeIn(output, [...lines].reverse(), /^\s*File "([^"]+)", line (\d+)/);
    return [failedTest(output, name, lines, place)];
  });

const GO_RUN = /^\s*=== (?:RUN|CONT|NAME)\s+(\S+)/;
const GO_END = /^\s*--- (FAIL|PASS|SKIP): (\S+)/;
const GO_PACKAGE = /^(?:FAIL|ok|PASS|\?)(?:\s|$)|^panic: |^exit status/;
const GO_BROKEN = /^FAIL\t(\S+ \[(?:build|setup) failed\])/;
const GO_PLACE = /^\s*(\S+\.go):(\d+)/;

/** With `-v` the lines of a test are before its verdict. Without it they follow. */
export const readGo: TestReader = (output) => {
  const linesOf = new Map<string, number[]>();
  const failed: string[] = [];
  const broken: FailedTest[] = [];
  let compiler: number[] = [];
  let current: string | null = null;
  output.lines.forEach((line, index) => {
    const [, verdict, ended] = GO_END.exec(line) ?? [];
    const package_ = GO_BROKEN.exec(line)?.[1];
    if (ended !== undefined && verdict === 'FAIL') failed.push(ended);
    if (package_ !== undefined) {
      const place = placeIn(output, compiler, GO_PLACE);
      broken.push(failedTest(output, package_, [...compiler, index], place));
      compiler = [];
    }
    if (/^\S+\.go:\d+/.test(line)) compiler.push(index);
    if (GO_PACKAGE.test(line)) current = null;
    else if (ended !== undefined) current = verdict === 'FAIL' ? ended : null;
    else current = GO_RUN.exec(line)?.[1] ?? current;
    if (current === null) return;
    const list = linesOf.get(current);
    if (list === undefined) linesOf.set(current, [index]);
    else list.push(index);
  });
  // A test fails with its subtests: only the subtests are reported.
  const parents = new Set(failed.map((name) => name.slice(0, Math.max(0, name.lastIndexOf('/')))));
  const tests = failed
    .filter((name) => !parents.has(name))
    .map((name) => {
      // Tests of the same name in several packages share their lines.
      const lines = linesOf.get(name) ?? [];
      linesOf.delete(name);
      return failedTest(output, name, lines, placeIn(output, lines, GO_PLACE));
    });
  return [...tests, ...broken];
};

const CARGO_HEAD = /^---- (.+) stdout ----$/;

export const readCargo: TestReader = (output) => {
  const blocks = new Map<string, readonly number[]>();
  output.lines.forEach((line, index) => {
    const name = CARGO_HEAD.exec(line)?.[1];
    if (name === undefined) return;
    const end = endOfBlock(
      output,
      index + 1,
      (blockLine) =>
        CARGO_HEAD.test(blockLine) ||
        /^failures:$|^test result: |^stack backtrace:$/.test(blockLine),
    );
    blocks.set(name, range(index, end));
  });
  return output.lines.flatMap((line, index) => {
    const name = /^test (\S.*) \.\.\. FAILED$/.exec(line)?.[1];
    if (name === undefined) return [];
    const heading = name.replace(/ - should panic$/, '');
    const lines = blocks.get(heading) ?? [index];
    blocks.delete(heading);
    const place = placeIn(output, lines, /panicked at (?:'.*', )?([^\s:]+):(\d+)/);
    return [failedTest(output, name, lines, place)];
  });
};

const RSPEC_HEAD = /^ {2}\d+\) (\S.*)$/;
const RSPEC_END = /^(?:Finished in |Failed examples:|Top \d+ |\d+ examples?, |Pending:)/;

export const readRspec: TestReader = (output) => {
  const from = output.lines.indexOf('Failures:');
  if (from < 0 || !output.lines.some((line) => /^\d+ examples?, \d+ failures?/.test(line)))
    return [];
  const end = output.lines.findIndex((line, index) => index > from && RSPEC_END.test(line));
  return output.lines.slice(0, end < 0 ? undefined : end).flatMap((line, index) => {
    const name = index > from ? RSPEC_HEAD.exec(line)?.[1] : undefined;
    if (name === undefined) return [];
    const last = endOfBlock(
      output,
      index + 1,
      (blockLine) => RSPEC_HEAD.test(blockLine) || RSPEC_END.test(blockLine),
    );
    const lines = range(index, last);
    return [failedTest(output, name, lines, placeIn(output, lines, /^\s*# (\S+\.rb):(\d+)/))];
  });
};

const PHPUNIT_SECTION = /^There (?:was|were) \d+ (?:failure|error)s?:$/;
const PHPUNIT_HEAD = /^\d+\) (\S.*)$/;
const PHPUNIT_END = /^\d+\) \S|^--$|^(?:FAILURES!|ERRORS!|Tests: \d)|^There (?:was|were) \d+ \w/;

export const readPhpunit: TestReader = (output) => {
  let isIn = false;
  return output.lines.flatMap((line, index) => {
    if (/^There (?:was|were) \d+ /.test(line)) isIn = PHPUNIT_SECTION.test(line);
    const name = isIn ? PHPUNIT_HEAD.exec(line)?.[1] : undefined;
    if (name === undefined) return [];
    const lines = range(
      index,
      endOfBlock(output, index + 1, (blockLine) => PHPUNIT_END.test(blockLine)),
    );
    const place = placeIn(output, [...lines].reverse(), /^(\S+\.php):(\d+)$/);
    return [failedTest(output, name, lines, place)];
  });
};

const SUREFIRE_HEAD =
  /^\[ERROR\] +(?!Tests run: )(\S.*?) +(?:-- )?Time elapsed: .*<<< (?:FAILURE|ERROR)!/;

/** Maven's own report of tests. */
export const readSurefire: TestReader = (output) =>
  output.lines.flatMap((line, index) => {
    const name = SUREFIRE_HEAD.exec(line)?.[1];
    if (name === undefined) return [];
    const end = endOfBlock(output, index + 1, (blockLine) =>
      /^\[(?:ERROR|INFO|WARNING)\]/.test(blockLine),
    );
    const lines = range(index, end);
    const own = name.replace(/\(.*$/, '').split('.').slice(0, -1).at(-1) ?? '\0';
    const place =
      lines
        .map((lineIndex) => /\(([\w$]+\.(?:java|kt)):(\d+)\)/.exec(output.lines[lineIndex] ?? ''))
        .find((found) => found?.[1]?.startsWith(`${own}.`) === true) ?? null;
    return [failedTest(output, name, lines, place === null ? null : `${place[1]}:${place[2]}`)];
  });

const TAG_CHARS = 8_192; // bound: Maximum length of a `testcase` tag with its attributes.
const ENTITIES: Readonly<Record<string, string>> = {
  lt: '<',
  gt: '>',
  quot: '"',
  apos: "'",
  amp: '&',
  '#10': '\n',
  '#xA': '\n',
  '#39': "'",
};
const decoded = (text: string): string =>
  text.replace(/&(#?\w{1,6});/g, (entity, name: string) => ENTITIES[name] ?? entity);
const attribute = (tag: string, name: string): string | null =>
  decoded(new RegExp(`\\s${name}="([^"]*)"`).exec(tag)?.[1] ?? '') || null;

/** The message of a failure, then its text, which often begins with the message. */
function xmlBlock(body: string): string {
  const from = body.search(/<(?:failure|error)\b/);
  const tag = /^<(?:failure|error)\b(?:[^<>"]|"[^<"]*")*>/.exec(body.slice(from, from + TAG_CHARS));
  const start = from + (tag?.[0].length ?? 0);
  const end = /<\/(?:failure|error)>/.exec(body.slice(start));
  const inner = decoded(body.slice(start, end === null ? undefined : start + end.index))
    .replace(/<!\[CDATA\[|\]\]>/g, '')
    .trim();
  const message = attribute(tag?.[0] ?? '', 'message') ?? '';
  const isRepeated = inner.includes(message.split('\n')[0] ?? '');
  return isRepeated ? inner : `${message}\n${inner}`.trim();
}

export const readJunitXml: TestReader = ({ text }) => {
  const failures: FailedTest[] = [];
  for (
    let offset = text.indexOf('<testcase');
    offset >= 0;
    offset = text.indexOf('<testcase', offset + 1)
  ) {
    const tag = /^<testcase\b(?:[^<>"]|"[^<"]*")*>/.exec(
      text.slice(offset, offset + TAG_CHARS),
    )?.[0];
    if (tag === undefined || tag.endsWith('/>')) continue;
    const end = text.indexOf('</testcase>', offset);
    if (end < 0) break;
    const body = text.slice(offset + tag.length, end);
    offset = end;
    if (!/<(?:failure|error)\b/.test(body)) continue;
    const group = attribute(tag, 'classname');
    const name = attribute(tag, 'name') ?? 'a test without a name';
    const [file, line] = [attribute(tag, 'file'), attribute(tag, 'line')];
    failures.push({
      name: group === null ? name : `${group} > ${name}`,
      place: file === null || line === null ? file : `${file}:${line}`,
      lines: [],
      block: xmlBlock(body),
    });
  }
  return failures;
};
