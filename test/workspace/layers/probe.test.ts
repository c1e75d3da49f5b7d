/**
 * Why there can be no overlay over a workspace: each reason is made for real, by mounts in a namespace of the test's own, and reported by a
 * process that runs there.
 */
import { execFile } from 'node:child_process';
import { chmod, mkdir, mkdtemp, rm } from 'node:fs/promises';
import { promisify } from 'node:util';
import {
  afterAll,
  afterEach,
  beforeAll,
  beforeEach,
  describe,
  expect,
  jest,
  test,
} from '@jest/globals';
import { shellWord } from '../../../src/shared/text.js';
import { createProbe } from '../../../src/workspace/layers/probe.js';
import { boxUsers, endBoxUsers, found, whyNone } from '../../support/box-users.js';
import { ordinaryUser, whyNoOrdinaryUser } from '../../support/users.js';
import { sampled } from '../../support/seeded.js';
import { describeIf, testIf } from '../../support/skipped.js';
import { transpile } from '../../support/transpile.js';

const exec = promisify(execFile);
const isRoot = process.getuid?.() === 0;
const users = await boxUsers();

let child: ReturnType<typeof transpile>;
let dir: string;
let home: string;
let workspace: string;
beforeAll(() => {
  child = transpile('probe', 'test/workspace/layers/probe-child.ts');
});
afterAll(async () => {
  child.remove();
  await endBoxUsers();
});
beforeEach(async () => {
  // Not in TMPDIR: another user must be able to go there.
  dir = await mkdtemp('/tmp/emend-probe-');
  home = `${dir}/home`;
  workspace = `${dir}/workspace`;
  for (const path of [home, workspace, `${workspace}/src`]) await mkdir(path, { recursive: true });
  await chmod(dir, 0o755);
});
afterEach(() => rm(dir, { recursive: true, force: true }));

type User = (typeof users)[number];
interface Question {
  readonly user?: User | undefined;
  /** Shell commands before the process begins. */
  readonly before?: string;
  /** Shell commands of that process between its two questions. */
  readonly between?: string;
  readonly groups?: string;
}

/** Returns the answers of one process in a mount namespace of its own, in which the tree belongs to its user. */
const answers = async ({ user = users[0], before = ':', between, groups }: Question) => {
  if (user === undefined) throw new Error('there is no user');
  const as = groups === undefined ? user.as : user.as.with(3, `--groups=${groups}`);
  const argv = [...as, process.execPath, child.path, home, workspace].map(shellWord).join(' ');
  const input = between === undefined ? 'echo :' : `printf ':\\n%s\\n' ${shellWord(between)}`;
  const script = [
    `cd ${dir}`,
    ...(isRoot ? [`chown -R ${user.uid}:${user.uid} home workspace`] : []),
    before,
    `${input} | ${argv}`,
  ].join('\n');
  const shell = ['sh', '-ec', script];
  const [file = '', ...args] = isRoot ? ['unshare', '-m', ...shell] : shell;
  const { stdout } = await exec(file, args, {
    env: { ...process.env, NODE_OPTIONS: '', EMEND_BWRAP: user.ownBubblewrap },
  });
  return stdout
    .trim()
    .split('\n')
    .map((line): unknown => JSON.parse(line));
};
const answer = async (question: Question = {}) => (await answers(question))[0];

test('reports the reason of a runner that has no sandbox', async () => {
  const [user] = users;
  const nobody = { name: '', uid: process.getuid?.() ?? 0, bubblewrap: '', as: [] };
  const program = `${dir}/bwrap`;
  expect(await answer({ user: { ...(user ?? nobody), ownBubblewrap: program } })).toBe(
    `${program} does not exist`,
  );
});

