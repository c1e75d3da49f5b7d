/** Where the JSON object of an answer begins and ends, and whether its last keys say that it is complete. */
import { describe, expect, test } from '@jest/globals';
import { findJsonMarker, JSON_CANDIDATES } from '../../src/edits/marker.js';

const right = '{"operations": [], "complete": true}';
/** `marker body`, codes of the notes, and whether a fence stays open. */
const found = (answer: string, nonce?: string): string => {
  const { marker, body, notes, openFence } = findJsonMarker(answer, nonce);
  return [marker, JSON.stringify(body), ...notes.map(({ code }) => code), ...(openFence ? ['open'] : [])].join(' ');
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
    ['in a fence behind prose', `Here:\n\`\`\`json\n${right}\n\`\`\``, shown('right', right, 'prose_before')],
    ['in a fence that stays open', `\`\`\`json\n${right}\n`, shown('right', `${right}\n`, 'open')],
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
    ['behind two strokes, which are no fence', `\`\`\n${right}`, shown('right', right, 'prose_before')],
    ['behind a fence that is closed', `\`\`\`\nx\n\`\`\`\nHere:\n${right}`, shown('right', right, 'prose_before')],
    ['behind a brace of prose', `{ so }\n${right}`, shown('right', right, 'prose_before')],
    ['behind another object', `{"a": 1}\n${right}`, shown('right', right, 'prose_before')],
    ['before prose', `${right}\nDone.`, shown('right', right, 'prose_after')],
    ['in a fence before prose', `\`\`\`\n${right}\n\`\`\`\nDone.`, shown('right', right, 'prose_after')],
    ['before prose in its line', `${right} Done.`, shown('missing', `${right} Done.`, 'marker_missing')],
    ['before half an object', `${right}\n"a": 1}`, shown('missing', `${right}\n"a": 1}`, 'marker_missing')],
    ['before a diff', `${right}\n--- a\n+++ a\n`, shown('missing', `${right}\n--- a\n+++ a\n`, 'marker_missing')],
    ['before another object', `${right}\n{"a": 1}`, shown('missing', `${right}\n{"a": 1}`, 'marker_missing')],
    ['cut', '{"operations": [', shown('missing', '{"operations": [', 'marker_missing')],
    [
      'cut, behind another',
      '{"a": 1}\nx\n{"operations": [',
      shown('missing', '{"operations": [', 'prose_before', 'marker_missing'),
    ],
    ['no JSON', '{operations}', shown('missing', '{operations}')],
    ['no object', 'done', shown('missing', 'done', 'marker_missing')],
  ])('%s', (_, answer, expected) => {
    expect(found(answer)).toBe(expected);
  });

  test('it is looked for at a bounded number of lines', () => {
    const braces = (count: number): string => '{ x\n'.repeat(count);
    expect(found(`${braces(JSON_CANDIDATES - 1)}${right}`)).toBe(shown('right', right, 'prose_before'));
    expect(found(`${braces(JSON_CANDIDATES)}${right}`)).toMatch(/^missing /);
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
    ['complete before the operations', '{"complete": true, "operations": [], "nonce": "n0nce"}', 'wrong'],
    ['no nonce', '{"operations": [], "complete": true}', 'wrong'],
    ['another nonce', '{"operations": [], "complete": true, "nonce": "n0nc"}', 'wrong'],
    ['a nonce before the operations', '{"nonce": "n0nce", "operations": [], "complete": true}', 'wrong'],
  ])('%s', (_, answer, marker) => {
    const read = findJsonMarker(answer, nonce);
    expect(read.marker).toBe(marker);
    expect(read.notes.map(({ code }) => code)).toEqual(marker === 'right' ? [] : [`marker_${marker}`]);
    for (const { message } of read.notes) expect(message).toContain('"complete": true, "nonce": "n0nce"');
  });
  test('where no nonce was asked for, one that is there says nothing', () => {
    expect(findJsonMarker('{"nonce": "x", "operations": [], "complete": true}', undefined).marker).toBe('right');
    expect(findJsonMarker('{"operations": []}', undefined).notes[0]?.message).toContain('keys "complete": true, after');
  });
});
