/** The ledger of a run, as far as its events report it. Pure. */
import type { EventOf, StepEvent } from '../../shared/events.js';
import type { LedgerRow } from '../../shared/run.js';

/** Returns the rows in the order in which the files came. `before`: the rows before the first of these events. */
export const ledgerOfEvents = (
  events: readonly StepEvent[],
  before: readonly LedgerRow[] = [],
): readonly LedgerRow[] => {
  const ledger = new EventLedger(before);
  for (const event of events) ledger.add(event);
  return ledger.rows();
};

class EventLedger {
  readonly #rows: Map<string, LedgerRow>;
  /** The reason for which the model picked a file, by its path. */
  readonly #pickReasons = new Map<string, string>();

  constructor(before: readonly LedgerRow[]) {
    this.#rows = new Map(before.map((row) => [row.path, row]));
  }

  rows(): readonly LedgerRow[] {
    return [...this.#rows.values()];
  }

  add(event: StepEvent): void {
    switch (event.type) {
      case 'files_picked':
        for (const { path, why } of event.files) this.#pickReasons.set(path, why);
        break;
      case 'format_chosen':
        this.#addFile(event);
        break;
      case 'edit_chunk_started':
        this.#change(event.file, { status: 'in_progress' }, 1);
        break;
      case 'model_down':
        this.#change(event.file, { status: 'pending' }, -1);
        break;
      case 'edit_split_triggered':
        this.#change('*', { status: 'pending' });
        break;
      case 'edit_chunk_completed': {
        const reason = event.unchanged === undefined ? null : `unchanged: ${event.unchanged}`;
        this.#change(event.file, { status: 'done', reason });
        break;
      }
      case 'edit_chunk_failed':
        this.#change(event.file, { status: 'failed', reason: event.reason });
        break;
      case 'decided':
        for (const path of event.skipped) this.#change(path, { status: 'skipped', reason: null });
        break;
      case 'answer_refused':
        this.#change(event.file, { reason: event.message });
        break;
      default:
        break;
    }
  }

  #addFile({
    file_path: path,
    format,
    bucket,
    line_count,
    deletes,
  }: EventOf<'format_chosen'>): void {
    const pickReason = this.#pickReasons.get(path);
    const row: LedgerRow = {
      path,
      status: deletes === true ? 'done' : 'pending',
      attempts: this.#rows.get(path)?.attempts ?? 0,
      format,
      bucket,
      lines: line_count,
      isNew: false,
      outputBudget_tokens: 0,
      reason: null,
      verdict: null,
    };
    const deletion = deletes === undefined ? row : { ...row, deletes };
    this.#rows.set(path, pickReason === undefined ? deletion : { ...deletion, why: pickReason });
  }

  /** Changes the row of the path. `*`: all rows whose work is not done. */
  #change(path: string, change: Partial<LedgerRow>, attempts = 0): void {
    for (const row of this.#rowsOf(path))
      this.#rows.set(row.path, { ...row, ...change, attempts: row.attempts + attempts });
  }

  #rowsOf(path: string): readonly LedgerRow[] {
    if (path === '*') return this.rows().filter(isOpen);
    const row = this.#rows.get(path);
    return row === undefined ? [] : [row];
  }
}

const isOpen = ({ status }: LedgerRow): boolean => status === 'pending' || status === 'in_progress';
