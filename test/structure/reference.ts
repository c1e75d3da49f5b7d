/**
 * docs/reference.md, made from the sources: commands from the command line itself, events from their types, reasons from their table; the
 * table of activities in docs/operations.md; and docs/reference/bounds.md from the marks `// bound`.
 */
import { BEGIN_RUN_OPTIONS } from '../../src/shared/begin-run.js';
import { readdirSync, readFileSync } from 'node:fs';
import type { Command } from 'commander';
import ts from 'typescript';
import { buildProgram } from '../../src/cli/program.js';
import { jobFlags } from '../../src/cli/sentence.js';
import { ACTIVITIES, type ActivitySpec, type Amount } from '../../src/shared/activities.js';
import { PROTECTED } from '../../src/documents/job/protected-patterns.js';
import { ANSWER_MEANS, ANSWERS_BY_REASON } from '../../src/shared/decisions.js';
import { EXIT, EXIT_MEANS } from '../../src/shared/problems.js';
import { currentRules } from '../../src/shared/rules.js';
import { resolveTimings } from '../../src/temporal/settings.js';
import { EXIT_TABLE, SERVED, SITUATIONS, type ExitRow } from '../cli/exit-table.js';
import { fakeIo } from '../cli/io.js';
import { ONLY_RESULTS, QUIET_TABLE } from '../cli/quiet-table.js';

const HEAD = `# Reference

Generated from the sources by \`npm run reference\`; a test compares them. The rest of the reference: [the command line and its exit codes](cli.md), [job files](jobs.md), [configuration](configuration.md),
[plans](plans.md), [formats](formats.md), [timing and worker settings](operations.md#timing-and-worker-settings), [fixed bounds](reference/bounds.md), [the edit engine as a library](library.md).
`;

const cell = (text: string): string => text.replaceAll('|', '\\|').replaceAll(/\s+/g, ' ');
const table = (heads: readonly string[], rows: readonly (readonly string[])[]): string =>
  [heads, heads.map(() => '---'), ...rows]
    .map((row) => `| ${row.map(cell).join(' | ')} |`)
    .join('\n');

const commandRows = (command: Command, before = 'emend'): string[][] =>
  command.commands.flatMap((each) => {
    const name = `${before} ${each.name()}`;
    const given = each.registeredArguments.map((arg) => {
      const shown = `${arg.name()}${arg.variadic ? '...' : ''}`;
      return arg.required ? `<${shown}>` : `[${shown}]`;
    });
    const flags = each.options.map((option) => `\`${option.flags}\``).join(', ');
    // Of a command with others below it only what it does by itself: its arguments or flags say that it does.
    const isDoor = each.commands.length > 0 && given.length === 0 && flags === '';
    const own = isDoor ? [] : [[`\`${[name, ...given].join(' ')}\``, each.description(), flags]];
    return [...own, ...commandRows(each, name)];
  });

const testOf = (named: readonly [string, string] | undefined): string =>
  named === undefined ? '' : `${named[0]}: ${named[1]}`;
const endOf = ({ exit, does }: ExitRow['without']): string => `**${exit}** ${does}`;
const exitRows = (): string[][] => [
  ...EXIT_TABLE.map(({ situation, line, terminal, without, e2e }) => [
    SITUATIONS[situation],
    `\`${`emend ${line}`.trim()}\``,
    terminal === 'same' ? 'the same' : endOf(terminal),
    endOf(without),
    testOf(e2e),
  ]),
  ...Object.entries(SERVED).map(([name, named]) => [
    SITUATIONS.serving,
    `\`emend ${name}\``,
    'the same',
    endOf({ exit: EXIT.done, does: 'stops what it started', prints: '' }),
    testOf(named),
  ]),
];

/** Members of an interface that are type literals, with the text of their fields. */
const eventRows = (path: string, name: string): string[][] => {
  const file = ts.createSourceFile(path, readFileSync(path, 'utf8'), ts.ScriptTarget.ES2022, true);
  const found = file.statements.find(
    (each): each is ts.InterfaceDeclaration =>
      ts.isInterfaceDeclaration(each) && each.name.text === name,
  );
  if (found === undefined) throw new Error(`no interface ${name} in ${path}`);
  return found.members.filter(ts.isPropertySignature).flatMap((event) => {
    if (
      event.type?.getText() !== 'object' &&
      (event.type === undefined || !ts.isTypeLiteralNode(event.type))
    )
      return [];
    const members = ts.isTypeLiteralNode(event.type)
      ? event.type.members.filter(ts.isPropertySignature)
      : [];
    const fields = members.map((member) => {
      const mark = member.questionToken === undefined ? '' : '?';
      return `\`${member.name.getText()}${mark}: ${member.type?.getText().replaceAll(/\breadonly /g, '') ?? ''}\``;
    });
    return [[`\`${event.name.getText()}\``, fields.join(', ')]];
  });
};

