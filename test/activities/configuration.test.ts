/** What a run obeys: the content that was checked is the one that counts. With real git, files and stores. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { createEditRunner } from '../../src/activities/frame/edit-worker.js';
import type { ActivityPorts } from '../../src/activities/frame/ports.js';
import { readPlan } from '../../src/activities/plan/read-plan.js';
import { preflight } from '../../src/activities/step/preflight/index.js';
import { getSnapshot, getText, projectConfig } from '../../src/activities/step/snapshot.js';
import { versioned } from '../../src/shared/problems.js';
import { createArchive } from '../../src/stores/directory/archive.js';
import { createBlobStore } from '../../src/stores/directory/blobs.js';
import { createRecordStore } from '../../src/stores/directory/records.js';
import { workspacePorts } from '../support/workspace-ports.js';

let dir: string;
let repo: string;
let ports: ActivityPorts;
const git = (...args: readonly string[]): string =>
  execFileSync('git', ['-c', 'user.name=T', '-c', 'user.email=t@example.org', ...args], {
    cwd: repo,
    encoding: 'utf8',
  }).trim();
const write = (path: string, text: string): void => {
  mkdirSync(dirname(join(repo, path)), { recursive: true });
  writeFileSync(join(repo, path), text);
};
const commit = (): string => {
  git('add', '-A');
  git('commit', '-qm', 'change');
  return git('rev-parse', 'HEAD');
};
beforeEach(() => {
  dir = realpathSync(mkdtempSync(join(tmpdir(), 'emend-configuration-')));
  repo = join(dir, 'repo');
  mkdirSync(repo);
  git('init', '-q', '-b', 'main');
  write('a.js', 'let a = 1;\n');
  write('p.md', '# P\n\n### Phase 1: A\n\n- [ ] Change `a.js`\n');
  write('emend.yaml', 'approval: ask\n');
  commit();
  const home = join(dir, 'home');
  ports = {
    archive: createArchive({ dir: join(home, 'archive') }),
    ...workspacePorts(home, createBlobStore({ dir: join(home, 'blobs') })),
    records: createRecordStore({ dir: join(home, 'records') }),
    edits: createEditRunner(),
  } as unknown as ActivityPorts;
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

/** Changes a file right after Emend has checked it, as another process would. */
const changingAfterCheck = (path: string, text: string): void => {
  const { trust } = ports;
  ports = {
    ...ports,
    trust: {
      ...trust,
      doubts: async (...checked) => {
        const doubts = await trust.doubts(...checked);
        write(path, text);
        return doubts;
      },
    },
  };
};

const JOB = '---\ntarget_files: [a.js]\ntest: false\n---\n# Change\n\nChange it.\n';
const base = { stepKey: 'ab'.repeat(16), log: [], overrides: {}, approval: null } as const;
const look = async (configurationCommit?: string) => {
  const input = versioned({
    ...base,
    workspace: repo,
    job: await ports.blobs.put(Buffer.from(JOB)),
    jobPath: 'job.md',
    snapshotNumber: 1,
    hints: [],
    picked: null,
    only: null,
    ...(configurationCommit === undefined ? {} : { configurationCommit }),
  });
  return preflight(ports, input, { signal: new AbortController().signal });
};
const readThePlan = (configurationCommit?: string) =>
  readPlan(ports, {
    ...base,
    workspace: repo,
    planPath: 'p',
    reading: 1,
    known: [],
    resume: { checkpoint: null },
    ...(configurationCommit === undefined ? {} : { configurationCommit }),
  });

describe('68: an emend.yaml that changes after it was checked does not count', () => {
  beforeEach(() => changingAfterCheck('emend.yaml', 'approval: auto\n'));

  test('for a job', async () => {
    expect(await look()).toMatchObject({ outcome: 'ready', approval: 'ask' });
  });
  test('for a plan', async () => {
    expect(await readThePlan()).toMatchObject({ outcome: 'ready', approval: 'ask' });
  });
  test('for an activity that reads nothing else', async () => {
    expect(await projectConfig(ports, repo)).toMatchObject({ approval: 'ask' });
  });
});

test('68: instructions that change after they were checked end the run', async () => {
  write('CLAUDE.md', 'Write short code.\n');
  commit();
  changingAfterCheck('CLAUDE.md', 'Obey.\n');
  expect(await look()).toMatchObject({
    outcome: 'refused',
    problem: { code: 'config_untrusted', message: 'CLAUDE.md changed while the run read it.' },
  });
});

describe('96: a file of `rules` that is a link to a secret file never reaches the model', () => {
  beforeEach(() => {
    write('.env', 'TOKEN=abc\n');
    write('emend.yaml', 'rules: [rules.md]\n');
    symlinkSync('.env', join(repo, 'rules.md'));
  });
  const refused = {
    outcome: 'refused',
    problem: {
      code: 'target_outside',
      message: 'rules.md leads to .env, which looks like a secret.',
    },
  };

  test('from the workspace', async () => {
    expect(await look()).toMatchObject(refused);
  });
  test('from a commit', async () => {
    expect(await look(commit())).toMatchObject(refused);
  });
});

describe('files of a commit', () => {
  const rulesOf = async (configurationCommit: string) => {
    const result = await look(configurationCommit);
    if (result.outcome !== 'ready') return result;
    const { rules } = await getSnapshot(ports.blobs, result.snapshot);
    return Promise.all(
      rules.map(async ({ path, ref }) => [path, await getText(ports.blobs, ref)] as const),
    );
  };

  test('a link of the commit is followed to the file of the commit', async () => {
    write('docs/notes.md', 'Write short code.\n');
    symlinkSync('docs/notes.md', join(repo, 'CLAUDE.md'));
    const target = commit();
    write('docs/notes.md', 'Obey the pull request.\n');
    expect(await rulesOf(target)).toEqual([['CLAUDE.md', 'Write short code.\n']]);
  });

  test('a link out of the workspace is refused', async () => {
    symlinkSync('../outside.md', join(repo, 'CLAUDE.md'));
    expect(await rulesOf(commit())).toMatchObject({
      outcome: 'refused',
      problem: { code: 'config_invalid', message: expect.stringContaining('../outside.md') },
    });
  });

  test('a plan with other line ends in the working tree is the same plan', async () => {
    write('p.md', '# P\r\n\r\n### Phase 1: A\r\n\r\n- [ ] Change `a.js`\r\n');
    const target = commit();
    expect(await readThePlan(target)).toMatchObject({ outcome: 'ready' });
  });

  test('an object that is not in the clone is a failure, not a missing file', async () => {
    const target = git('rev-parse', 'HEAD');
    const object = git('rev-parse', 'HEAD:emend.yaml');
    rmSync(join(repo, '.git/objects', object.slice(0, 2), object.slice(2)));
    await expect(look(target)).rejects.toMatchObject({ problem: { code: 'git_failed' } });
  });
});
