/** Kinds of things that a person does, at the moments that matter. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Answer } from '../../../src/shared/decisions.js';
import { revision, type Traits } from '../jobs.js';
import type { Acts, End, Kind, Scene } from '../kind.js';
import { answer, save, signalled, withHandle, type HowToSave, type Told } from '../person.js';
import type { ArmedTrap } from '../traps.js';

const SAVES: Partial<Traits> = { format: 'search-replace', files: 1 };
const other = (
  name: string,
  ends: readonly End[],
  traits: Partial<Traits>,
  acts: (scene: Scene) => Acts,
): Kind => ({
  name,
  bag: 'other',
  traits,
  ends,
  acts,
});

/** Saved between proposal and approval; then one answer to the conflict. */
const saveBefore = (
  name: string,
  how: HowToSave,
  reply: Answer,
  end: End,
  overlapping = false,
): Kind =>
  other(name, [end], SAVES, ({ world, carrier }) => {
    let saved: string | null = null;
    let asked = 0;
    return {
      onDecision: async (point, run) => {
        if (point.reason === 'approval' && saved === null) {
          saved = save(world, carrier, carrier.paths[0]!, how, overlapping).how;
          return false;
        }
        if (point.reason !== 'conflict') return false;
        // What cannot be carried over is left to the person who saved it.
        await answer(world, carrier, run, {
          answer: ++asked === 1 ? reply : 'take_theirs',
          decision: point.id,
        });
        return true;
      },
      fired: () => saved,
    };
  });

/** Saved at one of the system calls of apply, which waits for it. */
const saveDuring = (name: string, how: HowToSave): Kind =>
  other(
    name,
    ['committed', 'changed', 'unchanged', 'skipped'],
    SAVES,
    ({ world, carrier, random }) => {
      let trap: ArmedTrap | null = null;
      let saved: string | null = null;
      return {
        onDecision: async (point, run) => {
          if (point.reason === 'conflict') {
            await answer(world, carrier, run, {
              answer: random.pick(['rebase', 'take_theirs']),
              decision: point.id,
            });
            return true;
          }
          trap ??= world.traps.arm(name, {
            activity: 'applyProposal',
            stepKey: run.stepKey,
            at: { moment: 'call', n: random.whole(1, 6), path: `/${carrier.name}` },
            does: { kind: 'wait' },
          });
          return false;
        },
        afterStart: async (_run, ended) => {
          while (trap?.sprung() == null && !ended.aborted) await sleep(20);
          const sprung = trap?.sprung();
          if (sprung == null) return;
          save(world, carrier, carrier.paths[0]!, how);
          saved = sprung.where;
          trap?.go();
        },
        fired: () => saved,
      };
    },
  );

/** The first approval is dealt with in a way of its own. */
const atApproval = (
  name: string,
  ends: readonly End[],
  traits: Partial<Traits>,
  act: (
    scene: Scene,
    point: Parameters<NonNullable<Acts['onDecision']>>[0],
    run: Parameters<NonNullable<Acts['onDecision']>>[1],
  ) => Promise<string | null>,
): Kind =>
  other(name, ends, traits, (scene) => {
    let fired: string | null = null;
    return {
      onDecision: async (point, run) => {
        if (point.reason !== 'approval' || fired !== null) return false;
        fired = await act(scene, point, run);
        return fired !== null;
      },
      fired: () => fired,
    };
  });

const HEARD: readonly Told[] = ['counted', 'sent', 'resolved before'];
const heard = (told: Told, what: string): string | null => (HEARD.includes(told) ? what : null);

/** Stopped from outside at a random moment, wherever the run is then. */
const stopped = (
  name: string,
  ends: readonly End[],
  act: (
    scene: Scene,
    run: Parameters<NonNullable<Acts['afterStart']>>[0],
  ) => Promise<string | null>,
): Kind =>
  other(name, ends, { tests: 'slow', files: 2 }, (scene) => {
    let fired: string | null = null;
    return {
      afterStart: async (run) => {
        await sleep(scene.random.whole(500, 5_000));
        // Until it is heard: the server may be away just then.
        for (let tries = 0; fired === null && tries < 60; tries++) {
          fired = await act(scene, run).catch(() => null);
          if (fired === null) await sleep(500);
        }
      },
      fired: () => fired,
    };
  });