export const reference = (): string => {
  const reasons = Object.entries(ANSWERS_BY_REASON).map(([reason, answers]) => [
    `\`${reason}\``,
    [...answers, 'abort'].map((answer) => `\`${answer}\``).join(', '),
  ]);
  const answers = Object.entries(ANSWER_MEANS).map(([answer, means]) => [`\`${answer}\``, means]);
  return [
    HEAD,
    '## Commands\n',
    table(
      ['command', 'what it does', 'flags'],
      commandRows(buildProgram(fakeIo(), () => undefined, jobFlags())),
    ),
    '\n## Exit codes\n',
    table(
      ['code', 'meaning'],
      Object.entries(EXIT_MEANS).map(([name, means]) => [
        String(EXIT[name as keyof typeof EXIT]),
        means,
      ]),
    ),
    '\nIn a terminal (stdin and stdout) and without one; each row is a case of test/cli/exit-table.test.ts, with a simulated server; the last column names the end-to-end test with a real one. A',
    'command that follows a run exits as the run does: the rows of `emend run` also apply to `emend plan run`.\n',
    table(['situation', 'typed', 'in a terminal', 'without one', 'end to end'], exitRows()),
    '\n## What --quiet omits\n',
    table(
      ['command', 'omitted'],
      QUIET_TABLE.map(({ command, leavesOut }) => [`\`emend ${command}\``, leavesOut]),
    ),
    '\nThe others print only their result:\n',
    table(
      ['command', 'what it prints'],
      Object.entries(ONLY_RESULTS).map(([command, what]) => [`\`emend ${command}\``, what]),
    ),
    '\n## Events\n',
    '`emend events RUN --json` prints one a line, each with `seq` (rises by one) and `at` (ms since the epoch). Of a job:\n',
    table(['type', 'fields'], eventRows('src/shared/events.ts', 'JobEvents')),
    '\nOf a plan:\n',
    table(['type', 'fields'], eventRows('src/shared/events.ts', 'PlanEvents')),
    '\n## Reasons of decisions, and their answers\n',
    'What each means: [decision-points.md](decision-points.md). What usually helps: [troubleshooting.md](troubleshooting.md).\n',
    table(['reason', 'answers'], reasons),
    '',
    table(['answer', 'what it does'], answers),
    '\n## Protected paths\n',
    'A change to one is shown to a person ([configuration.md](configuration.md#protected-paths)). Gitignore-style patterns; one that ends in a slash is a folder.\n',
    table(
      ['why', 'patterns'],
      Object.entries(PROTECTED).map(([why, patterns]) => [
        why,
        patterns.trim().replaceAll(/\S+/g, '`$&`'),
      ]),
    ),
    '',
  ].join('\n');
};

const UNITS = [
  ['h', 3_600_000],
  ['min', 60_000],
  ['s', 1_000],
] as const;
const duration = (ms: number): string => {
  const [unit, of] = UNITS.find(([, each]) => ms % each === 0) ?? ['ms', 1];
  return `${ms / of} ${unit}`;
};
const QUEUES = {
  host: '`emend-host-<id>`',
  command: '`emend-host-<id>-commands`',
  model: '`emend-model`',
  workflow: '`emend`',
};

