/** What the tests of the locating formats share: contexts, true edits, results. */
import { expand, type LinesPlan } from '../../src/edits/text/changes.js';
import { indexOf, splitLines, type Text } from '../../src/edits/text/lines.js';
import fc from 'fast-check';
import type { Dialect, RangeEdit, RangeHint } from '../../src/edits/edit.js';
import { structuredEdit } from '../../src/edits/dialects/structured-edit/index.js';
import { read } from '../../src/edits/settle.js';
import type { ApplyOptions, FormatContext, Reading } from '../../src/edits/types.js';

const encoder = new TextEncoder();

const offered = (text: string | null): { bytes: Uint8Array | null; text: Text | null } =>
  text === null
    ? { bytes: null, text: null }
    : { bytes: encoder.encode(text), text: splitLines(text) };

export const contextOf = (
  files: Readonly<Record<string, string | null>>,
  options: Partial<ApplyOptions> = {},
  whole?: boolean,
): FormatContext => ({
  files: new Map(Object.entries(files).map(([path, text]) => [path, offered(text)])),
  options: { requireMarker: false, ...options },
  ...(whole === undefined ? {} : { whole }),
});

/** The lines that a plan makes of a base. */
export const linesOf = (plan: LinesPlan, base: string): readonly string[] =>
  'changes' in plan
    ? expand(indexOf(plan.exact?.text ?? splitLines(base)), plan.changes)
    : plan.result.all;

/** A reading in one line per plan, as tables compare it: lines joined with `|`. */
export const summary = (
  reading: Reading,
  files: Readonly<Record<string, string | null>>,
): string => {
  if (reading.kind === 'invalid')
    return `invalid${reading.open ? ' open' : ''}: ${reading.reasons.map((r) => r.code).join(' ')}`;
  if (reading.kind === 'refused') return `refused: ${reading.reasons.map((r) => r.code).join(' ')}`;
  const plans = reading.plans.map((plan) => {
    if (plan.kind === 'delete') return `delete ${plan.path}`;
    if (plan.kind === 'move') return `move ${plan.from} ${plan.path}`;
    const mode = plan.mode === undefined ? '' : ` mode ${plan.mode.toString(8)}`;
    const from = reading.plans.find(
      (other) => other.kind === 'move' && other.path === plan.path,
    ) as { from: string } | undefined;
    const end = plan.finalNewline === undefined ? '' : ` end ${plan.finalNewline}`;
    return `${plan.path}=${linesOf(plan, files[from?.from ?? plan.path] ?? '').join('|')}${mode}${end}`;
  });
  const tolerances = reading.tolerances.map((r) => r.tolerance);
  return [...plans, ...(tolerances.length > 0 ? [`[${tolerances.join(' ')}]`] : [])].join('; ');
};

/** The message of the first reason; fails on a reading without reasons. */
export const whyNot = (reading: Reading): string => {
  if (reading.kind === 'plans') throw new Error('nothing was refused');
  return reading.reasons.map((reason) => reason.message).join('\n');
};

export const readOne = (dialect: Dialect, body: string, context: FormatContext): Reading =>
  read(dialect, body, context).reading;

/** An edit as structured-edit reads it. */
export const rangeEdit = (hint: Partial<RangeHint>, after: readonly string[] = []): RangeEdit => ({
  kind: 'range',
  path: 'f',
  before: null,
  after,
  hint: {
    index: 0,
    responseLine: null,
    section: null,
    rules: structuredEdit.rules,
    type: 'replace',
    contextBefore: [],
    contextAfter: [],
    lines: null,
    symbol: null,
    ...hint,
  },
});

// Few different lines, so that places repeat; some that look like the grammars' own.
const LINES = [
  'a',
  'b',
  'c',
  'd',
  'e',
  '',
  ' ',
  '  a',
  ' a',
  'a ',
  '}',
  '-a',
  '+a',
  '- a',
  '-- a',
  '++ b',
  '--- a/f',
  '+++ b/f',
  '@@ -1,2 +1,2 @@',
  'diff --git a/f b/f',
  '\\ No newline at end of file',
  '```',
  'FILE: f',
  'FIND:',
  'END',
  'a\rb',
  'ä\u2028',
  '\f',
] as const;
const line = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom(...LINES) },
  { weight: 2, arbitrary: fc.nat(60).map((n) => `line ${n}`) },
);
const someLines = (max: number): fc.Arbitrary<string[]> => fc.array(line, { maxLength: max });

export interface TrueEdit {
  readonly before: string;
  readonly after: string;
  readonly base: readonly string[];
  readonly result: readonly string[];
}
const join = (lines: readonly string[], end: string, finalNewline: boolean): string =>
  lines.length === 0 ? '' : lines.join(end) + (finalNewline ? end : '');

/** Random lines, and random changes of them: `[at, how many go, what comes]`, from the end to the start. */
export const trueEdit = fc
  .record({
    base: someLines(40),
    changes: fc.array(fc.tuple(fc.nat(1000), fc.nat(3), someLines(3)), {
      minLength: 1,
      maxLength: 4,
    }),
    end: fc.constantFrom('\n', '\r\n'),
    finals: fc.tuple(fc.boolean(), fc.boolean()),
  })
  .map(({ base, changes, end, finals }): TrueEdit => {
    const result = [...base];
    for (const [at, gone, come] of changes) result.splice(at % (result.length + 1), gone, ...come);
    const before = join(base, end, finals[0]);
    const after = join(result, end, finals[1]);
    // Read back: a last empty line without end is no line, and text without LF may end its lines at CR.
    return { before, after, base: splitLines(before).lines, result: splitLines(after).lines };
  })
  .filter(({ before, after, base, result }) => {
    const readable = (text: string): boolean => text.includes('\n') || !text.includes('\r');
    return (
      base.join('\n') !== result.join('\n') &&
      base.length > 0 &&
      result.length > 0 &&
      readable(before) &&
      readable(after)
    );
  });
