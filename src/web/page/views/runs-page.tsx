/** All runs: what waits for you first, then what runs, then what has ended, page by page. The server searches: the page has one page. */
import { useEffect, useRef, useState } from 'preact/hooks';
import type { ListedRun, RunList } from '../../../client/runs/list.js';
import type { ListMessage } from '../../feeds.js';
import { getJson } from '../api.js';
import { useAnswer, useKeys, useStream, useOut } from '../hooks.js';
import { LISTED_STATES } from '../../../shared/run.js';
import { visible } from '../../../shared/text.js';
import {
  Alert,
  count,
  LinkMark,
  Part,
  Search,
  Select,
  shownKey,
  StateMark,
  timeText,
} from './parts.js';

const TYPING_MS = 200; // bound: A search begins when nothing was typed for so long.
const REFRESH_MS = 1_000; // bound: A search is repeated so long after a change of any run.

const GROUPS: readonly (readonly [string, (run: ListedRun) => boolean])[] = [
  ['Waiting for you', (run) => run.decision !== null],
  ['Running', (run) => run.decision === null && run.open],
  ['Ended', (run) => run.decision === null && !run.open],
];

/** As the server takes them; empty: all. */
interface Filters {
  readonly text: string;
  readonly repository: string;
  readonly plan: string;
  readonly state: string;
}
const NO_FILTERS: Filters = { text: '', repository: '', plan: '', state: '' };
interface Places {
  readonly repositories: readonly string[];
  readonly plans: readonly string[];
}

const orAll = (values: readonly string[]) =>
  ['', ...values].map((each) => [each, each || 'all'] as const);

const queryOf = (filters: Filters, before: string): string => {
  const query = new URLSearchParams(
    Object.entries({ ...filters, before }).filter(([, value]) => value !== ''),
  );
  return query.size === 0 ? '' : `/api/runs?${query.toString()}`;
};

/** Asks for the runs of a query, and again after `newest` has changed. An answer that comes late is dropped. */
const useFound = (query: string, newest: RunList | null) => {
  const [found, setFound] = useState<{
    query: string;
    list: RunList | null;
    problem: string | null;
  }>();
  /** The last query that was answered, and when it was asked. */
  const question = useRef({ query: '', at_ms: 0 });
  useEffect(() => {
    if (query === '') return;
    let isOver = false;
    const tell = (list: RunList | null, problem: string | null): void => {
      if (isOver) return;
      setFound({ query, list, problem });
    };
    const ask = (): void => {
      question.current = { query, at_ms: Date.now() };
      void getJson<RunList>(query).then(
        (list) => tell(list, null),
        (error: unknown) => tell(null, String(error)),
      );
    };
    const again_ms = question.current.at_ms + REFRESH_MS - Date.now();
    const timer = setTimeout(
      ask,
      question.current.query === query ? Math.max(0, again_ms) : TYPING_MS,
    );
    return () => {
      isOver = true;
      clearTimeout(timer);
    };
  }, [query, newest]);
  if (query === '') return { list: newest, problem: null, isCurrent: newest !== null };
  return {
    list: found?.list ?? null,
    problem: found?.problem ?? null,
    isCurrent: found?.query === query,
  };
};

