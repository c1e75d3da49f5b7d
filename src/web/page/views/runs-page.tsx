/** All runs: what waits for a person first, then what runs, then what has ended. */
import { useRef, useState } from 'preact/hooks';
import type { ListedRun, RunList } from '../../../client/runs/list.js';
import type { ListMessage } from '../../feeds.js';
import { useKeys, useStream, useOut } from '../hooks.js';
import { fitsFilter, LISTED_STATES } from '../../../shared/run.js';
import { visible } from '../../../shared/text.js';
import { count, LinkMark, Part, Search, Select, shownKey, StateMark, timeText } from './parts.js';

const GROUPS: readonly (readonly [string, (run: ListedRun) => boolean])[] = [
  ['Waiting for you', (run) => run.decision !== null],
  ['Running', (run) => run.decision === null && run.open],
  ['Ended', (run) => run.decision === null && !run.open],
];

const orAll = (values: readonly string[]) =>
  ['', ...values].map((each) => [each, each || 'all'] as const);

export const RunsPage = ({ onOut }: { readonly onOut: () => void }) => {
  const [list, setList] = useState<RunList | null>(null);
  const [words, setWords] = useState('');
  const [workspace, setWorkspace] = useState('');
  const [state, setState] = useState('');
  const search = useRef<HTMLInputElement>(null);
  const live = useStream('/api/live', (data) => setList((data as ListMessage).list));
  useOut(live, onOut);
  const step = (by: number): void => {
    const links = [...document.querySelectorAll<HTMLAnchorElement>('a.run')];
    const at = links.findIndex((link) => link === document.activeElement);
    links[Math.max(0, Math.min(links.length - 1, at + by))]?.focus();
  };
  useKeys({
    '/': () => search.current?.focus(),
    j: () => step(1),
    k: () => step(-1),
  });
  const runs = list?.runs ?? [];
  const found = runs.filter((run) => fitsFilter(run, { state, workspace, text: words }));
  const workspaces = [...new Set(runs.map((run) => run.workspace))]
    .filter((path) => path !== '')
    .sort();
  return (
    <>
      <h1>Runs</h1>
      <LinkMark live={live} note={list?.note ?? null} />
      <form class="filters" role="search" onSubmit={(event) => event.preventDefault()}>
        <Search label="Search" field={search} value={words} onWords={setWords} />
        <Select
          label="Repository"
          value={workspace}
          options={orAll(workspaces)}
          onChoice={setWorkspace}
        />
        <Select label="State" value={state} options={orAll(LISTED_STATES)} onChoice={setState} />
      </form>
      {list === null && <p class="quiet">Looking …</p>}
      {list !== null && runs.length === 0 && (
        <p class="box">
          No runs yet. Start one in a terminal: <code>emend run -m "what to change"</code>
        </p>
      )}
      {list !== null && runs.length > 0 && found.length === 0 && <p class="box">No run matches.</p>}
      {GROUPS.map(([title, belongs]) => {
        const rows = found.filter(belongs);
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
      {list !== null && list.left_off > 0 && (
        <p class="quiet">
          {count(list.left_off, 'older run')} not listed; `emend list --text` searches them.
        </p>
      )}
    </>
  );
};

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
