/** The request for an audit of a change, and the reading of its (hostile) answer. */
import { z } from 'zod';
import { LISTING_LEGEND, type DiffSection } from '../../edits/index.js';
import { AUDIT_VERDICTS, type AuditReport } from '../../shared/audit.js';
import type { Finding } from '../../shared/formats.js';
import { estimateTokens } from '../tokens.js';
import { bounded, fenced, type BuiltRequest } from './blocks.js';
import { CHARS_PER_TOKEN, rulesText, showFiles, type PromptFile } from './files.js';
import { buildJsonRequest, type JsonPrompt } from './plan.js';
import type { PromptInput } from './edit.js';

const FINDINGS = 20; // bound: Findings of an audit that are kept,
const SENTENCE_CHARS = 240; // bound: and characters of each.
const AUDIT_FILES_TOKENS = 2000; // bound: However long rules and task are, this much of the files is shown, and as much of the diff.
const NAMED_FILES = 5; // bound: Files of the change that are named where an answer names another.

const SYSTEM = `You audit a change to a software project that another model made. You are shown the task, the diff, and the changed files as the change leaves them. Say whether the change does what the task asks, whole and correctly, and breaks nothing else.
- Answer with {"verdict", "findings": [{"file", "line", "sentence"}]}.
- "verdict": "pass": it is right. "pass_with_warnings": it may stand, and a person should read the findings. "fail_soft": you doubt it, and a person must decide. "fail_hard": it is certainly wrong and must be made anew.
- "findings": the gravest first, at most ${FINDINGS}; none with "pass", at least one with every other verdict. "file" is a path of the change, spelled as shown. "line" is the number of a line of that file as the change leaves it, or null. "sentence" is one sentence that says what is wrong there, and why.
- Judge what was changed, not what was there before. Write no code.`;

const SHOWN = { shows: 'checked', needsWholeFile: false, readOnly: true } as const;

/** Lines of each file that the change made, or beside which it took some away: in a file that does not fit, windows round them are shown. */
export const changedPlaces = (sections: readonly DiffSection[]): ReadonlyMap<string, string> =>
  new Map(
    sections.map(({ path, hunks }) => [
      path,
      hunks
        .flatMap(({ changes }) =>
          changes.map(({ r0, r1 }) => `lines ${r0 + 1}-${Math.max(r0 + 1, r1)}`),
        )
        .join(', '),
    ]),
  );

export interface AuditPrompt extends PromptInput {
  readonly diff: string;
}

const taskOf = ({ instructions, rules, hints }: AuditPrompt): string =>
  rulesText(rules, hints) + instructions.trim();

/** Tokens that files and diff may have together, half each where both want more. */
const roomOf = (input: AuditPrompt): number =>
  Math.max(
    2 * AUDIT_FILES_TOKENS,
    input.inputBudget_tokens - estimateTokens(SYSTEM + LISTING_LEGEND + taskOf(input)),
  );

const diffOf = (input: AuditPrompt): string =>
  bounded(input.diff, Math.max(AUDIT_FILES_TOKENS, roomOf(input) / 2) * CHARS_PER_TOKEN);

/** Files as the change leaves them, whole where they fit beside the diff; `partly`: what is not shown whole; `lines`: how many each has. */
export function auditedFiles(
  input: AuditPrompt,
  files: readonly PromptFile[],
): {
  readonly text: string;
  readonly partly: readonly string[];
  readonly lines: ReadonlyMap<string, number>;
} {
  const diff = diffOf(input);
  const free_tokens = roomOf(input) - estimateTokens(diff);
  const { text, seen } = showFiles(files, SHOWN, { hints: '', budget_tokens: free_tokens });
  const lines = new Map(files.map((file) => [file.path, file.text?.lines.length ?? 0]));
  return { text, lines, partly: [...seen.keys(), ...(diff === input.diff ? [] : ['the diff'])] };
}

export const buildAuditRequest = (
  input: AuditPrompt & { readonly files: string } & Pick<JsonPrompt, 'refusal'>,
): BuiltRequest =>
  buildJsonRequest({
    ...input,
    system: SYSTEM,
    parts: [
      ['The task', taskOf(input)],
      ['The diff', fenced(diffOf(input))],
      [
        'The files as the change leaves them',
        input.files === '' ? '' : `${LISTING_LEGEND}\n\n${input.files}`,
      ],
    ],
  });

type Judged = Pick<AuditReport, 'verdict' | 'findings'>;

/**
 * `files`: lines of each file of the change. A finding elsewhere makes the answer unusable, and so does a verdict other than `pass` without
 * one; a line that the file does not have is left out. A pass with findings is one with warnings.
 */
export const auditSchema = (files: ReadonlyMap<string, number>): z.ZodType<Judged> => {
  const named = [...files.keys()].slice(0, NAMED_FILES).join(', ');
  const finding = z
    .object({
      file: z
        .string()
        .refine((path) => files.has(path), { error: `a file of the change (${named})` }),
      line: z.int({ error: 'the number of a line, or null' }).nullable().default(null),
      sentence: z
        .string()
        .transform(oneLine)
        .refine((text) => text !== '', { error: 'a sentence' }),
    })
    .transform(({ file: path, line, sentence: message }): Finding => {
      const isThere = line !== null && line >= 1 && line <= (files.get(path) ?? 0);
      return {
        guard: 'audit',
        severity: 'note',
        path,
        ...(isThere ? { lines: [line, line] } : {}),
        message,
      };
    });
  return z
    .object({
      verdict: z.enum(AUDIT_VERDICTS, { error: `one of ${AUDIT_VERDICTS.join(', ')}` }),
      findings: z
        .array(finding, { error: 'a list of findings' })
        .transform((all) => all.slice(0, FINDINGS)),
    })
    .refine(({ verdict, findings }) => verdict === 'pass' || findings.length > 0, {
      error: 'a finding with this verdict',
    })
    .transform(({ verdict, findings }) => ({
      verdict: verdict === 'pass' && findings.length > 0 ? 'pass_with_warnings' : verdict,
      findings,
    }));
};

/** No control character, no mark that turns the order of text, no second line. */
export const oneLine = (text: string): string =>
  text
    .replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\s]+/gu, ' ')
    .trim()
    .slice(0, SENTENCE_CHARS);
