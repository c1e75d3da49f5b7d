/** Pieces that several views show: events, what a decision says, marks. */
import type { ComponentChildren, RefObject } from 'preact';
import { useState } from 'preact/hooks';
import type { KeptText } from '../../../client/runs/proposal.js';
import type { TestRun } from '../../../client/runs/show.js';
import type { DecisionPoint } from '../../../shared/decisions.js';
import {
  decisionWords,
  describeEvent,
  proposalWords,
  testsText,
} from '../../../shared/event-text.js';
import type { StepEvent } from '../../../shared/events.js';
import type { ProposalSummary } from '../../../shared/proposal-activities.js';
import type { RunState } from '../../../shared/run.js';
import { count, visible } from '../../../shared/text.js';
import { getJson } from '../api.js';
import { useAnswer, type Live } from '../hooks.js';

interface EventListProps {
  readonly events: readonly StepEvent[];
  /** They stand in the other order: newest first. */
  readonly reversed?: boolean;
}

export const EventList = ({ events, reversed = false }: EventListProps) => (
  <ol class="events" reversed={reversed}>
    {events.map((event) => (
      <li key={event.seq}>
        <time dateTime={new Date(event.at).toISOString()}>
          {new Date(event.at).toLocaleTimeString('en-GB')}
        </time>{' '}
        <span class="event-type">{event.type.replaceAll('_', ' ')}</span>{' '}
        <span>{describeEvent(event)}</span>
      </li>
    ))}
  </ol>
);

const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

export interface DecisionSaidProps {
  readonly decision: DecisionPoint;
  readonly proposal: ProposalSummary | null;
}
/** All that a decision says but for its proposal; the answers are given elsewhere. */
export const DecisionSaid = ({ decision, proposal }: DecisionSaidProps) => {
  const { title, said, files, last } = decisionWords(decision, proposal);
  return (
    <>
      <h2>{capital(title)}</h2>
      <p class="quiet">
        (decision <code>{decision.id}</code>) since {timeText(decision.openedAt)}
      </p>
      {[...said, ...last].map((text) => (
        <p key={text} class="said">
          {text}
        </p>
      ))}
      {files.length > 0 && (
        <ul class="decision-files">
          {files.map((file) => (
            <li key={file.path}>
              <code>{file.path}</code>
              {file.said !== '' && <span class="said">: {file.said}</span>}
            </li>
          ))}
        </ul>
      )}
    </>
  );
};

/** More are folded at first. */
const SAID_SHOWN = 20;

export const ProposalSaid = ({ proposal }: { readonly proposal: ProposalSummary }) => {
  const { title, said } = proposalWords(proposal);
  return (
    <section aria-label="The proposal" class="summary">
      <p>{capital(title)}</p>
      {said.length > 0 && (
        <details
          class={`box ${proposal.mustAsk.length > 0 ? 'warn' : ''}`}
          open={said.length <= SAID_SHOWN}
        >
          <summary>{count(said.length, 'thing')} to look at</summary>
          <List texts={said} />
        </details>
      )}
    </section>
  );
};

interface LazyProps<T> {
  readonly title: string;
  readonly path: string;
  readonly open?: boolean;
  readonly children: (got: T) => ComponentChildren;
}

/** Asked for each time it is opened; one that is open at first says so itself, by a toggle event as it comes into the page. */
export const Lazy = <T,>({ title, path, open = false, children }: LazyProps<T>) => {
  const [times, setTimes] = useState(0);
  const { value, problem } = useAnswer<T | null>(times === 0 ? null : `${path}?${times}`, getJson);
  return (
    <details
      class="box lazy"
      open={open}
      onToggle={(event) => {
        if (event.currentTarget.open) setTimes((before) => before + 1);
      }}
    >
      <summary>{title}</summary>
      {value !== null && children(value)}
      {problem !== null && <p class="quiet">Not known: {problem}</p>}
    </details>
  );
};

export const Said = ({ name, text }: { readonly name: string; readonly text: string }) => (
  <pre tabIndex={0} aria-label={name}>
    {visible(text)}
  </pre>
);

/** What the job asks for. */
export const Instructions = ({ stepKey }: { readonly stepKey: string }) => (
  <Lazy<KeptText> title="Instructions" path={`/api/runs/${stepKey}/instructions`} open>
    {({ text, reason }) =>
      text === null ? (
        <p class="quiet">Not known: {reason}</p>
      ) : (
        <Said name="Instructions" text={text.trim()} />
      )
    }
  </Lazy>
);

