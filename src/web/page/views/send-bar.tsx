/** How far the review is, and what is left to do with one press. */
import type { Verdict } from '../model/requests.js';
import { count } from './words.js';

interface SendBarProps {
  readonly open: readonly string[];
  readonly verdicts: ReadonlyMap<string, Verdict>;
  readonly onAll: (verdict: Verdict) => void;
  readonly onSend: () => void;
}

export const SendBar = ({ open, verdicts, onAll, onSend }: SendBarProps) => {
  const said = open.filter((path) => verdicts.has(path)).length;
  const left = open.length - said;
  return (
    <div class="send-bar" role="group" aria-label="Your review">
      <span>
        {left === 0 ? 'Every file has a verdict.' : `${said} of ${count(open.length, 'file')} with a verdict.`}
      </span>
      <span class="spring" />
      {left > 0 && (
        <>
          <button
            onClick={() => {
              onAll('approve');
            }}
          >
            Approve {left === open.length ? 'all' : `other ${left}`}
          </button>
          <button
            onClick={() => {
              onAll('skip');
            }}
          >
            Skip {left === open.length ? 'all' : `other ${left}`}
          </button>
          <button
            onClick={() => {
              onAll('revise');
            }}
          >
            Revise {left === open.length ? 'all' : `other ${left}`}
          </button>
        </>
      )}
      <button class="main" disabled={said === 0} onClick={onSend}>
        Send …
      </button>
    </div>
  );
};
