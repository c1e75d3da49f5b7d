/** The rules of the house: each can fail, and the sources keep them. */
import { execFileSync, spawnSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, describe, expect, test } from '@jest/globals';
import { createActivities } from '../../src/activities/index.js';
import type { ActivityPorts } from '../../src/activities/frame/ports.js';
import { ACTIVITIES } from '../../src/shared/activities.js';
import { ANSWER_MEANS, ANSWERS_BY_REASON } from '../../src/shared/decisions.js';
import { PROBLEMS } from '../../src/shared/problems.js';
import { resolveTimings } from '../../src/temporal/settings.js';

const root = process.cwd();
const folders: string[] = [];
afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});
const sources = (under: string): readonly string[] =>
  readdirSync(join(root, under), { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.ts'))
    .map((path) => `${under}/${path}`);
const read = (path: string): string => readFileSync(join(root, path), 'utf8');

interface Rule {
  readonly name: string;
}
interface Violation {
  readonly rule: Rule;
  readonly from: string;
}
const RULES = (
  createRequire(import.meta.url)(join(root, '.dependency-cruiser.cjs')) as {
    forbidden: readonly Rule[];
  }
).forbidden;

/** A tree of these files and our settings, in which the tools of node_modules run. */
const treeOf = (files: Readonly<Record<string, string>>): string => {
  const dir = mkdtempSync(join(tmpdir(), 'emend-rules-'));
  folders.push(dir);
  const settings = [
    '.dependency-cruiser.cjs',
    '.oxlintrc.jsonc',
    'scripts/lint/plugin.js',
    'tsconfig.json',
    'tsconfig.build.json',
    'package.json',
  ];
  for (const file of [...settings, 'src/web/page/tsconfig.json']) {
    mkdirSync(dirname(join(dir, file)), { recursive: true });
    cpSync(join(root, file), join(dir, file));
  }
  symlinkSync(join(root, 'node_modules'), join(dir, 'node_modules'));
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(dir, path)), { recursive: true });
    writeFileSync(join(dir, path), text);
  }
  return dir;
};
const toolIn = (cwd: string, path: string, ...args: readonly string[]) =>
  spawnSync(process.execPath, [join(root, 'node_modules', path), ...args], {
    cwd,
    encoding: 'utf8',
    env: { ...process.env, NODE_OPTIONS: '' },
    timeout: 60_000,
  });

/** What dependency-cruiser says of these files, and of nothing else, under our rules. */
const violations = (files: Readonly<Record<string, string>>): readonly Violation[] => {
  const cruise = 'dependency-cruiser/bin/dependency-cruise.mjs';
  const run = toolIn(
    treeOf(files),
    cruise,
    'src',
    '--config',
    '.dependency-cruiser.cjs',
    '--output-type',
    'json',
  );
  expect(run.stderr).toBe('');
  return (JSON.parse(run.stdout) as { summary: { violations: readonly Violation[] } }).summary
    .violations;
};

