/**
 * `npm run chaos -- --kills N --seed S`: steps over generated repositories while processes are killed, disks fill up, the model
 * fails and a person saves files and decides; afterwards every invariant is judged. docs/chaos.md says what it does and prints.
 */
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { carry, type Carried, type Planned } from './carry.js';
import type { Evidence } from './evidence.js';
import { gatherRequests, gatherWorkspace } from './gather.js';
import { gatherCarried } from './gather-runs.js';
import { carrierOf, type Traits } from './jobs.js';
import { KINDS } from './kinds/index.js';
import { emend } from './person.js';
import { planCarrierOf } from './plans.js';
import { randomOf } from './random.js';
import { carriedLine, firedLines, judged, scheduleLines } from './report.js';
import { alternately, draw, shareOf, type Share } from './schedule.js';
import { setStage, type Stage } from './stage.js';
import type { World } from './world.js';

const HELP = `npm run chaos -- [--kills N] [--seed S] [--share K/N] [--only REGEX] [--at-once N] [--events N]
                      [--keep]

  --kills N     so many processes are killed, stopped or asked to go, and as many other faults (of model, disk, person and
                runs) are played beside them; each has a step of its own to happen to. Default 10.
  --seed S      brings a schedule back; what happens in it still depends on the moment. Default: drawn, and printed.
  --share K/N   of what the seed plans, the K-th of N parts: N runs with the same seed carry out all of it.
  --only REGEX  only kinds whose name fits the regular expression.
  --at-once N   steps side by side. Default 6.
  --events N    the server suggests a new run of a workflow after so many events (Temporal's own default: 4,096).
  --keep        keeps the directory also where all is well.
`;
/** Carriers that share a repository; two repositories are worked in at a time. */
const PER_WORKSPACE = 4;
const workspaceOf = (i: number): number => 1 + 2 * Math.floor(i / (2 * PER_WORKSPACE)) + (i % 2);

interface Plan {
  readonly planned: readonly Planned[];
  readonly notPlanned: readonly (typeof KINDS)[number][];
}
const makePlan = (dir: string, kills: number, seed: number, share: Share, only: string): Plan => {
  const random = randomOf(seed, 'schedule');
  const fitting = KINDS.filter(({ name }) => new RegExp(only).test(name));
  const [killed, others] = (['kill', 'other'] as const).map((bag) =>
    draw(
      fitting.filter((kind) => kind.bag === bag),
      kills,
      random,
    ),
  );
  const kinds = alternately(
    shareOf(killed?.planned ?? [], share),
    shareOf(others?.planned ?? [], share),
  );
  const planned = kinds.map((kind, i): Planned => {
    const name = `c${String(i + 1).padStart(2, '0')}`;
    const own = randomOf(seed, share.of === 1 ? name : `${name} of share ${share.number}`);
    const drawn: Traits = {
      plan: 'none',
      files: own.chance(0.3) ? 2 : 1,
      named: true,
      tests: own.pick(['none', 'pass']),
      sandbox: 'default',
      approval: 'ask',
      format: own.pick(['whole-file', 'search-replace']),
      fault: null,
    };
    const traits = {
      ...drawn,
      ...(kind.traits?.tests === 'fails first' ? { files: 1 as const } : {}),
      ...kind.traits,
    };
    const carrier =
      traits.plan === 'none'
        ? carrierOf(name, join(dir, `repo ${workspaceOf(i)}`), traits)
        : planCarrierOf(name, join(dir, `repo of ${name}`), { ...traits, plan: traits.plan });
    return { n: i + 1, kind, carrier, random: own };
  });
  return { planned, notPlanned: [...(killed?.notPlanned ?? []), ...(others?.notPlanned ?? [])] };
};

/** All carriers, so many at once. */
const carryAll = async (
  world: World,
  planned: readonly Planned[],
  atOnce: number,
): Promise<Carried[]> => {
  const waiting = [...planned];
  const carried: Carried[] = [];
  const lane = async (): Promise<void> => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      const done = await carry(world, next);
      carried.push(done);
      world.note(carriedLine(done));
    }
  };
  await Promise.all(Array.from({ length: atOnce }, lane));
  return carried.sort((a, b) => a.planned.n - b.planned.n);
};

