/** A task asked directly: the real prompt, the real engine, a refusal told, the task's own check. */
import { resolve } from 'node:path';
import { expect, it } from '@jest/globals';
import { modelAt, rule, withRehearsal } from '../../model/support.js';
import { askDirectly } from './direct.js';
import { readTasks } from './task.js';

const task = readTasks(resolve('exam/tasks')).find(({ id }) => id === '001_add');
const block = (find: string, replace: string): string =>
  `FILE: src/add.mjs\nFIND:\n${find}\nREPLACE:\n${replace}\nEND {{nonce}}\nEMEND-COMPLETE {{nonce}} 1 1\n`;

const asked = (first: string, second: string) =>
  withRehearsal(
    [rule(second, { name: 'second', match: { contains: 'FIND does not occur' } }), rule(first)],
    async (rehearsal) => {
      if (task === undefined) throw new Error('no task 001_add');
      const options = {
        model: modelAt(rehearsal.url),
        name: 'm',
        format: 'search-replace',
        regeneration: 0,
      } as const;
      const { run, answers } = await askDirectly(task, options);
      return {
        outcome: run.outcome,
        verdicts: answers.map(({ verdict }) => verdict?.outcome),
        run,
      };
    },
  );

const unindented = block('return a - b;', 'const sum = a + b;\nreturn sum;');

it('a quote without its indentation is refused, the line is named, and the next answer solves it', async () => {
  const right = block('  return a - b;', '  return a + b;');
  const { outcome, verdicts, run } = await asked(unindented, right);
  expect({ outcome, verdicts }).toEqual({ outcome: 'solved', verdicts: ['refused', 'edited'] });
  expect(run.refusals).toEqual([expect.stringContaining('found "  return a - b;"')]);
});

it('a wrong edit is called wrong, a part of a line is taken, what is refused twice is given up', async () => {
  expect(await asked(block('  return a - b;', '  return a * b;'), '')).toMatchObject({
    outcome: 'wrong',
  });
  expect(await asked(block('a - b', 'a + b'), '')).toMatchObject({
    outcome: 'solved',
    verdicts: ['edited'],
  });
  expect(await asked(unindented, unindented)).toMatchObject({
    outcome: 'attempts_exhausted',
    verdicts: ['refused', 'refused'],
  });
});

it('a call that fails ends its task under the name of the failure', async () => {
  if (task === undefined) throw new Error('no task 001_add');
  const failing = [{ ...rule(''), fault: { kind: 'overload' } as const }];
  const { run, answers } = await withRehearsal(failing, (rehearsal) =>
    askDirectly(task, {
      model: modelAt(rehearsal.url),
      name: 'm',
      format: 'search-replace',
      regeneration: 0,
    }),
  );
  expect({ outcome: run.outcome, answers }).toEqual({ outcome: 'overloaded', answers: [] });
});
