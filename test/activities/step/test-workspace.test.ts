/** Tests of a plan's directories as they are: its workspace, and the worktrees of its phases. */
import { execFileSync } from 'node:child_process';
import { mkdir, mkdtemp, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import type { ActivityScope } from '../../../src/activities/frame/activity.js';
import type { ActivityPorts } from '../../../src/activities/frame/ports.js';
import { runTests } from '../../../src/activities/step/run-tests.js';
import { SANDBOX_ON } from '../../../src/documents/job/index.js';
import { createBlobStore } from '../../../src/stores/directory/blobs.js';
import { storePaths } from '../../../src/stores/location.js';
import { putJson } from '../../../src/stores/ports.js';
import { found, whyNone } from '../../support/box-users.js';
import { describeIf } from '../../support/skipped.js';
import { workspacePorts } from '../../support/workspace-ports.js';
import { STEP } from '../../workspace/apply-scene.js';

describeIf(found.works, whyNone)('tests of a directory of a plan', () => {
  let root: string;
  beforeEach(async () => {
    root = await realpath(await mkdtemp(join(tmpdir(), 'emend-plan-')));
    for (const name of ['workspace', 'worktree']) {
      const dir = join(root, name);
      await mkdir(dir);
      await writeFile(join(dir, '.gitignore'), 'out/\n');
      git(dir, 'init', '-q');
      git(dir, 'add', '-A');
      git(dir, '-c', 'user.name=A', '-c', 'user.email=a@example.org', 'commit', '-qm', 'base');
    }
  });
  afterEach(() => rm(root, { recursive: true, force: true }));

  const git = (dir: string, ...args: string[]): string =>
    execFileSync('git', args, { cwd: dir, encoding: 'utf8' });

  const makeTests = async () => {
    const home = join(root, 'home');
    const blobs = createBlobStore({ dir: storePaths(home).blobs });
    const ports = {
      ...workspacePorts(home, blobs),
      edits: { run: () => Promise.resolve({ text: 'diff' }) },
    } as unknown as ActivityPorts;
    const config = { env: [], sandbox: SANDBOX_ON };
    const snapshot = await putJson(blobs, { stepKey: STEP, config, targets: [] });
    const scope = {
      signal: new AbortController().signal,
      assertCurrent: () => undefined,
    } as unknown as ActivityScope;
    return (name: string, command: string) => {
      const input = {
        workspace: join(root, name),
        stepKey: STEP,
        log: [],
        on: { kind: 'workspace' },
        snapshot,
        commands: [command],
        timeout_s: 60,
        maxOutput_bytes: 10_000,
      } as const;
      return runTests(ports, input, scope);
    };
  };

  test('leave nothing in it, nor for the tests of another directory of the plan', async () => {
    const tests = await makeTests();
    const build = 'test ! -e out && mkdir out && pwd > out/place && touch stray && rm .gitignore';
    for (const name of ['worktree', 'workspace', 'worktree']) {
      expect(await tests(name, build)).toMatchObject({ outcome: 'pass', on: 'workspace' });
      expect(git(join(root, name), 'status', '--porcelain', '--ignored')).toBe('');
    }
    // A plan's end removes nothing of its tests, as they keep nothing.
    expect(await tests('workspace', 'true')).not.toHaveProperty('keepsOutputs');
  });
});
