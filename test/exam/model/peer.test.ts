/** The real aider on a task, where it is installed: what it applied, and what it could not, is judged as Emend's own runs are. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, expect, it } from '@jest/globals';
import { rule, withRehearsal } from '../../model/support.js';
import { describeIf } from '../../support/skipped.js';
import { besidePeer, peerVersion, type PeerFormat, runPeer } from './peer.js';
import type { TaskRun } from './run-task.js';
import { filesOf, judged, makeScratch } from './scratch.js';
import { byFormat } from './table.js';
import { readTasks } from './task.js';

const task = readTasks(resolve('exam/tasks')).find(({ id }) => id === '001_add')!;
const command = process.env.EMEND_TEST_AIDER ?? 'aider';
const dir = mkdtempSync(join(tmpdir(), 'emend peer '));
afterAll(() => {
  rmSync(dir, { recursive: true, force: true });
});

const isInstalled = (): boolean => {
  try {
    return peerVersion(command) !== '';
  } catch {
    return false;
  }
};

const block = (find: string, replace: string): string =>
  `src/add.mjs\n\`\`\`\n<<<<<<< SEARCH\n${find}\n=======\n${replace}\n>>>>>>> REPLACE\n\`\`\`\n`;

describeIf(isInstalled(), 'aider is not installed (EMEND_TEST_AIDER=COMMAND)')(
  'aider on a task',
  () => {
    const ran = (format: PeerFormat, answer: string) =>
      withRehearsal([rule(answer)], async ({ url }) => {
        const env = {
          ...process.env,
          ANTHROPIC_BASE_URL: url,
          ANTHROPIC_API_KEY: 'any',
          AIDER_EDIT_FORMAT: 'udiff',
        };
        return (
          await runPeer(task, { command, format, model: 'rehearsal', dir, limit_ms: 120_000, env })
        ).run;
      });

    it('what it applied is solved or wrong; nobody was asked', async () => {
      const right = await ran('aider-diff', block('  return a - b;', '  return a + b;'));
      expect(right).toMatchObject({
        outcome: 'solved',
        format: 'aider-diff',
        asked: false,
        outside: [],
        calls: 1,
      });
      expect(right.output_tokens).toBeGreaterThan(0);
      const wrong = 'src/add.mjs\n```\nexport const add = () => 0;\n```\n';
      expect(await ran('aider-whole', wrong)).toMatchObject({
        outcome: 'wrong',
        asked: false,
        outside: [],
      });
    }, 240_000);

    it('what fits nowhere is told to the model, and then nothing is applied', async () => {
      const run = await ran('aider-diff', block('  not in the file', '  at all'));
      expect(run).toMatchObject({ outcome: 'nothing_applied', outside: [] });
      expect(run.calls).toBeGreaterThan(1);
    }, 240_000);
  },
);

it('a command that is not there is said to be missing, with how to install it', () => {
  expect(() => peerVersion(join(dir, 'no-such-aider'))).toThrow(
    /no-such-aider --version does not run[^]*pip install/,
  );
});

it('both are judged by what stands in the workspace', () => {
  const sum = '  return a + b;';
  const cases = [[sum], [sum, 'show_greeting.py'], ['  return a * b;'], [null]] as const;
  const outcomes = cases.map(([line, other], index) => {
    const workspace = makeScratch(join(dir, String(index)), task, new Map());
    const files = filesOf(workspace);
    const edited = Buffer.from(
      files
        .get('src/add.mjs')!
        .toString()
        .replace('  return a - b;', line ?? ''),
    );
    const base = [
      ['src/add.mjs', edited],
      ...(other === undefined ? [] : [[other, Buffer.from('')] as const]),
    ] as const;
    makeScratch(workspace, { ...task, base: new Map(base) }, new Map());
    const { outcome, outside } = judged(task, {
      workspace,
      files,
      applied: line !== null,
      otherwise: 'refused',
    });
    return [outcome, outside];
  });
  // What was not applied and changed all the same is a file wrongly changed.
  expect(outcomes).toEqual([
    ['solved', []],
    ['wrong', ['show_greeting.py']],
    ['wrong', []],
    ['refused', ['src/add.mjs']],
  ]);
});

it('a table of how tasks stand by format, and against the better format of the peer', () => {
  const run = (id: string, format: string, outcome: string, asked = false): TaskRun =>
    ({
      task: id,
      format,
      outcome,
      asked,
      calls: 1,
      output_tokens: 10,
      seconds: 1,
    }) as unknown as TaskRun;
  const runs = [
    run('a', 'auto', 'solved'),
    run('b', 'auto', 'wrong', true),
    run('c', 'auto', 'solved'),
    run('d', 'auto', 'wrong'),
    run('a', 'aider-whole', 'solved'),
    run('b', 'aider-whole', 'wrong'),
    run('c', 'aider-whole', 'time_limit'),
    run('a', 'aider-diff', 'nothing_applied'),
  ];
  expect(byFormat(runs).split('\n').slice(2)).toEqual([
    '| aider-diff | 1 | 0 | 0 | 0 | 1 | 1 | 10 | 1 |',
    '| aider-whole | 3 | 1 | 0 | 1 | 1 | 3 | 30 | 3 |',
    '| auto | 4 | 2 | 1 | 1 | 0 | 4 | 40 | 4 |',
  ]);
  expect(besidePeer(runs).split('\n').at(-1)).toBe('| auto | 3 | 2 | 1 | 1 of 2 |');
  expect(besidePeer(runs.filter(({ format }) => format === 'auto'))).toBe('');
});
