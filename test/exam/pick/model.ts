/**
 * What a model makes of the ranked list: the step's own request, its look for other words once, its answer read as the step reads it. No
 * server, no worker.
 */
import { createHash } from 'node:crypto';
import { checkedBy } from '../../../src/activities/frame/model-call.js';
import { ModelError } from '../../../src/model/errors.js';
import { nonceFor } from '../../../src/model/journal/records.js';
import { askOnce } from '../../../src/model/journal/answer.js';
import type { ModelPort } from '../../../src/model/ports.js';
import {
  buildPickRequest,
  candidateList,
  pickSchema,
  readJsonAnswer,
} from '../../../src/model/prompts/index.js';
import type { Candidate } from '../../../src/shared/pick.js';
import { failedCall } from '../model/direct.js';
import { newFileCheck } from '../../../src/workspace/files/index.js';

const OUTPUT_TOKENS = 600; // ten files with a few words each

export interface PickedBy {
  /** In the model's order; null: no answer could be used, and why. */
  readonly files: readonly string[] | null;
  readonly why: string;
  readonly calls: number;
  readonly s: number;
}
export interface Asked {
  readonly port: ModelPort;
  readonly name: string;
  readonly task: string;
  readonly files: readonly string[];
  /** The ranked list, for the task's words and those that the model asks to look for. */
  readonly rank: (words: readonly string[]) => Promise<readonly Candidate[]>;
}

export const pickedBy = async ({ port, name, task, files, rank }: Asked): Promise<PickedBy> => {
  const started = performance.now();
  let [calls, lookedFor]: [number, readonly string[] | null] = [0, null];
  for (;;) {
    calls += 1;
    const answer = await ask({ port, name, task, files }, await rank(lookedFor ?? []), lookedFor);
    if ('words' in answer && lookedFor === null) {
      lookedFor = answer.words;
      continue;
    }
    const s = (performance.now() - started) / 1000;
    if ('files' in answer)
      return { files: answer.files.map(({ path }) => path), why: '', calls, s };
    return {
      files: null,
      why: 'why' in answer ? answer.why : 'it asks for words once more',
      calls,
      s,
    };
  }
};

const ask = async (
  { port, name, task, files }: Omit<Asked, 'rank'>,
  candidates: readonly Candidate[],
  lookedFor: readonly string[] | null,
) => {
  const { text: list, listed } = candidateList(candidates, files.length);
  const shown = {
    instructions: task,
    rules: [],
    hints: [],
    list,
    lookedFor,
    create: true as const,
    refusal: null,
  };
  const built = buildPickRequest({ ...shown, model: name, outputBudget_tokens: OUTPUT_TOKENS });
  const nonce = nonceFor(
    createHash('sha256').update(`pick ${built.haystack}`).digest('hex'),
    built.haystack,
  );
  const answer = await askOnce(port, built.request(nonce), new AbortController().signal).catch(
    failedCall,
  );
  if (answer instanceof ModelError) return { why: answer.kind };
  const { text, stopReason } = answer;
  const reading = readJsonAnswer({ text, stopReason, nonce, requireMarker: true });
  if (reading.outcome !== 'complete')
    return { why: reading.outcome === 'invalid' ? reading.message : reading.outcome };
  const schema = pickSchema(listed, newFileCheck({ create: true, protected: [] }, files));
  const checked = checkedBy(schema, 'an object of files, each with path and why')(reading.value);
  return checked.ok ? checked.value : { why: checked.why };
};
