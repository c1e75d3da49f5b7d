/**
 * Rows of the adversary's report about what a sandbox shows (D) and what is mounted by paths of the workspace (B), by their names there, as
 * root and as an ordinary user. Programs in attacks/ try them.
 */
import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import {
  chmod,
  cp,
  mkdir,
  mkdtemp,
  realpath,
  rename,
  rm,
  symlink,
  writeFile,
} from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { SANDBOX_ON, type SandboxSettings } from '../../../src/documents/job/index.js';
import {
  createLocalRunner,
  seccompFilter,
  type Box,
  type Overlay,
} from '../../../src/workspace/commands/index.js';
import { showTools } from '../../../src/workspace/commands/tools.js';
import { boxUsers, endBoxUsers, found, whyNone, type BoxUser } from '../../support/box-users.js';
import { sampled } from '../../support/seeded.js';
import { describeIf, testIf } from '../../support/skipped.js';

const SECRET = 'k3y-of-a-person-0123456789';
const PYTHON = '/usr/bin/python3';
const SYSTEM_PATH = '/usr/local/bin:/usr/bin:/bin';
const BEGIN_S = 60; // bound: Seconds in which the users and their files are made.

const hasPython = existsSync(PYTHON);
const withPython = testIf(hasPython, `no ${PYTHON} here`);
const withFilter = testIf(
  hasPython && seccompFilter() !== null,
  `no ${PYTHON} here, or no seccomp filter for ${process.arch}`,
);

const asUser = (user: BoxUser, ...command: [string, ...string[]]): [string, ...string[]] => {
  const [first, ...rest] = user.as;
  return first === undefined ? command : [first, ...rest, ...command];
};

/** One user with a home, Emend's home, a workspace and what the command would find there. */
class World {
  readonly processes: ChildProcess[] = [];
  readonly outside: string[] = [];
  readonly variables: Record<string, string> = {};
  readonly user: BoxUser;
  readonly base: string;
  #commands = 0;

  constructor(user: BoxUser, base: string) {
    this.user = user;
    this.base = base;
  }
  pathOf(...names: string[]): string {
    return join(this.base, ...names);
  }
  async put(path: string, text = `${SECRET}\n`): Promise<void> {
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, text, { mode: 0o755 });
  }
  own(): void {
    execFileSync('chown', ['-hR', `${this.user.uid}`, this.base]);
  }
  async overlay(): Promise<Overlay> {
    const dir = this.pathOf('emend', `layer-${(this.#commands += 1)}`);
    for (const name of ['upper', 'work']) await mkdir(join(dir, name), { recursive: true });
    this.own();
    return { lower: [], upper: join(dir, 'upper'), work: join(dir, 'work') };
  }
  /** Runs a command in the sandbox; `box` adds to what it is started with. */
  async run(
    command: string,
    settings: Partial<SandboxSettings> = {},
    box: Partial<Box> = {},
    bubblewrap = this.user.bubblewrap,
  ): Promise<string> {
    this.own();
    const env = {
      PATH: SYSTEM_PATH,
      ...this.variables,
      HOME: this.pathOf('home'),
      EMEND_BWRAP: bubblewrap,
      W: this.pathOf('ws'),
    };
    const workspace = this.pathOf('ws');
    const ran = await createLocalRunner(env, { hidden: [this.pathOf('emend')] }).run({
      command,
      cwd: workspace,
      env: ['W'],
      timeout_s: 30,
      maxOutput_bytes: 65_536,
      sandbox: { settings: { ...SANDBOX_ON, ...settings }, workspace, ...box },
    });
    return ran.output;
  }
  /** Starts a process of the user that listens; returns how it takes one more socket. */
  listener(): (directory: string, name: string, how: string) => Promise<void> {
    const [file, ...args] = asUser(this.user, PYTHON, join(ATTACKS, 'listen.py'));
    const child = spawn(file, args, { cwd: '/', stdio: ['pipe', 'pipe', 'inherit'] });
    this.processes.push(child);
    const lines = createInterface({ input: child.stdout });
    return async (directory, name, how) => {
      const ready = once(lines, 'line');
      child.stdin.write(`${directory} ${name} ${how}\n`);
      await ready;
    };
  }
  async end(): Promise<void> {
    for (const child of this.processes) child.kill('SIGKILL');
    for (const path of [this.base, ...this.outside])
      await rm(path, { recursive: true, force: true });
  }
}

