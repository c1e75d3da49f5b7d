/** Small real projects, each as a user has it: fetched from a registry, its dependencies installed in place, committed. One is generated. */
import { execFile } from 'node:child_process';
import { cp, mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';

/** Files by their path in the workspace, with their content. */
type Files = Readonly<Record<string, string>>;

export interface Project {
  readonly name: string;
  /** Programs without which the row is skipped. */
  readonly needs: readonly string[];
  /** Makes the workspace at `dir`, with what the tests need; `scratch` is an empty directory next to it. */
  readonly make: (dir: string, scratch: string) => Promise<void>;
  readonly test: string;
  /** Returns how many tests passed, by the runner's own words. */
  readonly passed: (output: string) => number;
  /** Appended to a file that the project has. */
  readonly changed: readonly [path: string, text: string];
  /** A file that is new, with one test that needs the change. */
  readonly added: readonly [path: string, text: string];
  /** The C files, without their ending, that are compiled again on the overlay; absent: no compiler is asked. */
  readonly rebuilt?: readonly string[];
}

const INSTALL_MS = 90_000; // bound: Milliseconds of one command that fetches or installs.
const MAX_OUTPUT_BYTES = 10_000_000; // bound: Output of one such command.
const run = promisify(execFile);

/** Runs a program as the user would, in a shell of theirs. */
async function userRuns(cwd: string, file: string, ...args: string[]): Promise<string> {
  const { stdout } = await run(file, args, {
    cwd,
    env: { ...process.env, NODE_OPTIONS: '', RUSTFLAGS: '' },
    timeout: INSTALL_MS,
    maxBuffer: MAX_OUTPUT_BYTES,
  });
  return stdout;
}

async function writeAll(dir: string, files: Files): Promise<void> {
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(dir, path)), { recursive: true });
    await writeFile(join(dir, path), text);
  }
}

async function commitAll(dir: string): Promise<void> {
  await userRuns(dir, 'git', 'init', '-q', '-b', 'main', '.');
  await userRuns(dir, 'git', 'add', '-A');
  const author = ['-c', 'user.name=Test', '-c', 'user.email=test@example.org'];
  await userRuns(dir, 'git', ...author, 'commit', '-q', '-m', 'base');
}

/** Fetches a package's tarball and installs `devDependencies` instead of those that it names, which are many or old. */
const npmPackage =
  (specifier: string, devDependencies: Files) =>
  async (dir: string, scratch: string): Promise<void> => {
    const tarball = (await userRuns(scratch, 'npm', 'pack', specifier, '--silent')).trim();
    await mkdir(dir);
    await userRuns(scratch, 'tar', 'xzf', tarball, '--strip-components=1', '-C', dir);
    const manifest = JSON.parse(await readFile(join(dir, 'package.json'), 'utf8')) as object;
    await writeAll(dir, {
      'package.json': JSON.stringify({ ...manifest, devDependencies }, null, 2),
      '.gitignore': 'node_modules\n',
    });
    const flags = ['--ignore-scripts', '--no-audit', '--no-fund', '--prefer-offline'];
    await userRuns(dir, 'npm', 'install', ...flags);
    await commitAll(dir);
  };

/** Fetches the sources of a crate; `path` leads to the project in them. */
const crate =
  (name: string, version: string, path = '.') =>
  async (dir: string, scratch: string): Promise<void> => {
    await userRuns(scratch, 'cargo', 'init', '--quiet', '--name', 'fetcher', '.');
    const manifest = join(scratch, 'Cargo.toml');
    await writeFile(manifest, `${await readFile(manifest, 'utf8')}${name} = "=${version}"\n`);
    await userRuns(scratch, 'cargo', 'vendor', '--quiet');
    await cp(join(scratch, 'vendor', name, path), dir, { recursive: true });
  };

const count = (pattern: RegExp) => (output: string) => [...output.matchAll(pattern)].length;
const sum = (pattern: RegExp) => (output: string) =>
  [...output.matchAll(pattern)].reduce((total, [, passed]) => total + Number(passed), 0);

const makeItsdangerous = async (dir: string, scratch: string): Promise<void> => {
  const sdist = ['--no-deps', '--no-binary', ':all:', 'itsdangerous==2.2.0'];
  await userRuns(scratch, 'python3', '-m', 'pip', 'download', '-q', ...sdist);
  const [archive = ''] = await readdir(scratch);
  await mkdir(dir);
  await userRuns(scratch, 'tar', 'xzf', archive, '--strip-components=1', '-C', dir);
  await writeAll(dir, { '.gitignore': '.venv\n__pycache__\n.pytest_cache\n' });
  await userRuns(dir, 'python3', '-m', 'venv', '.venv');
  const packages = ['-e', '.', 'pytest==9.0.1', 'freezegun==1.5.5'];
  await userRuns(dir, '.venv/bin/pip', 'install', '-q', '--disable-pip-version-check', ...packages);
  await commitAll(dir);
};

