import { expect, test } from '@jest/globals';
import { describeValue } from '../../../src/documents/source/check.js';
import { inPlaceOf, nearestWord } from '../../../src/shared/text.js';

test.each([
  ['a', '"a"'],
  ['x'.repeat(200), `"${'x'.repeat(59)}…`],
  [3, '3'],
  [Number.POSITIVE_INFINITY, 'Infinity'],
  [false, 'false'],
  [null, 'nothing'],
  [undefined, 'nothing'],
  [[], 'an empty list'],
  [[1, 2], 'a list of 2'],
  [{}, 'a map'],
])('%j is described', (value, wanted) => {
  expect(describeValue(value)).toBe(wanted);
});

const KEYS = ['mode', 'model', 'target_files', 'output_file', 'output_files', 'commit'];
test.each([
  ['targets', 'did you mean `target_files`?'],
  ['files', 'expected one of target_files, output_file, output_files'],
  ['maxFiles', 'expected one of target_files, output_file, output_files'],
  ['branch', 'expected one of mode, model, target_files, output_file, output_files, commit'],
])('in place of the unknown key %j: what shares a part with it, else all', (written, said) => {
  expect(inPlaceOf(written, KEYS)).toBe(said);
});

test.each([
  ['mod', 'mode'],
  ['modell', 'model'],
  ['mdoe', 'mode'],
  ['moedl', 'model'],
  ['TARGETFILES', 'target_files'],
  ['outputfiless', 'output_files'],
  ['comit', 'commit'],
  ['x', null],
  ['branch', null],
  ['y'.repeat(100_000), null],
])('the word nearest to %j', (written, wanted) => {
  expect(nearestWord(written, KEYS)).toBe(wanted);
});
