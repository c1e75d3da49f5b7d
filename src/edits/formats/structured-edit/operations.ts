/** Reads the JSON of a structured edit into operations, each checked for its keys and types; a fault names the operation's index. */
import { BOUNDS } from '../../../shared/limits.js';
import { tooManyEdits } from '../../answer-size.js';
import { type Json, isJsonObject, keyBeside, PATH_NAMES } from '../../text/json.js';
import { answerLines } from '../../text/codec.js';
import { invalid } from '../../dialects/reader.js';
import type { Reading, Reason } from '../../types.js';

/** A line as the answer names it: its 1-based number and, where quoted, the check of the listing. */
export interface QuotedLine {
  readonly line: number;
  readonly check: string | null;
}

/** A definition as the answer names it (`structured-edit/symbol.ts`). */
export interface SymbolPoint {
  readonly name: string;
  /** Where an insert goes; null for the other types. */
  readonly position: 'before' | 'after' | 'end' | null;
  /** A line inside the definition that is meant, where several have the name. */
  readonly line: QuotedLine | null;
}
export interface Operation {
  /** 0-based place in the answer. */
  readonly index: number;
  readonly type: 'insert' | 'replace' | 'delete' | 'append' | 'prepend';
  readonly path: string;
  /** Adjacent lines as the answer quotes them; none where it does not. */
  readonly before: readonly string[];
  readonly after: readonly string[];
  /** The first and the last line that it names, which for an insert are one; null: it names an end of the file, or a definition. */
  readonly lines: readonly [start: QuotedLine, end: QuotedLine] | null;
  readonly symbol: SymbolPoint | null;
  /** None for a delete. */
  readonly content: readonly string[];
}

export interface OperationsRead {
  /** The operations that the answer holds, good ones or not. */
  readonly items: readonly Json[];
  readonly operations: readonly Operation[];
  readonly summary: string | null;
  readonly fault: Reading | null;
}

const COMMON_KEYS = ['type', 'file_path', 'context_before', 'context_after'];
const KEYS: Readonly<Record<Operation['type'], readonly string[]>> = {
  insert: [...COMMON_KEYS, 'line', 'content'],
  replace: [...COMMON_KEYS, 'start_line', 'end_line', 'content'],
  delete: [...COMMON_KEYS, 'start_line', 'end_line'],
  append: [...COMMON_KEYS, 'content'],
  prepend: [...COMMON_KEYS, 'content'],
};
const LINE_KEYS: Partial<typeof KEYS> = { replace: KEYS.insert, delete: [...COMMON_KEYS, 'line'] };
/** What a place by symbol takes instead of line numbers and contexts. */
const AT_KEYS = ['type', 'file_path', 'at', 'content'];
const SYMBOL_KEYS: Readonly<Record<string, readonly string[]>> = {
  insert: AT_KEYS,
  replace: AT_KEYS,
  delete: AT_KEYS.slice(0, -1),
};
const POSITIONS = ['before', 'after', 'end'] as const;
const TOP_KEYS = ['summary', 'operations', 'reason', 'complete', 'nonce'];

/** How an operation may name its file. */
const PATH_KEYS = ['file_path', ...PATH_NAMES];
/** What models write for a key. */
const OTHER_WORDS: Readonly<Record<string, string>> = {
  content: 'text code newcontent replacement',
  line: 'linenumber',
  start_line: 'start',
  end_line: 'end',
  at: 'symbol',
  operations: 'edits changes',
};
/** The key, of those that are missing, that a wrong one means, as a part of a sentence. */
const meant = (key: string, item: Fields, allowed: readonly string[]): string => {
  const plain = key.toLowerCase().replace(/[_-]/g, '');
  const means = (name: string): boolean =>
    name.replace('_', '') === plain || (OTHER_WORDS[name] ?? '').split(' ').includes(plain);
  const right = allowed.find((name) => !(name in item) && means(name));
  return right === undefined ? '' : `, write \`${right}\``;
};

