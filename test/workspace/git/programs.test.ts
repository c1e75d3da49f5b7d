/**
 * Programs that git's configuration names and a model may write (rows C1 to C15 of the adversary's report). In each row a program in the
 * workspace leaves a mark; no call that a run makes of git may leave it.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import {
  appendFile,
  chmod,
  cp,
  link,
  mkdir,
  mkdtemp,
  realpath,
  rm,
  symlink,
  writeFile,
} from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { sampled } from '../../support/seeded.js';
import { createCommitter } from '../../../src/workspace/git/commit.js';
import { blobId, dirtyPaths } from '../../../src/workspace/git/entries.js';
import { git } from '../../../src/workspace/git/git.js';
import { mergeTrees } from '../../../src/workspace/git/merge-tree.js';
import { describeIf, testIf } from '../../support/skipped.js';
import { transpile } from '../../support/transpile.js';
import { ordinaryUser, whyNoOrdinaryUser } from '../../support/users.js';
import { Blobs, hookPorts, isolateGit, Repo, requestFor } from '../git-fixture.js';
import { commitChange, readMissing, wholeRun } from './whole-run.js';
import type { WholeRunSeen } from './whole-run-child.js';

isolateGit();
const before = { ...process.env };
let repo: Repo;
/** A directory outside the workspace. */
let outside: string;
let blobs: Blobs;

/** A remote that wants a password. */
const server = createServer((_, response) => {
  response.writeHead(401, { 'www-authenticate': 'Basic realm="x"' }).end();
});
beforeAll(() => new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve)));
afterAll(() => void server.close());

/** What each row gets a copy of: git's processes take longer. */
let template: string;
beforeAll(async () => {
  template = await mkdtemp(join(tmpdir(), 'emend-programs-template-'));
  await mkdir(join(template, 'ws'));
  const base = await Repo.make({ dir: join(template, 'ws') });
  await base.write('.gitattributes', '*.x filter=f\n*.m merge=m\n*.d diff=d\n');
  await base.write('a.x', 'one\n');
  await base.write('b.x', 'one\n');
  await base.write('c.m', 'one\n');
  await base.write('e.d', '- `npm test`\n');
  await base.commitAll();
  await base.git('checkout', '-q', '-b', 'other');
  await base.write('c.m', 'theirs\n');
  await base.commitAll();
  await base.git('checkout', '-q', 'main');
  await base.write('c.m', 'ours\n');
  await base.commitAll();
  await base.git('init', '-q', '--bare', join(template, 'origin.git'));
});
afterAll(() => rm(template, { recursive: true, force: true }));

beforeEach(async () => {
  outside = await realpath(await mkdtemp(join(tmpdir(), 'emend-programs-')));
  await cp(template, outside, { recursive: true });
  repo = new Repo(join(outside, 'ws'));
  blobs = new Blobs();
  await append(`[remote "origin"]\n\turl = ${join(outside, 'origin.git')}\n`);
  await append('\tfetch = +refs/heads/*:refs/remotes/origin/*\n');
});
afterEach(async () => {
  for (const name of ['HOME', 'GIT_CONFIG_GLOBAL', 'PATH', 'GIT_SSH_COMMAND'])
    if (before[name] === undefined) Reflect.deleteProperty(process.env, name);
    else process.env[name] = before[name];
  process.env.GIT_CONFIG_GLOBAL = '/dev/null';
  await rm(outside, { recursive: true, force: true });
});

const mark = (): string => join(outside, 'ran');
const marked = (): boolean => existsSync(mark());
const script = (then = 'cat'): string => `#!/bin/sh\ntouch "${mark()}"\n${then}\n`;
/** A program of the workspace, as a model would write it. */
const program = (then = 'cat'): Promise<void> => repo.write('tools/clean', script(then), 0o755);
const append = (text: string, file = 'config'): Promise<void> =>
  appendFile(join(repo.dir, '.git', file), text);
const filter = (value: string): Promise<string> => repo.git('config', 'filter.f.clean', value);

const commit = () => commitChange(repo, outside);

