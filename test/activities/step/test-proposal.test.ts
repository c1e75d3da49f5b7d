/** Tests on an overlay of workspace and proposal: what they see, what they leave, and what a pass is bound to. */
import { execFileSync } from 'node:child_process';
import * as fs from 'node:fs';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import type { ActivityScope } from '../../../src/activities/frame/activity.js';
import type { ActivityPorts } from '../../../src/activities/frame/ports.js';
import { applyProposal } from '../../../src/activities/step/apply.js';
import { runTests } from '../../../src/activities/step/run-tests.js';
import { SANDBOX_ON } from '../../../src/documents/job/index.js';
import type { StagedByHook } from '../../../src/shared/proposal-activities.js';
import { createBlobStore } from '../../../src/stores/directory/blobs.js';
import { createRecordStore } from '../../../src/stores/directory/records.js';
import { storePaths } from '../../../src/stores/location.js';
import { getJson, putJson } from '../../../src/stores/ports.js';
import { refOf } from '../../../src/system/hash.js';
import { found, whyNone } from '../../support/box-users.js';
import { sampled } from '../../support/seeded.js';
import { describeIf } from '../../support/skipped.js';
import { workspacePorts } from '../../support/workspace-ports.js';
import { jobOf } from '../../../src/workspace/trust/index.js';
import { makeScene, STEP, type Scene } from '../../workspace/apply-scene.js';

