/**
 * The adversary's table (docs/sandbox.md): what a command tries in the sandbox, as root and as an ordinary user. Each attempt prints PWNED
 * where it succeeds. Those that do no harm outside are run there first: an attempt that succeeds nowhere proves nothing.
 */
import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { chmod, chown, mkdir, mkdtemp, realpath, rename, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:net';
import { networkInterfaces } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { SANDBOX_ON } from '../../../src/documents/job/index.js';
import { createLocalRunner, type CommandRunner } from '../../../src/workspace/commands/index.js';
import { sampled } from '../../support/seeded.js';
import { describeIf } from '../../support/skipped.js';
import { boxUsers, endBoxUsers, found, whyNone, type BoxUser } from '../../support/box-users.js';

const SECRET = 'k3y-of-a-person-0123456789';
const read = (path: string): string => `grep -rqs ${SECRET} ${path} && echo PWNED`;
const connect = (address: string): string =>
  `node -e 'const s=require("net").connect(${address});s.on("connect",()=>{console.log("PWNED");process.exit()});s.on("error",()=>process.exit(1))'`;

interface Attempt {
  readonly name: string;
  readonly run: string;
  /** Tried outside the sandbox, too: `root`: as root alone. */
  readonly outside?: true | 'root' | false;
  /** Looked at afterwards, from outside: it succeeded. */
  readonly later?: string;
}

/** B is the directory of the test, H the home, W the workspace, P a process of the same user that holds the key in its environment. */
const ATTEMPTS: readonly Attempt[] = [
  // Read
  { name: "a key from a process' environment", run: read('/proc/*/environ'), outside: true },
  {
    name: 'the list of processes',
    run: 'cat /proc/*/cmdline | tr "\\0" " " | grep -q "sleep 9876[5]" && echo PWNED',
    outside: true,
  },
  {
    name: "a process' memory and files",
    run: 'ls /proc/$P/fd/ >/dev/null 2>&1 && echo PWNED',
    outside: true,
  },
  { name: 'a variable of the worker', run: `env | grep -q ${SECRET} && echo PWNED` },
  { name: 'an SSH key in the home', run: read('$H/.ssh'), outside: true },
  { name: 'cloud credentials in the home', run: read('$H/.aws'), outside: true },
  { name: '.netrc in the home', run: read('$H/.netrc'), outside: true },
  { name: "a tool's token in the home", run: read('$H/.config'), outside: true },
  { name: "credentials beside a tool's programs", run: read('$H/.cargo'), outside: true },
  { name: 'credentials beside a cache that is shown', run: read('$H/.m2'), outside: true },
  { name: 'EMEND_HOME', run: read('$B/emend'), outside: true },
  { name: 'the store', run: read('$B/store'), outside: true },
  { name: 'another directory in /tmp', run: read('$B/other'), outside: true },
  {
    name: 'a file that is left open',
    run: 'for f in /proc/self/fd/*; do n=${f##*/}; l=$(readlink $f) || continue; [ "$n" -gt 2 ] && case "$l" in /proc*|/dev/null) ;; *) echo "PWNED $n $l";; esac; done',
  },
  {
    name: 'a disk',
    run: 'for d in /dev/vda /dev/sda /dev/nvme0n1 /dev/mem /dev/kmsg; do head -c 1 $d >/dev/null 2>&1 && echo PWNED; done',
  },
  // Connect
  { name: "an agent's socket", run: connect('process.env.B+"/agent.sock"'), outside: true },
  { name: 'a socket in /run', run: connect('"/run/emend-box-"+process.env.S'), outside: 'root' },
  { name: "Docker's socket", run: connect('"/var/run/docker.sock"'), outside: 'root' },
  { name: "D-Bus's socket", run: connect('"/run/dbus/system_bus_socket"'), outside: 'root' },
  {
    name: 'a socket elsewhere',
    run: connect('"/var/lib/emend-box-"+process.env.S+"/s.sock"'),
    outside: 'root',
  },
  {
    name: 'a socket in the workspace',
    run: connect('process.env.W+"/watchman.sock"'),
    outside: true,
  },
  { name: 'an abstract socket', run: connect('"\\0emend-box-test-"+process.env.U'), outside: true },
  {
    name: 'a server on this machine',
    run: connect('+process.env.PORT,"127.0.0.1"'),
    outside: true,
  },
  {
    name: "this machine's address on a network",
    run: connect('+process.env.PORT,process.env.ADDRESS'),
    outside: true,
  },
  {
    name: 'a network device',
    run: 'grep -v "lo:" /proc/net/dev | grep -q ":" && echo PWNED',
    outside: true,
  },
  // Write
  {
    name: 'a file beside the workspace',
    run: 'echo x > $B/outside/f',
    later: '$B/outside/f',
    outside: true,
  },
  { name: 'a file in the home', run: 'echo x > $H/.profile', later: '$H/.profile', outside: true },
  {
    name: 'a file in /tmp',
    run: 'echo x > /tmp/emend-box-test',
    later: '/tmp/emend-box-test',
    outside: true,
  },
  {
    name: 'a file of the system',
    run: 'echo x > /etc/emend-box-test && echo PWNED',
    later: '/etc/emend-box-test',
    outside: 'root',
  },
  {
    name: 'a file outside by a link',
    run: 'ln -sf $B/outside/l $W/l; echo x > $W/l',
    later: '$B/outside/l',
    outside: true,
  },
  { name: "a tool's program", run: 'echo x > $H/.cargo/bin/tool && echo PWNED', outside: true },
  {
    name: "a package manager's cache, for other runs",
    run: 'echo x > $H/.m2/repository/poison',
    later: '$H/.m2/repository/poison',
    outside: true,
  },
  // Kernel and mounts
  { name: 'to remount the root', run: 'mount -o remount,rw / && echo PWNED' },
  { name: 'to unmount what hides the home', run: 'umount -l $H && echo PWNED' },
  { name: 'to unmount what hides /run', run: 'umount -l /run && echo PWNED' },
  { name: 'to mount anything', run: 'mount -t tmpfs none /mnt && echo PWNED' },
  { name: 'a nested user namespace', run: 'unshare -Ur true && echo PWNED', outside: true },
  { name: 'a namespace of mounts', run: 'unshare -m true && echo PWNED', outside: 'root' },
  { name: 'another root', run: 'chroot / true && echo PWNED', outside: 'root' },
  { name: 'a device of its own', run: 'mknod /tmp/emend-dev b 254 0 && echo PWNED' },
  {
    name: 'core_pattern',
    run: '( : >> /proc/sys/kernel/core_pattern ) && echo PWNED',
    outside: 'root',
  },
  {
    name: 'another setting of the kernel',
    run: '( : >> /proc/sys/vm/overcommit_memory ) && echo PWNED',
    outside: 'root',
  },
  { name: 'sysrq', run: '( : >> /proc/sysrq-trigger ) 2>/dev/null && echo PWNED' },
  {
    name: 'a control group',
    run: 'mkdir /sys/fs/cgroup/unified/emend-box /sys/fs/cgroup/emend-box /sys/fs/cgroup/pids/emend-box 2>/dev/null; ls -d /sys/fs/cgroup/*/emend-box /sys/fs/cgroup/emend-box 2>/dev/null | grep -q . && echo PWNED',
  },
  {
    name: 'capabilities',
    run: 'grep -q "^CapEff:.*[1-9a-f]" /proc/self/status && echo PWNED; grep -q "^NoNewPrivs:.*1" /proc/self/status || echo PWNED',
    outside: true,
  },
  // Git
  {
    name: 'to move a ref',
    run: 'cd $W && git update-ref refs/heads/moved HEAD && echo PWNED',
    outside: true,
  },
  {
    name: 'to commit',
    run: 'cd $W && git -c user.name=a -c user.email=a@b commit -q --allow-empty -m x && echo PWNED',
    outside: true,
  },
  {
    name: 'to change the index',
    run: 'cd $W && echo x > new && git add new && echo PWNED',
    outside: true,
  },
  {
    name: "the repository's configuration",
    run: 'cd $W && git config core.fsmonitor $W/evil.sh && echo PWNED',
    outside: true,
  },
  {
    name: "a file that the repository's configuration includes or runs",
    run: 'for f in .gitconfig conf/git tools/clean; do echo "#" >> $W/$f && echo PWNED; done; mv $W/conf $W/c && mv $W/c $W/conf && echo PWNED',
    outside: true,
  },
  {
    name: 'a hook',
    run: 'echo "#!/bin/sh" > $W/.git/hooks/post-commit && echo PWNED',
    outside: true,
  },
  {
    name: 'another repository in place of the real one',
    run: 'mv $W/.git $W/git2 && echo PWNED',
    outside: false,
  },
  {
    name: "the worker's git, by a repository where none was",
    run: 'cd $N && git init -q . && git config core.fsmonitor "touch $N/ran; false" && git config core.hooksPath $N',
    later: '$N/.git',
    outside: true,
  },
  // Processes
  { name: 'to end the worker', run: 'kill -0 $P && echo PWNED', outside: true },
  {
    name: 'to trace the worker',
    run: 'dd if=/proc/$P/mem of=/dev/null bs=1 count=0 2>/dev/null && echo PWNED',
    outside: true,
  },
  {
    name: 'to outlive the command by setsid',
    run: 'setsid sh -c "sleep 1; echo x > $W/late-1" >/dev/null 2>&1 &',
    later: '$W/late-1',
    outside: false,
  },
  {
    name: 'to outlive it by two forks',
    run: '( ( sleep 1; echo x > $W/late-2 ) >/dev/null 2>&1 & ) &',
    later: '$W/late-2',
    outside: false,
  },
];

interface World {
  readonly user: BoxUser;
  readonly runner: CommandRunner;
  readonly more: Readonly<Record<string, string>>;
  readonly processes: readonly ChildProcess[];
  /** Sockets of this world; those of others may be dead. */
  readonly made: ReadonlySet<string>;
  end(): Promise<void>;
}

const listen = async (where: string | number, host?: string): Promise<Server> => {
  const server = createServer((socket) => socket.end());
  server.listen(...([where, ...(host === undefined ? [] : [host])] as [number, string]));
  await once(server, 'listening');
  return server;
};

const makeWorld = async (user: BoxUser): Promise<World> => {
  const isRoot = process.getuid?.() === 0;
  const mine = `${process.pid}-${user.uid}`;
  const made = new Set<string>();
  const base = await realpath(await mkdtemp('/tmp/emend-box-'));
  const at = (...names: string[]): string => join(base, ...names);
  const put = async (path: string, text: string): Promise<void> => {
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, text, { mode: 0o755 });
  };
  for (const path of [
    '.ssh/id_ed25519',
    '.aws/credentials',
    '.netrc',
    '.config/gh/hosts.yml',
    '.cargo/credentials.toml',
    '.m2/settings.xml',
  ])
    await put(at('home', path), `${SECRET}\n`);
  await put(at('home/.cargo/bin/tool'), '#!/bin/sh\n');
  for (const dir of ['home/.m2/repository', 'outside', 'plain'])
    await mkdir(at(dir), { recursive: true });
  for (const dir of ['emend', 'store', 'other']) await put(at(dir, 'key'), `${SECRET}\n`);
  await put(at('ws/a.txt'), 'a\n');
  await put(at('ws/.gitconfig'), '[include]\n\tpath = conf/git\n');
  await put(at('ws/conf/git'), '[core]\n[filter "x"]\n\tclean = "sh ./tools/clean"\n');
  await put(at('ws/tools/clean'), 'cat\n');
  const inWs = { cwd: at('ws'), stdio: 'ignore' } as const;
  execFileSync('git', ['init', '-q', '-b', 'main', '.'], inWs);
  execFileSync('git', ['add', '.'], inWs);
  execFileSync('git', ['config', 'include.path', '../.gitconfig'], inWs);
  execFileSync('git', ['-c', 'user.name=t', '-c', 'user.email=t@t', 'commit', '-qm', 'base'], inWs);
  const servers = [
    await listen(at('agent.sock')),
    await listen(at('ws/watchman.sock')),
    await listen(`\0emend-box-test-${user.uid}`),
  ];
  const tcp = await listen(0, '0.0.0.0');
  servers.push(tcp);
  if (isRoot) {
    await mkdir(`/var/lib/emend-box-${mine}`, { recursive: true });
    for (const path of [
      `/run/emend-box-${mine}`,
      '/var/run/docker.sock',
      '/run/dbus/system_bus_socket',
      `/var/lib/emend-box-${mine}/s.sock`,
    ])
      if (!existsSync(path) && existsSync(dirname(path))) {
        servers.push(await listen(path));
        made.add(path);
        await chmod(path, 0o777);
      }
  }
  execFileSync('chown', ['-R', String(user.uid), base]);
  await chown(base, user.uid, -1);
  await chmod(base, 0o755);
  const helper = [...user.as, 'sleep', '98765'];
  const processes = [
    spawn(helper[0] ?? '', helper.slice(1), {
      env: { ...process.env, KEY: SECRET },
      stdio: 'ignore',
    }),
  ];
  const address = Object.values(networkInterfaces())
    .flat()
    .find((each) => each?.internal === false && each.family === 'IPv4');
  const port = String((tcp.address() as { port: number }).port);
  const more = {
    B: base,
    H: at('home'),
    W: at('ws'),
    N: at('plain'),
    P: String(processes[0]?.pid),
    U: String(user.uid),
    S: mine,
    PORT: port,
    ADDRESS: address?.address ?? '127.0.0.1',
    HOME: at('home'),
    SSH_AUTH_SOCK: at('agent.sock'),
    PATH: `${at('home/.cargo/bin')}:${user.as.length === 0 ? (process.env.PATH ?? '') : '/usr/local/bin:/usr/bin:/bin'}`,
    DEPLOY_VALUE: SECRET,
  };
  // What another user cannot read is not there to be shown.
  const env = {
    ...(user.as.length === 0 ? process.env : {}),
    ...more,
    EMEND_BWRAP: user.bubblewrap,
  };
  const runner = createLocalRunner(env, { hidden: [at('emend'), at('store')] });
  const end = async (): Promise<void> => {
    for (const child of processes) child.kill('SIGKILL');
    for (const server of servers) server.close();
    // The end of a server may come after that of this process.
    for (const path of made) await rm(path, { force: true });
    await rm(base, { recursive: true, force: true });
    if (isRoot) await rm(`/var/lib/emend-box-${mine}`, { recursive: true, force: true });
  };
  return { user, runner, more, processes, made, end };
};

