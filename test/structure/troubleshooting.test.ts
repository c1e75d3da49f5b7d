/** docs/troubleshooting.md: whatever a run may wait for and an answer may be refused for is explained there. */
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { ANSWERS_BY_REASON } from '../../src/shared/decisions.js';
import { PROBLEMS } from '../../src/shared/problems.js';
import { reasonCodes } from './reason-codes.js';

const DOC = readFileSync('docs/troubleshooting.md', 'utf8');
const section = (title: string): string =>
  DOC.split(/^## /m).find((text) => text.startsWith(`${title}\n`)) ?? '';
/** Words in the first cells of tables; of the notes, those of the sentence. */
const entries = (text: string): string[] =>
  text
    .split('\n')
    .map((line) =>
      line.startsWith('|') ? (line.split('|')[1] ?? '') : line.startsWith('Notes') ? line : '',
    )
    .flatMap((cell) => [...cell.matchAll(/`([a-z_]+)`/g)].map(([, word]) => word ?? ''));
const sources = (dir: string): string[] =>
  readdirSync(dir, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => join(dir, name));

test('every reason of a decision has its row, and no other has', () => {
  expect(entries(section('A run is waiting for you')).sort()).toEqual(
    Object.keys(ANSWERS_BY_REASON).sort(),
  );
});

test('every refusal of the edit engine has its entry, and what has one is refused somewhere', () => {
  const codes = ['src/edits', 'src/syntax'].flatMap((dir) => reasonCodes(sources(dir)));
  expect(codes.length).toBeGreaterThan(70);
  expect(codes).toEqual(
    expect.arrayContaining(['find_absent', 'open_block', 'syntax_too_slow', 'binary']),
  );
  expect([...new Set(entries(section('An answer was refused')))].sort()).toEqual(
    [...new Set(codes)].sort(),
  );
});

test('what does not start is said in the words of the errors', () => {
  const said = entries(section('It does not start'));
  expect(said.length).toBeGreaterThan(4);
  expect(said.filter((word) => !(word in PROBLEMS))).toEqual([]);
});
