/**
 * docker-compose.yml, carried out without Docker: a service's own command with its own environment, in a mount namespace in which its
 * volumes and configurations lie at their paths. What differs is told by `differs`: names of hosts are 127.0.0.1, ports are free ones.
 */
import { execFile } from 'node:child_process';
import { appendFile, chmod, mkdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { root } from '../install.js';

export const SERVICES = ['frontend', 'history', 'matching', 'worker'];
/** What the file leaves to its image. */
const IMAGE_ENTRYPOINTS = { temporal: ['temporal-server', 'start'], objects: ['weed'] };
/** For services that do not look at them; the file asks for them all at once. */
const UNUSED = {
  EMEND_WORKSPACE: '/nowhere',
  EMEND_WEB_SECRET: 'not used by this service',
  AWS_SECRET_ACCESS_KEY: 'not used by this service',
};

/** `${NAME}`, `${NAME:-default}`, `${NAME:?message}` and `$$`, as `docker compose` reads them. */
const interpolate = (text, variables) =>
  text.replace(/\$(?:(\$)|\{(\w+)(?::([-?])([^}]*))?\})/g, (_, dollar, name, kind, rest) => {
    if (dollar !== undefined) return '$';
    const value = variables[name] ?? '';
    if (value === '' && kind === '?') throw new Error(`docker-compose.yml: ${name}: ${rest}`);
    return value === '' && kind === '-' ? rest : value;
  });

const everyText = (node, change) => {
  if (typeof node === 'string') return change(node);
  if (Array.isArray(node)) return node.map((item) => everyText(item, change));
  if (node === null || typeof node !== 'object') return node;
  return Object.fromEntries(
    Object.entries(node).map(([key, value]) => [key, everyText(value, change)]),
  );
};

/** `{ services, configs, … }` with all variables put in. */
const readCompose = async (variables) => {
  const text = await readFile(join(root, 'docker-compose.yml'), 'utf8');
  // Not before the dependencies are installed.
  const { parse } = await import('yaml');
  return everyText(parse(text, { merge: true }), (value) => interpolate(value, variables));
};

/** A service's command and environment, for whoever starts it in another way; `variables` as `docker compose` would find them. */
export const readService = async (name, variables) => {
  const { services } = await readCompose({
    POSTGRES_PASSWORD: 'not used',
    ...UNUSED,
    ...variables,
  });
  return { command: services[name].command, environment: services[name].environment };
};

/** What a cluster of our own changes of environments and commands: where the others listen, and nothing else. */
const differs = ({ postgres, temporal: { ports }, store, role }) => {
  const whole = { postgresql: '127.0.0.1', 5432: `${postgres.port}` };
  const withStore = (text) =>
    text
      .replace(/\bobjects:9333\b/g, `127.0.0.1:${store.ports.master}`)
      .replace(/\bobjects:8333\b/g, `127.0.0.1:${store.ports.s3}`)
      .replace(/^-ip=objects$/, '-ip=127.0.0.1');
  const withRole = (text) =>
    text
      .replace(/\b9465\b/g, `${role.health}`)
      // Of a container without volumes: it is gone with it.
      .replace(/^\/tmp\/emend$/, role.home);
  const stored = (text) => (store === undefined ? text : withStore(text));
  return (text) =>
    whole[text] ??
    (role === undefined ? stored(text) : withRole(stored(text)))
      .replace(/\btemporal:7233\b/g, `127.0.0.1:${ports.frontend.grpc}`)
      .replace(/\b8260\b/g, `${ports.worker.http}`);
};

/** By which the object store takes other ports than its usual ones; those of its other protocols are off. */
const objectPorts = ({ ports }) => [
  ...Object.entries(ports).map(([part, port]) => `-${part}.port=${port}`),
  ...['-s3.port.iceberg=0', '-s3.port.lance=0'],
];

/** The variables by which the server's own template takes other ports than its usual ones. */
const portVariables = ({ ports }) => ({
  FRONTEND_HTTP_PORT: `${ports.frontend.http}`,
  ...Object.fromEntries(
    SERVICES.flatMap((name) => [
      [`${name.toUpperCase()}_GRPC_PORT`, `${ports[name].grpc}`],
      [`${name.toUpperCase()}_MEMBERSHIP_PORT`, `${ports[name].membership}`],
    ]),
  ),
});

/** The programs that images bring, under the names that they have there. */
const programs = async (state) => {
  const dir = join(state.dir, 'bin');
  await mkdir(dir, { recursive: true });
  const links = {
    emend: '/app/dist/client.js',
    'temporal-server': state.tools.server,
    'temporal-sql-tool': state.tools.sql,
    temporal: state.tools.cli,
    ...(state.store === undefined ? {} : { weed: state.store.weed }),
  };
  for (const [name, target] of Object.entries(links))
    await symlink(target, join(dir, name)).catch((error) => {
      if (error.code !== 'EEXIST') throw error;
    });
  return dir;
};