export const RunsPage = ({ onOut }: { readonly onOut: () => void }) => {
  const [newest, setNewest] = useState<RunList | null>(null);
  const [filters, setFilters] = useState(NO_FILTERS);
  /** Where this page and those before it begin; empty: it is the first. */
  const [pages, setPages] = useState<readonly string[]>([]);
  const search = useRef<HTMLInputElement>(null);
  const live = useStream('/api/live', (data) => setNewest((data as ListMessage).list));
  useOut(live, onOut);
  const { list, problem, isCurrent } = useFound(queryOf(filters, pages.at(-1) ?? ''), newest);
  const places = useAnswer<Places>('/api/places', getJson).value;
  const older = list?.older ?? null;
  const choose = (chosen: Partial<Filters>): void => {
    setFilters({ ...filters, ...chosen });
    setPages([]);
  };
  const turn = (next: readonly string[]): void => {
    setPages(next);
    document.getElementById('main')?.focus();
    scrollTo(0, 0);
  };
  const toOlder = (): void => {
    if (older !== null) turn([...pages, older]);
  };
  const toNewer = (): void => {
    if (pages.length > 0) turn(pages.slice(0, -1));
  };
  useKeys({
    '/': () => search.current?.focus(),
    j: () => focusRun(1),
    k: () => focusRun(-1),
    ']': toOlder,
    '[': toNewer,
  });
  const runs = list?.runs ?? [];
  const isFiltered = Object.values(filters).join('') !== '';
  return (
    <>
      <h1>Runs</h1>
      <LinkMark live={live} note={newest?.note ?? null} />
      <FilterForm filters={filters} places={places} search={search} onChoice={choose} />
      <Alert text={problem} look="box bad" />
      {isCurrent && list !== null && runs.length === 0 && (
        <NoRuns isFiltered={isFiltered || pages.length > 0} />
      )}
      {GROUPS.map(([title, belongs]) => {
        const rows = runs.filter(belongs);
        return rows.length === 0 ? null : (
          <Part key={title} title={title} number={rows.length}>
            <ul class="runs">
              {rows.map((run) => (
                <RunRow key={run.stepKey} run={run} />
              ))}
            </ul>
          </Part>
        );
      })}
      <p class="quiet" role="status">
        {statusText(isCurrent, list, pages.length + 1)}
      </p>
      <nav class="row" aria-label="Pages">
        <button disabled={pages.length === 0} onClick={toNewer}>
          Newer
        </button>
        <button disabled={older === null} onClick={toOlder}>
          Older
        </button>
        {pages.length > 1 && <button onClick={() => turn([])}>Newest</button>}
      </nav>
    </>
  );
};

/** Rows of the search before stay until the answer comes. */
const statusText = (isCurrent: boolean, list: RunList | null, page: number): string => {
  if (!isCurrent) return 'Looking …';
  return list === null
    ? ''
    : `Page ${page}: ${count(list.runs.length, 'run')}; ${count(list.left_off, 'older run')}.`;
};

const focusRun = (by: number): void => {
  const links = [...document.querySelectorAll<HTMLAnchorElement>('a.run')];
  const at = links.findIndex((link) => link === document.activeElement);
  links[Math.max(0, Math.min(links.length - 1, at + by))]?.focus();
};

interface FilterFormProps {
  readonly filters: Filters;
  readonly places: Places | null;
  readonly search: { current: HTMLInputElement | null };
  readonly onChoice: (chosen: Partial<Filters>) => void;
}
const FilterForm = ({ filters, places, search, onChoice }: FilterFormProps) => (
  <form class="filters" role="search" onSubmit={(event) => event.preventDefault()}>
    <Search
      label="Search"
      field={search}
      value={filters.text}
      onWords={(text) => onChoice({ text })}
    />
    <Select
      label="Repository"
      value={filters.repository}
      options={orAll(places?.repositories ?? [])}
      onChoice={(repository) => onChoice({ repository })}
    />
    {(places?.plans ?? []).length > 0 && (
      <Select
        label="Plan"
        value={filters.plan}
        options={orAll(places?.plans ?? [])}
        onChoice={(plan) => onChoice({ plan })}
      />
    )}
    <Select
      label="State"
      value={filters.state}
      options={orAll(LISTED_STATES)}
      onChoice={(state) => onChoice({ state })}
    />
  </form>
);

const NoRuns = ({ isFiltered }: { readonly isFiltered: boolean }) =>
  isFiltered ? (
    <p class="box">No run matches.</p>
  ) : (
    <p class="box">
      No runs yet. Start one in a terminal: <code>emend run -m "what to change"</code>
    </p>
  );

const RunRow = ({ run }: { readonly run: ListedRun }) => (
  <li>
    <a
      class="run"
      href={`#/run/${run.stepKey}${run.decision?.reason === 'approval' ? '/review' : ''}`}
    >
      <span class="run-title">{run.title || run.jobPath || 'a run without a title'}</span>
      <StateMark state={run.state} />
      <span class="run-doing">{run.doing}</span>
      <span class="run-facts quiet">
        <code>{shownKey(run.stepKey)}</code> <span>{run.jobPath}</span> <span>{run.workspace}</span>{' '}
        {run.host?.name != null && <span>{visible(run.host.name)}</span>}{' '}
        <span>{timeText(run.startedAt)}</span>
      </span>
    </a>
  </li>
);
