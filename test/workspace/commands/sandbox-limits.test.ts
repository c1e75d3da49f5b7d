/** What a command in the sandbox may use, and what must work in it. */
import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  realpathSync,
  rmSync,
  statfsSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { SANDBOX_ON, type SandboxSettings } from '../../../src/documents/job/index.js';
import { isWithin } from '../../../src/system/paths.js';
import {
  classifyFailure,
  createLocalRunner,
  type CommandRequest,
} from '../../../src/workspace/commands/index.js';
import { removeTree } from '../../../src/workspace/layers/index.js';
import { found, whyNone } from '../../support/box-users.js';
import { describeIf, testIf } from '../../support/skipped.js';

let dir: string;
let ws: string;
beforeEach(() => {
  dir = realpathSync(mkdtempSync('/tmp/emend-limits-'));
  ws = join(dir, 'ws');
  mkdirSync(ws);
});
afterEach(() => {
  rmSync(dir, { recursive: true, force: true });
});

const put = (path: string, text: string): void => {
  mkdirSync(dirname(join(ws, path)), { recursive: true });
  writeFileSync(join(ws, path), text);
};
interface How {
  readonly settings?: Partial<SandboxSettings>;
  readonly allowed?: Parameters<typeof createLocalRunner>[1];
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly cwd?: string;
}
const run = (
  command: string,
  { settings, allowed, env = process.env, cwd = ws }: How = {},
  more: Partial<CommandRequest> = {},
) =>
  createLocalRunner(env, allowed).run({
    command,
    cwd,
    env: [],
    timeout_s: 120,
    maxOutput_bytes: 65_536,
    sandbox: { settings: { ...SANDBOX_ON, ...settings }, workspace: cwd },
    ...more,
  });

