/** The tasks of `bench:tokens` and what it counts; windows of large files hold the edits of the exam's own tasks. */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { applyAnswer, windowedListing } from '../../../src/edits/index.js';
import { CHECKED_LINE_HEAD_CHARS } from '../../../src/model/prompts/files.js';
import { checkScript } from '../../../src/model/rehearsal/script.js';
import type { Format } from '../../../src/shared/formats.js';
import { changeOf } from '../history/change.js';
import { readTasks } from '../model/task.js';
import { sampled } from '../../support/seeded.js';
import { ourRules, peerRule, readableFromCache, tokenTasks } from './tasks.js';
import { areSeen, windows } from './windows.js';

let repo: string;
beforeAll(() => {
  repo = mkdtempSync(join(tmpdir(), 'exam tokens '));
  const git = (...args: string[]): void =>
    void execFileSync('git', ['-c', 'user.name=t', '-c', 'user.email=t@localhost', ...args], {
      cwd: repo,
    });
  const commit = (message: string, lines: number, changed: string): void => {
    const text = Array.from({ length: lines }, (_, at) => `const value${at} = ${at};\n`);
    writeFileSync(join(repo, `f${lines}.js`), text.with(lines >> 1, changed).join(''));
    git('add', '-A');
    git('commit', '-qm', message);
  };
  git('init', '-q');
  for (const lines of [50, 400, 800, 1200]) commit(`new ${lines}`, lines, 'let total = 0;\n');
  for (const lines of [50, 400, 800, 1200])
    commit(`Raise total to ${lines}`, lines, `let total = ${lines};\n`);
  commit('/no command', 50, 'let total = 1;\n');
});
afterAll(() => {
  rmSync(repo, { recursive: true, force: true });
});

test('a task of each size: newest first, no command; every answer makes the file of the commit', async () => {
  const tasks = tokenTasks([repo], 2);
  expect(tasks.map(({ path, size, message }) => [path, size, message])).toEqual(
    ([50, 400, 800, 1200] as const).map((lines, at) => [
      `f${lines}.js`,
      [100, 500, 1000, 10_000][at],
      `Raise total to ${lines}`,
    ]),
  );
  const rules = tasks.flatMap((task) => [
    ...ourRules(task, true),
    peerRule(task, 'whole'),
    peerRule(task, 'diff'),
  ]);
  await checkScript({ v: 1, rules: JSON.parse(JSON.stringify(rules)) as [] });
  for (const task of tasks)
    for (const { name, answer } of ourRules(task, false).filter(
      ({ name }) => !name.endsWith(' asks'),
    )) {
      const outcome = applyAnswer({
        format: name.split(' ')[1] as Format,
        answer: answer.replaceAll('{{nonce}}', 'abcdef01'),
        files: new Map([[task.path, { bytes: Buffer.from(task.base) }]]),
        options: { nonce: 'abcdef01', requireMarker: true },
      });
      const file = outcome.outcome === 'edited' ? outcome.files.get(task.path) : undefined;
      expect([name, file instanceof Object && String(Buffer.from(file.bytes))]).toEqual([
        name,
        task.result,
      ]);
    }
});

test('what a cache holds: blocks that are the same, up to the last that is marked both times', () => {
  const block = (text: string, isMarked = true) => ({
    text,
    ...(isMarked ? { cache_control: {} } : {}),
  });
  const before = [block('a'), block('b'), block('c', false)];
  expect(readableFromCache(before, before)).toBe('a\nb');
  expect(readableFromCache(before, [block('a'), block('B'), block('c')])).toBe('a');
  expect(readableFromCache(before, [block('a'), block('b', false), block('c')])).toBe('a');
  expect(readableFromCache(before, [block('x'), block('b')])).toBe('');
});

test('lines of a change are seen where one range holds each edit', () => {
  const edits = [
    { from: 9, to: 12, lines: [] },
    { from: 20, to: 20, lines: ['new'] },
  ];
  expect(
    areSeen(
      edits,
      [
        [10, 12],
        [21, 21],
      ],
      30,
    ),
  ).toBe(true);
  expect(
    areSeen(
      edits,
      [
        [10, 12],
        [20, 20],
      ],
      30,
    ),
  ).toBe(false);
  expect(
    areSeen(
      edits,
      [
        [10, 11],
        [21, 30],
      ],
      30,
    ),
  ).toBe(false);
  expect(areSeen([{ from: 30, to: 30, lines: ['end'] }], [[30, 30]], 30)).toBe(true);
});

describe('windows', () => {
  test('hold the word of the message in a history', async () => {
    expect(await windows(repo, 100, 1)).toEqual({ looked: 1, held: 100 });
  });

  const large = readTasks('exam/tasks').flatMap((task) =>
    [...task.solved].flatMap(([path, result]) => {
      const file = {
        commit: '',
        status: 'M',
        oldMode: '100644',
        newMode: '100644',
        oldId: '',
        newId: '',
        path,
      };
      const sayable = changeOf(file, { base: task.base.get(path) ?? null, result }, undefined);
      const isLarge = typeof sayable !== 'string' && sayable.baseText.lines.length > 500;
      return isLarge && sayable.change.edits.length > 0 ? [{ task, path, sayable }] : [];
    }),
  );
  test('there are tasks of large files', () => {
    expect(large.length).toBeGreaterThan(10);
  });
  test.each(sampled('tasks of large files', large, 6).map((each) => [each.task.id, each] as const))(
    'at half of what the whole file weighs hold the edit of %s',
    (_, { task, sayable: { baseText, change } }) => {
      const whole_chars = baseText.lines.reduce(
        (sum, line) => sum + line.length + CHECKED_LINE_HEAD_CHARS,
        0,
      );
      const { seen = [] } = windowedListing(
        baseText,
        whole_chars / 2,
        task.job.instructions,
        CHECKED_LINE_HEAD_CHARS,
      );
      expect(areSeen(change.edits, seen, baseText.lines.length)).toBe(true);
    },
  );
});
