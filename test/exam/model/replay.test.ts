/** The kept answers of a real model come to the outcomes that they had: a change of the parser that loses one is seen. */
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { expect, it } from '@jest/globals';
import { readKept } from './answers.js';
import { replay } from './replay.js';
import { readTasks } from './task.js';

const tasks = readTasks(resolve('exam/tasks'));

it('all as they were', async () => {
  const { answers, models, differences } = await replay(resolve('exam/answers'), tasks);
  expect(differences).toEqual([]);
  expect(models).toEqual(['qwen2.5-coder-1.5b-instruct']);
  expect(answers).toBeGreaterThanOrEqual(10);
  const outcomes = readKept(resolve('exam/answers')).flatMap((run) =>
    run.answers.map(({ verdict }) => verdict?.outcome),
  );
  expect(new Set(outcomes)).toEqual(new Set(['edited', 'refused', 'unmarked']));
});

it('a person is asked about whole files that lost their rest, and about none of the small edits', async () => {
  const { edited, asked } = await replay(resolve('exam/answers'), tasks);
  expect(edited).toBe(40);
  expect(asked).toEqual([
    '010_debug_line (auto), answer 1: distant_removal',
    '022_argument_method (auto), answer 1: lost_symbol, shrinkage',
    '024_rename_constant (auto), answer 1: lost_symbol, shrinkage',
    '027_comment_words (auto), answer 1: lost_symbol, shrinkage, syntax',
    '028_new_function (auto), answer 1: lost_symbol, shrinkage',
    '029_not_a_number (auto), answer 1: syntax',
  ]);
});

it('an answer that loses its last line is seen', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'emend-replay-'));
  try {
    cpSync(resolve('exam/answers'), dir, { recursive: true });
    const file = join(dir, '001_add.auto.json');
    writeFileSync(file, readFileSync(file, 'utf8').replace(/\\nEMEND-COMPLETE [0-9a-f]+ 1 1/, ''));
    expect((await replay(dir, tasks)).differences).toEqual([
      expect.stringMatching(
        /^001_add \(auto\), answer 1: was edited src\/add.mjs \w+, is unmarked marker_missing$/,
      ),
    ]);
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
});
