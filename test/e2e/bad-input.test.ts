/**
 * What people get wrong, through the built command line as a child process without a terminal: the exit code of docs/cli.md, a sentence
 * for each problem that says what, where and what to type, no stack trace, no key, and nothing written into the workspace.
 */
import { spawn, execFileSync } from 'node:child_process';
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { startedData } from '../client/fake.js';
import { sampled, spread } from '../support/seeded.js';
import { longOnly } from '../support/skipped.js';
import { scene, whole, type Scene } from './support.js';

const SECRET = 'test-key-that-must-not-leak';
const LIMIT_MS = 60_000;

let s: Scene;
let folders: string;
let count = 0;
beforeAll(async () => {
  folders = realpathSync(mkdtempSync(join(tmpdir(), 'emend-bad-')));
  s = await scene({ 'a.js': 'let a = 1;\n' }, [
    { name: 'edit', match: { contains: 'a.js' }, answer: whole({ 'a.js': 'let a = 2;\n' }) },
  ]);
});
afterAll(async () => {
  await s.close();
  rmSync(folders, { recursive: true, force: true });
});

interface Place {
  readonly dir: string;
  write(path: string, content: string | Buffer): void;
  git(...args: string[]): string;
}
/** A folder of its own; `repository` false: outside git. */
const place = (repository = true): Place => {
  const dir = join(folders, `place ${(count += 1)}`);
  mkdirSync(dir);
  const made: Place = {
    dir,
    write: (path, content) => {
      mkdirSync(dirname(join(dir, path)), { recursive: true });
      writeFileSync(join(dir, path), content);
    },
    git: (...args) =>
      execFileSync('git', ['-c', 'user.name=T', '-c', 'user.email=t@example.org', ...args], {
        cwd: dir,
        encoding: 'utf8',
      }),
  };
  made.write('a.js', 'let a = 1;\n');
  if (repository) {
    made.git('init', '-q', '-b', 'main');
    made.git('add', '-A');
    made.git('commit', '-q', '-m', 'base');
  }
  return made;
};
const job = (front: string): string => `---\n${front}\n---\n# Change a\n\nDo it.\n`;

