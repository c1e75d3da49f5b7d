/** The review: the combined diff, what was found in it, and verdicts by file. */
import { useMemo, useState } from 'preact/hooks';
import type { RunView } from '../../../client/runs/show.js';
import type { StepEvent } from '../../../shared/events.js';
import type { ProposalSince } from '../../../client/runs/proposal.js';
import { getJson, getText } from '../api.js';
import { keep, useAnswer } from '../hooks.js';
import { parseDiff } from '../model/diff.js';
import { Changes } from './changes.js';
import { DiffStat } from './file-tree.js';
import {
  Alert,
  count,
  DecisionSaid,
  Instructions,
  ProposalSaid,
  Select,
  TestsSaid,
} from './parts.js';

export interface ReviewPageProps {
  readonly view: RunView;
  readonly events: readonly StepEvent[];
}

export const ReviewPage = ({ view, events }: ReviewPageProps) => {
  const { status, proposal } = view;
  return (
    <>
      <Settled view={view} events={events} />
      {status.decision !== null && (
        <section aria-label="Decision" class="box ask">
          <DecisionSaid decision={status.decision} proposal={proposal} />
        </section>
      )}
      {proposal === null && (
        <p class="box">
          There is no proposal {status.result === null ? 'yet' : 'to show'}.{' '}
          <a href={`#/run/${view.stepKey}`}>What the run does</a>
        </p>
      )}
      {proposal !== null && <Versions key={proposal.id} view={view} events={events} />}
    </>
  );
};

/** Number of the version that was shown here before the last one, else of the one that was answered last; 0: none. */
const seenBefore = ({ stepKey, versions }: RunView): number => {
  const ids = versions.map(({ proposal }) => proposal.id);
  const place = `emend-seen-${stepKey}`;
  const [last, before] = JSON.parse(localStorage.getItem(place) ?? '[]') as readonly string[];
  const seen = last === ids.at(-1) ? before : last;
  keep(localStorage, place, [ids.at(-1), ...(seen === undefined ? [] : [seen])]);
  const here = ids.slice(0, -1).lastIndexOf(seen ?? '') + 1;
  return here > 0 ? here : versions.slice(0, -1).findLastIndex(({ answered }) => answered) + 1;
};

/** The proposal as it is now or was, whole or beside an earlier version: at first the present one beside the one seen last. */
const Versions = ({ view, events }: ReviewPageProps) => {
  const { stepKey, versions, status } = view;
  const [before] = useState(() => seenBefore(view));
  const earlier = versions.slice(0, -1);
  // n: beside version n; -n: version n itself; 0: the present one whole.
  const [shows, setShows] = useState(status.decision?.reason === 'approval' ? before : 0);
  const since = Math.max(0, shows);
  const proposal = shows < 0 ? earlier[-1 - shows]?.proposal : (view.proposal ?? undefined);
  const at = `/api/runs/${stepKey}`;
  const diff = useAnswer(proposal === undefined ? null : `${at}/diff/${proposal.id}`, getText);
  const beside = useAnswer<ProposalSince>(
    since === 0
      ? null
      : `${at}/since/${earlier[since - 1]?.proposal.id ?? ''}/${proposal?.id ?? ''}`,
    getJson,
  );
  const whole = useMemo(() => (diff.value === null ? null : parseDiff(diff.value)), [diff.value]);
  if (proposal === undefined) return null;
  const options: readonly (readonly [number, string])[] = [
    [0, 'the whole change'],
    ...earlier.map(
      (_, index) =>
        [
          index + 1,
          `what changed since version ${index + 1}${index + 1 === before ? ', which you saw' : ''}`,
        ] as const,
    ),
    ...earlier.map((_, index) => [-1 - index, `version ${index + 1}, as it was`] as const),
  ];
  const problem = diff.problem ?? beside.problem;
  return (
    <>
      {versions.length > 1 && (
        <section aria-label="Versions" class="row">
          <Select
            label={`Version ${versions.length}:`}
            value={shows}
            options={options}
            onChoice={setShows}
          />
        </section>
      )}
      {versions.slice(since, shows < 0 ? -shows : undefined).flatMap(({ notes }, index) =>
        [...new Set(notes)].map((note) => (
          <p key={`${index} ${note}`} class="said">
            Note that led to version {since + index + 1}: {note}
          </p>
        )),
      )}
      <Alert text={problem} look="box bad" />
      <ProposalSaid proposal={proposal} />
      <DiffStat proposal={proposal} />
      <Instructions stepKey={stepKey} />
      <TestsSaid stepKey={stepKey} events={events} />
      {whole !== null && (since === 0 || beside.value !== null) && (
        <Changes
          key={`${proposal.id} ${since}`}
          view={view}
          proposal={proposal}
          whole={whole}
          since={since === 0 ? null : beside.value}
        />
      )}
    </>
  );
};

/** What was decided of this proposal, by whom: also by somebody else, a moment ago. */
const Settled = ({ view, events }: ReviewPageProps) => {
  const { decision } = view.status;
  const last = events
    .filter((event) => event.type === 'decided' || event.type === 'abort_requested')
    .at(-1);
  if (last === undefined) return null;
  const what =
    last.type === 'decided'
      ? `${last.answer.replaceAll('_', ' ')} by ${last.by}`
      : `abort by ${last.by}`;
  const partly =
    decision !== null && last.type === 'decided' && last.decision === decision.id ? last : null;
  if (decision !== null && partly === null) return null;
  return (
    <p role="status" class="box good settled">
      {partly === null ? 'Decided: ' : `Answered for ${count(partly.files, 'file')}: `}
      <strong>{what}</strong>, {new Date(last.at).toLocaleTimeString('en-GB')}.{' '}
      {decision === null && <a href={`#/run/${view.stepKey}`}>Result</a>}
    </p>
  );
};
