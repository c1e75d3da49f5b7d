/**
 * `npm run bench:layers`: what each layer below a step is worth. The same step is measured with the product as it is built and with copies of the build in which one
 * layer is switched off, in interleaved rounds. Exit codes: 0 measured, 1 not measured, 2 usage.
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { cp, mkdtemp, readFile, readdir, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { median, row, spread, table } from './numbers.js';
import { machineLine, runBench } from './program.js';

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));
/** A layer stays if its absence costs at least this part of a step's time. */
const WORTH_KEEPING = 1.1;

/** Each layer with the text of the build that switches it on, and the text that switches it off. */
const LAYERS = {
  'tuned file calls': {
    on: 'const mayBeAtOnce = (of) => {',
    off: 'const mayBeAtOnce = (of) => {\n    return false;',
  },
  'launcher process': { on: 'useLauncher();', off: '' },
};
const ALL_ON = 'all layers';
const SHAPES = ['plain', 'commit', 'verified'];

const USAGE = `npm run bench:layers -- [options]
  --rounds N      rounds of each shape of step with each build (20)
  --only NAME     a layer (again and again): ${Object.keys(LAYERS).join(', ')}; default: all`;

const readOptions = () => {
  const { values } = parseArgs({
    options: {
      rounds: { type: 'string', default: '20' },
      only: { type: 'string', multiple: true },
      help: { type: 'boolean' },
    },
  });
  if (!/^[1-9][0-9]*$/.test(values.rounds))
    throw new Error(`--rounds: expected a whole number from 1, received ${values.rounds}`);
  for (const name of values.only ?? [])
    if (!(name in LAYERS)) throw new Error(`--only: no layer "${name}"`);
  const layers = values.only ?? Object.keys(LAYERS);
  return { help: values.help === true, rounds: Number(values.rounds), layers };
};

/** Copies build and bench to `dir`, and switches the layer off there. Throws if its text is not in exactly one place of the build. */
const makeBuild = async (dir, layer) => {
  for (const name of ['dist', 'bench', 'package.json'])
    await cp(join(ROOT, name), join(dir, name), { recursive: true });
  await symlink(join(ROOT, 'node_modules'), join(dir, 'node_modules'));
  if (layer === null) return;
  const { on, off } = LAYERS[layer];
  const places = [];
  const source = join(dir, 'dist', 'src');
  for (const name of await readdir(source, { recursive: true })) {
    // The bench runs the modules, not the bundles that are made of them.
    if (!name.endsWith('.js') || name.startsWith('bundle')) continue;
    const text = await readFile(join(source, name), 'utf8');
    for (let n = text.split(on).length - 1; n > 0; n--) places.push({ name, text });
  }
  const [place] = places;
  if (places.length !== 1)
    throw new Error(`${layer}: expected "${on}" once in dist/src, found it ${places.length} times`);
  await writeFile(join(source, place.name), place.text.replace(on, off));
};

/** Starts a process that plays steps with one build (layer-stage.js). */
const startStage = async (dir) => {
  const child = fork(join(dir, 'bench', 'layer-stage.js'), {
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  const exit = once(child, 'exit');
  const answer = async () => {
    const [message] = await Promise.race([
      once(child, 'message'),
      exit.then(() => {
        throw new Error('a stage ended before it answered');
      }),
    ]);
    return message;
  };
  await answer();
  return {
    run: (shape) => {
      child.send(shape);
      return answer();
    },
    stop: async () => {
      child.disconnect();
      await exit;
    },
  };
};

/** Returns `{ [build]: { [shape]: costs of each round } }`. The order of the builds turns from round to round. */
const measureRounds = async (stages, rounds) => {
  const names = Object.keys(stages);
  const seen = Object.fromEntries(
    names.map((name) => [name, Object.fromEntries(SHAPES.map((shape) => [shape, []]))]),
  );
  for (let round = 0; round < rounds; round++)
    for (const shape of SHAPES)
      for (let n = 0; n < names.length; n++) {
        const name = names[(n + round) % names.length];
        seen[name][shape].push(await stages[name].run(shape));
      }
  return seen;
};

const rowsOf = (seen, shape) => {
  const base = seen[ALL_ON][shape];
  const costs = ({ fsyncs, client }) => `${fsyncs} and ${client.fsyncs} fsyncs`;
  return Object.entries(seen).flatMap(([name, shapes]) => {
    const own = shapes[shape];
    const title = name === ALL_ON ? ALL_ON : `without ${name}`;
    const times = own.map(({ ms }) => ms);
    const cpu = own.map(({ cpu_ms }) => cpu_ms);
    const lines = [
      row(
        `${title}: time; CPU of the worker; fsyncs of worker and client`,
        `${spread(times, 0)} ms; ${spread(cpu, 0)} ms; ${costs(own.at(-1))}`,
      ),
    ];
    if (name === ALL_ON) return lines;
    const ratios = times.map((ms, round) => ms / base[round].ms);
    const cpuRatios = cpu.map((ms, round) => ms / base[round].cpu_ms);
    return [
      ...lines,
      row(`${title}: time over that with all layers`, spread(ratios), median(ratios), {
        atLeast: WORTH_KEEPING,
      }),
      row(`${title}: CPU over that with all layers`, spread(cpuRatios)),
    ];
  });
};

const measureLayers = async ({ rounds, layers }) => {
  const dir = await mkdtemp(join(tmpdir(), 'emend-layers-'));
  const stages = {};
  try {
    for (const layer of [null, ...layers]) {
      const name = layer ?? ALL_ON;
      const build = join(dir, name.replaceAll(' ', '-'));
      await makeBuild(build, layer);
      stages[name] = await startStage(build);
    }
    const seen = await measureRounds(stages, rounds);
    console.log(`${machineLine()}, ${rounds} rounds\n`);
    for (const shape of SHAPES)
      console.log(table(`A step of the shape "${shape}"`, rowsOf(seen, shape)));
  } finally {
    for (const stage of Object.values(stages)) await stage.stop();
    await rm(dir, { recursive: true, force: true, maxRetries: 3 });
  }
  return 0;
};

process.exit(
  await runBench(readOptions, USAGE, measureLayers).catch((error) => (console.error(error), 1)),
);