/** With the default of each timing. */
export const activityTable = (): string => {
  const defaults = { ...currentRules().bounds, ...resolveTimings({}) };
  const timeOf = (name: Amount | undefined): string =>
    name === undefined ? 'none' : duration(defaults[name]);
  const partOf = ([name, times]: [string, number | 'files']): string => {
    const each =
      name === 'timeout_s' ? '`testTimeout_s`' : duration(defaults[name as Amount] * 1000);
    return times === 'files' ? `${each} a file` : times === 1 ? each : `${times} × ${each}`;
  };
  const { work: firstWork, why: firstWhy } = ACTIVITIES.beginRun;
  const limit = BEGIN_RUN_OPTIONS.startToCloseTimeout;
  const first = [
    ...['`beginRun`', firstWork, QUEUES.workflow],
    ...['none', limit, 'none', BEGIN_RUN_OPTIONS.heartbeatTimeout, 'no limit', firstWhy],
  ];
  const { beginRun: _first, ...others } = ACTIVITIES;
  const rows = Object.entries<ActivitySpec>(others).map(
    ([name, { role, mayRunCommands, timeouts, retry, more_s, work, why }]) => {
      const own = timeOf(timeouts.startToCloseTimeout);
      const parts = Object.entries(more_s ?? {}).map(partOf);
      return [
        `\`${name}\``,
        work,
        `${QUEUES[role]}${mayRunCommands === true ? `, or ${QUEUES.command}` : ''}`,
        timeOf(timeouts.scheduleToStartTimeout),
        [own, ...parts].join(' + '),
        timeOf(timeouts.scheduleToCloseTimeout),
        timeOf(timeouts.heartbeatTimeout),
        String(defaults[retry.maximumAttempts]),
        why,
      ];
    },
  );
  const times = [
    'schedule to start',
    'start to close',
    'schedule to close',
    'heartbeat',
    'attempts',
  ];
  return table(['activity', 'what it does', 'queue', ...times, 'why'], [first, ...rows]);
};

const BOUNDS_HEAD = `# Bounds

Generated by \`npm run reference\` from the marks \`// bound\` in the sources; a test compares them. These numbers are fixed; those that a job or a machine can set are in [configuration.md](../configuration.md) and
[operations.md](../operations.md#timing-and-worker-settings). A name ends with its unit; without one it is a count. Values are written as in the code. A sentence may continue in the next row.
`;
type Bound = readonly [name: string, value: string, meaning: string, file: string];

/** `const NAME = 20; // bound: why`, or the reason in the line before. */
const marked = (path: string): readonly Bound[] => {
  const text = readFileSync(path, 'utf8');
  const found = text.matchAll(
    /^(?:\/\/ bound: (.+)\n)?(?:export )?const (\w+)(?:: \w+)? = (.+?);(?: (\/\/ bound)(?:: (.+))?)?$/gm,
  );
  const bounds = [...found].filter(
    ([, before, , , mark]) => before !== undefined || mark !== undefined,
  );
  if (bounds.length !== text.split('// bound').length - 1)
    throw new Error(`${path}: a mark stands at no constant of the file`);
  return bounds.map(([, before, name = '', value = '', , after]) => [
    name,
    value,
    before ?? after ?? '',
    path,
  ]);
};

/** Entries of a table of bounds, with the comment before them. */
const listed = (path: string, from: string): readonly Bound[] => {
  const found = readFileSync(path, 'utf8')
    .split(from)[1]
    ?.matchAll(/^(?: {2}\/\/ (.+)\n)? {2}(\w+): ([\w *]+),$/gm);
  return [...(found ?? [])].map(([, meaning = '', name = '', value = '']) => [
    name,
    value,
    meaning,
    path,
  ]);
};

export const boundsPage = (): string => {
  const rooms = readdirSync('src').map((room): readonly [string, readonly Bound[]] => [
    `src/${room}`,
    room === 'shared'
      ? [
          ...listed('src/shared/bounds.ts', 'bounds ='),
          ...listed('src/shared/limits.ts', 'export const BOUNDS ='),
        ]
      : readdirSync(`src/${room}`, { recursive: true, encoding: 'utf8' })
          .filter((path) => /[.]tsx?$/.test(path))
          .sort()
          .flatMap((path) => marked(`src/${room}/${path}`)),
  ]);
  const all = [...rooms, ['worker.ts', marked('worker.ts')] as const].filter(
    ([, bounds]) => bounds.length > 0,
  );
  const tables = all.map(([room, bounds]) =>
    [
      `\n## ${room}\n`,
      table(
        ['name', 'value', 'meaning', 'file'],
        bounds.map(([name, value, meaning, file]) => [
          `\`${name}\``,
          value,
          meaning,
          file.replace(`${room}/`, ''),
        ]),
      ),
    ].join('\n'),
  );
  return `${BOUNDS_HEAD}${tables.join('\n')}\n`;
};
