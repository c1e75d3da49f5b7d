/** `npm run exam:secrets`: see docs/measures.md. Exit codes: 0 as well as it has to be, 1 worse, 2 usage. */
import { parseArgs } from 'node:util';
import { hidden, LEAST_HIDDEN, MOST_TOUCHED, untouched } from './exam.js';

const USAGE = `npm run exam:secrets -- [options]
  --seed S      brings a draw back; printed
  --rounds N    of each of 40 secrets in each of 8 kinds of file (5)
  --files N     of installed packages, without secrets (3000)
  --dir DIR     where they are (node_modules)`;

const percent = (part: number, whole: number): string => `${((100 * part) / whole).toFixed(2)} %`;

const main = async (): Promise<number> => {
  const given = () =>
    parseArgs({
      options: {
        seed: { type: 'string', default: `${Date.now() % 2 ** 31}` },
        rounds: { type: 'string', default: '5' },
        files: { type: 'string', default: '3000' },
        dir: { type: 'string', default: 'node_modules' },
      },
    }).values;
  let values: ReturnType<typeof given>;
  try {
    values = given();
    for (const name of ['seed', 'rounds', 'files'] as const)
      if (!/^\d{1,10}$/.test(values[name]))
        throw new Error(`--${name}: expected a whole number, received ${values[name]}`);
  } catch (error) {
    console.error(`${error instanceof Error ? error.message : String(error)}\n\n${USAGE}`);
    return 2;
  }
  console.log(`seed ${values.seed}`);
  const shown = await hidden(Number(values.seed), Number(values.rounds));
  const [no, part] = [
    shown.filter(({ seen }) => seen === 'no'),
    shown.filter(({ seen }) => seen === 'part'),
  ];
  console.log(
    `secrets in files: ${shown.length}; hidden ${no.length} (${percent(no.length, shown.length)}); in part ${part.length}`,
  );
  for (const { name, kind, format, seen } of shown)
    if (seen !== 'no') console.log(`  ${seen}: ${name} in ${kind}, ${format}`);
  const { files, bytes, ms, touched } = await untouched(values.dir, Number(values.files));
  console.log(
    `files without secrets: ${files}; touched ${touched.length} (${percent(touched.length, files)})`,
  );
  for (const name of touched) console.log(`  ${name}`);
  console.log(`${(ms / (bytes / 1e6)).toFixed(0)} ms a MB (${(bytes / 1e6).toFixed(1)} MB)`);
  const isGood =
    no.length >= LEAST_HIDDEN * shown.length &&
    part.length === 0 &&
    touched.length <= MOST_TOUCHED * files;
  return isGood ? 0 : 1;
};

process.exitCode = await main();
