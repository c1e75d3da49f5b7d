/** A person saves a file while tests run on it: nothing tells their bytes from the tests' own, so none are lost, and all are named. */
import { execFileSync } from 'node:child_process';
import * as fs from 'node:fs';
import { afterEach, expect, test } from '@jest/globals';
import type { ActivityScope } from '../../../src/activities/frame/activity.js';
import type { ActivityPorts } from '../../../src/activities/frame/ports.js';
import { runTests } from '../../../src/activities/step/run-tests.js';
import { SANDBOX_ON, type SandboxSettings } from '../../../src/documents/job/index.js';
import { createBlobStore } from '../../../src/stores/directory/blobs.js';
import { createRecordStore } from '../../../src/stores/directory/records.js';
import { putJson } from '../../../src/stores/ports.js';
import { storePaths } from '../../../src/stores/location.js';
import { refOf } from '../../../src/system/hash.js';
import { workspacePorts } from '../../support/workspace-ports.js';
import { leftovers, makeScene, STEP, type Scene } from '../../workspace/apply-scene.js';

const SAVED = 'what a person saved\n';
const SAVE = `printf '${SAVED.trim()}\\n' > a.js`;
const KEPT = expect.stringMatching(
  `^a\\.js \\(written during the tests, then set to the change; .* --blob ${refOf(Buffer.from(SAVED))}\\)$`,
);

let scene: Scene;
afterEach(() => {
  scene.remove();
});
const begin = async (sandbox: SandboxSettings | 'off' = 'off') => {
  scene = await makeScene([{ path: 'a.js', before: 'base\n', after: 'applied\n' }], { disk: true });
  execFileSync('git', ['init', '-q'], { cwd: scene.workspace });
  const { blobs: dir, records } = storePaths(scene.home);
  const blobs = createBlobStore({ dir });
  const ports = {
    ...workspacePorts(scene.home, blobs),
    records: createRecordStore({ dir: records }),
    edits: { run: () => Promise.resolve({ text: 'diff' }) },
  } as unknown as ActivityPorts;
  const [{ path, base } = { path: '', base: null }] = scene.request.proposal.files;
  const config = { env: [], sandbox };
  const input = {
    workspace: scene.workspace,
    stepKey: STEP,
    log: [],
    timeout_s: 60,
    maxOutput_bytes: 1000,
    snapshot: await putJson(blobs, { stepKey: STEP, config, targets: [{ path, base }] }),
  };
  const ended = new AbortController();
  const owner = scene.request.holder;
  const scope = {
    signal: ended.signal,
    assertCurrent: () => undefined,
    owner,
  } as unknown as ActivityScope;
  const applications = [
    { proposal: await putJson(blobs, scene.request.proposal), decision: 1, files: ['a.js'] },
  ];
  const on = { kind: 'applied', applications, run: 0 } as const;
  return {
    read: () => fs.readFileSync(scene.at('a.js'), 'utf8'),
    apply: () => scene.engine().apply(scene.request),
    verify: (...commands: string[]) => runTests(ports, { ...input, on, commands }, scope),
    /** The worker is told to end when the file is there. */
    endAt: (path: string) => {
      const timer = setInterval(() => {
        if (!fs.existsSync(scene.at(path))) return;
        clearInterval(timer);
        ended.abort();
      }, 20);
    },
    anew: () => ({ ...scope, signal: new AbortController().signal }),
    ports,
    input: { ...input, on },
  };
};

test.each(['off', SANDBOX_ON] as const)(
  'on the untouched base, sandbox: %j: a save stays',
  async (sandbox) => {
    const s = await begin(sandbox);
    const run: ActivityPorts['commands']['run'] = async (request) => {
      const ran = await s.ports.commands.run(request);
      fs.writeFileSync(scene.at('a.js'), SAVED);
      return ran;
    };
    const ports = { ...s.ports, commands: { ...s.ports.commands, run } };
    const on = { kind: 'base', again: 0 } as const;
    const input = { ...s.input, on, commands: ['true'] };
    expect(await runTests(ports, input, s.anew())).toMatchObject({ outcome: 'pass' });
    expect(s.read()).toBe(SAVED);
  },
);

test('tests that fail: what was saved is told with its ref, and what was applied is back', async () => {
  const s = await begin();
  await s.apply();
  expect(await s.verify(`${SAVE}; exit 1`)).toMatchObject({
    outcome: 'fail_hard',
    alsoChanged: [KEPT],
  });
  expect(s.read()).toBe('applied\n');
});

test('tests that pass: asked about, with what was saved to be adopted', async () => {
  const s = await begin();
  await s.apply();
  expect(await s.verify(SAVE)).toMatchObject({
    outcome: 'changed_files',
    by: 'tests',
    files: [KEPT],
  });
  expect(s.read()).toBe('applied\n');
});

test('a worker that ends in the tests: what was saved until it is back is told, also where it ends again once that was replaced', async () => {
  const s = await begin();
  await s.apply();
  const command = '[ -e again ] || { touch running; sleep 30; }';
  s.endAt('running');
  await expect(s.verify(command)).rejects.toThrow('stopped');
  fs.writeFileSync(scene.at('a.js'), SAVED);
  fs.writeFileSync(scene.at('again'), '');
  const { commands } = s.ports;
  const dying = { ...commands, run: () => Promise.reject(new Error('killed')) };
  const input = { ...s.input, commands: [command] };
  await expect(runTests({ ...s.ports, commands: dying }, input, s.anew())).rejects.toThrow(
    'killed',
  );
  expect(s.read()).toBe('applied\n');
  expect(await runTests(s.ports, input, s.anew())).toMatchObject({
    outcome: 'pass',
    alsoChanged: [KEPT],
  });
  expect(leftovers(scene.workspace)).toEqual([]);
});
