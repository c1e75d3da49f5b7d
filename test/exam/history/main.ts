/** `npm run exam:history -- REPO --count N`: see docs/measures.md. Exit codes: 0 nothing wrong, 1 something wrong, 2 usage or no such repository. */
import { parseArgs } from 'node:util';
import { DIALECTS, FORMATS, type AnswerFormat } from '../../../src/shared/formats.js';
import { asCommand } from '../command.js';
import { exam, type ExamOptions } from './exam.js';

const ALL: readonly string[] = [...FORMATS, ...DIALECTS];
const USAGE = `npm run exam:history -- REPO --count N [options]
  REPO              a git repository: a working tree, a bare repository or a mirror's git directory
  --count N         commits to replay, drawn from those that are no merges (200)
  --seed S          brings a run's draw back; printed
  --ref REF         whose history (HEAD)
  --formats A,B     of ${ALL.join(', ')}; default the first four; "all"
  --encoding NAME   what files that are not UTF-8 are configured as (windows-1252); "none": edited byte for byte
  --examples        show refusals of each class`;

const whole = (name: string, value: string, least: number): number => {
  if (!/^\d{1,10}$/.test(value) || Number(value) < least)
    throw new Error(`--${name}: expected a whole number from ${least}, received ${value}`);
  return Number(value);
};

const readOptions = (): (ExamOptions & { readonly examples: boolean }) | null => {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      count: { type: 'string', default: '200' },
      seed: { type: 'string', default: `${Date.now() % 2 ** 31}` },
      ref: { type: 'string', default: 'HEAD' },
      formats: { type: 'string', default: FORMATS.join(',') },
      encoding: { type: 'string', default: 'windows-1252' },
      examples: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) return null;
  const [repo, ...more] = positionals;
  if (repo === undefined || more.length > 0) throw new Error('one repository is expected');
  const formats = values.formats === 'all' ? ALL : values.formats.split(',');
  const unknown = formats.find((format) => !ALL.includes(format));
  if (unknown !== undefined)
    throw new Error(`--formats: unknown ${unknown}; known are ${ALL.join(', ')}`);
  return {
    repo,
    ref: values.ref,
    count: whole('count', values.count, 1),
    seed: whole('seed', values.seed, 0),
    formats: formats as AnswerFormat[],
    examples: values.examples,
    ...(values.encoding === 'none' ? {} : { encoding: values.encoding }),
  };
};

const main = async (options: NonNullable<ReturnType<typeof readOptions>>): Promise<number> => {
  const { repo, count, seed, examples } = options;
  process.stdout.write(`${repo}: ${count} commits, seed ${seed}\n`);
  const started = Date.now();
  const { tally, commits } = await exam(options);
  const peak_mib = Math.round(process.resourceUsage().maxRSS / 1024);
  const seconds = ((Date.now() - started) / 1000).toFixed(1);
  process.stdout.write(
    `\n${commits} commits, ${seconds} s, peak memory ${peak_mib} MiB\n\n${tally.print(examples)}`,
  );
  if (tally.files === 0)
    process.stderr.write('No change that a format could say: nothing was shown.\n');
  return tally.wrong > 0 ? 1 : tally.files === 0 ? 2 : 0;
};

await asCommand(USAGE, readOptions, main);