const NAMES = 'B H W N P U S PORT ADDRESS'.split(' ');
const expanded = (path: string, more: World['more']): string =>
  path.replace(/\$([A-Z])/g, (_, name: string) => more[name] ?? '');

describeIf(found.works, whyNone)('a command in the sandbox', () => {
  const worlds: World[] = [];
  beforeAll(async () => {
    for (const user of await boxUsers()) worlds.push(await makeWorld(user));
  }, 60_000);
  afterAll(async () => {
    for (const world of worlds) await world.end();
    await endBoxUsers();
  });
  const inBox = ({ runner, more }: World, command: string, cwd = more.W ?? '') =>
    runner.run({
      command,
      cwd,
      env: NAMES,
      timeout_s: 20,
      maxOutput_bytes: 65_536,
      sandbox: { settings: SANDBOX_ON, workspace: cwd },
    });
  const succeeded = async (
    output: string,
    { later }: Attempt,
    more: World['more'],
  ): Promise<boolean> => {
    if (later === undefined) return output.includes('PWNED');
    const path = expanded(later, more);
    if (later.includes('late')) await new Promise((go) => setTimeout(go, 1_500));
    const is = existsSync(path);
    await rm(path, { recursive: true, force: true });
    return is;
  };

  test('a repository made where none was is nowhere outside, also while its command runs or after a kill', async () => {
    for (const world of worlds) {
      const at = (name: string): string => join(world.more.N ?? '', name);
      // As a killed worker leaves the place.
      await mkdir(at('.git'));
      execFileSync('chown', ['-R', String(world.user.uid), at('.git')]);
      const made =
        'git init -q . && git config core.fsmonitor ./evil && git status -s && echo made';
      const running = inBox(
        world,
        `${made}; touch ready; until [ -e go ]; do sleep 0.05; done; rm ready go`,
        at(''),
      );
      while (!existsSync(at('ready'))) await new Promise((resolve) => setTimeout(resolve, 20));
      expect(readdirSync(at('.git'))).toEqual([]);
      // At once as it shall be: the command takes it away as soon as it is there.
      await writeFile(at('soon'), '');
      await chmod(at('soon'), 0o666);
      await rename(at('soon'), at('go'));
      expect((await running).output).toContain('made');
      expect(readdirSync(at(''))).toEqual([]);
    }
  });

  test('at least 40 attempts, and docs/sandbox.md names each', () => {
    expect(ATTEMPTS.length).toBeGreaterThanOrEqual(40);
    const told = [...readFileSync('docs/sandbox.md', 'utf8').matchAll(/^\| (.*) \| .* \|$/gm)].map(
      ([, name]) => name,
    );
    expect(told.slice(-ATTEMPTS.length)).toEqual(ATTEMPTS.map(({ name }) => name));
  });

  test.each(sampled('attempts', ATTEMPTS, 16))('fails: $name', async (attempt) => {
    const cwd = (more: World['more']): string =>
      attempt.run.includes('cd $N') ? (more.N ?? '') : (more.W ?? '');
    for (const world of worlds) {
      const ran = await inBox(world, attempt.run, cwd(world.more));
      const who = `${attempt.name}, as ${world.user.name}: ${ran.output}`;
      expect([who, await succeeded(ran.output, attempt, world.more)]).toEqual([who, false]);
      const { outside = false } = attempt;
      if (outside === false || (outside === 'root' && world.user.uid !== 0)) continue;
      const theirs = ['/var/run/docker.sock', '/run/dbus/system_bus_socket'].find((path) =>
        attempt.run.includes(path),
      );
      if (theirs !== undefined && !world.made.has(theirs)) continue;
      const free = [...world.user.as, 'sh', '-c', attempt.run];
      const env = { ...process.env, ...world.more };
      const child = spawn(free[0] ?? '', free.slice(1), {
        env,
        cwd: '/',
        stdio: ['ignore', 'pipe', 'pipe'],
      });
      let output = '';
      child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()));
      child.stderr.on('data', (chunk: Buffer) => (output += chunk.toString()));
      await once(child, 'close');
      const control = `${attempt.name}, outside, as ${world.user.name}: ${output}`;
      expect([control, await succeeded(output, attempt, world.more)]).toEqual([control, true]);
    }
  });
});