const gather = async (
  { world, requestsFile }: Stage,
  carried: readonly Carried[],
): Promise<Evidence> => {
  // What sleeps is awake by now; attempts that were given up come to their end.
  await sleep(4_000);
  const workspaces = [...new Set(carried.map(({ planned }) => planned.carrier.workspace))];
  const found = await Promise.all(carried.map((each) => gatherCarried(world, each)));
  await world.workers.close();
  const recovered = await emend(world, world.dir, 'recover');
  world.note(
    `emend recover: exit code ${recovered.code}; ${recovered.out.trim().split('\n').join(' | ')}`,
  );
  return {
    steps: found.flatMap(({ steps }) => steps),
    plans: found.flatMap(({ plans }) => plans),
    workspaces: await Promise.all(workspaces.map((path) => gatherWorkspace(world, path))),
    requests: gatherRequests(requestsFile),
    saves: world.saves,
    given: world.given,
    strange: [
      ...world.workers.strange,
      ...carried.flatMap(({ planned, trouble, status }) => [
        ...(trouble === null ? [] : [`${planned.carrier.name}: ${trouble}`]),
        ...(status === null ? [`${planned.carrier.name}: its run has no end`] : []),
      ]),
    ],
    faults: carried.map(({ planned, fired }) => ({
      name: planned.kind.name,
      carrier: planned.carrier.name,
      fired,
    })),
  };
};

const number = (name: string, text: string | undefined, otherwise: number): number => {
  const value = text === undefined ? otherwise : Number(text);
  if (!Number.isSafeInteger(value) || value < 0)
    throw new Error(`--${name}: expected a whole number, received ${text ?? ''}`);
  return value;
};

const readShare = (text: string): Share => {
  const [, k, n] = /^([1-9]\d?)\/([1-9]\d?)$/.exec(text) ?? [];
  const share = { number: Number(k), of: Number(n) };
  if (!(share.number <= share.of))
    throw new Error(`--share: expected K/N, K from 1 to N, received ${text}`);
  return share;
};

const main = async (): Promise<number> => {
  const { values } = parseArgs({
    options: {
      kills: { type: 'string' },
      seed: { type: 'string' },
      share: { type: 'string', default: '1/1' },
      only: { type: 'string', default: '' },
      'at-once': { type: 'string' },
      events: { type: 'string' },
      keep: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) {
    console.log(HELP);
    return 0;
  }
  const kills = number('kills', values.kills, 10);
  const seed = number('seed', values.seed, Math.floor(Math.random() * 2 ** 31));
  const share = readShare(values.share);
  const atOnce = Math.max(1, number('at-once', values['at-once'], 6));
  const suggested = number('events', values.events, 0);
  const begun = Date.now();
  const dir = realpathSync(mkdtempSync(join(tmpdir(), 'emend-chaos-')));
  const again = `npm run chaos -- --kills ${kills} --seed ${seed}${share.of === 1 ? '' : ` --share ${values.share}`}${values.only === '' ? '' : ` --only '${values.only}'`}${suggested === 0 ? '' : ` --events ${suggested}`}`;
  const note = (line: string): void => {
    console.log(`${((Date.now() - begun) / 1000).toFixed(1).padStart(6)} s  ${line}`);
  };
  const { planned, notPlanned } = makePlan(dir, kills, seed, share, values.only);
  console.log(`Chaos with seed ${seed} in ${dir}; again with: ${again}`);
  console.log(
    'The seed brings back the schedule and its numbers; how they meet the processes depends on the moment.',
  );
  for (const line of scheduleLines(planned)) console.log(line);

  let stage: Stage | null = null;
  const leave = (): void => {
    // Calls under way fail as their channel goes; the server and the workers must be ended all the same.
    process.on('uncaughtException', () => undefined);
    void (stage?.close() ?? Promise.resolve()).finally(() => process.exit(130));
  };
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.once(signal, leave);
  try {
    stage = await setStage(
      dir,
      planned.map(({ carrier }) => carrier),
      suggested,
      note,
    );
    note('ready: server, workers, model');
    const carried = await carryAll(stage.world, planned, atOnce);
    const evidence = await gather(stage, carried);
    mkdirSync(join(dir, 'evidence'), { recursive: true });
    for (const [name, value] of Object.entries(evidence))
      writeFileSync(join(dir, 'evidence', `${name}.json`), JSON.stringify(value, null, 2));
    const { lines, passed, failed } = judged(evidence);
    for (const line of ['', ...firedLines(carried, notPlanned), '', ...lines]) console.log(line);
    console.log(`\n${planned.length} faults in ${((Date.now() - begun) / 1000).toFixed(0)} s`);
    await stage.close();
    if (failed > 0) console.log(`Everything lies in ${dir}. Again with: ${again}`);
    else if (values.keep) console.log(`Everything lies in ${dir}.`);
    else rmSync(dir, { recursive: true, force: true, maxRetries: 3 });
    console.log(`${passed} passed, ${failed} failed`);
    return failed === 0 ? 0 : 1;
  } catch (error) {
    console.error(error);
    await stage?.close();
    console.log(`Everything lies in ${dir}. Again with: ${again}\n0 passed, 1 failed`);
    return 1;
  }
};

process.exitCode = await main();
// A connection that lingers must not keep us.
process.exit();
