/** Where an answer begins and ends, and whether it says that it is complete: by the last keys of a JSON object, or by its marker line. */
import { describe, expect, test } from '@jest/globals';
import { JSON_CANDIDATES } from '../../src/edits/detect.js';
import { nonceOf } from '../../src/edits/index.js';
import { findJsonMarker, findMarker } from '../../src/edits/marker.js';
import type { AnswerFormat } from '../../src/shared/formats.js';

const right = '{"operations": [], "complete": true}';
/** `marker body`, codes of the notes, and whether a fence stays open. */
const found = (answer: string, nonce?: string): string => {
  const { marker, body, notes, openFence } = findJsonMarker(answer, nonce);
  return [
    marker,
    JSON.stringify(body),
    ...notes.map(({ code }) => code),
    ...(openFence ? ['open'] : []),
  ].join(' ');
};
const shown = (marker: string, body: string, ...more: string[]): string =>
  [marker, JSON.stringify(body), ...more].join(' ');

describe('where the object stands', () => {
  test.each([
    ['alone', right, shown('right', right)],
    ['with blanks round it', `\n ${right} \n\n`, shown('right', right)],
    ['behind prose', `Here it is:\n\n${right}\n`, shown('right', right, 'prose_before')],
    ['in a line of prose', `Here: ${right}`, shown('right', right, 'prose_before')],
    ['in a fence', `\`\`\`json\n${right}\n\`\`\`\n`, shown('right', right)],
    ['in a fence of waves', `~~~\n${right}\n~~~`, shown('right', right)],
    ['in a longer fence', `\`\`\`\`\n${right}\n\`\`\`\`\`\n`, shown('right', right)],
    [
      'in a fence behind prose',
      `Here:\n\`\`\`json\n${right}\n\`\`\``,
      shown('right', right, 'prose_before'),
    ],
    ['in a fence that stays open', `\`\`\`json\n${right}\n`, shown('right', `${right}\n`, 'open')],
    [
      'in a fence that stays open before blanks',
      `\`\`\`\n${right}\n \n`,
      shown('right', `${right}\n \n`, 'open'),
    ],
    ['in a fence with blank lines', `\`\`\`\n${right}\n\n \n\`\`\``, shown('right', right)],
    [
      'in a fence with prose behind it',
      `\`\`\`\n${right}\nDone.\n\`\`\``,
      shown('missing', `${right}\nDone.\n\`\`\``, 'marker_missing', 'open'),
    ],
    [
      'in a fence closed by a shorter one',
      `\`\`\`\`\n${right}\n\`\`\``,
      shown('missing', `${right}\n\`\`\``, 'marker_missing', 'open'),
    ],
    [
      'in a fence closed by another',
      `\`\`\`\n${right}\n~~~`,
      shown('missing', `${right}\n~~~`, 'marker_missing', 'open'),
    ],
    [
      'behind two strokes, which are no fence',
      `\`\`\n${right}`,
      shown('right', right, 'prose_before'),
    ],
    [
      'behind a fence that is closed',
      `\`\`\`\nx\n\`\`\`\nHere:\n${right}`,
      shown('right', right, 'prose_before'),
    ],
    ['behind a brace of prose', `{ so }\n${right}`, shown('right', right, 'prose_before')],
    [
      'round another one',
      `{"x":\n${right}}`,
      shown('missing', `{"x":\n${right}}`, 'marker_missing'),
    ],
    ['behind another object', `{"a": 1}\n${right}`, shown('right', right, 'prose_before')],
    ['before prose', `${right}\nDone.`, shown('right', right, 'prose_after')],
    [
      'in a fence before prose',
      `\`\`\`\n${right}\n\`\`\`\nDone.`,
      shown('right', right, 'prose_after'),
    ],
    [
      'before prose in its line',
      `${right} Done.`,
      shown('missing', `${right} Done.`, 'marker_missing'),
    ],
    [
      'before half an object',
      `${right}\n"a": 1}`,
      shown('missing', `${right}\n"a": 1}`, 'marker_missing'),
    ],
    [
      'before a diff',
      `${right}\n--- a\n+++ a\n`,
      shown('missing', `${right}\n--- a\n+++ a\n`, 'marker_missing'),
    ],
    [
      'before another object',
      `${right}\n{"a": 1}`,
      shown('missing', `${right}\n{"a": 1}`, 'marker_missing'),
    ],
    ['cut', '{"operations": [', shown('missing', '{"operations": [', 'marker_missing')],
    [
      'cut, behind another',
      '{"a": 1}\nx\n{"operations": [',
      shown('missing', '{"operations": [', 'prose_before', 'marker_missing'),
    ],
    ['no JSON', '{operations}', shown('missing', '{operations}')],
    ['no JSON in a fence', '```\n{ so\nit }\n```', shown('missing', '{ so\nit }\n```')],
    [
      'no JSON in a fence behind another fence',
      '```\nx\n```\n~~~\n{ so }\n~~~',
      shown('missing', '{ so }\n~~~', 'prose_before'),
    ],
    ['no object', 'done', shown('missing', 'done', 'marker_missing')],
  ])('%s', (_, answer, expected) => {
    expect(found(answer)).toBe(expected);
  });

  test('it is looked for at a bounded number of lines', () => {
    const braces = (count: number): string => '{ x\n'.repeat(count);
    expect(found(`${braces(JSON_CANDIDATES - 1)}${right}`)).toBe(
      shown('right', right, 'prose_before'),
    );
    expect(found(`${braces(JSON_CANDIDATES)}${right}`)).toMatch(/^missing /);
  });
});

