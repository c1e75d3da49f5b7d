/** The frame of all pages: way home, colours, help. */
import { useState, useEffect, useRef } from 'preact/hooks';
import type { ComponentChildren } from 'preact';
import { login, logout } from '../api.js';
import { useKeys } from '../hooks.js';
import { Alert } from './parts.js';

const KEYS: readonly (readonly [string, string])[] = [
  ['?', 'show this help'],
  ['g', 'back to the list of runs'],
  ['j  k', 'next and previous file (in the list: run)'],
  ['n  p', 'next and previous change'],
  ['a  s  r', 'approve, skip, revise this file'],
  [
    't  l',
    'accept or reject this hunk and go to the next (part of a file becomes a new proposal and is shown again)',
  ],
  ['u', 'clear the verdict on this file'],
  ['A', 'approve every file that has no verdict'],
  ['J  K', 'next and previous line'],
  ['c', 'comment on this line (on the file, if no line is marked)'],
  ['Ctrl Enter', 'save the comment'],
  ['x', 'mark this file as viewed, fold it and go to the next; or clear the mark'],
  ['e', 'to the tree of files: arrows move in it, Enter goes to the file'],
  ['f', 'fold or unfold the diff of this file'],
  ['v', 'side by side, or one column'],
  ['[  ]', 'newer and older runs (in the list)'],
  ['/', 'search'],
  ['Enter', 'send the verdicts (asks first)'],
];

type Theme = 'system' | 'light' | 'dark';
const THEMES: readonly Theme[] = ['system', 'light', 'dark'];
const themeNow = (): Theme =>
  THEMES.find((theme) => theme === localStorage.getItem('emend-theme')) ?? 'system';
const show = (theme: Theme): void => {
  if (theme === 'system') document.documentElement.removeAttribute('data-theme');
  else document.documentElement.setAttribute('data-theme', theme);
  localStorage.setItem('emend-theme', theme);
};

export const Shell = ({
  children,
  onOut,
}: {
  readonly children: ComponentChildren;
  readonly onOut: () => void;
}) => {
  const help = useRef<HTMLDialogElement>(null);
  const [theme, setTheme] = useState(themeNow);
  useEffect(() => show(theme), [theme]);
  useKeys({
    '?': () => help.current?.showModal(),
    g: () => {
      location.hash = '#/';
    },
  });
  const next = THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length] ?? 'system';
  return (
    <>
      <a
        class="skip-link"
        href="#main"
        onClick={(event) => {
          event.preventDefault();
          document.getElementById('main')?.focus();
        }}
      >
        To the content
      </a>
      <header class="top">
        <a href="#/" class="name">
          Emend
        </a>
        <span class="spring" />
        <button class="plain" onClick={() => setTheme(next)} title="Colours: system, light or dark">
          Colours: {theme}
        </button>
        <button class="plain" onClick={() => help.current?.showModal()}>
          Keys <kbd>?</kbd>
        </button>
        <button class="plain" onClick={() => void logout().then(onOut)}>
          Sign out
        </button>
      </header>
      <main id="main" tabIndex={-1} class="page">
        {children}
      </main>
      <dialog ref={help} aria-labelledby="help-title" class="help">
        <h2 id="help-title">Keys</h2>
        <dl>
          {KEYS.map(([keys, what]) => (
            <div key={keys}>
              <dt>
                {keys.split('  ').map((key) => (
                  <kbd key={key}>{key}</kbd>
                ))}
              </dt>
              <dd>{what}</dd>
            </div>
          ))}
        </dl>
        <form method="dialog">
          <button class="main" autofocus>
            Close
          </button>
        </form>
      </dialog>
    </>
  );
};

// For those who are not let in yet.

export const LogIn = ({
  why,
  onIn,
}: {
  readonly why: string | null;
  readonly onIn: () => void;
}) => {
  const [said, setSaid] = useState(why);
  const submit = async (event: SubmitEvent): Promise<void> => {
    event.preventDefault();
    const fields = Object.fromEntries(new FormData(event.currentTarget as HTMLFormElement));
    try {
      await login(fields as { secret: string; name: string });
      onIn();
    } catch (error) {
      setSaid(String(error));
    }
  };
  return (
    <main class="page door">
      <h1>Emend</h1>
      <Alert text={said} look="box bad" />
      <p>
        Open the address that <code>emend dev</code> or <code>emend web</code> printed last. Each
        works once, for one browser; then the terminal prints the next.
      </p>
      <details>
        <summary>Sign in with a shared secret</summary>
        <form onSubmit={(event) => void submit(event)} class="stack">
          <label>
            Your name <input name="name" autocomplete="username" required maxLength={100} />
          </label>
          <label>
            Secret <input name="secret" type="password" autocomplete="current-password" required />
          </label>
          <button class="main">Sign in</button>
        </form>
      </details>
    </main>
  );
};
