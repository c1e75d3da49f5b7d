/** Outputs are the runners' own (jest 30, pytest 8, go 1.26, cargo, tsc 6, eslint 10, node:test, make), shortened. */
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { FailureKind } from '../../../src/workspace/commands/runners.js';
import { describe, expect, test } from '@jest/globals';

import { classifyFailure, failingTests } from '../../../src/workspace/commands/classify.js';

const JEST = `FAIL ./a.test.js
  ● suite › throws SyntaxError maybe

    expect(received).toBe(expected) // Object.is equality

    Expected: 2
    Received: 1

      at Object.<anonymous> (a.test.js:3:52)

Test Suites: 1 failed, 1 total
Time:        0.51 s
`;
const PYTEST = `FF
=================================== FAILURES ===================================
    def test_a(): assert 1 == 2
E   assert 1 == 2

test_x.py:2: AssertionError
=========================== short test summary info ============================
FAILED test_x.py::test_a - assert 1 == 2
1 failed in 0.04s
`;
const GO = `--- FAIL: TestA (0.00s)
    x_test.go:3: got 1 want 2
FAIL
FAIL	x	0.007s
FAIL
`;
const CARGO = `running 2 tests
test adds ... FAILED

---- adds stdout ----

thread 'adds' (20108) panicked at src/lib.rs:1:21:
assertion \`left == right\` failed
  left: 1
 right: 2
stack backtrace:
   0: __rustc::rust_begin_unwind

test result: FAILED. 1 passed; 1 failed; finished in 0.00s
error: test failed, to rerun pass \`--lib\`
`;

const cases: [string, FailureKind, string, number?][] = [
  ['jest', 'test_failure', JEST],
  ['pytest', 'test_failure', PYTEST],
  ['go', 'test_failure', GO],
  ['cargo', 'test_failure', CARGO],
  [
    'vitest',
    'test_failure',
    ' FAIL  src/a.test.ts > sum > adds\nAssertionError: expected 3 to be 4 // Object.is equality\n',
  ],
  [
    'node:test',
    'test_failure',
    "not ok 1 - adds\n  ---\n  duration_ms: 2.18\n  error: '1 == 2'\n  name: 'AssertionError'\n",
  ],
  [
    'no runner',
    'test_failure',
    'node:assert:126\n  throw new AssertionError(obj);\n\nAssertionError [ERR_ASSERTION]: 3 == 4\n',
  ],
  [
    'eslint rule',
    'test_failure',
    "/w/x.js\n  1:1  error  'foo' is not defined  no-undef\n\n✖ 1 problem (1 error, 0 warnings)\n",
  ],
  [
    'eslint parse',
    'syntax',
    '/w/x.js\n  1:11  error  Parsing error: Unexpected token ;\n\n✖ 1 problem\n',
  ],
  [
    'tsc',
    'syntax',
    "src/a.ts(1,7): error TS2322: Type 'number' is not assignable to type 'string'.\n",
  ],
  [
    'tsc, coloured',
    'syntax',
    '\u001b[96mb.ts\u001b[0m:\u001b[93m1\u001b[0m:\u001b[93m11\u001b[0m - \u001b[91merror\u001b[0m\u001b[90m TS1109: \u001b[0mExpression expected.\n',
  ],
  [
    'tsc import',
    'import_error',
    "src/a.ts(2,15): error TS2307: Cannot find module './nope' or its corresponding type declarations.\n",
  ],
  [
    'jest import',
    'import_error',
    "FAIL ./b.test.js\n  ● Test suite failed to run\n\n    Cannot find module './nope.js' from 'b.test.js'\n",
  ],
  [
    'jest syntax',
    'syntax',
    "FAIL ./c.test.js\n  ● Test suite failed to run\n\n    SyntaxError: Unexpected token ';'\n",
  ],
  [
    'jest null',
    'null_error',
    "  ● suite › reads\n\n    TypeError: Cannot read properties of undefined (reading 'foo')\n",
  ],
  [
    'jest slow',
    'timeout',
    '  ● suite › slow\n\n    thrown: "Exceeded timeout of 50 ms for a test.\n',
  ],
  [
    'pytest import',
    'import_error',
    "E   ModuleNotFoundError: No module named 'nope'\nERROR test_x.py\n",
  ],
  [
    'pytest syntax',
    'syntax',
    'E     File "/tmp/tmp.x/py/test_x.py", line 1\nE   SyntaxError: invalid syntax\nERROR test_x.py\n',
  ],
  [
    'pytest null',
    'null_error',
    "E   AttributeError: 'NoneType' object has no attribute 'foo'\nFAILED test_x.py::test_c - AttributeError\n",
  ],
  [
    'pytest file',
    'file_not_found',
    "E   FileNotFoundError: [Errno 2] No such file or directory: 'none'\nFAILED test_x.py::test_b\n",
  ],
  [
    'go build',
    'syntax',
    '# x [x.test]\n./x_test.go:3:28: undefined: undefinedthing\nFAIL\tx [build failed]\nFAIL\n',
  ],
  [
    'go import',
    'import_error',
    '# x\nx_test.go:2:8: package nope/nope is not in std (/usr/local/go/src/nope/nope)\nFAIL\tx [setup failed]\nFAIL\n',
  ],
  [
    'go nil',
    'null_error',
    '--- FAIL: TestB (0.00s)\npanic: runtime error: invalid memory address or nil pointer dereference [recovered]\n',
  ],
  [
    'cargo build',
    'syntax',
    'error[E0308]: mismatched types\n --> src/lib.rs:1:16\nerror: could not compile `x` (lib) due to 1 previous error\n',
  ],
  [
    'cargo import',
    'import_error',
    'error[E0432]: unresolved import `nope`\nerror: could not compile `x` (lib)\n',
  ],
  ['make target', 'file_not_found', "make: *** No rule to make target 'nope'.  Stop.\n", 2],
  ['make syntax', 'syntax', 'Makefile:2: *** missing separator.  Stop.\n', 2],
  ['no such command', 'file_not_found', 'sh: 1: frobnicate: not found\n', 127],
  ['permission', 'permission', 'sh: 1: ./run.sh: Permission denied\n', 126],
  ['a port in use', 'busy', 'Error: listen EADDRINUSE: address already in use :::3000\n'],
  ['a locked database', 'locked', 'sqlite3.OperationalError: database is locked\n'],
  ['nothing known', 'unknown', 'it went wrong\n'],
  ['nothing at all', 'unknown', ''],
];