describeIf(found.works, whyNone)('tests of a proposal', () => {
  let scene: Scene;
  beforeEach(async () => {
    scene = await makeScene(
      [
        { path: 'a.js', before: 'base\n', after: 'proposed\n' },
        { path: 'lib/deep.js', before: 'deep\n', after: 'deeper\n' },
        { path: 'new.js', before: null, after: 'new\n' },
        { path: 'old.js', before: 'old\n', after: null },
      ],
      { disk: true },
    );
    fs.writeFileSync(scene.at('other.js'), 'other\n');
    fs.writeFileSync(scene.at('.gitignore'), 'out/\n');
    git('init', '-q', '-b', 'main');
    git('add', '-A');
    git('commit', '-qm', 'base');
  });
  afterEach(() => scene.remove());

  const git = (...args: string[]): string =>
    execFileSync('git', ['-c', 'user.name=A', '-c', 'user.email=a@example.org', ...args], {
      cwd: scene.workspace,
      encoding: 'utf8',
    });

  const makeRun = async (write: readonly string[] = []) => {
    const { blobs: dir, records } = storePaths(scene.home);
    const blobs = createBlobStore({ dir });
    let commandRuns = 0;
    const plain = workspacePorts(scene.home, blobs);
    const { trust } = plain;
    const ports = {
      ...plain,
      commands: {
        ...plain.commands,
        run: (request: Parameters<typeof plain.commands.run>[0]) => {
          commandRuns += 1;
          return plain.commands.run(request);
        },
      },
      records: createRecordStore({ dir: records }),
      timings: { commandTurn_ms: 1000 },
      edits: { run: () => Promise.resolve({ text: 'diff' }) },
    } as unknown as ActivityPorts;
    const config = { env: [], protected: [], sandbox: { ...SANDBOX_ON, write } };
    const snapshot = await putJson(blobs, { stepKey: STEP, config, targets: [] });
    const input = { workspace: scene.workspace, stepKey: STEP, log: [] };
    const scope = {
      signal: new AbortController().signal,
      assertCurrent: () => undefined,
      owner: scene.request.holder,
    } as unknown as ActivityScope;
    const proposal = await putJson(blobs, scene.request.proposal);
    return {
      blobs,
      trust,
      commandRuns: () => commandRuns,
      tests: (command: string, run = 0, isFresh?: true) => {
        const on = {
          kind: 'proposal',
          proposal,
          files: ['a.js', 'lib/deep.js', 'new.js', 'old.js'],
          applications: [],
          run,
          ...(isFresh === true ? { isFresh } : {}),
        } as const;
        const request = {
          on,
          snapshot,
          commands: [command],
          timeout_s: 60,
          maxOutput_bytes: 10_000,
        };
        return runTests(ports, { ...input, ...request }, scope);
      },
      apply: (baseHash: string | null, writes: readonly string[] = []) =>
        applyProposal(
          ports,
          {
            ...input,
            proposal,
            decision: 1,
            files: null,
            ...scene.request.holder,
            releaseAfter: true,
            ...(baseHash === null ? {} : { tested: { baseHash, applications: [], writes } }),
          },
          scope,
        ),
    };
  };

  test('see the proposal over the workspace, and write nothing into it', async () => {
    const run = await makeRun();
    const command =
      'cat a.js new.js other.js; ls old.js; mkdir out; echo x > out/o; echo x > stray; exit 3';
    const before = git('status', '--ignored', '--porcelain');
    const result = await run.tests(command);
    expect(result).toMatchObject({
      outcome: 'fail_hard',
      on: 'proposal',
      alsoChanged: ['stray'],
      summary: expect.stringContaining('exit 3'),
    });
    if (!('output' in result) || result.output === null) throw new Error('no output');
    const { output } = await getJson<{ output: string }>(run.blobs, result.output, 'output');
    expect(output).toContain('proposed\nnew\nother\n');
    expect(output).toMatch(/old\.js.*No such file/);
    expect(git('status', '--ignored', '--porcelain')).toBe(before);
  });

  test('whose `git stash` fails without a message have a summary that explains it', async () => {
    const run = await makeRun();
    const result = await run.tests('echo "Error: Command failed: git stash"; exit 1');
    expect(result).toMatchObject({
      outcome: 'fail_hard',
      summary: expect.stringMatching(/exit 1; .*git directory is read-only, so `git stash` fails/),
    });
  });

  test('keep what a failed command wrote to standard error, also if the worker reads it late', async () => {
    const run = await makeRun();
    const busy = setInterval(() => {
      const end = performance.now() + 20;
      while (performance.now() < end);
    }, 1);
    try {
      const result = await run.tests('sleep 0.2; echo first; echo reason >&2; exit 3');
      if (!('output' in result) || result.output === null) throw new Error('no output');
      const { output } = await getJson<{ output: string }>(run.blobs, result.output, 'output');
      expect(output).toContain('first\nreason\n');
    } finally {
      clearInterval(busy);
    }
  });

  test('that passed are not run again for the same bytes, commands and base', async () => {
    const run = await makeRun();
    const first = await run.tests('true');
    const count = run.commandRuns();
    expect(await run.tests('true', 1)).toEqual(first);
    expect(run.commandRuns()).toBe(count);
    fs.writeFileSync(scene.at('untracked.js'), 'x');
    expect(await run.tests('true', 2)).not.toEqual(first);
    expect(run.commandRuns()).toBe(count + 1);
  });

  test('that failed are run again in the next run, and are recorded for a retry of the activity', async () => {
    const run = await makeRun();
    const first = await run.tests('exit 1');
    const count = run.commandRuns();
    expect(await run.tests('exit 1')).toEqual(first);
    expect(run.commandRuns()).toBe(count);
    await run.tests('exit 1', 1);
    expect(run.commandRuns()).toBe(count + 1);
  });

  const bases: readonly (readonly [string, () => void, 'applied' | 'base_moved'])[] = [
    ['nothing', () => undefined, 'applied'],
    ['a changed file', () => fs.writeFileSync(scene.at('other.js'), 'changed\n'), 'base_moved'],
    ['an untracked file', () => fs.writeFileSync(scene.at('fresh.js'), 'x'), 'base_moved'],
    ['the mode of a file', () => fs.chmodSync(scene.at('other.js'), 0o755), 'base_moved'],
    [
      'an ignored file',
      () => {
        fs.mkdirSync(scene.at('out'));
        fs.writeFileSync(scene.at('out/o'), 'x');
      },
      'applied',
    ],
    [
      'a commit of other files',
      () => {
        fs.writeFileSync(scene.at('other.js'), 'changed\n');
        git('commit', '-qam', 'other');
      },
      'base_moved',
    ],
    ['a commit without files', () => git('commit', '-q', '--allow-empty', '-m', 'x'), 'applied'],
  ];
  test.each(bases)(
    'hold for the apply after %s has changed: only then',
    async (_, change, outcome) => {
      const run = await makeRun();
      const result = await run.tests('true');
      if (!('baseHash' in result)) throw new Error(result.outcome);
      change();
      expect(await run.apply(result.baseHash)).toMatchObject({ outcome });
      expect(fs.readFileSync(scene.at('a.js'), 'utf8')).toBe(
        outcome === 'applied' ? 'proposed\n' : 'base\n',
      );
      // Nothing is written, and nothing is locked.
      if (outcome === 'base_moved')
        expect(await run.apply(null)).toMatchObject({ outcome: 'applied' });
    },
  );

  test('an apply names the lock of another run that may have moved the base', async () => {
    const run = await makeRun();
    const result = await run.tests('true');
    if (!('baseHash' in result)) throw new Error(result.outcome);
    fs.writeFileSync(scene.at('other.js'), 'changed\n');
    expect(await run.apply(result.baseHash)).toMatchObject({
      outcome: 'base_moved',
      otherLock: null,
    });
    const other = { workflowId: 'other', namespace: 'default' };
    const engine = scene.engine();
    const acquired = await engine.acquireLock(scene.workspace, 'f'.repeat(32), other);
    if (acquired.outcome !== 'held') throw new Error(acquired.outcome);
    await engine.releaseLock(scene.workspace, 'f'.repeat(32));
    expect(await run.apply(result.baseHash)).toMatchObject({
      outcome: 'base_moved',
      otherLock: acquired.lock.token,
    });
  });

  test('an apply that is repeated after it wrote does not ask the base again', async () => {
    const run = await makeRun();
    const result = await run.tests('true');
    if (!('baseHash' in result)) throw new Error(result.outcome);
    expect(await run.apply(result.baseHash)).toMatchObject({ outcome: 'applied' });
    fs.writeFileSync(scene.at('other.js'), 'changed\n');
    expect(await run.apply(result.baseHash)).toMatchObject({ outcome: 'applied' });
  });

  test('that change a file of the proposal leave a proposal with their bytes', async () => {
    const run = await makeRun();
    const result = await run.tests('echo snapshot > a.js; rm new.js');
    expect(result).toMatchObject({
      outcome: 'changed_files',
      by: 'tests',
      files: ['a.js', 'new.js'],
    });
    if (!('staged' in result)) throw new Error('nothing staged');
    const staged = await getJson<StagedByHook>(run.blobs, result.staged, 'staged');
    const base = { ref: refOf(Buffer.from('base\n')), mode: 0o644 };
    expect(staged).toMatchObject({
      files: [
        { path: 'a.js', ref: refOf(Buffer.from('snapshot\n')), disk: base },
        { path: 'lib/deep.js', ref: refOf(Buffer.from('deeper\n')) },
        { path: 'new.js', ref: refOf(Buffer.from('new\n')), disk: null },
      ],
      removed: ['old.js'],
    });
    expect(fs.readFileSync(scene.at('a.js'), 'utf8')).toBe('base\n');
  });

  type Left = readonly [left: string, command: string, path: string];
  const LEFT: readonly Left[] = [
    ['a directory in its place', 'rm a.js; mkdir a.js', 'a.js'],
    ['a directory with files in its place', 'rm a.js; mkdir a.js; touch a.js/b', 'a.js'],
    ['a removed directory above it', 'rm -r lib', 'lib/deep.js'],
    ['a renamed directory above it', 'mv lib lib2', 'lib/deep.js'],
    ['a file in the place of its directory', 'rm -r lib; touch lib', 'lib/deep.js'],
    ['a closed directory above it', 'echo x > lib/deep.js; chmod 000 lib', 'lib/deep.js'],
  ];
  /** Each makes and removes 12,000 files. */
  const MANY: readonly Left[] = [
    [
      'more other files than are listed',
      'mkdir b; touch b/$(seq -s " b/" 12000); rm -r lib',
      'lib/deep.js',
    ],
    [
      'an empty directory in the place of its own, after more files than are listed',
      'mkdir b; touch b/$(seq -s " b/" 12000); rm -r lib; mkdir lib',
      'lib/deep.js',
    ],
  ];
  const attempts = [...LEFT, ...sampled('runs that leave many files', MANY, 1)];
  test.each(attempts)(
    'that leave %s have changed a file of the proposal',
    async (_, command, path) => {
      const run = await makeRun();
      expect(await run.tests(command)).toMatchObject({
        outcome: 'changed_files',
        by: 'tests',
        files: [path],
      });
      expect(git('status', '--porcelain')).toBe('');
    },
  );

  test('that put a link in the place of a file of the proposal do not lead Emend to what it names', async () => {
    const run = await makeRun();
    const secret = scene.at('../secret');
    fs.writeFileSync(secret, 'secret\n');
    const result = await run.tests(`rm a.js; ln -s ${JSON.stringify(secret)} a.js`);
    if (!('staged' in result)) throw new Error('nothing staged');
    const staged = await getJson<StagedByHook>(run.blobs, result.staged, 'staged');
    expect(staged.files.map(({ ref }) => ref)).not.toContain(refOf(Buffer.from('secret\n')));
  });

  test('name each warning that they printed', async () => {
    const run = await makeRun();
    const command =
      'echo "npm warn old"; printf "a.js: \\033[33mwarning: x is deprecated\\033[0m\\n2 warnings\\n"';
    expect(await run.tests(command)).toMatchObject({
      outcome: 'pass_with_warnings',
      warnings: ['a.js: warning: x is deprecated', '2 warnings'],
      summary: expect.stringContaining(
        'passed, with warnings: a.js: warning: x is deprecated | 2 warnings',
      ),
    });
  });

  test('write for real what `sandbox.write` names, but no file of the proposal, and their pass still holds', async () => {
    const run = await makeRun(['reports', 'a.js']);
    const result = await run.tests('mkdir reports; date +%N > reports/r.txt; echo x > stray');
    expect(result).toMatchObject({
      outcome: 'pass',
      written: ['reports/r.txt'],
      alsoChanged: ['stray'],
    });
    expect(fs.existsSync(scene.at('reports/r.txt'))).toBe(true);
    expect(fs.existsSync(scene.at('stray'))).toBe(false);
    if (!('baseHash' in result)) throw new Error(result.outcome);
    expect(await run.apply(result.baseHash, result.writes)).toMatchObject({ outcome: 'applied' });
  });

  test('07: a job that they write below `sandbox.write` is asked about before a run obeys it', async () => {
    const run = await makeRun(['reports']);
    const text = '---\ntest: make evil\n---\n# Evil\n';
    const result = await run.tests(
      `mkdir reports; printf '%s' ${JSON.stringify(text)} > reports/b.md`,
    );
    expect(result).toMatchObject({ outcome: 'pass', written: ['reports/b.md'] });
    const job = await jobOf(scene.workspace, 'reports/b.md', text);
    const [doubt] = await run.trust.doubts(scene.workspace, [job]);
    expect(doubt?.grants).toEqual(['run `make evil` (`test`)']);
  });

  test('name what they may not write although `sandbox.write` names its folder', async () => {
    const run = await makeRun(['reports']);
    const result = await run.tests(
      'mkdir reports; ln -s /etc/passwd reports/link; echo ok > reports/r',
    );
    expect(result).toMatchObject({
      outcome: 'pass',
      written: ['reports/r'],
      notWritten: [{ path: 'reports/link', reason: expect.stringContaining('file') }],
    });
    expect(fs.readdirSync(scene.at('reports'))).toEqual(['r']);
  });
});
