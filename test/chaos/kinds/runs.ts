/** Kinds that happen to a run as a whole: reset, terminated, or overtaken by another commit. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ResolvedRun } from '../../../src/client/runs/resolve.js';
import { createApplyEngine } from '../../../src/workspace/apply/engine.js';
import type { Acts, Kind, Scene } from '../kind.js';
import { emend, withHandle } from '../person.js';
import type { Random } from '../random.js';
import type { ArmedTrap } from '../traps.js';
import type { World } from '../world.js';

/** As the Temporal UI's Reset button does it, to a random workflow task. Null: the server did not hear it. */
export const reset = (world: World, run: ResolvedRun, random: Random): Promise<string | null> =>
  withHandle(world, run, async (handle, client) => {
    const { runId } = await handle.describe();
    const { events } = await handle.fetchHistory();
    const points = (events ?? []).filter(
      (event) => event.workflowTaskCompletedEventAttributes != null,
    );
    const point = random.pick(points);
    await client.workflowService.resetWorkflowExecution({
      namespace: world.emend.namespace,
      workflowExecution: { workflowId: run.live?.workflowId ?? '', runId },
      reason: 'chaos',
      requestId: `reset-${runId}`,
      workflowTaskFinishEventId: point.eventId!,
    });
    return `to event ${String(point.eventId)} of ${events?.length ?? 0}`;
  }).catch(() => null);

const resetPaused: Kind = {
  name: 'reset while paused',
  bag: 'other',
  acts: ({ world, random }: Scene): Acts => {
    let fired: string | null = null;
    return {
      onDecision: async (point, run) => {
        if (point.reason !== 'approval' || fired !== null) return false;
        fired = await reset(world, run, random);
        return true;
      },
      fired: () => fired,
    };
  },
};

const resetFinished: Kind = {
  name: 'reset when finished',
  bag: 'other',
  traits: { tests: 'pass' },
  acts: ({ world, random }: Scene): Acts => {
    let fired: string | null = null;
    return {
      afterEnd: async (run) => {
        for (let tries = 0; fired === null && tries < 60; tries++) {
          fired = await reset(world, run, random);
          if (fired !== null) return true;
          await sleep(500);
        }
        return false;
      },
      fired: () => fired,
    };
  },
};

/** Looked after for so long after the end of the run: an apply that is under way then goes on to its end. */
const UNDO_MS = 12_000;

const terminates: Kind = {
  name: 'terminate, then undo',
  bag: 'other',
  traits: { tests: 'slow', files: 2 },
  ends: ['terminated', 'committed'],
  acts: ({ world, carrier, random }: Scene): Acts => {
    let fired: string | null = null;
    const engine = createApplyEngine({ home: world.home, blobs: world.emend.blobs });
    return {
      afterStart: async (run) => {
        // A run that nothing disturbs ends after four seconds and more: later it would meet one that has ended.
        await sleep(random.whole(300, 2_500));
        for (let tries = 0; fired === null && tries < 60; tries++) {
          const sent = await withHandle(world, run, (handle) => handle.terminate('chaos')).then(
            () => true,
            () => false,
          );
          if (sent) fired = 'terminated';
          else await sleep(500);
        }
        for (const end = Date.now() + UNDO_MS; Date.now() < end;) {
          await sleep(500);
          if ((await engine.readLock(carrier.workspace))?.stepKey !== run.stepKey) continue;
          const said = await emend(world, carrier.workspace, 'recover', '--undo', run.stepKey);
          fired = `terminated, recover --undo: exit code ${said.code}`;
        }
      },
      fired: () => fired,
    };
  },
};

const overtaken: Kind = {
  name: 'commits another file before the commit',
  bag: 'other',
  acts: ({ world, carrier }: Scene): Acts => {
    let trap: ArmedTrap | null = null;
    let fired: string | null = null;
    const git = (...args: string[]): string =>
      execFileSync(
        'git',
        ['-c', 'user.name=Person', '-c', 'user.email=person@example.org', ...args],
        {
          cwd: carrier.workspace,
          encoding: 'utf8',
        },
      );
    return {
      onDecision: (_point, run) => {
        trap ??= world.traps.arm('overtaken', {
          activity: 'applyProposal',
          stepKey: run.stepKey,
          at: { moment: 'call', n: 1, only: ['link'], path: '/closed.json' },
          does: { kind: 'wait' },
        });
        return Promise.resolve(false);
      },
      afterStart: async (_run, ended) => {
        while (trap?.sprung() == null && !ended.aborted) await sleep(20);
        if (trap?.sprung() == null) return;
        const path = `notes/${carrier.name}.txt`;
        mkdirSync(join(carrier.workspace, 'notes'), { recursive: true });
        writeFileSync(join(carrier.workspace, path), `a note beside ${carrier.name}\n`);
        git('add', '--', path);
        git('commit', '-q', '-m', `Note beside ${carrier.name}`, '--', path);
        fired = git('rev-parse', '--short', 'HEAD').trim();
        trap.go();
      },
      fired: () => fired,
    };
  },
};

export const runKinds: readonly Kind[] = [resetPaused, resetFinished, terminates, overtaken];
