/** What an earlier run left never runs outside the sandbox before a person was asked: in files that git ignores (A1), and by a commit (A2). */
import { execFileSync } from 'node:child_process';
import * as fs from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import type { ActivityScope } from '../../../src/activities/frame/activity.js';
import type { ActivityPorts } from '../../../src/activities/frame/ports.js';
import { runTests } from '../../../src/activities/step/run-tests.js';
import { SANDBOX_ON, type SandboxSettings } from '../../../src/documents/job/index.js';
import { createBlobStore } from '../../../src/stores/directory/blobs.js';
import { createRecordStore } from '../../../src/stores/directory/records.js';
import { storePaths } from '../../../src/stores/location.js';
import { putJson } from '../../../src/stores/ports.js';
import { found, whyNone } from '../../support/box-users.js';
import { describeIf } from '../../support/skipped.js';
import { workspacePorts } from '../../support/workspace-ports.js';
import { makeScene, STEP, type Scene } from '../../workspace/apply-scene.js';

const LATER = 'ab'.repeat(16);

let scene: Scene;
/** A file beside the workspace: only a command outside the sandbox can make it. */
const escaped = (): string => join(scene.root, 'escaped');
beforeEach(async () => {
  scene = await makeScene([{ path: 'a.js', before: 'base\n', after: 'applied\n' }], { disk: true });
  fs.writeFileSync(join(scene.root, 'needed'), '');
  git('init', '-q', '-b', 'main');
  git('config', 'user.email', 'ada@example.org');
  git('config', 'user.name', 'Ada');
});
afterEach(() => {
  scene.remove();
});

const git = (...args: string[]): string =>
  execFileSync('git', args, { cwd: scene.workspace, encoding: 'utf8' });

interface RunOptions {
  readonly sandbox?: SandboxSettings | 'off';
  /** Why there can be no overlay; absent: there can be. */
  readonly noOverlay?: string;
}
const runOf = async (stepKey: string, { sandbox = SANDBOX_ON, noOverlay }: RunOptions = {}) => {
  const { blobs: dir, records } = storePaths(scene.home);
  const blobs = createBlobStore({ dir });
  const plain = workspacePorts(scene.home, blobs);
  const problem = () => Promise.resolve(noOverlay);
  const ports = {
    ...plain,
    layers: noOverlay === undefined ? plain.layers : { ...plain.layers, problem },
    records: createRecordStore({ dir: records }),
    edits: { run: () => Promise.resolve({ text: 'diff' }) },
  } as unknown as ActivityPorts;
  const [{ path, base } = { path: '', base: null }] = scene.request.proposal.files;
  const input = {
    workspace: scene.workspace,
    stepKey,
    log: [],
    timeout_s: 60,
    maxOutput_bytes: 10_000,
    snapshot: await putJson(blobs, {
      stepKey,
      config: { env: [], sandbox },
      targets: [{ path, base }],
    }),
  };
  const scope = {
    signal: new AbortController().signal,
    assertCurrent: () => undefined,
    owner: scene.request.holder,
  } as unknown as ActivityScope;
  return {
    tests: (command: string, again = 0, outside?: true) => {
      const on = { kind: 'base', again, ...(outside === true ? { outside } : {}) } as const;
      return runTests(ports, { ...input, on, commands: [command] }, scope);
    },
    applied: async (command: string) => {
      const applications = [
        { proposal: await putJson(blobs, scene.request.proposal), decision: 1, files: ['a.js'] },
      ];
      const on = { kind: 'applied', applications, run: 0 } as const;
      return runTests(ports, { ...input, on, commands: [command] }, scope);
    },
  };
};

/** Fails by design in the sandbox, where the file beside the workspace is not there. */
const program = (): string => `[ -e '${join(scene.root, 'needed')}' ] && touch '${escaped()}'\n`;

