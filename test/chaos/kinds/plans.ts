/** Kinds that happen to a plan: while a phase of it runs, is marked or merged, and what a person does to it. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { showRun } from '../../../src/client/runs/show.js';
import { signalPlan } from '../../../src/client/runs/plan-runs.js';
import { planOfPath } from '../../../src/client/runs/start-plan.js';
import { phaseKey } from '../../../src/shared/ids.js';
import { begin } from '../carry.js';
import type { Carrier, Traits } from '../jobs.js';
import type { Acts, Kind, Scene } from '../kind.js';
import { again, answer, withHandle } from '../person.js';
import { withNote } from '../plans.js';
import type { ArmedTrap } from '../traps.js';
import type { World } from '../world.js';
import { anyCall, KILL, STOP, trapped } from './processes.js';
import { reset } from './runs.js';

const PHASES: Partial<Traits> = { plan: 'phases' };
const WAVES: Partial<Traits> = { plan: 'waves' };

/** In one of the activities of the second phase's own run, wherever it is then. */
const inPhase: Kind = {
  name: 'SIGKILL in a phase of a plan',
  bag: 'kill',
  traits: PHASES,
  acts: ({ world, random }: Scene): Acts => {
    let trap: ArmedTrap | null = null;
    return {
      afterStart: (run) => {
        trap = world.traps.arm('in a phase', {
          activity: random.pick([
            'preflight',
            'proposeEdit',
            'buildProposal',
            'applyProposal',
            'commit',
          ]),
          stepKey: phaseKey(run.stepKey, 'p2', 1),
          at: { moment: 'call', n: random.whole(1, 40) },
          does: KILL,
        });
        return Promise.resolve();
      },
      fired: () => trap?.sprung()?.where ?? null,
    };
  },
};

const person = (kind: Omit<Kind, 'bag'>): Kind => ({ bag: 'other', ...kind });

const stops = person({
  name: 'stops a plan after a phase, then runs it again',
  traits: PHASES,
  acts: ({ world, carrier, random }: Scene): Acts => {
    let fired: string | null = null;
    return {
      afterStart: async (run) => {
        await sleep(random.whole(0, 2_000));
        const plan = await planOfPath(carrier.workspace, carrier.plan?.path ?? '');
        for (let tries = 0; fired === null && tries < 60; tries++) {
          const heard = await signalPlan(world.emend, plan, 'stop', { by: 'chaos' }).catch(
            () => null,
          );
          if (heard !== null) fired = run.stepKey.slice(0, 8);
          else await sleep(500);
        }
      },
      // It ends `stopped` once, where the wish came in time; what is left is the work of another run.
      afterEnd: async (run) => (run.stepKey.slice(0, 8) === fired ? begin(world, carrier) : false),
      fired: () => fired,
    };
  },
});

const aborts = person({
  name: 'aborts a plan',
  traits: { ...WAVES, tests: 'slow' },
  ends: ['committed', 'aborted', 'cancelled', 'dropped'],
  planEnds: ['aborted', 'completed'],
  acts: ({ world, carrier, random }: Scene): Acts => {
    let fired: string | null = null;
    return {
      afterStart: async (run) => {
        await sleep(random.whole(500, 8_000));
        for (let tries = 0; fired === null && tries < 60; tries++) {
          const told = await answer(world, carrier, run, { answer: 'abort', decision: '' }).catch(
            () => null,
          );
          if (told !== null && told !== 'unclear') fired = told;
          else await sleep(500);
        }
      },
      fired: () => fired,
    };
  },
});

const skips = person({
  name: 'skips a phase of a plan',
  traits: PHASES,
  ends: ['committed', 'skipped'],
  planEnds: ['incomplete'],
  acts: ({ world, carrier }: Scene): Acts => {
    let fired: string | null = null;
    return {
      onDecision: async (point, run) => {
        if (point.reason !== 'approval' || !run.stepKey.includes('-p1-')) return false;
        const told = await answer(world, carrier, run, { answer: 'skip', decision: point.id });
        if (told !== 'unclear' && told !== 'refused') fired = `${point.id}: ${told}`;
        return true;
      },
      fired: () => fired,
    };
  },
});

/** At an approval: the plan waits for its phase then, and writes nothing. */
const writes = person({
  name: 'saves a note into the plan while it runs',
  traits: WAVES,
  acts: ({ world, carrier }: Scene): Acts => ({
    onDecision: (point) => {
      if (point.reason !== 'approval' || carrier.plan === null || world.notes.has(carrier.name))
        return Promise.resolve(false);
      const path = join(carrier.workspace, carrier.plan.path);
      const note = `noted by a person of ${carrier.name}  `;
      writeFileSync(path, withNote(readFileSync(path, 'utf8'), note));
      world.notes.set(carrier.name, note);
      return Promise.resolve(false);
    },
    fired: () => world.notes.get(carrier.name) ?? null,
  }),
});

