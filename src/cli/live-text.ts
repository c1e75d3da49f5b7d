/** `--live`: the words of running model calls, line by line, each with its file, since several calls may be under way. */
import { followCalls, type CallNews, type RunningCall } from '../model/running-calls.js';
import type { StepKey } from '../shared/refs.js';
import { storePaths } from '../workspace/store.js';
import { plain } from './render/text.js';
import { SHOWN_BOUNDS } from '../shared/bounds.js';

/** Prints until it is stopped; `stop` resolves when what is on disk by then is printed. A journal that cannot be read is told, once. */
export const showLiveText = (
  store: string,
  stepKey: StepKey,
  print: (lines: readonly string[]) => void,
): { stop(): Promise<void> } => {
  const stopped = new AbortController();
  const lines = new LiveLines();
  const following = followCalls({
    slots: storePaths(store).slots,
    stepKey,
    signal: stopped.signal,
    onNews: (news) => {
      const whole = lines.take(news);
      if (whole.length > 0) print(whole);
    },
  }).catch((error: unknown) => {
    print([`--live has ended: ${plain(error instanceof Error ? error.message : String(error))}`]);
  });
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
        return [`${label}: call ${call.call} begins`];
      case 'ended':
        this.#rest.delete(call);
        return [...(rest === '' ? [] : [shown(rest)]), `${label}: call ${call.call} has ended`];
      case 'text': {
        const pieces = `${rest}${news.text}`.split('\n').flatMap((text) => inPieces(text));
        this.#rest.set(call, pieces.pop() ?? '');
        return pieces.map(shown);
      }
    }
  }
}

const inPieces = (text: string): string[] =>
  text.match(new RegExp(`.{1,${SHOWN_BOUNDS.livePiece_chars}}`, 'gsu')) ?? [''];
