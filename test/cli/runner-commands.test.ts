/** F6: words of others that GitHub Actions would take for commands. Real processes, as a runner reads their output. */
import { execFile, spawnSync } from 'node:child_process';
import { mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, describe, expect, test } from '@jest/globals';

const dir = mkdtempSync(join(tmpdir(), 'emend-runner-'));
afterAll(() => rmSync(dir, { recursive: true, force: true }));

const nodeArgs = (program: string): string[] => [
  '--no-warnings',
  '--import',
  './scripts/typescript.js',
  '--input-type=module',
  '-e',
  `import { processIo } from './src/cli/io.ts'; const io = processIo(); ${program}`,
];
const printed = (program: string, more: Readonly<Record<string, string>> = {}) =>
  promisify(execFile)(process.execPath, nodeArgs(program), {
    env: { ...process.env, GITHUB_ACTIONS: 'true', ...more },
  });

/** As the runner reads a line: `TryParseV2`, then `TryParse` of ActionCommand.cs in actions/runner. */
const commandsIn = (output: string): readonly string[] => {
  let stopped: string | null = null;
  return output.split(/\r\n|[\r\n]/).filter((line) => {
    const text = line.trimStart();
    if (stopped !== null) {
      if (text === `::${stopped}::`) stopped = null;
      return false;
    }
    const stop = /^::stop-commands::(.+)$/.exec(text);
    if (stop !== null) stopped = stop[1] ?? null;
    return stop === null && (/^::.*::/.test(text) || line.includes('##['));
  });
};

const WORDS = [
  'the hook failed:',
  '::set-output name=a::b',
  '  \t::add-mask::secret',
  'in a line: ##[add-mask]x and std::string::npos',
  'red \u001b[31m::error::x\u001b[39m',
].join('\n');

describe('F6: commands to GitHub Actions', () => {
  test('what reads the output would obey these words', () => {
    expect(commandsIn(WORDS)).toHaveLength(3);
  });

  test.each(['out', 'err'])('io.%s prints none, and every word stays readable', async (to) => {
    const { stdout, stderr } = await printed(`io.${to}(${JSON.stringify(WORDS)})`);
    const text = stdout + stderr;
    expect(commandsIn(text)).toEqual([]);
    expect(text).toContain(': :set-output name=a::b\n  \t: :add-mask::secret\n');
    expect(text).toContain('in a line: # #[add-mask]x and std::string::npos');
  });

  test('JSON says the same as before, without a command', async () => {
    const value = { text: WORDS };
    const { stdout } = await printed(`io.out(${JSON.stringify(JSON.stringify(value))})`);
    expect(commandsIn(stdout)).toEqual([]);
    expect(JSON.parse(stdout)).toEqual(value);
  });

  test('a diff keeps its bytes, is not obeyed, and git applies it', async () => {
    const diff = [
      'diff --git a/a.txt b/a.txt',
      '--- a/a.txt',
      '+++ b/a.txt',
      '@@ -1,2 +1,2 @@',
      ' ::add-mask::secret',
      '-old ##[add-mask]x',
      '+new ##[add-mask]x',
      '',
    ].join('\n');
    const { stdout } = await printed(`io.write(${JSON.stringify(diff)})`);
    expect(commandsIn(stdout)).toEqual([]);
    expect(stdout).toContain(diff);
    writeFileSync(join(dir, 'a.txt'), '::add-mask::secret\nold ##[add-mask]x\n');
    const applied = spawnSync('git', ['apply', '-'], { cwd: dir, input: stdout });
    expect(applied.stderr.toString()).toBe('');
    expect(readFileSync(join(dir, 'a.txt'), 'utf8')).toBe(
      '::add-mask::secret\nnew ##[add-mask]x\n',
    );
  });

  test('a file gets the bytes alone', () => {
    const out = openSync(join(dir, 'out'), 'w');
    const text = '::add-mask::x\n';
    spawnSync(process.execPath, nodeArgs(`io.write(${JSON.stringify(text)})`), {
      stdio: ['ignore', out, 'inherit'],
      env: { ...process.env, GITHUB_ACTIONS: 'true' },
    });
    expect(readFileSync(join(dir, 'out'), 'utf8')).toBe(text);
  });

  test('elsewhere nothing is changed, and an annotation stays a command', async () => {
    const { stdout } = await printed(`io.out('::std::x')`, { GITHUB_ACTIONS: '' });
    expect(stdout).toBe('::std::x\n');
    const { stderr } = await printed(`io.command('::error title=x::y')`);
    expect(commandsIn(stderr)).toEqual(['::error title=x::y']);
  });
});