const EMPTY = 'export const x = 1;\n';
const uses = (path: string): string => `import { x } from '${path}';\nexport const y = x;\n`;
/** For each rule one file that breaks it, and only it. */
const BROKEN: Record<string, { readonly bad: string; readonly text: string }> = {
  'shared-alone': { bad: 'src/shared/bad.ts', text: uses('../edits/index.js') },
  'edits-pure': { bad: 'src/edits/bad.ts', text: uses('../workspace/x.js') },
  'syntax-port': { bad: 'src/syntax/bad.ts', text: uses('../documents/x.js') },
  'documents-pure': { bad: 'src/documents/bad.ts', text: uses('../edits/index.js') },
  'system-floor': { bad: 'src/system/bad.ts', text: uses('../stores/x.js') },
  'stores-port': { bad: 'src/stores/bad.ts', text: uses('../workspace/x.js') },
  'model-port': { bad: 'src/model/bad.ts', text: uses('../documents/x.js') },
  'workspace-port': { bad: 'src/workspace/bad.ts', text: uses('../model/x.js') },
  'activities-arrows': { bad: 'src/activities/bad.ts', text: uses('../temporal/x.js') },
  'adapters-in-worker': { bad: 'src/activities/bad.ts', text: uses('../workspace/landing/x.js') },
  'temporal-port': { bad: 'src/temporal/bad.ts', text: uses('../client/x.js') },
  'client-arrows': { bad: 'src/client/bad.ts', text: uses('../syntax/index.js') },
  'web-arrows': { bad: 'src/web/bad.ts', text: uses('../workspace/x.js') },
  'page-as-types': { bad: 'src/web/page/bad.ts', text: uses('../../client/x.js') },
  'workflows-arrows': { bad: 'src/workflows/bad.ts', text: uses('../edits/index.js') },
  'step-and-plan-apart': { bad: 'src/workflows/plan/bad.ts', text: uses('../step/x.js') },
  'step-knows-no-plan': {
    bad: 'src/activities/step/bad.ts',
    text: uses('../../documents/plan/index.js'),
  },
  'stages-on-selectors': { bad: 'src/workflows/step/selectors.ts', text: uses('./stages/x.js') },
  'reducer-on-stages': { bad: 'src/workflows/step/stages/bad.ts', text: uses('../reduce.js') },
  'through-the-door': { bad: 'src/cli/bad.ts', text: uses('../edits/x.js') },
  'inner-doors': { bad: 'src/cli/bad.ts', text: uses('../workspace/git/x.js') },
  'replay-reads-no-constants': { bad: 'src/shared/bad.ts', text: uses('./limits.js') },
  'sandbox-no-builtins': {
    bad: 'src/shared/bad.ts',
    text: "import { createHash } from 'node:crypto';\nexport const y = createHash;\n",
  },
  'edits-no-io': {
    bad: 'src/edits/bad.ts',
    text: "import { readFileSync } from 'node:fs';\nexport const y = readFileSync;\n",
  },
  'mcp-decides-nothing': { bad: 'src/cli/commands/mcp.ts', text: uses('../ask-decision.js') },
  'no-circular': { bad: 'src/edits/bad.ts', text: uses('./back.js') },
};
const GOOD = [
  ...[
    'shared/x',
    'shared/limits',
    'edits/x',
    'edits/index',
    'syntax/x',
    'syntax/index',
    'documents/x',
    'documents/plan/index',
    'system/x',
  ],
  ...[
    'stores/x',
    'model/x',
    'workspace/x',
    'workspace/git/x',
    'workspace/landing/x',
    'activities/x',
    'temporal/x',
    'client/x',
    'web/x',
  ],
  ...['workflows/x', 'workflows/step/x', 'workflows/step/reduce', 'workflows/step/stages/x'],
  ...['cli/x', 'cli/ask-decision'],
];

describe('dependency rules', () => {
  test('every rule has a file here that breaks it', () => {
    expect(Object.keys(BROKEN).sort()).toEqual(RULES.map((rule) => rule.name).sort());
  });

  // Starting the tool takes longer than cruising: rules whose bad files do not touch each other share a tree.
  test('every rule fires on its bad file, and nothing fires on good ones', () => {
    const good = Object.fromEntries(GOOD.map((path) => [`src/${path}.ts`, EMPTY]));
    expect(violations({ ...good, 'src/cli/good.ts': uses('../edits/index.js') })).toEqual([]);

    const bad = Object.fromEntries(
      Object.entries(BROKEN).map(([name, { bad: path, text }]) => [
        path.replace('bad.ts', `${name}.ts`),
        text,
      ]),
    );
    const circle = {
      'src/edits/back.ts': uses('./no-circular.js')
        .replace('{ x }', '{ y as x }')
        .replace('const y', 'const x'),
    };
    const fired = violations({ ...good, ...bad, ...circle }).map(({ rule, from }) => ({
      rule: rule.name,
      from,
    }));
    for (const [name, { bad: path }] of Object.entries(BROKEN)) {
      // A circle is reported once, from one of its files.
      const own = path.replace('bad.ts', `${name}.ts`);
      const rules = [
        ...new Set(
          fired
            .filter(
              ({ from }) =>
                from === own || (name === 'no-circular' && from === 'src/edits/back.ts'),
            )
            .map(({ rule }) => rule),
        ),
      ];
      expect({ own, rules }).toEqual({ own, rules: [name] });
    }
  });
});

