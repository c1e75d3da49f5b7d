/** The recorded answers of test/edits/answers: each with and without a nonce. */
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Format } from '../../src/shared/formats.js';
import type { ApplyAnswerInput, OfferedFile } from '../../src/edits/types.js';

interface AnswerFile {
  readonly format: Format;
  /** Content by path; null: a file that may be created. */
  readonly files: Readonly<Record<string, string | null>>;
  /** `<<NONCE>>` stands where the nonce belongs. */
  readonly answer: string;
  readonly expected: Readonly<Record<string, string>>;
  /** Its bodies hold marker lines: without a nonce it is ambiguous. */
  readonly nonceOnly?: boolean;
}

export interface RecordedAnswer {
  readonly name: string;
  readonly input: ApplyAnswerInput;
  readonly expected: Readonly<Record<string, string>>;
}

const FOLDER = new URL('./answers/', import.meta.url);
const NONCE = '7f3a9c01be5d44e2a6c8';

const withoutNonce = (answer: string): string =>
  answer.replaceAll(', "nonce": "<<NONCE>>"', '').replaceAll(' <<NONCE>>', '');

export const recordedAnswers = (): RecordedAnswer[] =>
  readdirSync(fileURLToPath(FOLDER))
    .filter((name) => name.endsWith('.json'))
    .sort()
    .flatMap((name) => {
      const data = JSON.parse(readFileSync(new URL(name, FOLDER), 'utf8')) as AnswerFile;
      const files = new Map<string, OfferedFile>(
        Object.entries(data.files).map(([path, text]) => [
          path,
          { bytes: text === null ? null : Buffer.from(text) },
        ]),
      );
      const short = name.replace('.json', '');
      const made = (nonce: string | undefined): RecordedAnswer => ({
        name: `${short} (${nonce === undefined ? 'no nonce' : 'nonce'})`,
        input: {
          format: data.format,
          answer:
            nonce === undefined
              ? withoutNonce(data.answer)
              : data.answer.replaceAll('<<NONCE>>', nonce),
          files,
          options: { requireMarker: true, ...(nonce === undefined ? {} : { nonce }) },
        },
        expected: data.expected,
      });
      return data.nonceOnly === true ? [made(NONCE)] : [made(NONCE), made(undefined)];
    });
