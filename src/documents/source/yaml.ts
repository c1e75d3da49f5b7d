/** YAML with positions: a value, or every syntax error with its line and column; and for each key the line it stands on. */
import {
  isMap,
  isScalar,
  isSeq,
  Lexer,
  LineCounter,
  parseDocument,
  Parser,
  type Document,
  type ErrorCode,
} from 'yaml';

const YAML_CHARS = 256 * 1024; // bound: Characters of one YAML.
const KEYS = 2_000; // bound: Keys that one YAML may have, by its colons: its parser compares each key with each.

// bound: Maps and lists within each other in one YAML. The parser recurses, and V8 ends the process if it compiles a regular expression on a full stack.
const NESTING = 50;

const FAULTS = 20; // bound: Faults of one YAML that are reported.

/** Where the parser's own words speak to who programs with it. */
const WORDS: Readonly<Partial<Record<ErrorCode, string>>> = {
  BLOCK_AS_IMPLICIT_KEY: 'a second `: ` in a line; if it is part of the value, put it in quotes',
  MULTIPLE_DOCS: 'expected one document, received another one below `---`',
};

export interface YamlFault {
  readonly line: number;
  readonly column: number;
  readonly message: string;
}
export type YamlRead =
  | {
      readonly ok: true;
      readonly value: unknown;
      readonly lineOf: (path: readonly PropertyKey[]) => number;
    }
  | { readonly ok: false; readonly faults: readonly YamlFault[] };

/** `lineOffset`: lines of the file above the YAML. An empty document's value is null. */
export function readYaml(source: string, lineOffset: number): YamlRead {
  const lineCounter = new LineCounter();
  const at = (offset: number): { line: number; column: number } => {
    const { line, col } = lineCounter.linePos(offset);
    return { line: line + lineOffset, column: col };
  };
  const top = { line: lineOffset + 1, column: 1 };
  if (source.length > YAML_CHARS)
    return {
      ok: false,
      faults: [{ ...top, message: `expected at most ${YAML_CHARS} characters` }],
    };
  if (source.split(':').length > KEYS + 1)
    return { ok: false, faults: [{ ...top, message: `expected at most ${KEYS} keys` }] };
  const deep = tooDeepAt(source);
  if (deep !== null)
    return {
      ok: false,
      faults: [
        {
          line: lineOfOffset(source, deep) + lineOffset,
          column: 1,
          message: `expected at most ${NESTING} maps and lists within each other`,
        },
      ],
    };
  try {
    const document = parseDocument(source, { lineCounter, prettyErrors: false });
    const first = [...document.errors, ...document.warnings].slice(0, FAULTS);
    const faults = first.map(({ pos, code, message }) => ({
      ...at(pos[0]),
      message: WORDS[code] ?? message,
    }));
    if (faults.length > 0) return { ok: false, faults };
    const value: unknown = document.toJS();
    return { ok: true, value, lineOf: (path) => at(offsetOf(document, path)).line };
  } catch (error) {
    // `yaml` throws for an alias without its anchor, for too many aliases, and for nesting deeper than the stack.
    const message =
      error instanceof RangeError
        ? 'nested too deeply'
        : error instanceof Error
          ? error.message
          : String(error);
    return { ok: false, faults: [{ ...top, message }] };
  }
}

/** Returns the offset at which maps and lists are nested too deeply; null: nowhere. */
function tooDeepAt(source: string): number | null {
  const parser = new Parser();
  for (const lexeme of new Lexer().lex(source)) {
    // It is a generator, whose documents are not needed here.
    for (const _ of parser.next(lexeme));
    // A map and a list are one token each; a document is the first.
    if (parser.stack.length > NESTING + 1) return parser.offset;
  }
  return null;
}

const lineOfOffset = (source: string, offset: number): number =>
  source.slice(0, offset).split('\n').length;

/** Where the key (or list item) at `path` starts; of its nearest parent where it has no place of its own. */
function offsetOf(document: Document, path: readonly PropertyKey[]): number {
  let node: unknown = document.contents;
  let offset = startOf(node) ?? 0;
  for (const step of path) {
    if (isMap(node)) {
      const pair = node.items.find(
        (item) => isScalar(item.key) && String(item.key.value) === String(step),
      );
      if (pair === undefined) return offset;
      offset = startOf(pair.key) ?? offset;
      node = pair.value;
    } else if (isSeq(node) && typeof step === 'number') {
      node = node.items[step];
      offset = startOf(node) ?? offset;
    } else return offset;
  }
  return offset;
}

function startOf(node: unknown): number | undefined {
  if (typeof node !== 'object' || node === null || !('range' in node) || !Array.isArray(node.range))
    return undefined;
  const start: unknown = node.range[0];
  return typeof start === 'number' ? start : undefined;
}

// Splits a job file into the YAML between `---` lines at its top and the Markdown below, byte for byte.

export type FrontMatter =
  /** `yaml` null: no front matter. `bodyLine`: 1-based line where the Markdown starts. */
  | {
      readonly ok: true;
      readonly yaml: string | null;
      readonly body: string;
      readonly bodyLine: number;
    }
  | { readonly ok: false; readonly line: number; readonly message: string };

const FENCE = /^---[ \t]*$/;
const CLOSE = /^(---|\.\.\.)[ \t]*$/;

export function splitFrontMatter(source: string): FrontMatter {
  const text = source.startsWith('\uFEFF') ? source.slice(1) : source;
  const lines = text.split(/(?<=\n|\r(?!\n))/);
  const plain = (line = ''): string => line.replace(/[\r\n]+$/, '');
  const none = { ok: true, yaml: null, body: text, bodyLine: 1 } as const;
  const first = lines.findIndex((line) => line.trim() !== '');
  if (!FENCE.test(plain(lines[first]))) return none;
  const close = lines.findIndex((line, index) => index > first && CLOSE.test(plain(line)));
  const inner = lines.slice(first + 1, Math.max(close, 0)).map(plain);
  const fault = (message: string) => ({ ok: false as const, line: first + 1, message });
  if (first > 0 && !inner.some((line) => /^[\w-]+[ \t]*:/.test(line))) return none;
  if (first > 0)
    return fault(
      'expected front matter to start on line 1, received blank lines above it; remove them',
    );
  if (close === -1)
    return fault(
      'the front matter opened by `---` is never closed; expected a second `---` line, received the end of the file',
    );
  return {
    ok: true,
    yaml: inner.join('\n'),
    body: lines.slice(close + 1).join(''),
    bodyLine: close + 2,
  };
}

/** The first ATX heading outside code fences, without marks; null: none. */
export function firstHeading(markdown: string): string | null {
  let fence: string | null = null;
  for (const line of markdown.split(/\r\n|\n|\r/)) {
    const mark = /^ {0,3}(`{3,}|~{3,})/.exec(line)?.[1];
    if (fence !== null) {
      if (mark?.startsWith(fence) && line.trim() === mark) fence = null;
      continue;
    }
    if (mark !== undefined) fence = mark;
    const written = /^ {0,3}#{1,6}[ \t](.*)$/.exec(line)?.[1] ?? '';
    const heading = written.replace(/(?<!#)#+\s*$/, '').trim();
    if (heading !== '') return heading;
  }
  return null;
}
