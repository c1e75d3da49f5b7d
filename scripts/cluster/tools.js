/** What a cluster is made of: Temporal's own server and SQL tool (built with Go once, then cached) and PostgreSQL's binaries. */
import { execFileSync } from 'node:child_process';
import { access, constants, mkdir, readdir } from 'node:fs/promises';
import { homedir } from 'node:os';
import { delimiter, isAbsolute, join } from 'node:path';
import { run } from '../processes.js';

const SERVER_VERSION = '1.31.1';
const PACKAGES = { sql: 'cmd/tools/sql', server: 'cmd/server' };
/** Seven minutes on two idle cores. */
const BUILD_MS = 60 * 60_000;

const runs = (path) =>
  access(path, constants.X_OK).then(
    () => true,
    () => false,
  );

const onPath = (name) =>
  (process.env.PATH ?? '')
    .split(delimiter)
    .filter(isAbsolute)
    .map((dir) => join(dir, name));

const firstThatRuns = async (paths) => {
  for (const path of paths) if (await runs(path)) return path;
  return null;
};

/** `$EMEND_TEST_CACHE`, else `$XDG_CACHE_HOME/emend`, else `~/.cache/emend`. */
const cacheDir = () => {
  const xdg = process.env.XDG_CACHE_HOME ?? '';
  return (
    process.env.EMEND_TEST_CACHE ?? join(isAbsolute(xdg) ? xdg : join(homedir(), '.cache'), 'emend')
  );
};

/** The directory that has `initdb` and `postgres` of one version, or null. Debian keeps them off PATH. */
const postgresBin = async () => {
  const versions = await readdir('/usr/lib/postgresql').catch(() => []);
  const debian = versions
    .map(Number)
    .filter((version) => version >= 12)
    .sort((a, b) => b - a)
    .map((version) => `/usr/lib/postgresql/${version}/bin`);
  for (const dir of [...debian, ...onPath('.')])
    if ((await runs(join(dir, 'initdb'))) && (await runs(join(dir, 'postgres')))) return dir;
  return null;
};

const goVersion = (go) =>
  execFileSync(go, ['env', 'GOVERSION'], { encoding: 'utf8', timeout: 30_000 }).trim();

/** Builds what is not in the cache. Throws where the build fails. */
const build = async (go, dir, names) => {
  console.log(
    `Building Temporal's server ${SERVER_VERSION} with ${goVersion(go)} into ${dir}, once (7 minutes or more) …`,
  );
  await mkdir(dir, { recursive: true });
  for (const name of names) {
    const module = `go.temporal.io/server/${PACKAGES[name]}@v${SERVER_VERSION}`;
    const options = {
      cwd: dir,
      env: { ...process.env, GOBIN: dir, GOFLAGS: '' },
      timeout_ms: BUILD_MS,
    };
    const code = await run('nice', ['-n', '19', go, 'install', module], options);
    if (code !== 0) throw new Error(`go install ${module} ended with ${code}`);
  }
};

/**
 * `{ server, sql, postgres }`: paths of two binaries and a directory of PostgreSQL's; or `{ missing }`: what to install, a line each.
 * Nothing is installed here.
 */
export const findTools = async () => {
  const dir = join(cacheDir(), 'temporal-server', SERVER_VERSION);
  const absent = [];
  for (const name of Object.keys(PACKAGES)) if (!(await runs(join(dir, name)))) absent.push(name);
  const postgres = await postgresBin();
  const go = absent.length === 0 ? null : await firstThatRuns(onPath('go'));
  const openssl = await firstThatRuns(onPath('openssl'));
  const asRoot = process.getuid() === 0 ? [] : ['--map-root-user'];
  const box = await run('unshare', [...asRoot, '--mount', 'true'], {
    cwd: '/',
    timeout_ms: 10_000,
  }).catch(() => 1);
  const missing = [
    ...(box === 0
      ? []
      : ['unshare (util-linux), and the right to make a mount namespace: run it as root']),
    ...(openssl === null
      ? ['openssl, for certificates of a day. Debian: apt-get install openssl']
      : []),
    ...(postgres === null
      ? ['PostgreSQL 12 or newer (initdb, postgres). Debian: apt-get install postgresql']
      : []),
    ...(absent.length > 0 && go === null
      ? [
          `Go 1.26 or newer, to build Temporal's server ${SERVER_VERSION}: https://go.dev/dl (or its binaries in ${dir})`,
        ]
      : []),
  ];
  if (missing.length > 0) return { missing };
  if (absent.length > 0) await build(go, dir, absent);
  return { server: join(dir, 'server'), sql: join(dir, 'sql'), postgres };
};
