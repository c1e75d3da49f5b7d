/**
 * Hosts that are lost: runs on a bare repository, done by hosts that share nothing but Temporal, an object store and that repository, while hosts
 * are killed at moments that a seed draws, their directories deleted, and new ones started in their place. One body: with 100 kills on
 * PostgreSQL (test/cluster/lost-hosts.test.ts), and a sample on the dev server. What is left is judged in lost-hosts-left.ts.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client, Connection } from '@temporalio/client';
import { waitForRun, type ResolvedRun } from '../../src/client/index.js';
import type { StepResult } from '../../src/shared/run.js';
import { planOf } from '../../src/shared/ids.js';
import { branchOf } from '../../src/shared/repository.js';
import { randomOf, type Random } from '../chaos/random.js';
import type { ComposeHost } from '../support/compose-hosts.js';
import { seed } from '../support/seeded.js';
import { eventually } from './ends.js';
import {
  kindOf,
  openWorld,
  type Kind,
  type LostHostsWanted,
  type World,
} from './lost-hosts-world.js';

export interface LostRun {
  readonly n: number;
  readonly kind: Kind;
  readonly run: ResolvedRun;
  readonly result: StepResult;
}
const AT_ONCE = 4;
/** What a kill waits for, and `any` for nothing: an activity that a host is at, or the branch on its way. */
const MOMENTS = ['any', 'proposeEdit', 'runTests', 'applyProposal', 'commit', 'push'] as const;
const MOMENT_MS = 3_000;
/** An apply takes some ten milliseconds of a run: until one is met, longer. */
const APPLY_MS = 20_000;
/** Seconds on a quiet machine; on a starved one workers take minutes to start. */
const READY_S = 600;

/** A server that a busy machine keeps waiting is asked again, until the signal. */
export const patiently = async <T>(work: () => Promise<T>, signal?: AbortSignal): Promise<T> => {
  for (let tries = 1; ; tries++) {
    try {
      return await work();
    } catch (error) {
      const { problem, cause, code } = error as {
        problem?: { code: string };
        cause?: { code?: number };
        code?: number;
      };
      // gRPC: deadline exceeded, unavailable.
      const isSlow = problem?.code === 'no_server' || [4, 14].includes(cause?.code ?? code ?? 0);
      if (!isSlow || signal?.aborted === true || tries === PATIENCE) throw error;
      await sleep(1_000);
    }
  }
};
const PATIENCE = 60;

/** What a host is at. */
interface Doing {
  readonly host: ComposeHost;
  readonly what: string;
}
const STARTED = 2; // `temporal.api.enums.v1.PendingActivityState`