type Fields = Readonly<Record<string, Json>>;
const isGiven = (item: Fields, key: string): boolean => (item[key] ?? null) !== null;
/** A fault on its way to its operation's reason. */
class Fault extends Error {
  readonly code: string;
  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }
}

export const readOperations = (parts: readonly Json[], only: string | null): OperationsRead => {
  const failed = (fault: Reading, found: readonly Json[] = []): OperationsRead => {
    return { items: found, operations: [], summary: null, fault };
  };
  const items: Json[] = [];
  let summary: string | null = null;
  for (const part of parts) {
    if (!isJsonObject(part))
      return failed(invalid('not_an_object', 'The answer is not a JSON object.'));
    if (part.operations === undefined && part.type !== undefined) {
      items.push(part);
      continue;
    }
    const unknown = Object.keys(part).find((key) => !TOP_KEYS.includes(key));
    if (unknown !== undefined) {
      const message = `The object has the unknown key ${JSON.stringify(unknown)}${meant(unknown, part, TOP_KEYS)}; known are ${TOP_KEYS.join(', ')}.`;
      return failed(invalid('unknown_key', message));
    }
    if (!Array.isArray(part.operations))
      return failed(invalid('no_operations', 'The object has no array `operations`.'));
    const { summary: said = null } = part;
    if (said !== null && typeof said !== 'string')
      return failed(invalid('wrong_type', '`summary` must be a string.'));
    summary ??= said;
    for (const operation of part.operations as readonly Json[]) items.push(operation);
  }
  if (items.length > BOUNDS.maxAnswer_edits) return failed(withReasons([tooManyEdits()]));

  const operations: Operation[] = [];
  const reasons: Reason[] = [];
  for (const [index, item] of items.entries()) {
    try {
      operations.push(readOperation(item, index, only));
    } catch (error) {
      if (!(error instanceof Fault)) throw error;
      const path = isJsonObject(item)
        ? PATH_KEYS.map((key) => item[key]).find((at) => typeof at === 'string')
        : undefined;
      reasons.push({
        code: error.code,
        ...(path === undefined ? {} : { path }),
        index,
        message: error.message,
      });
    }
  }
  return reasons.length > 0
    ? failed(withReasons(reasons), items)
    : { items, operations, summary, fault: null };
};
const withReasons = (reasons: readonly Reason[]): Reading => ({
  kind: 'invalid',
  open: false,
  reasons,
});

const readOperation = (item: Json, index: number, only: string | null): Operation => {
  if (!isJsonObject(item)) throw new Fault('wrong_type', 'The operation is not an object.');
  const { type } = item;
  if (typeof type !== 'string' || !Object.hasOwn(KEYS, type))
    throw new Fault(
      'unknown_operation',
      `The operation's \`type\` is ${JSON.stringify(type ?? null)}; it must be one of ${Object.keys(KEYS).join(', ')}.`,
    );
  const kind = type as Operation['type'];
  const bySymbol = isGiven(item, 'at');
  const allowed = bySymbol
    ? SYMBOL_KEYS[kind]
    : ((isGiven(item, 'line') ? LINE_KEYS[kind] : null) ?? KEYS[kind]);
  if (allowed === undefined)
    throw new Fault(
      'unknown_key',
      `A place by symbol (\`at\`) is for insert, replace and delete; ${kind} has its own place.`,
    );
  const unknown = Object.keys(item).find(
    (key) => !allowed.includes(key) && !PATH_KEYS.includes(key) && item[key] !== null,
  );
  if (unknown !== undefined)
    throw new Fault(
      'unknown_key',
      `A ${kind} operation ${bySymbol ? 'with `at` ' : allowed === LINE_KEYS[kind] ? 'with `line` ' : ''}has no key ${JSON.stringify(unknown)}${meant(unknown, item, allowed)}; it has ${allowed.join(', ')}.`,
    );
  const [pathKey = 'file_path', other] = PATH_KEYS.filter((key) => isGiven(item, key));
  if (other !== undefined)
    throw new Fault(
      'unknown_key',
      `The ${kind} operation names its file by \`${pathKey}\` and by \`${other}\`; give \`file_path\` alone.`,
    );
  const path = text(item, pathKey) ?? only;
  if (path === null || path === '')
    throw new Fault('missing_key', `The ${kind} operation needs \`file_path\`.`);
  const before = context(item, 'context_before');
  const after = context(item, 'context_after');
  const symbol = bySymbol ? symbolPoint(item.at ?? null, kind) : null;
  const lines = bySymbol ? null : linesOf(item, kind);
  return { index, path, before, after, type: kind, lines, symbol, content: content(item, kind) };
};

