/**
 * Checks a YAML map key by key. It collects every problem instead of the first, so that a reader fixes a file in one go. Each problem names
 * the file, the line, the key, the expected value and the received value.
 */
import type { z } from 'zod';
import { problem, type Problem } from '../../shared/problems.js';
import { cut, inPlaceOf, isRecord, likelyWords } from '../../shared/text.js';
import { readYaml } from './yaml.js';

const JOB_VALUE_CHARS = 60; // bound: Characters that a message shows of one value of a job file or `emend.yaml`.

/** Returns a received YAML value in a few words: `"edti"`, `3`, `a list of 2`, `a map`, `nothing`. */
export function describeValue(value: unknown): string {
  if (value === null || value === undefined) return 'nothing';
  if (typeof value === 'string') return cut(JSON.stringify(value), JOB_VALUE_CHARS);
  if (Array.isArray(value))
    return value.length === 0 ? 'an empty list' : `a list of ${value.length}`;
  if (typeof value === 'object') return 'a map';
  return cut(typeof value === 'number' ? String(value) : JSON.stringify(value), JOB_VALUE_CHARS);
}

export const MARKDOWN = /\.(md|markdown)$/i;
export const isMarkdownPath = (path: string): boolean => MARKDOWN.test(path);
/**
 * Returns the place of a fault in a job as `path:line`. A job that is in no file is shown by its name alone. Emend wrote the text of such a job,
 * so its line numbers mean nothing to the reader.
 */
export const lineIn = (path: string, line: number): string =>
  isMarkdownPath(path) ? `${path}:${line}` : path;

/** The problems of one document. A path leads to a key or to an item of a list; the empty path is the document. */
export interface Findings {
  readonly problems: Problem[];
  /** Adds "expected …, received …". */
  add(path: readonly PropertyKey[], expected: string, received: unknown): void;
  /** Adds a problem in its own words, for rules that no single value breaks. */
  say(path: readonly PropertyKey[], sentence: string, next?: string): void;
}

type Code = 'job_invalid' | 'config_invalid';

const keyName = (path: readonly PropertyKey[]): string => path.map(String).join('.');

function findingsInFile(
  file: string,
  code: Code,
  lineOf: (path: readonly PropertyKey[]) => number,
): Findings {
  const problems: Problem[] = [];
  const where = (path: readonly PropertyKey[]): string =>
    `${code === 'job_invalid' ? lineIn(file, lineOf(path)) : `${file}:${lineOf(path)}`}: ${path.length === 0 ? '' : `${keyName(path)}: `}`;
  return {
    problems,
    add: (path, expected, received) =>
      problems.push(
        problem(code, `${where(path)}expected ${expected}, received ${describeValue(received)}`),
      ),
    say: (path, sentence, next) => problems.push(problem(code, `${where(path)}${sentence}`, next)),
  };
}

/** Returns an empty collection for a value that does not come from a file. Its messages begin with the key instead of a line. */
export const findingsOfValue = (): Findings => {
  const problems: Problem[] = [];
  const prefixOf = (path: readonly PropertyKey[]): string =>
    path.length === 0 ? '' : `\`${keyName(path)}\`: `;
  return {
    problems,
    add: (path, expected, received) =>
      problems.push(
        problem(
          'job_invalid',
          `${prefixOf(path)}expected ${expected}, received ${describeValue(received)}`,
        ),
      ),
    say: (path, sentence, next) =>
      problems.push(problem('job_invalid', `${prefixOf(path)}${sentence}`, next)),
  };
};

type Shape = Readonly<Record<string, z.ZodType>>;
type Parsed<S extends Shape> = { readonly [K in keyof S]?: z.output<S[K]> };

/**
 * Parses every key of `map` with its schema. A key that does not fit is reported and left out of the result, so that the caller can still
 * check its rules between keys. A key without a value (`format:`) is also reported, because its author probably forgot the value.
 */
export function checkKeys<S extends Shape>(
  map: Readonly<Record<string, unknown>>,
  shape: S,
  findings: Findings,
): Parsed<S> {
  const parsed: Record<string, unknown> = {};
  const unknown = Object.keys(map).filter((key) => !Object.hasOwn(shape, key));
  const faults = unknownKeys(unknown, Object.keys(shape));
  for (const [key, value] of Object.entries(map)) {
    const schema = Object.hasOwn(shape, key) ? shape[key] : undefined;
    if (schema === undefined) {
      findings.say([key], faults.get(key) ?? 'unknown key');
      continue;
    }
    const result = schema.safeParse(value === null ? undefined : value);
    if (result.success && value !== null) parsed[key] = result.data;
    else if (result.success) findings.add([key], 'a value (or omit the key)', value);
    else
      for (const issue of result.error.issues) {
        const path = [key, ...issue.path];
        if (issue.code !== 'unrecognized_keys')
          findings.add(path, issue.message, valueAt(value, issue.path));
        else
          for (const [name, fault] of unknownKeys(issue.keys, issue.message.split(', ')))
            findings.say([...path, name], fault);
      }
  }
  return parsed as Parsed<S>;
}

interface MapPlace {
  readonly file: string;
  readonly code: Code;
  /** Number of lines of the file above the YAML. */
  readonly lineOffset?: number;
  /** The expected document in words, for a document that is not a map. */
  readonly what?: string;
}
/**
 * Reads a YAML map and checks its keys. `map` in the result is the map before the check, or null if the YAML is not a map. If the YAML has
 * syntax errors, only these are reported.
 */
export function readMap<S extends Shape>(source: string, shape: S, place: MapPlace) {
  const { file, code, lineOffset = 0, what = 'a map of keys' } = place;
  const yaml = readYaml(source.replace(/^\uFEFF/, ''), lineOffset);
  if (!yaml.ok) {
    const messages = yaml.faults.map(
      ({ line, column, message }) => `${file}:${line}:${column}: bad YAML: ${message}`,
    );
    return { ok: false as const, problems: messages.map((message) => problem(code, message)) };
  }
  const findings = findingsInFile(file, code, yaml.lineOf);
  const value = yaml.value ?? {};
  const map = isRecord(value) ? value : null;
  if (map === null) findings.add([], what, value);
  return {
    ok: true as const,
    keys: checkKeys(map ?? {}, shape, findings),
    map,
    findings,
    lineOf: yaml.lineOf,
  };
}

/**
 * Returns a sentence for each unknown key of a map, with the known key that its author probably meant. The list of all known keys is long, so
 * only the last key that resembles none of them shows it.
 */
function unknownKeys(
  keys: readonly string[],
  known: readonly string[],
): ReadonlyMap<string, string> {
  const last = keys.findLast((key) => likelyWords(key, known) === null);
  return new Map(
    keys.map((key) => {
      const instead = key === last ? inPlaceOf(key, known) : likelyWords(key, known);
      return [key, instead === null ? 'unknown key' : `unknown key; ${instead}`];
    }),
  );
}

function valueAt(value: unknown, path: readonly PropertyKey[]): unknown {
  let node = value;
  for (const step of path)
    node =
      typeof node === 'object' && node !== null
        ? (node as Record<PropertyKey, unknown>)[step]
        : undefined;
  return node;
}
