/** What a run does and did: state, decision, files, attempts, events, and what it cost. */
import type { ComponentChildren } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { RunView } from '../../../client/runs/show.js';
import type { StepEvent } from '../../../shared/events.js';
import { attemptsText, formatText, sizeText, soFarText } from '../../../shared/event-text.js';
import { auditText } from '../../../shared/audit.js';
import type { LedgerRow, StepResult } from '../../../shared/run.js';
import { visible } from '../../../shared/text.js';
import { AbortButton, DecisionForm } from './decision-form.js';
import {
  DecisionSaid,
  EventList,
  Calls,
  count,
  Instructions,
  shownKey,
  StateMark,
  LinkMark,
  TestsSaid,
} from './parts.js';
import { PlanParts } from './plan-parts.js';
import type { RunMessage } from '../../feeds.js';
import { type Place, useStream, useOut } from '../hooks.js';
import { ReviewPage } from './review-page.js';

interface RunPageProps {
  readonly view: RunView;
  readonly events: readonly StepEvent[];
  readonly mark: ComponentChildren;
}

const RunPage = ({ view, events, mark }: RunPageProps) => {
  const { status, ledger, proposal } = view;
  const { decision } = status;
  const refused = events.filter((event) => event.type === 'answer_refused' || event.type === 'truncation_detected');
  return (
    <>
      <p class="crumbs">
        <a href="#/">Runs</a> / <code>{shownKey(view.stepKey)}</code>
      </p>
      <h1>{status.title || status.jobPath}</h1>
      {mark}
      <p class="now" aria-live="polite">
        <StateMark state={status.state} /> {status.doing}
      </p>
      {decision?.reason === 'approval' && (
        <section aria-label="Decision" class="box ask">
          <DecisionSaid decision={decision} proposal={proposal} />
          <a class="button main" href={`#/run/${view.stepKey}/review`}>
            Review the changes
          </a>
        </section>
      )}
      {decision !== null && decision.reason !== 'approval' && (
        <DecisionForm key={decision.id} stepKey={view.stepKey} decision={decision} proposal={proposal} />
      )}
      {status.result !== null && <Result result={status.result} />}
      <section aria-label="Facts">
        <dl class="facts">
          <div>
            <dt>Job</dt>
            <dd>
              <code>{status.jobPath}</code>
            </dd>
          </div>
          <div>
            <dt>Workspace</dt>
            <dd>
              <code>{status.workspace}</code>
              {view.host?.name != null && ` on ${visible(view.host.name)}`}
            </dd>
          </div>
          <div>
            <dt>So far</dt>
            <dd>{soFarText(status)}</dd>
          </div>
          <div>
            <dt>Temporal</dt>
            <dd>
              {view.link === null ? (
                <code>{view.workflowId ?? 'not known'}</code>
              ) : (
                <a href={view.link} rel="noreferrer" target="_blank">
                  history in the Temporal UI
                </a>
              )}
            </dd>
          </div>
          <div>
            <dt>Archive</dt>
            <dd>
              <code>emend events {shownKey(view.stepKey)}</code>
            </dd>
          </div>
        </dl>
      </section>
      {status.plan !== undefined && <PlanParts plan={status.plan} status={status} events={events} />}
      {status.plan === undefined && (
        <section aria-label="Files">
          <h2>
            Files <span class="number">{ledger.length}</span>
          </h2>
          {ledger.length === 0 ? <p class="quiet">None known yet.</p> : <Ledger rows={ledger} />}
          {proposal !== null && decision?.reason !== 'approval' && (
            <p>
              <a href={`#/run/${view.stepKey}/review`}>The proposal's changes</a>
            </p>
          )}
        </section>
      )}
      <TestsSaid stepKey={view.stepKey} events={events} />
      {status.plan === undefined && <Instructions stepKey={view.stepKey} />}
      <Calls stepKey={view.stepKey} />
      {refused.length > 0 && (
        <section aria-label="Refused answers">
          <h2>
            Refused answers <span class="number">{refused.length}</span>
          </h2>
          <EventList events={refused} />
        </section>
      )}
      {status.ignored.length > 0 && (
        <section aria-label="Ignored answers">
          <h2>
            Ignored answers <span class="number">{status.ignoredCount ?? status.ignored.length}</span>
          </h2>
          <ul>
            {status.ignored.map((text) => (
              <li key={text}>{text}</li>
            ))}
          </ul>
        </section>
      )}
      <section aria-label="Events">
        <h2>
          Events <span class="number">{events.length}</span>
        </h2>
        <EventList events={[...events].reverse().slice(0, EVENTS_SHOWN)} reversed />
        {events.length > EVENTS_SHOWN && (
          <p class="quiet">
            {events.length - EVENTS_SHOWN} earlier ones: <code>emend events {shownKey(view.stepKey)}</code>
          </p>
        )}
      </section>
      {status.result === null && <AbortButton view={view} />}
    </>
  );
};

const EVENTS_SHOWN = 200;

const Ledger = ({ rows }: { readonly rows: readonly LedgerRow[] }) => (
  <div class="scroll" tabIndex={0} role="region" aria-label="Table of files">
    <table>
      <thead>
        <tr>
          <th scope="col">File</th>
          <th scope="col">Status</th>
          <th scope="col">Format</th>
          <th scope="col">Size</th>
          <th scope="col">Attempts</th>
          <th scope="col">Why</th>
        </tr>
      </thead>
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
    </table>
  </div>
);

/** Of a plan the phases that are done, whose last commit it is; the files are its phases' own. */
const madeBy = ({ plan, files }: StepResult): string =>
  plan === undefined
    ? `${count(files.length, 'file')} as`
    : `${plan.phases.filter(({ status }) => status === 'completed').length} of ${count(plan.phases.length, 'phase')}, last commit`;

const Result = ({ result }: { readonly result: StepResult }) => (
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
    {result.problem !== null && (
      <p>
        {result.problem.message} {result.problem.next ?? ''}
      </p>
    )}
    {result.commit !== null && (
      <p>
        <code>git show {result.commit.slice(0, 12)}</code>
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
  const mark = <LinkMark live={live} note={view.note} />;
  return place.page === 'review' ? (
    <ReviewPage view={view} events={events} mark={mark} />
  ) : (
    <RunPage view={view} events={events} mark={mark} />
  );
};
