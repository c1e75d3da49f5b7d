/** A workspace, a home and a proposal for tests of the apply engine: real files in a temp directory. */
import { execFileSync } from 'node:child_process';
import * as fs from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll } from '@jest/globals';
import { createApplyEngine, type ApplyEngineOptions } from '../../src/workspace/apply/engine.js';
import { createBlobStore } from '../../src/stores/directory/blobs.js';
import { proposalIdOf, type Proposal, type ProposalFile } from '../../src/workspace/proposal.js';
import { refOf } from '../../src/system/hash.js';
import { storePaths } from '../../src/stores/location.js';
import { realSys } from '../../src/system/sys.js';
import type { ApplyEngine, ApplyRequest } from '../../src/workspace/ports.js';

export interface SceneFile {
  readonly path: string;
  /** null: absent. */
  readonly before: string | null;
  readonly after: string | null;
  readonly mode?: number;
  readonly modeAfter?: number;
  readonly by?: 'model' | 'person';
}

export const STEP = '00c0ffee00c0ffee00c0ffee00c0ffee';
const bytesOf = (text: string) => new TextEncoder().encode(text);

export interface Scene {
  readonly root: string;
  readonly home: string;
  readonly workspace: string;
  readonly request: ApplyRequest;
  readonly files: readonly SceneFile[];
  readonly at: (path: string) => string;
  readonly engine: (options?: Partial<ApplyEngineOptions>) => ApplyEngine;
  readonly remove: () => void;
}

export const requestOf = (
  workspace: string,
  files: readonly SceneFile[],
  decision = 1,
  stepKey = STEP,
): ApplyRequest => {
  const side = (text: string | null, mode: number) =>
    text === null ? null : { ref: refOf(bytesOf(text)), mode };
  const proposal: Proposal = {
    stepKey,
    files: files.map((f): ProposalFile => {
      const mode = f.mode ?? 0o644;
      return {
        path: f.path,
        base: side(f.before, mode),
        result: side(f.after, f.modeAfter ?? mode),
        by: f.by ?? 'model',
      };
    }),
    renames: [],
  };
  const holder = { workflowId: `emend-${stepKey}`, namespace: 'default' };
  return {
    stepKey,
    workspace,
    proposalId: proposalIdOf(proposal),
    proposal,
    decision,
    files: files.map((f) => f.path),
    holder,
  };
};

/** Scenes of tests that failed in the middle. */
const standing = new Set<string>();
afterAll(() => {
  for (const root of standing) fs.rmSync(root, { recursive: true, force: true });
});

/** Where thousands of scenes are made: in memory where the system has that, as fsync is most of their time. */
const MEMORY = '/dev/shm';
const scenesDir = (disk: boolean): string => (!disk && fs.existsSync(MEMORY) ? MEMORY : tmpdir());

/** Writes the bases and stores the results. `git`: the workspace is a repository with one commit. `disk`: not in memory. */
export const makeScene = async (
  files: readonly SceneFile[],
  options: { git?: boolean; disk?: boolean } = {},
): Promise<Scene> => {
  const root = fs.realpathSync(
    fs.mkdtempSync(join(scenesDir(options.disk ?? false), 'emend apply-')),
  );
  standing.add(root);
  const home = join(root, 'home');
  const workspace = join(root, 'work');
  fs.mkdirSync(home, { mode: 0o700 });
  fs.mkdirSync(workspace);
  for (const file of files) {
    if (file.before === null) continue;
    fs.mkdirSync(dirname(join(workspace, file.path)), { recursive: true });
    fs.writeFileSync(join(workspace, file.path), file.before);
    fs.chmodSync(join(workspace, file.path), file.mode ?? 0o644);
  }
  if (options.git === true) {
    const git = (...args: string[]) =>
      execFileSync('git', ['-c', 'user.name=T', '-c', 'user.email=t@example.com', ...args], {
        cwd: workspace,
        stdio: 'pipe',
      });
    git('init', '-q', '-b', 'main');
    git('commit', '-q', '--allow-empty', '-m', 'base');
  }
  const blobs = createBlobStore({ dir: storePaths(home).blobs });
  for (const file of files) {
    if (file.before !== null) await blobs.put(bytesOf(file.before));
    if (file.after !== null) await blobs.put(bytesOf(file.after));
  }
  return {
    root,
    home,
    workspace,
    files,
    request: requestOf(workspace, files),
    at: (path) => join(workspace, path),
    engine: (more = {}) => {
      const sys = more.sys ?? realSys;
      return createApplyEngine({
        home,
        sys,
        blobs: createBlobStore({ dir: storePaths(home).blobs, sys }),
        patience_ms: 500,
        ...more,
      });
    },
    remove: () => {
      standing.delete(root);
      fs.rmSync(root, { recursive: true, force: true });
    },
  };
};

/** A mix of every kind of change, `count` files long, in three directories. */
export const mixedFiles = (count: number): SceneFile[] =>
  Array.from({ length: count }, (_, i): SceneFile => {
    const path = `${['', 'src/', 'src/deep/'][i % 3] ?? ''}file${i}.txt`;
    const before = `old ${i}\n`.repeat(3);
    const after = `new ${i}\n`.repeat(4);
    switch (i % 6) {
      case 2:
        return { path: `made/${i}/${path}`, before: null, after };
      case 3:
        return { path, before, after: null };
      case 4:
        return { path, before, after, mode: 0o444, modeAfter: 0o555 };
      default:
        return { path, before, after, mode: 0o640 };
    }
  });

/** path -> content and mode, of every file; `dir/` -> null for every directory. Git's own left out. */
export const snapshot = (dir: string): Record<string, string | null> => {
  const seen: Record<string, string | null> = {};
  const walk = (below: string): void => {
    for (const entry of fs.readdirSync(join(dir, below), { withFileTypes: true })) {
      const path = join(below, entry.name);
      if (path === '.git') continue;
      if (entry.isDirectory()) {
        seen[`${path}/`] = null;
        walk(path);
      } else {
        const mode = (fs.lstatSync(join(dir, path)).mode & 0o7777).toString(8);
        const text = entry.isSymbolicLink()
          ? `-> ${fs.readlinkSync(join(dir, path))}`
          : fs.readFileSync(join(dir, path), 'utf8');
        seen[path] = `${mode} ${text}`;
      }
    }
  };
  walk('');
  return seen;
};

/** Which side each of the scene's files is at. */
export const sidesOf = (scene: Scene): ('old' | 'new' | 'other')[] =>
  scene.files.map((file) => {
    const is = (text: string | null, mode: number): boolean => {
      const path = scene.at(file.path);
      if (text === null) return !fs.existsSync(path);
      const there = fs.lstatSync(path, { throwIfNoEntry: false });
      return (
        there?.isFile() === true &&
        fs.readFileSync(path, 'utf8') === text &&
        (fs.statSync(path).mode & 0o777) === mode
      );
    };
    const mode = file.mode ?? 0o644;
    if (is(file.after, file.modeAfter ?? mode)) return 'new';
    return is(file.before, mode) ? 'old' : 'other';
  });

export const leftovers = (dir: string): string[] =>
  Object.keys(snapshot(dir)).filter((path) => path.includes('.emend-'));
