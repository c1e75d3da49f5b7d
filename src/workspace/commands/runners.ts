/** Which runner printed an output, and what helps with a failure of a kind there: commands to type and places to look at. Pure. */

export type FailureKind =
  /** Does not parse or compile. */
  | 'syntax'
  | 'test_failure'
  | 'file_not_found'
  | 'import_error'
  | 'null_error'
  | 'timeout'
  | 'permission'
  /** Something else uses what the run needs. */
  | 'busy'
  | 'locked'
  | 'unknown';

export type Runner = 'jest' | 'vitest' | 'pytest' | 'go' | 'cargo' | 'tsc' | 'eslint' | 'make';

/** Looked for in this order: make stands around whatever it runs. */
const SIGNS: readonly (readonly [Runner, RegExp])[] = [
  ['vitest', /^[ \t]*(RUN|DEV)\s+v\d|^ FAIL {2}\S+ > |\bvitest\b/m],
  ['jest', /^[ \t]*● .|^Test Suites: |\bjest\b/m],
  [
    'pytest',
    /^=+ (test session starts|FAILURES|ERRORS|short test summary info) =+$|^E {3,}\S|^(FAILED|ERROR) \S+\.py/m,
  ],
  [
    'cargo',
    /^error\[E\d+\]|^test \S.* \.\.\. FAILED$|^error: could not compile|panicked at .*\.rs:\d+|^test result: FAILED/m,
  ],
  ['go', /^[ \t]*--- FAIL: |^FAIL\t|\.go:\d+:\d+: |^ok {2}\t|\[(build|setup) failed\]/m],
  ['tsc', /\berror TS\d+:/],
  ['eslint', /^[ \t]+\d+:\d+[ \t]+error[ \t]+\S|^✖ \d+ problems? \(/m],
  ['make', /^make(\[\d+\])?: \*\*\*|^\S*[Mm]akefile:\d+: \*\*\*/m],
];

type Suggestions = Partial<Record<FailureKind, readonly string[]>>;
const SUGGESTIONS: Readonly<Record<Runner, Suggestions>> = {
  jest: {
    test_failure: [
      'Run it alone: npx jest PATH -t "NAME".',
      'Stale snapshots mean changed behaviour: check it before `-u`.',
    ],
    import_error: [
      'Check `moduleNameMapper`, `moduleFileExtensions` and `transform` in the configuration of jest.',
    ],
    syntax: [
      '"Unexpected token" in a dependency: `transformIgnorePatterns` leaves it untransformed.',
    ],
    timeout: ['Run with --detectOpenHandles; give a slow test its own time-out as third argument.'],
  },
  vitest: {
    test_failure: ['Run it alone: npx vitest run PATH -t "NAME".'],
    import_error: ['Check `resolve.alias` and `test.environment` in the configuration of vitest.'],
    timeout: ['Give a slow test its own time-out, or raise `test.testTimeout`.'],
  },
  pytest: {
    test_failure: ['Run it alone: pytest PATH::NAME -x -vv.'],
    import_error: [
      'Check that the package is installed, has an __init__.py, and that `pythonpath` or `rootdir` is right.',
    ],
    syntax: ['Check the file alone: python -m py_compile PATH.'],
    null_error: ['A fixture that returns nothing gives None.'],
  },
  go: {
    test_failure: ['Run it alone: go test ./PACKAGE -run "^NAME$" -v.'],
    import_error: ['Run go mod tidy, and check the path of the module in go.mod.'],
    syntax: ['See all of it: go vet ./...', 'An unused import or variable does not compile.'],
    null_error: ['Create a map before writing to it; check a returned error before its value.'],
    timeout: ['See where it hangs: go test -timeout 30s prints all goroutines.'],
  },
  cargo: {
    test_failure: ['Run it alone: cargo test NAME -- --exact --nocapture.'],
    import_error: ['Check `mod` lines, `use` paths and the [dependencies] of Cargo.toml.'],
    syntax: [
      'What an error means: rustc --explain CODE.',
      'See errors without linking: cargo check.',
    ],
    null_error: [
      'Replace `unwrap` by handling `None`, or find out where the value is lost: RUST_BACKTRACE=1.',
    ],
  },
  tsc: {
    syntax: [
      'The first error of a file often causes the rest: npx tsc --noEmit --pretty false.',
      'Compare the signature with every caller.',
    ],
    import_error: [
      'Check `paths`, `moduleResolution` and the extension; types of a package may be a package of their own.',
    ],
  },
  eslint: {
    test_failure: [
      'The rule is at the end of the line; read its page before you disable it.',
      'npx eslint --fix PATH fixes what it can.',
    ],
    syntax: [
      '"Parsing error" may be the parser: check `languageOptions.parser` and that the file is in the project.',
    ],
  },
  make: {
    file_not_found: [
      '"No rule to make target": check the spelling of the prerequisite, or the rule that makes it.',
    ],
    syntax: ['"missing separator": a recipe starts with a tab, not with spaces.'],
    unknown: ['See what it runs: make -n TARGET.'],
  },
};

/** Null: none that is known. */
export const runnerOf = (output: string): Runner | null =>
  SIGNS.find(([, sign]) => sign.test(output))?.[0] ?? null;

/** Of that runner for that kind; may be none. */
export const suggestionsFor = (runner: Runner | null, kind: FailureKind): readonly string[] =>
  runner === null ? [] : (SUGGESTIONS[runner][kind] ?? []);
