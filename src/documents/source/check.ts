/** Checks a YAML map key by key and collects EVERY problem, each naming file, line, key, what was expected and what was received. */
import type { z } from 'zod';
import { problem, type Problem } from '../../shared/problems.js';
import { cut, inPlaceOf, isRecord, likelyWords } from '../../shared/text.js';
import { readYaml } from './yaml.js';

const JOB_VALUE_CHARS = 60; // bound: A value of a job file or `emend.yaml` in a message.

// Says values and near misses in words, for messages about job files and `emend.yaml`.

/** A received YAML value in a few words: `"edti"`, `3`, `a list of 2`, `a map`, `nothing`. */
export function described(value: unknown): string {
  if (value === null || value === undefined) return 'nothing';
  if (typeof value === 'string') return cut(JSON.stringify(value), JOB_VALUE_CHARS);
  if (Array.isArray(value))
    return value.length === 0 ? 'an empty list' : `a list of ${value.length}`;
  if (typeof value === 'object') return 'a map';
  return cut(typeof value === 'number' ? String(value) : JSON.stringify(value), JOB_VALUE_CHARS);
}

export const MARKDOWN = /\.(md|markdown)$/i;
export const isMarkdownPath = (path: string): boolean => MARKDOWN.test(path);
/** Where a job has a fault: `path:line`; of a job without a file its name alone, as nobody wrote its lines. */
export const lineIn = (path: string, line: number): string =>
  isMarkdownPath(path) ? `${path}:${line}` : path;

/** Where problems are collected; `at` gives the line of a key. */
export interface Findings {
  readonly problems: Problem[];
  add(path: readonly PropertyKey[], expected: string, received: unknown): void;
  /** A problem in a sentence of its own, at a key or at line 1. */
  say(path: readonly PropertyKey[], sentence: string, next?: string): void;
}

type Code = 'job_invalid' | 'config_invalid';

const keyName = (path: readonly PropertyKey[]): string => path.map(String).join('.');

function findings(
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
        problem(code, `${where(path)}expected ${expected}, received ${described(received)}`),
      ),
    say: (path, sentence, next) => problems.push(problem(code, `${where(path)}${sentence}`, next)),
  };
}

/** Collects the problems of a value that no line of a file holds: a message begins with the key. */
export const findingsOfValue = (): Findings => {
  const problems: Problem[] = [];
  const named = (path: readonly PropertyKey[]): string =>
    path.length === 0 ? '' : `\`${keyName(path)}\`: `;
  return {
    problems,
    add: (path, expected, received) =>
      problems.push(
        problem(
          'job_invalid',
          `${named(path)}expected ${expected}, received ${described(received)}`,
        ),
      ),
    say: (path, sentence, next) =>
      problems.push(problem('job_invalid', `${named(path)}${sentence}`, next)),
  };
};

type Shape = Readonly<Record<string, z.ZodType>>;
type Parsed<S extends Shape> = { readonly [K in keyof S]?: z.output<S[K]> };

/**
 * Every key of `map` by its schema. What does not fit is reported and left out, so that rules between keys can still be checked on the
 * rest. A key with nothing behind it (`format:`) is reported too: it reads as a forgotten value.
 */
export function checkKeys<S extends Shape>(
  map: Readonly<Record<string, unknown>>,
  shape: S,
  found: Findings,
): Parsed<S> {
  const parsed: Record<string, unknown> = {};
  const unknown = Object.keys(map).filter((key) => !Object.hasOwn(shape, key));
  const faults = unknownKeys(unknown, Object.keys(shape));
  for (const [key, value] of Object.entries(map)) {
    const schema = Object.hasOwn(shape, key) ? shape[key] : undefined;
    if (schema === undefined) {
      found.say([key], faults.get(key) ?? 'unknown key');
      continue;
    }
    const result = schema.safeParse(value === null ? undefined : value);
    if (result.success && value !== null) parsed[key] = result.data;
    else if (result.success) found.add([key], 'a value (or omit the key)', value);
    else
      for (const issue of result.error.issues) {
        const path = [key, ...issue.path];
        if (issue.code !== 'unrecognized_keys')
          found.add(path, issue.message, at(value, issue.path));
        else
          for (const [name, fault] of unknownKeys(issue.keys, issue.message.split(', ')))
            found.say([...path, name], fault);
      }
  }
  return parsed as Parsed<S>;
}

interface MapPlace {
  readonly file: string;
  readonly code: Code;
  /** Lines of the file above the YAML. */
  readonly lineOffset?: number;
  /** What the YAML should be. */
  readonly what?: string;
}
/** A YAML map by the schemas of its keys; `map`: as written, null: it is none. Of bad YAML its syntax errors are all that is told. */
export function readMap<S extends Shape>(source: string, shape: S, place: MapPlace) {
  const { file, code, lineOffset = 0, what = 'a map of keys' } = place;
  const yaml = readYaml(source.replace(/^\uFEFF/, ''), lineOffset);
  if (!yaml.ok) {
    const at = yaml.faults.map(
      ({ line, column, message }) => `${file}:${line}:${column}: bad YAML: ${message}`,
    );
    return { ok: false as const, problems: at.map((message) => problem(code, message)) };
  }
  const found = findings(file, code, yaml.lineOf);
  const value = yaml.value ?? {};
  const map = isRecord(value) ? value : null;
  if (map === null) found.add([], what, value);
  return {
    ok: true as const,
    said: checkKeys(map ?? {}, shape, found),
    map,
    found,
    lineOf: yaml.lineOf,
  };
}

/** Says of each unknown key of a map what may be meant. All known keys are listed once: at the last key that resembles none of them. */
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

function at(value: unknown, path: readonly PropertyKey[]): unknown {
  let node = value;
  for (const step of path)
    node =
      typeof node === 'object' && node !== null
        ? (node as Record<PropertyKey, unknown>)[step]
        : undefined;
  return node;
}
