/** What a run does right now, as a block of lines that is drawn over itself. The text is pure; `LiveBlock` knows the terminal. */
import type { LedgerRow, StepStatus } from '../../shared/protocol.js';
import type { Io } from '../io.js';
import { line } from './text.js';
import { SHOWN_BOUNDS } from '../../shared/bounds.js';

const MARK: Record<LedgerRow['status'], string> = {
  pending: ' ',
  in_progress: '>',
  done: '+',
  failed: '!',
  skipped: '-',
};
const WORDS: Record<LedgerRow['status'], string> = {
  pending: 'waiting its turn',
  in_progress: 'asking the model',
  done: 'answered',
  failed: 'failed',
  skipped: 'skipped',
};

export const progressLines = (status: StepStatus, ledger: readonly LedgerRow[], width: number): readonly string[] => {
  const rows = ledger.slice().sort((a, b) => Number(b.status === 'in_progress') - Number(a.status === 'in_progress'));
  const shown = rows.slice(0, SHOWN_BOUNDS.progressRows).map((row) => {
    const format = row.status === 'in_progress' ? ` (${row.format})` : '';
    const reason = row.status === 'failed' && row.reason !== null ? `: ${row.reason}` : '';
    return line(`  ${MARK[row.status]} ${row.path}  ${WORDS[row.status]}${format}${reason}`, width);
  });
  return [
    line(status.doing, width),
    ...(ledger.length > 1 ? shown : []),
    ...(ledger.length > SHOWN_BOUNDS.progressRows ? [`  and ${ledger.length - SHOWN_BOUNDS.progressRows} more`] : []),
  ];
};

/** Lines that stay, and below them a block that the next one replaces. Without a terminal only what stays is printed. */
export class LiveBlock {
  readonly #io: Io;
  #drawn = 0;

  constructor(io: Io) {
    this.#io = io;
  }

  draw(lines: readonly string[]): void {
    this.clear();
    if (!this.#io.outIsTty) return;
    for (const text of lines) this.#io.out(this.#io.colors.dim(text));
    this.#drawn = lines.length;
  }

  /** Takes the block away, so that lines that stay can follow. */
  clear(): void {
    if (this.#drawn > 0) this.#io.write(`\u001b[${this.#drawn}A\u001b[0J`);
    this.#drawn = 0;
  }
}
