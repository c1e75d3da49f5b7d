/** The schemas of `--json`: they are what the types say, they refuse what is not as they say, and real outputs keep to them. */
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from '@jest/globals';
import { jsonText } from '../../src/cli/json.js';
import { main } from '../../src/cli/main.js';
import { problem } from '../../src/shared/problems.js';
import { visible } from '../../src/shared/text.js';
import { createArchive } from '../../src/stores/index.js';
import type { ArchiveEntry } from '../../src/stores/ports.js';
import { hostId } from '../../src/stores/home.js';
import { startedData } from '../client/fake.js';
import { archived, COMMANDS, damaged, faultsOf, printedFaults } from '../support/json-schema.js';
import { sampled } from '../support/seeded.js';
import { longOnly } from '../support/skipped.js';
import type { Situation } from './exit-table.js';
import { fakeIo } from './io.js';
import { played } from './situations.js';

const temp = () => mkdtemp(join(tmpdir(), 'emend-json-'));
const PLAN =
  '# Plan\n\n### Phase 1: One\n\n- [ ] Create `a.js`\n\n### Phase 2: Two\n\n- [ ] Create `b.js`\n';

longOnly('six seconds of the compiler; what is printed is held against the file')(
  'docs/reference/json.schema.json is what the types of src/cli/json-types.ts say',
  async () => {
    await promisify(execFile)(process.execPath, ['scripts/json-schema.js', '--check']);
  },
  120_000,
);

test('what a terminal hides, turns or obeys is escaped in it, and reads back as it was', () => {
  const message = '\u009b31m \x7f \u202E \u200b \u{E0041} \u2028 é 日本 \n';
  const text = jsonText('error', {
    error: { ...problem('disk', message), problems: [problem('disk', message)] },
    exit: 1,
  });
  expect(visible(text)).toBe(text);
  expect(text).toContain('é 日本');
  expect(JSON.parse(text)).toMatchObject({ error: { message } });
});

const LOCAL = [
  ['list', 0],
  ['stats', 0],
  ['recover', 0],
  ['doctor', 7],
  ['show abcdef', 7],
  ['diff abcdef', 7],
  ['run job.md', 2],
  ['undo', 0],
  ['patch answer.txt --check', 0],
  ['patch nothing.txt', 2],
  ['plan check plan.md', 0],
  ['plan score plan.md', 0],
  ['plan show plan.md', 0],
  ['plan expand phase plan.md 1', 0],
  ['plan expand phase plan.md 9', 2],
] as const;
test.each(sampled('commands without a server', LOCAL, 6))('emend %s --json', async (line, exit) => {
  const cwd = await temp();
  await writeFile(join(cwd, 'plan.md'), PLAN);
  await writeFile(join(cwd, 'a.js'), 'let a = 1;\n');
  await writeFile(
    join(cwd, 'answer.txt'),
    '--- a/a.js\n+++ b/a.js\n@@ -1 +1 @@\n-let a = 1;\n+let a = 2;\n',
  );
  const env = {
    EMEND_HOME: join(await temp(), 'home'),
    TEMPORAL_ADDRESS: '127.0.0.1:1',
    EMEND_CONNECT_MS: '300',
  };
  await hostId(env.EMEND_HOME);
  const io = fakeIo({ cwd, env: { ...env, HOME: cwd, PATH: process.env.PATH } });
  const args = [...line.split(' '), '--json'];
  const found = await main(args, io);
  if (found !== exit) throw new Error(`ended with ${found}: ${io.printed.err}`);
  expect(printedFaults(args, io.printed.out)).toEqual([]);
});

/** With a server that is a map: what a run or a plan's run comes to, as data. */
const SERVED: readonly (readonly [Situation, string, number])[] = [
  ['committed', 'run job.md', 0],
  ['limit', 'run job.md', 6],
  ['terminated', 'run job.md', 1],
  ['waits', 'run job.md', 3],
  ['no_worker', 'run job.md', 7],
  ['under_way', 'run job.md', 130],
  ['committed', 'plan run plan.md', 0],
  ['terminated', 'plan run plan.md', 1],
  ['waits', 'plan run plan.md', 3],
  ['paused', 'plan run plan.md', 3],
  ['no_worker', 'plan run plan.md', 7],
  ['under_way', 'plan run plan.md', 130],
  ['paused', 'plan pause plan.md', 0],
  ['paused', 'plan stop plan.md --after-phase', 0],
  ['paused', 'plan drift plan.md more', 0],
  ['paused', 'plan revise plan.md more', 0],
  ['waits', 'show RUN', 0],
  ['waits', 'diff RUN', 0],
  ['waits', 'report RUN', 0],
  ['under_way', 'watch RUN', 130],
  ['waits', 'list', 0],
  ['waits', 'approve RUN --decision 1-abcdabcd', 0],
  ['stale', 'approve RUN --decision 9-0', 2],
];
test.each(sampled('commands with a server', SERVED, 8))(
  '%s: emend %s --json',
  async (situation, line, exit) => {
    const found = await played(situation, `${line} --json`, { isTty: false });
    expect({ line, ...found }).toMatchObject({ exit, out: expect.stringContaining('{') });
    expect(printedFaults(line.split(' '), found.out)).toEqual([]);
  },
);