const makeUuid = async (dir: string, scratch: string): Promise<void> => {
  const fetched = await userRuns(
    scratch,
    'go',
    'mod',
    'download',
    '-json',
    'github.com/google/uuid@v1.6.0',
  );
  await cp((JSON.parse(fetched) as { readonly Dir: string }).Dir, dir, { recursive: true });
  await userRuns(dir, 'chmod', '-R', 'u+w', '.');
  await commitAll(dir);
};

const makeStrsim = async (dir: string, scratch: string): Promise<void> => {
  await crate('strsim', '0.11.1')(dir, scratch);
  await writeAll(dir, { '.gitignore': 'target\nCargo.lock\n' });
  await commitAll(dir);
};

const makeBzip2 = async (dir: string, scratch: string): Promise<void> => {
  await crate('bzip2-sys', '0.1.11', 'bzip2-1.0.8')(dir, scratch);
  await writeAll(dir, { '.gitignore': '*.o\n*.a\n*.rb2\n*.tst\nbzip2\nbzip2recover\n' });
  await commitAll(dir);
};

const POM = `<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>demo</groupId>
  <artifactId>demo</artifactId>
  <version>1</version>
  <properties>
    <maven.compiler.source>11</maven.compiler.source>
    <maven.compiler.target>11</maven.compiler.target>
    <project.build.sourceEncoding>UTF-8</project.build.sourceEncoding>
  </properties>
  <dependencies>
    <dependency>
      <groupId>junit</groupId>
      <artifactId>junit</artifactId>
      <version>4.13.2</version>
      <scope>test</scope>
    </dependency>
  </dependencies>
</project>
`;
const javaTest = (name: string, assertion: string): string =>
  `package demo;\n\npublic class ${name} {\n  @org.junit.Test\n  public void holds() {\n    org.junit.Assert.assertEquals(${assertion});\n  }\n}\n`;
/** Java takes the home from the list of users. The sandbox shows the packages in HOME. */
const HOME_OF_JAVA = `-Duser.home=${homedir()}`;
const makeMaven = async (dir: string): Promise<void> => {
  await writeAll(dir, {
    'pom.xml': POM,
    'src/main/java/demo/Sum.java':
      'package demo;\n\npublic final class Sum {\n  public static int of(int a, int b) {\n    return a + b;\n  }\n}\n',
    'src/test/java/demo/SumTest.java': javaTest('SumTest', '3, Sum.of(1, 2)'),
    '.gitignore': 'target\n',
  });
  await userRuns(dir, 'mvn', HOME_OF_JAVA, '-B', '-q', 'test');
  await commitAll(dir);
};

const sprintf = npmPackage('sprintf-js@1.0.3', { mocha: '11.7.4' });

/** A linked worktree of the mocha project, where its dependencies are installed, too. */
const makeLinked = async (dir: string, scratch: string): Promise<void> => {
  const main = join(scratch, 'main');
  await sprintf(main, scratch);
  await userRuns(main, 'git', 'worktree', 'add', '-q', '-b', 'linked', dir);
  await cp(join(main, 'node_modules'), join(dir, 'node_modules'), {
    recursive: true,
    verbatimSymlinks: true,
  });
};

const mocha = {
  passed: sum(/(\d+) passing/g),
  changed: ['src/sprintf.js', '\nexports.proposal = 7\n'],
} as const;