type Row = readonly [name: string, prepare: () => Promise<unknown>, later?: () => Promise<unknown>];
const ROWS: readonly Row[] = [
  [
    'C1: a filter in config.worktree',
    async () => {
      await program();
      await repo.git('config', 'extensions.worktreeConfig', 'true');
      await repo.git('config', '--worktree', 'filter.f.clean', 'sh ./tools/clean');
    },
  ],
  ['C2: `cd tools && sh ./clean`', async () => (await program(), filter('cd tools && sh ./clean'))],
  ['C3: `sh ${PWD}/tools/clean`', async () => (await program(), filter('sh ${PWD}/tools/clean'))],
  [
    'C4: escaped quotes',
    async () => (await program(), append('[filter "f"]\n\tclean = "sh \\"./tools/clean\\""\n')),
  ],
  [
    'C5: an included file of the workspace',
    async () => {
      await program();
      process.env.HOME = outside;
      await repo.write('conf/git', `[filter "f"]\n\tclean = sh ./tools/clean\n`);
      await repo.git('config', 'include.path', '~/ws/conf/git');
    },
  ],
  [
    'C6: an included file that is made later',
    () => repo.git('config', 'include.path', join(repo.dir, 'conf/git')),
    async () => {
      await program();
      await repo.write('conf/git', `[filter "f"]\n\tclean = "touch '${mark()}'; cat"\n`);
    },
  ],
  ['C7: a program that is built later', () => filter('tools/clean'), () => program()],
  [
    "C8: the user's configuration includes a file of the workspace",
    async () => {
      const text = `[filter "f"]\n\tclean = "touch '${mark()}'; cat"\n`;
      await repo.write('gitconfig', text);
      await writeFile(join(outside, 'global'), `[include]\n\tpath = ${repo.dir}/gitconfig\n`);
      process.env.GIT_CONFIG_GLOBAL = join(outside, 'global');
    },
  ],
  [
    'C9: a link outside to a program of the workspace',
    async () => {
      await program();
      await symlink(join(repo.dir, 'tools/clean'), join(outside, 'clean'));
      await filter(join(outside, 'clean'));
    },
  ],
  [
    'C9: a link in the workspace is replaced',
    async () => {
      await mkdir(join(repo.dir, 'tools'));
      await symlink('/bin/cat', join(repo.dir, 'tools/clean'));
      await filter(join(repo.dir, 'tools/clean'));
    },
    async () => {
      await rm(join(repo.dir, 'tools/clean'));
      await program();
    },
  ],
  [
    '53: a hard link outside to a program of the workspace',
    async () => {
      await program();
      await link(join(repo.dir, 'tools/clean'), join(outside, 'clean'));
      await filter(join(outside, 'clean'));
    },
  ],
  [
    '53: a file of settings outside that is a hard link to one of the workspace',
    async () => {
      await repo.write('conf', `[filter "f"]\n\tclean = "touch '${mark()}'; cat"\n`);
      await link(join(repo.dir, 'conf'), join(outside, 'conf'));
      await repo.git('config', 'include.path', join(outside, 'conf'));
    },
  ],
  [
    'C10: a continued line',
    async () => (await program(), append('[filter "f"]\n\tclean = \\\n  sh \\\n  ./tools/clean\n')),
  ],
  [
    'C10: a bracket in the name, on one line',
    async () => {
      await program();
      await append('[filter "x]y"] clean = sh ./tools/clean\n');
      await append('*.x filter=x]y\n', 'info/attributes');
    },
  ],
  [
    'C11: `python3 -m tools.x`',
    async () => {
      const text = `import sys\nopen(${JSON.stringify(mark())}, 'w')\nsys.stdout.write(sys.stdin.read())\n`;
      await repo.write('tools/x.py', text);
      await filter('python3 -m tools.x');
    },
  ],
  [
    'C11: `node ./tools/x`',
    async () => {
      await repo.write('tools/x', `require('fs').writeFileSync(${JSON.stringify(mark())}, '')`);
      await filter('node ./tools/x');
    },
  ],
  [
    'C11: `make -s`',
    async () => {
      await repo.write('Makefile', `all:\n\t@touch "${mark()}"; cat\n`);
      await filter('make -s');
    },
  ],
  [
    'C11: `npm run -s`',
    async () => {
      const scripts = { clean: `touch ${mark()}; cat` };
      await repo.write('package.json', JSON.stringify({ scripts }));
      await filter('npm run -s clean');
    },
  ],
  [
    'C12: a textconv, for the history of a command',
    async () => (await program(), repo.git('config', 'diff.d.textconv', './tools/clean')),
  ],
  [
    'C14: gpg.ssh.defaultKeyCommand',
    async () => {
      await program();
      await repo.git('config', 'gpg.format', 'ssh');
      await repo.git('config', 'gpg.ssh.defaultKeyCommand', './tools/clean');
    },
  ],
  [
    'C14: gpg.program',
    async () => (await program(), repo.git('config', 'gpg.program', './tools/clean')),
  ],
  [
    'C15: core.sshCommand at a push',
    async () => {
      await program('exit 1');
      await repo.git('remote', 'set-url', 'origin', 'ssh://host.invalid/x');
      await repo.git('config', 'core.sshCommand', './tools/clean');
    },
  ],
  [
    'C15: GIT_SSH_COMMAND at a push',
    async () => {
      await program('exit 1');
      await repo.git('remote', 'set-url', 'origin', 'ssh://host.invalid/x');
      process.env.GIT_SSH_COMMAND = './tools/clean';
    },
  ],
  [
    'C15: remote.origin.uploadpack and receivepack',
    async () => {
      await program('exit 1');
      for (const name of ['uploadpack', 'receivepack'])
        await repo.git('config', `remote.origin.${name}`, `${repo.dir}/tools/clean`);
    },
  ],
  [
    'C15: a credential helper',
    async () => {
      await program('exit 1');
      const { port } = server.address() as AddressInfo;
      await repo.git('remote', 'set-url', 'origin', `http://127.0.0.1:${port}/x`);
      await repo.git('config', 'credential.helper', `!${repo.dir}/tools/clean`);
    },
  ],
  [
    'a merge driver',
    async () => (await program(), repo.git('config', 'merge.m.driver', 'sh ./tools/clean %A')),
  ],
  [
    'a process',
    async () => (await program(), repo.git('config', 'filter.f.process', './tools/clean')),
  ],
  [
    'a smudge filter',
    async () => (await program(), repo.git('config', 'filter.f.smudge', `${repo.dir}/tools/clean`)),
  ],
];

