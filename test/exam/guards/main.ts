/** `npm run exam:guards -- REPO --count N`: see docs/measures.md. Exit codes: 0 as few alarms as allowed, 1 more, 2 usage or no such repository. */
import { parseArgs } from 'node:util';
import { GUARDS } from '../../../src/shared/formats.js';
import { asCommand } from '../command.js';
import { guardExam, type GuardExamOptions } from './exam.js';

const ALL: readonly string[] = Object.keys(GUARDS);
const DEFAULT = 'syntax,escaped_text,tool_remnant,listing_numbers,diff_as_text,glued_lines';
const USAGE = `npm run exam:guards -- REPO --count N [options]
  REPO           a git repository: a working tree, a bare repository or a mirror's git directory
  --count N      commits to look at, drawn from those that are no merges and touch JSON, YAML, TOML, a notebook or a Makefile (200)
  --any          draws from all commits that are no merges
  --seed S       repeats a run's draw; printed
  --ref REF      whose history (HEAD)
  --guards A,B   of ${ALL.join(', ')} (${DEFAULT}); "all"
  --allowed N    alarms that are allowed (0)`;

type Options = GuardExamOptions & { readonly allowed: number };

const readOptions = (): Options | null => {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      count: { type: 'string', default: '200' },
      any: { type: 'boolean', default: false },
      seed: { type: 'string', default: `${Date.now() % 2 ** 31}` },
      ref: { type: 'string', default: 'HEAD' },
      guards: { type: 'string', default: DEFAULT },
      allowed: { type: 'string', default: '0' },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) return null;
  const [repo, ...more] = positionals;
  if (repo === undefined || more.length > 0) throw new Error('one repository is expected');
  for (const name of ['count', 'seed', 'allowed'] as const)
    if (!/^\d{1,10}$/.test(values[name]))
      throw new Error(`--${name}: expected a whole number, received ${values[name]}`);
  const guards = values.guards === 'all' ? ALL : values.guards.split(',');
  const unknown = guards.find((guard) => !ALL.includes(guard));
  if (unknown !== undefined)
    throw new Error(`--guards: unknown ${unknown}; known are ${ALL.join(', ')}`);
  return {
    repo,
    ref: values.ref,
    count: Number(values.count),
    seed: Number(values.seed),
    guards: new Set(guards),
    anyCommit: values.any,
    allowed: Number(values.allowed),
  };
};

const main = async (options: Options): Promise<number> => {
  const { repo, seed, allowed } = options;
  const started = Date.now();
  const { commits, files, alarms } = await guardExam(options);
  const seconds = ((Date.now() - started) / 1000).toFixed(1);
  const counts = [...files].map(([language, count]) => `${count} ${language}`).join(', ');
  process.stdout.write(
    `${repo}: ${commits} commits, seed ${seed}, ${seconds} s; files parsed: ${counts || 'none'}\n`,
  );
  for (const { commit, guard, path, message } of alarms)
    process.stdout.write(`  ${commit.slice(0, 10)} ${guard} ${path}: ${message}\n`);
  const alarmed = new Set(alarms.map(({ commit }) => commit)).size;
  process.stdout.write(`  ${alarms.length} alarms in ${alarmed} commits\n`);
  if (commits === 0) process.stderr.write('No such commit: nothing was shown.\n');
  if (alarmed > allowed) return 1;
  return commits === 0 ? 2 : 0;
};

await asCommand(USAGE, readOptions, main);
