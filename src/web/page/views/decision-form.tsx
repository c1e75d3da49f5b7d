/** A decision point with exactly the answers that it accepts, and what each of them needs. */
import { useRef, useState } from 'preact/hooks';
import type { RunView } from '../../../client/runs/show.js';
import {
  ANSWER_MEANS,
  hasOwnMeaning,
  isOfTheRest,
  meaningOf,
  takesSettings,
  WHOLE_ANSWERS,
  type Answer,
} from '../../../shared/decisions.js';
import { CHANGE_WORDS } from '../../../shared/event-text.js';
import { LIMITS } from '../../../shared/limits.js';
import { currentRules } from '../../../shared/rules.js';
import { partsFault } from '../../../shared/validate-decision.js';
import { decide } from '../api.js';
import { keep, toggled } from '../hooks.js';
import { openPaths } from '../model/verdicts.js';
import { Alert, DecisionSaid, ProposalSaid, type DecisionSaidProps } from './parts.js';

/** What an answer does, without the flags of the command line. */
const MEANS: Partial<Record<Answer, string>> = {
  retry: 'try again; a limit may be raised, a note is a hint for the model',
  other: 'run another command',
  change_model: 'ask another model from here on, also for the files that failed',
  start: 'start; a part without an answer gets its first one',
};

interface DecisionFormProps extends DecisionSaidProps {
  readonly stepKey: string;
}