describeIf(found.works, whyNone)('what is used up', () => {
  const ENDED_S = 10;

  test('memory of all processes together: ended, and said', async () => {
    const eat = `node -e 'const a=[];setInterval(()=>a.push(Buffer.alloc(4e6,1)),5)'`;
    const ran = await run(`${eat} & ${eat} & wait`, { allowed: { allowed: { memory_mib: 300 } } });
    expect(ran.ended).toMatch(/MiB of memory; `memory_mib` allows 300/);
    expect(ran.output).toContain('stopped by Emend');
    expect(ran.seconds).toBeLessThan(ENDED_S);
  });

  test('memory by files in /tmp counts, too', async () => {
    const ran = await run('head -c 400M /dev/zero > /tmp/x; sleep 60', {
      allowed: { allowed: { memory_mib: 300 } },
    });
    expect(ran.ended).toMatch(/`memory_mib` allows 300/);
  });

  test('memory of one process of node: the failure is one sentence, without frames of V8', async () => {
    const eat = `node -e 'const a=[];for(;;)a.push(new Array(1e5).fill(Math.random()))'`;
    const ran = await run(eat, { settings: { memory_mib: 300 } });
    expect(ran.exit).not.toBe(0);
    expect(classifyFailure(ran.output, ran).lines).toEqual([expect.stringMatching(/`memory_mib`/)]);
  });

  test('memory of one process, by its own limit', async () => {
    const ran = await run(`python3 -c 'a = bytearray(900 * 1024 * 1024)'`, {
      settings: { memory_mib: 512 },
    });
    expect(ran.exit).not.toBe(0);
    expect(ran.seconds).toBeLessThan(ENDED_S);
  });

  test('processes: ended as a whole, also as root', async () => {
    const ran = await run('i=0; while [ $i -lt 300 ]; do sleep 60 & i=$((i+1)); done; wait', {
      settings: { processes: 100 },
    });
    expect(ran.ended ?? ran.output).toMatch(/`processes` allows 100|fork|[Rr]esource/);
    expect(ran.seconds).toBeLessThan(ENDED_S);
  });

  test('the disk of the workspace', async () => {
    const settings = { disk_mib: 200 };
    const ran = await run('while :; do head -c 50M /dev/zero >> big; done', { settings });
    expect(ran.ended).toMatch(/it wrote \d+ MiB; `disk_mib` allows 200/);
    expect(ran.seconds).toBeLessThan(ENDED_S);
  });

  const onLayer = async (
    command: string,
    allowed: object,
    settings = {},
    base = dir,
  ): Promise<string> => {
    const [upper = '', work = ''] = ['upper', 'work'].map((name) => join(base, name));
    for (const path of [upper, work]) mkdirSync(path);
    const ran = await run(
      command,
      { allowed: { allowed } },
      {
        sandbox: {
          settings: { ...SANDBOX_ON, ...settings },
          workspace: ws,
          overlay: { lower: [], upper, work },
        },
      },
    );
    expect(ran.seconds).toBeLessThan(ENDED_S);
    return ran.ended ?? '';
  };

  test('the bytes of a layer: hard links count once, and a hole not at all', async () => {
    const write = 'head -c 60M /dev/zero > big; for n in 1 2 3 4 5; do ln big big$n; done';
    const sparse = 'truncate -s 10G hole';
    expect(await onLayer(`${write}; ${sparse}; sleep 2`, { disk_mib: 100 })).toBe('');
    rmSync(join(dir, 'upper'), { recursive: true });
    rmSync(join(dir, 'work'), { recursive: true });
    expect(
      await onLayer(`${write}; cp big "$(printf 'a\\377')"; sleep 60`, {}, { disk_mib: 100 }),
    ).toMatch(/^it wrote 1\d\d MiB of files; `disk_mib` allows 100$/);
  });

  test('the entries of a layer', async () => {
    const make = 'i=0; while :; do mkdir d$i; : > d$i/f; i=$((i+1)); done';
    expect(await onLayer(make, { entries: 300 })).toMatch(/^it made 30\d files and directories/);
  });

  describeIf(existsSync('/dev/shm'), 'no /dev/shm here')(
    '21: empty files, which take no space',
    () => {
      // Nothing else makes or removes many files there meanwhile.
      let memory: string;
      beforeEach(() => {
        memory = mkdtempSync('/dev/shm/emend-limits-');
      });
      afterEach(() => {
        rmSync(memory, { recursive: true, force: true });
      });
      const make = (count: number): string =>
        `python3 -c "
import os
for n in range(${count}):
    os.close(os.open(f'empty{n}', os.O_CREAT | os.O_WRONLY))"`;

      test('are counted at once if there are many, also when the command has ended', async () => {
        expect(await onLayer(make(3_000), { entries: 2_000 }, {}, memory)).toMatch(
          /^it made 300\d files and directories; at most 2000 are allowed$/,
        );
      });

      test('end the command before they are counted if there are twice as many', async () => {
        const limits = { mostMade_files: 4_000 };
        expect(await onLayer(`${make(5_000)}; sleep 60`, limits, {}, memory)).toMatch(
          /^its file system has \d{4} more files than before; at most 4000 are allowed$/,
        );
      });

      test('end the command before no more can be made', async () => {
        const { ffree } = statfsSync('/dev/shm');
        const limits = { leastFree_files: ffree - 1_000 };
        expect(await onLayer(`${make(5_000)}; sleep 60`, limits, {}, memory)).toMatch(
          /more files than before, and only \d+ more can be made$/,
        );
      });
    },
  );

  test('a layer that is deeper than the kernel takes', async () => {
    const deep = `perl -e 'for (1 .. 60) { mkdir "d" x 100; chdir "d" x 100 }'`;
    expect(await onLayer(`${deep}; sleep 60`, {})).toMatch(/^it made a path of more than 4,095/);
    await removeTree(join(dir, 'upper'));
  });

  test('time, an abort: nothing of it is left', async () => {
    const ran = await run('setsid sleep 4321 & sleep 4321', {}, { timeout_s: 1 });
    expect(ran).toMatchObject({ timedOut: true });
    expect(execFileSync('ps', ['-eo', 'args'], { encoding: 'utf8' })).not.toContain('sleep 4321');
  });
});

/** A toolchain's own words that it passed; null: the machine does not have it. */
const has = (program: string): boolean => {
  try {
    execFileSync('sh', ['-c', `command -v ${program}`]);
    return true;
  } catch {
    return false;
  }
};

