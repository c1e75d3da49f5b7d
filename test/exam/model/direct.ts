/**
 * A task asked of the model directly: the prompt that the edit step would send, the answer judged by the edit engine, a refusal told as
 * the step tells it. No server, no worker, nothing approved: for comparing prompts. One call over all files of the task.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { doWork } from '../../../src/activities/frame/edit-work.js';
import { renderReasons } from '../../../src/edits/index.js';
import type { AnswerOutcome } from '../../../src/edits/types.js';
import {
  closeEditPrompt,
  type EditPromptInput,
  NOTHING_ELSE,
} from '../../../src/model/prompts/edit.js';
import { ModelError } from '../../../src/model/errors.js';
import { nonceFor } from '../../../src/model/journal/records.js';
import { estimateRequestTokens } from '../../../src/model/tokens.js';
import { askOnce } from '../../../src/model/journal/answer.js';
import type { ModelPort } from '../../../src/model/ports.js';
import type { Format } from '../../../src/shared/formats.js';
import { LIMITS } from '../../../src/shared/limits.js';
import { tokensIn } from '../../../src/shared/usage.js';
import { languageOf } from '../../../src/syntax/index.js';
import { answerWork, type KeptAnswer, verdictOf } from './answers.js';
import { directInput_tokens, directOutput_tokens } from './limits.js';
import { attemptOf, headOf, type TaskRun } from './run-task.js';
import { check, layOut } from './scratch.js';
import { sha256, type Task } from './task.js';

export interface DirectOptions {
  readonly model: ModelPort;
  readonly name: string;
  readonly format: Format;
  /** Another number makes another nonce, and so another request. */
  readonly regeneration: number;
}

type Refusal = EditPromptInput['refusal'];
type Asked = Omit<KeptAnswer, 'verdict'>;

/** Asks until an answer is used, or as often as the step would. A call that fails ends the task under the failure's name: the others go on. */
export const askDirectly = async (
  task: Task,
  { model, name, format, regeneration }: DirectOptions,
): Promise<{ run: TaskRun; answers: KeptAnswer[] }> => {
  const started = performance.now();
  const answers: KeptAnswer[] = [];
  const refusals: string[] = [];
  let refusal: Refusal = null;
  let outcome = 'attempts_exhausted';
  let after = { passed: false, why: 'nothing was applied' };
  for (let asked = 0; asked < (LIMITS.maxAttemptsPerFile.default ?? 1); asked += 1) {
    const answer: Asked | ModelError = await ask(
      task,
      { model, name, format, regeneration },
      refusal,
      asked,
    ).catch(failedCall);
    if (answer instanceof ModelError) {
      outcome = answer.kind;
      after = { passed: false, why: answer.message };
      break;
    }
    const judged: AnswerOutcome = await doWork('answer', answerWork(task, answer));
    answers.push({ ...answer, verdict: verdictOf(judged) });
    if (judged.outcome === 'edited') {
      const results = [...judged.files].flatMap(([path, file]): [string, Buffer][] =>
        file === 'absent' ? [] : [[path, Buffer.from(file.bytes)]],
      );
      after = checkResult(task, new Map([...task.base, ...results]));
      outcome = after.passed ? 'solved' : 'wrong';
      break;
    }
    outcome =
      judged.outcome === 'refused' || judged.outcome === 'invalid'
        ? 'attempts_exhausted'
        : judged.outcome;
    if (!['refused', 'invalid', 'unmarked'].includes(judged.outcome)) break;
    refusal = { kind: 'refused', reasons: renderReasons(judged.reasons), answer: answer.text };
    refusals.push(`${judged.outcome}: ${refusal.reasons.split('\n')[0] ?? ''}`);
  }
  const sum = (of: (answer: KeptAnswer) => number): number =>
    answers.reduce((all, answer) => all + of(answer), 0);
  const run: TaskRun = {
    ...headOf(task, format),
    outcome,
    asked: (answers.at(-1)?.verdict?.asks ?? []).length > 0,
    message: after.why,
    attempts: answers.map(attemptOf),
    fallback: [],
    refusals,
    calls: answers.length,
    unknownCalls: 0,
    input_tokens: sum(({ input_tokens }) => input_tokens),
    output_tokens: sum(({ output_tokens }) => output_tokens),
    usd: null,
    seconds: (performance.now() - started) / 1000,
    before: { passed: false, why: '' },
    after,
    outside: [],
  };
  return { run, answers };
};

/** A call's failure is a value here. Throws anything else. */
export const failedCall = (error: unknown): ModelError => {
  if (error instanceof ModelError) return error;
  throw error;
};

const ask = async (
  task: Task,
  { model, name, format, regeneration }: DirectOptions,
  refusal: Refusal,
  asked: number,
): Promise<Asked> => {
  const paths = [...task.job.targetFiles, ...task.job.outputFiles];
  const prompt = await doWork('prompt', {
    model: name,
    format,
    outputBudget_tokens: directOutput_tokens,
    inputBudget_tokens: directInput_tokens,
    files: paths.map((path) => ({ path, bytes: task.base.get(path) ?? null, encoding: null })),
    instructions: task.job.instructions,
    ...NOTHING_ELSE,
    refusal,
    symbols: paths.some((path) => languageOf(path) !== null),
  });
  const built = closeEditPrompt(prompt, format, paths);
  const nonce = nonceFor(
    sha256(`exam ${task.hash} ${format} ${regeneration} ${asked}`),
    built.haystack,
  );
  const request = built.request(nonce);
  const started = performance.now();
  const { text, stopReason, usage } = await askOnce(model, request, new AbortController().signal);
  const seconds = (performance.now() - started) / 1000;
  return {
    role: 'edit',
    file: '*',
    region: '*',
    format,
    outputBudget_tokens: directOutput_tokens,
    estimatedInput_tokens: estimateRequestTokens(request),
    nonce,
    stopReason,
    text,
    input_tokens: tokensIn(usage),
    output_tokens: usage.output_tokens,
    seconds,
    seen: Object.fromEntries(built.seen),
  };
};

const checkResult = (task: Task, files: Task['base']) => {
  const dir = mkdtempSync(join(tmpdir(), 'emend-exam-'));
  try {
    return check(task, layOut(dir, files));
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
};
