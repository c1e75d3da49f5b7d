/** Failing outputs of real projects (outputs/README.md): the names that are found, and what a reader with little room sees of them. */
import { Buffer } from 'node:buffer';
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { putRefusal, readRefusal } from '../../../src/activities/step/refusals.js';
import { buildEditRequest, NOTHING_ELSE } from '../../../src/model/prompts/edit.js';
import { MODEL_BOUNDS } from '../../../src/shared/bounds.js';
import { createBlobStore } from '../../../src/stores/directory/blobs.js';
import { classifyFailure, failedTests } from '../../../src/workspace/commands/index.js';
import {
  arrangeTestOutput,
  parseTestOutput,
  wholeTestOutput,
} from '../../../src/workspace/test-output/index.js';
import { tempDir } from '../../client/fake.js';

const DIRECTORY = join(import.meta.dirname, 'outputs');
const outputOf = (file: string): string => readFileSync(join(DIRECTORY, file), 'utf8');

interface Row {
  readonly names: readonly string[];
  /** A piece of each different assertion. */
  readonly assertions: readonly string[];
  /** What the runner counts. */
  readonly summary: string;
}
const SUGGEST = 'Command.showSuggestionAfterError() >';
const ENGLISH =
  'Doctrine\\Tests\\Inflector\\Rules\\English\\EnglishFunctionalTest::testInflectingPlurals';
const RFC1738 = 'strictNullHandling: applies the formatter to the encoded key (RFC1738) >';

