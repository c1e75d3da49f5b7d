/** Transactions that stand open in a home, as they are: nothing is settled, swept or made. For whoever only looks at files. */
import { join } from 'node:path';
import { isStepKey, type StepKey } from '../shared/refs.js';
import { isAlive } from './apply-process.js';
import { isOpen, recordsOf } from './apply-record.js';
import { orNull } from './sys-put.js';
import type { Sys } from './sys.js';

export interface OpenChange {
  readonly stepKey: StepKey;
  /** Absolute real paths of the files that it is about. */
  readonly files: readonly string[];
  /** A live process is at work on it. */
  readonly live: boolean;
}

/** `transactions`: the home's directory of that name; none there, none open. */
export const openChanges = async (sys: Sys, transactions: string): Promise<readonly OpenChange[]> => {
  const found: OpenChange[] = [];
  for (const stepKey of ((await orNull(sys.readdir(transactions))) ?? []).filter(isStepKey))
    for (const record of await recordsOf(sys, transactions, stepKey, ['ENOENT', 'ENOTDIR'])) {
      if (await record.isSettled()) continue;
      const state = await record.load();
      if (state.plan === null || !isOpen(state)) continue;
      const { workspace, files } = state.plan;
      const works = await Promise.all([state.plan, ...state.drivers].map(({ process }) => isAlive(sys, process)));
      found.push({
        stepKey,
        files: files.map(({ real }) => join(workspace, real)),
        live: works.includes(true),
      });
    }
  return found;
};
