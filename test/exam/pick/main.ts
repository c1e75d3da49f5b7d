/** `npm run exam:pick -- REPO --count N`: see docs/measures.md. Exit codes: 0 the goal is met, 1 it is not, 2 usage or no such repository. */
import { parseArgs } from 'node:util';
import { asCommand } from '../command.js';
import { createAnthropicModel } from '../../../src/model/anthropic/client.js';
import { STREAM_IDLE_MS } from '../model/services.js';
import { exam, share, tasksOf, type Found } from './exam.js';

const USAGE = `npm run exam:pick -- REPO --count N [options]
  REPO         a git repository: a working tree, a bare repository or a mirror's git directory
  --count N    commits: the newest that modify 1 to 3 code files (100)
  --ref REF    whose history (HEAD)
  --peer PY    aider's repository map beside it: the Python of an environment with aider-chat
  --model NAME what a model picks from the list (ANTHROPIC_BASE_URL, ANTHROPIC_API_KEY say which server)
  --misses     show the commits of which a file is not among the first 30`;
const GOAL = { 10: 70, 30: 80, warm_s: 3, cold_s: 15 };

const readOptions = () => {
  const options = {
    count: { type: 'string', default: '100' },
    ref: { type: 'string', default: 'HEAD' },
    peer: { type: 'string' },
    model: { type: 'string' },
    misses: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  } as const;
  const { values, positionals } = parseArgs({ allowPositionals: true, options });
  if (values.help) return null;
  const [repo, ...more] = positionals;
  if (repo === undefined || more.length > 0) throw new Error('one repository is expected');
  if (!/^[1-9]\d{0,4}$/.test(values.count))
    throw new Error(`--count: expected a whole number from 1 to 99999, received ${values.count}`);
  return { ...values, repo, count: Number(values.count) };
};

const middle = (values: readonly number[]): number =>
  [...values].sort((a, b) => a - b)[values.length >> 1] ?? 0;
const seconds = (all: readonly Found[], of: (found: Found) => number): string => {
  const values = all.map(of);
  return `${middle(values).toFixed(2)} s (most ${Math.max(...values).toFixed(2)})`;
};

async function main({
  repo,
  ref,
  count,
  peer,
  model: name,
  misses,
}: NonNullable<ReturnType<typeof readOptions>>): Promise<number> {
  const tasks = tasksOf(repo, ref, count);
  if (tasks.length === 0) {
    process.stderr.write(`${repo}: no commit of ${ref} modifies 1 to 3 code files\n`);
    return 2;
  }
  const port = () =>
    createAnthropicModel({ env: process.env, streamIdle_ms: Number(STREAM_IDLE_MS) });
  const beside = {
    ...(peer !== undefined && { peer }),
    ...(name !== undefined && { model: { name, port: port() } }),
  };
  const all = await exam(repo, tasks, beside, ({ rank, task, model }) => {
    if (model !== undefined)
      process.stderr.write(
        `${task.commit.slice(0, 10)} ${task.changed.join(' ')}: ${model.files?.join(' ') ?? model.why}, ${model.calls} calls, ${model.s.toFixed(0)} s\n`,
      );
    if (misses && rank > 30)
      process.stdout.write(
        `${task.commit.slice(0, 10)} ${task.changed.join(' ')}: ${task.message.split('\n')[0] ?? ''}\n`,
      );
  });
  const row = (name: string, rank: (found: Found) => number, rest: string): string =>
    `${name.padEnd(8)} within 10: ${share(all, rank, 10).toFixed(0)} %, within 30: ${share(all, rank, 30).toFixed(0)} %, ${rest}\n`;
  const times = `cold ${seconds(all, (found) => found.cold_s)}, warm ${seconds(all, (found) => found.warm_s)}`;
  const list = `list ${middle(all.map(({ tokens }) => tokens))} tokens`;
  process.stdout.write(`${repo}: ${all.length} commits\n`);
  process.stdout.write(row('found', (found) => found.rank, `${list}, ${times}`));
  process.stdout.write(
    row(
      'plain',
      (found) => found.plainRank,
      seconds(all, (found) => found.plain_s),
    ),
  );
  if (peer !== undefined)
    process.stdout.write(
      row(
        'aider',
        (found) => found.peer?.rank ?? Infinity,
        seconds(all, (found) => found.peer?.s ?? 0),
      ),
    );
  const picks = all.flatMap(({ task, rank, model }) =>
    model === undefined ? [] : [{ task, rank, ...model }],
  );
  if (picks.length > 0) {
    const used = picks.filter(({ files }) => files !== null);
    const held = used.filter(({ task, files }) =>
      task.changed.every((path) => files?.includes(path) === true),
    );
    const some = used.filter(({ task, files }) =>
      task.changed.some((path) => files?.includes(path) === true),
    );
    const named = used.reduce((sum, { files }) => sum + (files?.length ?? 0), 0);
    const calls = picks.reduce((sum, { calls: own }) => sum + own, 0);
    process.stdout.write(
      `model    of ${picks.length}: ${used.length} answers used, ${held.length} name all files, ${some.length} at least one; ${named} files named in ${calls} calls, ${middle(picks.map(({ s }) => s)).toFixed(0)} s each (median)\n`,
    );
  }
  const isMet =
    share(all, ({ rank }) => rank, 10) >= GOAL[10] &&
    share(all, ({ rank }) => rank, 30) >= GOAL[30] &&
    middle(all.map(({ warm_s }) => warm_s)) <= GOAL.warm_s &&
    middle(all.map(({ cold_s }) => cold_s)) <= GOAL.cold_s;
  return isMet ? 0 : 1;
}

await asCommand(USAGE, readOptions, main);
