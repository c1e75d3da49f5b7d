/** Files to begin with, completion, examples of the help, annotations, the notify command. */
import { execFileSync, spawnSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { EXAMPLES } from '../../src/cli/program-more.js';
import { annotationLine, ofFinding, ofProblem } from '../../src/cli/commands/run.js';
import { notify, notifyCommand } from '../../src/cli/headless/approve.js';
import { main } from '../../src/cli/main.js';
import { buildProgram } from '../../src/cli/program.js';
import { jobFlags } from '../../src/cli/sentence.js';
import { CONFIG, job, plan } from '../../src/cli/commands/init.js';
import { parseConfig } from '../../src/documents/job/config.js';
import { parseJob } from '../../src/documents/job/job.js';
import { problem } from '../../src/shared/problems.js';
import type { DecisionPoint } from '../../src/shared/decisions.js';
import { testIf } from '../support/skipped.js';
import { fakeIo } from './io.js';

const temp = (): string => realpathSync(mkdtempSync(join(tmpdir(), 'emend-aids-')));
const run = async (args: readonly string[], cwd: string, exit = 0) => {
  const io = fakeIo({ cwd, env: { EMEND_HOME: join(cwd, '.home') } });
  expect({ args, exit: await main(args, io), ...io.printed }).toMatchObject({ exit });
  return io.printed;
};

describe('emend init and emend new', () => {
  test('write what our own readers read, and never over what is there', async () => {
    const dir = temp();
    execFileSync('git', ['init', '-q', dir]);
    mkdirSync(join(dir, 'deep'));
    writeFileSync(join(dir, 'package.json'), '{"scripts": {"test": "node --test"}}');
    await run(['init'], join(dir, 'deep'));
    expect(readFileSync(join(dir, 'emend.yaml'), 'utf8')).toBe(CONFIG);
    expect(readFileSync(join(dir, 'jobs/first.md'), 'utf8')).toContain('\ntest: "npm test"\n');
    writeFileSync(join(dir, 'emend.yaml'), 'commit: true\n');
    expect((await run(['init'], dir)).out).toContain('already exists, unchanged: emend.yaml');
    expect(readFileSync(join(dir, 'emend.yaml'), 'utf8')).toBe('commit: true\n');

    await run(['new', 'job', 'jobs/010_greet-politely.md', '--file', 'a "b".js'], dir);
    expect(readFileSync(join(dir, 'jobs/010_greet-politely.md'), 'utf8')).toContain(
      '# Greet politely\n',
    );
    await run(['new', 'job', 'jobs/010_greet-politely.md'], dir, 2);
    // Nobody has written what should change: no model is paid for that.
    expect((await run(['run', 'jobs/first.md'], dir, 2)).err).toContain(
      'jobs/first.md does not describe a change',
    );
    await run(['new', 'plan', 'plans/010_grow.md'], dir);
    expect((await run(['plan', 'check', 'plans/010_grow.md'], dir)).out).toContain('2 phases');
    await run(['new', 'thing', 'x.md'], dir, 2);
    await run(['new', 'job', 'x.txt'], dir, 2);
  });

  test('every key of the commented emend.yaml is one that it knows', () => {
    const all = CONFIG.replace(/^# (?=[a-z]\w*:| {2}\w+:)/gm, '');
    expect(all).not.toBe(CONFIG);
    expect(parseConfig(CONFIG).ok).toBe(true);
    expect(parseConfig(all)).toMatchObject({
      ok: true,
      value: { commit: true, limits: { budget_usd: 2 } },
    });
    expect(parseJob(job('T', ['a.js'], null), 'job.md')).toMatchObject({
      ok: true,
      value: { targetFiles: ['a.js'] },
    });
    expect(plan('T')).toContain('### Phase 2');
  });
});

/** A test in a real shell. */
const inShell = (shell: string): ReturnType<typeof testIf> =>
  testIf(
    spawnSync('sh', ['-c', `command -v ${shell}`]).status === 0,
    `no ${shell} for the test of its completion; apt-get install ${shell}`,
  );

describe('completion', () => {
  const script = async (shell: string): Promise<string> =>
    (await run(['completion', shell], temp())).out;
  const completed = async (words: readonly string[]): Promise<string[]> => {
    const setUp = `COMP_WORDS=(${words.map((word) => `'${word}'`).join(' ')}); COMP_CWORD=${words.length - 1}; _emend`;
    const ran = spawnSync(
      'bash',
      ['-c', `${await script('bash')}\n${setUp}\nprintf '%s\\n' "\${COMPREPLY[@]}"`],
      {
        encoding: 'utf8',
      },
    );
    expect(ran.stderr).toBe('');
    return ran.stdout.split('\n').filter((line) => line !== '');
  };

  test('bash completes commands, subcommands and flags', async () => {
    expect(await completed(['emend', 'rev'])).toEqual(['review', 'revise']);
    expect(await completed(['emend', 'plan', 'ch'])).toEqual(['check']);
    expect(await completed(['emend', 'run', '--po'])).toEqual(['--policy']);
    expect(await completed(['emend', 'run', 'jo'])).toEqual([]);
  });

  test.each(['zsh', 'fish'])('%s has every command', async (shell) => {
    const text = await script(shell);
    const names = buildProgram(fakeIo(), () => undefined).commands.map((command) => command.name());
    expect(names.filter((name) => !text.includes(name))).toEqual([]);
  });

  inShell('fish')(
    'fish completes commands, subcommands where they belong, flags and files',
    async () => {
      const dir = temp();
      writeFileSync(join(dir, 'emend.fish'), await script('fish'));
      writeFileSync(join(dir, 'job.md'), '');
      const asked = (typed: string): string[] => {
        const command = `source emend.fish; complete -C '${typed}'`;
        const ran = spawnSync('fish', ['--no-config', '-c', command], {
          cwd: dir,
          encoding: 'utf8',
        });
        expect(ran.stderr).toBe('');
        return ran.stdout
          .split('\n')
          .flatMap((line) => line.split('\t', 1))
          .filter((word) => word !== '');
      };
      expect(asked('emend rev')).toEqual(['review', 'revise']);
      expect(asked('emend plan ch')).toEqual(['check']);
      expect(asked('emend plan run ')).toEqual(['emend.fish', 'job.md']);
      expect(asked('emend plan run --seq')).toEqual(['--sequential']);
      // A flag of `emend run`, which is not the `run` of `emend plan`.
      expect(asked('emend plan run --po')).toEqual([]);
      expect(asked('emend run --po')).toEqual(['--policy']);
      expect(asked('emend run jo')).toEqual(['job.md']);
    },
  );

  inShell('zsh')('zsh completes commands, subcommands, flags and files', async () => {
    const dir = temp();
    writeFileSync(join(dir, 'emend.zsh'), await script('zsh'));
    writeFileSync(join(dir, 'job.md'), '');
    // Only an interactive shell completes: one under a pseudo-terminal, that runs `echo` for `emend` and so prints what became of the line.
    const typed = ['emend revie', 'emend plan chec', 'emend run --pol', 'emend run jo'];
    const rc = [
      'autoload -U compinit',
      `compinit -u -d ${dir}/dump`,
      `source ${dir}/emend.zsh`,
      `cd ${dir}`,
    ];
    writeFileSync(
      join(dir, 'rc.zsh'),
      [...rc, 'emend() { print -r -- "<$*>" }', 'print ready', ''].join('\n'),
    );
    const lines = [
      'zmodload zsh/zpty',
      "zpty shell 'zsh -f -i'",
      `zpty -w shell "source ${dir}/rc.zsh"`,
      "zpty -r shell out '*ready*'",
      ...typed.flatMap((line) => [
        `zpty -w -n shell $'${line}\\t\\n'`,
        "zpty -r shell out $'*<*>*'",
        'print -r -- "${${out##*<}%%>*}"',
      ]),
    ];
    const ran = spawnSync('zsh', ['-f', '-c', lines.join('\n')], {
      cwd: dir,
      encoding: 'utf8',
      timeout: 30_000,
    });
    expect(ran.stdout.split('\n').map((line) => line.trim())).toEqual([
      'review',
      'plan check',
      'run --policy',
      'run job.md',
      '',
    ]);
  });

  test('another shell is refused', async () => {
    await run(['completion', 'tcsh'], temp(), 2);
  });
});

describe('examples of the help', () => {
  const program = buildProgram(fakeIo(), () => undefined, jobFlags());
  test('every command has some, and they name it and only flags that it has', () => {
    for (const command of program.commands) {
      const lines = EXAMPLES[command.name()] ?? [];
      expect([command.name(), lines.length]).not.toEqual([command.name(), 0]);
      const flags = [command, ...command.commands].flatMap((each) =>
        each.options.map(({ long }) => long),
      );
      for (const text of lines) {
        expect(text).toContain(`emend ${command.name()}`);
        const used =
          (text.split(`emend ${command.name()}`)[1]?.split('|')[0] ?? '').match(/--[a-z-]+/g) ?? [];
        expect(used.filter((flag) => !flags.includes(flag))).toEqual([]);
      }
    }
    expect(Object.keys(EXAMPLES).sort()).toEqual(
      program.commands.map((command) => command.name()).sort(),
    );
  });

  test('are shown; a wrong word gets the nearest right one', async () => {
    const dir = temp();
    expect((await run(['help', 'review'], dir)).out).toContain('Examples:\n  emend review\n');
    expect((await run(['revew'], dir, 2)).err).toContain('Did you mean review?');
    for (const asked of [
      ['revew', '--help'],
      ['--help', 'revew'],
      ['help', 'revew'],
    ])
      expect(await run(asked, dir, 2)).toMatchObject({
        out: '',
        err: "error: unknown command 'revew'\n(Did you mean review?)\n(See `emend help`.)\n",
      });
    for (const asked of [
      ['plan', 'statsu', '--help'],
      ['plan', 'help', 'statsu'],
    ])
      expect((await run(asked, dir, 2)).err).toBe(
        "error: unknown command 'statsu'\n(Did you mean status?)\n(See `emend help plan`.)\n",
      );
    expect((await run(['no-such-command', '--help'], dir, 2)).err).toContain('See `emend help`.');
    for (const asked of [
      ['--help'],
      ['help'],
      ['help', 'review'],
      ['review', '--help'],
      ['review', 'x', '--help'],
      ['plan', '--help'],
    ])
      expect((await run(asked, dir, 0)).out).toContain('Usage: emend ');
    expect((await run(['run', 'x.md', '--polcy', 'y'], dir, 2)).err).toContain(
      'Did you mean --policy?',
    );
    expect((await run(['decide', 'abcd', 'aprove'], dir, 2)).err).toContain(
      'did you mean `approve`?',
    );
  });

  test('help is of the command that was typed, below another too', async () => {
    const dir = temp();
    for (const [asked, usage] of [
      [['help', 'plan', 'stop'], 'Usage: emend plan stop [options] <plan>'],
      [['help', 'evidence', 'verify'], 'Usage: emend evidence verify [options] <file>'],
      [['help', 'hosts', 'adopt'], 'Usage: emend hosts adopt '],
      [['help', 'plan'], 'Usage: emend plan '],
    ] as const)
      expect((await run([...asked], dir, 0)).out).toContain(usage);
    for (const [wrong, help] of [
      [['plan', 'stop', 'p.md'], 'help plan stop'],
      [['gc', '--older-then', '3'], 'help gc'],
      [['gc', '--older-than', 'soon'], 'help gc'],
      [['evidence', 'verify', 'gone.json', '--repository', '.'], 'help evidence verify'],
    ] as const)
      expect((await run([...wrong], dir, 2)).err).toContain(`See \`emend ${help}\`.`);
    expect(
      (await run(['evidence', 'verify', 'gone.json', '--repository', '.'], dir, 2)).err,
    ).toContain('gone.json does not exist.');
  });
});

describe('annotations', () => {
  test('nothing in a path or message ends the command or begins another', () => {
    const finding = {
      guard: 'syntax',
      severity: 'ask',
      path: 'a,b:c%.js',
      lines: [3, 4],
      message: 'x\n::error::y 100%',
    } as const;
    expect(annotationLine(ofFinding(finding))).toBe(
      '::warning file=a%2Cb%3Ac%25.js,line=3,endLine=4,title=emend%3A syntax::x%0A::error::y 100%25',
    );
    expect(
      annotationLine(ofProblem(problem('job_invalid', 'jobs/a.md:3: mode: expected one of edit'))),
    ).toBe('::error file=jobs/a.md,line=3,title=emend%3A job_invalid::mode: expected one of edit');
    expect(annotationLine(ofProblem(problem('no_server', 'Nobody answers.')))).toBe(
      '::error title=emend%3A no_server::Nobody answers.',
    );
  });

  test('a bad job is annotated in its line where GITHUB_ACTIONS is set', async () => {
    const cwd = temp();
    writeFileSync(join(cwd, 'job.md'), '---\nmode: magic\n---\n# x\n\nDo it.\n');
    const io = fakeIo({ cwd, env: { GITHUB_ACTIONS: 'true', EMEND_HOME: join(cwd, 'home') } });
    expect(await main(['run', 'job.md'], io)).toBe(2);
    expect(io.printed.err).toContain('::error file=job.md,line=2,');
  });
});

describe('the notify command', () => {
  const decision = {
    id: '1-abc',
    reason: 'approval',
    message: 'ready',
  } as unknown as DecisionPoint;
  const status = { stepKey: 'abcd'.repeat(8), workspace: '/w', jobPath: 'job.md', title: 'T' };

  test('comes from the person alone: their environment or their own config file', async () => {
    const home = temp();
    expect(await notifyCommand({ env: { HOME: home } })).toBeNull();
    mkdirSync(join(home, '.config/emend'), { recursive: true });
    const path = join(home, '.config/emend/config.yaml');
    writeFileSync(path, 'notify: tell-me\n');
    expect(await notifyCommand({ env: { HOME: home } })).toBe('tell-me');
    expect(await notifyCommand({ env: { HOME: home, EMEND_NOTIFY: 'other' } })).toBe('other');
    expect(
      await notifyCommand({ env: { HOME: home, XDG_CONFIG_HOME: join(home, 'none') } }),
    ).toBeNull();
    writeFileSync(path, 'notify: [a]\n');
    await expect(notifyCommand({ env: { HOME: home } })).rejects.toThrow(
      'config.yaml:1: notify: expected a command',
    );
    writeFileSync(path, 'notfy: a\n');
    await expect(notifyCommand({ env: { HOME: home } })).rejects.toThrow('notfy: unknown key');
  });

  test('gets what waits and no key of ours; its failure is a line and nothing more', async () => {
    const dir = temp();
    const env = { ...process.env, ANTHROPIC_API_KEY: 'secret-of-ours', EMEND_HOME: dir };
    const io = fakeIo({ cwd: dir, env });
    await notify(io, 'env > seen', status, decision);
    const seen = readFileSync(join(dir, 'seen'), 'utf8');
    expect(seen).toContain('NOTIFY_DECISION=1-abc\n');
    expect(seen).toContain('NOTIFY_COMMAND=emend review abcdabcd\n');
    expect(seen).not.toContain('secret-of-ours');
    expect(seen).not.toContain('EMEND_HOME');
    expect(io.printed.err).toBe('');
    await notify(io, 'echo no; exit 4', status, decision);
    expect(io.printed.err).toContain('The notify command ended with 4: no');
    expect(existsSync(join(dir, 'seen'))).toBe(true);
  });
});
