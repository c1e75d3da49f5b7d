/**
 * Every row of exit-table.ts, in a terminal and without one. Where a row needs a server it is a map; the end-to-end tests that a row
 * names show the same with a real one.
 */
import { readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { buildProgram } from '../../src/cli/program.js';
import { EXIT, EXIT_MEANS } from '../../src/shared/problems.js';
import { EXIT_TABLE, SERVED } from './exit-table.js';
import { fakeIo } from './io.js';
import { played } from './situations.js';
import { spread } from '../support/seeded.js';

const cases = EXIT_TABLE.flatMap((row) => [
  ['without a terminal', row, row.without] as const,
  ['in a terminal', row, row.terminal === 'same' ? row.without : row.terminal] as const,
]);
test.each(
  spread(cases, 24).map((each) => [each[1].situation, each[1].line, each[0], each] as const),
)('%s: emend %s, %s', async (_situation, line, _where, [where, row, { exit, prints }]) => {
  const isTty = where === 'in a terminal';
  const { exit: code, out, err, asked } = await played(row.situation, line, { isTty, ...row });
  expect({ line, code, said: `${out}${err}` }).toMatchObject({
    code: exit,
    said: expect.stringContaining(prints),
  });
  // Nobody is asked who is not there, nor who wants JSON.
  expect(asked.length > 0).toBe(isTty && row.typed !== undefined);
});

test('who names no decision is shown its id, the hash of the proposal and the files before anything is sent', async () => {
  const { out, asked } = await played('waits', 'approve RUN', { isTty: true, typed: ['n'] });
  expect(out).toMatch(
    /^waiting for you: approval {3}\(decision 1-abcdabcd\)\n {2}proposal 11111111: 1 file, \+1 -1\n.*a\.txt/s,
  );
  expect(asked).toEqual(['approve? [y/N] ']);
  // What would be applied, not only its name.
  expect(out).toContain('+two');
  const { err } = await played('waits', 'revise RUN --note why?', { isTty: false });
  expect(err).toMatch(/ Type: emend revise [0-9a-f]{8} --decision 1-abcdabcd --note 'why\?'\n/);
});

test('every command and every exit code has its row, and the end-to-end tests that rows name are there', () => {
  const leaves = buildProgram(fakeIo(), () => undefined).commands.flatMap((command) =>
    command.commands.length === 0
      ? [command.name()]
      : command.commands.map((each) => `${command.name()} ${each.name()}`),
  );
  const shown = new Set([
    ...EXIT_TABLE.flatMap(({ line }) => {
      const [first = '', second = ''] = line.split(' ');
      return [first, `${first} ${second}`];
    }),
    ...Object.keys(SERVED),
  ]);
  expect(leaves.filter((name) => !shown.has(name))).toEqual([]);
  expect(Object.keys(SERVED).filter((name) => !leaves.includes(name))).toEqual([]);
  const codes = new Set(
    EXIT_TABLE.flatMap(({ terminal, without }) => [
      without,
      terminal === 'same' ? without : terminal,
    ]).map(({ exit }) => exit),
  );
  expect([...codes].sort()).toEqual(Object.values(EXIT).sort());
  for (const [file, name] of [
    ...EXIT_TABLE.flatMap(({ e2e }) => (e2e === undefined ? [] : [e2e])),
    ...Object.values(SERVED),
  ])
    expect(readFileSync(file, 'utf8')).toContain(`'${name}'`);
});

test('docs/cli.md says of each code what the program says', () => {
  const doc = readFileSync('docs/cli.md', 'utf8');
  for (const [name, means] of Object.entries(EXIT_MEANS))
    expect(doc).toContain(`| ${EXIT[name as keyof typeof EXIT]} | ${means} |\n`);
});
