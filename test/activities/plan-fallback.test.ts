/** After a failed attempt a phase is asked for in another way: another model where one is named, else another format. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { fallbackOf } from '../../src/activities/plan/phase-job.js';

let workspace = '';
beforeEach(() => {
  workspace = mkdtempSync(join(tmpdir(), 'emend-fallback-'));
});
afterEach(() => {
  rmSync(workspace, { recursive: true, force: true });
});

const lines = (count: number): string => 'a line\n'.repeat(count);
const phase = { id: 'p1', number: 1, name: 'One', category: 'code' } as const;

test.each([
  ['a short file: not whole', { 'a.js': lines(10) }, [], '', 'format unified-diff'],
  ['a longer one: not a diff', { 'a.js': lines(800) }, [], '', 'format structured-edit'],
  ['a long one: not in blocks', { 'a.js': lines(2_000) }, [], '', 'format unified-diff'],
  [
    'a long one, search-replace off: not whole',
    { 'a.js': lines(2_000) },
    [],
    'formats: { search-replace: false }',
    'format unified-diff',
  ],
  [
    'two sizes: the next that neither has',
    { 'a.js': lines(10), 'b.js': lines(800) },
    [],
    '',
    'format structured-edit',
  ],
  ['beside a new file', { 'a.js': lines(10) }, ['new.js'], '', 'format unified-diff'],
  ['a new file alone has one format', {}, ['new.js'], '', null],
  ['no file is named', {}, [], '', null],
  [
    'one format only',
    { 'a.js': lines(10) },
    [],
    'formats: { unified-diff: false, structured-edit: false, search-replace: false }',
    null,
  ],
  [
    'another model is named',
    { 'a.js': lines(10) },
    [],
    'plan: { fallbackModel: larger }',
    'model larger',
  ],
  ['for new files too', {}, ['new.js'], 'plan: { fallbackModel: larger }', 'model larger'],
  [
    'it is the model already',
    { 'a.js': lines(10) },
    [],
    'model: larger\nplan: { fallbackModel: larger }',
    'format unified-diff',
  ],
  [
    'its score has it asked of the model already',
    { 'a.js': lines(10) },
    [],
    'routes: [{ complexity: high, model: larger }]\nplan: { fallbackModel: larger }',
    'format unified-diff',
    7.1,
  ],
  [
    'its score is not high enough for that',
    { 'a.js': lines(10) },
    [],
    'routes: [{ complexity: high, model: larger }]\nplan: { fallbackModel: larger }',
    'model larger',
    7,
  ],
] as const)(
  '%s',
  async (
    _,
    files: Readonly<Record<string, string>>,
    fresh,
    config,
    wanted,
    ...[score = 1]: [number?]
  ) => {
    for (const [path, text] of Object.entries(files)) writeFileSync(join(workspace, path), text);
    writeFileSync(join(workspace, 'emend.yaml'), config);
    const found = await fallbackOf(
      workspace,
      { overrides: {}, phase, score },
      { there: Object.keys(files), fresh },
    );
    expect(found === null ? null : `${found.key} ${found.value}`).toBe(wanted);
  },
);