/** Which tests failed, and what was printed; asked for anew as tests end. */
export const TestsSaid = ({
  stepKey,
  events,
}: {
  readonly stepKey: string;
  readonly events: readonly StepEvent[];
}) => {
  const [whole, setWhole] = useState(false);
  const ended = events.filter(({ type }) =>
    ['base_tested', 'verified', 'merged_tested'].includes(type),
  ).length;
  const at = `/api/runs/${stepKey}/tests?ended=${ended}${whole ? '&whole' : ''}`;
  const answer = useAnswer<readonly TestRun[]>(ended === 0 ? null : at, getJson);
  if (answer.problem !== null) return <p class="quiet">Tests: not known: {answer.problem}</p>;
  const runs = answer.value ?? [];
  if (runs.length === 0) return null;
  return (
    <Part title="Tests" number={runs.length}>
      {runs.map((run, index) => (
        <details
          key={run.at}
          class="box tests"
          open={run.failed.length > 0 && index === runs.length - 1}
        >
          <summary>{testsText(run)}</summary>
          <pre class="said" tabIndex={0} aria-label="Output of the tests">
            {run.text ?? 'Its output is not available.'}
          </pre>
          {run.leftOut > 0 && (
            <button onClick={() => setWhole(true)}>
              Show the {count(run.leftOut, 'line')} that {run.leftOut === 1 ? 'is' : 'are'} omitted
            </button>
          )}
        </details>
      ))}
    </Part>
  );
};

/** What came of it, said as soon as it is known; null: nothing yet. */
export const Alert = ({ text, look }: { readonly text: string | null; readonly look?: string }) =>
  text === null ? null : (
    <p role="alert" class={look}>
      {text}
    </p>
  );

export const List = ({
  texts,
  look,
}: {
  readonly texts: readonly string[];
  readonly look?: string;
}) => (
  <ul class={look}>
    {texts.map((text) => (
      <li key={text}>{text}</li>
    ))}
  </ul>
);

interface PartProps {
  readonly title: string;
  /** Of what it lists; absent: it is no list. */
  readonly number?: number;
  readonly children: ComponentChildren;
}
/** A part of a page, under its title. */
export const Part = ({ title, number, children }: PartProps) => (
  <section aria-label={title}>
    <h2>
      {title} {number !== undefined && <span class="number">{number}</span>}
    </h2>
    {children}
  </section>
);

export const Facts = ({
  facts,
}: {
  readonly facts: readonly (readonly [string, ComponentChildren])[];
}) => (
  <dl class="facts">
    {facts.map(([name, fact]) => (
      <div key={name}>
        <dt>{name}</dt>
        <dd>{fact}</dd>
      </div>
    ))}
  </dl>
);

interface TableProps {
  /** What its rows are. */
  readonly of: string;
  readonly columns: readonly string[];
  readonly children: ComponentChildren;
}
/** A table that scrolls by itself where it is too wide; `children`: its bodies. */
export const Table = ({ of, columns, children }: TableProps) => (
  <div class="scroll" tabIndex={0} role="region" aria-label={`Table of ${of}`}>
    <table class={of}>
      <thead>
        <tr>
          {columns.map((title) => (
            <th key={title} scope="col">
              {title}
            </th>
          ))}
        </tr>
      </thead>
      {children}
    </table>
  </div>
);

interface SearchProps {
  readonly label: string;
  readonly value: string;
  readonly field?: RefObject<HTMLInputElement | null>;
  readonly onWords: (words: string) => void;
}
export const Search = ({ label, value, field = { current: null }, onWords }: SearchProps) => (
  <input
    ref={field}
    type="search"
    aria-label={label}
    placeholder="search"
    value={value}
    onInput={({ currentTarget }) => onWords(currentTarget.value)}
    onKeyDown={({ key, currentTarget }) => {
      if (key === 'Escape') currentTarget.blur();
    }}
  />
);

interface SelectProps<T extends string | number> {
  readonly label: string;
  readonly value: T;
  readonly options: readonly (readonly [T, string])[];
  readonly onChoice: (chosen: T) => void;
}
export const Select = <T extends string | number>({
  label,
  value,
  options,
  onChoice,
}: SelectProps<T>) => (
  <label>
    {label}{' '}
    <select
      value={value}
      onChange={({ currentTarget }) => {
        const chosen = options[currentTarget.selectedIndex];
        if (chosen !== undefined) onChoice(chosen[0]);
      }}
    >
      {options.map(([each, text]) => (
        <option key={each} value={each}>
          {text}
        </option>
      ))}
    </select>
  </label>
);

// Small pieces of text and marks that several pages show.

export { shownKey } from '../../../shared/ids.js';
export { count } from '../../../shared/text.js';

export const timeText = (at: string | number | null): string =>
  at === null
    ? ''
    : new Date(at).toLocaleString('en-GB', { dateStyle: 'medium', timeStyle: 'short' });

const MARKS: Record<RunState | 'unknown', string> = {
  waiting: 'waiting for you',
  running: 'running',
  done: 'done',
  failed: 'failed',
  aborted: 'aborted',
  unknown: 'not known',
};
export const StateMark = ({ state }: { readonly state: RunState | 'unknown' }) => (
  <span class={`mark ${state}`}>{MARKS[state]}</span>
);

/** Is what is shown still true? */
export const LinkMark = ({ live, note }: { readonly live: Live; readonly note: string | null }) => (
  <div role="status" class="link-state">
    {live.link === 'lost' && (
      <p class="box warn">
        The connection to the page's server is lost; trying again. The page may be out of date.
      </p>
    )}
    {live.trouble !== null && <p class="box warn">{live.trouble}</p>}
    {note !== null && <p class="box warn">{note}</p>}
  </div>
);
