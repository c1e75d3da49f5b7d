/** Reads the JSON of a structured edit into operations, each checked for its keys and types; a fault names the operation's index. */
import { BOUNDS } from '../../../shared/limits.js';
import { tooManyEdits } from '../../answer-size.js';
import { type Json, isJsonObject, keyBeside, PATH_NAMES } from '../../text/json.js';
import { answerLines } from '../../text/codec.js';
import type {
  DialectRules,
  Hint,
  QuotedLine,
  RangeEdit,
  RangeHint,
  SymbolPoint,
} from '../../edit.js';
import { invalid, type JsonAnswer } from '../reader.js';
import type { Reading, Reason } from '../../types.js';

export interface OperationsRead {
  /** The operations that the response holds, usable or not. */
  readonly items: readonly Json[];
  readonly edits: readonly RangeEdit[];
  readonly summary: string | null;
  readonly fault: Reading | null;
}

type Kind = RangeHint['type'];

const COMMON_KEYS = ['type', 'file_path', 'context_before', 'context_after'];
const KEYS: Readonly<Record<Kind, readonly string[]>> = {
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
class OperationFault extends Error {
  readonly code: string;
  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }
}

/** Reads the operations of all parts of a response. `only`: the path of the only offered file. */
export const readOperations = (
  response: JsonAnswer,
  only: string | null,
  rules: DialectRules,
): OperationsRead => {
  const failed = (fault: Reading, items: readonly Json[] = []): OperationsRead => {
    return { items, edits: [], summary: null, fault };
  };
  const listed = listOf(response.parts);
  if ('kind' in listed) return failed(listed);
  const { items, summary } = listed;
  if (items.length > BOUNDS.maxAnswer_edits) return failed(withReasons([tooManyEdits()]));

  const edits: RangeEdit[] = [];
  const reasons: Reason[] = [];
  for (const [index, item] of items.entries()) {
    const hint = { index, responseLine: response.lineOf(item), section: null, rules };
    const edit = editOrReason(item, hint, only);
    if ('code' in edit) reasons.push(edit);
    else edits.push(edit);
  }
  return reasons.length > 0
    ? failed(withReasons(reasons), items)
    : { items, edits, summary, fault: null };
};

/** Returns the operations of all parts in one list, with the first summary. */
const listOf = (
  parts: readonly Json[],
): { readonly items: readonly Json[]; readonly summary: string | null } | Reading => {
  const items: Json[] = [];
  let summary: string | null = null;
  for (const part of parts) {
    if (!isJsonObject(part)) return invalid('not_an_object', 'The answer is not a JSON object.');
    if (part.operations === undefined && part.type !== undefined) {
      items.push(part);
      continue;
    }
    const unknown = Object.keys(part).find((key) => !TOP_KEYS.includes(key));
    if (unknown !== undefined) {
      const message = `The object has the unknown key ${JSON.stringify(unknown)}${meant(unknown, part, TOP_KEYS)}; known are ${TOP_KEYS.join(', ')}.`;
      return invalid('unknown_key', message);
    }
    if (!Array.isArray(part.operations))
      return invalid('no_operations', 'The object has no array `operations`.');
    const { summary: own = null } = part;
    if (own !== null && typeof own !== 'string')
      return invalid('wrong_type', '`summary` must be a string.');
    summary ??= own;
    for (const operation of part.operations as readonly Json[]) items.push(operation);
  }
  return { items, summary };
};

const editOrReason = (item: Json, hint: Hint, only: string | null): RangeEdit | Reason => {
  try {
    return readOperation(item, hint, only);
  } catch (error) {
    if (!(error instanceof OperationFault)) throw error;
    const { code, message } = error;
    const path = isJsonObject(item)
      ? PATH_KEYS.map((key) => item[key]).find((value) => typeof value === 'string')
      : undefined;
    return { code, ...(path === undefined ? {} : { path }), index: hint.index, message };
  }
};

const withReasons = (reasons: readonly Reason[]): Reading => ({
  kind: 'invalid',
  open: false,
  reasons,
});

const readOperation = (item: Json, hint: Hint, only: string | null): RangeEdit => {
  if (!isJsonObject(item))
    throw new OperationFault('wrong_type', 'The operation is not an object.');
  const type = kindOf(item);
  const bySymbol = isGiven(item, 'at');
  checkKeys(item, type, bySymbol);
  const path = pathOf(item, type, only);
  const contextBefore = context(item, 'context_before');
  const contextAfter = context(item, 'context_after');
  const symbol = bySymbol ? symbolPoint(item.at ?? null, type) : null;
  const lines = bySymbol ? null : linesOf(item, type);
  const after = content(item, type);
  // Named one by one: there may be tens of thousands of them.
  return {
    kind: 'range',
    path,
    before: null,
    after,
    hint: {
      index: hint.index,
      responseLine: hint.responseLine,
      section: null,
      rules: hint.rules,
      type,
      contextBefore,
      contextAfter,
      lines,
      symbol,
    },
  };
};

const kindOf = ({ type }: Fields): Kind => {
  if (typeof type === 'string' && Object.hasOwn(KEYS, type)) return type as Kind;
  throw new OperationFault(
    'unknown_operation',
    `The operation's \`type\` is ${JSON.stringify(type ?? null)}; it must be one of ${Object.keys(KEYS).join(', ')}.`,
  );
};

