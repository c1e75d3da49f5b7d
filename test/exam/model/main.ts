/**
 * `npm run exam:model`: see docs/models.md. Exit codes: 0 done (whatever the model made of it), 1 a file was wrongly changed or a
 * replayed outcome differs, 2 usage.
 */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { createAnthropicModel } from '../../../src/model/anthropic/client.js';
import { FORMATS, type Format } from '../../../src/shared/formats.js';
import { resolveTimings } from '../../../src/temporal/settings.js';
import { keepRun } from './answers.js';
import { askDirectly } from './direct.js';
import { maxDraws } from './limits.js';
import { costTable } from './cost.js';
import { besidePeer, PEER_FORMATS, type PeerFormat, peerVersion, runPeer } from './peer.js';
import { replay } from './replay.js';
import { isDone, otherModel, readResults, type Results, withRun, writeResults } from './results.js';
import { canBeIn, runTask, type TaskRun, type WantedFormat } from './run-task.js';
import { startServices, STREAM_IDLE_MS } from './services.js';
import { byFormat, bySize, byTask } from './table.js';
import { readTasks, type Task } from './task.js';

const root = resolve(dirname(fileURLToPath(import.meta.url)), '../../..');
const USAGE = `npm run exam:model -- [options]         (ANTHROPIC_BASE_URL, ANTHROPIC_API_KEY say which server)
  --tasks DIR         default exam/tasks
  --format F          one of ${FORMATS.join(', ')}, or auto (default); several with commas
  --only ID           tasks whose name begins so; several with commas
  --small             only the tasks meant for a small model
  --model NAME        the model asked for; default: as the configuration says
  --config FILE       an emend.yaml for the scratch copies (limits, models)
  --lines FROM-TO     only tasks whose longest changed file has so many lines
  --peer [COMMAND]    aider, too, on the same tasks, in its formats whole and diff; needs --model (aider)
  --limit-minutes N   a task's time (10)
  --out FILE          results, gone on with where it is there (exam-results.json)
  --answers DIR       where answers are kept (FILE without .json, then -answers)
  --direct            prompts and engine alone, no Temporal: asks the model and judges its answers; needs --format
  --draws N           with --direct: each task N times, each with another nonce (1)
  --list              show the tasks and end
  --cost              what each task's true edit costs to say in each format, and end; no model
  --table             print the tables of FILE and end
  --replay [DIR]      kept answers through today's engine, no model; default exam/answers`;

/** parseArgs knows no option with an optional value: it is taken out of `args`. Null: it is not there. */
const taken = (args: string[], name: string, otherwise: string): string | null => {
  const at = args.indexOf(name);
  if (at === -1) return null;
  const value = args[at + 1]?.startsWith('--') === false ? args[at + 1] : undefined;
  args.splice(at, value === undefined ? 1 : 2);
  return value ?? otherwise;
};

const readOptions = () => {
  const args = process.argv.slice(2);
  const replayed = taken(args, '--replay', 'exam/answers');
  const peer = taken(args, '--peer', 'aider');
  const text = { type: 'string' } as const;
  const flag = { type: 'boolean', default: false } as const;
  const { values } = parseArgs({
    args,
    options: {
      tasks: { ...text, default: 'exam/tasks' },
      format: { ...text, default: 'auto' },
      only: text,
      small: flag,
      model: text,
      config: text,
      lines: { ...text, default: '0-1000000' },
      'limit-minutes': { ...text, default: '10' },
      out: { ...text, default: 'exam-results.json' },
      answers: text,
      direct: flag,
      draws: { ...text, default: '1' },
      list: flag,
      cost: flag,
      table: flag,
      help: flag,
    },
  });
  const formats = values.format.split(',');
  const unknown = formats.find(
    (format) => format !== 'auto' && !(FORMATS as readonly string[]).includes(format),
  );
  if (unknown !== undefined) throw new Error(`--format: unknown ${unknown}`);
  const minutes = Number(values['limit-minutes']);
  if (!(minutes > 0 && minutes <= 1440))
    throw new Error('--limit-minutes: expected a number over 0, up to 1440');
  const draws = Number(values.draws);
  if (!(Number.isInteger(draws) && draws >= 1 && draws <= maxDraws))
    throw new Error(`--draws: expected 1 to ${maxDraws}`);
  if (values.direct && formats.includes('auto'))
    throw new Error(`--direct: say which formats, --format ${FORMATS.join(',')}`);
  const lines = /^(\d+)-(\d+)$/.exec(values.lines)?.slice(1).map(Number);
  if (lines === undefined) throw new Error('--lines: expected FROM-TO, like 20-150');
  if (peer !== null && values.model === undefined)
    throw new Error('--peer: say which model both are given, --model NAME');
  return {
    ...values,
    draws,
    lines,
    peer,
    formats: formats as WantedFormat[],
    limit_ms: minutes * 60_000,
    replay: replayed,
    answers: values.answers ?? `${values.out.replace(/\.json$/, '')}-answers`,
  };
};
type Options = ReturnType<typeof readOptions>;

