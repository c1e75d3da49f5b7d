/** The model exam through the real edit step, with the rehearsal server as the model: how each way to end is told, and that its answers replay. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { keepRun, type KeptRun } from '../exam/model/answers.js';
import { replay } from '../exam/model/replay.js';
import { runTask, type TaskRun, type WantedFormat } from '../exam/model/run-task.js';
import { readTasks } from '../exam/model/task.js';
import { scene, whole, type Scene } from './support.js';

const tasks = readTasks(resolve('exam/tasks'));
const task = (id: string) => tasks.find((each) => each.id.startsWith(id))!;

const block = (path: string, find: string, put: string): string =>
  `FILE: ${path}\nFIND:\n${find}\nREPLACE:\n${put}\nEND {{nonce}}\nEMEND-COMPLETE {{nonce}} 1 1\n`;
// The answer has begun: a call that was cut off then is counted.
const hold = { kind: 'hold', after_bytes: 300 } as const;
const rules = [
  {
    name: 'right',
    match: { contains: '# add() subtracts', role: 'user' },
    answer: block('src/add.mjs', '  return a - b;', '  return a + b;'),
  },
  {
    name: 'wrong',
    match: { contains: '# isEven is wrong' },
    answer: whole({ 'src/even.mjs': 'export const isEven = () => true;\n' }),
  },
  {
    name: 'no fit',
    match: { contains: '# shout whispers' },
    answer: block('src/shout.mjs', '  not there', '  at all'),
  },
  { name: 'never', match: { contains: '# max finds nothing' }, answer: 'x', fault: hold },
] as const;

describe('the model exam', () => {
  let s: Scene;
  let dir = '';
  beforeAll(async () => {
    dir = mkdtempSync(join(tmpdir(), 'emend-exam-e2e-'));
    s = await scene({ 'unused.txt': 'x\n' }, [...rules]);
    await s.worker();
  });
  afterAll(async () => {
    await s.close();
    rmSync(dir, { recursive: true, force: true });
  });

  const SMALL =
    'models: { rehearsal: { context_tokens: 5000, maxOutput_tokens: 4096, formats: [search-replace] } }\n';
  const examine = async (
    id: string,
    format: WantedFormat,
    limit_ms = 60_000,
    config: string | null = null,
  ): Promise<TaskRun> => {
    const { run, answers } = await runTask(task(id), {
      emend: s.emend,
      dir: join(dir, 'tasks'),
      format,
      model: 'rehearsal',
      config,
      limit_ms,
    });
    const kept: KeptRun = {
      v: 1,
      task: run.task,
      taskHash: run.taskHash,
      format,
      model: 'rehearsal',
      date: run.at,
      answers,
    };
    keepRun(join(dir, 'answers'), kept);
    return run;
  };

  it('tells what was solved', async () => {
    const run = await examine('001', 'auto', 60_000, SMALL);
    expect(run).toMatchObject({
      outcome: 'solved',
      calls: 1,
      outside: [],
      before: { passed: false },
      after: { passed: true },
    });
    // By the table of models: its format, and an answer of at most half its context.
    expect(run.attempts).toMatchObject([
      { format: 'search-replace', outputBudget_tokens: 2500, verdict: { outcome: 'edited' } },
    ]);
    expect(run.output_tokens).toBeGreaterThan(0);
  });

  it('tells what was applied and does not do what was asked', async () => {
    const run = await examine('004', 'auto');
    expect(run).toMatchObject({ outcome: 'wrong', outside: [], after: { passed: false } });
    expect(run.after.why).not.toBe('');
  });

  it('ends at a pause that it does not answer, with nothing changed', async () => {
    const run = await examine('006', 'search-replace');
    expect(run).toMatchObject({
      outcome: 'attempts_exhausted',
      calls: 6,
      outside: [],
      after: { passed: false },
    });
    // The same refusal twice, then structured-edit, then the file whole: neither format reads such an answer.
    expect(run.attempts.map(({ format, verdict }) => [format, verdict?.outcome])).toEqual([
      ...Array<[string, string]>(2).fill(['search-replace', 'refused']),
      ...Array<[string, string]>(2).fill(['structured-edit', 'invalid']),
      ...Array<[string, string]>(2).fill(['whole-file', 'invalid']),
    ]);
    expect(run.refusals).toHaveLength(6);
  });

  it('ends at its time limit, the cut-off call counted', async () => {
    const run = await examine('009', 'auto', 6_000);
    expect(run).toMatchObject({
      outcome: 'time_limit',
      unknownCalls: 1,
      attempts: [],
      outside: [],
    });
  });

  it('replays what it has kept, and sees an outcome that differs', async () => {
    const kept = join(dir, 'answers');
    expect(await replay(kept, tasks)).toEqual({
      answers: 9,
      models: ['rehearsal'],
      differences: [],
      edited: 3,
      asked: ['004_even (auto), answer 1: lost_symbol', '004_even (auto), answer 2: lost_symbol'],
    });
    const changed = tasks.map((each) =>
      each.id === '001_add'
        ? { ...each, base: new Map([['src/add.mjs', Buffer.from('another file\n')]]) }
        : each,
    );
    expect((await replay(kept, changed)).differences).toEqual([
      expect.stringMatching(/^001_add \(auto\), answer 1: was edited .*, is refused find_absent/),
    ]);
    const another = tasks.map((each) =>
      each.id === '001_add' ? { ...each, hash: 'other' } : each,
    );
    expect((await replay(kept, another)).differences).toEqual([
      '001_add (auto): the task has changed since',
    ]);
  });
});
