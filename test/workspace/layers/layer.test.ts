/** A command on an overlay: it sees the workspace with the proposal over it, and the workspace stays as it is. */
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { SANDBOX_ON } from '../../../src/documents/job/index.js';
import { createLocalRunner } from '../../../src/workspace/commands/index.js';
import { createLayers, layersDir, type Layers } from '../../../src/workspace/layers/index.js';
import { createBlobStore } from '../../../src/stores/directory/blobs.js';
import type { ExpectedFile } from '../../../src/workspace/ports.js';
import { describeIf } from '../../support/skipped.js';
import { found, whyNone } from '../../support/box-users.js';

describeIf(found.works, whyNone)('layers', () => {
  let base: string;
  let home: string;
  let workspace: string;
  let layers: Layers;
  const commands = createLocalRunner(process.env);
  const blobs = () => createBlobStore({ dir: join(home, 'blobs') });

  beforeEach(async () => {
    base = await mkdtemp(join(tmpdir(), 'emend-layers-'));
    home = join(base, 'home');
    workspace = join(base, 'workspace');
    await mkdir(home);
    await mkdir(join(workspace, 'src'), { recursive: true });
    await writeFile(join(workspace, 'src/a.txt'), 'base\n');
    await writeFile(join(workspace, 'src/b.txt'), 'kept\n');
    layers = createLayers({ home, blobs: blobs(), commands });
  });
  afterEach(() => rm(base, { recursive: true, force: true }));

  const put = async (path: string, text: string): Promise<ExpectedFile> => ({
    path,
    result: { ref: await blobs().put(Buffer.from(text)), mode: 0o644 },
  });
  const run = (command: string, proposal: readonly ExpectedFile[] = []) =>
    layers.use({ run: 'r1', workspace, proposal, isWarm: false }, async (layer) => {
      const ran = await commands.run({
        command,
        cwd: workspace,
        env: [],
        timeout_s: 30,
        maxOutput_bytes: 10_000,
        sandbox: { settings: SANDBOX_ON, workspace, overlay: layer.overlay },
      });
      return { output: ran.output.trim(), exit: ran.exit, changes: await layer.changes() };
    });

  test('shows the proposal over the workspace, which a command does not change', async () => {
    const proposal = [
      await put('src/a.txt', 'proposed\n'),
      await put('new/c.txt', 'new\n'),
      { path: 'src/b.txt', result: null },
    ];
    const ran = await run('cat src/a.txt new/c.txt; ls src; echo x > out; rm src/a.txt', proposal);
    expect(ran).toEqual({
      output: 'proposed\nnew\na.txt',
      exit: 0,
      changes: [
        { path: 'out', kind: 'file' },
        { path: 'src/a.txt', kind: 'removed' },
      ],
    });
    expect(await readdir(workspace, { recursive: true })).toEqual([
      'src',
      'src/a.txt',
      'src/b.txt',
    ]);
    expect(await readFile(join(workspace, 'src/a.txt'), 'utf8')).toBe('base\n');
  });

  test('leaves nothing in the home, also where a command made directories that nobody may enter', async () => {
    expect((await run('mkdir -p -m 000 locked; mkdir -p a/b; chmod 000 a')).exit).toBe(0);
    expect(await readdir(layersDir(home))).toEqual([]);
  });

  const deepTree = `perl -e 'for (1 .. 60) { mkdir "d" x 100; chdir "d" x 100 } open F, ">file"'`;

  test('removes directories whose paths are longer than the kernel takes', async () => {
    expect((await run(deepTree)).exit).toBe(0);
    expect(await readdir(layersDir(home))).toEqual([]);
  });

  test('finds no problem with an ordinary workspace', async () => {
    expect(await layers.problem(workspace)).toBeNull();
  });
});