describe('kinds', () => {
  test.each(cases.map(([name, kind, output, exit = 1]) => ({ name, kind, output, exit })))(
    '$name: $kind',
    ({ kind, output, exit }) => {
      const failure = classifyFailure(output, { exit });
      expect(failure.kind).toBe(kind);
      expect(failure.transient).toBe(['busy', 'locked', 'timeout'].includes(kind));
      expect(failure.suggestions.length).toBeGreaterThan(0);
      expect(failure.signature).toMatch(/^[0-9a-f]{16}$/);
    },
  );

  test('the time limit decides, whatever was printed', () => {
    expect(classifyFailure(JEST, { exit: null, timedOut: true })).toMatchObject({
      kind: 'timeout',
      transient: true,
    });
  });

  test('no two kinds of these outputs share a signature', () => {
    const signatures = cases.map(([, , output]) => classifyFailure(output, { exit: 1 }).signature);
    expect(new Set(signatures).size).toBe(signatures.length);
  });

  test('lines name the failing tests', () => {
    expect(classifyFailure(CARGO, { exit: 101 }).lines).toEqual([
      'adds',
      "thread 'adds' (20108) panicked at src/lib.rs:1:21:",
      'assertion `left == right` failed',
    ]);
  });
});

/**
 * What the runners print when `add` subtracts, and when texts are compared that name failures of other kinds: jest 30.2, vitest 4.1,
 * node:test of Node.js 20.20 (spec and TAP), pytest 9.2, unittest of Python 3.11, go 1.26, cargo 1.95, JUnit 5.11 under surefire 3.5.
 * Kept whole, but for lines of stacks inside the runner.
 */
const ASSERTIONS = join(import.meta.dirname, 'assertions');
test.each(readdirSync(ASSERTIONS))('an assertion that fails: %s', (file) => {
  const failure = classifyFailure(readFileSync(join(ASSERTIONS, file), 'utf8'), { exit: 1 });
  expect(failure).toMatchObject({ kind: 'test_failure', transient: false });
  expect(failure.lines.join('\n')).toMatch(/add/i);
});

test.each([
  [
    'before',
    'import_error',
    `E   ModuleNotFoundError: No module named 'nope'\nERROR test_y.py\n${PYTEST}`,
  ],
  [
    'after',
    'busy',
    `${JEST}  ● suite › listens\n\n    Error: listen EADDRINUSE: address already in use :::3000\n`,
  ],
  [
    'in the test of the assertion',
    'null_error',
    `${GO}panic: invalid memory address or nil pointer dereference\n`,
  ],
])('what fails %s an assertion decides: %s', (_, kind, output) => {
  expect(classifyFailure(output, { exit: 1 }).kind).toBe(kind);
});