test.each(sampled('programs of git', ROWS, 6))(
  '%s is not run',
  async (...[, prepare, later]) => {
    await prepare();
    await wholeRun(repo, outside);
    await later?.();
    await wholeRun(repo, outside);
    expect(marked()).toBe(false);
  },
  30_000,
);

type Remote = readonly [name: string, url: string, settings: Record<string, string>];
/** C13: programs that git would start for an object that a partial clone lacks. */
const REMOTES: readonly Remote[] = [
  ['core.sshCommand', 'ssh://host.invalid/x', { 'core.sshCommand': './tools/clean' }],
  ['core.gitProxy', 'git://host.invalid/x', { 'core.gitProxy': './tools/clean' }],
  ['remote.origin.uploadpack', 'ORIGIN', { 'remote.origin.uploadpack': './tools/clean' }],
  ['ext::', 'ext::./tools/clean', { 'protocol.ext.allow': 'always' }],
  [
    'remote.origin.vcs',
    './tools/clean',
    { 'remote.origin.vcs': 'ext', 'protocol.ext.allow': 'always' },
  ],
];

/** Makes the repository a partial clone that lacks the object of gone.d, and returns the object's id. */
async function makePartialClone([, url, settings]: Remote): Promise<string> {
  await program('exit 1');
  await repo.git('config', 'extensions.partialClone', 'origin');
  await repo.git('config', 'remote.origin.promisor', 'true');
  const remote = url === 'ORIGIN' ? join(outside, 'origin.git') : url;
  await repo.git('remote', 'set-url', 'origin', remote);
  for (const [key, value] of Object.entries(settings)) await repo.git('config', key, value);
  await repo.write('gone.d', '- `npm test`\n');
  await repo.commitAll();
  const id = await repo.line('rev-parse', 'HEAD:gone.d');
  await rm(join(repo.dir, '.git/objects', id.slice(0, 2), id.slice(2)), { force: true });
  return id;
}

describe('C13: an object that a partial clone lacks', () => {
  test.each(sampled('programs of a partial clone', REMOTES, 2))(
    '%s is not run',
    async (...remote) => {
      const id = await makePartialClone(remote);
      await readMissing(repo, id);
      await wholeRun(repo, outside);
      expect(marked()).toBe(false);
    },
  );
});