/**
 * $1: a file of mounts, a line each: source, a tab, target. $2: the directory to be in; then the command. The new root has every
 * entry of the machine's own, of /etc a copy, so that mount points can be made in both. Every step is an exec: the process keeps its id.
 */
const ENTER = `
box=/mnt
mount -t tmpfs -o mode=755 emend $box
for each in /*; do
  if [ $each = /etc ]; then cp -a /etc $box/etc
  elif [ -L $each ]; then cp -P $each $box$each
  elif [ $each != $box ] && [ -d $each ]; then mkdir $box$each; mount --rbind $each $box$each
  fi
done
while IFS="$(printf '\\t')" read -r source target; do
  mkdir -p "$(dirname "$box$target")"
  if [ -d "$source" ]; then mkdir -p "$box$target"; else : > "$box$target"; fi
  mount --bind "$source" "$box$target"
done < "$1"
shift
exec chroot $box sh -euc 'cd "$1"; shift; exec "$@"' in "$@"
`;

/** Of each volume a directory of the cluster's own; a path is itself. */
const mountsOf = async (name, { volumes = [], configs = [] }, compose, state) => {
  const mounts = [[root, '/app']];
  for (const volume of volumes) {
    const [source, target] = volume.split(':');
    if (source.startsWith('/')) mounts.push([source, target]);
    else {
      const dir = join(state.dir, 'volumes', source);
      // As the image makes it: whoever the service runs as may write.
      await mkdir(dir, { recursive: true });
      await chmod(dir, 0o1777);
      mounts.push([dir, target]);
    }
  }
  for (const { source, target } of configs) {
    const file = join(state.dir, `${name}-${source}`);
    await writeFile(file, compose.configs[source].content);
    mounts.push([file, target]);
  }
  return mounts;
};

/**
 * `{ command, args, env }` for spawn. `state.store`: `weed`, the program of the object store, and its `ports` by part. `state.role`, for
 * workers of the profile `fleet`: `home` and `health`, directory and port of the worker. `what`: `run` is the service's own command, `check`
 * its health check, an array another command in its place, as `docker compose exec` takes it.
 */
export const serviceProcess = async (state, name, variables = {}, what = 'run') => {
  const compose = await readCompose({ POSTGRES_PASSWORD: state.password, ...UNUSED, ...variables });
  const service = compose.services[name];
  const change = differs(state);
  const own = [
    ...(service.entrypoint ?? IMAGE_ENTRYPOINTS[name] ?? []),
    ...(service.command ?? []),
    ...(name === 'objects' ? objectPorts(state.store) : []),
  ];
  const checked = service.healthcheck?.test;
  const command = {
    run: own,
    check: checked?.[0] === 'CMD-SHELL' ? ['sh', '-c', checked[1]] : checked?.slice(1),
  };
  const environment = Object.fromEntries(
    Object.entries(service.environment ?? {}).map(([key, value]) => [key, change(value)]),
  );
  const mounts = await mountsOf(name, service, compose, state);
  const table = join(state.dir, `${name}.mounts`);
  await writeFile(table, mounts.map((mount) => `${mount.join('\t')}\n`).join(''));
  const at = mounts.some(([, target]) => target === '/workspace') ? '/workspace' : '/';
  const asRoot = process.getuid() === 0 ? [] : ['--map-root-user'];
  return {
    command: 'unshare',
    args: [
      ...asRoot,
      '--mount',
      'sh',
      '-euc',
      ENTER,
      'enter',
      table,
      at,
      ...(command[what] ?? what).map(change),
    ],
    env: {
      PATH: `${await programs(state)}:${process.env.PATH}`,
      LANG: 'C.UTF-8',
      ...environment,
      ...(name === 'temporal' ? portVariables(state.temporal) : {}),
    },
  };
};

/** Carries out what ends: a service (schema, namespace), a health check, a command; resolves with its standard output. */
export const runService = async (state, name, limit_ms, variables, what) => {
  const { command, args, env } = await serviceProcess(state, name, variables, what);
  const log = join(state.dir, `${name}.log`);
  const { stdout } = await promisify(execFile)(command, args, {
    env,
    timeout: limit_ms,
    maxBuffer: 64 * 1024 * 1024,
  }).catch(async (error) => {
    await appendFile(log, `${error.stdout}${error.stderr}`);
    throw new Error(`${name}: ${`${error.stderr}`.trim().split('\n').at(-1)} (see ${log})`, {
      cause: error,
    });
  });
  return stdout;
};