describeIf(found.works, whyNone)('a sandbox that works', () => {
  test.each(users)('finds nothing wrong with an ordinary workspace, as $name', async (user) => {
    expect(await answer({ user })).toBeNull();
  });

  test('reports that user namespaces are forbidden', async () => {
    const [user] = users;
    if (user === undefined) throw new Error('there is no user');
    const forbid = 'echo 0 >/proc/sys/user/max_user_namespaces; exec "$@"';
    expect(
      await answer({ user: { ...user, as: ['unshare', '-Ur', 'sh', '-c', forbid, 'sh'] } }),
    ).toBe(
      `${user.ownBubblewrap} does not work here: bwrap: Creating new namespace failed: nesting depth or /proc/sys/user/max_*_namespaces exceeded (ENOSPC)`,
    );
  });

  test('names layers inside the workspace', async () => {
    home = `${workspace}/.emend`;
    await mkdir(home);
    expect(await answer()).toBe(
      `the layers of commands (${home}/layers) are inside the workspace ${workspace}: set EMEND_HOME to a directory outside of the workspace`,
    );
  });

  test('names a workspace inside the layers', async () => {
    workspace = `${home}/layers/workspace`;
    await mkdir(workspace, { recursive: true });
    expect(await answer()).toBe(
      `the workspace ${workspace} is inside the layers of commands (${home}/layers): set EMEND_HOME to a directory outside of the workspace`,
    );
  });

  test('names layers that a link puts inside the workspace', async () => {
    await mkdir(`${workspace}/layers`);
    expect(await answer({ before: `ln -s ${workspace}/layers home/layers` })).toMatch(
      /inside the workspace/,
    );
  });
});

const MOUNTS = 'only root can mount what these reasons need';
describeIf(found.works && isRoot, found.works ? MOUNTS : whyNone)('mounts', () => {
  const OVERLAY = (target: string, lower = `${target}-lower`): string =>
    `mkdir -p ${target} ${target}-lower ${target}-upper ${target}-work; mount -t overlay overlay -o lowerdir=${lower},upperdir=${target}-upper,workdir=${target}-work ${target}`;

  describe.each(sampled('users of mounts', users, 1))('as $name', (user) => {
    const own = `chown -R ${user.uid}:${user.uid}`;

    test.each([
      ['a tmpfs', 'mkdir "workspace/a b"; mount -t tmpfs tmpfs "workspace/a b"', 'a b'],
      ['a bind mount', 'mount --bind workspace/src workspace/src', 'src'],
      ['a file', 'touch workspace/f other; mount --bind other workspace/f', 'f'],
    ])('names %s inside the workspace', async (_, before, path) => {
      expect(await answer({ user, before })).toBe(
        `${workspace}/${path} is a mount point inside the workspace, which an overlay cannot show: mount it outside of the workspace, or unmount it`,
      );
    });

    test('names layers on an overlay, as in a container', async () => {
      expect(await answer({ user, before: `${OVERLAY('home')}; ${own} home` })).toBe(
        `the layers of commands (${home}/layers) are on an overlay file system, as the root of a container is: set EMEND_HOME to a directory on a volume`,
      );
    });

    test('works over a workspace on an overlay, and names one on an overlay over an overlay', async () => {
      const lower = `${OVERLAY('lower')}; ${own} lower`;
      expect(
        await answer({ user, before: `${OVERLAY('workspace')}; ${own} workspace` }),
      ).toBeNull();
      expect(
        await answer({
          user,
          before: `${lower}; ${OVERLAY('workspace', 'lower')}; ${own} workspace`,
        }),
      ).toBe(
        `the workspace ${workspace} is on an overlay over another overlay, and the kernel stacks two at most: use a clone on a volume`,
      );
    });

    test('works over a workspace that is a mount point itself, and with layers in memory', async () => {
      const before = `mount -t tmpfs tmpfs workspace; mount -t tmpfs tmpfs home; ${own} workspace home`;
      expect(await answer({ user, before })).toBeNull();
    });
  });
});

/** Exit code 0: `bindfs` is there, and FUSE works. */
const hasBindfs = await exec('sh', ['-c', 'bindfs --version && [ -w /dev/fuse ]']).then(
  () => true,
  () => false,
);
describe('file systems of a network or a program', () => {
  const bind = (path: string): string =>
    `rm -r ${path}; mkdir ${path} ${path}-source; bindfs ${path}-source ${path}; trap 'umount ${dir}/${path}' EXIT`;
  testIf(
    found.works && isRoot && hasBindfs,
    'bindfs, /dev/fuse and root are needed for FUSE, which stands for NFS, SMB and 9p also',
  )('works over a workspace there, and names layers there', async () => {
    expect(await answer({ before: bind('workspace') })).toBeNull();
    expect(await answer({ before: bind('home') })).toBe(
      `the layers of commands (${home}/layers) are on FUSE, which cannot hold them: set EMEND_HOME to a directory on a local disk`,
    );
  });
});