const say = (text: string): void => void process.stdout.write(`${text}\n`);

const chosen = ({ tasks, only, small, lines: [from = 0, to = 0] }: Options): readonly Task[] => {
  const wanted = only?.split(',') ?? [''];
  const found = readTasks(resolve(root, tasks)).filter(
    (task) =>
      (!small || task.small) &&
      task.lines >= from &&
      task.lines <= to &&
      wanted.some((part) => task.id.startsWith(part)),
  );
  if (found.length === 0) throw new Error(`no task of ${tasks} is meant`);
  return found;
};

const replayAll = async (options: Options, dir: string): Promise<number> => {
  const tasks = readTasks(resolve(root, options.tasks));
  const { answers, models, differences, edited, asked } = await replay(resolve(root, dir), tasks);
  say(
    `${answers} answers of ${models.join(', ')}: ${differences.length === 0 ? 'all as they were' : 'differences'}`,
  );
  for (const line of differences) say(line);
  say(`${edited} of them edit; a guard asks a person about ${asked.length} of these`);
  for (const line of asked) say(`  ${line}`);
  return differences.length > 0 || answers === 0 ? 1 : 0;
};

let signalled = false;
/** The first SIGINT or SIGTERM does `last`, then ends the process with the signal's exit code. Returns the way back. */
const onSignal = (last: () => Promise<void>): (() => void) => {
  const handlers = Object.entries({ SIGINT: 130, SIGTERM: 143 }).map(([signal, code]) => {
    const handler = (): void => {
      // Sent to the whole group, a signal comes twice: from scripts/exam-model.js, too.
      if (signalled) return;
      signalled = true;
      void last().finally(() => process.exit(code));
    };
    process.on(signal, handler);
    return [signal, handler] as const;
  });
  return () => {
    for (const [signal, handler] of handlers) process.off(signal, handler);
  };
};

const COMMAND = `npm run exam:model -- ${process.argv.slice(2).join(' ')}`;
const modelOf = ({ model }: Options): string =>
  model ?? process.env.ANTHROPIC_BASE_URL ?? 'as configured';

const exam = async (options: Options, tasks: readonly Task[], begun: Results): Promise<Results> => {
  let results = begun;
  const left = tasks.flatMap((task) =>
    options.formats
      .filter((format) => canBeIn(task, format) && !isDone(results, task, format))
      .map((format) => ({ task, format })),
  );
  if (left.length === 0) return results;
  const dir = mkdtempSync(join(tmpdir(), 'emend-exam-'));
  const clear = onSignal(async () => {
    // Started or starting: what came up is ended all the same.
    await (await starting).stop();
    rmSync(dir, { recursive: true, force: true });
  });
  const starting = startServices(root, dir);
  const services = await starting;
  const config = options.config === undefined ? null : readFileSync(options.config, 'utf8');
  try {
    for (const { task, format } of left) {
      const { run, answers } = await runTask(task, {
        emend: services.emend,
        dir: join(dir, 'tasks'),
        format,
        model: options.model ?? null,
        config,
        limit_ms: options.limit_ms,
      });
      const model = modelOf(options);
      keepRun(options.answers, {
        v: 1,
        task: task.id,
        taskHash: task.hash,
        format,
        model,
        date: run.at,
        answers,
      });
      results = withRun(results, run, model);
      writeResults(options.out, results);
      const more = run.outside.length > 0 ? `; WRONGLY CHANGED: ${run.outside.join(', ')}` : '';
      say(
        `${task.id} ${format}: ${run.outcome}, ${run.calls} calls, ${Math.round(run.seconds)} s${more}`,
      );
    }
  } finally {
    await services.stop();
    rmSync(dir, { recursive: true, force: true });
    clear();
  }
  return results;
};

