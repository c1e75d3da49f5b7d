/** Kinds of disks that refuse: a full one for each store (the next few writes of an activity fail with ENOSPC), a file that is immutable. */
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import type { Kind } from '../kind.js';
import { struck, type ArmedTrap } from '../traps.js';

/** `activity` is one that writes there for sure. */
const full = (where: string, activity: string, place: (home: string) => string): Kind => ({
  name: `disk full: ${where}`,
  bag: 'other',
  acts: ({ world, random }) => {
    let trap: ArmedTrap | null = null;
    return {
      beforeStart: () => {
        trap = world.traps.arm(`full ${where}`, {
          activity,
          stepKey: null,
          at: { moment: 'call', n: 1, path: place(world.home) },
          does: { kind: 'fail', errno: 'ENOSPC', times: random.whole(1, 8) },
        });
      },
      fired: () => struck(trap),
    };
  },
});

/** From its approval on, a target is immutable, until a person is asked. Without the right to `chattr` the system call says so. */
const immutable: Kind = {
  name: 'immutable target',
  bag: 'other',
  traits: { files: 2 },
  ends: ['committed'],
  acts: ({ world, carrier }) => {
    const path = join(carrier.workspace, carrier.paths.at(-1) ?? '');
    const chattr = (how: string): boolean => spawnSync('chattr', [how, path]).status === 0;
    let held = false;
    let trap: ArmedTrap | null = null;
    let asked: string | null = null;
    return {
      onDecision: ({ reason, message }) => {
        if (reason === 'approval' && asked === null && !held) held = chattr('+i');
        if (reason === 'approval' && asked === null && !held)
          trap ??= world.traps.arm('immutable target', {
            activity: 'applyProposal',
            stepKey: null,
            at: { moment: 'call', n: 1, only: ['openToWrite'], path },
            does: { kind: 'fail', errno: 'EPERM', times: 1 },
          });
        if (reason === 'engine_failed' && message.includes('is immutable or append-only')) {
          asked = trap === null ? message : struck(trap);
          if (held) held = !chattr('-i');
        }
        // The person answers as usual: approve, and retry.
        return Promise.resolve(false);
      },
      afterEnd: () => {
        if (held) held = !chattr('-i');
        return Promise.resolve(false);
      },
      fired: () => asked,
    };
  },
};

export const diskKinds: readonly Kind[] = [
  full('blobs', 'buildProposal', (home) => join(home, 'blobs')),
  full('records', 'preflight', (home) => join(home, 'records')),
  full('call journal', 'proposeEdit', (home) => join(home, 'calls')),
  full('transactions', 'applyProposal', (home) => join(home, 'transactions')),
  full('archive', 'buildProposal', (home) => join(home, 'archive')),
  full('lock', 'applyProposal', () => '/emend/lock/'),
  full('workspace', 'applyProposal', () => '/.emend-'),
  immutable,
];
