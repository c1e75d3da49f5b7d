/** Real repositories and a blob store in memory for the tests of git, commit and files. */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  appendFile,
  chmod,
  mkdir,
  mkdtemp,
  readFile,
  realpath,
  rm,
  symlink,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { createLocalRunner } from '../../src/workspace/commands/index.js';
import { createLayers } from '../../src/workspace/layers/index.js';
import type { BlobRef } from '../../src/shared/ids.js';
import type { BlobStore } from '../../src/stores/ports.js';
import type { CommitRequest } from '../../src/workspace/ports.js';
import type { ProposalFile } from '../../src/workspace/proposal.js';

/** Nobody's own git configuration takes part. Call once per test file, before anything runs git. */
export function isolateGit(): void {
  process.env.GIT_CONFIG_GLOBAL = '/dev/null';
  process.env.GIT_CONFIG_NOSYSTEM = '1';
}

export const STEP = '00112233445566778899aabbccddeeff';

export class Repo {
  readonly dir: string;
  constructor(dir: string) {
    this.dir = dir;
  }
  static async make(
    options: { dir?: string; identity?: boolean; sha256?: boolean } = {},
  ): Promise<Repo> {
    const repo = new Repo(
      options.dir ?? (await realpath(await mkdtemp(join(tmpdir(), 'emend git-')))),
    );
    await repo.git(
      'init',
      '-q',
      '-b',
      'main',
      ...(options.sha256 === true ? ['--object-format=sha256'] : []),
    );
    // Not by git: its processes are most of what a test with a repository costs.
    if (options.identity ?? true)
      await appendFile(
        join(repo.dir, '.git', 'config'),
        '[user]\n\tname = Ada Person\n\temail = ada@example.org\n',
      );
    return repo;
  }
  /** Standard output, byte for byte as latin1 where `-z` outputs matter little; here as UTF-8. */
  async git(...args: string[]): Promise<string> {
    return this.#run('git', ['-c', 'core.quotepath=off', ...args]);
  }
  /** Several commands by one fork: that of a big jest worker costs more than git does. */
  #sh(script: string, ...args: string[]): Promise<string> {
    return this.#run('/bin/sh', ['-c', script, 'sh', ...args]);
  }
  async #run(file: string, args: readonly string[]): Promise<string> {
    const options = { cwd: this.dir, env: process.env, maxBuffer: 64 * 1024 * 1024 };
    return (await promisify(execFile)(file, args, options)).stdout;
  }
  /** The commit and the branch that HEAD is at; null where there is none. */
  async head(): Promise<{ head: string | null; headRef: string | null }> {
    const said = await this.#sh(
      'git rev-parse -q --verify HEAD || echo; git symbolic-ref -q HEAD || echo',
    );
    const [head, headRef] = said.split('\n').map((line) => (line === '' ? null : line));
    return { head: head ?? null, headRef: headRef ?? null };
  }
  async line(...args: string[]): Promise<string> {
    return (await this.git(...args)).trim();
  }
  async write(path: string, content: string, mode?: number): Promise<void> {
    await mkdir(dirname(join(this.dir, path)), { recursive: true });
    await writeFile(join(this.dir, path), content);
    if (mode !== undefined) await chmod(join(this.dir, path), mode);
  }
  async link(path: string, target: string): Promise<void> {
    await symlink(target, join(this.dir, path));
  }
  read(path: string): Promise<string> {
    return readFile(join(this.dir, path), 'utf8');
  }
  async commitAll(message = 'before'): Promise<string> {
    return (
      await this.#sh('git add -A && git commit -q -m "$1" && git rev-parse HEAD', message)
    ).trim();
  }
  status(): Promise<string> {
    return this.git('status', '--porcelain');
  }
  remove(): Promise<void> {
    return rm(this.dir, { recursive: true, force: true });
  }
}

/** Blobs in memory; `file` makes the file records of a proposal from texts. */
export class Blobs implements BlobStore {
  readonly #bytes = new Map<string, Uint8Array>();
  add(text: string): BlobRef {
    const bytes = new Uint8Array(Buffer.from(text, 'utf8'));
    const ref: BlobRef = `sha256:${createHash('sha256').update(bytes).digest('hex')}`;
    this.#bytes.set(ref, bytes);
    return ref;
  }
  put(bytes: Uint8Array): Promise<BlobRef> {
    return Promise.resolve(this.add(Buffer.from(bytes).toString('utf8')));
  }
  get(ref: BlobRef): Promise<Uint8Array> {
    const bytes = this.#bytes.get(ref);
    return bytes ? Promise.resolve(bytes) : Promise.reject(new Error(`no blob ${ref}`));
  }
  has(ref: BlobRef): Promise<boolean> {
    return Promise.resolve(this.#bytes.has(ref));
  }
  file(
    path: string,
    base: string | null,
    result: string | null,
    modes: [number, number] = [0o644, 0o644],
  ): ProposalFile {
    return {
      path,
      base: base === null ? null : { ref: this.add(base), mode: modes[0] },
      result: result === null ? null : { ref: this.add(result), mode: modes[1] },
      by: 'model',
    };
  }
}

/** What a committer runs hooks with; `home`: where it makes their layers. */
export const hookPorts = (home = join(tmpdir(), 'emend-hooks-home')) => {
  const commands = createLocalRunner(process.env);
  return { commands, layers: createLayers({ home, blobs: new Blobs(), commands }) };
};

/** A request with the lock as it is now: HEAD of the repository. */
export async function requestFor(
  repo: Repo,
  files: readonly ProposalFile[],
  more: Partial<CommitRequest> = {},
): Promise<CommitRequest> {
  const { head, headRef } = await repo.head();
  return {
    stepKey: STEP,
    workspace: repo.dir,
    files,
    renames: [],
    message: 'Change things',
    lock: {
      token: 1,
      stepKey: STEP,
      workflowId: 'w',
      namespace: 'default',
      takenAt: '2026-01-02T03:04:05.000Z',
      head,
      headRef,
    },
    date: '2026-01-02T03:04:05.678Z',
    hooks: false,
    env: [],
    sign: false,
    sandbox: 'off',
    ...more,
  };
}