const ROWS: Readonly<Record<string, Row>> = {
  'bitflags-cargo.txt': {
    names: ['tests::difference::cases', 'tests::remove::cases'],
    assertions: ['TestFlags(A | B) -= TestFlags(A)', 'TestFlags(A).remove(TestFlags(A))'],
    summary: '52 passed; 2 failed',
  },
  'chi-go.txt': {
    names: ['TestStripSlashes', 'TestStripSlashesInRoute', 'TestStripSlashesWithNilContext'],
    assertions: ['strip_test.go:43: nothing here', 'strip_test.go:98', 'strip_test.go:231: root'],
    summary: 'FAIL\tgithub.com/go-chi/chi/v5/middleware',
  },
  'click-pytest.txt': {
    names: [
      'tests/test_options.py::test_unknown_options[--foo]',
      'tests/test_options.py::test_unknown_options[-f]',
    ],
    assertions: ["Error: No option '--foo'.", "Error: No option '-f'."],
    summary: '2 failed, 913 passed',
  },
  'cobra-go.txt': {
    names: [
      'TestMaximumNArgs_WithValid',
      'TestMaximumNArgs_WithValid_WithInvalidArgs',
      'TestMaximumNArgs_WithMoreArgs',
      'TestMaximumNArgs_WithMoreArgs_WithValid',
      'TestMaximumNArgs_WithMoreArgs_WithValid_WithInvalidArgs',
    ],
    assertions: [
      'Unexpected error: accepts no more than 2 arg(s), received 2',
      'got "accepts no more than 2 arg(s), received 3"',
    ],
    summary: 'FAIL\tgithub.com/spf13/cobra',
  },
  'commander-tap.txt': {
    names: [
      `${SUGGEST} command suggestions > when cli of a and commands ["ab"] then suggest ab because one edit away`,
      `${SUGGEST} command suggestions > when cli of caxx and commands ["cart"] then suggest cart because 2 edits away and longer string`,
      `${SUGGEST} option suggestions > when cli of --a and options ["--ab"] then suggest --ab because one edit away`,
      `${SUGGEST} option suggestions > when cli of --caxx and options ["--cart"] then suggest --cart because 2 edits away and longer string`,
    ],
    assertions: ["null !== 'ab'", "null !== 'cart'", "null !== '--ab'", "null !== '--cart'"],
    summary: '# fail 4',
  },
  'commons-csv-surefire.txt': {
    names: [
      'org.apache.commons.csv.issues.JiraCsv198Test.test',
      'org.apache.commons.csv.CSVPrinterTest.testJdbcPrinter',
      'org.apache.commons.csv.CSVParserTest.testTrim',
    ],
    assertions: ['expected: not <null>', 'but was: <1,r1,', 'expected: <1> but was: < 1 >'],
    summary: 'Failures: 3',
  },
  'dayjs-jest.txt': {
    names: [
      'DST edge cases vs moment › parses the fall-back overlap the same way as moment',
      'Difference › diff -> in seconds, minutes, hours, days, weeks, months, quarters, years',
      'Time from X',
      'Diff (DST)',
    ],
    assertions: ['"2012-11-04T01:00:00-05:00"', 'test/display.test.js', 'relativeTime', 'timezone'],
    summary: 'Tests:       4 failed, 790 passed, 794 total',
  },
  'defu-vitest-junit.txt': {
    names: [
      'test/defu.test.ts > defu > should concat array values by default',
      'test/defu.test.ts > defu > should correctly type differing array values',
    ],
    assertions: ["{ array: [ 'c', 'd', 'a', 'b' ] } to deeply equal", '- Expected'],
    summary: 'Failed tests (2)',
  },
  'dry-inflector-rspec.txt': {
    names: ['box => boxes', 'fix => fixes', 'fox => foxes'].map(
      (pair) => `Dry::Inflector#pluralize pluralizes ${pair}`,
    ),
    assertions: ['got: "boxs"', 'got: "fixs"', 'got: "foxs"'],
    summary: '1138 examples, 3 failures',
  },
  'express-mocha.txt': {
    names: [
      'res > .location(url) > should encode "url"',
      'res > .location(url) > should encode data uri',
      'res > .location(url) > should consistently handle non-string inputs: object',
      'res > .location(url) > should consistently handle non-string inputs: array',
      'res > .redirect(url) > should encode "url"',
      'res > when accepting html > should escape the url',
      'res > when accepting html > should not render evil javascript links in anchor href (prevent XSS)',
      'res > when accepting text > should encode the url',
    ],
    assertions: ['expected "Location" header field', 'got "data:text/javascript,export default'],
    summary: '8 failing',
  },
  'inflector-phpunit.txt': {
    names: [
      `${ENGLISH} with data set #28 ('box', 'boxes')`,
      `${ENGLISH} with data set #107 ('fax', 'faxes')`,
      `${ENGLISH} with data set #110 ('fix', 'fixes')`,
      `${ENGLISH} with data set #248 ('reflex', 'reflexes')`,
      `${ENGLISH} with data set #306 ('tax', 'taxes')`,
    ],
    assertions: ["+'boxs'", "+'faxs'", "+'fixs'", "+'reflexs'", "+'taxs'"],
    summary: 'Tests: 1032, Assertions: 1056, Failures: 5.',
  },
  'packaging-junit.txt': {
    names: ['foo.bar-foo-bar', 'Foo.Bar-foo-bar', 'Foo.....Bar-foo-bar'].map(
      (parameters) => `tests.test_utils > test_canonicalize_name[${parameters}]`,
    ),
    assertions: ["assert 'foo.bar' == 'foo-bar'", "assert 'foo.....bar' == 'foo-bar'"],
    summary: '<testsuites',
  },
  'qs-tape.txt': {
    names: [
      'RFC 1738 serialization > should be strictly equal',
      'RFC 1738 serialization > should be strictly equal',
      'RFC 1738 serialization > should be strictly equal',
      `${RFC1738} without: as expected`,
      `${RFC1738} with: as expected`,
    ],
    assertions: ["expected: 'a=b+c'", "actual:   'a=b%2Bc'"],
    summary: '# fail  5',
  },
  'semver-cargo.txt': {
    names: ['test_caret'],
    assertions: ['did not match 1.1.2'],
    summary: '19 passed; 1 failed',
  },
  'ufo-vitest.txt': {
    names: [
      "test/resolve.test.ts > resolveURL > [ 'a', 'b/', '/c' ] -> 'a/b/c'",
      'test/url.test.ts > $URL > append',
    ],
    assertions: ["expected 'a/b//' to be 'a/b/c'", 'path/ewpath?query=value'],
    summary: 'Tests  2 failed | 483 passed (485)',
  },
  'uuid-node-spec.txt': {
    names: [
      'v6 > default behavior',
      'v6 > default behavior (binary type)',
      'v6 > all options',
      'v6 > creating at array offset',
      'v6 > v1 -> v6 conversion',
    ],
    assertions: ['id is valid v6 UUID', "+ '1ef21d2f-1207-5660-8c4f-419efbd44d48'"],
    summary: 'ℹ fail 5',
  },
  'validator-mocha-dot.txt': {
    names: ['email addresses', 'URLs', 'FQDN'].map(
      (what) => `Validators > should validate ${what}`,
    ),
    assertions: [
      'validator.isEmail("foo@_bar.com") passed but should have failed',
      'validator.isURL("http://www.foo_bar.com/") passed but should have failed',
      'validator.isFQDN("_.com") passed but should have failed',
    ],
    summary: '3 failing',
  },
};