/** Its phase's run goes on and comes to its own end (children are abandoned); a second run of the plan takes up what was left. */
const terminates = person({
  name: 'terminates a plan, then runs it again',
  traits: PHASES,
  planCuts: ['terminated'],
  acts: ({ world, carrier, random }: Scene): Acts => {
    let fired: string | null = null;
    return {
      afterStart: async (run) => {
        await sleep(random.whole(300, 2_500));
        for (let tries = 0; fired === null && tries < 60; tries++) {
          // Its end may be seen before this hears that it was sent.
          fired = run.stepKey.slice(0, 8);
          const sent = await withHandle(world, run, (handle) => handle.terminate('chaos')).then(
            () => true,
            () => false,
          );
          if (sent) continue;
          fired = null;
          await sleep(500);
        }
      },
      afterEnd: async (run) => {
        if (run.stepKey.slice(0, 8) !== fired) return false;
        const phases = carrier.plan?.phases ?? [];
        await endPhases(
          world,
          carrier,
          phases.map((_, i) => phaseKey(run.stepKey, `p${i + 1}`, 1)),
        );
        return begin(world, carrier);
      },
      fired: () => fired,
    };
  },
});

/** How long the runs of a terminated plan's phases are looked after. */
const PHASES_MS = 90_000;
/** Phases whose plan is gone: a person still answers what they ask. */
const endPhases = async (
  world: World,
  carrier: Carrier,
  keys: readonly string[],
): Promise<void> => {
  for (const end = Date.now() + PHASES_MS; Date.now() < end;) {
    const runs = await Promise.all(keys.map((key) => again(world, key)));
    const open = runs.filter((run) => run?.live?.open === true);
    if (open.length === 0) return;
    for (const run of open) {
      const view =
        run === null ? null : await showRun(world.emend, run, { full: false }).catch(() => null);
      const decision = view?.status.decision ?? null;
      if (run === null || decision === null) continue;
      await answer(world, carrier, run, {
        answer: decision.reason === 'approval' ? 'approve' : 'retry',
        decision: decision.id,
      });
    }
    await sleep(500);
  }
};

/** As the Temporal UI's Reset button does it, to any task: its phases are met as runs that are there already. */
const resets = person({
  name: 'reset of a plan while it runs',
  traits: PHASES,
  acts: ({ world, random }: Scene): Acts => {
    let fired: string | null = null;
    return {
      afterStart: async (run, ended) => {
        await sleep(random.whole(1_000, 7_000));
        while (fired === null && !ended.aborted) {
          fired = await reset(world, run, random);
          if (fired === null) await sleep(500);
        }
      },
      // It came to its end first, or meanwhile: the reset opens it again.
      afterEnd: async (run) => {
        fired ??= await reset(world, run, random);
        return (await again(world, run.stepKey))?.live?.open === true;
      },
      fired: () => fired,
    };
  },
});

/** As the Cancel button of the Temporal UI does it to the run of one phase; the plan asks, and its person retries. */
const cancelsPhase = person({
  name: 'cancel of a phase',
  traits: { ...WAVES, tests: 'slow' },
  ends: ['committed', 'aborted', 'cancelled'],
  acts: ({ world, carrier, random }: Scene): Acts => {
    let fired: string | null = null;
    return {
      afterStart: async (run, ended) => {
        const n = random.whole(1, carrier.plan?.phases.length ?? 1);
        while (fired === null && !ended.aborted) {
          await sleep(300);
          const phase = await again(world, phaseKey(run.stepKey, `p${n}`, 1));
          if (phase?.live?.open !== true) continue;
          await sleep(random.whole(0, 4_000));
          fired = await withHandle(world, phase, async (handle) => {
            await handle.cancel();
            return `phase ${n}`;
          }).catch(() => null);
        }
      },
      fired: () => fired,
    };
  },
});

export const planKinds: readonly Kind[] = [
  inPhase,
  trapped('SIGKILL while a phase is marked', 'markPhase', anyCall(60), KILL, PHASES),
  trapped('SIGKILL while a worktree is made', 'prepareWorktree', anyCall(12), KILL, WAVES),
  trapped('SIGKILL in a merge', 'mergePhase', anyCall(60), KILL, WAVES),
  trapped('SIGKILL while a worktree is removed', 'removeWorktree', anyCall(12), KILL, WAVES),
  trapped('SIGSTOP while a worktree is made', 'prepareWorktree', anyCall(14), STOP, WAVES),
  trapped('SIGSTOP while a worktree is removed', 'removeWorktree', anyCall(14), STOP, WAVES),
  trapped('SIGSTOP in a merge', 'mergePhase', anyCall(60), STOP, WAVES),
  trapped('SIGSTOP while a phase is marked', 'markPhase', anyCall(60), STOP, PHASES),
  stops,
  terminates,
  resets,
  aborts,
  cancelsPhase,
  skips,
  writes,
];
