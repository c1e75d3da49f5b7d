/** Reads YAML with positions: the value and the line of each key, or every syntax error with its line and column. */
import {
  Lexer,
  LineCounter,
  Parser,
  isMap,
  isScalar,
  isSeq,
  parseDocument,
  type Document,
  type ErrorCode,
} from 'yaml';

const YAML_CHARS = 256 * 1024; // bound: Characters of one YAML.

const KEYS = 2_000; // bound: Keys of one YAML, counted by its colons. The parser compares each key with all others.

// bound: Maps and lists within each other in one YAML. The parser recurses, and V8 ends the process if it compiles a regular expression on a full stack.
const NESTING = 50;

const FAULTS = 20; // bound: Faults of one YAML that are reported.

/** Messages that replace those of the parser, if its own are written for the programmer who calls it. */
const WORDS: Readonly<Partial<Record<ErrorCode, string>>> = {
  BLOCK_AS_IMPLICIT_KEY: 'a second `: ` in a line; if it is part of the value, put it in quotes',
  MULTIPLE_DOCS: 'expected one document, received another one below `---`',
};

interface YamlFault {
  readonly line: number;
  readonly column: number;
  readonly message: string;
}

type YamlRead =
  | {
      readonly ok: true;
      readonly value: unknown;
      readonly lineOf: (path: readonly PropertyKey[]) => number;
    }
  | { readonly ok: false; readonly faults: readonly YamlFault[] };

/** Reads one YAML document. `lineOffset` is the number of lines of the file above it. The value of an empty document is null. */
export function readYaml(source: string, lineOffset: number): YamlRead {
  const lineCounter = new LineCounter();
  const positionOf = (offset: number): { line: number; column: number } => {
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
  const deepOffset = tooDeepAt(source);
  if (deepOffset !== null)
    return {
      ok: false,
      faults: [
        {
          line: lineOfOffset(source, deepOffset) + lineOffset,
          column: 1,
          message: `expected at most ${NESTING} maps and lists within each other`,
        },
      ],
    };
  try {
    const document = parseDocument(source, { lineCounter, prettyErrors: false });
    const first = [...document.errors, ...document.warnings].slice(0, FAULTS);
    const faults = first.map(({ pos, code, message }) => ({
      ...positionOf(pos[0]),
      message: WORDS[code] ?? message,
    }));
    if (faults.length > 0) return { ok: false, faults };
    const value: unknown = document.toJS();
    return { ok: true, value, lineOf: (path) => positionOf(offsetOf(document, path)).line };
  } catch (error) {
    // `yaml` throws for an alias without an anchor, for too many aliases, and if the nesting exhausts the stack.
    return { ok: false, faults: [{ ...top, message: messageOf(error) }] };
  }
}

function messageOf(error: unknown): string {
  if (error instanceof RangeError) return 'nested too deeply';
  return error instanceof Error ? error.message : String(error);
}

/** Returns the first offset at which maps and lists are nested too deeply. Returns null if there is none. */
function tooDeepAt(source: string): number | null {
  const parser = new Parser();
  for (const lexeme of new Lexer().lex(source)) {
    // The generator has to be drained before the stack is complete. Its documents are not needed here.
    for (const _ of parser.next(lexeme));
    // Each open map and list is one token on the stack, and the document is the first token.
    if (parser.stack.length > NESTING + 1) return parser.offset;
  }
  return null;
}

const lineOfOffset = (source: string, offset: number): number =>
  source.slice(0, offset).split('\n').length;

/** Returns the offset of the key or list item at `path`. If the document has no such node, it is the offset of the nearest parent. */
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
