/** The completeness marker of answers that are no edits (brief, pick): the last line `EMEND-COMPLETE <nonce> 0 0`. */
import type { StopReason } from '../../edits/types.js';

export const markerLine = (nonce: string, files: string, edits: string): string =>
  `EMEND-COMPLETE ${nonce} ${files} ${edits}`;

/** The tail of such a request; its last word of 20 hex digits is the nonce. */
export const plainTail = (nonce: string): string =>
  `End your answer with this line, exactly as it stands here, and nothing after it:\n${markerLine(nonce, '0', '0')}`;

export interface PlainAnswer {
  readonly text: string;
  readonly stopReason: StopReason;
  readonly nonce: string;
  /** Use an answer without its marker? (`requireCompleteSentinel: false`) */
  readonly requireMarker: boolean;
}
export type PlainReading =
  | { readonly outcome: 'complete'; readonly body: string }
  | { readonly outcome: 'truncated' | 'unmarked' | 'declined'; readonly message: string };

const WHOLE: readonly StopReason[] = ['end_turn', 'stop_sequence'];

/** The rows of the table in src/edits/outcome.ts for an answer that is plain text: nothing of a cut one is used. */
export function readPlain({ text, stopReason, nonce, requireMarker }: PlainAnswer): PlainReading {
  if (stopReason === 'refusal') return { outcome: 'declined', message: 'the model declined to answer' };
  if (!WHOLE.includes(stopReason))
    return {
      outcome: 'truncated',
      message: `the answer was cut off (stop reason ${stopReason ?? 'none'}, ${text.length} characters)`,
    };
  const lines = text.trimEnd().split('\n');
  const wanted = markerLine(nonce, '0', '0');
  if (lines.at(-1)?.trimEnd() === wanted) return { outcome: 'complete', body: lines.slice(0, -1).join('\n').trim() };
  if (!requireMarker) return { outcome: 'complete', body: text.trim() };
  return {
    outcome: 'unmarked',
    message: `expected the last line ${wanted}, received ${JSON.stringify((lines.at(-1) ?? '').slice(0, 80))}`,
  };
}
