/** Kinds of full disk, one for each store: the next few writes of an activity fail with ENOSPC. */
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

export const diskKinds: readonly Kind[] = [
  full('blobs', 'seal', (home) => join(home, 'blobs')),
  full('records', 'preflight', (home) => join(home, 'records')),
  full('call journal', 'propose', (home) => join(home, 'slots')),
  full('transactions', 'apply', (home) => join(home, 'transactions')),
  full('archive', 'seal', (home) => join(home, 'archive')),
  full('lease', 'apply', () => '/emend/lease/'),
  full('workspace', 'apply', () => '/.emend-'),
];