export const PROJECTS: readonly Project[] = [
  {
    name: 'npm with jest (gensync 1.0.0-beta.2)',
    needs: ['npm'],
    make: npmPackage('gensync@1.0.0-beta.2', {
      '@babel/core': '7.28.5',
      'babel-preset-env': 'npm:@babel/preset-env@7.28.5',
      jest: '26.6.3',
      'util.promisify': '1.1.3',
    }),
    test: 'npm test',
    passed: sum(/^Tests: +(\d+) passed/gm),
    changed: ['index.js', '\nmodule.exports.proposal = 7;\n'],
    added: [
      'test/proposal.test.js',
      'test("the change is there", () => expect(require("../").proposal).toBe(7));\n',
    ],
  },
  {
    name: 'npm with vitest (zod 4.1.12)',
    needs: ['npm'],
    make: npmPackage('zod@4.1.12', { vitest: '3.2.4' }),
    // A part of its tests.
    test: 'npx vitest run --no-color src/v3/tests/p',
    passed: sum(/^ +Tests +(\d+) passed/gm),
    changed: ['src/v3/helpers/util.ts', '\nexport const proposal = 7;\n'],
    added: [
      'src/v3/tests/proposal.test.ts',
      'import { expect, test } from "vitest";\nimport { proposal } from "../helpers/util.js";\ntest("the change is there", () => expect(proposal).toBe(7));\n',
    ],
  },
  {
    name: 'npm with mocha (sprintf-js 1.0.3)',
    needs: ['npm'],
    make: sprintf,
    ...mocha,
    test: 'npx mocha test',
    added: [
      'test/proposal.js',
      'it("sees the change", () => require("assert").equal(require("../src/sprintf.js").proposal, 7))\n',
    ],
  },
  {
    name: 'pytest (itsdangerous 2.2.0)',
    needs: ['python3'],
    make: makeItsdangerous,
    test: '.venv/bin/pytest -q',
    passed: sum(/(\d+) passed/g),
    changed: ['src/itsdangerous/encoding.py', '\nproposal = 7\n'],
    added: [
      'tests/test_itsdangerous/test_proposal.py',
      'from itsdangerous.encoding import proposal\n\n\ndef test_proposal():\n    assert proposal == 7\n',
    ],
  },
  {
    name: 'go test (github.com/google/uuid 1.6.0)',
    needs: ['go'],
    make: makeUuid,
    test: 'go test -v ./...',
    passed: count(/--- PASS: /g),
    changed: ['version4.go', '\nfunc proposal() int { return 7 }\n'],
    added: [
      'proposal_test.go',
      'package uuid\n\nimport "testing"\n\nfunc TestProposal(t *testing.T) {\n\tif proposal() != 7 {\n\t\tt.Fail()\n\t}\n}\n',
    ],
  },
  {
    name: 'cargo test (strsim 0.11.1)',
    needs: ['cargo'],
    make: makeStrsim,
    test: 'cargo test --offline',
    passed: sum(/^test result: ok\. (\d+) passed/gm),
    changed: ['src/lib.rs', '\n#[cfg(test)]\nmod proposal;\n'],
    added: [
      'src/proposal.rs',
      '#[test]\nfn sees_the_change() {\n    assert_eq!(crate::hamming("a", "b"), Ok(1));\n}\n',
    ],
  },
  {
    name: 'maven (generated, with junit 4.13.2)',
    needs: ['mvn', 'java'],
    make: makeMaven,
    test: `mvn '${HOME_OF_JAVA}' -B -o test`,
    passed: (output) => Number(/Tests run: (\d+)(?![^]*Tests run:)/.exec(output)?.[1]),
    changed: [
      'src/main/java/demo/Sum.java',
      '\nfinal class Proposal {\n  static final int IT = 7;\n}\n',
    ],
    added: ['src/test/java/demo/ProposalTest.java', javaTest('ProposalTest', '7, Proposal.IT')],
  },
  {
    name: 'a linked worktree (of sprintf-js 1.0.3, with mocha)',
    needs: ['npm'],
    make: makeLinked,
    ...mocha,
    test: 'git log --oneline && npx mocha test',
    added: [
      'test/proposal.js',
      [
        'it("sees the change, also by git", () => {',
        '  const changed = require("child_process").execSync("git status --porcelain").toString()',
        '  require("assert").equal(require("../src/sprintf.js").proposal, 7)',
        '  require("assert").equal(changed, " M src/sprintf.js\\n?? test/proposal.js\\n")',
        '})',
        '',
      ].join('\n'),
    ],
  },
  {
    name: 'make with cc (bzip2 1.0.8, in the crate bzip2-sys)',
    needs: ['cargo', 'make', 'gcc'],
    make: makeBzip2,
    test: 'make test',
    // Six files are compared; `cmp` prints only what differs.
    passed: count(/^cmp sample/gm),
    changed: ['bzlib.c', '\nconst char proposal[] = "PROPOSED";\n'],
    added: [
      'GNUmakefile',
      'include Makefile\ntest: proposal\nproposal: bzip2\n\t@grep -q PROPOSED bzip2 && echo cmp sample of the proposal\n',
    ],
    rebuilt: ['bzlib'],
  },
];