interface Ended {
  readonly exit: number | null;
  readonly out: string;
  readonly err: string;
}
type Env = Record<string, string | undefined>;
const emend = (args: readonly string[], cwd: string, env: Env = {}): Promise<Ended> =>
  new Promise((resolve) => {
    const child = spawn(process.execPath, [join(process.cwd(), 'dist/client.js'), ...args], {
      cwd,
      env: { ...s.env, NODE_OPTIONS: '', ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
      timeout: LIMIT_MS,
      killSignal: 'SIGKILL',
    });
    const text = { out: '', err: '' };
    child.stdout.setEncoding('utf8').on('data', (piece: string) => (text.out += piece));
    child.stderr.setEncoding('utf8').on('data', (piece: string) => (text.err += piece));
    child.once('close', (exit) => {
      resolve({ exit, ...text });
    });
  });

/** Every path below `dir`, git's own apart. */
const listing = (dir: string): readonly string[] =>
  readdirSync(dir, { recursive: true, encoding: 'utf8' })
    .filter((path) => !/^\.git(\/|$)/.test(path))
    .sort();

interface Bad {
  readonly args: readonly string[];
  readonly exit: number;
  /** Each is found in what is printed. */
  readonly says: readonly RegExp[];
  readonly make?: (at: Place) => void;
  readonly env?: (at: Place) => Env;
  readonly repository?: false;
  /** Problems in this report; 1 unless told. 0: commander's own sentence, or a run's result. */
  readonly problems?: number;
}

/** Runs the case and checks what holds for all of them. */
const expectRefusal = async (bad: Bad): Promise<void> => {
  const at = place(bad.repository ?? true);
  bad.make?.(at);
  const before = listing(at.dir);
  const ended = await emend(bad.args, at.dir, bad.env?.(at));
  const printed = `${ended.out}${ended.err}`;
  expect(ended).toMatchObject({ exit: bad.exit });
  for (const words of bad.says) expect(printed).toMatch(words);
  expect(printed).not.toMatch(/\n\s+at |Warning:|\[object|undefined/);
  expect(printed).not.toContain(SECRET);
  const problems = bad.problems ?? 1;
  const lines = ended.err.split('\n');
  expect({
    err: ended.err,
    sentences: lines.filter((line) => line.startsWith('emend: ')).length,
  }).toMatchObject({
    sentences: problems,
  });
  // What to do next stands below the sentence, set in.
  if (problems > 0) expect(ended.err).toMatch(/\n {2}\S.+/);
  expect(listing(at.dir)).toEqual(before);
};

const withJob =
  (front: string) =>
  (at: Place): void => {
    at.write('job.md', job(front));
  };
const RUN = ['run', 'job.md'] as const;

const JOBS: Record<string, Bad> = {
  'job file absent': {
    args: RUN,
    exit: 2,
    says: [/Job file job\.md not found \(looked for \/.*job\.md\)/, /Markdown job file/],
  },
  'job is a directory': {
    args: ['run', 'src'],
    exit: 2,
    make: (at) => {
      at.write('src/x', '');
    },
    says: [/src is not a file; expected a Markdown/],
  },
  'job is binary': {
    args: ['run', 'logo.png'],
    exit: 2,
    make: (at) => {
      at.write('logo.png', Buffer.from([0x89, 0x50, 0x4e, 0x47, 0, 0xff, 0xfe]));
    },
    says: [/logo\.png is not UTF-8 text; expected a Markdown job file/],
  },
  'job holds NUL bytes': {
    args: RUN,
    exit: 2,
    make: (at) => {
      at.write('job.md', '# A\n\nDo\0it.\n');
    },
    says: [/job\.md/, /Markdown/],
  },
  'job is empty': {
    args: RUN,
    exit: 2,
    make: (at) => {
      at.write('job.md', '');
    },
    says: [/job\.md/],
  },
  'not Markdown': {
    args: ['run', 'notes.txt'],
    exit: 2,
    make: (at) => {
      at.write('notes.txt', 'buy milk\n');
    },
    says: [/notes\.txt/, /Markdown/],
  },
  'source file instead of a job': { args: ['run', 'a.js'], exit: 2, says: [/a\.js/, /Markdown/] },
  'bad YAML': {
    args: RUN,
    exit: 2,
    make: withJob('target_files: [a.js\ncommit: true'),
    says: [/job\.md:\d+/],
  },
  'front matter never closed': {
    args: RUN,
    exit: 2,
    make: (at) => {
      at.write('job.md', '---\ntarget_files: [a.js]\n# A\n\nDo it.\n');
    },
    says: [/job\.md:\d+/, /---/],
  },
  'unknown key': {
    args: RUN,
    exit: 2,
    make: withJob('target_file: [a.js]'),
    says: [/job\.md:2: .*target_file.*`target_files`/],
  },
  'wrong type': {
    args: RUN,
    exit: 2,
    make: withJob('target_files: [a.js]\ncommit: [1]'),
    says: [/job\.md:3: commit: expected .*true.*received/],
  },
  'several problems at once': {
    args: RUN,
    exit: 2,
    make: withJob('target_files: [a.js]\ncommit: [1]\nmode: quickly\nwhatever: 1'),
    problems: 3,
    says: [/job\.md:3: commit/, /job\.md:4: mode: .*edit/, /job\.md:5: .*whatever/],
  },
  'target outside, upwards': {
    args: RUN,
    exit: 2,
    make: withJob('target_files: [../x.js]'),
    says: [/job\.md:2: target_files.*\.\.\/x\.js/, /inside the workspace/],
  },
  'target outside, absolute': {
    args: RUN,
    exit: 2,
    make: withJob('target_files: [/etc/passwd]'),
    says: [/job\.md:2: target_files.*\/etc\/passwd/],
  },
  'target outside, through a link': {
    args: RUN,
    exit: 2,
    make: (at) => {
      symlinkSync('/etc/hostname', join(at.dir, 'link'));
      withJob('target_files: [link]')(at);
    },
    says: [/job\.md:2: target_files.*link/, /inside/],
  },
  'target in .git': {
    args: RUN,
    exit: 2,
    make: withJob('target_files: [.git/config]'),
    says: [/job\.md:2: target_files.*\.git/],
  },
  'target missing': {
    args: RUN,
    exit: 2,
    make: withJob('target_files:\n  - a.js\n  - gone.js'),
    says: [/job\.md:4: target_files: expected an existing file, gone\.js/, /`new_files`/],
  },
  'target a directory': {
    args: RUN,
    exit: 2,
    make: (at) => {
      at.write('lib/x.js', '');
      withJob('target_files: [lib]')(at);
    },
    says: [/job\.md:2: .*lib is a directory/],
  },
  'bad emend.yaml': {
    args: RUN,
    exit: 2,
    make: (at) => {
      at.write('emend.yaml', 'limits:\n  maxTotalChunks: many\n');
      withJob('target_files: [a.js]')(at);
    },
    says: [/emend\.yaml:2: .*maxTotalChunks.*expected/, /docs\/configuration\.md/],
  },
  'workspace absent': {
    args: ['run', 'job.md', '--workspace', 'gone'],
    exit: 2,
    make: withJob('target_files: [a.js]'),
    says: [/workspace .*gone is not a directory/, /--workspace/],
  },
};

const TYPED: Record<string, Bad> = {
  'no command': { args: [], exit: 2, problems: 0, says: [/Usage: emend/] },
  'unknown command': {
    args: ['rum'],
    exit: 2,
    problems: 0,
    says: [/unknown command 'rum'/, /Did you mean run\?/],
  },
  'unknown flag': {
    args: ['run', 'job.md', '--yess'],
    exit: 2,
    problems: 0,
    says: [/unknown option '--yess'/, /--yes/],
  },
  'RUN left out': {
    args: ['show'],
    exit: 2,
    problems: 0,
    says: [/missing required argument 'run'/],
  },
  'bad --set, name': {
    args: [...RUN, '--set', 'budget_tokn=5'],
    exit: 2,
    says: [/--set budget_tokn=5: .*`budget_tokens`/],
  },
  'bad --set, value': {
    args: [...RUN, '--set', 'budget_tokens=lots'],
    exit: 2,
    says: [/budget_tokens=lots: expected .*number.*"lots"/],
  },
  'bad --set, no value': {
    args: [...RUN, '--set', 'budget_tokens'],
    exit: 2,
    says: [/expected NAME=VALUE/],
  },
  'unknown answer': {
    args: ['decide', 'abcd', 'perhaps'],
    exit: 2,
    says: [/"perhaps" is not an answer; expected one of approve, /, /emend show RUN/],
  },
  'bad timing': {
    args: ['list'],
    exit: 2,
    env: () => ({ EMEND_HEARTBEAT_MS: 'soon' }),
    says: [/EMEND_HEARTBEAT_MS .*expected a whole number from 50 to 600000 \(ms\), found "soon"/],
  },
  'bad --older-than': { args: ['gc', '--older-than', 'soon'], exit: 2, says: [/soon/, /days/i] },
};

const MACHINE: Record<string, Bad> = {
  // Root may write anywhere, so a read-only directory refuses it nothing: /proc, where nobody can make a directory, stands for it.
  'EMEND_HOME where nothing can be written': {
    args: RUN,
    exit: 1,
    make: withJob('target_files: [a.js]'),
    env: () => ({ EMEND_HOME: '/proc/1/emend' }),
    says: [/\/proc\/1\/emend cannot be Emend's home: /, /Set EMEND_HOME/],
  },
  'EMEND_HOME is a file': {
    args: ['list'],
    exit: 1,
    make: (at) => {
      at.write('home', '');
    },
    env: (at) => ({ EMEND_HOME: join(at.dir, 'home') }),
    says: [/home cannot be Emend's home: it is not a directory/],
  },
  'EMEND_HOME below a file': {
    args: ['list'],
    exit: 1,
    env: (at) => ({ EMEND_HOME: join(at.dir, 'a.js', 'home') }),
    says: [/a part of its path is a file/],
  },
  'EMEND_HOME open to others': {
    args: ['list'],
    exit: 1,
    make: (at) => {
      mkdirSync(join(at.dir, 'home'));
      chmodSync(join(at.dir, 'home'), 0o777);
    },
    env: (at) => ({ EMEND_HOME: join(at.dir, 'home') }),
    says: [/other users can write to it/, /chmod go-w/],
  },
  'no server': {
    args: RUN,
    exit: 7,
    make: withJob('target_files: [a.js]'),
    env: () => ({ TEMPORAL_ADDRESS: '127.0.0.1:1' }),
    says: [/No Temporal server at 127\.0\.0\.1:1 .*nothing is listening there/, /TEMPORAL_ADDRESS/],
  },
  'no server, not this machine': {
    args: RUN,
    exit: 7,
    make: withJob('target_files: [a.js]'),
    env: () => ({ TEMPORAL_ADDRESS: 'nowhere.invalid:7233', EMEND_CONNECT_MS: '1500' }),
    says: [/No Temporal server at nowhere\.invalid:7233/, /TEMPORAL_ADDRESS/],
  },
  'no server to answer': {
    args: ['approve', 'abcd1234'],
    exit: 7,
    env: () => ({ TEMPORAL_ADDRESS: '127.0.0.1:1' }),
    says: [/No Temporal server at 127\.0\.0\.1:1/],
  },
  'another namespace': {
    args: RUN,
    exit: 7,
    make: withJob('target_files: [a.js]'),
    env: () => ({ TEMPORAL_NAMESPACE: 'absent' }),
    says: [/no namespace "absent"/, /TEMPORAL_NAMESPACE/],
  },
  'no API key, --dev': {
    args: [...RUN, '--dev'],
    exit: 7,
    make: withJob('target_files: [a.js]'),
    env: () => ({ ANTHROPIC_API_KEY: '', ANTHROPIC_BASE_URL: '', ANTHROPIC_AUTH_TOKEN: '' }),
    says: [/Neither ANTHROPIC_API_KEY nor ANTHROPIC_BASE_URL is set/, /Set ANTHROPIC_API_KEY/],
  },
  'no worker': {
    args: RUN,
    exit: 7,
    problems: 0,
    make: withJob('target_files: [a.js]'),
    says: [/No worker (serves the task queue|answers)/, /emend worker/],
  },
  'unknown run': {
    args: ['show', 'ffffffffffff'],
    exit: 2,
    says: [/No run starts with "ffffffffffff"/, /emend list/],
  },
  'unknown workflow id': {
    args: ['show', 'emend/job/x/0123456789ab'],
    exit: 2,
    says: [/No run has the workflow id emend\/job\/x\/0123456789ab/],
  },
  'RUN too short': {
    args: ['show', 'abc'],
    exit: 2,
    says: [/"abc" does not name a run; expected at least the first 4 digits/, /emend list/],
  },
  'RUN is a path': {
    args: ['diff', '../../etc'],
    exit: 2,
    says: [/"\.\.\/\.\.\/etc" does not name a run/],
  },
};

describe('a job that cannot be run', () => {
  // What the reader of jobs says is tested without processes (test/documents/job, test/workspace/documents/read-job.test.ts); here a sample goes the whole way.
  const ALWAYS = [
    'job file absent',
    'not Markdown',
    'several problems at once',
    'target outside, through a link',
  ];
  const names = sampled('bad jobs', Object.keys(JOBS), 3, ALWAYS);
  test.each(names.map((name) => [name, JOBS[name]!] as const))('%s', (_name, bad) =>
    expectRefusal(bad),
  );
});
describe('a command line that says nothing we know', () => {
  test.each(spread(Object.entries(TYPED), 8))('%s', (_name, bad) => expectRefusal(bad));
});
describe('a machine or a run that is not there', () => {
  test.each(spread(Object.entries(MACHINE), 6))('%s', (_name, bad) => expectRefusal(bad));

  test('--json says the same as data', async () => {
    const at = place();
    at.write('job.md', job('target_files: [gone.js]\ncommit: true'));
    const ended = await emend(['run', 'job.md', '--json'], at.dir);
    expect(JSON.parse(ended.out)).toMatchObject({
      exit: 2,
      error: { code: 'target_missing', problems: [{ code: 'target_missing' }] },
    });
  });
});

/** Refused by the run itself, in its preflight, before anything is paid. */
const RUNS: Record<string, Bad> = {
  'binary target': {
    args: RUN,
    exit: 4,
    problems: 0,
    make: (at) => {
      at.write('b.bin', Buffer.from([1, 0, 2]));
      withJob('target_files: [b.bin]')(at);
    },
    says: [/b\.bin.* binary/, /leave binary files out/],
  },
  'target too large': {
    args: RUN,
    exit: 4,
    problems: 0,
    make: (at) => {
      at.write('big.txt', 'x'.repeat(2000));
      withJob('target_files: [big.txt]\nlimits:\n  maxFile_bytes: 1000')(at);
    },
    says: [/big\.txt: .*2000 bytes, at most 1000/, /maxFile_bytes/],
  },
  'too many files': {
    args: [...RUN, '--set', 'maxFilesPerStep=1'],
    exit: 4,
    problems: 0,
    make: (at) => {
      at.write('b.js', '');
      withJob('target_files: [a.js, b.js]')(at);
    },
    says: [/2 target files; a step takes at most 1 \(maxFilesPerStep\)/, /plan/],
  },
  'commit outside git': {
    args: RUN,
    exit: 4,
    problems: 0,
    repository: false,
    make: withJob('target_files: [a.js]\ncommit: true'),
    says: [/git/, /git init/],
  },
  'dirty target with commit': {
    args: RUN,
    exit: 4,
    problems: 0,
    make: (at) => {
      at.write('a.js', 'let a = 7;\n');
      withJob('target_files: [a.js]\ncommit: true')(at);
    },
    says: [/a\.js/, /Commit or stash/],
  },
};

const PLAN_RUN = ['plan', 'run', 'p.md', '--auto', '--yes'] as const;
const PLAN = '# P\n\n### Phase 1: A\n\n**Objective**: Change a\n\n- [ ] Change `a.js`\n';
const commit = (at: Place): void => {
  at.git('add', '-A');
  at.git('commit', '-q', '-m', 'plan');
};

/** The first and the last are refused before a server is asked, the others by the plan's run in its first reading. */
const PLANS: Record<string, Bad> = {
  'plan without a repository': {
    args: PLAN_RUN,
    exit: 4,
    repository: false,
    make: (at) => {
      at.write('p.md', PLAN);
    },
    says: [/p\.md is not in a git repository, but each phase of a plan is committed/],
  },
  'plan in a repository without a commit': {
    args: PLAN_RUN,
    exit: 4,
    problems: 0,
    repository: false,
    make: (at) => {
      at.git('init', '-q');
      at.write('p.md', PLAN);
    },
    says: [/has no commit yet; the phases of p need one to build on/],
  },
  'plan in no commit': {
    args: PLAN_RUN,
    exit: 4,
    problems: 0,
    make: (at) => {
      at.write('p.md', PLAN);
    },
    says: [
      /these of its files are not in a commit: p\.md \(untracked\)/,
      /Commit the plan first: git add, git commit/,
    ],
  },
  'plan with a missing stage file': {
    args: ['plan', 'run', 'p', '--auto', '--yes'],
    exit: 2,
    make: (at) => {
      at.write(
        'p/p.md',
        '### Phase 1: A [EXPANDED]\n**See**: [a](phase_1_a/phase_1_overview.md)\n',
      );
      at.write(
        'p/phase_1_a/phase_1_overview.md',
        '# Phase 1: A\n<!-- emend:body -->\n#### Stage 1: S [EXPANDED]\n**See**: [s](stage_1_s.md)\n',
      );
      commit(at);
    },
    says: [
      /p\/phase_1_a\/phase_1_overview\.md:4: expected a file p\/phase_1_a\/stage_1_s\.md, but it does not exist/,
    ],
  },
};

describe('with a worker', () => {
  beforeAll(() => s.worker().then(() => undefined));
  test.each(Object.entries(RUNS))('%s', (_name, bad) => expectRefusal(bad));
  test.each(sampled('bad plans', Object.entries(PLANS), 2))('%s', (_name, bad) =>
    expectRefusal(bad),
  );

  test('a plan whose phase is to change a file that a person has changed: the phase is refused, and the plan asks', async () => {
    const at = place();
    at.write('p.md', PLAN);
    at.write('emend.yaml', 'test: false\n');
    commit(at);
    at.write('a.js', 'let a = 7;\n');
    const before = at.git('status', '--porcelain');
    const ended = await emend(PLAN_RUN, at.dir);
    expect(ended).toMatchObject({ exit: 3 });
    expect(ended.out).toMatch(/engine_failed/);
    expect(ended.out).toMatch(/a\.js/);
    expect(at.git('status', '--porcelain')).toBe(before);
    expect(at.git('log', '--format=%s').trim()).toBe('plan\nbase');
    const run = /^([0-9a-f]{8}) /m.exec(ended.out)?.[1] ?? '';
    expect(await emend(['abort', run], at.dir)).toMatchObject({ exit: 0 });
  });

  longOnly('a plan run to its end; the plans above are stopped early')(
    'a plan on a detached HEAD, beside changes of other files: HEAD goes on, the branch and the changes stay',
    async () => {
      const at = place();
      at.write('p.md', PLAN);
      at.write('emend.yaml', 'test: false\n');
      at.write('b.js', 'let b = 1;\n');
      commit(at);
      at.git('checkout', '-q', '--detach');
      at.write('b.js', 'let b = 7;\n');
      expect(await emend(PLAN_RUN, at.dir)).toMatchObject({ exit: 0, err: '' });
      expect(at.git('log', '--format=%s').trim()).toBe(
        'Mark Phase 1 of p as completed (1/1)\nPhase 1: A\nplan\nbase',
      );
      expect(at.git('log', '--format=%s', 'main').trim()).toBe('plan\nbase');
      expect(at.git('status', '--porcelain').trim()).toBe('M b.js');
    },
  );

  test('an answer that the decision does not take, a decision that is not open, a file that is not asked about', async () => {
    const run = await s.start('jobs/answers.md', job('target_files: [a.js]'));
    const view = await s.settle(run);
    const before = listing(s.repo);
    const key = run.stepKey.slice(0, 8);
    const id = view.status.decision?.id ?? '';
    for (const [args, says] of [
      [['decide', key, 'keep'], /keep is not an answer to approval; answers are: approve/],
      [['approve', key, '--decision', '9-00000000-00000000'], /9-00000000-00000000/],
      [['approve', key, '--file', 'other.js'], /other\.js/],
      [['revise', key, '--decision', id], /note/],
      [['retry', key, '--set', 'budget_tokens=-1'], /budget_tokens/],
    ] as const) {
      const ended = await emend(args, s.repo);
      expect({ args, ...ended }).toMatchObject({
        exit: 2,
        err: expect.stringMatching(/^emend: .+\n {2}\S/),
      });
      expect(ended.err).toMatch(says);
      expect(ended.err).not.toMatch(/\n\s+at /);
    }
    expect(listing(s.repo)).toEqual(before);
    expect((await s.show(run)).status.decision?.id).toBe(id);
    await s.answer(run, 'abort');
    expect(await s.end(run)).toMatchObject({ outcome: 'aborted' });
  });

  test('digits that fit several runs are refused with the runs they fit', async () => {
    // Runs that begin alike do not come by themselves: the archive is given two.
    for (const end of ['2', '1'])
      await s.emend.archive.append(`abcd${end.repeat(28)}`, [
        { id: 'started', at: new Date().toISOString(), kind: 'started', data: startedData({}) },
      ]);
    const ended = await emend(['show', 'abcd'], s.repo);
    expect(ended).toMatchObject({
      exit: 2,
      err: expect.stringMatching(
        /^emend: "abcd" fits 2 runs:\n {2}abcd1111 .*\n {2}abcd2222 .*\n {2}Type more digits of the run's id\.\n$/,
      ),
    });
  });
});

test('a worker without a key says so, and the run waits for a person with the same words', async () => {
  const noKey = {
    ANTHROPIC_API_KEY: '',
    ANTHROPIC_AUTH_TOKEN: '',
    ANTHROPIC_BASE_URL: '',
    EMEND_QUEUE: `${s.env.EMEND_QUEUE ?? ''}-without-key`,
  };
  const at = place();
  at.write('job.md', job('target_files: [a.js]'));
  const worker = spawn(process.execPath, [join(process.cwd(), 'dist/client.js'), 'worker'], {
    cwd: at.dir,
    env: { ...s.env, ...noKey, NODE_OPTIONS: '' },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const ended = new Promise<number | null>((resolve) => worker.once('exit', resolve));
  try {
    let said = '';
    worker.stderr.setEncoding('utf8').on('data', (piece: string) => (said += piece));
    await s.until(() => said.includes('Ctrl-C stops the worker') || worker.exitCode !== null);
    expect(said).toContain('Neither ANTHROPIC_API_KEY nor ANTHROPIC_BASE_URL is set');
    const paused = await emend(RUN, at.dir, noKey);
    expect(paused).toMatchObject({ exit: 3, out: expect.stringMatching(/model_unavailable/) });
    expect(paused.out).toMatch(/Neither ANTHROPIC_API_KEY/);
    const run = /^([0-9a-f]{8}) /.exec(paused.out)?.[1] ?? '';
    expect(await emend(['abort', run], at.dir, noKey)).toMatchObject({ exit: 0 });
  } finally {
    worker.kill('SIGTERM');
  }
  expect(await ended).toBe(0);
});
