/** Every task can be failed and can be solved: its check fails before the change and passes with its reference solution. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { changedOutside, check, filesOf, layOut, type Checked } from './scratch.js';
import { readTasks } from './task.js';

const tasks = readTasks(resolve('exam/tasks'));
const dir = mkdtempSync(join(tmpdir(), 'emend-exam-tasks-'));
const checked = new Map<string, Checked>();

beforeAll(() => {
  const asked = tasks.flatMap((task) =>
    (['base', 'solved'] as const).map((state) => ({
      task,
      check: task.check,
      dir: layOut(join(dir, task.id, state), task[state]),
    })),
  );
  // One process for all programs: eighty of them would take longer than the rest of the unit tests.
  const programs = asked.filter((each) => each.check !== null);
  const input = JSON.stringify(programs.map((each) => ({ check: each.check, dir: each.dir })));
  const said = execFileSync(process.execPath, ['test/exam/model/check-many.js'], {
    input,
    encoding: 'utf8',
  });
  const results = JSON.parse(said.split('\n').at(-1)!) as Checked[];
  programs.forEach((each, index) => checked.set(each.dir, results[index]!));
  for (const each of asked)
    if (each.check === null) checked.set(each.dir, check(each.task, each.dir));
});
afterAll(() => {
  rmSync(dir, { recursive: true, force: true });
});

describe('the tasks of the model exam', () => {
  it.each(tasks.map((task) => [task.id, task] as const))('%s', (id, task) => {
    const [before, solved] = [join(dir, id, 'base'), join(dir, id, 'solved')];
    expect(checked.get(before)?.passed).toBe(false);
    expect(checked.get(solved)).toEqual({ passed: true, why: '' });
    expect(changedOutside(filesOf(before), filesOf(solved), task.changes)).toEqual([]);
  });

  it('a check runs as a program of its own, too', () => {
    const task = tasks.find((each) => each.check !== null)!;
    expect(check(task, join(dir, task.id, 'base'))).toMatchObject({ passed: false });
    expect(check(task, join(dir, task.id, 'solved'))).toEqual({ passed: true, why: '' });
  });

  it('ten of them are for a small model', () => {
    expect(tasks.filter(({ small }) => small).length).toBeGreaterThanOrEqual(10);
  });
});