describe('several objects are one list, whose lines keep their numbers', () => {
  const first = '{"operations": []}';
  test.each([
    ['one after the other', `${first}\n${right}`, shown('right', `[${first},\n${right}]`)],
    [
      'indented, with blank lines',
      `  ${first}\n \n  ${first}\n \n  ${right}`,
      shown('right', `[${first},\n\n${first},\n\n${right}]`),
    ],
    ['a list', `[${first}, ${first}, ${right}]`, shown('right', `[${first}, ${first}, ${right}]`)],
    ['a list of one', `[${right}]`, shown('right', `[${right}]`)],
    ['lists', `[${first}]\n[${right}]`, shown('right', `[[${first}],\n[${right}]]`)],
    [
      'before half an object',
      `${first}\n${right}\n"a": 1}`,
      shown('missing', `[${first},\n${right}]\n"a": 1}`, 'marker_missing'),
    ],
    [
      'complete said in the first alone',
      `${right}\n${first}`,
      shown('missing', `[${right},\n${first}]`, 'marker_missing'),
    ],
  ])('%s', (_, answer, expected) => {
    expect(found(answer)).toBe(expected);
  });
  test('they are not counted among the places where one may begin', () => {
    const many = [...new Array<string>(JSON_CANDIDATES + 5).fill(first), right];
    expect(found(many.join('\n'))).toBe(shown('right', `[${many.join(',\n')}]`));
  });
  test('an edit between them is told by its line', () => {
    const answer = `{"operations":\n[]}\nThen:\n--- a\n+++ a\n${right}`;
    expect(findJsonMarker(answer, undefined).stray?.message).toMatch(
      /^Line 4 of the answer, "--- a"/,
    );
  });
});

