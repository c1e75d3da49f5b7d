/**
 * Inputs and results of activities as a release scheduled and answered them, with the stores and the files that they are about
 * (test/inputs). A workspace's path stands as WORKSPACE in them.
 */
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** What happened, in order: an activity, or a person's save. */
export type KeptEvent =
  | { readonly activity: string; readonly input: { readonly stepKey: string }; readonly result: unknown }
  | { readonly save: string; readonly content: string };
export interface KeptRun {
  readonly v: 1;
  readonly release: string;
  readonly events: readonly KeptEvent[];
}

export const KEPT = join(process.cwd(), 'test/inputs');
const WORKSPACE = '@WORKSPACE@';

/** What activities read of a home; transactions and leases are made anew. */
const STORES = ['blobs', 'slots', 'records', 'host-id', 'store-id'];

export const packPlace = (name: string, home: string, before: string, run: KeptRun, workspace: string): void => {
  const base = join(KEPT, `${run.release}-${name}`);
  const there = execFileSync('ls', [home], { encoding: 'utf8' }).split('\n');
  const stores = STORES.filter((each) => there.includes(each));
  execFileSync('tar', ['-czf', `${base}.tgz`, '-C', home, ...stores, '-C', before, 'workspace']);
  writeFileSync(`${base}.json`, `${JSON.stringify(run, null, 1).replaceAll(workspace, WORKSPACE)}\n`);
};

export interface Place {
  readonly home: string;
  readonly workspace: string;
  readonly run: KeptRun;
  remove(): void;
}
/** The kept run `<release>-<name>` on disk again. */
export const unpackPlace = (kept: string): Place => {
  const dir = realpathSync(mkdtempSync(join(tmpdir(), 'emend-inputs-')));
  const home = join(dir, 'home');
  mkdirSync(home, { mode: 0o700 });
  execFileSync('tar', ['-xzf', join(KEPT, `${kept}.tgz`), '-C', home]);
  const workspace = join(dir, 'a repo');
  execFileSync('mv', [join(home, 'workspace'), workspace]);
  const text = readFileSync(join(KEPT, `${kept}.json`), 'utf8');
  const run = JSON.parse(text.replaceAll(WORKSPACE, workspace)) as KeptRun;
  return {
    home,
    workspace,
    run,
    remove: () => {
      rmSync(dir, { recursive: true, force: true });
    },
  };
};
