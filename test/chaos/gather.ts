/** Gathers the evidence that lies in files: workspaces with git, transaction records, the model's own log of requests. */
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { join, relative } from 'node:path';
import { createApplyEngine } from '../../src/workspace/apply/engine.js';
import { isOpen, openRecord } from '../../src/workspace/apply/record.js';
import { homePaths } from '../../src/stores/home.js';
import { realSys } from '../../src/system/sys.js';
import type { FoundCommit, FoundRecord, FoundRequest, FoundWorkspace } from './evidence.js';
import type { World } from './world.js';

export const git = (workspace: string, ...args: string[]): string =>
  execFileSync('git', args, { cwd: workspace, encoding: 'utf8', maxBuffer: 64 * 1024 * 1024 });
export const lines = (text: string): string[] => text.split('\n').filter((line) => line !== '');

const filesBelow = (dir: string): Record<string, string> =>
  Object.fromEntries(
    readdirSync(dir, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name))
      .map((path): [string, string] => [relative(dir, path), path])
      .filter(([name]) => !name.startsWith('.git/'))
      .map(([name, path]) => [name, readFileSync(path, 'utf8')]),
  );

const commitsOf = (workspace: string): FoundCommit[] =>
  lines(git(workspace, 'rev-list', '--reverse', 'HEAD'))
    .slice(1)
    .map((id) => {
      const trailers = git(
        workspace,
        'log',
        '-1',
        '--format=%(trailers:key=Emend-Step,key=Emend-Mark,valueonly)',
        id,
      );
      const paths = lines(
        git(workspace, 'diff-tree', '-r', '--no-commit-id', '--name-only', '--diff-filter=d', id),
      );
      return {
        id,
        steps: lines(trailers),
        changed: Object.fromEntries(
          paths.map((path) => [path, git(workspace, 'show', `${id}:${path}`)]),
        ),
      };
    });

export const gatherWorkspace = async (world: World, path: string): Promise<FoundWorkspace> => {
  const engine = createApplyEngine({ home: world.home, blobs: world.emend.blobs });
  const fsck = ((): string[] => {
    try {
      git(path, 'fsck', '--no-dangling', '--no-progress');
      return [];
    } catch (error) {
      return [String(error)];
    }
  })();
  return {
    path,
    files: filesBelow(path),
    commits: commitsOf(path),
    status: lines(git(path, 'status', '--porcelain', '--ignored', '--untracked-files=all')),
    fsck,
    locks: readdirSync(join(path, '.git'), { recursive: true, encoding: 'utf8' }).filter((name) =>
      name.endsWith('.lock'),
    ),
    lock: await engine.readLock(path),
  };
};

const hex = (ref: string | undefined): string | null => ref?.replace('sha256:', '') ?? null;
export const namesIn = (dir: string): string[] => (existsSync(dir) ? readdirSync(dir) : []);

export const recordsOf = async (world: World, stepKey: string): Promise<FoundRecord[]> => {
  const { transactions } = homePaths(world.home);
  const found: FoundRecord[] = [];
  for (const name of namesIn(join(transactions, stepKey))) {
    const record = openRecord(realSys, transactions, `${stepKey}/${name}`);
    const state = await record.load();
    if (state.plan === null) continue;
    const whole = async (ref: string): Promise<string[]> =>
      world.emend.blobs.get(ref as `sha256:${string}`).then(
        () => [ref.replace('sha256:', '')],
        () => [],
      );
    found.push({
      name,
      kind: state.plan.kind,
      proposalId: state.plan.proposalId,
      decision: state.plan.decision,
      open: isOpen(state),
      outcome: state.closed?.outcome ?? null,
      done: state.closed?.files ?? [],
      files: state.plan.files.map(({ path, base, result }) => ({
        path,
        base: hex(base?.ref),
        result: hex(result?.ref),
      })),
      saved: (await Promise.all((await record.saved()).map(({ ref }) => whole(ref)))).flat(),
    });
  }
  return found;
};

/** Requests with their bodies, from the file that the rehearsal kept: a line when each came, one when it ended. */
export const gatherRequests = (recordFile: string): FoundRequest[] => {
  const told = lines(existsSync(recordFile) ? readFileSync(recordFile, 'utf8') : '').map(
    (line) => JSON.parse(line) as { n: number; at?: string; body?: string; status?: number | null },
  );
  const refused = new Set(told.filter(({ status }) => (status ?? 0) >= 400).map(({ n }) => n));
  return told.flatMap(({ n, at, body }) =>
    at === undefined || body === undefined
      ? []
      : [{ n, at: Date.parse(at), body, refused: refused.has(n) }],
  );
};