test('oxlint finds what our settings forbid: one of each kind of rule, and errors of types, in each part of the tree', () => {
  const bad = {
    'src/wide.ts':
      'export const f = (a: 1, b: 1, c: 1, d: 1, e: 1): number => a + b + c + d + e;\n',
    'src/floats.ts': 'const later = (): Promise<void> => Promise.resolve();\nlater();\n',
    'src/any.ts': "export const x: string = JSON.parse('1');\n",
    'src/type.ts': 'export const x: string = 1;\n',
    'src/web/page/type.tsx': 'export const X = () => <p>{document.titel}</p>;\n',
    'test/type.test.ts': "import { x } from '../src/good.js';\nexport const y: string = x;\n",
    'scripts/undef.js': 'missing();\n',
  };
  const good = {
    'src/good.ts': EMPTY,
    'src/web/page/good.tsx': 'export const X = () => <p>{document.title}</p>;\n',
  };
  const run = toolIn(
    treeOf({ ...good, ...bad }),
    'oxlint/bin/oxlint',
    '--format=unix',
    'src',
    'test',
    'scripts',
  );
  expect(run.status).toBe(1);
  const told = [...run.stdout.matchAll(/^([^:\n]+):.*\[Error\/\w+\((.+)\)\]$/gm)].map(
    ([, path, rule]) => `${path}: ${rule}`,
  );
  expect(told.sort()).toEqual([
    'scripts/undef.js: no-undef',
    'src/any.ts: no-unsafe-assignment',
    'src/floats.ts: no-floating-promises',
    'src/type.ts: TS2322',
    'src/web/page/type.tsx: TS2551',
    'src/wide.ts: max-params',
    'test/type.test.ts: TS2322',
  ]);
});

describe('npm run lint', () => {
  const BASELINE = 'scripts/lint-baseline.json';
  const NESTED = 'export const f = (a: number): number => (a > 1 ? (a > 2 ? 2 : 1) : 0);\n';
  /** A file with a place of each rule that only warns. */
  const BAD = [
    "export const told = { ...{ a: 'a' }, b: 'b' };",
    'export const f = (a: number): number => (a > 1 ? (a > 2 ? 2 : 1) : 0);',
    'export const long = (): number => {',
    ...Array.from({ length: 60 }, () => '  // A line.'),
    '  return 1;',
    '};',
    'export const complex = (a: number): boolean =>',
    `  ${Array.from({ length: 16 }, (_, index) => `a === ${index}`).join(' || ')};`,
    '',
  ].join('\n');
  const lint = (
    files: Readonly<Record<string, string>>,
    baseline: object,
    ...args: readonly string[]
  ) => {
    const dir = treeOf({ ...files, [BASELINE]: `${JSON.stringify(baseline, null, 2)}\n` });
    const run = spawnSync(process.execPath, [join(root, 'scripts/lint.js'), ...args], {
      cwd: dir,
      encoding: 'utf8',
      env: { ...process.env, CI: args.includes('--ci') ? 'true' : '', NODE_OPTIONS: '' },
      timeout: 60_000,
    });
    return { ...run, baseline: JSON.parse(readFileSync(join(dir, BASELINE), 'utf8')) as object };
  };

  test('fails on a new place of each rule, and names its line', () => {
    const run = lint({ 'src/bad.ts': BAD }, {});
    expect(run.status).toBe(1);
    const places = [...run.stderr.matchAll(/^ {2}(\S+) (\S+\(\S+\)): /gm)];
    expect(places.map(([, place, rule]) => `${place} ${rule}`).sort()).toEqual([
      'src/bad.ts:1 emend(declared-name)',
      'src/bad.ts:1 emend(literal-spread)',
      'src/bad.ts:2 eslint(no-nested-ternary)',
      'src/bad.ts:3 eslint(max-lines-per-function)',
      'src/bad.ts:66 eslint(complexity)',
    ]);
  });

  test('accepts the places of the baseline, and not one more', () => {
    const baseline = { 'eslint(no-nested-ternary)': { 'src/bad.ts': 1 } };
    expect(lint({ 'src/bad.ts': NESTED }, baseline).status).toBe(0);
    const second = NESTED.replace('const f', 'const g');
    expect(lint({ 'src/bad.ts': NESTED + second }, baseline).status).toBe(1);
  });

  test('takes a removed place out of the baseline, and fails under CI until that is committed', () => {
    const baseline = {
      'eslint(no-nested-ternary)': { 'src/bad.ts': 2, 'src/good.ts': 1 },
    };
    const files = { 'src/bad.ts': NESTED, 'src/good.ts': EMPTY };
    const run = lint(files, baseline);
    expect(run.status).toBe(0);
    expect(run.baseline).toEqual({ 'eslint(no-nested-ternary)': { 'src/bad.ts': 1 } });
    const inCi = lint(files, baseline, '--ci');
    expect(inCi.status).toBe(1);
    expect(inCi.stderr).toContain('Run `npm run lint` and commit it.');
    expect(inCi.baseline).toEqual(baseline);
  });

  test('accepts moved places with --moved, if no rule has more of them', () => {
    const baseline = { 'eslint(no-nested-ternary)': { 'src/old.ts': 1 } };
    expect(lint({ 'src/new.ts': NESTED }, baseline).status).toBe(1);
    const moved = lint({ 'src/new.ts': NESTED }, baseline, '--moved');
    expect(moved.status).toBe(0);
    expect(moved.baseline).toEqual({ 'eslint(no-nested-ternary)': { 'src/new.ts': 1 } });
    const more = lint({ 'src/old.ts': NESTED, 'src/new.ts': NESTED }, baseline, '--moved');
    expect(more.status).toBe(1);
  });
});