describeIf(ordinaryUser !== null, whyNoOrdinaryUser)('as an ordinary user', () => {
  const user = ordinaryUser;
  let child: ReturnType<typeof transpile>;
  beforeAll(() => {
    child = transpile('whole-run', 'test/workspace/git/whole-run-child.ts');
  });
  afterAll(() => child.remove());
  const wholeRunAs = (...missing: readonly string[]): WholeRunSeen => {
    execFileSync('chown', ['-R', '-h', `${user?.uid}:${user?.uid}`, outside]);
    const [file = '', ...args] = [
      ...(user?.as ?? []),
      process.execPath,
      child.path,
      repo.dir,
      outside,
      ...missing,
    ];
    const env = { ...process.env, HOME: process.env.HOME === outside ? outside : '/nonexistent' };
    const output = execFileSync(file, args, { cwd: repo.dir, encoding: 'utf8', env });
    return JSON.parse(output) as WholeRunSeen;
  };

  test.each(sampled('programs of git as an ordinary user', ROWS, 4))(
    '%s is not run',
    async (...[, prepare, later]) => {
      await prepare();
      expect(wholeRunAs().uid).toBe(user?.uid);
      await later?.();
      wholeRunAs();
      expect(marked()).toBe(false);
    },
    30_000,
  );

  test.each(sampled('programs of a partial clone as an ordinary user', REMOTES, 1))(
    'C13: for an object that a partial clone lacks, %s is not run',
    async (...remote) => {
      const id = await makePartialClone(remote);
      expect(wholeRunAs(id).uid).toBe(user?.uid);
      expect(marked()).toBe(false);
    },
    30_000,
  );

  test('a filter outside every workspace is run, and the commit is made', async () => {
    await writeFile(join(outside, 'clean'), script(), { mode: 0o755 });
    await filter(join(outside, 'clean'));
    expect(wholeRunAs()).toEqual({ uid: user?.uid, outcome: 'committed' });
    expect(marked()).toBe(true);
  });
});

describe('the problem', () => {
  test('names key, file, line, reason and what to type; a commit is refused and nothing is lost', async () => {
    await program();
    await filter('cd tools && sh ./clean');
    const file = join(repo.dir, '.git/config');
    const line =
      readFileSync(file, 'utf8')
        .split('\n')
        .findIndex((text) => text.includes('clean =')) + 1;
    const { head } = await repo.head();
    expect(await commit()).toEqual({
      outcome: 'failed',
      problem: {
        code: 'git_program',
        message: expect.stringMatching(
          new RegExp(
            `needs filter\\.f\\.clean \\(${file}:${line}\\), which is .cd tools && sh \\./clean.`,
          ),
        ),
        next: expect.stringContaining(
          `git -C '${repo.dir}' config 'filter.f.clean' '/ABSOLUTE/PATH`,
        ),
      },
    });
    expect(await repo.head()).toMatchObject({ head });
  });

  test('a filter of files that the run does not change is no problem', async () => {
    await program();
    await filter('./tools/clean');
    await repo.write('plain.txt', 'one\n');
    await repo.write('b.x', 'changed by the user\n');
    const request = await requestFor(repo, [blobs.file('plain.txt', null, 'one\n')]);
    const ended = await createCommitter({ ...hookPorts(outside), blobs })(request);
    expect(ended).toMatchObject({ outcome: 'committed' });
    expect(marked()).toBe(false);
  });

  test('a push says which setting keeps it from the remote', async () => {
    await repo.git('config', 'remote.origin.receivepack', './tools/clean');
    expect(await git(['push', 'origin', 'main'], { cwd: repo.dir })).toMatchObject({
      ok: false,
      problem: {
        code: 'git_program',
        message: expect.stringContaining('remote.origin.receivepack'),
      },
    });
  });

  test('a fetch, after which git may remove old objects, is refused for gc.recentObjectsHook', async () => {
    for (const value of ['./tools/clean', 'cat'])
      await repo.git('config', '--add', 'gc.recentObjectsHook', value);
    expect(await git(['fetch', 'origin'], { cwd: repo.dir })).toMatchObject({
      ok: false,
      problem: { code: 'git_program', message: expect.stringContaining('gc.recentobjectshook') },
    });
  });

  test('a setting is looked at again when its file has changed', async () => {
    const stored = () => blobId(repo.dir, Buffer.from('x\n'), 'a.x', false);
    const id = await stored();
    await program();
    await filter('./tools/clean');
    await expect(stored()).rejects.toThrow('filter.f.clean');
    await repo.git('config', '--unset', 'filter.f.clean');
    expect(await stored()).toBe(id);
  });

  test('a file whose filter is not run counts as changed, if its bytes are not the stored ones', async () => {
    await filter('./tools/clean');
    await repo.write('a.x', 'ONE\n');
    expect(await dirtyPaths(repo.dir, ['a.x', 'b.x'])).toEqual([{ path: 'a.x', state: 'changed' }]);
  });
});

