/** What a run does and did: state, decision, files, attempts, events, and what it cost. */
import { useEffect, useState } from 'preact/hooks';
import type { CallTexts, ListedCalls, ShownCall } from '../../../client/runs/calls.js';
import type { RunView } from '../../../client/runs/show.js';
import type { StepEvent } from '../../../shared/events.js';
import { attemptsText, formatText, sizeText, soFarText } from '../../../shared/event-text.js';
import { auditText } from '../../../shared/audit.js';
import { showCommit } from '../../../shared/repository.js';
import { resultNotes, type LedgerRow, type StepResult } from '../../../shared/run.js';
import { visible } from '../../../shared/text.js';
import { callOutcome, usageText } from '../../../shared/usage.js';
import { AbortButton, DecisionForm } from './decision-form.js';
import {
  count,
  DecisionSaid,
  EventList,
  Facts,
  Instructions,
  Lazy,
  LinkMark,
  Part,
  Said,
  shownKey,
  StateMark,
  Table,
  TestsSaid,
  List,
} from './parts.js';
import { PlanParts } from './plan-parts.js';
import type { RunMessage } from '../../feeds.js';
import { type Place, useStream, useOut } from '../hooks.js';
import { ReviewPage, type ReviewPageProps } from './review-page.js';

const RunPage = ({ view, events }: ReviewPageProps) => {
  const { status, ledger, proposal } = view;
  const { decision } = status;
  const host = view.host?.name;
  const history =
    view.link === null ? (
      <code>{view.workflowId ?? 'not known'}</code>
    ) : (
      <a href={view.link} rel="noreferrer" target="_blank">
        history in the Temporal UI
      </a>
    );
  const refused = events.filter(
    (event) => event.type === 'answer_refused' || event.type === 'truncation_detected',
  );
  return (
    <>
      {decision?.reason === 'approval' && (
        <section aria-label="Decision" class="box ask">
          <DecisionSaid decision={decision} proposal={proposal} />
          <a class="button main" href={`#/run/${view.stepKey}/review`}>
            Review the changes
          </a>
        </section>
      )}
      {decision !== null && decision.reason !== 'approval' && (
        <DecisionForm
          key={decision.id}
          stepKey={view.stepKey}
          decision={decision}
          proposal={proposal}
        />
      )}
      {status.result !== null && <Result result={status.result} workspace={status.workspace} />}
      <section aria-label="Facts">
        <Facts
          facts={[
            ['Job', <code>{status.jobPath}</code>],
            [
              'Workspace',
              [<code>{status.workspace}</code>, host == null ? '' : ` on ${visible(host)}`],
            ],
            ['So far', soFarText(status)],
            ['Temporal', history],
            ['Archive', <code>emend events {shownKey(view.stepKey)}</code>],
          ]}
        />
      </section>
      {status.plan !== undefined && (
        <PlanParts plan={status.plan} status={status} events={events} />
      )}
      {status.plan === undefined && (
        <Part title="Files" number={ledger.length}>
          {ledger.length === 0 ? <p class="quiet">None known yet.</p> : <Ledger rows={ledger} />}
          {proposal !== null && decision?.reason !== 'approval' && (
            <p>
              <a href={`#/run/${view.stepKey}/review`}>The proposal's changes</a>
            </p>
          )}
        </Part>
      )}
      <TestsSaid stepKey={view.stepKey} events={events} />
      {status.plan === undefined && <Instructions stepKey={view.stepKey} />}
      <Calls stepKey={view.stepKey} />
      {refused.length > 0 && (
        <Part title="Refused answers" number={refused.length}>
          <EventList events={refused} />
        </Part>
      )}
      {status.ignored.length > 0 && (
        <Part title="Ignored answers" number={status.ignoredCount ?? status.ignored.length}>
          <List texts={status.ignored} />
        </Part>
      )}
      <Part title="Events" number={events.length}>
        <EventList events={[...events].reverse().slice(0, EVENTS_SHOWN)} reversed />
        {events.length > EVENTS_SHOWN && (
          <p class="quiet">
            {events.length - EVENTS_SHOWN} earlier ones:{' '}
            <code>emend events {shownKey(view.stepKey)}</code>
          </p>
        )}
      </Part>
      {status.result === null && <AbortButton view={view} />}
    </>
  );
};

const EVENTS_SHOWN = 200;

