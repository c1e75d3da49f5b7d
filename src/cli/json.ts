/** The one way out of what `--json` prints. */
import type { StepEvent } from '../shared/events.js';
import type { StepKey } from '../shared/ids.js';
import { UNSEEN } from '../shared/text.js';
import type { Io, JsonFlag } from './io.js';
import { type JsonCommand, type JsonOutputs, IN_A_LINE } from './json-types.js';

/** What hides, turns or moves something on a terminal is escaped: to whoever reads JSON it is the same. */
export const jsonText = <C extends JsonCommand>(command: C, value: JsonOutputs[C]): string =>
  JSON.stringify(value, null, IN_A_LINE.includes(command) ? undefined : 2).replace(
    HIDDEN,
    (hidden) =>
      hidden.replace(/[^]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`),
  );
const HIDDEN = new RegExp(`[\\x7f-\\x9f${UNSEEN}]`, 'gv');

export const printJson = <C extends JsonCommand>(
  io: Pick<Io, 'out'>,
  command: C,
  value: JsonOutputs[C],
): void => io.out(jsonText(command, value));

/** What a command found: with `--json` as data, else in lines. */
export const printFound = <C extends JsonCommand>(
  { io, flags }: { readonly io: Pick<Io, 'out'>; readonly flags: JsonFlag },
  command: C,
  found: JsonOutputs[C],
  lines: readonly string[],
): void => {
  if (flags.json === true) printJson(io, command, found);
  else for (const text of lines) io.out(text);
};

/** What `--wait --json` prints while a run goes on; undefined: it was not asked for. */
export const eventPrinter = (
  io: Pick<Io, 'out'>,
  { json, wait }: { readonly json?: true; readonly wait?: true },
) =>
  json === true && wait === true
    ? (stepKey: StepKey, event: StepEvent): void => printJson(io, 'run --wait', { stepKey, event })
    : undefined;
