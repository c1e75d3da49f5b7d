/** All calls of a step as its slots tell them: no running workflow, worker or server is needed to say what was asked and paid. */
import { join } from 'node:path';
import { addUsage, NO_USAGE, type StepUsage } from '../shared/usage.js';
import { onDisk, orNull } from '../workspace/sys-put.js';
import type { Sys } from '../workspace/sys.js';
import { SlotFiles, stepDir } from './slot-files.js';
import { readCalls } from './slot.js';
import type { JournaledCall } from './types.js';

/** `dir`: the directory of slots. In the order in which the calls were begun. */
export const callsOfStep = async (sys: Sys, dir: string, stepKey: string): Promise<readonly JournaledCall[]> => {
  const step = stepDir(dir, stepKey);
  const slots = (await onDisk(`Reading the call journal at ${step}`, () => orNull(sys.readdir(step)))) ?? [];
  const found: { readonly at: string; readonly call: JournaledCall }[] = [];
  for (const slot of slots.filter((name) => /^[0-9a-f]{64}$/.test(name))) {
    const files = new SlotFiles(sys, join(step, slot));
    const record = await files.get('slot.json');
    if (record === null) continue;
    for (const c of await readCalls(files, record))
      found.push({ at: c.record.at, call: { slot, key: record.key, call: c.call, state: c.state, usage: c.usage } });
  }
  return found.sort((a, b) => (a.at < b.at ? -1 : a.at > b.at ? 1 : a.call.call - b.call.call)).map(({ call }) => call);
};

/** What the calls of a step that has ended came to: one that nobody ended was cut off. */
export const usageOfEnded = (calls: readonly JournaledCall[]): StepUsage =>
  calls.reduce(
    (sum, { usage, state }) => addUsage(sum, state === 'open' ? { ...usage, unknownCalls: 1 } : usage),
    NO_USAGE,
  );