describe('the marker line of text', () => {
  const line = 'EMEND-COMPLETE n0nce 1 1';
  const file = 'FILE a\nx\nEND FILE\n';
  const read = (answer: string, format: AnswerFormat = 'whole-file'): string => {
    const { marker, body, notes, counts } = findMarker(format, answer, 'n0nce');
    const codes = notes.map(({ code }) => code);
    return [
      marker,
      JSON.stringify(body),
      ...(counts === undefined ? [] : [counts.files, counts.edits]),
      ...codes,
    ].join(' ');
  };
  test.each([
    ['at the end', `${file}${line}\n`, shown('right', file.trim(), '1', '1')],
    [
      'without a line end, blanks behind it',
      `${file}${line} \t\r`,
      shown('right', file.trim(), '1', '1'),
    ],
    ['none', file, shown('missing', file, 'marker_missing')],
    ['nothing before it', line, shown('right', '', '1', '1')],
    [
      'prose before it alone',
      `Nothing to do.\n${line}`,
      shown('right', '\n', '1', '1', 'prose_before'),
    ],
    ['a blank line before it stays', `${file}\n${line}`, shown('right', file, '1', '1')],
    [
      'prose round it',
      `Here:\n${file}${line}\nDone.`,
      shown('right', `\n${file.trim()}`, '1', '1', 'prose_before', 'prose_after'),
    ],
    [
      'in a fence behind a closed one',
      `Run\n\`\`\`\nx\n\`\`\`\n\`\`\`\n${file}${line}\n\`\`\``,
      shown('right', `\n\n\n\n\`\`\`\n${file}\`\`\``, '1', '1', 'prose_before'),
    ],
    [
      'behind a closed fence',
      `Run\n\`\`\`\nx\n\`\`\`\n${file}${line}`,
      shown('right', `\n\n\n\n${file.trim()}`, '1', '1', 'prose_before'),
    ],
    ['before the edit', `${line}\n${file}`, shown('missing', `${line}\n${file}`, 'marker_missing')],
    [
      'another nonce',
      `${file}EMEND-COMPLETE other 2 3`,
      shown('wrong', file.trim(), '2', '3', 'marker_wrong'),
    ],
    [
      'no nonce',
      `${file}EMEND-COMPLETE 1 1`,
      shown('wrong', file.trim(), '1', '1', 'marker_wrong'),
    ],
    [
      'a malformed one behind it',
      `${file}${line}\nEMEND-COMPLETE is it`,
      shown('right', file.trim(), '1', '1', 'prose_after'),
    ],
    [
      'a malformed one alone',
      `${file}EMEND-COMPLETE is it`,
      shown('missing', `${file}EMEND-COMPLETE is it`, 'marker_missing'),
    ],
  ])('%s', (_, answer, expected) => {
    expect(read(answer)).toBe(expected);
  });
  test('blocks begin with a line like any other: nothing is left out before them', () => {
    expect(read(`\n${line}`, 'search-blocks')).toBe(shown('right', '', '1', '1'));
    expect(read(`a.ts\nx\n${line}`, 'search-blocks')).toBe(shown('right', 'a.ts\nx', '1', '1'));
    expect(read('\nEMEND-COMPLETE', 'search-blocks')).toBe(
      shown('missing', '\nEMEND-COMPLETE', 'marker_missing'),
    );
  });
  test('its nonce is looked for at the end, at the start of a line', () => {
    expect(nonceOf(`${line}\n${'x'.repeat(970)}`)).toBe('n0nce');
    expect(nonceOf(`${line}\n${'x'.repeat(980)}`)).toBeUndefined();
    expect(nonceOf(` ${line}`)).toBeUndefined();
  });
});

describe('its last keys', () => {
  const nonce = 'n0nce';
  test.each([
    ['complete and nonce', '{"operations": [], "complete": true, "nonce": "n0nce"}', 'right'],
    ['without operations', '{"complete": true, "nonce": "n0nce"}', 'right'],
    ['in the other order', '{"operations": [], "nonce": "n0nce", "complete": true}', 'right'],
    ['no complete', '{"operations": [], "nonce": "n0nce"}', 'missing'],
    ['complete as a word', '{"operations": [], "complete": "true", "nonce": "n0nce"}', 'wrong'],
    ['not complete', '{"operations": [], "complete": false, "nonce": "n0nce"}', 'wrong'],
    [
      'complete before the operations',
      '{"complete": true, "operations": [], "nonce": "n0nce"}',
      'wrong',
    ],
    ['no nonce', '{"operations": [], "complete": true}', 'wrong'],
    ['another nonce', '{"operations": [], "complete": true, "nonce": "n0nc"}', 'wrong'],
    [
      'a nonce before the operations',
      '{"nonce": "n0nce", "operations": [], "complete": true}',
      'wrong',
    ],
  ])('%s', (_, answer, marker) => {
    const read = findJsonMarker(answer, nonce);
    expect(read.marker).toBe(marker);
    expect(read.notes.map(({ code }) => code)).toEqual(
      marker === 'right' ? [] : [`marker_${marker}`],
    );
    for (const { message } of read.notes)
      expect(message).toContain('"complete": true, "nonce": "n0nce"');
  });
  test('where no nonce was asked for, one that is there says nothing', () => {
    expect(
      findJsonMarker('{"nonce": "x", "operations": [], "complete": true}', undefined).marker,
    ).toBe('right');
    expect(findJsonMarker('{"operations": []}', undefined).notes[0]?.message).toContain(
      'keys "complete": true, after',
    );
  });
});