describe('signature', () => {
  const signature = (output: string): string => classifyFailure(output, { exit: 1 }).signature;

  test.each([
    [
      'times',
      'FAILED a.py::x - E took 0.5s\n1 failed in 0.04s',
      'FAILED a.py::x - E took 13 ms\n1 failed in 2.4s',
    ],
    ['numbers and lines', './x.go:3:28: undefined: y', './x.go:41:2: undefined: y'],
    [
      'temporary paths',
      "Error: ENOENT: open '/tmp/emend-aB3x/f.txt'",
      "Error: ENOENT: open '/var/folders/zz/q1/T/emend-Q/f.txt'",
    ],
    [
      'addresses and ids',
      'panic: at 0xc000123 in 1c0ffee1 of 123e4567-e89b-12d3-a456-426614174000',
      'panic: at 0xdeadbeef in abc1234f of 00000000-e89b-12d3-a456-426614174fff',
    ],
    ['dates', 'Error: at 2026-01-02T03:04:05.678Z no', 'Error: at 2026-11-12T13:14:15.1Z no'],
    ['colours', '\u001b[31m  ● a › b\u001b[39m', '  ● a › b'],
    ['the order in which tests end', '  ● a › b\n  ● c › d\n', '  ● c › d\n  ● a › b\n'],
    ['what passed beside it', `PASS x.test.js (5.1 s)\n${JEST}`, `${JEST}PASS y.test.js\n`],
  ])('does not depend on %s', (_, one, other) => {
    expect(signature(one)).toBe(signature(other));
  });

  test.each([
    ['another test', '  ● a › b', '  ● a › c'],
    [
      'another error of the same test',
      '  ● a › b\n    TypeError: x is not a function',
      '  ● a › b\n    ReferenceError: x is not defined',
    ],
    ['fewer failures', '  ● a › b\n  ● c › d', '  ● a › b'],
    ['another end where nothing is known', 'it went wrong', 'it went very wrong'],
  ])('depends on %s', (_, one, other) => {
    expect(signature(one)).not.toBe(signature(other));
  });
});

describe('suggestions of the runner', () => {
  const TSC = "src/a.ts(1,7): error TS2322: Type 'number' is not assignable to type 'string'.\n";
  const ESLINT =
    "/w/x.js\n  1:1  error  'foo' is not defined  no-undef\n\n✖ 1 problem (1 error, 0 warnings)\n";
  const VITEST =
    ' FAIL  src/a.test.ts > sum > adds\nAssertionError: expected 3 to be 4 // Object.is equality\n';
  test.each([
    ['jest', JEST, 'npx jest PATH -t'],
    ['vitest', VITEST, 'npx vitest run'],
    ['pytest', PYTEST, 'pytest PATH::NAME'],
    ['go', GO, 'go test ./PACKAGE -run'],
    ['cargo', CARGO, 'cargo test NAME'],
    ['tsc', TSC, 'npx tsc --noEmit'],
    ['eslint', ESLINT, 'The rule is at the end'],
    [
      'make',
      "make: *** No rule to make target 'x', needed by 'all'.  Stop.\n",
      'No rule to make target',
    ],
    ['jest under make', `${JEST}make: *** [Makefile:2: test] Error 1\n`, 'npx jest PATH -t'],
  ])('%s comes before what is said of every runner', (_name, output, command) => {
    const { suggestions } = classifyFailure(output, { exit: 1 });
    expect(suggestions[0]).toContain(command);
    expect(suggestions.length).toBeGreaterThan(2);
  });
  test('an output of no known runner has those of its kind only', () => {
    expect(classifyFailure('EACCES: no\n', { exit: 1 }).suggestions).toEqual([
      'Check owner and mode of the named file.',
      'Do not write outside the workspace in tests.',
    ]);
  });
});

describe('tests that failed, by name', () => {
  const kept = (name: string) => readFileSync(join(ASSERTIONS, name), 'utf8');
  test.each(readdirSync(ASSERTIONS))(
    '%s: the same names at another time, in another order',
    (name) => {
      const output = kept(name);
      const found = failingTests(output);
      expect(Object.keys(found ?? {}).length).toBeGreaterThan(0);
      const later = output.replace(/\b\d+(\.\d+)?(?= ?m?s\b)/g, '77');
      expect(failingTests(later)).toEqual(found);
    },
  );

  test.each([
    [
      'pytest',
      'FAILED t.py::test_a - assert 1 == 2\nFAILED t.py::test_b - boom\n',
      ['t.py::test_a', 't.py::test_b'],
    ],
    ['TAP', 'not ok 1 - adds\nnot ok 12 - adds\n', ['adds']],
    ['node:test', '✖ adds (0.52ms)\n', ['adds']],
    ['go', '--- FAIL: TestA (0.00s)\n', ['TestA']],
  ])('%s', (_, output, names) => {
    expect(Object.keys(failingTests(output) ?? {})).toEqual(names);
  });

  test.each([
    ['nothing is named', 'error TS2304: Cannot find name\n'],
    ['a file did not come to its tests', '  ● Test suite failed to run\n  ● a › b\n'],
    ['the output was cut', '✖ adds (1ms)\n[... 12 bytes cut ...]\n'],
    ['the program ended under them', '--- FAIL: TestA (0.00s)\npanic: no\n'],
  ])('none: %s', (_, output) => {
    expect(failingTests(output)).toBeNull();
  });
});
