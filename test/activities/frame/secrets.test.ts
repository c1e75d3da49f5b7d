/** Placeholders for secrets and back. */
import { expect, test } from '@jest/globals';
import { Vault } from '../../../src/activities/frame/secrets.js';

const KEY = ['MIIEq8ZrT2vL', 'k0XnB5wYc7Jd', 'F1sH=='];
const QUOTED = 'a"b\\c7d9';
const vault = new Vault('key', [KEY, [QUOTED], ['tok_1'], ['tok_1_longer']]);
const of = (line: string): string => vault.mask(line);

test('one placeholder for each line, the same for the same key', () => {
  const masked = KEY.map((line) => vault.mask(`12:ab| ${line}`));
  expect(masked.map((line) => line.replace(/[0-9a-f]{8}_/, 'HASH_'))).toEqual(
    [1, 2, 3].map((n) => `12:ab| EMEND_SECRET_HASH_${n}`),
  );
  expect(new Vault('key', [KEY]).mask(KEY.join())).toBe(vault.mask(KEY.join()));
  expect(new Vault('other', [KEY]).mask(KEY.join())).not.toBe(vault.mask(KEY.join()));
});

test('every occurrence, the longest first, beside letters, digits and each other', () => {
  const text = `tok_1tok_1_longer2 ${KEY[0]!}9${QUOTED}x`;
  const masked = vault.mask(text);
  expect(masked).toBe(`${of('tok_1')}${of('tok_1_longer')}2 ${of(KEY[0]!)}9${of(QUOTED)}x`);
  expect(vault.restore(masked, false)).toEqual({ text, unknown: [] });
});

test('as JSON quotes it: hidden too, and quoted again in an answer that is JSON', () => {
  const json = JSON.stringify({ content: `say ${QUOTED}` });
  expect(vault.mask(json)).toBe(`{"content":"say ${of(QUOTED)}"}`);
  expect(vault.restore(vault.mask(json), true).text).toBe(json);
});

test('what looks like a placeholder and is none of ours is told', () => {
  const made = 'EMEND_SECRET_00000000_1';
  expect(vault.restore(`${of('tok_1')} ${made} EMEND_SECRET_x`, false)).toEqual({
    text: `tok_1 ${made} EMEND_SECRET_x`,
    unknown: [made, 'EMEND_SECRET_x'],
  });
  expect(new Vault('', []).restore(made, false).unknown).toEqual([made]);
});

test('one that a file holds is hidden like a secret, and comes back', () => {
  const own = 'EMEND_SECRET_00000000_1';
  const with1 = new Vault('key', [[own]]);
  expect(with1.mask(own)).not.toBe(own);
  expect(with1.restore(with1.mask(own), false)).toEqual({ text: own, unknown: [] });
});

test('nothing to hide changes nothing', () => {
  expect(new Vault('', []).mask('a')).toBe('a');
});
