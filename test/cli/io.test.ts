/** `--quiet` by command: what goes, what stays, and that nothing else changes. */
import { execFile } from 'node:child_process';
import { tmpdir } from 'node:os';
import { promisify } from 'node:util';
import { expect, test } from '@jest/globals';
import { buildProgram } from '../../src/cli/program.js';
import { literally } from '../../src/shared/text.js';
import { sampled } from '../support/seeded.js';
import { fakeIo } from './io.js';
import { ONLY_RESULTS, QUIET_TABLE } from './quiet-table.js';
import { played, type Played } from './situations.js';

const TEMP = new RegExp(`${literally(tmpdir())}/[\\w/-]+`, 'g');
/** Without what differs from run to run: keys, ports, times. */
const linesOf = ({ out, err }: Played): readonly string[] =>
  `${out}${err}`
    .replaceAll(/\b[0-9a-f]{8,}\b/g, 'KEY')
    .replaceAll(/:\d{2,}/g, ':N')
    .replaceAll(TEMP, 'DIR')
    .split('\n')
    .map((text) => text.replace(/\.$/, ''));

const CASES = QUIET_TABLE.flatMap(({ cases }) =>
  cases.map((each) => [each.situation, each.line, each.typed ?? [], each] as const),
);
test.each(sampled('quiet commands', CASES, 8))(
  '%s: emend %s %j',
  async (situation, line, typed, { loses, keeps }) => {
    const isTty = typed.length > 0;
    const loud = await played(situation, line, { isTty, typed });
    const quiet = await played(situation, `${line} --quiet`, { isTty, typed });
    expect({ line, exit: quiet.exit, asked: quiet.asked }).toEqual({
      line,
      exit: loud.exit,
      asked: loud.asked,
    });
    const said = linesOf(loud);
    expect(said.join('\n')).toContain(loses);
    expect(said.join('\n')).toContain(keeps);
    expect(linesOf(quiet).join('\n')).not.toContain(loses);
    expect(linesOf(quiet).join('\n')).toContain(keeps);
    // It says nothing of its own: each line is one of the others, or begins one.
    expect(linesOf(quiet).filter((text) => !said.some((each) => each.startsWith(text)))).toEqual(
      [],
    );
  },
);

test('words of others reach neither stdout nor stderr with control characters, whichever command forgot to escape them', async () => {
  const said =
    'colors: \u001b[31mred\u001b[39m, none: \u001b[2J \u001b]0;title\u0007 \u009b1A \r \u202e\tend';
  const program = `import { processIo } from './src/cli/io.ts'; for (const to of ['out', 'err']) processIo()[to](${JSON.stringify(said)});`;
  const args = [
    '--no-warnings',
    '--import',
    './scripts/typescript.js',
    '--input-type=module',
    '-e',
    program,
  ];
  const { stdout, stderr } = await promisify(execFile)(process.execPath, args);
  const hidden = 'none: \\x1b[2J \\x1b]0;title\\x07 \\x9b1A \\x0d \\u{202E}\tend\n';
  expect(stdout).toBe(`colors: \u001b[31mred\u001b[39m, ${hidden}`);
  expect(stderr).toBe(`colors: \\x1b[31mred\\x1b[39m, ${hidden}`);
});

test('every command has the flag, or says why not', () => {
  const flagged = new Map(
    buildProgram(fakeIo(), () => undefined).commands.flatMap((command) => {
      const own = (each: typeof command, name: string) =>
        [name, each.options.some(({ long }) => long === '--quiet')] as const;
      return command.commands.length === 0
        ? [own(command, command.name())]
        : command.commands.map((each) => own(each, `${command.name()} ${each.name()}`));
    }),
  );
  const names = (wanted: boolean): readonly string[] =>
    [...flagged]
      .filter(([, has]) => has === wanted)
      .map(([name]) => name)
      .sort();
  expect(QUIET_TABLE.map(({ command }) => command).sort()).toEqual(names(true));
  expect(Object.keys(ONLY_RESULTS).sort()).toEqual(names(false));
});
