/** Merging a phase's branch into the plan's own working tree, with real git, beside a person's work and over retries. */
import { chmod, mkdtemp, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';

import type { ActivityPorts } from '../../../src/activities/frame/ports.js';
import { mergePhase } from '../../../src/activities/plan/phases.js';
import { fail } from '../../../src/shared/problems.js';
import { createApplyEngine } from '../../../src/workspace/apply/engine.js';
import { checkMergeable } from '../../../src/workspace/git/merge-tree.js';
import { mergeInto, type MergeParts } from '../../../src/workspace/landing/merge.js';
import type { ApplyEngine } from '../../../src/workspace/ports.js';
import type { MergeOutcome } from '../../../src/workspace/repository.js';
import { workspacePorts } from '../../support/workspace-ports.js';
import { longOnly } from '../../support/skipped.js';
import { Blobs, isolateGit, Repo } from '../git-fixture.js';

isolateGit();

let repo: Repo;
let blobs: Blobs;
let home: string;
let engine: ApplyEngine;
const KEY = 'aabbccddeeff00112233445566778899';
const LINES = Array.from({ length: 9 }, (_, i) => `line ${i + 1}\n`);
const text = (changed: Record<number, string> = {}): string =>
  LINES.map((line, i) => changed[i + 1] ?? line).join('');

beforeEach(async () => {
  repo = await Repo.make();
  blobs = new Blobs();
  home = await realpath(await mkdtemp(join(tmpdir(), 'emend home-')));
  engine = createApplyEngine({ home, blobs });
  await repo.write('a.txt', text());
  await repo.write('run.sh', '#!/bin/sh\n', 0o755);
  await repo.write('gone.txt', 'bye\n');
  await repo.commitAll();
});
afterEach(async () => {
  await repo.remove();
  await rm(home, { recursive: true, force: true });
});

/** A branch with a commit that `change` makes, main checked out again. */
const branch = async (name: string, change: () => Promise<void>): Promise<string> => {
  await repo.git('checkout', '-q', '-b', name);
  await change();
  const id = await repo.commitAll(`on ${name}`);
  await repo.git('checkout', '-q', 'main');
  return id;
};
const merge = (
  theirs: string,
  more: { parts?: Partial<MergeParts>; stepKey?: string; base?: string; late?: () => void } = {},
): Promise<MergeOutcome> =>
  mergeInto(
    { engine, blobs, lockWait_ms: 300, ...more.parts },
    {
      stepKey: more.stepKey ?? KEY,
      workspace: repo.dir,
      theirs,
      ...(more.base === undefined ? {} : { base: more.base }),
      message: 'Merge phase 2: Core',
      holder: { workflowId: 'emend-plan-x', namespace: 'default' },
      sign: false,
    },
    more.late ?? (() => undefined),
  );
const phase = (): Promise<string> =>
  branch('phase', async () => {
    await repo.write('a.txt', text({ 8: 'theirs\n' }));
    await repo.write('new/b.txt', 'b\n');
    await repo.write('run.sh', '#!/bin/sh\n', 0o644);
    await chmod(join(repo.dir, 'run.sh'), 0o644);
    await repo.git('rm', '-q', 'gone.txt');
  });

describe('two sides that go together', () => {
  test('a merge commit with both parents; files, modes, deletions; status clean; the lock ends', async () => {
    const theirs = await phase();
    await repo.write('a.txt', text({ 2: 'ours\n' }));
    const ours = await repo.commitAll('ours');
    const outcome = await merge(theirs);
    expect(outcome).toEqual({ outcome: 'merged', commit: expect.any(String), parent: ours });
    expect(
      await repo.line('log', '-1', '--format=%P|%s|%(trailers:key=Emend-Step,valueonly)'),
    ).toBe(`${ours} ${theirs}|Merge phase 2: Core|${KEY}`);
    expect(await repo.read('a.txt')).toBe(text({ 2: 'ours\n', 8: 'theirs\n' }));
    expect(await repo.read('new/b.txt')).toBe('b\n');
    expect(await repo.line('ls-files', '-s', 'run.sh', 'gone.txt')).toMatch(/^100644 .*run\.sh$/);
    expect(await repo.status()).toBe('');
    expect(await engine.readLock(repo.dir)).toBeNull();
  });

  longOnly('a retry after the branch was moved finds the commit, too')(
    'again: the same commit is told, nothing is done twice',
    async () => {
      const theirs = await phase();
      const first = await merge(theirs);
      expect(first).toMatchObject({ outcome: 'merged' });
      const head = await repo.line('rev-parse', 'HEAD');
      expect(await merge(theirs)).toEqual(first);
      expect(await repo.line('rev-parse', 'HEAD')).toBe(head);
      expect(await merge(theirs, { stepKey: `f${KEY.slice(1)}` })).toEqual({ outcome: 'nothing' });
    },
  );

  test("a person's changes to other files, staged or not, stay", async () => {
    const theirs = await phase();
    await repo.write('mine.txt', 'mine\n');
    await repo.write('staged.txt', 'staged\n');
    await repo.git('add', 'staged.txt');
    expect(await merge(theirs)).toMatchObject({ outcome: 'merged' });
    expect(await repo.status()).toBe('A  staged.txt\n?? mine.txt\n');
  });

  test('line endings of a checkout (eol=crlf) are those of the merged files, and the tree is what git would make', async () => {
    await repo.write('.gitattributes', '*.txt text eol=crlf\n');
    await repo.commitAll('attributes');
    await repo.git('rm', '-q', '--cached', '-r', '.');
    await repo.git('reset', '-q', '--hard');
    const theirs = await branch('phase', () =>
      repo.write('a.txt', text({ 8: 'theirs\n' }).replaceAll('\n', '\r\n')),
    );
    expect(await merge(theirs)).toMatchObject({ outcome: 'merged' });
    expect(await repo.read('a.txt')).toBe(text({ 8: 'theirs\n' }).replaceAll('\n', '\r\n'));
    expect(await repo.git('show', 'HEAD:a.txt')).toBe(text({ 8: 'theirs\n' }));
    expect(await repo.status()).toBe('');
  });

  longOnly('the first merge looks at modes, too')(
    'umask bits of files on disk are kept',
    async () => {
      const theirs = await phase();
      await chmod(join(repo.dir, 'a.txt'), 0o660);
      expect(await merge(theirs)).toMatchObject({ outcome: 'merged' });
      expect(await repo.status()).toBe('');
    },
  );
});

describe('what stands against it', () => {
  test('the same lines: both sides and the base are told; nothing moves, nothing is written', async () => {
    const theirs = await branch('phase', () => repo.write('a.txt', text({ 3: 'theirs\n' })));
    await repo.write('a.txt', text({ 3: 'ours\n' }));
    const ours = await repo.commitAll('ours');
    const outcome = await merge(theirs);
    if (outcome.outcome !== 'conflict') throw new Error(JSON.stringify(outcome));
    expect(outcome.ours).toBe(ours);
    const [file, ...others] = outcome.files;
    expect(others).toEqual([]);
    expect(file).toMatchObject({ path: 'a.txt', why: expect.stringContaining('CONFLICT') });
    expect(await repo.line('rev-parse', 'HEAD')).toBe(ours);
    expect(await repo.status()).toBe('');
    expect(await engine.readLock(repo.dir)).toBeNull();
  });

  longOnly('the same lines show what a conflict says')('deleted here, changed there', async () => {
    const theirs = await branch('phase', () => repo.write('gone.txt', 'changed\n'));
    await repo.git('rm', '-q', 'gone.txt');
    await repo.commitAll('ours');
    expect(await merge(theirs)).toMatchObject({
      outcome: 'conflict',
      files: [{ path: 'gone.txt', why: expect.stringContaining('modify/delete') }],
    });
  });

  test('a file that a person has not committed: named, and nothing of the merge is there', async () => {
    const theirs = await phase();
    const head = await repo.line('rev-parse', 'HEAD');
    await repo.write('a.txt', text({ 1: 'unsaved work\n' }));
    expect(await merge(theirs)).toMatchObject({ outcome: 'dirty', files: [{ path: 'a.txt' }] });
    expect(await repo.line('rev-parse', 'HEAD')).toBe(head);
    expect(await repo.status()).toBe(' M a.txt\n');
    expect(await engine.readLock(repo.dir)).toBeNull();
  });

  longOnly('a file that is not committed shows that nothing is overwritten')(
    'an untracked file in the place of a new one',
    async () => {
      const theirs = await phase();
      await repo.write('new/b.txt', 'a person was here first\n');
      expect(await merge(theirs)).toMatchObject({
        outcome: 'dirty',
        files: [{ path: 'new/b.txt' }],
      });
      expect(await repo.read('new/b.txt')).toBe('a person was here first\n');
    },
  );

  longOnly('apply/engine.test.ts shows that a held workspace is left alone')(
    'a workspace that a step holds is not merged into',
    async () => {
      const theirs = await phase();
      await engine.acquireLock(repo.dir, `0${KEY.slice(1)}`, {
        workflowId: 'w',
        namespace: 'default',
      });
      expect(await merge(theirs)).toMatchObject({ outcome: 'busy' });
    },
  );

  test('another branch is checked out than the phase began on: refused, and merged once that is back', async () => {
    await repo.git('checkout', '-q', '-b', 'feature');
    await repo.write('feature.txt', 'not reviewed\n');
    const base = await repo.commitAll('feature');
    await repo.git('checkout', '-q', '-b', 'phase');
    await repo.write('new.txt', 'n\n');
    const theirs = await repo.commitAll('on phase');
    await repo.git('checkout', '-q', 'main');
    const before = await repo.git('rev-parse', 'HEAD');
    const refused = await merge(theirs, { base });
    expect(refused).toMatchObject({
      outcome: 'failed',
      problem: { message: expect.stringContaining(base.slice(0, 12)) },
    });
    expect(await repo.git('rev-parse', 'HEAD')).toBe(before);
    await repo.git('checkout', '-q', 'feature');
    expect(await merge(theirs, { base })).toMatchObject({ outcome: 'merged', parent: base });
  });

  test('the branch was rewritten meanwhile: the command that the refusal names makes a retry merge into it', async () => {
    await repo.write('mine.txt', 'mine\n');
    const base = await repo.commitAll('mine');
    const theirs = await phase();
    await repo.write('a.txt', text({ 2: 'reworded\n' }));
    await repo.git('commit', '-qa', '--amend', '-m', 'reworded');
    const refused = await merge(theirs, { base });
    const [command = ''] = /git merge -s ours [\da-f]+/.exec(JSON.stringify(refused)) ?? [];
    await repo.git(...command.split(' ').slice(1));
    expect(await merge(theirs, { base })).toMatchObject({ outcome: 'merged' });
    expect(await repo.read('a.txt')).toBe(text({ 2: 'reworded\n', 8: 'theirs\n' }));
    expect(await repo.git('log', '--format=%s')).toContain('reworded');
  });

  test('an old git is told so', () => {
    expect(() => {
      checkMergeable('git version 2.37.9');
    }).toThrow(/git 2\.38 or later to be merged; this is git version 2\.37\.9/);
    checkMergeable('git version 2.38.0');
    checkMergeable('git version 3.0.1 (Apple Git-1)');
  });
});

describe('an attempt that dies', () => {
  /** Throws when the engine's apply has come to its end: files written, branch not moved. */
  const dying = (): ApplyEngine => ({
    ...engine,
    apply: async (...args) => {
      await engine.apply(...args);
      throw new Error('killed');
    },
  });

  longOnly('an attempt that stood still shows that the next goes on')(
    'after the files were written: the next makes the commit',
    async () => {
      const theirs = await phase();
      const before = await repo.line('rev-parse', 'HEAD');
      await expect(merge(theirs, { parts: { engine: dying() } })).rejects.toThrow('killed');
      expect(await repo.read('a.txt')).toBe(text({ 8: 'theirs\n' }));
      expect(await repo.line('rev-parse', 'HEAD')).toBe(before);
      expect(await merge(theirs)).toMatchObject({ outcome: 'merged', parent: before });
      expect(await repo.status()).toBe('');
    },
  );

  test('after the branch was moved: the next finds the commit and brings the index after it', async () => {
    const theirs = await phase();
    const stopped: ApplyEngine = {
      ...engine,
      releaseLock: () => Promise.reject(new Error('killed')),
    };
    await expect(merge(theirs, { parts: { engine: stopped } })).rejects.toThrow('killed');
    const head = await repo.line('rev-parse', 'HEAD');
    expect(await merge(theirs)).toMatchObject({ outcome: 'merged', commit: head });
    expect(await repo.status()).toBe('');
    expect(await engine.readLock(repo.dir)).toBeNull();
  });

  test('and a person committed meanwhile: what was written is put back, their commit stands', async () => {
    const theirs = await phase();
    await expect(merge(theirs, { parts: { engine: dying() } })).rejects.toThrow('killed');
    await writeFile(join(repo.dir, 'person.txt'), 'p\n');
    await repo.git('add', 'person.txt');
    await repo.git('commit', '-q', '-m', 'a person', 'person.txt');
    const head = await repo.line('rev-parse', 'HEAD');
    expect(await merge(theirs)).toMatchObject({
      outcome: 'moved',
      why: expect.stringContaining('HEAD was'),
    });
    expect(await repo.line('rev-parse', 'HEAD')).toBe(head);
    expect(await repo.status()).toBe('');
    expect(await merge(theirs, { stepKey: `f${KEY.slice(1)}` })).toMatchObject({
      outcome: 'merged',
      parent: head,
    });
  });
});

test('an attempt that stood still, wherever it did, fails to be tried again; the next one merges once', async () => {
  const base = await repo.line('rev-parse', 'HEAD');
  const theirs = await phase();
  const attempt = (assertCurrent: () => void) =>
    mergePhase(
      workspacePorts(home, blobs) as ActivityPorts,
      {
        stepKey: KEY,
        log: [],
        workspace: repo.dir,
        planPath: 'plans/010_demo',
        run: 1,
        commit: theirs,
        base,
        workflowId: 'emend-plan-x',
        namespace: 'default',
        phase: { id: 'p2', number: 2, name: 'Core' },
      },
      { signal: new AbortController().signal, assertCurrent, owner: undefined as never },
    );
  let stood = 0;
  for (let at = 1; ; at++) {
    let checks = 0;
    const outcome = await attempt(() => {
      if (++checks === at)
        fail('busy', 'This attempt was suspended for 4000 ms: another may have replaced it.');
    }).catch((error: unknown) => error);
    if (checks < at) {
      expect(outcome).toMatchObject({ outcome: 'merged' });
      break;
    }
    stood += 1;
    expect(outcome).toMatchObject({ problem: { code: 'busy' } });
  }
  expect(stood).toBeGreaterThan(2);
  expect((await repo.line('rev-list', '--merges', '--count', 'HEAD')).trim()).toBe('1');
  expect(await repo.line('status', '--porcelain')).toBe('');
  expect(await engine.readLock(repo.dir)).toBeNull();
});

longOnly('the one before shows attempts that stood still')(
  'an attempt that stood still while another merged, and takes the lock when all is over, gives it back',
  async () => {
    const theirs = await phase();
    expect(await merge(theirs)).toMatchObject({ outcome: 'merged' });
    // Before it takes the lock, and while it does. Later the next attempt would find it held, and end it.
    for (const at of [1, 2]) {
      let checks = 0;
      const late = () => {
        if (++checks >= at)
          fail('busy', 'This attempt was suspended for 4000 ms: another may have replaced it.');
      };
      expect(await merge(theirs, { late })).toMatchObject({
        outcome: 'failed',
        problem: { code: 'busy' },
      });
      expect({ at, checks, lock: await engine.readLock(repo.dir) }).toEqual({
        at,
        checks: at,
        lock: null,
      });
    }
  },
);
