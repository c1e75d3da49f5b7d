/**
 * Answers of a run, kept so that a changed parser can be tried on them with no model: from the call journal to one JSON file
 * per task and format, and from such an answer to its outcome by today's edit engine.
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { doWork } from '../../../src/activities/frame/edit-work.js';
import type {
  AnswerOutcome,
  ApplyAnswerInput,
  OfferedFile,
  StopReason,
} from '../../../src/edits/types.js';
import type { AnswerRecord, CallRecord } from '../../../src/model/journal/records.js';
import { estimateRequestTokens } from '../../../src/model/tokens.js';
import type { Format } from '../../../src/shared/formats.js';
import { shownRecordOf } from '../../../src/shared/ids.js';
import { storePaths } from '../../../src/stores/location.js';
import { sha256, type Task } from './task.js';

/** What today's engine makes of an answer. `null`: no edit (a brief, a choice of files), or of a region. */
export interface Verdict {
  readonly outcome: string;
  /** Codes of the reasons, in order. */
  readonly reasons: readonly string[];
  readonly tolerances: readonly string[];
  /** Path -> sha-256 of the result, or `absent`. */
  readonly results: Readonly<Record<string, string>>;
  /** Guards for which a person is asked even where approval is automatic. Absent in answers that were kept before it was noted. */
  readonly asks?: readonly string[];
}
export interface KeptAnswer {
  readonly role: string;
  /** `*`: the whole step. */
  readonly file: string;
  readonly region: string;
  readonly format: string;
  readonly outputBudget_tokens: number;
  /** Of the request, by our estimate. */
  readonly estimatedInput_tokens: number;
  readonly nonce: string;
  readonly stopReason: StopReason;
  readonly text: string;
  readonly input_tokens: number;
  readonly output_tokens: number;
  readonly seconds: number;
  /** Line ranges that were shown, by path; absent: whole. */
  readonly seen: Readonly<Record<string, readonly (readonly [number, number])[]>>;
  readonly verdict: Verdict | null;
}
export interface KeptRun {
  readonly v: 1;
  readonly task: string;
  readonly taskHash: string;
  /** As given to the exam: a format or `auto`. */
  readonly format: string;
  /** As the server names itself. `rehearsal` in it: scripted, no model's. */
  readonly model: string;
  readonly date: string;
  readonly answers: readonly KeptAnswer[];
}

/** The answers on disk of one step, in the order in which their calls were recorded. Calls without an answer are not among them. */
export const answersOf = async (
  store: string,
  stepKey: string,
  task: Task,
): Promise<KeptAnswer[]> => {
  const paths = storePaths(store);
  const dir = join(paths.calls, stepKey);
  if (!existsSync(dir)) return [];
  const calls = readdirSync(dir)
    .filter((key) => existsSync(join(dir, key, 'answer.json')))
    .map((key) => ({
      key,
      call: JSON.parse(readFileSync(join(dir, key, 'call.json'), 'utf8')) as CallRecord,
      record: JSON.parse(readFileSync(join(dir, key, 'answer.json'), 'utf8')) as AnswerRecord,
    }))
    .sort((a, b) => (a.call.at < b.call.at ? -1 : 1));
  const kept: KeptAnswer[] = [];
  for (const { key, call, record } of calls) {
    const seenFile = join(paths.records, `${shownRecordOf(stepKey, key)}.json`);
    const seen = existsSync(seenFile)
      ? (JSON.parse(readFileSync(seenFile, 'utf8')) as { shown: KeptAnswer['seen'] }).shown
      : {};
    const answer = {
      role: call.key.role,
      file: call.key.file,
      region: call.key.region,
      format: call.key.format,
      outputBudget_tokens: call.key.outputBudget_tokens,
      estimatedInput_tokens: estimateRequestTokens(call.request),
      nonce: call.nonce,
      stopReason: record.answer.stopReason,
      text: record.answer.text,
      input_tokens:
        record.usage.input_tokens + record.usage.cacheRead_tokens + record.usage.cacheWrite_tokens,
      output_tokens: record.usage.output_tokens,
      seconds: record.usage.seconds,
      seen,
    };
    kept.push({ ...answer, verdict: await judge(task, answer) });
  }
  return kept;
};

/** As the propose activity judges it: same files, same options. */
export const judge = async (
  task: Task,
  answer: Omit<KeptAnswer, 'verdict'>,
): Promise<Verdict | null> =>
  answer.role !== 'edit' || answer.region !== '*'
    ? null
    : verdictOf(await doWork('answer', answerWork(task, answer)));

export const answerWork = (task: Task, answer: Omit<KeptAnswer, 'verdict'>): ApplyAnswerInput => {
  const paths =
    answer.file === '*' ? [...task.job.targetFiles, ...task.job.outputFiles] : [answer.file];
  const files = new Map(
    paths.map((path): [string, OfferedFile] => {
      const bytes = task.base.get(path) ?? null;
      const seen = answer.seen[path];
      return [
        path,
        {
          bytes,
          ...(bytes === null ? {} : { mode: 0o100644 }),
          ...(seen === undefined ? {} : { seen }),
        },
      ];
    }),
  );
  return {
    format: answer.format as Format,
    answer: answer.text,
    files,
    options: {
      nonce: answer.nonce,
      requireMarker: true,
      stopReason: answer.stopReason,
      tolerances: {},
      guards: {},
      asked: task.job.instructions,
      base: new Map(
        [...files].map(([path, { bytes }]) => [path, bytes === null ? 'absent' : sha256(bytes)]),
      ),
      ...(task.job.finalNewline === null ? {} : { finalNewline: task.job.finalNewline }),
      newFileEol: '\n',
    },
  };
};

export const verdictOf = (outcome: AnswerOutcome): Verdict =>
  outcome.outcome === 'edited'
    ? {
        outcome: 'edited',
        reasons: [],
        tolerances: [...new Set(outcome.tolerances.map(({ tolerance }) => tolerance))].sort(),
        results: Object.fromEntries(
          [...outcome.files].map(([path, file]) => [
            path,
            file === 'absent' ? 'absent' : sha256(file.bytes),
          ]),
        ),
        asks: [
          ...new Set(
            outcome.findings.flatMap(({ guard, severity }) => (severity === 'ask' ? [guard] : [])),
          ),
        ].sort(),
      }
    : {
        outcome: outcome.outcome,
        reasons: outcome.reasons.map(({ code }) => code),
        tolerances: [],
        results: {},
      };

const fileOf = (dir: string, task: string, format: string): string =>
  join(dir, `${task}.${format}.json`);

export const keepRun = (dir: string, run: KeptRun): void => {
  mkdirSync(dir, { recursive: true });
  writeFileSync(fileOf(dir, run.task, run.format), `${JSON.stringify(run, null, 1)}\n`);
};

export const readKept = (dir: string): readonly KeptRun[] =>
  readdirSync(dir)
    .filter((name) => name.endsWith('.json'))
    .sort()
    .map((name) => JSON.parse(readFileSync(join(dir, name), 'utf8')) as KeptRun);