/** Where every user can read them. */
let ATTACKS = '';

describeIf(found.works, whyNone)('what a sandbox shows', () => {
  let users: readonly BoxUser[] = [];
  beforeAll(async () => {
    users = sampled('users of what a sandbox shows', await boxUsers(), 1);
  });
  afterAll(endBoxUsers);

  let worlds: World[] = [];
  beforeEach(async () => {
    ATTACKS = await mkdtemp('/tmp/emend-attacks-');
    await cp('test/workspace/commands/attacks', ATTACKS, { recursive: true });
    execFileSync('chmod', ['-R', 'a+rX', ATTACKS]);
    for (const user of users) {
      const world = new World(user, await realpath(await mkdtemp('/tmp/emend-boundary-')));
      worlds.push(world);
      await chmod(world.base, 0o755);
      await mkdir(world.pathOf('home'));
      await world.put(world.pathOf('emend/key'));
      await cp(ATTACKS, world.pathOf('ws/attacks'), { recursive: true });
    }
  }, BEGIN_S * 1000);
  afterEach(async () => {
    for (const world of worlds) await world.end();
    worlds = [];
    await rm(ATTACKS, { recursive: true, force: true });
  });
  const attack = (name: string): string => `${PYTHON} "$W/attacks/${name}.py"`;
  const eachUser = async (tries: (world: World) => Promise<void>): Promise<void> => {
    for (const world of worlds)
      await tries(world).catch((error: unknown) => {
        throw new Error(`as ${world.user.name}`, { cause: error });
      });
  };
  /** Runs a program on the machine itself, as the user. */
  const outside = ({ user }: World, ...command: [string, ...string[]]): string => {
    const [file, ...args] = asUser(user, ...command);
    return execFileSync(file, args, { encoding: 'utf8', cwd: '/' });
  };

  withFilter('D1, D2: a key of the session is not read, and none is left there', () =>
    eachUser(async (world) => {
      const report = world.pathOf('report');
      // Emend uses no program of another user's directory.
      const wrapper = join(ATTACKS, `bwrap-${world.user.uid}`);
      const words = [PYTHON, join(ATTACKS, 'keyring.py'), report, world.user.bubblewrap];
      await world.put(wrapper, `#!/bin/sh\nexec ${words.join(' ')} "$@"\n`);
      const output = await world.run(attack('key'), {}, {}, wrapper);
      expect(output).toContain('READ -1');
      expect(output).toContain('PLANTED -1');
      expect(readFileSync(report, 'utf8')).toBe('secret there\nplanted gone\n');
    }),
  );

  /** Sockets of the machine, at each kind of place that a command sees. */
  const SOCKETS = [
    ['D3', 'ws', 'relative', 'plain', 'ws/relative'],
    ['D3', 'ws/tmp/pg', '.s.PGSQL.5432', 'plain', 'ws/tmp/pg/.s.PGSQL.5432'],
    ['D3', 'ws/.git', 'fsmonitor--daemon.ipc', 'plain', 'ws/.git/fsmonitor--daemon.ipc'],
    ['D3', 'home/.pyenv/run', 'tool', 'plain', 'home/.pyenv/run/tool'],
    ['D3', 'home/.npm/_cacache', 'cache', 'plain', 'home/.npm/_cacache/cache'],
    ['D3', 'shown', 'read', 'plain', 'shown/read'],
    ['D4', 'ws/moved', 'socket', 'renamed', 'ws/moved-renamed/socket'],
    ['D4', 'ws/hard', 'socket', 'linked', 'ws/hard/socket-linked'],
    ['D4', 'written/moved', 'socket', 'renamed', 'written/moved-renamed/socket'],
  ] as const;
  const listens = async (world: World): Promise<string[]> => {
    await mkdir(world.pathOf('ws/.git'), { recursive: true });
    await writeFile(world.pathOf('ws/.git/HEAD'), 'ref: refs/heads/main\n');
    for (const dir of ['shown', 'written', 'home/.pyenv', 'home/.npm/_cacache'])
      await mkdir(world.pathOf(dir), { recursive: true });
    world.own();
    const listen = world.listener();
    for (const [, dir, name, how] of SOCKETS) await listen(world.pathOf(dir), name, how);
    return SOCKETS.map(([, , , , path]) => world.pathOf(path));
  };
  const shown = (world: World) => ({
    read: [world.pathOf('shown')],
    write: [world.pathOf('written')],
  });
  const isRefused = (output: string, paths: readonly string[]): void => {
    expect(output).not.toContain('PWNED');
    for (const path of paths) expect(output).toContain(`refused ${path}`);
    expect(output).toContain('PAIR True');
  };

  withPython(
    'D3, D4: sockets by a relative path, renamed or linked are refused, and own ones work, on an overlay',
    () =>
      eachUser(async (world) => {
        const paths = await listens(world);
        const control = outside(world, PYTHON, '-c', CONTROL, ...paths);
        expect(control).toBe('answer'.repeat(paths.length));
        const command = `${attack('connect')} 0 ${paths.join(' ')}`;
        const output = await world.run(command, shown(world), { overlay: await world.overlay() });
        isRefused(output, paths);
        expect(output).toContain('OWN /tmp True');
        expect(output).toContain(`OWN ${world.pathOf('ws')} True`);
      }),
  );

  withPython('D3, D4: the same in a workspace without an overlay', () =>
    eachUser(async (world) => {
      const paths = await listens(world);
      const output = await world.run(`${attack('connect')} 0 ${paths.join(' ')}`, shown(world));
      isRefused(output, paths);
      expect(output).toContain(`OWN ${world.pathOf('ws')} True`);
    }),
  );

  withPython('D4: sockets that are made after the command began are refused', () =>
    eachUser(async (world) => {
      for (const dir of ['home/.pyenv', 'shown'])
        await mkdir(world.pathOf(dir), { recursive: true });
      world.own();
      const listen = world.listener();
      const places = ['ws', 'home/.pyenv', 'shown'];
      const paths = places.map((place) => world.pathOf(place, 'late'));
      const running = world.run(
        `${attack('connect')} 2 ${paths.join(' ')}`,
        { read: [world.pathOf('shown')] },
        { overlay: await world.overlay() },
      );
      await new Promise((resolve) => setTimeout(resolve, 1_000));
      for (const place of places) await listen(world.pathOf(place), 'late', 'plain');
      isRefused(await running, paths);
    }),
  );

  withPython('D4: a socket of another network namespace is refused', () =>
    eachUser(async (world) => {
      world.own();
      const script = `import os,socket,time\nos.chdir('${world.pathOf('ws')}')\ns=socket.socket(socket.AF_UNIX)\ns.bind('container')\ns.listen()\nprint('ready',flush=True)\nwhile True:\n c,_=s.accept()\n c.send(b'answer')\n c.close()`;
      const [file, ...args] = asUser(world.user, 'unshare', '-Urn', PYTHON, '-c', script);
      const child = spawn(file, args, { stdio: ['ignore', 'pipe', 'inherit'] });
      world.processes.push(child);
      await once(child.stdout, 'data');
      const path = world.pathOf('ws/container');
      const command = `${attack('connect')} 0 ${path}`;
      expect(outside(world, PYTHON, '-c', CONTROL, path)).toBe('answer');
      isRefused(await world.run(command, {}, { overlay: await world.overlay() }), [path]);
      isRefused(await world.run(command), [path]);
    }),
  );

  const TOKENS = [
    '.local/share/uv/credentials/credentials.toml',
    '.nvm/versions/node/v20/etc/npmrc',
    '.nvm/versions/node/v20/lib/node_modules/npm/npmrc',
    '.nvm/.git/config',
    '.volta/tools/image/node/20/etc/npmrc',
    '.asdf/installs/nodejs/20/.npmrc',
    '.asdf/installs/python/3.12/pip.conf',
    '.pyenv/versions/3.12/pip.conf',
    '.pyenv/versions/3.12/envs/x/pip.conf',
    '.sdkman/etc/config',
    '.sdkman/candidates/maven/3.9/conf/settings.xml',
    '.rbenv/versions/3.3/.gem/credentials',
    '.local/share/pipx/venvs/x/pip.conf',
    '.bun/bunfig.toml',
    'tools/etc/npmrc',
  ];
  test("D7: tokens in tools' directories are not there, and their programs are", () =>
    eachUser(async (world) => {
      for (const path of TOKENS) await world.put(world.pathOf('home', path));
      for (const path of ['.nvm/versions/node/v20/bin/x', 'tools/bin/x'])
        await world.put(world.pathOf('home', path), `#!/bin/sh\necho runs\n`);
      world.variables.PATH = `${world.pathOf('home/tools/bin')}:${SYSTEM_PATH}`;
      const run = `grep -rs ${SECRET} "$HOME"; x; "$HOME/.nvm/versions/node/v20/bin/x"; cat "$HOME/.sdkman/candidates/maven/3.9/conf/settings.xml"`;
      expect((await world.run(run)).trim()).toBe('runs\nruns\n<settings/>');
    }));

  withFilter('D8, D9: calls that namespaces do not hold back are refused', () =>
    eachUser(async (world) => {
      const output = await world.run(attack('calls'));
      const errors: Record<string, number> = {};
      for (const { groups } of output.matchAll(/^(?<name>\w+) (?<error>\d+)$/gm))
        if (groups?.name !== undefined) errors[groups.name] = Number(groups.error);
      const [EPERM, ENOSYS, EAFNOSUPPORT, EPROTONOSUPPORT] = [1, 38, 97, 93];
      expect(errors).toEqual({
        ...withError(
          ['keyctl', 'add_key', 'request_key', 'userfaultfd', 'fanotify_init', 'bpf'],
          EPERM,
        ),
        ...withError(
          ['perf_event_open', 'open_by_handle_at', 'kexec_load', 'kexec_file_load'],
          EPERM,
        ),
        ...withError(['unshare', 'TIOCSTI', 'TIOCLINUX'], EPERM),
        ...withError(['io_uring_setup', 'io_uring_enter', 'io_uring_register'], ENOSYS),
        ...(process.arch === 'x64' ? { x32: ENOSYS } : {}),
        ...withError(
          ['AF_VSOCK', 'AF_PACKET', 'AF_ALG', 'AF_XDP', 'AF_TIPC', 'AF_CAN'],
          EAFNOSUPPORT,
        ),
        ...withError(['AF_BLUETOOTH'], EAFNOSUPPORT),
        ...withError(['AF_UNIX', 'AF_INET', 'AF_INET6', 'NETLINK_ROUTE', 'interfaces'], 0),
        ...withError(
          ['NETLINK_AUDIT', 'NETLINK_KOBJECT_UEVENT', 'NETLINK_SOCK_DIAG'],
          EPROTONOSUPPORT,
        ),
      });
    }),
  );

  withFilter('40, 45: a command leaves no setuid or setgid file where it writes for real', () =>
    eachUser(async (world) => {
      for (const dir of ['outside', 'written', 'ws/layer', 'ws/made'])
        await mkdir(world.pathOf(dir), { recursive: true });
      // An overlay refuses writes in directories of a group that the user does not have.
      execFileSync('chown', ['-hR', `${world.user.uid}:${world.user.uid}`, world.base]);
      const control = outside(world, PYTHON, join(ATTACKS, 'setid.py'), world.pathOf('outside'));
      const WAYS = process.arch === 'arm64' ? 8 : 11;
      expect(control.match(/^\w+ [246]755$/gm)).toHaveLength(2 * WAYS);

      const write = { write: [world.pathOf('written')] };
      const tries = (dir: string): string => `${attack('setid')} ${world.pathOf(dir)}`;
      const direct = await world.run(tries('ws/made'));
      const layer = { overlay: await world.overlay() };
      const named = await world.run(tries('written'), write, layer);
      for (const output of [direct, named]) {
        expect(output).toContain('refused fchmod 1');
        expect(output).toMatch(/^chmod 755$/m);
        expect(output).not.toMatch(/ [246]\d\d\d$/m);
      }
      expect(
        execFileSync('find', [world.pathOf('ws'), world.pathOf('written'), '-perm', '/6000']),
      ).toHaveLength(0);

      // A layer is closed to other users, so programs that set these bits on directories work there.
      const covered = await world.run(tries('ws/layer'), {}, { overlay: await world.overlay() });
      expect(covered).toMatch(/^chmod 4755$/m);
    }),
  );

  test("17: another user's home is not shown by PATH", () => {
    const shown: string[] = [];
    const mounts = {
      leadsTo: (path: string) => path,
      isEmpty: () => true,
      isUntrusted: () => false,
      show: (path: string) => shown.push(path),
    };
    const PATH = '/home/other:/home/third/bin:/home/other/.secrets:/root:/Users/fourth:/home/own/x';
    showTools(mounts as never, { env: { PATH }, homes: ['/home/own'], hidden: [] });
    const homes = [
      '/home',
      '/home/other',
      '/home/third',
      '/home/other/.secrets',
      '/root',
      '/Users/fourth',
    ];
    for (const path of homes) expect(shown).not.toContain(path);
    expect(shown).toContain('/home/own/x');
  });

  test('18: a link on PATH to a program in ~/Documents shows that program alone', () =>
    eachUser(async (world) => {
      const documents = world.pathOf('home/Documents');
      await world.put(join(documents, 'tool'), '#!/bin/sh\necho runs\n');
      await world.put(join(documents, 'letter'));
      await mkdir(world.pathOf('home/bin'));
      await symlink(join(documents, 'tool'), world.pathOf('home/bin/tool'));
      world.variables.PATH = `${world.pathOf('home/bin')}:${SYSTEM_PATH}`;
      expect(await world.run('tool; ls "$HOME/Documents"')).toBe('runs\ntool\n');
    }));

  test("D11: the first process does not name Emend's directories", () =>
    eachUser(async (world) => {
      const output = await world.run("tr '\\0' ' ' </proc/1/cmdline; echo; echo read");
      expect(output).toContain('read');
      expect(output).not.toContain(world.pathOf('emend'));
    }));

  test('nothing else of the machine is there', () =>
    eachUser(async (world) => {
      await world.put(world.pathOf('other/key'));
      const places = [
        world.pathOf('other/key'),
        '/etc/shadow',
        '/etc/ssh',
        '/etc/environment',
        '/boot',
        '/var/log',
      ];
      if (world.user.uid === 0)
        for (const dir of ['/srv', '/var/lib', '/etc']) {
          const place = join(dir, `emend-boundary-${process.pid}`);
          world.outside.push(place);
          await world.put(join(place, 'key'));
          places.push(place);
        }
      const output = await world.run(
        `ls -d ${places.join(' ')} 2>/dev/null; ls -d /etc/passwd /usr/bin`,
      );
      expect(output.trim().split('\n')).toEqual(['/etc/passwd', '/usr/bin']);
    }));

  withPython(
    'what is mounted below a directory of tools is shown with it, without its sockets',
    () =>
      eachUser(async (world) => {
        // Only root mounts.
        if (process.getuid?.() !== 0) return;
        const volume = world.pathOf('home/.pyenv/versions');
        await mkdir(volume, { recursive: true });
        world.own();
        execFileSync('mount', ['-t', 'tmpfs', 'none', volume]);
        try {
          await world.put(join(volume, 'program'), 'shown\n');
          await world.put(join(volume, '3/pip.conf'));
          const output = await world.run(
            `cat ${volume}/program ${volume}/3/pip.conf; echo x > ${volume}/y`,
          );
          expect(output).toMatch(/^shown\n.*Read-only file system\s*$/);
        } finally {
          execFileSync('umount', ['-l', volume]);
        }
      }),
  );

  test('`sandbox.read` shows a directory, a file and what a link leads to', () =>
    eachUser(async (world) => {
      await world.put(world.pathOf('data/one'), 'one\n');
      await world.put(world.pathOf('file'), 'two\n');
      await symlink(world.pathOf('data'), world.pathOf('link'));
      const read = [world.pathOf('link'), world.pathOf('file')];
      const output = await world.run(`cat ${world.pathOf('link/one')} ${world.pathOf('file')}`, {
        read,
      });
      expect(output.trim()).toBe('one\ntwo');
    }));

  /** `place` is a path of the workspace at which a model put a link, and what it leads to. */
  const LINKS: readonly {
    readonly row: string;
    readonly variables: (path: World['pathOf']) => Record<string, string>;
    readonly links: readonly (readonly [path: string, to: string])[];
    readonly read: string;
  }[] = [
    {
      row: 'B2: a link to a key in a directory on PATH',
      variables: (path) => ({ PATH: `${path('ws/.venv/bin')}:${SYSTEM_PATH}` }),
      links: [['ws/.venv/bin/tool', 'home/.ssh/id']],
      read: 'home/.ssh/id',
    },
    {
      row: 'B3: a directory on PATH that is a link to the home',
      variables: (path) => ({ PATH: `${path('ws/bin')}:${SYSTEM_PATH}` }),
      links: [['ws/bin', 'home']],
      read: 'home/notes',
    },
    {
      row: "B4: a directory on PATH that is a link to Emend's home",
      variables: (path) => ({ PATH: `${path('ws/bin')}:${SYSTEM_PATH}` }),
      links: [['ws/bin', 'emend']],
      read: 'emend/key',
    },
    {
      row: 'B5: VIRTUAL_ENV that is a link to the home',
      variables: (path) => ({ VIRTUAL_ENV: path('ws/venv') }),
      links: [['ws/venv', 'home/documents']],
      read: 'home/documents/key',
    },
    {
      row: 'B6: a cache in the workspace behind a link to the home',
      variables: (path) => ({ npm_config_cache: path('ws/.cache/npm') }),
      links: [['ws/.cache', 'home/documents']],
      read: 'home/documents/npm/key',
    },
  ];
  test.each(LINKS)('$row shows nothing', ({ variables, links, read }) =>
    eachUser(async (world) => {
      for (const path of [
        'home/.ssh/id',
        'home/notes',
        'home/documents/key',
        'home/documents/npm/key',
      ])
        await world.put(world.pathOf(path));
      Object.assign(
        world.variables,
        variables((...names) => world.pathOf(...names)),
      );
      for (const [path, to] of links) {
        await mkdir(dirname(world.pathOf(path)), { recursive: true });
        await symlink(world.pathOf(to), world.pathOf(path));
      }
      const command = `cat ${world.pathOf(read)} 2>&1; grep -rs ${SECRET} ${links.map(([path]) => world.pathOf(path)).join(' ')}; echo end`;
      for (const box of [{}, { overlay: await world.overlay() }]) {
        const output = await world.run(command, {}, box);
        expect(output).toContain('end');
        expect(output).not.toContain(SECRET);
      }
    }),
  );

  test('B6: a cache in the workspace that becomes a link is not followed later', () =>
    eachUser(async (world) => {
      await world.put(world.pathOf('ws/.cache/npm/entry'), 'entry\n');
      await world.put(world.pathOf('home/documents/npm/key'));
      world.variables.npm_config_cache = world.pathOf('ws/.cache/npm');
      expect(await world.run(`cat ${world.pathOf('ws/.cache/npm/entry')}`)).toContain('entry');
      await rename(world.pathOf('ws/.cache'), world.pathOf('ws/.cache2'));
      await symlink(world.pathOf('home/documents'), world.pathOf('ws/.cache'));
      const output = await world.run(`cat ${world.pathOf('ws/.cache/npm/key')}; echo end`);
      expect(output).toContain('end');
      expect(output).not.toContain(SECRET);
    }));
});

const CONTROL =
  "import os,socket,sys\nfor path in sys.argv[1:]:\n os.chdir(os.path.dirname(path))\n c=socket.socket(socket.AF_UNIX)\n c.connect(os.path.basename(path))\n print(c.recv(16).decode(),end='')";

const withError = (names: readonly string[], error: number): Record<string, number> =>
  Object.fromEntries(names.map((name) => [name, error]));
