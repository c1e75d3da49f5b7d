/** What is left where hosts were lost: commits on the remote, what was asked of the model, and what lies on hosts and in the object store. */
import { execFileSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from '@jest/globals';
import { Client, Connection } from '@temporalio/client';
import { allHosts } from '../../src/client/runs/hosts.js';
import type { ResolvedRun } from '../../src/client/index.js';
import { findUnused, removeUnused } from '../../src/client/gc/index.js';
import { callsOfStep } from '../../src/model/journal/calls.js';
import type { AnswerRecord } from '../../src/model/journal/records.js';
import { branchOf, tokenRef } from '../../src/shared/repository.js';
import { WORKER_BEAT_MS } from '../../src/temporal/live-workers.js';
import { eventually } from './ends.js';
import { patiently, type Lost, type LostRun } from './lost-hosts.js';
import type { World } from './lost-hosts-world.js';

const inOrigin = ({ origin }: World, ...args: readonly string[]): string =>
  execFileSync('git', args, { cwd: origin, encoding: 'utf8' });

const commitsOf = (world: World, { stepKey }: ResolvedRun, format: string): readonly string[] =>
  inOrigin(world, 'log', '--reverse', `--format=${format}`, `main..${branchOf(stepKey)}`)
    .trim()
    .split('\n');

/** Of runs, and of the runs of a plan's phases. */
const keysOf = (ended: Lost['ended']): readonly string[] => [
  ...new Set(ended.flatMap(({ kind, run }) => [run.stepKey, ...kind.keys(run)])),
];

/** A job's commit or a plan's over the base, with the wanted bytes and no others; on the remote beside these a token for each run, and what a plan pushed last. */
const checkCommits = ({ world, ended }: Lost): void => {
  for (const { n, kind, run, result } of ended) {
    const branch = branchOf(run.stepKey);
    const files = Object.entries(kind.files(n)).sort();
    const found = {
      outcome: result.outcome,
      commits: commitsOf(world, run, '%s'),
      // Of a plan its last phase's: marks follow.
      commit: commitsOf(world, run, '%H')[kind.keys(run).length - 1],
      paths: inOrigin(world, 'diff', '--name-only', `main..${branch}`).trim().split('\n'),
      // What Emend itself writes goes on below: when, and with which commit.
      bytes: files.map(([path, [, after]]) => {
        const text = inOrigin(world, 'show', `${branch}:${path}`);
        return kind.asked(n).includes(path) ? text : text.slice(0, after.length);
      }),
      steps: commitsOf(world, run, '%(trailers:key=Emend-Step,valueonly,separator=)').filter(
        (key) => key !== '',
      ),
    };
    expect([n, found]).toEqual([
      n,
      {
        outcome: kind.outcome,
        commits: kind.commits(n),
        commit: result.commit,
        paths: files.map(([path]) => path),
        bytes: files.map(([, [, after]]) => after),
        steps: kind.commitKeys(run),
      },
    ]);
    for (const by of commitsOf(world, run, '%an')) expect(by).toMatch(/^host-\d+$/);
  }
  const refs = inOrigin(world, 'for-each-ref', '--format=%(refname)').trim().split('\n');
  const branches = ended.map(({ run }) => `refs/heads/${branchOf(run.stepKey)}`);
  const plans = ended
    .filter(({ kind }) => kind.outcome === 'completed')
    .map(({ run }) => run.stepKey);
  const last = plans.map((key) => `refs/emend/last/${key}/${branchOf(key).replaceAll('/', '-')}`);
  expect(refs.sort()).toEqual(
    ['refs/heads/main', ...keysOf(ended).map(tokenRef), ...branches, ...last].sort(),
  );
};

/**
 * By the model's own count: a request that came after the answer to the same bytes was recorded was paid again. One whose attempt was begun
 * before that, by whoever gave the owner up, may have been on its way.
 */
const repaid = async ({ s }: World, { n, kind, run }: LostRun): Promise<readonly string[]> => {
  const { calls } = s.emend;
  const attempts = (
    await Promise.all(
      kind
        .keys(run)
        .map(async (step) =>
          (await callsOfStep(calls, step)).found.map((call) => ({ step, ...call })),
        ),
    )
  ).flat();
  const rules = kind.asked(n);
  const requests = s.rehearsal.requests().filter(({ rule }) => rules.includes(rule ?? ''));
  const found: string[] = [];
  // Attempts at one call send the same bytes, and no two calls of a run do.
  const keys = new Map(attempts.map(({ step, callKey }) => [callKey, step]));
  const hashes = new Set(requests.map(({ sha256 }) => sha256));
  if (hashes.size !== keys.size)
    found.push(`run ${n}: ${hashes.size} prompts for ${keys.size} recorded calls`);
  if (requests.length > attempts.length)
    found.push(`run ${n}: ${requests.length} requests, ${attempts.length} attempts in the journal`);
  const answers = await Promise.all(
    [...keys].map(async ([key, step]) => {
      const answer = await calls.get<AnswerRecord>(`${step}/${key}/answer`);
      const begun = attempts
        .filter(({ callKey }) => callKey === key)
        .map(({ call }) => Date.parse(call.at));
      const at = answer === null ? Infinity : Date.parse(answer.at);
      return { at, claimed: begun.filter((each) => each <= at).length };
    }),
  );
  for (const sha256 of hashes) {
    const asked = requests.filter((each) => each.sha256 === sha256).map(({ at }) => Date.parse(at));
    // Which call the bytes are of is not known where there are several: the one that leaves the least to tell.
    const late = answers.map(
      ({ at, claimed }) => asked.filter((each, i) => each > at && i >= claimed).length,
    );
    if (Math.min(...late) > 0)
      found.push(`run ${n}: asked ${Math.min(...late)} times after its answer was recorded`);
  }
  return found;
};

/**
 * What the hosts that live have of runs that ended. A checkout stays for days (src/workspace/checkout) where its host was too slow for a run,
 * which another one committed.
 */
const leftOnHosts = ({ world, ended }: Lost): readonly string[] =>
  world.hosts.flatMap(({ dir, name }) => {
    const others = ended.flatMap(({ run }) =>
      commitsOf(world, run, '%an').every((by) => by === name) ? [] : run.stepKey,
    );
    return readdirSync(dir).flatMap((service) => {
      const at = (...path: string[]): string[] => {
        try {
          return readdirSync(join(dir, service, ...path)).map((each) =>
            [name, service, ...path, each].join('/'),
          );
        } catch {
          return [];
        }
      };
      const checkouts = at('emend-repositories').flatMap((place) =>
        at('emend-repositories', place.split('/').at(-1)!),
      );
      return [
        ...[...at('emend', 'locks'), ...at('emend', 'transactions'), ...at('emend-worktrees')],
        ...checkouts.filter(
          (path) => !path.endsWith('/mirror.git') && !others.some((key) => path.includes(key)),
        ),
      ];
    });
  });

/** Ages under which everything is old. */
const ALL = { olderThan_ms: -60_000, archivesOlderThan_ms: -60_000 };
/** Paths below the store that gc leaves. What it takes it moves aside first: the second round removes it. */
const afterGc = async ({ s: { emend } }: World): Promise<readonly string[]> => {
  const find = () => patiently(() => findUnused(emend, ALL));
  for (let round = 0; round < 2; round++) await removeUnused(emend, await find());
  const again = await find();
  expect([again.steps, again.blobs, again.temps]).toEqual([[], [], []]);
  return (await emend.files.list(emend.store)).map(({ path }) =>
    path.slice(emend.store.length + 1),
  );
};

/** gc with the runs on the server, and without them: then nothing of theirs is left. */
const checkStore = async ({ world, ended }: Lost): Promise<void> => {
  const { emend } = world.s;
  const kept = await afterGc(world);
  const asking = ended.flatMap(({ kind, run }) => kind.keys(run));
  // A plan's marks have keys of their own.
  const isOurs = (path: string) =>
    ended.some(({ run }) => new RegExp(`/${run.stepKey}[-/]`).test(path));
  const ofSteps = kept.filter((path) => /^(?:calls|records\/steps|archive)\//.test(path));
  expect(ofSteps.filter((path) => !isOurs(path))).toEqual([]);
  for (const key of asking)
    expect(ofSteps.some((path) => path.startsWith(`calls/${key}/`))).toBe(true);

  const connection = await Connection.connect({ address: emend.address });
  const { workflowService } = new Client({ connection, namespace: emend.namespace });
  const listed = () => emend.runs!.list(`TaskQueue = "${emend.queues.workflow}"`, 1_000);
  for (const { workflowId, runId } of await patiently(listed)) {
    const request = { namespace: emend.namespace, workflowExecution: { workflowId, runId } };
    await patiently(() => workflowService.deleteWorkflowExecution(request));
  }
  await eventually('the runs are deleted', async () => (await listed()).length === 0, 120);
  await connection.close();
  // What announces changes of archives stays for 30 days, because an index of another host may not have read it yet.
  const files = await afterGc(world);
  expect(files.filter((path) => !path.startsWith('changes/'))).toEqual(['store-id']);
};

export const checkLeft = async (lost: Lost): Promise<void> => {
  checkCommits(lost);
  const asked = await Promise.all(lost.ended.map((each) => repaid(lost.world, each)));
  expect(asked.flat()).toEqual([]);
  expect(leftOnHosts(lost)).toEqual([]);
  // Of a worker that never beat only the server's list of polls tells that it is gone, and that late.
  await eventually(
    'the last hosts are ready',
    async () => lost.world.hosts.every((host) => host.isReady()),
    600,
  );
  await sleep(2 * WORKER_BEAT_MS);
  for (const host of lost.world.hosts) await host.kill();
  // Until a few beats were missed they may live, and gc leaves what they said of themselves.
  const { emend } = lost.world.s;
  const isGone = async () =>
    (await allHosts(emend)).hosts.every(({ here, roles }) => here || roles.length === 0);
  await eventually('the last hosts are silent', () => patiently(isGone), 120);
  await checkStore(lost);
};
