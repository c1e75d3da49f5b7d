/** A workspace with commands on overlays: a repository, a home for the layers, and a runner. */
import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  realpathSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { SANDBOX_ON, type SandboxSettings } from '../../../src/documents/job/index.js';
import { createBlobStore } from '../../../src/stores/directory/blobs.js';
import { createLocalRunner, type Box } from '../../../src/workspace/commands/index.js';
import { createLayers, removeTree, type Layer } from '../../../src/workspace/layers/index.js';
import type { ExpectedFile } from '../../../src/workspace/ports.js';

export interface RunOptions {
  readonly isWarm?: boolean;
  readonly proposal?: readonly ExpectedFile[];
  readonly settings?: Partial<SandboxSettings>;
  readonly timeout_s?: number;
  readonly box?: Partial<Box>;
  /** Called when the command has ended. */
  readonly use?: (layer: Layer) => Promise<unknown>;
}

export interface SceneOptions {
  /** Name of the workspace's directory. */
  readonly name?: string;
  /** Directory of the workspace that is first on PATH. */
  readonly programs?: string;
  readonly allowed?: NonNullable<Parameters<typeof createLocalRunner>[1]>['allowed'];
}

export function scene({ name = 'workspace', programs, allowed = {} }: SceneOptions = {}) {
  const base = realpathSync(mkdtempSync(join(tmpdir(), 'emend-layers-')));
  const home = join(base, 'home');
  const workspace = join(base, name);
  for (const dir of [home, workspace]) mkdirSync(dir, { recursive: true });
  const path = process.env.PATH ?? '';
  const env = {
    ...process.env,
    PATH: programs === undefined ? path : `${join(workspace, programs)}:${path}`,
  };
  const commands = createLocalRunner(env, { hidden: [home], allowed });
  const blobs = createBlobStore({ dir: join(home, 'blobs') });
  const layers = createLayers({ home, blobs, commands, env });

  const put = (path: string, text: string, mode = 0o644): void => {
    const file = join(workspace, path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
    chmodSync(file, mode);
  };
  const git = (...args: string[]): string =>
    execFileSync('git', ['-c', 'user.name=t', '-c', 'user.email=t@t', ...args], {
      cwd: workspace,
      encoding: 'utf8',
    });
  const commit = (): void => {
    git('init', '-q', '-b', 'main');
    git('add', '-A');
    git('commit', '-qm', 'base');
  };
  const proposed = async (path: string, text: string | null): Promise<ExpectedFile> => ({
    path,
    result: text === null ? null : { ref: await blobs.put(Buffer.from(text)), mode: 0o644 },
  });

  const list = (path: string): readonly string[] => readdirSync(join(workspace, path)).sort();
  const mode = (path: string): string => statSync(join(workspace, path)).mode.toString(8);

  /** Runs a command on a layer. */
  const run = async (command: string, options: RunOptions = {}) => {
    const { isWarm = false, proposal = [], settings, timeout_s = 60, box, use } = options;
    const request = { run: 'r1', workspace, proposal, isWarm };
    return layers.use(request, async (layer) => {
      const { output, ...ran } = await commands.run({
        command,
        cwd: workspace,
        env: [],
        timeout_s,
        maxOutput_bytes: 65_536,
        sandbox: {
          settings: { ...SANDBOX_ON, ...settings },
          workspace,
          overlay: layer.overlay,
          ...box,
        },
      });
      const changes = (await layer.changes()).map(({ path, kind }) => `${kind} ${path}`);
      await use?.(layer);
      return { ...ran, output: output.trim(), changes };
    });
  };
  const remove = (): Promise<void> => removeTree(base);
  return {
    base,
    home,
    workspace,
    commands,
    layers,
    put,
    git,
    commit,
    proposed,
    list,
    mode,
    run,
    remove,
  };
}
export type Scene = ReturnType<typeof scene>;
