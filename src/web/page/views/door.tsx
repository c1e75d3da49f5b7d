/** For those who are not let in yet. */
import { useState } from 'preact/hooks';
import { login } from '../api.js';

export const Door = ({ why, onIn }: { readonly why: string | null; readonly onIn: () => void }) => {
  const [said, setSaid] = useState(why);
  const submit = async (event: SubmitEvent): Promise<void> => {
    event.preventDefault();
    const form = new FormData(event.currentTarget as HTMLFormElement);
    const text = (name: string): string => {
      const value = form.get(name);
      return typeof value === 'string' ? value : '';
    };
    try {
      await login({ secret: text('secret'), name: text('name') });
      onIn();
    } catch (error) {
      setSaid(error instanceof Error ? error.message : String(error));
    }
  };
  return (
    <main class="page door">
      <h1>Emend</h1>
      {said !== null && (
        <p role="alert" class="box bad">
          {said}
        </p>
      )}
      <p>
        Open the address that <code>emend dev</code> or <code>emend web</code> printed last. Each is good for one
        browser, once; after that the terminal shows the next.
      </p>
      <details>
        <summary>There is a shared secret</summary>
        <form onSubmit={(event) => void submit(event)} class="stack">
          <label>
            Your name <input name="name" autocomplete="username" required maxLength={100} />
          </label>
          <label>
            Secret <input name="secret" type="password" autocomplete="current-password" required />
          </label>
          <button class="main">Enter</button>
        </form>
      </details>
    </main>
  );
};