const checkKeys = (item: Fields, kind: Kind, bySymbol: boolean): void => {
  const byLine = (isGiven(item, 'line') ? LINE_KEYS[kind] : null) ?? null;
  const allowed = bySymbol ? SYMBOL_KEYS[kind] : (byLine ?? KEYS[kind]);
  if (allowed === undefined)
    throw new OperationFault(
      'unknown_key',
      `A place by symbol (\`at\`) is for insert, replace and delete; ${kind} has its own place.`,
    );
  const unknown = Object.keys(item).find(
    (key) => !allowed.includes(key) && !PATH_KEYS.includes(key) && item[key] !== null,
  );
  if (unknown === undefined) return;
  const byNumber = byLine === null ? '' : 'with `line` ';
  const form = bySymbol ? 'with `at` ' : byNumber;
  throw new OperationFault(
    'unknown_key',
    `A ${kind} operation ${form}has no key ${JSON.stringify(unknown)}${meant(unknown, item, allowed)}; it has ${allowed.join(', ')}.`,
  );
};

const pathOf = (item: Fields, kind: Kind, only: string | null): string => {
  const [key = 'file_path', other] = PATH_KEYS.filter((name) => isGiven(item, name));
  if (other !== undefined)
    throw new OperationFault(
      'unknown_key',
      `The ${kind} operation names its file by \`${key}\` and by \`${other}\`; give \`file_path\` alone.`,
    );
  const path = text(item, key) ?? only;
  if (path === null || path === '')
    throw new OperationFault('missing_key', `The ${kind} operation needs \`file_path\`.`);
  // Each operation has a string of its own, which would stay as long as its edit.
  return path === only ? only : path;
};

const linesOf = (item: Fields, kind: Kind): RangeHint['lines'] => {
  if (kind === 'append' || kind === 'prepend') return null;
  const [first, last] =
    kind === 'insert' || isGiven(item, 'line') ? ['line', 'line'] : ['start_line', 'end_line'];
  const start = quotedLine(item, first);
  const end = item[first] === item[last] ? start : quotedLine(item, last);
  if (start.line > end.line)
    throw new OperationFault(
      'wrong_range',
      `\`start_line\` ${start.line} is after \`end_line\` ${end.line}.`,
    );
  return [start, end];
};

const symbolPoint = (point: Json, kind: Kind): SymbolPoint => {
  if (!isJsonObject(point))
    throw new OperationFault(
      'wrong_type',
      '`at` must be an object, like {"symbol": "Class.method"}.',
    );
  const unknown = keyBeside(point, ['symbol', 'position', 'line']);
  if (unknown !== undefined)
    throw new OperationFault(
      'unknown_key',
      `\`at\` has the unknown key ${unknown}; known are symbol, position, line.`,
    );
  const name = text(point, 'symbol')?.trim() ?? '';
  if (name === '')
    throw new OperationFault('missing_key', '`at` needs `symbol`, the name of a definition.');
  const statedPosition = text(point, 'position');
  const position = POSITIONS.find((word) => word === statedPosition) ?? null;
  if (kind === 'insert' ? position === null : statedPosition !== null)
    throw new OperationFault(
      'wrong_position',
      kind === 'insert'
        ? `The insert at a symbol needs \`position\`, one of ${POSITIONS.join(', ')}; it is ${JSON.stringify(statedPosition)}.`
        : `\`position\` is for inserts; a ${kind} means the whole definition.`,
    );
  return { name, position, line: isGiven(point, 'line') ? quotedLine(point, 'line') : null };
};

const text = (item: Fields, key: string): string | null => {
  const value = item[key] ?? null;
  if (value !== null && typeof value !== 'string')
    throw new OperationFault('wrong_type', `\`${key}\` must be a string.`);
  return value;
};

/** Adjacent lines; an empty string quotes nothing. */
const context = (item: Fields, key: string): readonly string[] => linesIn(text(item, key) ?? '');

const NO_TEXT: readonly string[] = [];
/** Returns the lines of a text. The copy is as long as they are: a list that grew has room for 16 more, in each of ten thousand edits. */
const linesIn = (value: string): readonly string[] =>
  value === '' ? NO_TEXT : answerLines(value).slice();

const content = (item: Fields, kind: Kind): readonly string[] => {
  if (kind === 'delete') return NO_TEXT;
  const value = text(item, 'content');
  if (value === null)
    throw new OperationFault('missing_key', `The ${kind} operation needs \`content\`.`);
  if (value === '' && kind !== 'replace')
    throw new OperationFault(
      'empty_content',
      `The \`content\` of ${kind} is empty; \`"\\n"\` is one empty line.`,
    );
  return linesIn(value);
};

/** `1200`, `"1200"`, or `"1200kef"` as the listing shows it, also `"1200:kef"`. */
const quotedLine = (item: Fields, key: string): QuotedLine => {
  const value = item[key] ?? null;
  if (value === null) throw new OperationFault('missing_key', `The operation needs \`${key}\`.`);
  const quoted = typeof value === 'string' || typeof value === 'number' ? String(value).trim() : '';
  const match = /^(\d{1,9})(?::?\s?([a-z]{3}))?[|:]?$/.exec(quoted);
  if (match?.[1] === undefined)
    throw new OperationFault(
      'wrong_type',
      `\`${key}\` must be a line as the listing shows it, like "1200kef"; it is ${JSON.stringify(value)}.`,
    );
  const line = Number(match[1]);
  if (line < 1) throw new OperationFault('out_of_range', `\`${key}\` is 0; lines count from 1.`);
  return { line, check: match[2] ?? null };
};
