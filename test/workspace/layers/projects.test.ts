/** Real projects pass their tests on an overlay as they do in the workspace, see the proposal there, and the workspace stays as it was. */
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect } from '@jest/globals';
import { SANDBOX_ON } from '../../../src/documents/job/index.js';
import { createLocalRunner } from '../../../src/workspace/commands/index.js';
import { createLayers } from '../../../src/workspace/layers/index.js';
import type { ExpectedFile } from '../../../src/workspace/ports.js';
import { createBlobStore } from '../../../src/stores/directory/blobs.js';
import { onPath } from '../../../src/system/environment.js';
import { listing } from '../../support/listing.js';
import { describeIf, longOnly, testIf } from '../../support/skipped.js';
import { found, whyNone } from '../../support/box-users.js';
import { PROJECTS, type Project } from './projects.js';

const TESTS_S = 60; // bound: Seconds of one run of a project's tests.

/** A program of rustup is on the path also if no toolchain is installed for this HOME: then it starts nothing. */
const isThere = (program: string): boolean => {
  const [path] = onPath(process.env, program).filter(existsSync);
  if (path === undefined) return false;
  return program !== 'cargo' || spawnSync(path, ['--version']).status === 0;
};

const long = longOnly('packages are fetched from registries: two minutes');
const rowOf = ({ name, needs }: Project) => {
  const missing = needs.filter((program) => !isThere(program));
  return missing.length === 0 ? long : testIf(false, `${name}: no ${missing.join(', ')} here`);
};

describeIf(found.works, whyNone)('on an overlay', () => {
  let base: string;
  let workspace: string;
  beforeEach(async () => {
    base = await realpath(await mkdtemp(join(tmpdir(), 'emend-projects-')));
    workspace = join(base, 'workspace');
    for (const dir of ['home', 'scratch']) await mkdir(join(base, dir));
  });
  afterEach(() => rm(base, { recursive: true, force: true }));

  const commands = createLocalRunner(process.env);
  const blobs = () => createBlobStore({ dir: join(base, 'home/blobs') });
  const request = (command: string) => ({
    command,
    cwd: workspace,
    env: [],
    timeout_s: TESTS_S,
    maxOutput_bytes: 1_000_000,
  });
  const expected = async (path: string, text: string): Promise<ExpectedFile> => ({
    path,
    result: { ref: await blobs().put(Buffer.from(text)), mode: 0o644 },
  });
  const onOverlay = async ({ test, changed: [path, text], added }: Project) => {
    const layers = createLayers({ home: join(base, 'home'), blobs: blobs(), commands });
    expect(await layers.problem(workspace)).toBeNull();
    const before = await readFile(join(workspace, path), 'utf8');
    const proposal = [await expected(path, before + text), await expected(...added)];
    return layers.use({ run: 'r1', workspace, proposal, isWarm: false }, ({ overlay }) =>
      commands.run({
        ...request(test),
        sandbox: { settings: SANDBOX_ON, workspace, overlay },
      }),
    );
  };

  for (const project of PROJECTS)
    rowOf(project)(project.name, async () => {
      await project.make(workspace, join(base, 'scratch'));
      const inWorkspace = await commands.run({ ...request(project.test), sandbox: 'off' });
      expect(inWorkspace).toMatchObject({ exit: 0 });
      const count = project.passed(inWorkspace.output);
      expect(count).toBeGreaterThan(0);
      const before = listing(workspace);

      const ran = await onOverlay(project);
      expect(ran).toMatchObject({ exit: 0 });
      expect(project.passed(ran.output)).toBe(count + 1);
      if (project.rebuilt !== undefined)
        expect([...ran.output.matchAll(/ -c (\w+)\.c$/gm)].map(([, name]) => name)).toEqual(
          project.rebuilt,
        );
      expect(listing(workspace)).toEqual(before);
    });
});
