/** Holds what a command printed with `--json` against docs/reference/json.schema.json. */
import { readFileSync } from 'node:fs';
import { z } from 'zod';

interface Schemas {
  readonly properties: Readonly<Record<string, object>>;
  readonly $defs: Readonly<Record<string, object>>;
}
const schemas = JSON.parse(readFileSync('docs/reference/json.schema.json', 'utf8')) as Schemas;

/** A value of a kind as docs/reference/archive.json says them: of text, 3, true and lists of one. */
const valueOf = (kind: unknown): unknown => {
  if (Array.isArray(kind)) return valueOf(kind[0]);
  if (typeof kind === 'string')
    return { string: `sha256:${'0'.repeat(64)}`, number: 3, boolean: true }[kind] ?? null;
  const fields = Object.entries(kind as object);
  if (fields[0]?.[0] === '[]') return [valueOf(fields[0][1])];
  return Object.fromEntries(fields.map(([name, each]) => [name.replace('?', ''), valueOf(each)]));
};
/** Data of each kind of an archive's entries, and of each type of event. */
export const archived = (): readonly { readonly kind: string; readonly data: unknown }[] => {
  const kinds = JSON.parse(readFileSync('docs/reference/archive.json', 'utf8')) as Record<
    string,
    object
  >;
  const { event, record: _ofHomes, ...parts } = kinds;
  return [
    ...Object.entries(parts).map(([kind, each]) => ({ kind, data: valueOf(each) })),
    ...Object.entries(event ?? {}).map(([type, each]) => ({
      kind: 'event',
      data: { ...(valueOf(each) as object), type },
    })),
  ];
};
/** The value with one of its parts, at any depth, left out or of another type. */
export function* damaged(value: unknown): Generator {
  for (const wrong of [null, 7, 'x', {}, [7]])
    if (JSON.stringify(wrong) !== JSON.stringify(value)) yield wrong;
  if (typeof value !== 'object' || value === null) return;
  for (const [name, part] of Object.entries(value))
    for (const wrong of [undefined, ...damaged(part)])
      yield Array.isArray(value)
        ? value.map((each: unknown, n) => (n === Number(name) ? wrong : each))
        : { ...value, [name]: wrong };
}
export const COMMANDS = Object.keys(schemas.properties);

/** Commands that print what another one prints. */
const ALIKE: Readonly<Record<string, string>> = {
  ...Object.fromEntries(
    ['approve', 'skip', 'retry', 'revise', 'abort'].map((name) => [name, 'decide']),
  ),
  ...Object.fromEntries(['plan score', 'plan show'].map((name) => [name, 'plan check'])),
  ...Object.fromEntries(
    ['plan resume', 'plan stop', 'plan drift', 'plan revise'].map((name) => [name, 'plan pause']),
  ),
  'plan collapse': 'plan expand',
};
const IN_LINES = ['events', 'watch'];

const commandOf = (args: readonly string[]): string => {
  const [first = '', second = ''] = args;
  if (first === 'recover' && (args.includes('--undo') || args.includes('--keep')))
    return 'recover --undo';
  if (first === 'doctor' && args.includes('--model')) return 'doctor --model';
  const name = first === 'plan' ? `plan ${second}` : first;
  return ALIKE[name] ?? name;
};

const kept = new Map<string, z.ZodType>();
const readerOf = (command: string): z.ZodType => {
  const found = kept.get(command);
  if (found !== undefined) return found;
  const schema = schemas.properties[command];
  if (schema === undefined) throw new Error(`docs/reference/json.schema.json has no ${command}`);
  const made = z.fromJSONSchema({ ...schema, $defs: schemas.$defs } as Parameters<
    typeof z.fromJSONSchema
  >[0]);
  kept.set(command, made);
  return made;
};

export const faultsOf = (command: string, value: unknown): readonly string[] => {
  const read = readerOf(command).safeParse(value);
  return read.success ? [] : [`${command}: ${z.prettifyError(read.error)}`];
};

/** `out`: of `emend ...args`; one document, or one a line. An error has a schema of its own. Empty: all is as documented. */
export const printedFaults = (args: readonly string[], out: string): readonly string[] => {
  const command = commandOf(args);
  // Events while it waits, and the end as its last line.
  const waits = args.includes('--wait');
  const texts =
    IN_LINES.includes(command) || waits ? out.trim().split('\n').filter(Boolean) : [out];
  return texts.flatMap((text, i) => {
    const value: unknown = JSON.parse(text);
    const isError = typeof value === 'object' && value !== null && 'error' in value;
    const of = waits && i < texts.length - 1 ? 'run --wait' : command;
    return faultsOf(isError ? 'error' : of, value);
  });
};