test('the schemas can refuse: a field that is missing, and one of another type', () => {
  const sent = { outcome: 'sent', decision: '1-a', message: 'm', via: 'signal' };
  expect(faultsOf('decide', sent)).toEqual([]);
  for (const name of Object.keys(sent)) {
    expect(faultsOf('decide', { ...sent, [name]: undefined })).not.toEqual([]);
    expect(faultsOf('decide', { ...sent, [name]: 7 })).not.toEqual([]);
  }
  // Fields may be added.
  expect(faultsOf('decide', { ...sent, more: 1 })).toEqual([]);
  expect(faultsOf('events', { seq: 1, at: 2, type: 'no_such_event' })).not.toEqual([]);
  expect(COMMANDS.length).toBeGreaterThan(20);
});

/** Of each number there is one event. */
const numbered = (data: unknown, seq: number): unknown =>
  typeof data === 'object' && data !== null && 'seq' in data && data.seq === 3
    ? { ...data, seq }
    : data;

test('entries of an archive that lack a part, or have one of another type, keep no command from telling the rest', async () => {
  const home = join(await temp(), 'home');
  await hostId(home);
  const [key, other] = ['a'.repeat(32), 'b'.repeat(32)];
  const wrong = archived().flatMap(({ kind, data }) => {
    const all =
      kind === 'proposal' || kind === 'usage' || kind === 'tests' ? [] : [...damaged(data)];
    const name = kind === 'tests' ? 'runTests' : 'buildProposal';
    const result = kind === 'tests' ? { ...(data as object), on: 'applied' } : { [kind]: data };
    const parts =
      all.length > 0 ? [] : [...damaged(result)].map((each) => ({ name, result: each }));
    return [
      ...all.map((each) => ({ kind, data: each })),
      ...parts.map((each) => ({ kind: 'activity', data: each })),
    ];
  });
  const at = new Date(0).toISOString();
  const entries = [{ kind: 'started', data: startedData({}) }, ...wrong];
  const archive = createArchive({ dir: join(home, 'archive') });
  await archive.append(
    key,
    entries.map(({ kind, data }, n) => ({
      id: `${n}`,
      at,
      kind,
      data: numbered(data, n),
    })) as ArchiveEntry[],
  );
  await archive.append(other, [{ id: '1', at, kind: 'started', data: startedData({}) }]);
  expect(wrong.length).toBeGreaterThan(3_000);
  const noFile = join(home, 'archive', 'c'.repeat(32), 'log.jsonl');
  await mkdir(noFile, { recursive: true });
  const binary = join(home, 'archive', 'd'.repeat(32), 'log.jsonl');
  await mkdir(dirname(binary), { recursive: true });
  await writeFile(binary, '\u0001\n7f\n\n{"v":2,"torn\n{\n\0\0{"v\n');
  const env = {
    EMEND_HOME: home,
    TEMPORAL_ADDRESS: '127.0.0.1:1',
    EMEND_CONNECT_MS: '300',
    HOME: home,
  };
  for (const command of [
    'list',
    'stats',
    'show a',
    'show a --json',
    'report a',
    'events a',
    'stats a',
  ]) {
    const io = fakeIo({ env });
    const exit = await main(command.replace(/ a/, ` ${key}`).split(' '), io);
    expect({ command, exit, err: io.printed.err }).toMatchObject({
      exit: 0,
      err: expect.not.stringContaining('Unexpected'),
    });
    if (command === 'list') expect(io.printed.out).toContain('bbbbbbbb');
    if (/list|stats$/.test(command)) {
      const said = io.printed.out + io.printed.err;
      expect(said).toContain(`${noFile} is a directory, expected a file`);
      expect(said).toMatch(
        /Damaged entries of its archive .* omitted: 2; restore archive\/d{32} in the store/,
      );
    }
    if (command === 'stats') expect(io.printed.out).toMatch(/^2 runs\n/);
    if (!/list|stats a/.test(command))
      expect(io.printed.err + io.printed.out).toMatch(
        /Damaged entries of its archive .* omitted: \d{4}; restore archive\/a{32} in the store/,
      );
  }
});
