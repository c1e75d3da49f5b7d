/** Commands with `sandbox.network`, by real programs and real servers of this machine: what they reach, and what they must not. */
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { createServer as createHttpServer } from 'node:http';
import { createServer, connect, type Server, type Socket } from 'node:net';
import { networkInterfaces } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { runAsUser, type AsUser, type Ran } from '../../../support/as-user.js';
import { boxUsers, endBoxUsers, found, whyNone, type BoxUser } from '../../../support/box-users.js';
import { sampled } from '../../../support/seeded.js';
import { describeIf, longOnly, testIf } from '../../../support/skipped.js';
import { transpile } from '../../../support/transpile.js';

const PROXY = '127.0.0.1:17171';
const LIMIT_MS = 90_000;
const address =
  Object.values(networkInterfaces())
    .flat()
    .find((known) => known?.internal === false && known.family === 'IPv4')?.address ?? '127.0.0.2';

const has = (program: string): boolean => {
  try {
    execFileSync('sh', ['-c', `command -v ${program}`]);
    return true;
  } catch {
    return false;
  }
};
const registry = has('curl') && isReachable('https://registry.npmjs.org/is-odd');
function isReachable(url: string): boolean {
  try {
    execFileSync('curl', ['-sf', '-m', '10', '-o', '/dev/null', url]);
    return true;
  } catch {
    return false;
  }
}

