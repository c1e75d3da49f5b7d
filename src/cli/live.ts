/** `--live`: the words of running model calls, line by line, each with its file, since several calls may be under way. */
import { followCalls, type CallNews, type RunningCall } from '../model/journal/calls.js';
import type { StepKey } from '../shared/ids.js';
import type { CallLog } from '../stores/ports.js';
import { plain, line } from './render/text.js';
import type { LedgerRow, StepStatus } from '../shared/run.js';
import type { Io } from './io.js';

const LIVE_PIECE_CHARS = 200; // bound: A line that does not end (JSON often has none) is shown in pieces of this length.
const PROGRESS_ROWS = 12; // bound: Files in the live view of a run.

/** Prints until it is stopped; `stop` resolves when what is on disk by then is printed. A journal that cannot be read is told, once. */
export const showLiveText = (
  calls: CallLog,
  stepKey: StepKey,
  print: (lines: readonly string[]) => void,
): { stop(): Promise<void> } => {
  const stopped = new AbortController();
  const lines = new LiveLines();
  const following = followCalls({
    calls,
    stepKey,
    signal: stopped.signal,
    onNews: (news) => {
      const whole = lines.take(news);
      if (whole.length > 0) print(whole);
    },
  }).catch((error: unknown) =>
    print([`--live has ended: ${plain(error instanceof Error ? error.message : String(error))}`]),
  );
  return {
    stop: () => {
      stopped.abort();
      return following;
    },
  };
};

/** Cuts the text of calls into lines to print. */
export class LiveLines {
  readonly #rest = new Map<RunningCall, string>();

  take(news: CallNews): readonly string[] {
    const { call } = news;
    const label = `${call.role} ${plain(call.file === '*' ? 'all files' : call.file)}`;
    const shown = (text: string): string => `${label} | ${plain(text)}`;
    const rest = this.#rest.get(call) ?? '';
    switch (news.kind) {
      case 'begun':
        return [`${label}: attempt ${call.attempt} begins`];
      case 'ended':
        this.#rest.delete(call);
        return [
          ...(rest === '' ? [] : [shown(rest)]),
          `${label}: attempt ${call.attempt} has ended`,
        ];
      case 'text': {
        const pieces = `${rest}${news.text}`.split('\n').flatMap((text) => inPieces(text));
        this.#rest.set(call, pieces.pop() ?? '');
        return pieces.map(shown);
      }
    }
  }
}

const inPieces = (text: string): string[] =>
  text.match(new RegExp(`.{1,${LIVE_PIECE_CHARS}}`, 'gsu')) ?? [''];

// What a run does right now, as a block of lines that is drawn over itself. The text is pure; `LiveBlock` knows the terminal.

const STANDS: Readonly<Record<LedgerRow['status'], readonly [mark: string, words: string]>> = {
  pending: [' ', 'waiting for its turn'],
  in_progress: ['>', 'calling the model'],
  done: ['+', 'answered'],
  failed: ['!', 'failed'],
  skipped: ['-', 'skipped'],
};

export const progressLines = (
  status: StepStatus,
  ledger: readonly LedgerRow[],
  width: number,
): readonly string[] => {
  const rows = ledger
    .slice()
    .sort((a, b) => Number(b.status === 'in_progress') - Number(a.status === 'in_progress'));
  const shown = rows.slice(0, PROGRESS_ROWS).map((row) => {
    const [mark, words] = STANDS[row.status];
    const format = row.status === 'in_progress' ? ` (${row.format})` : '';
    const reason =
      ['failed', 'done'].includes(row.status) && row.reason !== null ? `: ${row.reason}` : '';
    return line(`  ${mark} ${row.path}  ${words}${format}${reason}`, width);
  });
  return [
    line(status.doing, width),
    ...(ledger.length > 1 ? shown : []),
    ...(ledger.length > PROGRESS_ROWS ? [`  and ${ledger.length - PROGRESS_ROWS} more`] : []),
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