/** The peer on the same tasks, in the same results. */
const besides = async (
  options: Options,
  tasks: readonly Task[],
  begun: Results,
): Promise<Results> => {
  const { peer: command, model, limit_ms } = options;
  if (command === null || model === undefined) return begun;
  let results = begun;
  const dir = mkdtempSync(join(tmpdir(), 'emend-exam-'));
  try {
    for (const task of tasks)
      for (const format of Object.keys(PEER_FORMATS) as PeerFormat[]) {
        if (isDone(results, task, format)) continue;
        const { run, output } = await runPeer(task, {
          command,
          format,
          model,
          dir,
          limit_ms,
          env: process.env,
        });
        mkdirSync(options.answers, { recursive: true });
        writeFileSync(join(options.answers, `${task.id}.${format}.txt`), output);
        results = withRun(results, run, model);
        writeResults(options.out, results);
        say(
          `${task.id} ${format}: ${run.outcome}, ${run.calls} calls, ${Math.round(run.seconds)} s`,
        );
      }
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
  return results;
};

const direct = async (options: Options, tasks: readonly Task[]): Promise<Results> => {
  const streamIdle_ms = resolveTimings({
    EMEND_STREAMIDLE_MS: STREAM_IDLE_MS,
    ...process.env,
  }).streamIdle_ms;
  const port = createAnthropicModel({ env: process.env, streamIdle_ms });
  const name = options.model ?? 'default';
  const runs: TaskRun[] = [];
  for (const format of options.formats as Format[])
    for (const task of tasks.filter((each) => canBeIn(each, format)))
      for (let regeneration = 0; regeneration < options.draws; regeneration += 1) {
        const { run, answers } = await askDirectly(task, {
          model: port,
          name,
          format,
          regeneration,
        });
        runs.push(run);
        const kept = {
          v: 1,
          task: task.id,
          taskHash: task.hash,
          model: name,
          date: run.at,
          answers,
        } as const;
        keepRun(options.answers, {
          ...kept,
          format: regeneration === 0 ? format : `${format}.${regeneration}`,
        });
        const words = run.attempts.map(({ verdict }) =>
          [verdict?.outcome, ...(verdict?.reasons ?? [])].join(' '),
        );
        say(
          `${task.id} ${format}: ${run.outcome} (${words.join('; ')}), ${Math.round(run.seconds)} s`,
        );
      }
  return { v: 1, model: name, begun: runs[0]?.at ?? '', command: COMMAND, runs };
};

const tables = (results: Results): number => {
  const { runs } = results;
  const parts = [byFormat(runs), besidePeer(runs), bySize(runs), byTask(runs)].filter(
    (part) => part !== '',
  );
  say(
    `\n${results.model ?? 'no model'}, begun ${results.begun}\n${results.command}\n\n${parts.join('\n\n')}`,
  );
  const isPeers = ({ format }: TaskRun): boolean => format in PEER_FORMATS;
  return runs.some((run) => !isPeers(run) && run.outside.length > 0) ? 1 : 0;
};

const main = async (): Promise<number> => {
  let options;
  let tasks;
  try {
    options = readOptions();
    if (options.help) {
      say(USAGE);
      return 0;
    }
    tasks = chosen(options);
    if (options.peer !== null) say(peerVersion(options.peer));
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n\n${USAGE}\n`);
    return 2;
  }
  if (options.replay !== null) return replayAll(options, options.replay);
  if (options.list) {
    for (const { id, kind, lines, small } of tasks)
      say(`${id}  ${lines} lines  ${kind}${small ? '  (small)' : ''}`);
    return 0;
  }
  if (options.cost) {
    say(costTable(tasks));
    return 0;
  }
  if (options.direct) return tables(await direct(options, tasks));
  const begun = readResults(options.out, COMMAND);
  if (options.table) return tables(begun);
  const other = otherModel(begun, modelOf(options));
  if (other === null)
    return tables(await besides(options, tasks, await exam(options, tasks, begun)));
  process.stderr.write(
    `${options.out} holds results of ${other}: say another --out for ${modelOf(options)}\n`,
  );
  return 2;
};

process.exitCode = await main().catch((error: unknown) => {
  // What was under way fails when its server is ended; the handler ends the process.
  if (signalled) return new Promise<number>(() => undefined);
  throw error;
});