/** An interface that has addresses and is down, in a network of its own. */
const DOWN_INTERFACE = `ip link set lo up && ip link add down0 type bridge &&
ip addr add 10.77.0.5/24 dev down0 && ip -6 addr add fd77::5/64 dev down0 || exit 1`;
const hasBridge = has('unshare') && has('ip') && has('curl') && isPossible(DOWN_INTERFACE);
function isPossible(script: string): boolean {
  try {
    execFileSync('unshare', ['-rn', 'sh', '-c', script], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}
/** Reports each connection in a file. */
const SERVER_OF_DOWN = `import socket, sys
def report(word): open(sys.argv[1], 'a').write(word + '\\n')
server = socket.create_server(('10.77.0.5', 7000))
report('ready')
while True:
    client, _ = server.accept()
    report('reached')
    client.sendall(b'HTTP/1.0 200 OK\\r\\n\\r\\n')
    client.close()
`;

const servers: { server: Server; sockets: Set<Socket> }[] = [];
interface Listening {
  readonly port: number;
  readonly connections: () => number;
}
const listening = async (
  server: Server,
  host = '127.0.0.1',
  portNumber = 0,
): Promise<Listening> => {
  const sockets = new Set<Socket>();
  let connections = 0;
  server.on('connection', (socket: Socket) => {
    connections += 1;
    sockets.add(socket);
    socket.on('error', () => undefined);
  });
  server.listen(portNumber, host);
  await once(server, 'listening');
  servers.push({ server, sockets });
  const bound = server.address();
  return {
    port: typeof bound === 'object' && bound !== null ? bound.port : 0,
    connections: () => connections,
  };
};
const says = (text: string): Server => createHttpServer((_, response) => response.end(text));

afterEach(async () => {
  for (const { server, sockets } of servers.splice(0)) {
    for (const socket of sockets) socket.destroy();
    server.close();
    await once(server, 'close');
  }
});

const isLong = process.env.EMEND_LONG === '1';
const long = longOnly('D5 and its variants show the proxy');

describeIf(found.works, whyNone)('a command with `network`', () => {
  let users: readonly BoxUser[] = [];
  let program: ReturnType<typeof transpile>;
  beforeAll(async () => {
    users = sampled('users of the network', await boxUsers(), 1);
    program = transpile('network', 'test/workspace/commands/runner-child.ts');
  }, 60_000);
  afterAll(async () => {
    program.remove();
    await endBoxUsers();
  });

  type How = Pick<AsUser, 'command' | 'more' | 'env' | 'settings'>;
  /** Runs it for each user, and has the outcome checked. */
  const forAll = async (how: How, check: (ran: Ran, who: string) => void): Promise<void> => {
    expect(users.length).toBeGreaterThan(0);
    for (const user of users) {
      const ran = await runAsUser({
        settings: { network: true },
        ...how,
        user,
        program: program.path,
      });
      check(ran, `${user.name}: ${ran.output}`);
    }
  };
  const allowing = (...allow: string[]) => ({ settings: { network: { allow } } });

  test(
    'D5: finds no server of this machine in /proc/net, by a scan, or through the proxy',
    async () => {
      const SECRET = 'decision-1-69b1d504';
      const v4 = await listening(says(SECRET), '0.0.0.0');
      const v6 = await listening(says(SECRET), '::');
      const scan = `
import socket, re
PORTS = [${v4.port}, ${v6.port}]
found = []
for table in ('tcp', 'tcp6'):
    for line in open('/proc/net/' + table).read().splitlines()[1:]:
        local, state = line.split()[1], line.split()[3]
        if state == '0A': found.append(int(local.split(':')[1], 16))
print('listening', sorted(found))
for host in ['127.0.0.1', '127.0.0.2', '0.0.0.0', '::1', '::', '::ffff:127.0.0.1', '${address}', '::ffff:${address}']:
    for port in PORTS:
        try:
            socket.create_connection((host, port), 2).close()
            print('PWNED', host, port)
        except OSError: pass`;
      const forms = [
        '127.0.0.1',
        '127.1',
        '2130706433',
        '0x7f.1',
        '0.0.0.0',
        'localhost',
        'LOCALHOST.',
        'a.localhost',
        '[::1]',
        '[::]',
        '[::ffff:127.0.0.1]',
        '[::127.0.0.1]',
        '[64:ff9b::127.0.0.1]',
        '[2002:7f00:1::]',
        address,
        `[::ffff:${address}]`,
      ];
      const curl = forms
        .flatMap((host) => [v4.port, v6.port].map((port) => `${host}:${port}`))
        .map(
          (server) =>
            `curl -gs -m 5 --noproxy '' http://${server}/; curl -gs -m 5 --noproxy '' -p http://${server}/; curl -gs -m 5 --noproxy '' --proxy socks5h://${PROXY} http://${server}/`,
        )
        .join('\n');
      await forAll({ command: `python3 -c "${scan}"; ${curl}; true` }, (ran, who) => {
        expect([who, ran.exit]).toEqual([who, 0]);
        expect(ran.output).toContain('listening [17171]');
        expect(ran.output).not.toMatch(/PWNED|decision-1/);
        expect(ran.output).toContain('refused by Emend: ');
      });
      expect([v4.connections(), v6.connections()]).toEqual([0, 0]);
    },
    LIMIT_MS,
  );

  test(
    "D5: Emend's own servers stay refused, listed as localhost, by address, or in a range",
    async () => {
      const own = await listening(says('the dev server'));
      const outside = await listening(says('the page'), address);
      const command = [
        `curl -s -m 5 http://localhost:${own.port}/`,
        `curl -s -m 5 --noproxy '' http://127.0.0.1:${own.port}/`,
        `curl -s -m 5 http://${address}:${outside.port}/`,
        'true',
      ].join('; ');
      await forAll(
        {
          command,
          ...allowing(
            `localhost:${own.port}`,
            `127.0.0.1:${own.port}`,
            `${address}:${outside.port}`,
            '0.0.0.0/0',
          ),
          more: { ownServers: [`127.0.0.1:${own.port}`, `${address}:${outside.port}`] },
        },
        (ran, who) => {
          expect([who, ran.exit]).toEqual([who, 0]);
          expect(ran.output).not.toMatch(/the dev server|the page/);
          expect(ran.output).toContain("is one of Emend's own servers");
        },
      );
      expect([own.connections(), outside.connections()]).toEqual([0, 0]);
    },
    LIMIT_MS,
  );

  test(
    'a range that is listed does not contain this machine',
    async () => {
      const server = await listening(says('reached'), address);
      const range = `${address.split('.').slice(0, 2).join('.')}.0.0/16`;
      await forAll(
        { command: `curl -s -m 5 http://${address}:${server.port}/; true`, ...allowing(range) },
        (ran, who) => {
          expect([who, ran.output]).toEqual([who, expect.stringContaining('is this machine')]);
          expect(ran.output).not.toContain('reached');
        },
      );
      expect(server.connections()).toBe(0);
    },
    LIMIT_MS,
  );

  test(
    'a name that leads to this machine, or to a private address, is refused',
    async () => {
      const server = await listening(says('reached'));
      const command = ['lo.test', 'six.test', 'mixed.test', 'cloud.test', 'private.test']
        .map((name) => `curl -s -m 5 http://${name}:${server.port}/`)
        .join('; ');
      await forAll(
        {
          command: `${command}; true`,
          ...allowing('lo.test', 'cloud.test'),
          more: {
            names: {
              'lo.test': [['127.0.0.1']],
              'six.test': [['::ffff:7f00:1']],
              'mixed.test': [['203.0.113.1', '127.0.0.1']],
              'cloud.test': [['169.254.169.254']],
              'private.test': [['10.1.2.3']],
            },
          },
        },
        (ran, who) => {
          expect([who, ran.exit]).toEqual([who, 0]);
          expect(ran.output).not.toContain('reached');
          expect(ran.output.match(/^refused by Emend: /gm)).toHaveLength(5);
        },
      );
      expect(server.connections()).toBe(0);
    },
    LIMIT_MS,
  );

  testIf(hasBridge, 'no network namespace with a bridge can be made here')(
    '24d: an address of an interface that is down is this machine, although its range is listed',
    async () => {
      const place = mkdtempSync('/tmp/emend-down-');
      const [script, logs] = [join(place, 'server.py'), join(place, 'logs')];
      writeFileSync(script, SERVER_OF_DOWN);
      mkdirSync(logs);
      execFileSync('chmod', ['-R', 'a+rwX', place]);
      const worker = `${DOWN_INTERFACE}
log=${logs}/$$
python3 ${script} $log &
until [ -s $log ]; do sleep 0.05; done
curl -s -m 5 http://10.77.0.5:7000/
"$@"; status=$?
kill $!; exit $status`;
      const own = users;
      users = users.map((user) => ({
        ...user,
        as: [...user.as, 'unshare', '-rn', 'sh', '-c', worker, 'sh'],
      }));
      const get = (url: string): string => `curl -sS -m 5 --noproxy '' ${url}; echo`;
      try {
        await forAll(
          {
            command: `${get('http://10.77.0.5:7000/')}; ${get('http://[fd77::5]:7000/')}`,
            ...allowing('10.0.0.0/8', 'fd00::/8'),
          },
          (ran, who) => {
            expect([who, ran.output]).toEqual([
              who,
              expect.stringContaining('list 10.77.0.5:7000, if you mean it'),
            ]);
            expect(ran.output).toContain('list [fd77::5]:7000, if you mean it');
          },
        );
        // The server answered the machine itself, and nothing else reached it.
        const connections = readdirSync(logs).map((name) => readFileSync(join(logs, name), 'utf8'));
        expect(connections).toEqual(users.map(() => 'ready\nreached\n'));
      } finally {
        users = own;
        rmSync(place, { recursive: true, force: true });
      }
    },
    LIMIT_MS,
  );

  test(
    'a redirect to loopback is refused',
    async () => {
      const target = await listening(says('reached'));
      const first = await listening(
        createHttpServer((_, response) => {
          response.writeHead(302, { location: `http://127.0.0.1:${target.port}/` }).end();
        }),
        address,
      );
      await forAll(
        {
          command: `curl -sL -m 5 --noproxy '' http://${address}:${first.port}/; true`,
          ...allowing(`${address}:${first.port}`),
        },
        (ran, who) => {
          expect([who, ran.output]).toEqual([
            who,
            expect.stringContaining(`Emend refuses 127.0.0.1:${target.port}`),
          ]);
          expect(ran.output).not.toContain('reached');
        },
      );
      expect(first.connections()).toBeGreaterThan(0);
      expect(target.connections()).toBe(0);
    },
    LIMIT_MS,
  );

  test(
    'a name is resolved once: an answer that changes afterwards leads nowhere',
    async () => {
      const listed = await listening(says('the listed one'));
      const other = await listening(says('the other one'), address, listed.port);
      await forAll(
        {
          command: `curl -s -m 5 http://rebind.test:${listed.port}/`,
          ...allowing(`127.0.0.1:${listed.port}`),
          more: { names: { 'rebind.test': [['127.0.0.1'], [address]] } },
        },
        (ran, who) => {
          expect([who, ran.output, ran.lookups]).toEqual([
            who,
            'the listed one',
            { 'rebind.test': 1 },
          ]);
        },
      );
      expect(other.connections()).toBe(0);
    },
    LIMIT_MS,
  );

  test(
    'a listed localhost:PORT is at the same port inside, for a client that knows no proxy',
    async () => {
      const echo = await listening(createServer((socket) => void socket.pipe(socket)));
      const client = `
import socket
s = socket.create_connection(('localhost', ${echo.port}), 10)
import threading
data = b'x' * (1 << 20)
threading.Thread(target=lambda: (s.sendall(data), s.shutdown(socket.SHUT_WR))).start()
got = 0
while True:
    part = s.recv(65536)
    if not part: break
    got += len(part)
print('echoed', got)`;
      await forAll(
        { command: `python3 -c "${client}"`, ...allowing(`localhost:${echo.port}`) },
        (ran, who) => expect([who, ran.output]).toEqual([who, `echoed ${1 << 20}\n`]),
      );
    },
    LIMIT_MS,
  );

  long(
    'an HTTP request has its body, its headers and its answer',
    async () => {
      const server = await listening(
        createHttpServer((request, response) => {
          const parts: Buffer[] = [];
          request.on('data', (part: Buffer) => parts.push(part));
          request.on('end', () =>
            response.end(
              `${request.method} ${request.url} ${request.headers.host} ${Buffer.concat(parts).length} ${String(request.headers['proxy-connection'])}`,
            ),
          );
        }),
        address,
      );
      const authority = `${address}:${server.port}`;
      const command = `head -c 300000 /dev/zero > body
      curl -s -X POST --data-binary @body "http://${authority}/a?b=1"; echo
      curl -s -H 'Transfer-Encoding: chunked' -X PUT -T body "http://${authority}/c"; echo
      curl -s -p "http://${authority}/d"`;
      await forAll({ command, ...allowing(authority) }, (ran, who) =>
        expect([who, ran.output]).toEqual([
          who,
          `POST /a?b=1 ${authority} 300000 undefined\nPUT /c ${authority} 300000 undefined\nGET /d ${authority} 0 undefined`,
        ]),
      );
    },
    LIMIT_MS,
  );

  testIf(has('git'), 'git is missing')(
    'git clones over HTTP from a server that is listed',
    async () => {
      const dir = mkdtempSync('/tmp/emend-git-');
      try {
        mkdirSync(join(dir, 'work'));
        writeFileSync(join(dir, 'work', 'a.txt'), 'cloned\n');
        const git = (...args: string[]) =>
          execFileSync('git', ['-c', 'user.name=t', '-c', 'user.email=t@t', ...args], {
            cwd: join(dir, 'work'),
            encoding: 'utf8',
          });
        git('init', '-q');
        git('add', '-A');
        git('commit', '-qm', 'base');
        git('clone', '-q', '--bare', '.', '../repo.git');
        git('-C', '../repo.git', 'update-server-info');
        const { readFile } = await import('node:fs/promises');
        const server = await listening(
          createHttpServer((request, response) => {
            readFile(join(dir, (request.url ?? '').split('?')[0] ?? '')).then(
              (bytes) => response.end(bytes),
              () => response.writeHead(404).end(),
            );
          }),
          address,
        );
        const authority = `${address}:${server.port}`;
        await forAll(
          {
            command: `git clone -q http://${authority}/repo.git got && cat got/a.txt`,
            ...allowing(authority),
          },
          (ran, who) => expect([who, ran.output]).toEqual([who, 'cloned\n']),
        );
      } finally {
        rmSync(dir, { recursive: true, force: true });
      }
    },
    LIMIT_MS,
  );

  const PROGRAMS: readonly (readonly [program: string, command: string, output: RegExp])[] = [
    ['curl', 'curl -sf https://registry.npmjs.org/is-odd | head -c 20', /_id|"name"/],
    [
      'npm',
      'NODE_EXTRA_CA_CERTS=/etc/ssl/certs/ca-certificates.crt npm view is-odd name --cache ./cache',
      /is-odd/,
    ],
    [
      'python3',
      `python3 -c "import urllib.request as u; print(u.urlopen('https://registry.npmjs.org/is-odd').status)"`,
      /200/,
    ],
    ['pip', 'pip download -q --no-deps --no-cache-dir -d . six && ls', /six-/],
    [
      'curl',
      `curl -sf --noproxy '' --proxy socks5h://${PROXY} https://registry.npmjs.org/is-odd | head -c 20`,
      /_id|"name"/,
    ],
  ];
  for (const [name, command, output] of PROGRAMS)
    testIf(
      registry && has(name) && isLong,
      `it takes a while, no registry can be reached, or ${name} is missing`,
    )(
      `${name} reaches a public server: ${command.slice(0, 40)}`,
      async () => {
        const user = users[0];
        if (user === undefined) throw new Error('there is no user');
        const ran = await runAsUser({
          user,
          program: program.path,
          command,
          settings: { network: true },
          env: { HOME: process.env.HOME ?? '/root' },
        });
        expect(ran.output).toMatch(output);
      },
      LIMIT_MS,
    );

  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
  testIf(
    registry && (major >= 24 || (major === 22 && minor >= 21)),
    "this Node's fetch reads no NODE_USE_ENV_PROXY",
  )("node's fetch reaches a public server", async () => {
    await forAll(
      {
        command: `node -e "fetch('https://registry.npmjs.org/is-odd').then((r) => console.log(r.status))"`,
      },
      (ran, who) => expect([who, ran.output]).toEqual([who, '200\n']),
    );
  });

  long(
    "the command's exit code, signal, output and children are its own",
    async () => {
      const outcomes = async (network: boolean) => {
        const all: unknown[] = [];
        for (const command of [
          'echo out; echo err >&2; exit 7',
          'kill -SEGV $$',
          'kill -TERM $$',
          'trap "echo caught; exit 3" USR1; kill -USR1 $$; echo no',
          `python3 -c "import os
try: os.wait()
except ChildProcessError: print('no child')"`,
          'wait; cat; echo $#; ls -l /proc/self/fd | wc -l; env | grep -i ready; umask',
        ])
          await forAll({ command, settings: { network } }, ({ exit, signal, output }, who) =>
            all.push([who.split(':')[0], exit, signal, output]),
          );
        return all;
      };
      expect(await outcomes(true)).toEqual(await outcomes(false));
    },
    LIMIT_MS,
  );

  long(
    'the death of the forwarder does not hang the command, nor does a full queue',
    async () => {
      const server = await listening(
        createServer((socket) => socket.pause()),
        address,
      );
      const authority = `${address}:${server.port}`;
      const flood = `
import socket
held = []
for i in range(600):
    try:
        s = socket.create_connection(('127.0.0.1', 17171), 2); s.settimeout(2)
        s.sendall(b'CONNECT ${authority} HTTP/1.1\\r\\n\\r\\n'); held.append(s)
    except OSError: pass
print('flooded')`;
      const kill = `for p in /proc/[0-9]*; do head -c 23 $p/cmdline 2>/dev/null | grep -q ^/run/emend-network/node && kill -9 \${p#/proc/}; done`;
      await forAll(
        {
          command: `python3 -c "${flood}"; curl -s -m 3 http://${authority}/; ${kill}; sleep 0.2; curl -s -m 5 http://${authority}/; echo end $?`,
          ...allowing(authority),
        },
        (ran, who) => {
          expect([who, ran.exit]).toEqual([who, 0]);
          expect(ran.output).toMatch(/flooded\n[\s\S]*end 7\n/);
          expect(ran.seconds).toBeLessThan(30);
        },
      );
      // 600 for each user were tried.
      expect(server.connections()).toBeLessThan(users.length * 400);
    },
    LIMIT_MS,
  );

  long(
    "goes through the worker's own proxy, by address",
    async () => {
      const requests: string[] = [];
      const upstream = await listening(
        createServer((socket) => {
          socket.once('data', (head: Buffer) => {
            requests.push(head.toString('latin1').split('\r\n')[0] ?? '');
            socket.write('HTTP/1.1 200 OK\r\n\r\n');
            socket.once('data', () =>
              socket.end(
                'HTTP/1.1 200 OK\r\nContent-Length: 8\r\nConnection: close\r\n\r\nupstream',
              ),
            );
          });
        }),
      );
      await forAll(
        {
          command: `curl -s -m 5 http://public.test/; curl -s -m 5 http://unknown.test/; true`,
          env: { HTTPS_PROXY: `http://127.0.0.1:${upstream.port}` },
          more: { names: { 'public.test': [['203.0.113.9']], 'unknown.test': [[]] } },
        },
        (ran, who) =>
          expect([who, ran.output]).toEqual([
            who,
            expect.stringMatching(/^upstreamEmend could not reach unknown.test:80/),
          ]),
      );
      expect(new Set(requests)).toEqual(new Set(['CONNECT 203.0.113.9:80 HTTP/1.1']));
    },
    LIMIT_MS,
  );

  test('leaves nothing in /tmp', async () => {
    const listed = () => readdirSync('/tmp').filter((name) => name.startsWith('emend-network.'));
    const before = listed();
    await forAll({ command: 'true' }, (ran, who) => expect([who, ran.exit]).toEqual([who, 0]));
    // Other processes of this machine may run commands at the same time.
    const remaining = listed().filter(
      (name) => !before.includes(name) && !existsSync(`/proc/${name.split('.')[2] ?? ''}`),
    );
    expect(remaining).toEqual([]);
  }, 90_000);
});

test('the servers of this file answer outside the sandbox', async () => {
  const server = await listening(says('reached'));
  const socket = connect(server.port, '127.0.0.1');
  socket.write('GET / HTTP/1.0\r\n\r\n');
  const [bytes] = (await once(socket, 'data')) as [Buffer];
  expect(bytes.toString()).toContain('reached');
});
