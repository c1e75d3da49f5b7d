/** The review: the combined diff, what was found in it, and verdicts by file. */
import type { ComponentChildren } from 'preact';
import { useEffect, useMemo, useState } from 'preact/hooks';
import type { RunView } from '../../../client/runs/show.js';
import type { StepEvent } from '../../../shared/events.js';
import { getText, Refused } from '../api.js';
import { parseDiff } from '../model/diff.js';
import { Changes } from './changes.js';
import { count, DecisionSaid, ProposalSaid, shownKey, StateMark, TestsSaid } from './parts.js';

interface ReviewPageProps {
  readonly view: RunView;
  readonly events: readonly StepEvent[];
  readonly mark: ComponentChildren;
}

/** The diff of one proposal; null: not there yet. */
const useDiff = (
  stepKey: string,
  id: string | null,
): { readonly diff: string | null; readonly problem: string | null } => {
  const [got, setGot] = useState<{ id: string; diff: string | null; problem: string | null } | null>(null);
  useEffect(() => {
    if (id === null) return;
    let gone = false;
    getText(`/api/runs/${stepKey}/diff/${id}`).then(
      (diff) => {
        if (!gone) setGot({ id, diff, problem: null });
      },
      (error: unknown) => {
        if (!gone) setGot({ id, diff: null, problem: error instanceof Refused ? error.message : String(error) });
      },
    );
    return () => {
      gone = true;
    };
  }, [stepKey, id]);
  return got !== null && got.id === id ? got : { diff: null, problem: null };
};

export const ReviewPage = ({ view, events, mark }: ReviewPageProps) => {
  const { status, proposal } = view;
  const { diff, problem } = useDiff(view.stepKey, proposal?.id ?? null);
  const files = useMemo(() => (diff === null ? null : parseDiff(diff)), [diff]);
  return (
    <>
      <p class="crumbs">
        <a href="#/">Runs</a> /{' '}
        <a href={`#/run/${view.stepKey}`}>
          <code>{shownKey(view.stepKey)}</code>
        </a>{' '}
        / changes
      </p>
      <h1>{status.title || status.jobPath}</h1>
      {mark}
      <p class="now" aria-live="polite">
        <StateMark state={status.state} /> {status.doing}
      </p>
      <Settled view={view} events={events} />
      {status.decision !== null && (
        <section aria-label="Decision" class="box ask">
          <DecisionSaid decision={status.decision} proposal={proposal} />
        </section>
      )}
      {problem !== null && (
        <p role="alert" class="box bad">
          {problem}
        </p>
      )}
      {proposal === null && (
        <p class="box">
          There is no proposal {status.result === null ? 'yet' : 'to show'}.{' '}
          <a href={`#/run/${view.stepKey}`}>What the run does</a>
        </p>
      )}
      {proposal !== null && <ProposalSaid proposal={proposal} />}
      <TestsSaid stepKey={view.stepKey} events={events} />
      {proposal !== null && files !== null && (
        <Changes key={proposal.id} view={view} proposal={proposal} files={files} />
      )}
    </>
  );
};

/** What was decided of this proposal, by whom: also by somebody else, a moment ago. */
const Settled = ({ view, events }: Omit<ReviewPageProps, 'mark'>) => {
  const { decision } = view.status;
  const last = events.filter((event) => event.type === 'decided' || event.type === 'abort_requested').at(-1);
  if (last === undefined) return null;
  const what = last.type === 'decided' ? `${last.answer.replaceAll('_', ' ')} by ${last.by}` : `abort by ${last.by}`;
  const partly = decision !== null && last.type === 'decided' && last.decision === decision.id ? last : null;
  if (decision !== null && partly === null) return null;
  return (
    <p role="status" class="box good settled">
      {partly === null ? 'Decided: ' : `Answered for ${count(partly.files, 'file')}: `}
      <strong>{what}</strong>, {new Date(last.at).toLocaleTimeString('en-GB')}.{' '}
      {decision === null && <a href={`#/run/${view.stepKey}`}>What became of it</a>}
    </p>
  );
};
