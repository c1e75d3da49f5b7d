/**
 * Every reader of a text that others write takes time in proportion to the text. The processor time for 250 KB of a shape is compared with
 * that for twice as much: a machine that is busy slows both down.
 */
import * as fs from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { longOnly } from '../support/skipped.js';
import { READERS, SHAPES, WITHOUT_ROW, type Reader } from './readers.js';

const CHARS = 250_000;
/** An eighth of the text is tried first: what is quadratic would take minutes for the whole. */
const EIGHTH = CHARS / 8;
const MOST_FOR_EIGHTH_MS = 1_500;
const MOST_FOR_WHOLE_MS = 8 * MOST_FOR_EIGHTH_MS;
/** Less is lost in the noise, and holds nobody up. */
const SHORT_MS = 200;
/** Between linear, by which the time for twice the text doubles, and quadratic, by which it grows 4 times. */
const MOST_GROWTH = 2 ** 1.5;
const ATTEMPTS = 4;

async function cpu_ms(read: Reader, text: string): Promise<number> {
  const before = process.cpuUsage();
  await read(text);
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}

/** Returns what is wrong; null: the reader is linear. */
async function excess(read: Reader, shape: (chars: number) => string): Promise<string | null> {
  const eighth_ms = await cpu_ms(read, shape(EIGHTH));
  if (eighth_ms > MOST_FOR_EIGHTH_MS) return `${Math.round(eighth_ms)} ms for ${EIGHTH} characters`;
  const whole = shape(CHARS);
  const whole_ms = await cpu_ms(read, whole);
  if (whole_ms < SHORT_MS) return null;
  if (whole_ms > MOST_FOR_WHOLE_MS) return `${Math.round(whole_ms)} ms for ${CHARS} characters`;
  return growth(read, { whole, whole_ms }, shape(2 * CHARS));
}

/**
 * Compares the whole with its double. The compiler and the collection of garbage can only make a measurement too long, so that the shortest
 * of several is the truest. The whole follows its double, when the code is compiled: a whole that is measured too long would let a quadratic
 * reader pass.
 */
async function growth(
  read: Reader,
  first: { readonly whole: string; readonly whole_ms: number },
  double: string,
): Promise<string | null> {
  let { whole_ms } = first;
  let double_ms = Infinity;
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    double_ms = Math.min(double_ms, await cpu_ms(read, double));
    for (let repeat = 0; repeat < 3; repeat += 1)
      whole_ms = Math.min(whole_ms, await cpu_ms(read, first.whole));
    if (double_ms < whole_ms * MOST_GROWTH) return null;
  }
  return `${Math.round(whole_ms)} ms for ${CHARS} characters, ${Math.round(double_ms)} ms for twice as many`;
}

const excesses = async (reader: string, shapes: readonly string[]): Promise<readonly string[]> => {
  const found: string[] = [];
  for (const shape of shapes) {
    const make = SHAPES[shape];
    const read = READERS[reader];
    if (make === undefined || read === undefined) throw new RangeError(`${reader}, ${shape}`);
    const wrong = await excess(read, make);
    if (wrong !== null) found.push(`${shape}: ${wrong}`);
  }
  return found;
};

const tooLong =
  'every reader with every shape takes minutes; the rows of the report are always tried';
describe('all readers with all shapes', () => {
  longOnly(tooLong).each(Object.keys(READERS))(
    '%s',
    async (reader) => expect(await excesses(reader, Object.keys(SHAPES))).toEqual([]),
    300_000,
  );

  longOnly(tooLong)('a reader that compares its characters with all others is found', async () => {
    const STEP = 14;
    const compares = (text: string): number => {
      let equal = 0;
      for (let i = 0; i < text.length; i += STEP)
        for (let k = 0; k < text.length; k += STEP)
          if (text.charCodeAt(i) === text.charCodeAt(k)) equal += 1;
      return equal;
    };
    const found = await excess(compares, SHAPES.rules ?? String);
    expect(found).toMatch(/^\d+ ms for 250000 characters, \d+ ms for twice as many$/);
  });
});

test('E3: a script of steps upwards, in a package.json of 1 MB', async () => {
  const script = (chars: number): string => SHAPES['paths upwards']?.(chars * 4) ?? '';
  for (const reader of ['namedByScripts, a script', 'namedByScripts, a path'])
    expect(await excess(READERS[reader] ?? String, script)).toBeNull();
});

test('E4: openings of links and nested items in a plan', async () => {
  const shapes = ['openings of links', 'items with a number', 'items in items', 'rules of blanks'];
  expect(await excesses('parsePlan', shapes)).toEqual([]);
});

test('E4: a list 2,000 deep in a plan', async () => {
  const deep = (chars: number): string => `${'- '.repeat(Math.min(2_000, chars / 2))}a\n`;
  expect(await excess(READERS.parsePlan ?? String, deep)).toBeNull();
});

test('E5: steps upwards, openings of links and words with a dot in settings', async () => {
  expect(await excesses('parseConfig, a path', ['paths upwards'])).toEqual([]);
  expect(await excesses('parseConfig, a command', ['paths upwards'])).toEqual([]);
  const shapes = ['paths upwards', 'openings of links', 'words with a dot'];
  expect(await excesses('parseJob, front matter', shapes)).toEqual([]);
});

test('YAML that is nested deeply is refused; it does not end the process', () => {
  for (const shape of ['open brackets', 'flow maps', 'items in items'])
    expect(READERS.readYaml?.(SHAPES[shape]?.(CHARS / 10) ?? '')).toMatchObject({ ok: false });
});

/** An exported function whose first parameter is a text by its name. */
const EXPORTED =
  /^export (?:async )?(?:function (\w+)(?:<[^>]*>)?|const (\w+) =(?: async)? *(?:<[^>]*>)?)\(\s*(?:path: string, )?(?:source|text|markdown|output|notes|manifest|answer|prose|written|message|task|instructions|line|word|target|name): string\b/gm;

const textReaders = (dir: string): readonly string[] =>
  fs
    .readdirSync(dir, { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.ts'))
    .flatMap((path) => [...fs.readFileSync(join(dir, path), 'utf8').matchAll(EXPORTED)])
    .map(([, declared = '', constant = '']) => declared || constant);

test('every exported reader of a text has a row, or a reason for none', () => {
  const exported = ['src/documents', 'src/workspace', 'src/system'].flatMap(textReaders);
  expect(exported.length).toBeGreaterThan(30);
  const rows = new Set(Object.keys(READERS).map((name) => name.split(',')[0]));
  expect(exported.filter((name) => !rows.has(name) && WITHOUT_ROW[name] === undefined)).toEqual([]);
  // A reason that is no longer needed is removed.
  const unneeded = Object.keys(WITHOUT_ROW).filter(
    (name) => rows.has(name) || !exported.includes(name),
  );
  expect(unneeded).toEqual([]);
});
