/** `sandbox.write`: what is outside the workspace is mounted writable; what is inside is never mounted. */
import { existsSync, mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { SANDBOX_ON } from '../../../src/documents/job/index.js';
import { createLocalRunner } from '../../../src/workspace/commands/index.js';
import { createLayers } from '../../../src/workspace/layers/index.js';
import { createBlobStore } from '../../../src/stores/directory/blobs.js';
import { found, whyNone } from '../../support/box-users.js';
import { describeIf } from '../../support/skipped.js';

describeIf(found.works, whyNone)('paths of `sandbox.write`', () => {
  let base: string;
  let workspace: string;
  beforeEach(() => {
    base = realpathSync(mkdtempSync('/tmp/emend-writes-'));
    workspace = join(base, 'workspace');
    for (const dir of ['home', 'workspace/reports', 'out'])
      mkdirSync(join(base, dir), { recursive: true });
  });
  afterEach(() => rmSync(base, { recursive: true, force: true }));

  const runOnOverlay = (
    command: string,
    write: readonly string[],
    commands = createLocalRunner(process.env),
  ) =>
    createLayers({
      home: join(base, 'home'),
      blobs: createBlobStore({ dir: join(base, 'home/blobs') }),
      commands,
    }).use({ run: 'r1', workspace, proposal: [], isWarm: false }, async (layer) => {
      const ran = await commands.run({
        command,
        cwd: workspace,
        env: [],
        timeout_s: 30,
        maxOutput_bytes: 10_000,
        sandbox: {
          settings: { ...SANDBOX_ON, write: [...write] },
          workspace,
          overlay: layer.overlay,
        },
      });
      return { exit: ran.exit, output: ran.output, changes: await layer.changes() };
    });

  test('inside the workspace a command writes its layer, also by an absolute path', async () => {
    const write = ['coverage/', join(workspace, 'reports')];
    const ran = await runOnOverlay('mkdir coverage && touch reports/a coverage/b', write);
    expect(ran).toMatchObject({
      exit: 0,
      changes: [{ path: 'coverage/b' }, { path: 'reports/a' }],
    });
    expect(existsSync(join(workspace, 'reports/a'))).toBe(false);
    expect(existsSync(join(workspace, 'coverage'))).toBe(false);
  });

  test('outside the workspace a command writes the path itself', async () => {
    const out = join(base, 'out');
    expect(await runOnOverlay(`touch ${out}/a`, [out])).toMatchObject({ exit: 0, changes: [] });
    expect(existsSync(join(out, 'a'))).toBe(true);
  });

  test.each([
    [
      'a link into the workspace',
      () => symlinkSync(join(workspace, 'reports'), join(base, 'link')),
    ],
    ['a link to a directory around it', () => symlinkSync(base, join(base, 'link'))],
  ])('%s is refused', async (_, makeLink) => {
    makeLink();
    await expect(runOnOverlay('touch reports/a', [join(base, 'link')])).rejects.toThrow(
      'in or around the workspace',
    );
  });

  test.each([
    ['a directory on PATH', 'out/bin'],
    ['a directory in one', 'out/bin/sub'],
    ['a directory around one', 'out'],
    ['a link to one', 'link'],
  ])('%s is refused', async (_, path) => {
    mkdirSync(join(base, 'out/bin/sub'), { recursive: true });
    symlinkSync(join(base, 'out/bin'), join(base, 'link'));
    const PATH = `${process.env.PATH}:${join(base, 'out/bin')}`;
    const commands = createLocalRunner({ ...process.env, PATH });
    await expect(runOnOverlay('true', [join(base, path)], commands)).rejects.toThrow(
      'a directory on PATH',
    );
  });

  test('a directory around the workspace is refused', async () => {
    await expect(runOnOverlay('true', [base])).rejects.toThrow('it contains the workspace');
  });
});