describeIf(found.works, whyNone)('tests of a base that fail in the sandbox', () => {
  test('do not run outside it after an aborted run left their program in an ignored folder', async () => {
    fs.writeFileSync(scene.at('.gitignore'), 'node_modules\n');
    git('add', '-A');
    git('commit', '-qm', 'base');
    const first = await runOf(STEP);
    await scene.engine().apply(scene.request);
    const script = Buffer.from(program()).toString('base64');
    await first.applied(`mkdir node_modules && echo ${script} | base64 -d > node_modules/suite`);
    await scene.engine().rollback(scene.request);
    await scene.engine().releaseLock(scene.workspace, STEP);
    expect(git('status', '--porcelain')).toBe('');

    const later = await runOf(LATER);
    const result = await later.tests('sh node_modules/suite');
    expect(fs.existsSync(escaped())).toBe(false);
    expect(result).toMatchObject({
      outcome: 'fail',
      outside: {
        message: expect.stringContaining(`worked in this workspace (${STEP.slice(0, 8)}`),
      },
    });

    // A person allowed one run: what passes outside alone is asked about as before.
    expect(await later.tests('sh node_modules/suite', 1, true)).toMatchObject({
      outcome: 'pass',
      blocked: expect.stringContaining('pass on the untouched files without the sandbox'),
    });
    expect(fs.existsSync(escaped())).toBe(true);
  });

  test('do not run outside it if a commit of an earlier run changed them, which the question names', async () => {
    fs.writeFileSync(scene.at('test.sh'), program());
    git('add', '-A');
    git('commit', '-qm', `Change the tests\n\nEmend-Step: ${STEP}`);
    git('commit', '-q', '--allow-empty', '-m', 'Emend-Step: in the title of a person');
    const commit = git('rev-parse', 'HEAD~1').trim().slice(0, 12);

    const result = await (await runOf(LATER)).tests('sh test.sh');
    expect(fs.existsSync(escaped())).toBe(false);
    expect(result).toMatchObject({
      outcome: 'fail',
      outside: {
        message: expect.stringContaining(
          `contains 1 commit of earlier runs of Emend, whose files a model wrote: ${commit} "Change the tests"`,
        ),
      },
    });
  });

  test('name a run that worked in the workspace after another run asked the same question', async () => {
    fs.writeFileSync(scene.at('test.sh'), program());
    git('add', '-A');
    git('commit', '-qm', 'base');
    const question = async (stepKey: string) => (await runOf(stepKey)).tests('sh test.sh');
    expect(await question(STEP)).toMatchObject({
      outside: { message: expect.not.stringContaining('worked in this workspace') },
    });
    await scene.engine().apply(scene.request);
    await scene.engine().rollback(scene.request);
    await scene.engine().releaseLock(scene.workspace, STEP);
    expect(await question(LATER)).toMatchObject({
      outside: {
        message: expect.stringContaining(`worked in this workspace (${STEP.slice(0, 8)}`),
      },
    });
  });

  test('say what the sandbox refused, and so do tests of a base that a person alone wrote', async () => {
    fs.writeFileSync(scene.at('test.sh'), `cat /root/.emend-nothing\n`);
    git('add', '-A');
    git('commit', '-qm', 'base');
    expect(await (await runOf(LATER)).tests('sh test.sh')).toMatchObject({
      outside: {
        message: expect.stringContaining('it hides /root/.emend-nothing'),
        isRefused: true,
      },
    });
  });

  test('leave nothing in the workspace outside it, also if there can be no overlay of a layer', async () => {
    fs.writeFileSync(scene.at('test.sh'), `${program().trim()} || exit 1\necho x > stray.txt\n`);
    git('add', '-A');
    git('commit', '-qm', 'base');
    const run = await runOf(LATER, { noOverlay: 'the home is in a container' });
    expect(await run.tests('sh test.sh', 1, true)).toMatchObject({
      outcome: 'pass',
      blocked: expect.any(String),
    });
    expect(fs.existsSync(escaped())).toBe(true);
    expect(fs.existsSync(scene.at('stray.txt'))).toBe(false);
  });

  test('run as they are, without a question, if the run says `sandbox: off`', async () => {
    fs.writeFileSync(scene.at('test.sh'), `${program()}exit 1\n`);
    git('add', '-A');
    git('commit', '-qm', 'base');
    const result = await (await runOf(LATER, { sandbox: 'off' })).tests('sh test.sh');
    expect(fs.existsSync(escaped())).toBe(true);
    expect(result).toMatchObject({ outcome: 'fail' });
    expect(result).not.toHaveProperty('outside');
  });

  test('name what they wrote as `sandbox.write` allows it, in the run alone that ran them', async () => {
    fs.writeFileSync(scene.at('test.sh'), 'mkdir -p reports\necho x > reports/base\n');
    git('add', '-A');
    git('commit', '-qm', 'base');
    const sandbox = { ...SANDBOX_ON, write: ['reports'] };
    const written = { written: ['reports/base'] };
    const first = await runOf(STEP, { sandbox });
    expect(await first.tests('sh test.sh')).toMatchObject({ outcome: 'pass', ...written });
    // The next attempt of the same run finds the record.
    fs.rmSync(scene.at('reports'), { recursive: true });
    expect(await first.tests('sh test.sh')).toMatchObject(written);
    const later = await (await runOf(LATER, { sandbox })).tests('sh test.sh');
    expect(later).not.toHaveProperty('written');
  });
});
