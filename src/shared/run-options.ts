/** What a run carries from its start, whoever starts it: a client, a plan, or somebody else's workflow. Plain data, as JSON. */
import { SEARCH_ATTRIBUTES } from './names.js';
import { versioned } from './problems.js';
import type { RunInput } from './run.js';
import { codeSpan, visible } from './text.js';

const SUMMARY_CHARS = 200; // bound: Of a title in the Temporal UI's list of runs.

export interface RunRequest<Input extends RunInput> {
  readonly workflowId: string;
  readonly input: Input;
  readonly memo: object;
  readonly details: string;
}

export const runOptions = <Input extends RunInput>({
  workflowId,
  input,
  memo,
  details,
}: RunRequest<Input>) => ({
  workflowId,
  taskQueue: input.queues.workflow,
  args: [versioned(input)] as [Input],
  memo: versioned({ ...memo }),
  staticSummary: codeSpan(visible(input.title).slice(0, SUMMARY_CHARS)),
  staticDetails: details,
  ...(input.searchAttributes
    ? {
        typedSearchAttributes: (['stepKey', 'workspace'] as const).map((name) => ({
          key: { name: SEARCH_ATTRIBUTES[name], type: 'KEYWORD' as const },
          value: input[name],
        })),
      }
    : {}),
});

/** As a child it outlives its parent, since it may hold a workspace; a cancel is passed on to it and its end waited for. */
export const childOptions = <Input extends RunInput>(request: RunRequest<Input>) => ({
  ...runOptions(request),
  parentClosePolicy: 'ABANDON' as const,
  cancellationType: 'WAIT_CANCELLATION_COMPLETED' as const,
});
