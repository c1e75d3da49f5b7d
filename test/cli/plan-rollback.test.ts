/** `emend plan rollback` on real repositories: what a phase committed goes, a person's work never does. */
import { execFileSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { main } from '../../src/cli/main.js';
import { createApplyEngine } from '../../src/workspace/apply/engine.js';
import { ownProcess } from '../../src/system/process.js';
import { hostId } from '../../src/stores/home.js';
import { localHolder } from '../../src/workspace/apply/lock-owners.js';
import { openStores, resolveStore } from '../../src/stores/location.js';
import { realSys } from '../../src/system/sys.js';
import { takeBack } from '../../src/workspace/landing/revert-commits.js';
import { sampled } from '../support/seeded.js';
import { fakeIo } from './io.js';

const RUN = 'feedc0de'.repeat(4);
const PLAN = [
  '# Demo',
  '',
  '### Phase 1: One [COMPLETED]',
  '**Dependencies**: []',
  '',
  '- [x] Create `src/one.js`',
  '',
  '### Phase 2: Two [COMPLETED]',
  '**Dependencies**: []',
  '',
  '- [x] Create `src/two.js`',
  '- [x] Say so in `src/one.js`',
  '',
  '## Implementation Progress',
  '',
  '**Last Completed**: Phase 2 - Two',
  '**Status**: Completed (2/2 phases complete)',
  '',
].join('\n');

let cwd = '';
let home = '';
const git = (...args: readonly string[]): string =>
  execFileSync('git', [...args], { cwd, encoding: 'utf8' });
const put = (path: string, text: string): void => {
  mkdirSync(dirname(join(cwd, path)), { recursive: true });
  writeFileSync(join(cwd, path), text);
};
const read = (path: string): string => readFileSync(join(cwd, path), 'utf8');
const commit = (message: string): string => {
  git('add', '-A');
  git('commit', '-qm', message);
  return git('rev-parse', 'HEAD').trim();
};
const phase = (number: number, name: string): string =>
  commit(
    `Phase ${number}: ${name}\n\nPlan plans/010_demo, phase ${number} of 2.\n\nEmend-Step: ${RUN}-p${number}-1\n`,
  );
const emend = async (...args: readonly string[]) => {
  const env = { EMEND_HOME: home, HOME: home, PATH: process.env.PATH };
  const io = fakeIo({
    cwd,
    env: { ...env, TEMPORAL_ADDRESS: '127.0.0.1:1', EMEND_CONNECT_MS: '300' },
  });
  const exit = await main(['plan', ...args], io);
  return { exit, ...io.printed };
};

/** The repository that each test has a copy of. */
let made = '';
let two = '';
beforeAll(() => {
  made = cwd = mkdtempSync(join(tmpdir(), 'emend-rollback-'));
  git('init', '-q', '-b', 'main');
  git('config', 'user.name', 'Ada Person');
  git('config', 'user.email', 'ada@example.org');
  put('plans/010_demo.md', PLAN.replaceAll(' [COMPLETED]', '').replaceAll('[x]', '[ ]'));
  put('own.txt', 'mine\n');
  commit('base');
  put('src/one.js', 'one\n');
  phase(1, 'One');
  put('src/one.js', 'one\ntwo is there\n');
  put('src/two.js', 'two\n');
  two = phase(2, 'Two');
  put('plans/010_demo.md', PLAN);
  put('summaries/010_partial.md', '# Partial summary\n\n- Phase 2 (Two): completed\n');
  commit('Mark Phase 2 of plans/010_demo as completed (2/2)');
});
afterAll(() => {
  rmSync(made, { recursive: true });
});
beforeEach(async () => {
  cwd = mkdtempSync(join(tmpdir(), 'emend-rollback-'));
  cpSync(made, cwd, { recursive: true, preserveTimestamps: true });
  home = mkdtempSync(join(tmpdir(), 'emend-home-'));
  await hostId(home);
});

test('one new commit takes back files, marks and boxes; what a person has beside it stays, and the phase is open again', async () => {
  put('own.txt', 'mine, not committed\n');
  const before = git('rev-list', 'HEAD').trim();
  const { exit, out, err } = await emend('rollback', 'plans/010_demo.md', '2', '--json');
  expect([exit, err]).toEqual([0, '']);
  const head = git('rev-parse', 'HEAD').trim();
  expect(JSON.parse(out)).toEqual({
    v: 1,
    phase: 2,
    commit: head,
    reverted: [two],
    files: ['plans/010_demo.md', 'src/one.js', 'src/two.js', 'summaries/010_partial.md'],
  });
  expect(git('rev-list', 'HEAD~1').trim()).toBe(before);
  expect(git('log', '-1', '--format=%B')).toContain(
    'Revert Phase 2: Two\n\nPlan plans/010_demo.\n',
  );
  expect(git('log', '-1', '--format=%b')).toContain(`This reverts commit ${two}.`);
  expect(read('src/one.js')).toBe('one\n');
  expect(existsSync(join(cwd, 'src/two.js'))).toBe(false);
  const document = read('plans/010_demo.md');
  expect(document).toContain(
    '### Phase 1: One [COMPLETED]\n**Dependencies**: []\n\n- [x] Create `src/one.js`\n',
  );
  expect(document).toContain(
    '### Phase 2: Two\n**Dependencies**: []\n\n- [ ] Create `src/two.js`\n- [ ] Say so',
  );
  expect(document).toContain('**Status**: In Progress (1/2 phases complete)');
  expect(document).not.toContain('Last Completed');
  expect(read('summaries/010_partial.md')).toContain('- Phase 2 (Two): reverted\n');
  expect(git('status', '--porcelain')).toBe(' M own.txt\n');

  // Nothing of it stands any more, so there is nothing to take back twice.
  const again = await emend('rollback', 'plans/010_demo.md', '2');
  expect([again.exit, again.out]).toEqual([2, '']);
  expect(again.err).toContain('No commit of Phase 2 (Two) is in the branch');
  const first = await emend('rollback', 'plans/010_demo.md', '1');
  expect([first.exit, first.err]).toEqual([0, '']);
  expect(existsSync(join(cwd, 'src/one.js'))).toBe(false);
}, 60_000);

test('phases of the first level: the progress section, which is on their level then, says it too', async () => {
  put(
    'plans/010_demo.md',
    PLAN.replaceAll('### ', '# ').replace('## Implementation', '# Implementation'),
  );
  commit('On the first level');
  expect(await emend('rollback', 'plans/010_demo.md', '2')).toMatchObject({ exit: 0, err: '' });
  const document = read('plans/010_demo.md');
  expect(document).toContain('**Status**: In Progress (1/2 phases complete)');
  expect(document).not.toContain('Last Completed');
}, 60_000);

test('of two phases of one name only the one of the number is taken back', async () => {
  git('reset', '-q', '--hard', 'HEAD~3');
  put('plans/010_demo.md', PLAN.replaceAll('Two', 'One'));
  put('src/one.js', 'one\n');
  phase(1, 'One');
  put('src/two.js', 'two\n');
  const second = phase(2, 'One');
  const { exit, out } = await emend('rollback', 'plans/010_demo.md', '2', '--json');
  expect([exit, JSON.parse(out)]).toMatchObject([0, { reverted: [second] }]);
  expect([existsSync(join(cwd, 'src/one.js')), existsSync(join(cwd, 'src/two.js'))]).toEqual([
    true,
    false,
  ]);
}, 60_000);

test('a phase that was renamed since has the commit that its mark names; another one that took its name keeps it', async () => {
  put(
    'summaries/010_partial.md',
    `# Partial summary\n\n- Phase 2 (Two): completed, commit ${two.slice(0, 12)}, tests: pass\n`,
  );
  put('plans/010_demo.md', PLAN.replaceAll('Two', 'Second'));
  commit('Rename it');
  expect(await emend('rollback', 'plans/010_demo.md', '2', '--json')).toMatchObject({
    exit: 0,
    err: '',
    out: expect.stringContaining(two),
  });
  expect(read('plans/010_demo.md')).toMatch(/^### Phase 2: Second$/m);
  git('reset', '-q', '--hard', 'HEAD~1');
  put(
    'plans/010_demo.md',
    PLAN.replace('Phase 2: Two', 'Phase 3: Two') + '### Phase 2: New [COMPLETED]\n',
  );
  commit('Renumber it');
  const { exit, err } = await emend('rollback', 'plans/010_demo.md', '2');
  expect([exit, err]).toEqual([
    2,
    expect.stringContaining('No commit of Phase 2 (New) is in the branch'),
  ]);
}, 60_000);

test('a commit that holds the mark of the phase before it: that mark stays, and so does a file in another place', async () => {
  git('reset', '-q', '--hard', 'HEAD~3');
  put('src/one.js', 'one\n');
  phase(1, 'One');
  const [before = '', after = ''] = PLAN.split('### Phase 2: Two [COMPLETED]');
  put(
    'plans/010_demo.md',
    `${before}### Phase 2: Two${after.replaceAll('[x]', '[ ]').replace('Phase 2 - Two', 'Phase 1 - One')}`,
  );
  put('summaries/010_partial.md', '# Partial summary\n\n- Phase 1 (One): completed\n');
  put('src/two.js', 'two\n');
  phase(2, 'Two');
  put('plans/010_demo.md', PLAN);
  commit('Mark Phase 2 of plans/010_demo as completed (2/2)');
  const { exit, err } = await emend('rollback', 'plans/010_demo.md', '2');
  expect([exit, err]).toEqual([0, '']);
  expect(existsSync(join(cwd, 'src/two.js'))).toBe(false);
  expect(read('src/one.js')).toBe('one\n');
  const document = read('plans/010_demo.md');
  expect(document).toContain(
    '### Phase 1: One [COMPLETED]\n**Dependencies**: []\n\n- [x] Create `src/one.js`\n',
  );
  expect(document).toContain(
    '### Phase 2: Two\n**Dependencies**: []\n\n- [ ] Create `src/two.js`\n- [ ] Say so',
  );
  expect(read('summaries/010_partial.md')).toContain('- Phase 1 (One): completed\n');
  expect(git('status', '--porcelain')).toBe('');
}, 60_000);

test('signed where git is told so, or emend.yaml says it', async () => {
  const key = join(home, 'key');
  execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-C', 'ada', '-f', key]);
  writeFileSync(join(home, 'signers'), `ada@example.org ${readFileSync(`${key}.pub`, 'utf8')}`);
  git('config', 'gpg.format', 'ssh');
  git('config', 'user.signingkey', key);
  git('config', 'gpg.ssh.allowedSignersFile', join(home, 'signers'));
  git('config', 'commit.gpgsign', 'true');
  expect(await emend('rollback', 'plans/010_demo.md', '2')).toMatchObject({ exit: 0, err: '' });
  git('config', 'commit.gpgsign', 'false');
  put('emend.yaml', 'sign: true\n');
  expect(await emend('rollback', 'plans/010_demo.md', '1')).toMatchObject({ exit: 0, err: '' });
  expect(git('log', '-3', '--format=%G? %s').split('\n').slice(0, 3)).toEqual([
    'G Revert Phase 1: One',
    'G Revert Phase 2: Two',
    expect.stringMatching(/^N Mark Phase 2/),
  ]);
}, 60_000);

describe('refused, and nothing is changed', () => {
  const REFUSED: readonly (readonly [
    string,
    number: string,
    prepare: () => void,
    said: readonly string[],
  ])[] = [
    [
      "a person's commit on a file of it",
      '2',
      () => {
        put('src/two.js', 'two\nand mine\n');
        commit('Mine');
      },
      ['Files of Phase 2 (Two) have changed since: ', '(Mine)', 'Revert it first: git revert '],
    ],
    [
      'a later phase on a file of it',
      '1',
      () => undefined,
      ['Files of Phase 1 (One) have changed since: ', 'emend plan rollback plans/010_demo.md 2'],
    ],
    [
      'a file of it that is not committed',
      '2',
      () => {
        put('src/two.js', 'two\nnot committed\n');
      },
      ['src/two.js', 'Commit or stash them'],
    ],
    [
      'a plan that is not committed',
      '2',
      () => {
        put('plans/010_demo.md', `${PLAN}\nMine.\n`);
      },
      ['plans/010_demo.md has uncommitted changes', 'Commit or stash them'],
    ],
    [
      'a phase that is done and builds on it',
      '1',
      () => {
        put(
          'plans/010_demo.md',
          PLAN.replace(
            'Two [COMPLETED]\n**Dependencies**: []',
            'Two [COMPLETED]\n**Dependencies**: [1]',
          ),
        );
        commit('It builds on it');
      },
      ['Phase 2 (Two) is done and depends on Phase 1', 'emend plan rollback plans/010_demo.md 2'],
    ],
    [
      'a phase that is done and, without a dependencies line, builds on all before it',
      '1',
      () => {
        put('plans/010_demo.md', PLAN.replaceAll('**Dependencies**: []\n', ''));
        commit('No dependencies');
      },
      ['Phase 2 (Two) is done and depends on Phase 1', 'emend plan rollback plans/010_demo.md 2'],
    ],
    ['no such phase', '7', () => undefined, ['has no Phase 7', 'its phases are 1, 2']],
    ['no number', 'x', () => undefined, ['expected the number of a phase, received "x"']],
  ];
  test.each(sampled('refusals', REFUSED, 3))('%s', async (_, number, prepare, said) => {
    prepare();
    const [head, status] = [git('rev-parse', 'HEAD'), git('status', '--porcelain')];
    const { exit, err } = await emend('rollback', 'plans/010_demo.md', number);
    expect(exit).not.toBe(0);
    for (const words of said) expect(err).toContain(words);
    expect([git('rev-parse', 'HEAD'), git('status', '--porcelain')]).toEqual([head, status]);
    expect(git('for-each-ref', '--format=%(refname)').trim()).toBe('refs/heads/main');
  });
});

test('killed once its files are there and before its commit: typed again, it goes on', async () => {
  const { blobs } = await openStores(home, await resolveStore({ EMEND_HOME: home }, home));
  const engine = createApplyEngine({ home, blobs });
  const holder = localHolder(await hostId(home), {
    ...(await ownProcess(realSys)),
    pid: 999_999_999,
    started: 'gone',
  });
  const wanted = {
    workspace: cwd,
    commits: [two],
    isKept: () => false,
    message: 'Revert Phase 2: Two',
    holder,
    sign: false,
  };
  const dies = {
    ...engine,
    apply: async (...args: Parameters<typeof engine.apply>) => {
      await engine.apply(...args);
      throw new Error('killed');
    },
  };
  await expect(
    takeBack(
      { engine: dies, blobs },
      wanted,
      () => Promise.resolve(new Map()),
      () => undefined,
    ),
  ).rejects.toThrow('killed');
  expect(existsSync(join(cwd, 'src/two.js'))).toBe(false);
  const head = git('rev-parse', 'HEAD').trim();
  const { exit, err } = await emend('rollback', 'plans/010_demo.md', '2');
  expect([exit, err]).toEqual([0, '']);
  expect(git('rev-parse', 'HEAD~1').trim()).toBe(head);
  expect(git('status', '--porcelain')).toBe('');
  expect(git('for-each-ref', '--format=%(refname)').trim()).toBe('refs/heads/main');
});