const hasBoth = found.works && ordinaryUser !== null;
describeIf(hasBoth, found.works ? whyNoOrdinaryUser : whyNone)('files of others', () => {
  const [root, ordinary] = users;
  const MINE = 'a sandbox maps only user 65534 and group 65534';
  const start = 'or start the worker with the user and group of the files';

  test("names a file of a group that is one of the user's others", async () => {
    const before = 'touch workspace/src/f; chgrp -R 4321 workspace/src; chmod -R g+rwX workspace';
    expect(await answer({ user: ordinary, groups: '4321', before })).toBe(
      `${workspace}/src belongs to group 4321, and ${MINE}: run \`chgrp -R 65534 '${workspace}'\`, ${start}`,
    );
  });

  test('fails for such a file on an overlay only', async () => {
    if (ordinary === undefined) throw new Error('there is no ordinary user');
    const options = '--unshare-user --cap-drop ALL --ro-bind / /';
    const command = `${ordinary.ownBubblewrap} ${options} "$@" -- sh -c 'exec 2>&1; echo x >>workspace/f'`;
    const as = ordinary.as.with(3, '--groups=4321').join(' ');
    const script = [
      `cd ${dir}; touch workspace/f; mkdir layer layer/upper layer/work`,
      'chown -R 65534:65534 workspace layer; chgrp 4321 workspace/f; chmod 664 workspace/f',
      `attempt() { ${as} ${command}; }`,
      `attempt --bind ${workspace} ${workspace} && echo written`,
      `attempt --overlay-src ${workspace} --overlay ${dir}/layer/upper ${dir}/layer/work ${workspace} || true`,
    ].join('\n');
    const { stdout } = await exec('sh', ['-c', script]);
    expect(stdout).toMatch(/^written\n.*Value too large for defined data type\n$/);
  });

  test('names a file of another user that everybody may write, with the name of the user', async () => {
    const before = 'touch workspace/src/f; chown 1:1 workspace/src/f; chmod 666 workspace/src/f';
    expect(await answer({ user: ordinary, before })).toBe(
      `${workspace}/src/f belongs to user 1 (daemon), and ${MINE}: run \`chown -R 65534:65534 '${workspace}'\`, ${start}`,
    );
  });

  test.each(users)(
    'finds nothing wrong with files that $name may not write anyway, with links or with .git',
    async (user) => {
      const before = [
        'touch workspace/src/f; chown -R 4321:4321 workspace/src; chmod 755 workspace/src',
        'ln -s src workspace/link; chown -h 4321:4321 workspace/link',
        'mkdir -p workspace/.git/x; chown -R 4321:4321 workspace/.git; chmod 777 workspace/.git/x',
      ].join('\n');
      expect(await answer({ user, before })).toBeNull();
    },
  );

  test('finds nothing wrong for a worker that is root in a workspace of an ordinary user', async () => {
    const before = 'chown -R 1000:1000 workspace; chmod -R u=rwX,go=rX workspace';
    expect(await answer({ user: root, before })).toBeNull();
  });
});

describe('answers of one process', () => {
  afterEach(() => {
    jest.restoreAllMocks();
  });
  test('are kept if they are a reason, until a named time has passed', async () => {
    const withoutSandbox = jest
      .fn<() => Promise<string | null>>()
      .mockResolvedValueOnce('none yet')
      .mockResolvedValueOnce('still none');
    const fails = (): never => {
      throw new Error('nothing is run');
    };
    const ask = createProbe({ home, use: fails, commands: { withoutSandbox, run: fails } });
    const clock = jest.spyOn(performance, 'now').mockReturnValue(1_000);
    expect(await Promise.all([ask(workspace), ask(workspace)])).toEqual(['none yet', 'none yet']);
    clock.mockReturnValue(600_999);
    expect(await ask(workspace)).toBe('none yet');
    expect(withoutSandbox).toHaveBeenCalledTimes(1);
    clock.mockReturnValue(601_001);
    expect(await ask(workspace)).toBe('still none');
  });
});

describeIf(found.works && isRoot, found.works ? MOUNTS : whyNone)('mounts between answers', () => {
  test('are noticed inside the workspace', async () => {
    const [first, second] = await answers({ between: `mount -t tmpfs tmpfs ${workspace}/src` });
    expect(first).toBeNull();
    expect(second).toMatch(/workspace\/src is a mount point inside the workspace/);
  });
  test('are the only reason to look again if an overlay works', async () => {
    const between = `chmod 777 ${workspace}/src; chown -R 1:1 ${workspace}/src`;
    expect(await answers({ between })).toEqual([null, null]);
  });
});
