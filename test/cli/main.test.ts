import { access, mkdir, mkdtemp, readdir, readFile, realpath, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { wantsColor } from '../../src/cli/io.js';
import { hostId, resolveHome } from '../../src/stores/home.js';
import { main } from '../../src/cli/main.js';
import { buildProgram } from '../../src/cli/program.js';
import { jobFlags } from '../../src/cli/sentence.js';
import { decisionSettings, runOverrides } from '../../src/cli/session.js';
import { problemOf } from '../client/fake.js';
import { fakeIo } from './io.js';

const temp = () => mkdtemp(join(tmpdir(), 'emend-cli-'));
const program = buildProgram(fakeIo(), () => undefined, jobFlags());
/** Nobody listens on port 1. */
const nowhere = async () => ({
  EMEND_HOME: join(await temp(), 'home'),
  HOME: await temp(),
  TEMPORAL_ADDRESS: '127.0.0.1:1',
  EMEND_CONNECT_MS: '300',
});

describe('the command line', () => {
  test.each([
    [['--help'], 0],
    [['help', 'run'], 0],
    [['--version'], 0],
    [[], 2],
    [['nonsense'], 2],
    [['show'], 2],
    [['show', 'abcd', 'more'], 2],
    [['run', 'job.md', '--nonsense'], 2],
    [['run', 'job.md', '--set', 'budget_tokns=1'], 2],
    [['decide', 'abcd', 'perhaps'], 2],
    [['recover', '--undo', 'abcd', '--keep', 'abcd'], 2],
    [['gc', '--older-than', 'soon'], 2],
    [['rehearse', 'script.yaml', '--port', '99999'], 2],
  ] as const)('emend %j ends with %d', async (args, exit) => {
    const io = fakeIo({ env: await nowhere() });
    expect(await main(args, io)).toBe(exit);
    expect((io.printed.out + io.printed.err).trim()).not.toBe('');
    expect(io.printed.err).not.toMatch(/\n\s+at /);
  });

  test('help is broken for a terminal, and for nothing else', async () => {
    const helpOf = async (isTty: boolean, columns?: number): Promise<readonly string[]> => {
      const io = fakeIo({ isTty, ...(columns === undefined ? {} : { columns }) });
      expect(await main(['help', 'run'], io)).toBe(0);
      return io.printed.out.split('\n');
    };
    const flags = (lines: readonly string[]): number =>
      lines.filter((text) => /^ {2}-/.test(text)).length;
    const [piped, narrow, wide] = [
      await helpOf(false),
      await helpOf(true, 80),
      await helpOf(true, 200),
    ];
    expect(flags(piped)).toBe(flags(narrow));
    expect(piped.filter((text) => /^ {10,}\S/.test(text))).toEqual([]);
    expect(narrow.filter((text) => /^ {10,}\S/.test(text)).length).toBeGreaterThan(3);
    const options = (lines: readonly string[]) =>
      lines.filter((text) => /^ {2}-|^ {10}/.test(text));
    expect(Math.max(...options(narrow).map((text) => text.length))).toBeLessThanOrEqual(80);
    expect(options(wide)).toEqual(options(piped));
    // What an option may be given repeatedly is no default.
    expect(piped.join('\n')).not.toContain('[]');
  });

  test("the version is the package's", async () => {
    const io = fakeIo();
    await main(['--version'], io);
    const { version } = JSON.parse(await readFile('package.json', 'utf8')) as { version: string };
    expect(io.printed.out.trim()).toBe(version);
  });

  test('a bad job starts nothing and writes nothing, not even a home', async () => {
    const env = await nowhere();
    const cwd = await temp();
    await writeFile(join(cwd, 'job.md'), '---\ntarget_files: [gone.ts]\n---\nDo it.\n');
    const io = fakeIo({ env, cwd });
    expect(await main(['run', 'job.md', '--dev'], io)).toBe(2);
    expect(io.printed.err).toContain('job.md:2: target_files: expected an existing file, gone.ts');
    expect(await readdir(cwd)).toEqual(['job.md']);
    await expect(readdir(env.EMEND_HOME)).rejects.toThrow('ENOENT');
  });

  test.each([
    'list',
    'show abcd',
    'gc',
    'recover',
    'recover --undo abcd',
    'undo',
    'plan pause plan.md',
    'plan check plan.md',
  ])(
    'emend %s refuses the home of another Emend with one sentence, and leaves it as it is',
    async (line) => {
      const [env, cwd] = [await nowhere(), await temp()];
      await writeFile(join(cwd, 'plan.md'), '# P\n');
      const other = {
        'host-id': `3 ${'a'.repeat(32)}`,
        'store-id': `3 ${'b'.repeat(32)}`,
        'store.json': '{"v":3}',
      };
      await mkdir(env.EMEND_HOME, { mode: 0o700 });
      for (const [name, text] of Object.entries(other))
        await writeFile(join(env.EMEND_HOME, name), `${text}\n`);
      const io = fakeIo({ env, cwd });
      expect(await main(line.split(' '), io)).toBe(1);
      const home = await realpath(env.EMEND_HOME);
      expect(io.printed.err).toContain(
        `The home at ${home} has version 3; this Emend reads version 2.`,
      );
      expect(io.printed.err).toContain('Another version of Emend wrote it');
      expect((await readdir(home)).sort()).toEqual(Object.keys(other).sort());
    },
  );

  test('no server and no key: what to type, exit code 7', async () => {
    const cwd = await temp();
    await writeFile(join(cwd, 'job.md'), '# Do it\n\nNow.\n');
    const io = fakeIo({ env: await nowhere(), cwd });
    expect(await main(['run', 'job.md'], io)).toBe(7);
    expect(io.printed.err).toMatch(/127\.0\.0\.1:1/);
    expect(await main(['run', 'job.md', '--dev'], io)).toBe(7);
    expect(io.printed.err).toContain('ANTHROPIC_API_KEY');
    expect(await main(['approve', 'abcd'], io)).toBe(7);
  });

  test('without a server reading commands answer from the archive', async () => {
    const env = await nowhere();
    const io = fakeIo({ env });
    const early = fakeIo({ env });
    expect(await main(['list'], early)).toBe(0);
    expect(early.printed.out).toMatch(
      /^No runs yet: .* Start one with: emend run -m "what to change"/,
    );
    const data = fakeIo({ env });
    expect(await main(['list', '--json'], data)).toBe(0);
    expect(JSON.parse(data.printed.out)).toMatchObject({
      runs: [],
      note: expect.stringMatching(/^No runs yet/),
    });
    expect(await main(['show', 'abcd'], early)).toBe(1);
    expect(early.printed.err).toContain('No runs yet');
    await expect(access(env.EMEND_HOME)).rejects.toThrow('ENOENT');
    await hostId(await resolveHome(env));
    expect(await main(['list', '--json'], io)).toBe(0);
    expect(JSON.parse(io.printed.out)).toMatchObject({ runs: [] });
    // It may be on the server that does not answer: nobody can say that there is no such run.
    expect(await main(['show', 'abcd'], io)).toBe(7);
    expect(io.printed.err).toContain('No run starts with "abcd"');
  });
});

describe('--set', () => {
  test('reads limits, model and command; a run takes limits and requireCompleteSentinel', async () => {
    expect(
      await decisionSettings(['budget_tokens=1_000', 'model=x', 'command=npm test -- a=b']),
    ).toEqual({
      budget_tokens: 1000,
      model: 'x',
      command: 'npm test -- a=b',
    });
    expect(await runOverrides(['maxAttemptsPerFile=3', 'requireCompleteSentinel=false'])).toEqual({
      maxAttemptsPerFile: 3,
      requireCompleteSentinel: false,
    });
    expect(
      await problemOf(() => decisionSettings(['requireCompleteSentinel=false'])),
    ).toMatchObject({
      code: 'usage',
      message: expect.stringContaining('applies to runs'),
    });
    for (const bad of ['model=x', 'command=ls', 'nothing', 'concurrency=0', 'concurrency=x'])
      expect(await problemOf(() => runOverrides([bad]))).toMatchObject({ code: 'usage' });
  });
});

describe('colour', () => {
  test.each([
    [{}, true, true],
    [{}, false, false],
    [{ NO_COLOR: '1' }, true, false],
    [{ NO_COLOR: '' }, true, true],
    [{ FORCE_COLOR: '1' }, false, true],
    [{ FORCE_COLOR: '1', NO_COLOR: '1' }, true, false],
    [{ TERM: 'dumb' }, true, false],
  ])('%j on a terminal: %j gives %j', (env, isTty, colour) => {
    expect(wantsColor(env, isTty)).toBe(colour);
  });
});

describe('docs/cli.md', () => {
  test('describes every command with every flag, and nothing that is not there', async () => {
    const doc = await readFile('docs/cli.md', 'utf8');
    const sections = new Map(
      doc
        .split(/^### /m)
        .slice(1)
        .map((text) => [/`emend ([a-z]+)[^`]*`/.exec(text)?.[1] ?? '', text]),
    );
    expect([...sections.keys()].sort()).toEqual(
      ['help', ...program.commands.map((command) => command.name())].sort(),
    );
    // What all answers share is said once, above them.
    const answers = /^## Answers\n([^]*?)^### /m.exec(doc)?.[1] ?? '';
    for (const command of program.commands) {
      const said =
        (sections.get(command.name()) ?? '') +
        (command.options.some(({ long }) => long === '--decision') ? answers : '');
      for (const { long } of command.options.filter(({ hidden }) => !hidden))
        expect(`${command.name()}: ${said}`).toContain(long ?? '');
    }
  });
});
