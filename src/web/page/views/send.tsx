/** How far the review is, and what is left to do with one press. */
import { useEffect, useRef, useState } from 'preact/hooks';
import { type Verdict, VERDICTS, sendFault, openPaths, requestsOf } from '../model/verdicts.js';
import { Alert, count, List } from './parts.js';
import type { DecisionPoint } from '../../../shared/decisions.js';
import { decide } from '../api.js';
import type { Parts, Review } from './use-review.js';

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
        {left === 0
          ? 'Every file has a verdict.'
          : `${said} of ${count(open.length, 'file')} with a verdict.`}
      </span>
      <span class="spring" />
      {left > 0 &&
        VERDICTS.map(([each, word]) => (
          <button key={each} onClick={() => onAll(each)}>
            {word} {left === open.length ? 'all' : `other ${left}`}
          </button>
        ))}
      <button class="main" disabled={said === 0} onClick={onSend}>
        Send …
      </button>
    </div>
  );
};

// What is about to be sent, said once more; here a note for the model or for the record is written.

interface SendDialogProps {
  readonly stepKey: string;
  readonly decision: DecisionPoint;
  readonly review: Review;
  readonly parts: Parts;
  readonly onClose: () => void;
}

const MEANS: Record<Verdict, string> = {
  approve: 'applied as shown',
  skip: 'left unchanged',
  revise: 'requested again, with your comments',
  select: 'what you accept becomes a new proposal, shown to you again; the rest is dropped',
};

export const SendDialog = ({ stepKey, decision, review, parts, onClose }: SendDialogProps) => {
  const { verdicts, comments, note } = review;
  const dialog = useRef<HTMLDialogElement>(null);
  const [busy, setBusy] = useState(false);
  const [said, setSaid] = useState<string | null>(null);
  useEffect(() => {
    dialog.current?.showModal();
  }, []);
  const requests = requestsOf(decision, { verdicts, comments }, note, parts.selection);
  const missing = sendFault(requests);
  const open = openPaths(decision);
  const told = comments.filter(
    ({ spot: { path } }) => open.includes(path) && verdicts.get(path) === 'revise',
  ).length;
  const left = open.filter((path) => !verdicts.has(path)).length;
  const send = async (): Promise<void> => {
    setBusy(true);
    try {
      for (const request of requests) await decide(stepKey, request);
      review.setTyped({ note: '' });
      onClose();
    } catch (error) {
      setSaid(String(error));
      setBusy(false);
    }
  };
  return (
    <dialog ref={dialog} class="send" aria-labelledby="send-title" onClose={onClose}>
      <h2 id="send-title">Send your verdicts</h2>
      <ul>
        {(['approve', 'skip', 'revise', 'select'] as const).map((verdict) => {
          const files = open.filter((path) => verdicts.get(path) === verdict);
          return files.length === 0 ? null : (
            <li key={verdict}>
              <strong>{verdict}</strong>: {count(files.length, 'file')}, {MEANS[verdict]}{' '}
              <span class="quiet">
                ({files.slice(0, 5).join(', ')}
                {files.length > 5 ? ' …' : ''})
              </span>
            </li>
          );
        })}
        {left > 0 && (
          <li>
            {count(left, 'file')} without a verdict: the run keeps waiting for{' '}
            {left === 1 ? 'it' : 'them'}.
          </li>
        )}
      </ul>
      <form
        class="stack"
        onSubmit={(event) => {
          event.preventDefault();
          void send();
        }}
      >
        <label>
          A note{' '}
          {[...verdicts.values()].includes('revise')
            ? '(for the model: what to change)'
            : '(saved with the decision; optional)'}
          <textarea
            rows={3}
            value={note}
            onInput={(event) => review.setTyped({ note: event.currentTarget.value })}
          />
        </label>
        {parts.missed.length > 0 && <List texts={parts.missed} look="box warn" />}
        {told > 0 && <p class="quiet">{count(told, 'comment')} sent with the revised files.</p>}
        {told < comments.length && (
          <p class="box warn">
            {count(comments.length - told, 'comment')} not sent: only a revised file gets its
            comments.
          </p>
        )}
        {missing !== null && <p class="bad-text">{missing}</p>}
        <Alert text={said} look="bad-text" />
        <div class="row">
          <button class="main" autofocus disabled={missing !== null || busy}>
            Send
          </button>
          <button type="button" onClick={() => dialog.current?.close()}>
            Cancel
          </button>
        </div>
      </form>
    </dialog>
  );
};
