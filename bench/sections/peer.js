/** One small edit from command to commit: `emend run` beside `aider --message`, asked the same of the same rehearsal. */
import { execFileSync } from 'node:child_process';
import { access, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { parseConfig } from '../../dist/src/documents/job/index.js';
import { findTemporalCli } from '../../dist/src/temporal/cli-binary.js';
import { EMEND, interleaved, timeCommand } from '../commands.js';
import { median, row, spread } from '../numbers.js';
import { appendAnswer, ruleFor } from '../runs.js';

const FILE = 'peer.txt';
const LAST = 'the last line';
const BASE = `${'a line that stays as it is\n'.repeat(39)}${LAST}\n`;
const WORDS = 'Add a line at the end';
const NEWS = 'one more line';
const REPLACE = `${FILE}\n\`\`\`\n<<<<<<< SEARCH\n${LAST}\n=======\n${LAST}\n${NEWS}\n>>>>>>> REPLACE\n\`\`\`\n`;
const rules = () => [
  { name: 'message of a commit', match: { contains: 'commit message' }, answer: WORDS },
  { name: 'aider', match: { contains: '<<<<<<< SEARCH', role: 'system' }, answer: REPLACE },
  ruleFor(FILE, appendAnswer(FILE, `${NEWS}\n`)),
];

/** Its own settings of this person stay out, nothing is looked up on the net. What it writes for itself is in its home. */
const aider = (command, model, home) => [
  ...[
    command,
    '--model',
    `anthropic/${model}`,
    '--edit-format',
    'diff',
    '--message',
    WORDS,
    '--yes-always',
  ],
  ...[
    '--no-gitignore',
    '--no-stream',
    '--no-pretty',
    '--no-check-update',
    '--no-show-release-notes',
  ],
  ...[
    '--no-show-model-warnings',
    '--analytics-disable',
    '--no-suggest-shell-commands',
    '--no-detect-urls',
  ],
  ...[
    '--no-fancy-input',
    '--chat-history-file',
    join(home, 'chat.md'),
    '--input-history-file',
    join(home, 'input'),
  ],
  FILE,
];

const versionOf = (command) => {
  try {
    return {
      version: execFileSync(command, ['--version'], {
        encoding: 'utf8',
        stdio: ['ignore', 'pipe', 'pipe'],
      }),
    };
  } catch (error) {
    return { why: `${command} --version: ${error.message.split('\n')[0]}` };
  }
};

/** `peer`: the command aider. In a repository for each, put back before each round; a commit that holds the line is what counts. */
const measure = async (stage, { rounds, peer }) => {
  const { env, dir } = stage;
  const found = versionOf(peer);
  const contest = async (name, command, its) => {
    const cwd = await stage.repository(`peer-${name}`, { [FILE]: BASE });
    const git = (...args) => execFileSync('git', args, { cwd, encoding: 'utf8' }).trim();
    const base = git('rev-parse', 'HEAD');
    return async () => {
      git('reset', '--quiet', '--hard', base);
      await stage.costs();
      const took = await timeCommand(command, { cwd, env: its });
      if (git('rev-parse', 'HEAD~') !== base || git('show', `HEAD:${FILE}`) !== `${BASE}${NEWS}`)
        throw new Error(`${command.join(' ')} made no commit with its line`);
      return { ...took, worker_ms: (await stage.costs()).cpu_ms };
    };
  };
  const run = [
    ...EMEND,
    'run',
    '-m',
    WORDS,
    FILE,
    '--yes',
    '--commit',
    '--format',
    'structured-edit',
  ];
  const homes = { cold: join(dir, 'cold'), peer: join(dir, 'peer-home') };
  for (const home of Object.values(homes)) await mkdir(home, { mode: 0o700 });
  const cli = await findTemporalCli({ env: process.env, log: () => {} });
  const cold = {
    ...env,
    EMEND_HOME: homes.cold,
    EMEND_TEMPORAL_CLI: cli.path,
    EMEND_QUEUE: 'bench-cold',
  };
  delete cold.TEMPORAL_ADDRESS;
  const theirs = {
    ...Object.fromEntries(Object.entries(env).filter(([name]) => !name.startsWith('AIDER_'))),
    HOME: homes.peer,
    ANTHROPIC_API_BASE: env.ANTHROPIC_BASE_URL,
    LITELLM_LOCAL_MODEL_COST_MAP: 'True',
  };
  const work = {
    warm: await contest('warm', run, env),
    cold: await contest('cold', [...run, '--dev'], cold),
    ...(found.version && {
      aider: await contest('aider', aider(peer, parseConfig(null).value.model, homes.peer), theirs),
    }),
  };
  const seen = await interleaved(work, rounds);
  // Without an address it takes a server at Temporal's usual port for its own.
  await access(join(homes.cold, 'server', 'db', 'temporal.sqlite'));
  return { found, seen };
};

const TITLES = { warm: '`emend run`, server and worker up', cold: '`emend run --dev`, nothing up' };
const GOALS = { warm: { atMost: 0.2 }, cold: { atMost: 0.8 } };

const rowsOf = ({ found, seen }) => {
  const of = (name, what) => seen[name].map((each) => each[what]);
  const both = (name) => `${spread(of(name, 'ms'), 0)} ms, CPU ${spread(of(name, 'cpu_ms'), 0)} ms`;
  const over = (name) => of(name, 'ms').map((ms, round) => ms / of('aider', 'ms')[round]);
  return [
    found.version
      ? row(`${found.version.trim()} (${seen.warm.length} rounds)`, both('aider'))
      : row(
          'aider',
          `skipped: ${found.why} (--peer COMMAND; python3 -m venv V && V/bin/pip install aider-chat)`,
        ),
    ...Object.entries(TITLES).flatMap(([name, title]) => [
      ...(found.version
        ? [row(`${title}: time over aider's`, spread(over(name)), median(over(name)), GOALS[name])]
        : []),
      row(title, both(name)),
    ]),
    row(
      'of a run with server and worker up: CPU of the worker',
      `${spread(of('warm', 'worker_ms'), 0)} ms`,
    ),
  ];
};

export const peer = { title: 'One small edit from command to commit', rules, measure, rowsOf };