/** As the server knows it: activities that a worker has begun; of a commit whose branch is on its way: `push`. */
const doingOf = async (client: Client, { s: { emend }, root, hosts }: World): Promise<Doing[]> => {
  const query = `TaskQueue = "${emend.queues.workflow}" AND ExecutionStatus = "Running"`;
  const runs = await patiently(() => emend.runs!.list(query, 100));
  const found = await Promise.all(
    runs.map(async ({ workflowId, memo }) => {
      const { raw } = await patiently(() => client.workflow.getHandle(workflowId).describe());
      return (raw.pendingActivities ?? []).flatMap(
        ({ state, activityType, lastWorkerIdentity }) => {
          const host = hosts.find((each) => each.has(lastWorkerIdentity ?? ''));
          if (Number(state) !== STARTED || host === undefined) return [];
          const name = activityType?.name ?? '';
          const pushed = join(
            root,
            'pushing',
            branchOf(planOf(memo?.stepKey ?? '')).replace(/^.*\//, ''),
          );
          const isPush = name === 'commit' && existsSync(pushed);
          return [{ host, what: name }, ...(isPush ? [{ host, what: 'push' }] : [])];
        },
      );
    }),
  );
  return found.flat();
};

/** Told to whoever reads the test's output. */
const say = (line: string): void => {
  process.stdout.write(`lost hosts: ${line}\n`);
};

export interface Lost {
  readonly world: World;
  readonly ended: readonly LostRun[];
  /** How many kills met a host that was at it. */
  readonly struck: ReadonlyMap<string, number>;
  /** Ends what still lives. */
  close(): Promise<void>;
}
/** Runs to their ends while hosts are killed. */
export const loseHosts = async (wanted: LostHostsWanted): Promise<Lost> => {
  const { runs, kills, limit_ms } = wanted;
  say(`seed ${seed}; once more: EMEND_SEED=${seed} ${wanted.again}`);
  const opened = await openWorld(wanted);
  const { world, hosts, startOne } = opened;
  const connection = await Connection.connect({ address: world.s.emend.address });
  const client = new Client({ connection, namespace: world.s.emend.namespace });
  const open = new Map<number, ResolvedRun>();
  const ended: LostRun[] = [];
  const stop = new AbortController();
  const timer = setTimeout(() => stop.abort(new Error(`not done within ${limit_ms} ms`)), limit_ms);
  const struck = new Map<string, number>();
  let killed = 0;
  let started = 0;

  const follow = async (n: number): Promise<void> => {
    const run = await patiently(() => kindOf(n).start(world, n), stop.signal);
    open.set(n, run);
    const wait = () => waitForRun(world.s.emend, run, { signal: stop.signal });
    const waited = await patiently(wait, stop.signal);
    open.delete(n);
    if (waited.outcome !== 'closed' || waited.result === null)
      throw new Error(`run ${n} (${run.stepKey}) did not end: ${JSON.stringify(waited)}`);
    ended.push({ n, kind: kindOf(n), run, result: waited.result });
  };
  /** Some at once, and the last ones start when the last kills are near; nobody is killed where nothing is done. */
  const startAll = async (): Promise<void> => {
    const all: Promise<void>[] = [];
    for (; started < runs; started++) {
      const due = ((started - AT_ONCE + 1) * kills) / runs;
      while (open.size > 0 && (open.size >= AT_ONCE || killed < due) && !stop.signal.aborted)
        await sleep(50);
      const following = follow(started);
      following.catch((error: unknown) => stop.abort(error));
      all.push(following);
      await sleep(50);
    }
    await Promise.all(all);
  };
  const killAll = async (random: Random): Promise<void> => {
    const starting: Promise<void>[] = [];
    let moments: string[] = [];
    for (; killed < kills; killed++) {
      stop.signal.throwIfAborted();
      if (moments.length === 0) moments = random.shuffled(MOMENTS);
      await killOne({ moment: moments.pop()!, delay_ms: random.whole(0, 300), any: random.next() });
      const pause_ms = random.whole(0, 1_500);
      starting.push(sleep(pause_ms).then(startOne));
      if (killed % 10 === 9) say(`${killed + 1} kills, ${ended.length} of ${runs} runs ended`);
    }
    await Promise.all(starting);
  };
  const killOne = async ({
    moment,
    delay_ms,
    any,
  }: {
    moment: string;
    delay_ms: number;
    any: number;
  }): Promise<void> => {
    // All but one take work, so that runs go on; the one may be starting, and be killed in that.
    await eventually(
      'hosts are ready',
      async () => {
        stop.signal.throwIfAborted();
        const fault = hosts.map((host) => host.fault()).find((each) => each !== null);
        if (fault !== undefined) throw new Error(`ended by itself: ${fault}`);
        return hosts.filter((host) => host.isReady()).length >= wanted.hosts - 1;
      },
      READY_S,
    );
    const doing = () => doingOf(client, world);
    let seen: Doing | undefined;
    const isRare = moment === 'applyProposal' && !struck.has(moment);
    const wait_ms = isRare ? APPLY_MS : moment === 'any' ? 0 : MOMENT_MS;
    const until = Date.now() + wait_ms;
    while (seen === undefined && Date.now() < until) {
      seen = (await doing()).find(({ what }) => what === moment);
      await sleep(20);
    }
    // Rather who is at something else than who is at nothing.
    if (moment !== 'any') seen ??= (await doing()).at(0);
    // An apply is over sooner than it can be looked for again.
    const isShort = seen?.what === 'applyProposal';
    if (!isShort) await sleep(moment === 'push' ? delay_ms * 2 : delay_ms);
    const victim = seen?.host ?? hosts[Math.floor(any * hosts.length)]!;
    const was = isShort ? [seen!] : (await doing()).filter(({ host }) => host === victim);
    hosts.splice(hosts.indexOf(victim), 1);
    await victim.kill();
    const names =
      was.length > 0 ? was.map(({ what }) => what) : [victim.isReady() ? 'nothing' : 'its start'];
    for (const what of new Set(names)) struck.set(what, (struck.get(what) ?? 0) + 1);
  };

  const begun = performance.now();
  try {
    const all = [startAll(), killAll(randomOf(seed, 'kills'))];
    for (const each of all) each.catch((error: unknown) => stop.abort(error));
    await Promise.all(all);
  } catch (error) {
    await connection.close();
    await opened.close();
    throw stop.signal.aborted ? stop.signal.reason : error;
  } finally {
    clearTimeout(timer);
  }
  await connection.close();
  const seconds = Math.round((performance.now() - begun) / 1_000);
  say(
    `${runs} runs and ${kills} kills in ${seconds} s; killed while at: ${[...struck].map((each) => each.join(' ')).join(', ')}`,
  );
  return { world, ended, struck, close: opened.close };
};
