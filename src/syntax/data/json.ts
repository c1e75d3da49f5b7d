/** Errors of JSON, with the comments and trailing commas that many programs allow in their settings, and of notebooks. */
import { type ParseError, type ParseOptions, printParseErrorCode, visit } from 'jsonc-parser';
import type { DataFault } from '../../edits/index.js';
import { isTestData } from '../../edits/internal.js';

const NESTING = 500; // bound: Lists and objects within each other; `jsonc-parser` recurses.
const FAULTS = 20; // bound: Errors of one file that are kept.

/** Names of files whose readers allow comments and trailing commas. */
const LENIENT = [
  /\.(?:jsonc|code-workspace|code-snippets|sublime-[\w-]+)$/,
  /(?:^|\/)(?:[tj]sconfig|api-extractor|appsettings|deno|wrangler|typedoc|tslint|turbo|biome|nx|rush)(?:[.-][\w.-]+)?\.json$/,
  /(?:^|\/)\.(?:eslintrc|babelrc|swcrc|jshintrc|jscsrc|mocharc|oxlintrc|luarc|hintrc|markdownlint|jsbeautifyrc)(?:\.json)?$/,
  /(?:^|\/)(?:devcontainer|renovate|launchSettings|pyrightconfig|global|bun\.lock|language-configuration|\.?cspell|\.?jscpd|tsdoc)(?:\.json)?$/,
  /(?:^|\/)(?:\.vscode|\.devcontainer|\.zed|\.theia)\/.+\.json$/,
  /(?:^|\/)common\/config\/rush\/[^/]+\.json$/,
];

/** The programs that read these allow no comments. */
const STRICT_NAMES =
  /(?:^|\/)(?:package|package-lock|composer|manifest|bower|lerna|\.?release-please[\w-]*)\.json$|\.lock$|\.ipynb$|\.geojson$/;

const STRICT: ParseOptions = { disallowComments: true };
const ALLOWING: ParseOptions = { allowTrailingComma: true };

const WORDS: Readonly<Record<string, string>> = {
  InvalidSymbol: 'an unknown word',
  InvalidNumberFormat: 'an invalid number',
  PropertyNameExpected: 'a key in double quotes is expected',
  ValueExpected: 'a value is expected',
  ColonExpected: 'a colon is expected',
  CommaExpected: 'a comma is expected',
  CloseBraceExpected: 'a closing brace is expected',
  CloseBracketExpected: 'a closing bracket is expected',
  EndOfFileExpected: 'the end of the file is expected',
  InvalidCommentToken: 'comments are not allowed',
  UnexpectedEndOfComment: 'the comment is not closed',
  UnexpectedEndOfString: 'the string is not closed',
  UnexpectedEndOfNumber: 'the number is incomplete',
  InvalidUnicode: 'an invalid Unicode escape',
  InvalidEscapeCharacter: 'an invalid escape in a string',
  InvalidCharacter: 'a character that must be escaped',
};

/** Returns the errors of `result`; none if `base` has errors itself. `base` null: the file is new. */
export const jsonFaults = (
  path: string,
  base: string | null,
  result: string,
): readonly DataFault[] => {
  if (isStrict(result) || result.trim() === '') return [];
  if ((base === null || isTestData(path)) && isAllowedSequence(path, result)) return [];
  const options = base === null || isStrict(base) ? optionsFor(path) : ALLOWING;
  if (base !== null && !isStrict(base) && errorsIn(base, options).length > 0) return [];
  if (base === null && hasCommentsOnly(path, result)) return [];
  return errorsIn(result, options).map((error) => ({
    line: lineAt(result, error.offset),
    what: WORDS[codeOf(error)] ?? 'it is not JSON',
  }));
};

/** Returns whether a new file of an unknown reader has comments and no other errors: who writes comments knows that they may. */
const hasCommentsOnly = (path: string, text: string): boolean =>
  !STRICT_NAMES.test(path) &&
  errorsIn(text, ALLOWING).length === 0 &&
  errorsIn(text, STRICT).some((error) => codeOf(error) === 'InvalidCommentToken');

/** Returns also the first cell that no notebook can have. */
export const notebookFaults = (base: string | null, result: string): readonly DataFault[] => {
  const faults = jsonFaults('.ipynb', base, result);
  if (faults.length > 0 || (base !== null && shapeFault(base) !== null)) return faults;
  const what = shapeFault(result);
  return what === null ? [] : [{ line: 0, what }];
};

const isStrict = (text: string): boolean => {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
};

/** Returns whether the text is several values one after the other, as logs, JSON Lines and test data have them, and no manifest has. */
const isAllowedSequence = (path: string, text: string): boolean => {
  if (STRICT_NAMES.test(path) || depthOf(text) > NESTING) return false;
  const options = optionsFor(path);
  let rest = text;
  for (;;) {
    const [first, ...others] = parseErrors(rest, options);
    if (first === undefined) return true;
    // The parser stops behind the first value, so each value is read once.
    const isFurther = codeOf(first) === 'EndOfFileExpected' && first.offset > 0;
    if (!isFurther || others.length > 0) return false;
    rest = rest.slice(first.offset);
  }
};

const codeOf = ({ error }: ParseError): string => printParseErrorCode(error);

const optionsFor = (path: string): ParseOptions =>
  LENIENT.some((name) => name.test(path)) ? ALLOWING : STRICT;

const errorsIn = (text: string, options: ParseOptions): readonly ParseError[] =>
  depthOf(text) > NESTING ? [] : parseErrors(text, options);

/** The text must not be nested too deeply. */
const parseErrors = (text: string, options: ParseOptions): readonly ParseError[] => {
  const errors: ParseError[] = [];
  const onError = (error: number, offset: number, length: number): void => {
    errors.push({ error, offset, length });
    if (errors.length >= FAULTS) throw new TooMany();
  };
  try {
    visit(text, { onError }, options);
  } catch (error) {
    if (!(error instanceof TooMany)) throw error;
  }
  return errors;
};

/** Ends a parse: the parser itself would go on to the end of the text. */
class TooMany extends Error {}

/** Counts brackets in strings as well, so it is at least the true depth. */
const depthOf = (text: string): number => {
  let depth = 0;
  let most = 0;
  for (const character of text.match(/[[\]{}]/g) ?? []) {
    depth += character === '[' || character === '{' ? 1 : -1;
    most = Math.max(most, depth);
  }
  return most;
};

const lineAt = (text: string, offset: number): number => {
  let line = 0;
  for (let end = text.indexOf('\n'); end >= 0 && end < offset; end = text.indexOf('\n', end + 1))
    line += 1;
  return line;
};

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Returns what a notebook of format 4 lacks; null: nothing, or the text is another format. */
const shapeFault = (text: string): string | null => {
  const notebook: unknown = isStrict(text) ? JSON.parse(text) : null;
  if (!isObject(notebook)) return 'a notebook is an object';
  if ('worksheets' in notebook) return null;
  const { cells } = notebook;
  if (!Array.isArray(cells)) return 'a notebook has a list `cells`';
  const index = cells.findIndex((cell) => !isCell(cell));
  return index < 0 ? null : `cell ${index + 1} lacks \`cell_type\` or \`source\``;
};

const isCell = (cell: unknown): boolean =>
  isObject(cell) &&
  typeof cell.cell_type === 'string' &&
  (typeof cell.source === 'string' ||
    (Array.isArray(cell.source) && cell.source.every((line) => typeof line === 'string')));