describeIf(found.works, whyNone)('what must work', () => {
  const root = process.cwd();
  const kinds: readonly (readonly [string, string, Readonly<Record<string, string>>, string])[] = [
    [
      'jest',
      'npm',
      {
        'package.json': '{"scripts":{"test":"jest"}}',
        'a.test.js': 'test("a", () => expect(1).toBe(1));',
      },
      'npm test',
    ],
    ['pytest', 'pytest', { 'test_a.py': 'def test_a():\n    assert 1\n' }, 'pytest -q'],
    [
      'go test',
      'go',
      {
        'go.mod': 'module a\n',
        'a_test.go': 'package a\nimport "testing"\nfunc TestA(t *testing.T) {}\n',
      },
      'go test ./...',
    ],
    [
      'cargo test',
      'cargo',
      {
        'Cargo.toml': '[package]\nname = "a"\nversion = "0.1.0"\n',
        'src/lib.rs': '#[test]\nfn a() {}\n',
      },
      'cargo test --offline',
    ],
    [
      'make with cc',
      'cc',
      { Makefile: 'test: a\n\t./a\n', 'a.c': 'int main(void) { return 0; }\n' },
      'make test',
    ],
  ];
  // Toolchains may lie in the home of whoever runs the tests.
  const home =
    process.env.CARGO_HOME ??
    execFileSync('sh', ['-c', 'getent passwd $(id -u) | cut -d: -f6'], { encoding: 'utf8' }).trim();
  const env = { ...process.env, HOME: home };

  for (const [name, program, files, command] of kinds)
    testIf(has(program), `${program} is missing`)(
      `${name}, in a linked worktree`,
      async () => {
        for (const [path, text] of Object.entries(files)) put(path, text);
        const git = (...args: string[]): void => {
          execFileSync('git', ['-c', 'user.name=t', '-c', 'user.email=t@t', ...args], {
            cwd: ws,
            stdio: 'ignore',
          });
        };
        git('init', '-q');
        git('add', '-A');
        git('commit', '-qm', 'base');
        git('worktree', 'add', '-q', join(dir, 'linked'));
        const linked = join(dir, 'linked');
        if (name === 'jest')
          cpSync(join(root, 'node_modules/.bin/jest'), join(linked, 'node_modules/.bin/jest'), {
            dereference: false,
          });
        const path =
          name === 'jest'
            ? `${join(root, 'node_modules/.bin')}:${process.env.PATH ?? ''}`
            : process.env.PATH;
        const ran = await run(`git status --porcelain && ${command}`, {
          env: { ...env, PATH: path },
          cwd: linked,
          settings: { read: [root] },
        });
        expect([ran.output, ran.exit]).toEqual([ran.output, 0]);
      },
      180_000,
    );

  test('`which` is alike inside and outside, for all of PATH and in a home like others', async () => {
    const tools = join(dir, 'home');
    const tool = (path: string, link?: string): void => {
      mkdirSync(dirname(join(tools, path)), { recursive: true });
      writeFileSync(join(tools, path), '#!/bin/sh\necho ran\n');
      chmodSync(join(tools, path), 0o755);
      if (link === undefined) return;
      mkdirSync(dirname(join(tools, link)), { recursive: true });
      execFileSync('ln', ['-s', join(tools, path), join(tools, link)]);
    };
    tool('.nvm/versions/node/v20/bin/nodex');
    tool('.cargo/bin/cargox');
    tool('.local/share/pipx/venvs/blackx/bin/blackx', '.local/bin/blackx');
    tool('opt/deep/toolx/bin/toolx', 'bin/toolx');
    tool('.pyenv/shims/pyx');
    tool('go/bin/gox');
    const dirs = [
      '.nvm/versions/node/v20/bin',
      '.cargo/bin',
      '.local/bin',
      'bin',
      '.pyenv/shims',
      'go/bin',
    ];
    // Emend follows no link in the workspace in which it was started, as npm's own directory there has.
    const others = (process.env.PATH ?? '')
      .split(':')
      .filter((directory) => !isWithin(directory, process.cwd()));
    const PATH = [...dirs.map((directory) => join(tools, directory)), ...others].join(':');
    const own = ['nodex', 'cargox', 'blackx', 'toolx', 'pyx', 'gox'];
    const all = PATH.split(':').flatMap((each) => (existsSync(each) ? readdirSync(each) : []));
    const names = [...new Set([...own, ...all])].filter(
      (name) => /^[\w.-]+$/.test(name) && !name.startsWith('-'),
    );
    put('names', `${names.join('\n')}\n`);
    const ask = 'while read -r n; do echo "$n $(command -v -- "$n")"; done < names';
    const outside = execFileSync('sh', ['-c', ask], {
      cwd: ws,
      env: { PATH, HOME: tools },
      encoding: 'utf8',
    });
    const inside = await run(ask, { env: { PATH, HOME: tools } }, { maxOutput_bytes: 10_000_000 });
    expect(
      inside.output.split('\n').filter((line, at) => line !== outside.split('\n')[at]),
    ).toEqual([]);
    expect((await run(own.join(' && '), { env: { PATH, HOME: tools } })).output).toBe(
      'ran\n'.repeat(own.length),
    );
  });
});