describe('what works as before', () => {
  /** A program outside every workspace, also on PATH. */
  const own = async (name: string, text = script()): Promise<string> => {
    const path = join(outside, 'bin', name);
    await mkdir(join(outside, 'bin'), { recursive: true });
    await writeFile(path, text);
    await chmod(path, 0o755);
    process.env.PATH = `${join(outside, 'bin')}:${before.PATH ?? ''}`;
    return path;
  };
  const committed = async (value: string): Promise<void> => {
    await filter(value);
    expect(await commit()).toMatchObject({ outcome: 'committed' });
    expect(marked()).toBe(true);
  };
  test('an absolute path', async () => committed(await own('my-clean')));
  test('a name on PATH', async () => {
    await own('nbstripout');
    await committed('nbstripout');
  });
  test('git-lfs, with its three filters', async () => {
    await own('git-lfs');
    await repo.git('config', 'filter.f.required', 'true');
    await repo.git('config', 'filter.f.smudge', 'git-lfs smudge -- %f');
    await committed('git-lfs clean -- %f');
  });
  test('git-crypt, as it writes its settings', async () => {
    await own('git-crypt');
    await committed('"git-crypt" clean --key-name=a');
  });
  test('jq, with a program', async () => {
    await own('jq');
    await committed(`jq --indent 1 '(.cells[] | select(has("outputs"))) |= .'`);
  });
  test('a helper that is a function reaches a remote over a path', async () => {
    await repo.git('config', 'credential.helper', '!f() { echo "password=$TOKEN"; }; f');
    await repo.git('config', 'core.sshCommand', 'ssh -i ~/.ssh/id -o IdentitiesOnly=yes');
    for (const args of [
      ['push', 'origin', 'main'],
      ['fetch', 'origin'],
      ['ls-remote', 'origin'],
    ])
      expect(await git(args, { cwd: repo.dir })).toMatchObject({ ok: true });
  });
  test('an ssh command outside the workspace is run at a push', async () => {
    await repo.git('config', 'core.sshCommand', await own('my-ssh', script('exit 1')));
    await repo.git('remote', 'set-url', 'origin', 'ssh://host.invalid/x');
    await git(['push', 'origin', 'main'], { cwd: repo.dir });
    expect(marked()).toBe(true);
  });
  test('a merge driver that keeps ours', async () => {
    await repo.git('config', 'merge.m.driver', 'true');
    expect(await mergeTrees(repo.dir, 'main', 'other')).toMatchObject({ outcome: 'clean' });
  });
});

const LFS = spawnSync('git', ['lfs', 'version']).status === 0;
testIf(LFS, 'git-lfs is not installed')(
  'the real git-lfs stores a pointer, with its usual settings of the user',
  async () => {
    const text = [
      ...['[user]', 'name = Ada', 'email = ada@example.org', '[filter "lfs"]', 'required = true'],
      ...[
        'clean = git-lfs clean -- %f',
        'smudge = git-lfs smudge -- %f',
        'process = git-lfs filter-process',
      ],
    ];
    await writeFile(join(outside, 'global'), `${text.join('\n')}\n`);
    process.env.GIT_CONFIG_GLOBAL = join(outside, 'global');
    process.env.HOME = outside;
    await repo.write('.gitattributes', '*.x filter=lfs diff=lfs merge=lfs -text\n');
    // Git filters a file again that has not changed only if it is told to, or wrote its index in the same moment.
    await repo.git('add', '--renormalize', '.');
    await repo.commitAll();
    expect(await commit()).toMatchObject({ outcome: 'committed' });
    expect(await repo.git('show', 'HEAD:a.x')).toMatch(/^version https:\/\/git-lfs/);
    const smudged = await git(['cat-file', '--filters', 'HEAD:a.x'], { cwd: repo.dir });
    expect(smudged).toMatchObject({ ok: true, value: { text: expect.stringMatching(/^changed/) } });
  },
);

test('git is asked for its settings once for a state of its files', async () => {
  const counter = join(outside, 'calls');
  await mkdir(join(outside, 'bin'));
  const real = execFileSync('/bin/sh', ['-c', 'command -v git'], { encoding: 'utf8' }).trim();
  await writeFile(
    join(outside, 'bin/git'),
    `#!/bin/sh\ncase "$*" in *--show-origin*) echo x >> '${counter}';; esac\nexec ${real} "$@"\n`,
    { mode: 0o755 },
  );
  process.env.PATH = `${join(outside, 'bin')}:${before.PATH ?? ''}`;
  const callCount = (): number => readFileSync(counter, 'utf8').length / 2;
  // A file that was just written is read again.
  await new Promise((resolve) => setTimeout(resolve, 50));
  for (let calls = 0; calls < 5; calls += 1) await dirtyPaths(repo.dir, ['a.x']);
  expect(callCount()).toBe(1);
  await repo.git('config', 'some.thing', '1');
  await new Promise((resolve) => setTimeout(resolve, 50));
  for (let calls = 0; calls < 5; calls += 1) await dirtyPaths(repo.dir, ['a.x']);
  expect(callCount()).toBe(2);
});