export const DecisionForm = ({ stepKey, decision, proposal }: DecisionFormProps) => {
  const open = openPaths(decision);
  const { parts = [] } = decision;
  const shownFiles = proposal?.files.filter(({ to }) => to === undefined) ?? [];
  // Kept in the browser until it is sent.
  const draft = `emend-note-${decision.id}`;
  const [answer, setAnswer] = useState<Answer | null>(null);
  const [files, setFiles] = useState<ReadonlySet<string>>(new Set(open));
  const [said, setSaid] = useState<{ readonly good: boolean; readonly text: string } | null>(null);
  const [busy, setBusy] = useState(false);
  // Part of a file is chosen in the terminal (`emend review`), and a place there (`emend move`): a form cannot say which.
  const choices = decision.accepts.filter((each) => !['abort', 'select', 'move'].includes(each));
  const whole = answer === null || WHOLE_ANSWERS.includes(answer) || isOfTheRest(decision, answer);
  const perFile = !whole && decision.files.length > 1;
  const submit = async (event: SubmitEvent): Promise<void> => {
    event.preventDefault();
    if (answer === null) return;
    const form = new FormData(event.currentTarget as HTMLFormElement);
    const text = (name: string): string => ((form.get(name) ?? '') as string).trim();
    const set: Record<string, string | number> = {
      ...Object.fromEntries(
        parts.flatMap(({ name }) => (text(name) === '' ? [] : [[name, text(name)]])),
      ),
      ...(text('command') === '' ? {} : { command: text('command') }),
      ...(text('model') === '' ? {} : { model: text('model') }),
      ...(text('limit') === '' || text('value') === ''
        ? {}
        : { [text('limit')]: Number(text('value')) }),
    };
    const chosen = open.filter((path) => files.has(path));
    const request = {
      decision: decision.id,
      answer,
      ...(perFile && chosen.length < open.length ? { files: chosen } : {}),
      ...(text('note') === '' ? {} : { note: text('note') }),
      ...(Object.keys(set).length === 0 ? {} : { set }),
    };
    const fault = partsFault(currentRules(), request);
    if (fault !== null) {
      setSaid({ good: false, text: fault });
      return;
    }
    setBusy(true);
    try {
      const result = await decide(stepKey, request);
      sessionStorage.removeItem(draft);
      setSaid({ good: true, text: result.message });
    } catch (error) {
      setSaid({ good: false, text: String(error) });
    } finally {
      setBusy(false);
    }
  };
  return (
    <section aria-label="Decision" class="box ask">
      <DecisionSaid decision={decision} proposal={proposal} />
      {proposal !== null && (
        <>
          <ProposalSaid proposal={proposal} />
          <ul class="decision-files">
            {shownFiles.map(({ path, from, added, removed, change }) => (
              <li key={path}>
                <code>{from === undefined ? path : `${from} -> ${path}`}</code> +{added} -{removed}{' '}
                {CHANGE_WORDS[change]}
              </li>
            ))}
          </ul>
          <p>
            <a href={`#/run/${stepKey}/review`}>
              The work so far: {shownFiles.length} changed files
            </a>
          </p>
        </>
      )}
      <form onSubmit={(event) => void submit(event)} class="stack">
        <fieldset class="answers">
          <legend>Your answer</legend>
          {choices.map((each) => (
            <label key={each}>
              <input
                type="radio"
                name="answer"
                value={each}
                checked={answer === each}
                onChange={() => setAnswer(each)}
              />
              <span>
                <strong>{each.replaceAll('_', ' ')}</strong>{' '}
                {(hasOwnMeaning(decision, each) ? undefined : MEANS[each]) ??
                  meaningOf(decision, each)}
              </span>
            </label>
          ))}
        </fieldset>
        {perFile && (
          <fieldset class="answers">
            <legend>For these files</legend>
            {open.map((path) => (
              <label key={path}>
                <input
                  type="checkbox"
                  checked={files.has(path)}
                  onChange={() => setFiles(toggled(files, path))}
                />
                <code>{path}</code>
              </label>
            ))}
          </fieldset>
        )}
        {answer !== null && (answer === 'revise' || takesSettings(decision, answer)) && (
          <label>
            {answer === 'revise' ? 'What to change' : 'A hint for the model (optional)'}
            <textarea
              name="note"
              rows={3}
              defaultValue={JSON.parse(sessionStorage.getItem(draft) ?? '""') as string}
              onInput={(event) => keep(sessionStorage, draft, event.currentTarget.value)}
            />
          </label>
        )}
        {answer === 'start' &&
          parts.map(({ name, message, accepts }) => (
            <label key={name}>
              <strong>{name}</strong> <span class="said">{message}</span>
              <input
                name={name}
                class="wide"
                placeholder={`${accepts.join(', ')}; empty: ${accepts[0] ?? ''}`}
              />
            </label>
          ))}
        {(answer === 'other' ||
          (answer === 'start' && parts.some(({ name }) => name === 'tests'))) && (
          <label>
            {answer === 'other' ? 'Command' : 'Another test command'}
            <input name="command" class="wide" />
          </label>
        )}
        {answer === 'change_model' && (
          <label>
            Model <input name="model" class="wide" />
          </label>
        )}
        {answer !== null && takesSettings(decision, answer) && (
          <div class="row">
            <label>
              Limit{' '}
              <select
                name="limit"
                defaultValue={
                  decision.subject !== null && decision.subject in LIMITS ? decision.subject : ''
                }
              >
                <option value="">none</option>
                {Object.entries(LIMITS).map(([name, { unit }]) => (
                  <option key={name} value={name}>
                    {name} ({unit})
                  </option>
                ))}
              </select>
            </label>
            <label>
              Value <input name="value" type="number" step="any" />
            </label>
            <label>
              Model <input name="model" placeholder="as before" />
            </label>
          </div>
        )}
        <Alert text={said?.text ?? null} look={said?.good === true ? 'good-text' : 'bad-text'} />
        <button class="main" disabled={answer === null || busy || (perFile && files.size === 0)}>
          Send the answer
        </button>
      </form>
    </section>
  );
};

/** Ends the run; asks first. */
export const AbortButton = ({ view }: { readonly view: RunView }) => {
  const dialog = useRef<HTMLDialogElement>(null);
  const [said, setSaid] = useState<string | null>(null);
  const { decision } = view.status;
  if (decision === null) return null;
  const abort = async (): Promise<void> => {
    try {
      setSaid((await decide(view.stepKey, { decision: decision.id, answer: 'abort' })).message);
    } catch (error) {
      setSaid(String(error));
    }
  };
  return (
    <section aria-label="End the run" class="abort">
      <button onClick={() => dialog.current?.showModal()}>Abort the run …</button>
      <Alert text={said} />
      <dialog ref={dialog} aria-labelledby="abort-title">
        <h2 id="abort-title">Abort this run?</h2>
        <p>{ANSWER_MEANS.abort}.</p>
        <form method="dialog" class="row">
          <button autofocus>Leave it</button>
          <button class="danger" onClick={() => void abort()}>
            Abort
          </button>
        </form>
      </dialog>
    </section>
  );
};
