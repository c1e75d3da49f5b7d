/** Cells of the ledger as people read them, the same in the terminal, on the page and in reports. Pure. */
import type { LedgerRow } from './protocol.js';
import { count } from './text.js';

/** How large a file of the ledger is, for people. */
export const sizeText = ({ isNew, deletes, lines }: Pick<LedgerRow, 'isNew' | 'deletes' | 'lines'>): string => {
  if (deletes === true) return 'goes';
  return isNew ? 'new' : count(lines, 'line');
};

/** In which format a file is asked for; a file that goes is asked for in none. */
export const formatText = ({ deletes, format }: Pick<LedgerRow, 'deletes' | 'format'>): string =>
  deletes === true ? '' : format;