test('each kept output has a row', () => {
  const files = readdirSync(DIRECTORY).filter((file) => file.endsWith('.txt'));
  expect(files.sort()).toEqual(Object.keys(ROWS).sort());
});

/** Returns what the next call shows below the edit that failed. */
async function promptAfter(output: string): Promise<string> {
  const blobs = createBlobStore({ dir: await tempDir() });
  const { suggestions } = classifyFailure(output, { exit: 1 });
  const ref = await putRefusal(blobs, {
    kind: 'tests',
    output: `$ npm test\n${output}\n`,
    failed: [],
    summary: 'npm test: exit 1',
    suggestions,
    diffs: [],
  });
  const { reasons_bytes } = MODEL_BOUNDS;
  const refusal = await readRefusal(blobs, ref, { reasons_bytes });
  expect(Buffer.byteLength(refusal.reasons)).toBeLessThanOrEqual(reasons_bytes);
  const { request } = buildEditRequest({
    ...NOTHING_ELSE,
    refusal,
    model: 'model',
    format: 'whole-file',
    files: [],
    instructions: 'Do it.',
    outputBudget_tokens: 1_000,
    inputBudget_tokens: 100_000,
  });
  const { messages } = request('01234567');
  return messages
    .flatMap(({ content }) => (typeof content === 'string' ? [content] : content))
    .map((block) => {
      if (typeof block === 'string') return block;
      return 'text' in block ? block.text : '';
    })
    .join('\n');
}

describe.each(Object.entries(ROWS))('%s', (file, { names, assertions, summary }) => {
  const output = outputOf(file);

  test('names the tests that failed, and no other', () => {
    const sorted = (list: readonly string[]): readonly string[] => [...list].sort();
    expect(sorted(parseTestOutput(output).failures.map(({ name }) => name))).toEqual(sorted(names));
    expect(new Set(failedTests(output).keys())).toEqual(new Set(names));
  });

  test('is a failure of tests, whatever passing tests are called', () => {
    expect(classifyFailure(output, { exit: 1 })).toMatchObject({
      kind: 'test_failure',
      transient: false,
    });
  });

  test('the next call shows the names first, then each assertion, the counts, and the passing tests last', async () => {
    const prompt = await promptAfter(output);
    const from = prompt.indexOf('What the tests said:\nFailed tests (');
    expect(from).toBeGreaterThan(-1);
    const shown = prompt.slice(from);
    const head = shown.slice(0, shown.indexOf('\n\n'));
    for (const name of names) expect(head).toContain(`- ${name}`);
    for (const assertion of assertions) expect(shown).toContain(assertion);
    expect(shown).toContain(summary);
    const rest = shown.indexOf('The rest of the output:');
    for (const assertion of assertions) expect(shown.indexOf(assertion)).toBeLessThan(rest);
  });

  test.each([600, 2_000])('stays within %i bytes', (max_bytes) => {
    const { text, omitted } = arrangeTestOutput(output, max_bytes);
    expect(Buffer.byteLength(text)).toBeLessThanOrEqual(max_bytes);
    expect(text).toMatch(/^Failed tests \(\d+\):\n- /);
    expect(omitted).toBeGreaterThan(0);
  });

  test('whole, it has every line after the names', () => {
    const whole = wholeTestOutput(output);
    expect(whole).toMatch(/^Failed tests \(\d+\):\n/);
    expect(whole.split('\n').length).toBeGreaterThanOrEqual(output.trimEnd().split('\n').length);
  });
});

test('an output of no known runner is shown with its error lines, its beginning and its end', () => {
  const noise = Array.from({ length: 500 }, (_, index) => `noise ${index}`);
  const error = "src/a.ts(1,7): error TS2322: Type 'number' is not assignable to type 'string'.";
  const output = [...noise.slice(0, 250), error, ...noise.slice(250)].join('\n');
  const { text, omitted } = arrangeTestOutput(output, 1_000);
  expect(text).toMatch(/^noise 0\n/);
  expect(text).toContain(error);
  expect(text).toMatch(/noise 499$/);
  expect(omitted + text.split('\n').filter((line) => !line.startsWith('[…')).length).toBe(501);
});

test('an error that a passing test prints does not decide about the failure of another', () => {
  const output = `TAP version 13
# Subtest: throws on EACCES: permission denied
ok 1 - throws on EACCES: permission denied
Error: EACCES: permission denied, open 'a'
# Subtest: adds when EPERM
not ok 2 - adds when EPERM
  ---
  error: 'no answer'
  ...
`;
  expect(classifyFailure(output, { exit: 1 }).kind).toBe('test_failure');
});
