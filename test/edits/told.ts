/** What an answer comes to, in a word or as the files afterwards: for tables of cases. */
import { applyAnswer, type AnswerOutcome, type ApplyOptions } from '../../src/edits/index.js';
import type { AnswerFormat } from '../../src/shared/formats.js';

export type Told = string | Readonly<Record<string, unknown>>;

/** New files may be made anywhere, files may be deleted, and no marker is asked for. */
export const apply = (
  format: AnswerFormat,
  answer: string,
  files: Readonly<Record<string, string>>,
  options: Partial<ApplyOptions> = {},
): AnswerOutcome =>
  applyAnswer({
    format,
    answer,
    files: new Map(
      Object.entries(files).map(([path, text]) => [path, { bytes: Buffer.from(text) }]),
    ),
    options: { requireMarker: false, mayCreateUnder: [''], allowDelete: true, ...options },
  });

/** Texts by path (null: it is gone), and `tolerances` as `tolerance:line`; else the outcome with the codes of its reasons, each with its edit. */
export const told = (...input: Parameters<typeof apply>): Told => {
  const outcome = apply(...input);
  if (outcome.outcome !== 'edited')
    return `${outcome.outcome} ${outcome.reasons.map(({ code, index }) => `${code} ${index ?? ''}`.trim()).join(', ')}`;
  const files = [...outcome.files].map(([path, file]): [string, string | null] => [
    path,
    file === 'absent' ? null : Buffer.from(file.bytes).toString(),
  ]);
  const tolerances = outcome.tolerances.map(({ tolerance, line }) => `${tolerance}:${line}`);
  return {
    ...(Object.fromEntries(files) as object),
    ...(tolerances.length === 0 ? {} : { tolerances }),
  };
};

/** The message of the first reason, or the outcome where there is none. */
export const firstMessage = (...input: Parameters<typeof apply>): string => {
  const outcome = apply(...input);
  return outcome.outcome === 'edited'
    ? outcome.outcome
    : (outcome.reasons[0]?.message ?? outcome.outcome);
};
