/** The options that a workflow of Emend is started with. Plain data, as JSON. */
import { SEARCH_ATTRIBUTES } from './names.js';
import { versioned } from './problems.js';
import { codeSpan, visible } from './text.js';

const SUMMARY_CHARS = 200; // bound: Of a title in the Temporal UI's list of runs.

export interface RunRequest<Input extends object> {
  readonly workflowId: string;
  readonly taskQueue: string;
  readonly input: Input;
  readonly title: string;
  /** Number of the run of a phase, shown from the second on. */
  readonly attempt?: number;
  readonly memo: object;
  readonly details: string;
  /** Values of search attributes by which a phase is found; null: the workflow sets its own. */
  readonly attributes: Readonly<Record<'stepKey' | 'workspace', string>> | null;
}

export const runOptions = <Input extends object>({
  workflowId,
  taskQueue,
  input,
  title,
  attempt = 1,
  memo,
  details,
  attributes,
}: RunRequest<Input>) => ({
  workflowId,
  taskQueue,
  args: [input] as [Input],
  memo: versioned({ ...memo }),
  staticSummary: summaryOf(
    `${visible(title).slice(0, SUMMARY_CHARS)}${attempt > 1 ? ` (run ${attempt})` : ''}`,
  ),
  staticDetails: details,
  ...(attributes === null
    ? {}
    : {
        typedSearchAttributes: (['stepKey', 'workspace'] as const).map((name) => ({
          key: { name: SEARCH_ATTRIBUTES[name], type: 'KEYWORD' as const },
          value: attributes[name],
        })),
      }),
});

/** Letters, digits, blanks and marks that no Markdown gives a meaning to, nor the Temporal UI. */
const PLAIN = /^\p{L}[\p{L}\p{N} :,()]*$/u;
/** Returns a title that is no markup. The timeline of the Temporal UI shows the backticks of a code span, so a plain title has none. */
const summaryOf = (title: string): string => (PLAIN.test(title) ? title : codeSpan(title));

/** As a child it outlives its parent, since it may hold a workspace; a cancel is passed on to it and its end waited for. */
export const childOptions = <Input extends object>(request: RunRequest<Input>) => ({
  ...runOptions(request),
  parentClosePolicy: 'ABANDON' as const,
  cancellationType: 'WAIT_CANCELLATION_COMPLETED' as const,
});
