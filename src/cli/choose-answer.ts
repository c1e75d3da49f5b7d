/** The dialog at a decision in the terminal: a key, a confirmation if the answer concerns several files, and what the answer needs. */
import type { DecideOptions } from '../client/runs/decide.js';
import { takesSettings, type Answer, type DecisionPoint } from '../shared/decisions.js';
import { ProblemError } from '../shared/problems.js';
import {
  actionOf,
  confirmationOf,
  explanationLines,
  readConfirmation,
  unknownKeyText,
  type Question,
} from './decision-menu.js';
import type { Io } from './io.js';
import { plain } from './render/text.js';
import { decisionSettings } from './session.js';

type Settings = NonNullable<DecideOptions['set']>;
type Details = Pick<DecideOptions, 'note' | 'set'>;

/** A complete answer, or a request that sends nothing. */
export type Choice =
  | (Details & {
      readonly kind: 'answer';
      readonly answer: Answer;
      /** Empty: all that have no answer yet. */
      readonly files: readonly string[];
    })
  | { readonly kind: 'hunks' | 'diff' | 'quit' };

export interface Dialog {
  readonly io: Io;
  readonly signal: AbortSignal;
  /** Turns a directory or a URL into the settings of `move`. Throws ProblemError. */
  readonly placeSettings: (place: string) => Promise<Settings>;
}

/** Asks until a key of the menu is typed. Null: the input ended or the signal aborted. */
export const chooseAnswer = async (dialog: Dialog, question: Question): Promise<Choice | null> => {
  const { io, signal } = dialog;
  for (;;) {
    const typed = await io.key('> ', signal);
    if (typed === null) return null;
    const action = actionOf(typed, question);
    if (action === null) {
      io.out(plain(unknownKeyText(typed, question)));
      continue;
    }
    if (action.kind === 'explain') {
      for (const text of explanationLines(question, io.columns)) io.out(text);
      continue;
    }
    if (action.kind !== 'answer') return { kind: action.kind };
    const choice = await completeAnswer(dialog, question, action.answer);
    if (choice !== null) return choice;
    if (signal.aborted) return null;
    io.out('Nothing was sent.');
  }
};

/** Asks for everything that the answer needs. Null: it is not confirmed or not complete. */
const completeAnswer = async (
  dialog: Dialog,
  question: Question,
  answer: Answer,
): Promise<Choice | null> => {
  const files = await confirmedFiles(dialog, question, answer);
  if (files === null) return null;
  const details = await detailsFor(dialog, answer, question.decision);
  return details === null ? null : { kind: 'answer', answer, files, ...details };
};

/** Returns the files that the confirmation names. Null: it is declined. Enter alone and Ctrl-D decline it. */
const confirmedFiles = async (
  { io, signal }: Dialog,
  question: Question,
  answer: Answer,
): Promise<readonly string[] | null> => {
  const confirmation = confirmationOf(question, answer);
  if (confirmation === null) return [];
  const { text, paths } = confirmation;
  for (;;) {
    const typed = await (paths === null ? io.key(text, signal) : io.ask(text, signal));
    if (typed === null) return null;
    const confirmed = readConfirmation(typed, confirmation);
    if (confirmed.kind === 'yes') return confirmed.files;
    if (confirmed.kind === 'no') return null;
    io.out(plain(confirmed.message));
  }
};

/** Asks for what an answer needs in addition to its name. Null: the input is empty, although the answer needs one. */
const detailsFor = async (
  dialog: Dialog,
  answer: Answer,
  decision: DecisionPoint,
): Promise<Details | null> => {
  const { io, signal } = dialog;
  switch (answer) {
    case 'start':
      return startDetails(dialog, decision.parts ?? []);
    case 'retry':
      return takesSettings(decision, answer) ? retryDetails(dialog) : {};
    case 'revise': {
      const note = await io.ask('What should change? ', signal);
      return note === null || note.trim() === '' ? null : { note };
    }
    case 'other': {
      const command = await requiredText(dialog, 'Which command? ');
      return command === null ? null : { set: { command } };
    }
    case 'change_model': {
      const model = await requiredText(dialog, 'Which model? ');
      return model === null ? null : { set: { model } };
    }
    case 'move':
      return moveDetails(dialog);
    default:
      return {};
  }
};

/** Asks for one value. Null: the input is empty or ended. */
const requiredText = async ({ io, signal }: Dialog, prompt: string): Promise<string | null> => {
  const text = (await io.ask(prompt, signal))?.trim() ?? '';
  return text === '' ? null : text;
};

const startDetails = async (
  { io, signal }: Dialog,
  parts: NonNullable<DecisionPoint['parts']>,
): Promise<Details | null> => {
  const set: Record<string, string> = {};
  for (const { name, accepts } of parts) {
    const more = name === 'tests' ? ', or another command' : '';
    const prompt = `${name}: ${accepts.join(', ')}${more} (Enter: ${accepts[0] ?? ''}) `;
    const typed = await io.ask(prompt, signal);
    if (typed === null) return null;
    const value = typed.trim();
    if (value === '') continue;
    set[name === 'tests' && !accepts.includes(value) ? 'command' : name] = value;
  }
  return { set };
};

const retryDetails = async ({ io, signal }: Dialog): Promise<Details | null> => {
  const typed = await io.ask('LIMIT=VALUE, or a hint for the model (Enter: neither): ', signal);
  if (typed === null) return null;
  const text = typed.trim();
  if (text === '') return {};
  if (!/^[A-Za-z_]+=\S+$/.test(text)) return { note: typed };
  const set = await settingsOrMessage(io, () => decisionSettings([text]));
  return set === null ? null : { set };
};

const moveDetails = async (dialog: Dialog): Promise<Details | null> => {
  const prompt = 'A directory with these files, or the URL of a repository: ';
  const place = await requiredText(dialog, prompt);
  if (place === null) return null;
  const set = await settingsOrMessage(dialog.io, () => dialog.placeSettings(place));
  return set === null ? null : { set };
};

/** Reads settings from typed text. Null: the text is refused, and the reason is printed. */
const settingsOrMessage = async (
  io: Io,
  read: () => Promise<Settings>,
): Promise<Settings | null> => {
  try {
    return await read();
  } catch (error) {
    if (!(error instanceof ProblemError) || error.problem.code === 'no_server') throw error;
    io.out(plain(error.problem.message));
    return null;
  }
};