const Calls = ({ stepKey }: { readonly stepKey: string }) => (
  <Lazy<ListedCalls> title="Model calls" path={`/api/runs/${stepKey}/calls`}>
    {({ calls, unread }) => [
      ...unread.map((why) => <p key={why}>{visible(why)}</p>),
      ...calls.map((call) => (
        <Lazy<CallTexts>
          key={call.n}
          title={callWords(call)}
          path={`/api/runs/${stepKey}/calls/${call.n}`}
        >
          {({ system, messages, answer }) =>
            [{ role: 'system', text: system }, ...messages, { role: 'answer', text: answer }].map(
              ({ role, text }, at) => <Said key={at} name={role} text={text} />,
            )
          }
        </Lazy>
      )),
    ]}
  </Lazy>
);

const callWords = ({ n, role, file, model, attempt, usage, ...call }: ShownCall): string =>
  `${n}. ${role} ${file}, attempt ${attempt}, ${model}: ${usageText(usage)}, ${usage.seconds.toFixed(1)} s, ${callOutcome(call)}`;

const Ledger = ({ rows }: { readonly rows: readonly LedgerRow[] }) => (
  <Table of="files" columns={['File', 'Status', 'Format', 'Size', 'Attempts', 'Why']}>
    <tbody>
      {rows.map((row) => (
        <tr key={row.path}>
          <th scope="row">
            <code>{row.path}</code>
          </th>
          <td>
            <span class={`file-status ${row.status}`}>{row.status.replaceAll('_', ' ')}</span>
            {row.verdict === null ? '' : `, ${row.verdict}`}
          </td>
          <td>{formatText(row)}</td>
          <td>{sizeText(row)}</td>
          <td>{attemptsText(row)}</td>
          <td class="why">{row.reason ?? row.why ?? ''}</td>
        </tr>
      ))}
    </tbody>
  </Table>
);

/** Of a plan the phases that are done, whose last commit it is; the files are its phases' own. */
const madeBy = ({ plan, files }: StepResult): string =>
  plan === undefined
    ? `${count(files.length, 'file')} as`
    : `${plan.phases.filter(({ status }) => status === 'completed').length} of ${count(plan.phases.length, 'phase')}, last commit`;

const Result = ({
  result,
  workspace,
}: {
  readonly result: StepResult;
  readonly workspace: string;
}) => (
  <section
    aria-label="Result"
    class={`box ${result.outcome === 'failed' || result.outcome === 'refused' ? 'bad' : 'good'}`}
  >
    <p>
      <strong>{result.outcome}</strong>
      {result.commit !== null && (
        <>
          {' '}
          {madeBy(result)} <code>{result.commit.slice(0, 12)}</code>
        </>
      )}
      {result.verification !== null && <>; tests: {result.verification}</>}
      {result.audit !== undefined && <>; audit: {visible(auditText(result.audit))}</>}
    </p>
    {resultNotes(result).map((text) => (
      <p key={text}>{visible(text)}</p>
    ))}
    {result.problem !== null && (
      <p>
        {result.problem.message} {result.problem.next ?? ''}
      </p>
    )}
    {result.commit !== null && (
      <p>
        <code>{visible(showCommit(result.commit, workspace))}</code>
      </p>
    )}
  </section>
);

// A run, live: its page, or the review of its proposal.

interface RunPagesProps {
  readonly place: Exclude<Place, { readonly page: 'runs' }>;
  readonly onOut: () => void;
}

export const RunPages = ({ place, onOut }: RunPagesProps) => {
  const [view, setView] = useState<RunView | null>(null);
  const [events, setEvents] = useState<readonly StepEvent[]>([]);
  const live = useStream(`/api/runs/${place.stepKey}/live`, (data) => {
    const message = data as RunMessage;
    setView(message.view);
    setEvents((had) => [...had.filter((event) => event.seq <= message.from), ...message.events]);
  });
  useOut(live, onOut);
  const title = view?.status.title ?? 'Run';
  useEffect(() => {
    document.title = visible(`${title} - Emend`);
    return () => {
      document.title = 'Emend';
    };
  }, [title]);
  if (view === null)
    return (
      <>
        <h1>Run</h1>
        <LinkMark live={live} note={null} />
        <p class="quiet">Looking …</p>
      </>
    );
  const { status } = view;
  const key = <code>{shownKey(view.stepKey)}</code>;
  const Page = place.page === 'review' ? ReviewPage : RunPage;
  return (
    <>
      <p class="crumbs">
        <a href="#/">Runs</a> /{' '}
        {place.page === 'review'
          ? [<a href={`#/run/${view.stepKey}`}>{key}</a>, ' / changes']
          : key}
      </p>
      <h1>{status.title || status.jobPath}</h1>
      <LinkMark live={live} note={view.note} />
      <p class="now" aria-live="polite">
        <StateMark state={status.state} /> {status.doing}
      </p>
      <Page view={view} events={events} />
    </>
  );
};
