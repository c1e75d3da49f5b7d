/**
 * `npm run bench:tokens`: what an edit costs in tokens beside aider, for the same real commits with the same answers; what a second call could
 * read from the cache; which lines listings show. Prints Markdown tables with the goals beside the numbers. Exit codes: 0 measured
 * (whatever the numbers say), 2 usage, or not measured.
 */
import { execFileSync, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { text as textIn } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { startRehearsal } from '../dist/src/model/rehearsal/server.js';
import { estimateTokens } from '../dist/src/model/tokens.js';
import { asCommand } from '../test/exam/command.ts';
import {
  blocksOf,
  ourRules,
  peerRule,
  readableFromCache,
  SIZES,
  tokenTasks,
} from '../test/exam/tokens/tasks.ts';
import { windows } from '../test/exam/tokens/windows.ts';
import { row, shown, table } from './numbers.js';
import { jobText, runStep, writeJob } from './runs.js';
import { makeRepository, openStage } from './stage.js';

const USAGE = `npm run bench:tokens -- REPO [REPO...] [options]
  REPO         git repositories whose commits are the tasks: the newest that modify one code file (tests apart)
  --count N    tasks of each of ${SIZES.length} sizes of file (10)
  --peer PY    the Python of an environment with aider-chat; without it aider is skipped, and tokens are estimated
  --keys JSON  keys of Emend's jobs, like '{"maxLinesDiff": 10000}'
  --only NAME  a section (again and again): bare, defaults, cache, windows; default: all
  --commits N  commits of each repository whose listings are looked at (3000)`;
const MODEL = 'claude-sonnet-4-6';
const PEER_MODEL = 'anthropic/claude-sonnet-4-20250514'; // What aider 0.86 has settings for.
const SEED = 1; // Of the commits whose listings are looked at.
const LEAST_CACHED = 1024; // Tokens: the API keeps no shorter prefix.
const PEER = fileURLToPath(new URL('./tokens-peer.py', import.meta.url));
/** Without what asks more models, runs programs or asks the network. */
const PEER_FLAGS =
  `--model ${PEER_MODEL} --yes-always --no-auto-commits --no-dirty-commits --no-gitignore --no-stream --no-pretty --no-auto-lint ` +
  '--no-check-update --no-show-release-notes --no-show-model-warnings --analytics-disable --no-detect-urls --no-fancy-input --max-chat-history-tokens 1000000';

const readOptions = () => {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      count: { type: 'string', default: '10' },
      commits: { type: 'string', default: '3000' },
      peer: { type: 'string' },
      keys: { type: 'string', default: '{}' },
      only: { type: 'string', multiple: true, default: Object.keys(SECTIONS) },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) return null;
  for (const name of ['count', 'commits'])
    if (!/^[1-9]\d{0,4}$/.test(values[name]))
      throw new Error(
        `--${name}: expected a whole number from 1 to 99999, received ${values[name]}`,
      );
  const unknown = values.only.find((name) => !(name in SECTIONS));
  if (unknown !== undefined) throw new Error(`--only: no section ${unknown}`);
  if (positionals.length === 0) throw new Error('expected a git repository');
  const repos = positionals.map((repo) => resolve(repo));
  const missing = repos.find((repo) => !existsSync(repo));
  if (missing !== undefined) throw new Error(`there is no ${missing}`);
  return {
    ...values,
    repos,
    keys: JSON.parse(values.keys),
    count: Number(values.count),
    commits: Number(values.commits),
  };
};

/** What the Python of aider's environment makes of it. It runs aside: aider asks a server of this process. */
const python = async (command, mode, asked, env = process.env) => {
  const child = spawn(command, [PEER, mode], { env, stdio: ['pipe', 'pipe', 'pipe'] });
  const ended = new Promise((done, failed) => child.once('error', failed).once('close', done));
  child.stdin.end(JSON.stringify(asked));
  const [said, errors, code] = await Promise.all([
    textIn(child.stdout),
    textIn(child.stderr),
    ended,
  ]);
  if (code !== 0)
    throw new Error(`${command} ${PEER} ${mode}: exit ${code}: ${errors.trim().slice(-2000)}`);
  return JSON.parse(/^RESULT (.*)$/m.exec(said)[1]);
};

const git = (dir, ...args) =>
  execFileSync('git', args, { cwd: dir, stdio: ['ignore', 'ignore', 'inherit'] });

/** Where a step is played: with its files alone in a repository, or in its repository as it was before the commit. */
const placesIn = async (dir, steps, alone) => {
  const trees = new Map();
  const places = [];
  for (const [at, [task, ...others]] of steps.entries())
    if (alone) {
      const files = Object.fromEntries([task, ...others].map(({ path, base }) => [path, base]));
      places.push({ dir: await makeRepository(join(dir, `alone-${at}`), files), at: 'main' });
    } else {
      const tree = trees.get(task.repo) ?? join(dir, `tree-${trees.size}`);
      if (!trees.has(task.repo))
        git(dir, 'clone', '-q', '--shared', '--no-checkout', task.repo, tree);
      trees.set(task.repo, tree);
      places.push({ dir: tree, at: task.parent });
    }
  return places;
};

