/** The review page: lets in whoever comes with a token, then shows the list, a run, or its changes. */
import { options, render } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { isLetIn, login } from './api.js';
import { visible } from '../../shared/text.js';
import { usePlace } from './hooks.js';
import './style.css';
import { LogIn, Shell } from './views/shell.js';
import { RunPages } from './views/run-page.js';
import { RunsPage } from './views/runs-page.js';

// Every text node of the page and every attribute that is read comes by here: names, titles, notes and lines are words of others.
const READ_ATTRIBUTES = ['title', 'aria-label', 'placeholder', 'alt'];
options.vnode = (vnode: { type: unknown; props: unknown }) => {
  if (typeof vnode.props === 'string') vnode.props = visible(vnode.props);
  if (typeof vnode.type !== 'string') return;
  const props = vnode.props as Record<string, unknown>;
  for (const name of READ_ATTRIBUTES)
    if (typeof props[name] === 'string') props[name] = visible(props[name]);
};

type Entry =
  | { readonly state: 'asking' | 'in' }
  | { readonly state: 'out'; readonly why: string | null };

/** The token is in the fragment, which no server is sent; it leaves the address at once. */
const enter = async (): Promise<Entry> => {
  const token = /^#token=([\w-]+)$/.exec(location.hash)?.[1];
  if (token !== undefined) history.replaceState(null, '', '#/');
  try {
    if (token !== undefined && !(await isLetIn())) await login({ token });
    return (await isLetIn()) ? { state: 'in' } : { state: 'out', why: null };
  } catch (error) {
    return { state: 'out', why: String(error) };
  }
};

const App = () => {
  const [entry, setEntry] = useState<Entry>({ state: 'asking' });
  const place = usePlace();
  useEffect(() => {
    void enter().then(setEntry);
    const again = (): void => {
      if (location.hash.startsWith('#token=')) void enter().then(setEntry);
    };
    addEventListener('hashchange', again);
    return () => removeEventListener('hashchange', again);
  }, []);
  if (entry.state === 'asking') return <p class="quiet page">One moment …</p>;
  if (entry.state === 'out')
    return <LogIn why={entry.why} onIn={() => setEntry({ state: 'in' })} />;
  const out = (): void => setEntry({ state: 'out', why: null });
  return (
    <Shell onOut={out}>
      {place.page === 'runs' ? (
        <RunsPage onOut={out} />
      ) : (
        <RunPages key={place.stepKey} place={place} onOut={out} />
      )}
    </Shell>
  );
};

render(<App />, document.getElementById('app') ?? document.body);
