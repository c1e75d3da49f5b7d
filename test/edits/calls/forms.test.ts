/** Calls of other tools' edits: an example of every form in every row of the table, the envelopes they come in, and the table in the docs. */
import { readFileSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';
import { CALL_FORMS, type CallForm, formTable } from '../../../src/edits/calls/forms.js';
import { argumentOf, plainKey } from '../../../src/edits/calls/arguments.js';
import { applyAnswer, detectFormat } from '../../../src/edits/index.js';
import { BASE, ENVELOPES, EXAMPLES } from './examples.js';

const idOf = ({ source, names, command, keys }: CallForm): string => {
  const name = command ?? names[0] ?? keys.edits;
  return name === undefined ? source : `${source} ${name}`;
};
/** Forms of one name and source, which differ in their keys alone, have one of these behind it. */
const idsOf = (form: CallForm): readonly string[] => [
  idOf(form),
  ...Object.values(form.keys).map((key) => `${idOf(form)} ${key}`),
];

interface Outcome {
  readonly files: Readonly<Record<string, string | null>> | null;
  readonly codes: readonly string[];
  readonly messages: readonly string[];
}
const outcomeOf = (response: string): Outcome => {
  const format = detectFormat(response);
  if (format === null) throw new Error(`no format: ${response}`);
  const files = new Map(
    Object.entries(BASE).map(([path, text]) => [path, { bytes: Buffer.from(text) }]),
  );
  const options = { requireMarker: false, allowDelete: true, mayCreateUnder: [''] };
  const outcome = applyAnswer({ format, answer: response, files, options });
  if (outcome.outcome !== 'edited')
    return {
      files: null,
      codes: outcome.reasons.map(({ code }) => code),
      messages: outcome.reasons.map(({ message }) => message),
    };
  const results = [...outcome.files].map(([path, file]) => [
    path,
    file === 'absent' ? null : Buffer.from(file.bytes).toString(),
  ]);
  return {
    files: Object.fromEntries(results) as Record<string, string | null>,
    codes: outcome.notes.map(({ code }) => code),
    messages: outcome.notes.map(({ message }) => message),
  };
};

describe('every form of the table', () => {
  test('has an example', () => {
    const known = new Set(EXAMPLES.map(({ form }) => form));
    const lacking = CALL_FORMS.filter((form) => !idsOf(form).some((id) => known.has(id)));
    expect(lacking.map(idOf)).toEqual([]);
    expect(EXAMPLES.length).toBeGreaterThanOrEqual(CALL_FORMS.length);
  });

  test.each(EXAMPLES.map((example) => [example.form, example] as const))(
    '%s',
    (_form, { response, result, refusal }) => {
      const outcome = outcomeOf(response);
      if (refusal === undefined) expect(outcome.files).toEqual(result);
      else expect([outcome.files, outcome.codes[0]]).toEqual([null, refusal]);
    },
  );

  test('a key means one thing, whichever form has it', () => {
    for (const { keys } of CALL_FORMS)
      for (const [argument, key] of Object.entries(keys))
        expect([key, argumentOf(key)]).toEqual([key, argument]);
    const ignored = new Set(CALL_FORMS.flatMap((form) => form.ignored.map(plainKey)));
    expect([...ignored].filter((key) => argumentOf(key) !== null)).toEqual([]);
  });

  test('is a row of docs/formats.md', () => {
    expect(readFileSync('docs/formats.md', 'utf8')).toContain(formTable());
  });
});

describe('every envelope', () => {
  test.each(Object.entries(ENVELOPES))('%s', (_name, response) => {
    const text = typeof response === 'string' ? response : JSON.stringify(response, null, 1);
    expect(outcomeOf(text).files).toEqual({ 'a.ts': BASE['a.ts']?.replace('= 2', '= 22') });
  });
});
