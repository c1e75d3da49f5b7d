/** What a plan's first reading refuses, and what it takes: with real git, files and stores. docs/plans.md says the same. */
import { execFileSync } from 'node:child_process';
import { mkdir, mkdtemp, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import type { ActivityPorts } from '../../src/activities/frame/ports.js';
import { readPlan } from '../../src/activities/plan/read-plan.js';
import { planOfPath } from '../../src/client/index.js';
import { createArchive } from '../../src/stores/directory/archive.js';
import { createEditRunner } from '../../src/activities/frame/edit-worker.js';
import { createBlobStore } from '../../src/stores/directory/blobs.js';
import { createRecordStore } from '../../src/stores/directory/records.js';
import { workspacePorts } from '../support/workspace-ports.js';

let dir: string;
let repo: string;
beforeEach(async () => {
  dir = await realpath(await mkdtemp(join(tmpdir(), 'emend-bad-plan-')));
  repo = join(dir, 'repo');
  await mkdir(repo);
});
afterEach(() => rm(dir, { recursive: true, force: true }));

const git = (...args: readonly string[]): string =>
  execFileSync('git', ['-c', 'user.name=T', '-c', 'user.email=t@example.org', ...args], {
    cwd: repo,
    encoding: 'utf8',
  });
const write = async (path: string, text: string): Promise<void> => {
  await mkdir(dirname(join(repo, path)), { recursive: true });
  await writeFile(join(repo, path), text);
};
const PLAN = '# P\n\n### Phase 1: A\n\n- [ ] Create `a.js`\n';
const committed = async (files: Readonly<Record<string, string>>): Promise<void> => {
  git('init', '-q', '-b', 'main');
  for (const [path, text] of Object.entries(files)) await write(path, text);
  git('add', '-A');
  git('commit', '-qm', 'base');
};
const read = (more: Partial<Parameters<typeof readPlan>[1]> = {}) => {
  const home = join(dir, 'home');
  const dependencies = {
    archive: createArchive({ dir: join(home, 'archive') }),
    ...workspacePorts(home, createBlobStore({ dir: join(home, 'blobs') })),
    records: createRecordStore({ dir: join(home, 'records') }),
    edits: createEditRunner(),
  } as unknown as ActivityPorts;
  return readPlan(dependencies, {
    stepKey: 'ab'.repeat(16),
    log: [],
    workspace: repo,
    planPath: 'p',
    reading: 1,
    known: [],
    overrides: {},
    approval: null,
    resume: { checkpoint: null },
    ...more,
  });
};

test('outside a git repository: refused by the command line before a server is asked, and by the run', async () => {
  await write('p.md', PLAN);
  await expect(planOfPath(repo, 'p.md')).rejects.toThrow(
    'p.md is not in a git repository, but each phase of a plan is committed.',
  );
  expect(await read()).toMatchObject({
    outcome: 'refused',
    problem: {
      code: 'not_a_repository',
      message: `p: each phase of a plan is committed, but ${repo} is not a git repository.`,
    },
  });
});

test('a repository without a commit', async () => {
  git('init', '-q');
  await write('p.md', PLAN);
  expect(await read()).toMatchObject({
    outcome: 'refused',
    problem: { message: `${repo} has no commit yet; the phases of p need one to build on.` },
  });
});

test('a plan that is in no commit: its marks could not be committed alone', async () => {
  await committed({ 'a.js': '' });
  await write('p.md', PLAN);
  expect(await read()).toMatchObject({
    outcome: 'refused',
    problem: {
      code: 'target_dirty',
      message:
        "p: the plan's progress is committed, but these of its files are not in a commit: p.md (untracked).",
      next: 'Commit the plan first: git add, git commit.',
    },
  });
});

test.each<[string, () => Promise<void>]>([
  [
    'a detached HEAD, which the commits move',
    () => Promise.resolve(void git('checkout', '-q', '--detach')),
  ],
  ['a dirty tree: other files', () => write('b.js', 'mine\n')],
  [
    'a plan with changes of its own, which stay out of the commits',
    () => write('p.md', `${PLAN}\nMore.\n`),
  ],
])('taken: %s', async (_, change) => {
  await committed({ 'p.md': PLAN, 'b.js': '' });
  await change();
  expect(await read()).toMatchObject({ outcome: 'ready', phases: [{ id: 'p1', name: 'A' }] });
});

test('a missing stage file: the line that leads to it', async () => {
  await committed({
    'p/p.md': '### Phase 1: A [EXPANDED]\n**See**: [a](phase_1_a/phase_1_overview.md)\n',
    'p/phase_1_a/phase_1_overview.md':
      '# Phase 1: A\n<!-- emend:body -->\n#### Stage 1: S [EXPANDED]\n**See**: [s](stage_1_s.md)\n',
  });
  const message =
    'p/phase_1_a/phase_1_overview.md:4: expected a file p/phase_1_a/stage_1_s.md, but it does not exist';
  await expect(planOfPath(repo, 'p')).rejects.toThrow(message);
  expect(await read()).toMatchObject({
    outcome: 'refused',
    problem: { code: 'plan_invalid', message },
  });
});

test('a plan on a repository: where its document lies, what its front matter says, and what is refused', async () => {
  const [url, base] = ['https://example.org/p.git', 'main'];
  const found = { workspace: url, repository: { url, base } };
  const flags = { repository: url, base };
  // Nothing lies here.
  for (const typed of ['plans/p.md', './plans/p', 'plans/p/', 'plans/p/p.md'])
    expect([typed, await planOfPath(repo, typed, flags)]).toMatchObject([
      typed,
      { ...found, planPath: 'plans/p' },
    ]);
  for (const typed of ['../p.md', '/p.md', 'a\nb.md'])
    await expect(planOfPath(repo, typed, flags)).rejects.toThrow('in the repository');
  await expect(planOfPath(repo, 'p.md', { repository: url })).rejects.toThrow(
    'expected base with it',
  );
  await expect(planOfPath(repo, 'p.md', { base })).rejects.toThrow('not found');
  await expect(planOfPath(repo, 'p.md', { repository: 'ext::sh', base })).rejects.toThrow(
    "a repository's URL",
  );
  // A document here says it, in no git repository, and in a clone, where a path is one from the top.
  const front = `---\nrepository: ${url}\nbase: next\n---\n${PLAN}`;
  await write('plans/p.md', front);
  expect(await planOfPath(repo, 'plans/p.md')).toMatchObject({
    workspace: url,
    repository: { base: 'next' },
    title: 'P',
  });
  expect(await planOfPath(repo, 'plans/p.md', flags)).toMatchObject(found);
  await committed({ 'plans/p.md': front });
  expect(await planOfPath(join(repo, 'plans'), 'p.md')).toMatchObject({
    workspace: url,
    planPath: 'plans/p',
  });
  expect(await planOfPath(repo, 'plans/p.md', null)).toMatchObject({
    workspace: repo,
    planPath: 'plans/p',
  });
  await write('plans/p.md', `---\nrepository: -u/x\n---\n${PLAN}`);
  await expect(planOfPath(repo, 'plans/p.md')).rejects.toThrow('plans/p.md:2: repository: ');
});

test('a formatter that takes the blanks at the ends of lines changes no phase', async () => {
  const text =
    '# P\n\n### Phase 1: A  \n\n**Objective**: a file  \nof its own\t\n  \n- [ ] Create `a.js`   \n';
  await committed({ 'p.md': text });
  const first = await read();
  if (first.outcome !== 'ready') throw new Error(first.outcome);
  await write('p.md', text.replace(/[ \t]+$/gm, ''));
  expect(await read({ reading: 2, known: first.phases, hash: first.hash })).toMatchObject({
    outcome: 'same',
  });
});

test.each<[string, (text: string) => string, object]>([
  [
    'reads as it did: done',
    (text) => text,
    { why: [], phases: [{ committed: { tests: 'pass' } }, { committed: null }] },
  ],
  [
    'was renamed since: asked about, and not done again unasked',
    (text) => text.replace('Phase 1: A', 'Phase 1: Another'),
    {
      why: [
        expect.stringMatching(
          /^Phase 1 \(Another\) is committed as [0-9a-f]{12}, but its name or text may have changed since$/,
        ),
      ],
      phases: [{ id: 'p1', committed: { tests: 'pass' } }, { committed: null }],
    },
  ],
])(
  'a phase that an earlier run committed and never marked, and that %s',
  async (_, change, left) => {
    const text = `${PLAN}\n### Phase 2: B\n\n- [ ] Create \`b.js\`\n`;
    await committed({ 'p.md': text });
    const earlier = 'cd'.repeat(16);
    expect(await read({ stepKey: earlier })).toMatchObject({ outcome: 'ready' });
    await write('a.js', 'made\n');
    git('add', '-A');
    git('commit', '-qm', `Phase 1: A\n\nPlan p, phase 1 of 2.\n\nEmend-Step: ${earlier}-p1-1`);
    await write('p.md', change(text));
    const found = await read();
    expect(found).toMatchObject({ outcome: 'ready', resumePoint: left });
  },
);

test('what is text and would be taken for more is told with the reading; a note that quotes a secret is not', async () => {
  const secret = `Phase 3 ghp_${'aB3dE5fG7h'.repeat(4).slice(0, 36)}`;
  await committed({
    'p.md': `${PLAN}\n### Phase 2: B\n\n**Dependancies**: [1]\n\n-[ ] Create \`b.js\`\n\n### ${secret}\n`,
    'a.js': '',
  });
  expect((await read()) as unknown).toMatchObject({
    outcome: 'ready',
    notes: [
      'p.md:9: **Dependancies** is treated as text; did you mean **Dependencies**?',
      'p.md:11: expected a task as `- [ ] …` or `- [x] …`, treated as text',
    ],
  });
});