describe('sources', () => {
  const SELF = 'test/structure/rules.test.ts';

  test('a path is fileURLToPath(new URL(…)): the pathname of a URL has %20 where its path has a space', () => {
    const made = /new URL\([^()]*,[^()]*\)\.pathname/;
    const listed = execFileSync('git', ['ls-files', '*.ts', '*.tsx', '*.js', '*.cjs'], {
      encoding: 'utf8',
    });
    const code = listed.split('\n').filter((path) => path !== SELF && existsSync(path));
    expect(code.filter((path) => made.test(read(path)))).toEqual([]);
    expect(made.test("new URL('.', import.meta.url).pathname")).toBe(true);
  });

  test('no row of test.each has what may be missing as a parameter: jest hands such a test a `done` and waits for it', () => {
    const callback = /\)\(\s*(['"`]).*\1,\s*(?:async )?\([^()]*\w\?[:,][^()]*\)[^\n]*=>/;
    expect(sources('test').filter((path) => path !== SELF && callback.test(read(path)))).toEqual(
      [],
    );
    expect(callback.test("test.each([\n[1]])('title', async (a: 1, b?: 2) => {")).toBe(true);
  });

  /** Numbers that bound nothing: what others have fixed, weights and units. The page's own sizes stand beside what they draw. */
  const NO_BOUNDS: Record<string, string> = {
    'src/shared/problems.ts': 'the version of what is stored',
    'src/model/prompts/files.ts': 'weights of an estimate',
    'src/model/tokens.ts': 'weights of an estimate',
    'src/model/prices.ts': 'the unit of a price',
    'src/activities/frame/edit-work.ts': 'a weight of an estimate',
    'src/activities/step/estimate.ts': 'weights of an estimate',
    'src/activities/step/proposal.ts': 'digits of a name',
    'src/client/runs/resolve.ts': 'digits of a name',
    'src/web/ui.ts': 'a port',
    'src/documents/plan/automatic-moves.ts': 'what a small phase is',
    'src/client/late-tasks.ts': "a value of the server's enumeration",
    'src/client/cron-key.ts': "a value of the server's enumeration",
    'src/documents/plan/score.ts': 'weights and points of a score',
    'src/documents/plan/second-score.ts': 'weights and points of a score',
    'src/temporal/dev-server.ts': "Temporal's usual ports",
    'src/cli/commands/serve.ts': 'a usual port',
    'src/cli/decision-menu.ts': 'the indent of a text',
    'src/temporal/search-attributes.ts': "Temporal's number for a type",
    'src/system/process.ts': 'the format of /proc',
    'src/system/known-values.ts': 'numbers of Unicode and base64',
    'src/cli/commands/gc.ts': 'a day',
    'src/cli/report/document.ts': 'the size of a picture',
    'src/system/process-group.ts': 'a number of a descriptor',
    'src/workspace/commands/watch-box.ts': 'a unit',
    'src/workspace/commands/memory-use.ts': 'a unit',
    'src/workspace/commands/seccomp.ts': 'numbers of the kernel',
    'src/workspace/commands/network/addresses.ts': 'lengths of prefixes',
    'src/workspace/commands/network/inside.ts': 'a port',
    'src/workspace/commands/network/socks.ts': 'numbers of a protocol',
    'src/web/server.ts': 'from which size a file is worth its compression',
    'src/edits/text/byte-text.ts': 'characters, and what an index of 32 bits holds',
    'src/edits/text/byte-finder.ts': 'characters',
    'src/edits/proposal/write-diff.ts': 'lines of context, as everywhere',
    'src/edits/listing.ts': 'three digits of a line check',
  };
  const NUMBER =
    /^(export )?const [A-Z][A-Za-z0-9_]* = [0-9_]+( [*]{1,2} [0-9_]+)*;(?! \/\/ bound)/m;

  test('every number at the head of a file is marked as a bound, or bounds nothing', () => {
    const apart = ['src/shared/limits.ts', 'src/shared/bounds.ts'];
    const found = [
      ...sources('src').filter((path) => !path.startsWith('src/web/page/')),
      'worker.ts',
      'client.ts',
    ]
      .filter((path) => !apart.includes(path))
      .filter((path) => NUMBER.test(read(path).replace(/^\/\/ bound: .*\n.*$/gm, '')));
    expect(found.filter((path) => NO_BOUNDS[path] === undefined)).toEqual([]);
    // A reason that is no longer needed goes.
    expect(Object.keys(NO_BOUNDS).filter((path) => !found.includes(path))).toEqual([]);
    expect(NUMBER.test('const a = 1;\nconst MAX_TRIES = 5;\n')).toBe(true);
    expect(NUMBER.test('const MAX_TRIES = 5; // bound: tries\n')).toBe(false);
  });

  /** Files of Emend's own, or of nobody else's making, that are opened without `readGiven`. */
  const OPENED: Record<string, string> = {
    'src/system/fs.ts': 'the calls themselves',
    'src/system/beneath.ts': 'the same for files beneath a root',
    'src/system/given-file.ts': 'the function itself',
    'src/system/sys.ts': 'the system calls of the stores; readEntry opens as readGiven does',
    'src/cli/commands/patch.ts':
      'a named pipe is welcome: `emend patch <(command)`; bounded where it is read',
    'src/cli/review/ask.ts': 'a file of ours that an editor has written',
    'src/system/known-workspaces.ts':
      'at once, as whoever starts a program waits for it: a regular file only, bounded, no link is followed',
    'src/system/version.ts': "the package's own",
    'src/activities/plan/plan-log.ts': "the home's own",
    'src/client/run-index/file.ts': "the home's own",
    'src/stores/directory/blobs.ts': "the store's own",
    'src/stores/directory/records.ts': "the store's own",
    'src/system/wheel.ts': 'what pip wrote into our scratch directory',
    'src/client/files/backup.ts': "the home's own",
    'src/client/files/backup-format.ts':
      "the home's own, and a backup, of which no more than one chunk is read at a time",
    'src/client/files/restore.ts': "the home's own, which it makes",
    'src/system/inherited-descriptors.ts': "the kernel's own",
    'src/system/process-group.ts': 'inputs of a process, which its callers name',
    'src/workspace/commands/cgroup.ts': "the kernel's own",
    'src/workspace/commands/memory-use.ts': "the kernel's own",
    'src/workspace/layers/unmapped.ts': "the kernel's own",
    'src/workspace/layers/warm.ts': "the home's own",
    'src/temporal/dev-server.ts': "the home's own",
    'src/web/server.ts': 'the built page',
  };
  const OPENS =
    /import (\{[^}]*\b(readFile|readFileSync|open|openSync|createReadStream|copyFile|copyFileSync|withFile)\b[^}]*\}|\* as \w+) from '((node:)?fs(\/promises)?|[./]+\/(system\/)?fs\.js)'|realSys\.readFile\(/;

  test('every file that a person or a repository hands us is opened by readGiven', () => {
    const found = [...sources('src'), 'worker.ts', 'client.ts'].filter((path) =>
      OPENS.test(read(path)),
    );
    expect(found.filter((path) => OPENED[path] === undefined)).toEqual([]);
    // A reason that is no longer needed goes.
    expect(Object.keys(OPENED).filter((path) => !found.includes(path))).toEqual([]);
    expect(OPENS.test("import { mkdir, readFile } from 'node:fs/promises';\n")).toBe(true);
  });

  /** Files that start processes themselves, with where the path of the program comes from. */
  const STARTS: Record<string, string> = {
    'src/system/capture.ts': 'its callers, which are listed here',
    'src/system/process-group.ts': 'its callers, which are listed here; by /bin/sh',
    'src/system/launcher.ts': 'its callers, which are listed here; Node.js outside every workspace',
    'src/system/launcher-process.ts': 'the launcher',
    'src/system/own-program.ts': 'programs.ts',
    'src/workspace/git/git.ts': 'programs.ts',
    'src/workspace/commands/bubblewrap.ts': 'programs.ts',
    'src/workspace/commands/cover-installation.ts': 'bubblewrap.ts',
    'src/workspace/commands/index.ts':
      'bubblewrap.ts, or a command of the user, which keeps its PATH',
    'src/workspace/layers/parents.ts': '/bin/sh',
    'src/temporal/cli-binary.ts': 'programs.ts',
    'src/temporal/dev-server.ts': 'cli-binary.ts',
    'src/cli/io.ts': '/bin/sh',
  };
  const STARTING =
    /import (?!type )\{[^}]*\b(?:captureProcess|captureHere|runProcess|runHere)\b[^}]*\}|from '(?:node:)?child_process'/;
  const BY_NAME =
    /\b(?:spawn|spawnSync|exec|execSync|execFile|execFileSync|fork|captureProcess|captureHere|run)\(\s*(['"`])(?!\/|\1)|\b(?:file|command): \[?(['"`])(?!\/|\2)[\w-]+\2[,\]]/;
  /** Only what is not a program of Emend's may see the user's PATH. */
  const USERS_PATH: Record<string, string> = {
    'src/system/programs.ts': 'it makes the PATH of our own',
    'src/workspace/commands/index.ts': 'commands of the user',
    'src/workspace/git/git.ts': "a hook outside the sandbox is the user's command",
  };

  test('B1: no program is started by its bare name, and only by the files that are listed', () => {
    const found = [...sources('src'), 'worker.ts', 'client.ts'].filter((path) =>
      STARTING.test(read(path)),
    );
    expect(found.filter((path) => STARTS[path] === undefined)).toEqual([]);
    // A reason that is no longer needed goes.
    expect(Object.keys(STARTS).filter((path) => !found.includes(path))).toEqual([]);
    expect(found.filter((path) => BY_NAME.test(read(path)))).toEqual([]);
    for (const bare of [
      "spawn('sh', [",
      "captureProcess(\n  'git', args",
      "file: 'git',",
      "command: ['git', x",
    ])
      expect([bare, BY_NAME.test(bare)]).toEqual([bare, true]);
    for (const absolute of ["spawn('/bin/sh', [", 'run(path, [', "command: ['/bin/sh', '-c'"])
      expect([absolute, BY_NAME.test(absolute)]).toEqual([absolute, false]);
  });

  test("B1: children of our own get no PATH of the user's", () => {
    const passing = /\bchildEnvironment\(|\.\.\.process\.env\b(?![^;]*\bPATH: ownPath\()/;
    const found = sources('src').filter(
      (path) => path !== 'src/system/environment.ts' && passing.test(read(path)),
    );
    expect(found.sort()).toEqual(Object.keys(USERS_PATH).sort());
    expect(passing.test('env: { ...process.env, A: 1 };')).toBe(true);
  });

  /** Where layers, scratch directories and what hooks left are read and written. */
  const BENEATH = [
    ...sources('src/workspace/layers'),
    'src/workspace/git/hook-results.ts',
    'src/workspace/git/commit-hooks.ts',
    'src/workspace/apply/beneath-sys.ts',
    'src/activities/step/format.ts',
    'src/activities/step/test-proposal.ts',
    'src/activities/step/test-place.ts',
  ];
  /** What they use besides src/system/beneath.ts, and why it follows no link that a command made. */
  const BESIDES: Record<string, string> = {
    'src/workspace/layers/entries.ts readdir': 'an opened directory, by its descriptor',
    'src/workspace/layers/leftovers.ts readdir': 'counts layers that are removed',
    'src/workspace/layers/unmapped.ts readFile': "the system's own tables of users",
    'src/workspace/layers/remove.ts readdir':
      'names that are no UTF-8, after the command has ended',
    'src/workspace/layers/warm.ts readdir': 'names that are no UTF-8, after the command has ended',
    'src/workspace/layers/warm.ts readFile': 'a list that Emend wrote, which no command sees',
    'src/workspace/layers/warm.ts writeFile': 'the same list',
    'src/workspace/layers/layer.ts writeFile': 'a new directory that no command has seen',
    'src/workspace/layers/view.ts writeFile': 'a new directory that no command has seen',
    'src/workspace/git/hook-results.ts writeFile': 'a new file in a directory that no hook sees',
    'src/workspace/git/commit-hooks.ts writeFile': 'a new file: an existing link is refused',
    'src/activities/step/format.ts writeFile': 'a new directory that no command has seen',
  };
  const OPENERS =
    /^(?:readFile|readdir|opendir|open|openFile|withFile|createReadStream|createWriteStream|cp|copyFile|writeFile|appendFile|readGiven\w*|glob)(?:Sync)?$/;
  const IMPORTED =
    /import \{([^}]*)\} from '(?:(?:node:)?fs(?:\/promises)?|[./]+\/system\/(?:fs|given-file)\.js)'/g;
  const opened = (text: string): readonly string[] =>
    [...text.matchAll(IMPORTED)].flatMap(([, names = '']) =>
      names
        .split(',')
        .map((name) => name.trim())
        .filter((name) => OPENERS.test(name)),
    );

  test('what commands left is opened and written by src/system/beneath.ts alone', () => {
    const found = BENEATH.flatMap((path) => opened(read(path)).map((name) => `${path} ${name}`));
    expect(found.filter((use) => BESIDES[use] === undefined)).toEqual([]);
    // A reason that is no longer needed is removed.
    expect(Object.keys(BESIDES).filter((use) => !found.includes(use))).toEqual([]);
    expect(opened("import { cp, lstat } from 'node:fs/promises';\n")).toEqual(['cp']);
    const whole = /import \* as \w+ from '(?:node:)?fs(?:\/promises)?'/;
    expect(BENEATH.filter((path) => whole.test(read(path)))).toEqual([]);
  });

  test('a wait ends by a clock that nobody sets; a gRPC deadline is a date', () => {
    const byDate =
      /(?<!withDeadline\(\s*)Date\.now\(\) \+|(?:<|(?<!=)>)=? Date\.now\(\)|Date\.now\(\) [<>]/;
    expect(sources('src').filter((path) => byDate.test(read(path)))).toEqual([]);
    expect(byDate.test('for (const end = Date.now() + 5_000; ; )')).toBe(true);
  });

  test('git is started by src/workspace/git/git.ts alone, where it has its time limit and nobody to ask', () => {
    const named = /\b(?:programPath|findProgram|captureOwn)\(\s*\[?'git'/;
    const all = [...sources('src'), 'worker.ts', 'client.ts'];
    expect(all.filter((path) => named.test(read(path)))).toEqual([
      'src/workspace/git/commit-hooks.ts', // in a sandbox
      'src/workspace/git/git.ts',
    ]);
  });

  test('what loads in the workflow sandbox imports nothing of Node, not even as a type', () => {
    const found = ['src/shared', 'src/workflows']
      .flatMap(sources)
      .filter((path) =>
        /from '(node:|fs|path|crypto|os|util|url|assert)|\brequire\(|\bprocess\.|\bBuffer\./.test(
          read(path),
        ),
      );
    expect(found).toEqual([]);
  });
});

test('every random property says its seed, so that a failure can be had again', () => {
  const told = /(?<!\w)fuzz\(|\{ seed, numRuns/g;
  const silent = sources('test')
    .filter((path) => /^import fc from 'fast-check';/m.test(read(path)))
    .filter(
      (path) =>
        (read(path).match(/\bfc\.assert\(/g) ?? []).length > (read(path).match(told) ?? []).length,
    );
  expect(silent).toEqual([]);
});

test('every test that is not always run says why: test/support/skipped.ts alone skips', () => {
  const skips = /\b(test|describe|it)\.skip\b|\bx(test|describe|it)\(/;
  const found = sources('test').filter((path) => skips.test(read(path)));
  expect(found.filter((path) => path !== 'test/structure/rules.test.ts')).toEqual([
    'test/support/skipped.ts',
  ]);
});

test('every activity that a kept history names is still there', () => {
  const names = new Set<string>();
  for (const file of readdirSync(join(root, 'test/histories')).filter((name) =>
    name.endsWith('.json'),
  ))
    for (const [, name] of read(`test/histories/${file}`).matchAll(
      /"activityType":\s*\{\s*"name":\s*"(\w+)"/g,
    ))
      names.add(name!);
  expect(names.size).toBeGreaterThan(4);
  const made = createActivities({ timings: resolveTimings({}) } as ActivityPorts);
  const { workflow, host, command, model } = made;
  const known = Object.keys({ ...workflow, ...host, ...command, ...model });
  expect(known.sort()).toEqual(Object.keys(ACTIVITIES).sort());
  expect([...names].filter((name) => !known.includes(name))).toEqual([]);
});

describe('documentation', () => {
  test('the pages about the structure name files that are there', () => {
    const pages = ['docs/architecture.md', 'docs/stages.md', 'docs/durability.md'];
    const text = pages.map(read).join('\n');
    const named =
      text.match(/\b(?:[\w-]+\/)+[\w.-]+[.](?:tsx?|c?js)\b|\bsrc\/[\w/-]+(?![\w./-])/g) ?? [];
    expect(named.length).toBeGreaterThan(80);
    expect(
      named.filter((path) => !existsSync(join(root, path)) && !existsSync(join(root, 'src', path))),
    ).toEqual([]);
  });

  test('links lead to files', () => {
    const pages = [
      ...readdirSync(join(root, 'docs'), { recursive: true, encoding: 'utf8' }).map(
        (path) => `docs/${path}`,
      ),
      ...readdirSync(root),
    ].filter((path) => path.endsWith('.md'));
    const links = pages.flatMap((page) =>
      [
        ...read(page)
          .replaceAll(/```[^]*?\n```|`[^`\n]*`/g, '')
          .matchAll(/\]\((?!https?:)([^)#\s]+)/g),
      ].map(([, to = '']) => ({ page, to })),
    );
    expect(links.length).toBeGreaterThan(200);
    expect(links.filter(({ page, to }) => !existsSync(join(root, dirname(page), to)))).toEqual([]);
  });

  test('docs/decision-points.md has every reason and every answer', () => {
    const text = read('docs/decision-points.md');
    const words = [...Object.keys(ANSWERS_BY_REASON), ...Object.keys(ANSWER_MEANS)];
    expect(words.filter((word) => !text.includes(`\`${word}\``))).toEqual([]);
  });

  test('docs/cli.md has every problem with its exit code and what to do', () => {
    const rows = [...read('docs/cli.md').matchAll(/^\| `(\w+)` \| (\d) \| (.+) \|$/gm)].map(
      ([, ...cells]) => cells,
    );
    expect(rows).toEqual(
      Object.entries(PROBLEMS).map(([code, { exit, hint }]) => [code, String(exit), hint]),
    );
  });
});
