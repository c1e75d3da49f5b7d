/** The package as others get it: packed once, unpacked into a project whose other dependencies are those of this clone. */
import { execFileSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  realpathSync,
  rmSync,
  symlinkSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const root = process.cwd();

export interface PackedProject {
  readonly dir: string;
  remove(): void;
}

/** `folders` of this clone are copied into it. */
export const packedProject = (...folders: readonly string[]): PackedProject => {
  const dir = realpathSync(mkdtempSync(join(tmpdir(), 'emend-packed-')));
  const said = execFileSync(
    'npm',
    ['pack', '--json', '--ignore-scripts', '--pack-destination', dir],
    {
      cwd: root,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'pipe'],
    },
  );
  const [{ filename }] = JSON.parse(said) as [{ filename: string }];
  const modules = join(dir, 'node_modules');
  const emend = join(modules, 'emend');
  mkdirSync(emend, { recursive: true });
  execFileSync('tar', ['-xzf', join(dir, filename), '--strip-components=1', '-C', emend]);
  for (const name of readdirSync(join(root, 'node_modules'))) {
    const target = join(modules, name);
    if (!name.startsWith('.') && !existsSync(target))
      symlinkSync(join(root, 'node_modules', name), target);
  }
  for (const folder of folders) cpSync(join(root, folder), join(dir, folder), { recursive: true });
  return {
    dir,
    remove: () => {
      rmSync(dir, { recursive: true, force: true });
    },
  };
};