/** The requests that a rehearsal wrote down and the answers that it gave, with the number of their step. */
const callsOf = (record, rules, steps) =>
  readFileSync(record, 'utf8')
    .split('\n')
    .flatMap((line) => {
      const { rule, body } = line === '' ? {} : JSON.parse(line);
      const answer = rules.find(({ name }) => name === rule)?.answer;
      if (answer === undefined) return [];
      const blocks = blocksOf(JSON.parse(body));
      const input = blocks.map(({ text }) => text).join('\n');
      const nonce = input.match(/\b[0-9a-f]{8,}\b/g)?.at(-1) ?? '';
      const step = steps.findIndex((tasks) => tasks.some(({ id }) => id === rule.split(' ')[0]));
      return [{ step, rule, blocks, input, output: answer.replaceAll('{{nonce}}', nonce) }];
    });

/** Emend's calls for each step (of one task or more), and the steps of which a file is not the commit's. */
const ours = async (steps, { alone, refusedFirst = false, keys = {} }) => {
  const dir = mkdtempSync(join(tmpdir(), 'bench-tokens-'));
  const record = join(dir, 'requests');
  const rules = steps.flat().flatMap((task) => ourRules(task, refusedFirst));
  const stage = await openStage({ rules, record, env: { LOG: 'error' } });
  try {
    const wrong = [];
    const places = await placesIn(stage.dir, steps, alone);
    for (const [at, tasks] of steps.entries()) {
      const place = places[at];
      git(place.dir, 'checkout', '-q', '--force', '--detach', place.at);
      const target_files = tasks.map(({ path }) => path);
      const settings = {
        target_files,
        model: MODEL,
        approval: 'ask',
        commit: false,
        test: false,
        ...keys,
      };
      const words = tasks.map(({ message }) => message).join('\n\n');
      const text = jobText(settings, '').replace(/# \n$/, () => `${words}\n`);
      await runStep(stage, await writeJob(place.dir, `../job-${at}.md`, text), 'applied');
      if (tasks.some(({ path, result }) => readFileSync(join(place.dir, path), 'utf8') !== result))
        wrong.push(at);
    }
    return { calls: callsOf(record, rules, steps), wrong };
  } finally {
    await stage.close();
    rmSync(dir, { recursive: true });
  }
};

/** aider's, in one of its forms. */
const theirs = async (steps, { alone, peer, form }) => {
  const dir = realpathSync(mkdtempSync(join(tmpdir(), 'bench-tokens-')));
  const record = join(dir, 'requests');
  const rules = steps.map(([task]) => peerRule(task, form));
  const rehearsal = await startRehearsal({ v: 1, rules, default: { answer: 'No.' } }, { record });
  try {
    const places = await placesIn(dir, steps, alone);
    const env = {
      PATH: process.env.PATH,
      HOME: dir,
      ANTHROPIC_API_KEY: 'none',
      ANTHROPIC_API_BASE: rehearsal.url,
      LITELLM_LOCAL_MODEL_COST_MAP: 'True',
      GIT_CONFIG_NOSYSTEM: '1',
      no_proxy: '127.0.0.1,localhost',
    };
    const kept = [
      '--edit-format',
      form,
      '--chat-history-file',
      join(dir, 'chat'),
      '--input-history-file',
      join(dir, 'in'),
    ];
    const bare = alone ? ['--map-tokens', '0', '--no-suggest-shell-commands'] : [];
    const runs = steps.map(([{ path, message }], at) => ({ ...places[at], path, message }));
    const texts = await python(
      peer,
      'run',
      { runs, args: [...PEER_FLAGS.split(' '), ...kept, ...bare] },
      env,
    );
    const wrong = [...steps.keys()].filter((at) => texts[at] !== steps[at][0].result);
    return { calls: callsOf(record, rules, steps), wrong };
  } finally {
    await rehearsal.close();
    rmSync(dir, { recursive: true, force: true });
  }
};

/** Both, and the tokens of each size. */
const beside = async (tasks, { peer, count, keys }, { alone, goals }) => {
  const steps = tasks.map((task) => [task]);
  const played = { Emend: await ours(steps, { alone, keys: alone ? { ...BARE, ...keys } : keys }) };
  if (peer !== undefined)
    for (const form of ['whole', 'diff'])
      played[`aider ${form}`] = await theirs(steps, { alone, peer, form });
  const tokens = {};
  for (const [who, { calls, wrong }] of Object.entries(played)) {
    tokens[who] = await Promise.all(
      ['input', 'output'].map((side) => count(calls.map((call) => call[side]))),
    );
    if (wrong.length > 0)
      console.log(`${who}: not the commit's file: ${wrong.map((at) => tasks[at].id).join(', ')}\n`);
  }
  return SIZES.flatMap((size, at) => {
    const own = [...tasks.keys()].filter((step) => tasks[step].size === size);
    const sum = (who, side) =>
      played[who].calls.reduce(
        (all, { step }, call) => all + (own.includes(step) ? tokens[who][side][call] : 0),
        0,
      );
    const requests = (who) => played[who].calls.filter(({ step }) => own.includes(step)).length;
    const lines = sizeName(at);
    const other = size <= 500 ? 'aider whole' : 'aider diff';
    return ['input', 'output'].map((name, side) => {
      const each = Object.keys(played).map(
        (who) => `${who} ${shown(sum(who, side), 0)} (${requests(who)})`,
      );
      const ratio = peer === undefined ? undefined : sum('Emend', side) / sum(other, side);
      const told = ratio === undefined ? '' : `${shown(ratio)} of ${other}: `;
      return row(
        `${lines}, ${own.length} tasks: ${name}`,
        told + each.join(', '),
        ratio,
        goals ? goals[side] : undefined,
      );
    });
  });
};

/** Of calls that follow one of the same step: the share that was in the cache. */
const cached = async ({ calls }, count, what, goal) => {
  const seconds = calls.flatMap((call, at) => {
    const before = calls.slice(0, at).findLast(({ step }) => step === call.step);
    return before === undefined
      ? []
      : [[readableFromCache(before.blocks, call.blocks), call.input]];
  });
  const counts = await count(seconds.flat());
  const read = seconds.map((_, at) => (counts[2 * at] >= LEAST_CACHED ? counts[2 * at] : 0));
  const [all, sum] = [
    counts.filter((_, at) => at % 2 === 1),
    (list) => list.reduce((total, n) => total + n, 0),
  ];
  const share = (100 * sum(read)) / sum(all);
  return row(
    `${what}: ${seconds.length} calls, ${shown(sum(all), 0)} tokens`,
    `${shown(share, 0)} %`,
    share,
    goal,
  );
};

const WINDOWS_TOKENS = 12_000;
const sizeName = (at) =>
  `${at === 0 ? 'up to' : `${shown(SIZES[at - 1] + 1)} to`} ${shown(SIZES[at])} lines`;
const BARE = { context: { signatures: false } };

const SECTIONS = {
  bare: {
    title: 'Alone: no signatures, no repository map',
    rowsOf: (tasks, options) =>
      beside(tasks, options, { alone: true, goals: [{ atMost: 1 }, { atMost: 1.1 }] }),
  },
  defaults: {
    title: 'In their repositories, with the defaults of both',
    rowsOf: (tasks, options) => beside(tasks, options, { alone: false }),
  },
  cache: {
    title: `What a second call of a step can read from the cache (prefixes from ${LEAST_CACHED} tokens)`,
    rowsOf: async (tasks, { count }) => {
      const goal = { atLeast: 80 };
      const steps = tasks.map((task) => [task]);
      const refused = 'after an answer without its marker';
      const retried = await ours(steps, { alone: true, refusedFirst: true, keys: BARE });
      const rows = [await cached(retried, count, `${refused}, all sizes`, goal)];
      for (const [at, size] of SIZES.entries()) {
        const calls = retried.calls.filter(({ step }) => tasks[step].size === size);
        rows.push(await cached({ calls }, count, `${refused}, ${sizeName(at)}`));
      }
      const large = steps.filter(([{ size }]) => size > 1000);
      const asked = await ours(large, {
        alone: true,
        keys: { ...BARE, inputBudget_tokens: WINDOWS_TOKENS },
      });
      const windows = `lines that windows of ${shown(WINDOWS_TOKENS)} tokens do not hold, asked for`;
      rows.push(await cached(asked, count, windows, goal));
      const isPair = (task, at) => at % 2 === 1 && tasks[at - 1].path !== task.path;
      const pairs = tasks.flatMap((task, at) => (isPair(task, at) ? [[tasks[at - 1], task]] : []));
      const both = await ours(pairs, { alone: true, keys: { ...BARE, maxFilesBeforeSplit: 1 } });
      return [...rows, await cached(both, count, 'a second file of the same step', goal)];
    },
  },
  windows: {
    title: 'Listings at half of the tokens of the whole file',
    rowsOf: async (_, { repos, commits }) => {
      const rows = [];
      for (const repo of repos) {
        const { looked, held } = await windows(repo, commits, SEED);
        const what = `${repo}: of ${looked} changes of files over 1,000 lines those of which all lines are listed`;
        rows.push(row(what, `${shown(held, 1)} %`, held, { atLeast: 95 }));
      }
      return rows;
    },
  },
};

const main = async (options) => {
  const { peer, repos } = options;
  const count = async (texts) =>
    peer === undefined ? texts.map(estimateTokens) : python(peer, 'count', texts);
  if (peer === undefined)
    console.log('aider is skipped: no --peer PY. Tokens are estimated, 4 bytes each.\n');
  const tasks = tokenTasks(repos, options.count);
  console.log(`${new Date().toISOString()}: ${tasks.length} tasks of ${repos.join(', ')}\n`);
  for (const [name, { title, rowsOf }] of Object.entries(SECTIONS))
    if (options.only.includes(name))
      console.log(table(title, await rowsOf(tasks, { ...options, count })));
  return 0;
};

await asCommand(USAGE, readOptions, main);