const linesOf = (item: Fields, kind: Operation['type']): Operation['lines'] => {
  if (kind === 'append' || kind === 'prepend') return null;
  const [first, last] =
    kind === 'insert' || isGiven(item, 'line') ? ['line', 'line'] : ['start_line', 'end_line'];
  const [start, end] = [quotedLine(item, first), quotedLine(item, last)];
  if (start.line > end.line)
    throw new Fault(
      'wrong_range',
      `\`start_line\` ${start.line} is after \`end_line\` ${end.line}.`,
    );
  return [start, end];
};

const symbolPoint = (at: Json, kind: Operation['type']): SymbolPoint => {
  if (!isJsonObject(at))
    throw new Fault('wrong_type', '`at` must be an object, like {"symbol": "Class.method"}.');
  const unknown = keyBeside(at, ['symbol', 'position', 'line']);
  if (unknown !== undefined)
    throw new Fault(
      'unknown_key',
      `\`at\` has the unknown key ${unknown}; known are symbol, position, line.`,
    );
  const name = text(at, 'symbol')?.trim() ?? '';
  if (name === '') throw new Fault('missing_key', '`at` needs `symbol`, the name of a definition.');
  const said = text(at, 'position');
  const position = POSITIONS.find((word) => word === said) ?? null;
  if (kind === 'insert' ? position === null : said !== null)
    throw new Fault(
      'wrong_position',
      kind === 'insert'
        ? `The insert at a symbol needs \`position\`, one of ${POSITIONS.join(', ')}; it is ${JSON.stringify(said)}.`
        : `\`position\` is for inserts; a ${kind} means the whole definition.`,
    );
  return { name, position, line: isGiven(at, 'line') ? quotedLine(at, 'line') : null };
};

const text = (item: Fields, key: string): string | null => {
  const value = item[key] ?? null;
  if (value !== null && typeof value !== 'string')
    throw new Fault('wrong_type', `\`${key}\` must be a string.`);
  return value;
};

/** Adjacent lines; an empty string quotes nothing. */
const context = (item: Fields, key: string): readonly string[] =>
  answerLines(text(item, key) ?? '');

const content = (item: Fields, kind: Operation['type']): readonly string[] => {
  if (kind === 'delete') return [];
  const value = text(item, 'content');
  if (value === null) throw new Fault('missing_key', `The ${kind} operation needs \`content\`.`);
  if (value === '' && kind !== 'replace')
    throw new Fault(
      'empty_content',
      `The \`content\` of ${kind} is empty; \`"\\n"\` is one empty line.`,
    );
  return answerLines(value);
};

/** `1200`, `"1200"` or `"1200kef"` as the listing shows it. */
const quotedLine = (item: Fields, key: string): QuotedLine => {
  const value = item[key] ?? null;
  if (value === null) throw new Fault('missing_key', `The operation needs \`${key}\`.`);
  const quoted = typeof value === 'string' || typeof value === 'number' ? String(value).trim() : '';
  const match = /^(\d{1,9})([a-z]{3})?\|?$/.exec(quoted);
  if (match?.[1] === undefined)
    throw new Fault(
      'wrong_type',
      `\`${key}\` must be a line as the listing shows it, like "1200kef"; it is ${JSON.stringify(value)}.`,
    );
  const line = Number(match[1]);
  if (line < 1) throw new Fault('out_of_range', `\`${key}\` is 0; lines count from 1.`);
  return { line, check: match[2] ?? null };
};
