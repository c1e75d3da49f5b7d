/** Thinking is not part of the response: text in `<think>`, `<thinking>`, `<reasoning>` and HTML comments outside of an edit is never applied. */
import { describe, expect, test } from '@jest/globals';
import { appendFileSync } from 'node:fs';
import {
  applyAnswer,
  detectFormat,
  nonceOf,
  type AnswerOutcome,
  type OfferedFile,
} from '../../src/edits/index.js';
import { DIALECTS, FORMATS, type AnswerFormat } from '../../src/shared/formats.js';
import { answerWith, EXPECTED, FILES, FORMS, PLACES, textsOf } from './thinking-answers.js';

const ALL: readonly AnswerFormat[] = [...FORMATS, ...DIALECTS];
const NONCE = '1a2b3c4d';
const utf8 = (text: string): Uint8Array => new TextEncoder().encode(text);
const offered = (files: Readonly<Record<string, readonly string[]>>): Map<string, OfferedFile> =>
  new Map(
    Object.entries(files).map(([path, lines]) => [
      path,
      { bytes: utf8(lines.map((line) => `${line}\n`).join('')) },
    ]),
  );
const OFFERED = offered(FILES);

/** The bytes that an outcome writes, as text, or its name. */
const writtenBy = (outcome: AnswerOutcome): string | Record<string, string> =>
  outcome.outcome === 'edited'
    ? Object.fromEntries(
        [...outcome.files].map(([path, file]) => [
          path,
          file === 'absent' ? 'absent' : Buffer.from(file.bytes).toString(),
        ]),
      )
    : outcome.outcome;

/** Reads an answer as a step does (with a nonce), or as `emend patch` does. */
const read = (format: AnswerFormat, answer: string, nonce: string | undefined): AnswerOutcome =>
  applyAnswer({
    format,
    answer,
    files: OFFERED,
    options:
      nonce === undefined
        ? { requireMarker: false, allowDelete: true, mayCreateUnder: [''] }
        : { requireMarker: true, nonce, stopReason: 'end_turn' },
  });
const isDraft = (outcome: AnswerOutcome): boolean =>
  JSON.stringify(writtenBy(outcome)).includes('99');

const MANNERS = [
  ['with a nonce', NONCE],
  ['without a nonce', undefined],
] as const;

describe.each(ALL)('%s', (format) => {
  test.each(MANNERS)('applies the edits outside of the thinking and nothing inside, %s', (_, nonce) => {
    const wrong: string[] = [];
    const isJson = format === 'structured-edit' || format === 'string-replace';
    let count = 0;
    for (const place of PLACES)
      for (const [form, wrap] of Object.entries(FORMS))
        for (const [text, draft] of Object.entries(textsOf(format, nonce))) {
          const answer = answerWith(format, nonce, wrap(draft), place);
          if (answer === null) continue;
          count += 1;
          const outcome = read(format, answer, nonce);
          const name = `${place}: ${form}: ${text}`;
          if (isDraft(outcome)) wrong.push(`${name}: the draft is applied`);
          else if (JSON.stringify(writtenBy(outcome)) !== JSON.stringify(EXPECTED)) {
            const { reasons = [] } = outcome as { reasons?: readonly { message: string }[] };
            wrong.push(`${name}: ${outcome.outcome}: ${reasons[0]?.message ?? ''}`);
          } else if (detectFormat(answer) !== format) wrong.push(`${name}: another format`);
          else if (!isJson && nonceOf(answer) !== nonce) wrong.push(`${name}: another nonce`);
        }
    expect(count).toBeGreaterThan(500);
    if (process.env.COUNT) { appendFileSync('/tmp/g-count.txt', `${format} ${_} ${count} drafts ${wrong.filter(w=>w.includes('draft is')).length} refused ${wrong.filter(w=>!w.includes('draft is')).length}\n`+ (process.env.COUNT==='2'?wrong.slice(0,40).join('\n')+'\n':'')); }
    expect(wrong).toEqual([]);
  });
});
