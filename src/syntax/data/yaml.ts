/** Errors of YAML: of one document or several, without values, so unknown tags are no errors. */
import {
  Composer,
  type Document,
  type ErrorCode,
  isAlias,
  isCollection,
  isMap,
  isPair,
  isScalar,
  Lexer,
  LineCounter,
  Parser,
  type YAMLMap,
} from 'yaml';
import type { DataFault } from '../../edits/index.js';
import { withJoinedQuotes } from './yaml-quotes.js';

// bound: Maps and lists within each other. The parser recurses, and V8 ends the process if it compiles a regular expression on a full stack.
export const YAML_NESTING = 50;
const FAULTS = 20; // bound: Errors of one file that are kept.

/** Other parsers accept these. */
const ACCEPTED: ReadonlySet<ErrorCode> = new Set([
  'TAG_RESOLVE_FAILED',
  'KEY_OVER_1024_CHARS',
  'BAD_DIRECTIVE',
]);

/** Cirrus CI reads a key that occurs twice (`task`) as a list. */
const REPEATS_KEYS = /(?:^|\/)\.cirrus\.ya?ml$/;

/** Null: the nesting is too deep to look. */
export const yamlFaults = (
  path: string,
  base: string | null,
  result: string,
): readonly DataFault[] | null => {
  const mayRepeat = REPEATS_KEYS.test(path);
  const faults = faultsIn(result, mayRepeat);
  if (faults === null || faults.length === 0 || base === null) return faults;
  return faultsIn(base, mayRepeat)?.length === 0 ? faults : [];
};

/** Errors that other parsers report as well. */
const faultsIn = (text: string, mayRepeat: boolean): readonly DataFault[] | null => {
  const faults = parseFaults(text, mayRepeat);
  if (faults === null || faults.length === 0) return faults;
  const joined = withJoinedQuotes(text);
  return joined !== text && parseFaults(joined, mayRepeat)?.length === 0 ? [] : faults;
};

const parseFaults = (text: string, mayRepeat: boolean): readonly DataFault[] | null => {
  const counter = new LineCounter();
  const tokens = tokensOf(text, counter);
  if (tokens === null) return null;
  const lineAt = (offset: number): number => counter.linePos(offset).line - 1;
  const faults: DataFault[] = [];
  const options = {
    uniqueKeys: false,
    schema: 'failsafe',
    merge: true,
    prettyErrors: false,
  } as const;
  for (const document of new Composer(options).compose(tokens)) {
    for (const { code, message, pos } of document.errors)
      if (!ACCEPTED.has(code)) faults.push({ line: lineAt(pos[0]), what: inWords(message) });
    for (const { offset, what } of keyFaults(document, mayRepeat))
      faults.push({ line: lineAt(offset), what });
    if (faults.length > FAULTS) break;
  }
  return faults.sort((a, b) => a.line - b.line).slice(0, FAULTS);
};

/** Null: maps and lists are nested too deeply. */
const tokensOf = (text: string, counter: LineCounter) => {
  const parser = new Parser(counter.addNewLine);
  // `parse` of the parser does this; its steps do not.
  counter.addNewLine(0);
  const tokens = [];
  for (const lexeme of new Lexer().lex(text)) {
    tokens.push(...parser.next(lexeme));
    // A map and a list are one token each; a document is the first.
    if (parser.stack.length > YAML_NESTING + 1) return null;
  }
  tokens.push(...parser.end());
  return tokens;
};

const inWords = (message: string): string =>
  message.charAt(0).toLowerCase() + message.slice(1).replace(/\.$/, '');

interface PlacedFault {
  readonly offset: number;
  readonly what: string;
}

/**
 * Finds keys that occur twice, and aliases without an anchor. Linear: the library's own check compares each key with each, and it
 * resolves aliases only when it makes values.
 */
const keyFaults = (document: Document, mayRepeat: boolean): readonly PlacedFault[] => {
  const faults: PlacedFault[] = [];
  const anchors = new Set<string>();
  const aliases: PlacedFault[] = [];
  const open: unknown[] = [document.contents];
  while (open.length > 0) {
    const node = open.pop();
    if (isPair(node)) open.push(node.key, node.value);
    else if (isAlias(node)) aliases.push({ offset: node.range?.[0] ?? 0, what: node.source });
    else if (isScalar(node) || isCollection(node)) {
      if (node.anchor !== undefined) anchors.add(node.anchor);
      if (isCollection(node)) open.push(...node.items);
      if (isMap(node) && !mayRepeat) faults.push(...doubledKeys(node));
    }
  }
  const unknown = aliases.filter(({ what }) => !anchors.has(what));
  return [
    ...faults,
    ...unknown.map(({ offset, what }) => ({ offset, what: `no anchor &${what} exists` })),
  ];
};

const doubledKeys = ({ items }: YAMLMap): readonly PlacedFault[] => {
  const keys = new Set<string>();
  return items.flatMap(({ key }) => {
    if (!isScalar(key) || typeof key.value !== 'string') return [];
    const { value, range } = key;
    const isDoubled = keys.has(value) && value !== '<<';
    keys.add(value);
    return isDoubled
      ? [{ offset: range?.[0] ?? 0, what: `the key ${JSON.stringify(value)} occurs twice` }]
      : [];
  });
};