const JUNK = 400;
/** Names that no version knows, and known ones with what nobody means. */
const JUNK_SIGNALS = ['approve', 'answer', 'revise', 'hello', '__no_such', 'é'] as const;
const JUNK_BODIES: readonly unknown[][] = [
  [],
  [null],
  ['approve'],
  [{ decision: '' }],
  [{ decision: { id: 1 } }],
  [[]],
];
/** Beside a run from its start on, in bursts; none of them is an answer to anything. */
const junk = other('junk signals', ['committed'], { approval: 'auto' }, ({ world, random }) => {
  let sent = 0;
  return {
    afterStart: (run, ended) =>
      withHandle(world, run, async (handle) => {
        while (sent < JUNK && !ended.aborted) {
          const burst = Array.from({ length: 20 }, () =>
            handle.signal(random.pick(JUNK_SIGNALS), ...random.pick(JUNK_BODIES)),
          );
          const heard = await Promise.allSettled(burst);
          sent += heard.filter(({ status }) => status === 'fulfilled').length;
          await sleep(50);
        }
      }),
    fired: () => (sent >= 20 ? `${sent} signals` : null),
  };
});

export const personKinds: readonly Kind[] = [
  saveBefore('saves in place, then rebases', 'in place', 'rebase', 'changed'),
  saveBefore('saves by rename, then regenerates', 'by rename', 'regenerate', 'changed'),
  saveBefore('saves by rename, then keeps theirs', 'by rename', 'take_theirs', 'skipped'),
  saveBefore('saves the same lines, then rebases', 'in place', 'rebase', 'skipped', true),
  saveDuring('saves in place during apply', 'in place'),
  saveDuring('saves by rename during apply', 'by rename'),
  atApproval(
    'answers another decision',
    ['committed'],
    {},
    async ({ world, carrier }, point, run) => {
      const wrong = `${point.n + 7}-${point.id.split('-').slice(1).join('-')}`;
      const told = await answer(world, carrier, run, { answer: 'approve', decision: wrong });
      await answer(world, carrier, run, { answer: 'approve', decision: point.id });
      // Taken as a signal where no worker answered: the run says then that it did not count.
      return told === 'refused' || told === 'sent' ? `${wrong}: ${told}` : null;
    },
  ),
  atApproval(
    'approves twice at once',
    ['committed'],
    {},
    async ({ world, carrier }, { id }, run) => {
      const twice = () => answer(world, carrier, run, { answer: 'approve', decision: id });
      return (await Promise.all([twice(), twice()])).join(', ');
    },
  ),
  atApproval(
    'approves and skips at once',
    ['committed', 'skipped'],
    {},
    async ({ world, carrier }, { id }, run) => {
      const both = (['approve', 'skip'] as const).map((word) =>
        answer(world, carrier, run, { answer: word, decision: id }),
      );
      return (await Promise.all(both)).join(', ');
    },
  ),
  atApproval(
    'approves by signal and update',
    ['committed'],
    {},
    async ({ world, carrier }, point, run) => {
      const [, told] = await Promise.all([
        signalled(world, carrier, run, point, 'approve'),
        answer(world, carrier, run, { answer: 'approve', decision: point.id }),
      ]);
      return `update: ${told}`;
    },
  ),
  atApproval(
    'approves file by file',
    ['committed'],
    { files: 2 },
    async ({ world, carrier }, { id }, run) => {
      const each = carrier.paths.map((path) =>
        answer(world, carrier, run, { answer: 'approve', decision: id, files: [path] }),
      );
      return (await Promise.all(each)).join(', ');
    },
  ),
  atApproval('skips', ['skipped'], {}, async ({ world, carrier }, { id }, run) =>
    heard(await answer(world, carrier, run, { answer: 'skip', decision: id }), id),
  ),
  atApproval('revises', ['changed'], {}, async ({ world, carrier }, { id }, run) =>
    heard(
      await answer(world, carrier, run, {
        answer: 'revise',
        note: revision(carrier.name),
        decision: id,
      }),
      id,
    ),
  ),
  junk,
  stopped('aborts', ['aborted', 'committed'], async ({ world, carrier }, run) =>
    heard(await answer(world, carrier, run, { answer: 'abort', decision: '' }), 'abort'),
  ),
  stopped('cancels in Temporal', ['cancelled', 'aborted', 'committed'], ({ world }, run) =>
    withHandle(world, run, async (handle) => {
      await handle.cancel();
      return 'cancel';
    }),
  ),
];
