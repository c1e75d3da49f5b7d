import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { readdir, writeFile } from 'node:fs/promises';
import { ownProcess } from '../../src/system/process.js';
import { realSys } from '../../src/system/sys.js';
import {
  claimRecord,
  liveDevServer,
  readRecord,
  recordPath,
  removeRecord,
} from '../../src/temporal/dev-record.js';
import { noLinks } from '../support/store-faults.js';
import { newHome } from './support/server.js';

const self = await ownProcess(realSys);
const dead = { ...self, pid: 2 ** 22 - 1 };
const of = (process: typeof self, address: string) =>
  ({
    state: 'starting',
    process,
    owner: process,
    address,
    clusterId: null,
    hiddenUi: null,
  }) as const;

let place: Awaited<ReturnType<typeof newHome>>;
beforeEach(async () => {
  place = await newHome();
});
afterEach(() => place.remove());

describe.each([
  ['hard links', realSys],
  ['no hard links (exFAT, some network filesystems)', noLinks],
])('on a filesystem with %s', (_, sys) => {
  test('of many claims at once one is granted, and the others are told whose it is', async () => {
    const all = await Promise.all(
      Array.from({ length: 8 }, (__, n) => claimRecord(place.home, of(self, `:${n}`), sys)),
    );
    const stands = await readRecord(place.home);
    expect(all.filter((holder) => holder === null)).toHaveLength(1);
    expect(all.filter((holder) => holder?.address === stands?.address)).toHaveLength(7);
  });

  test('a claim of a dead process is taken over, and one that was given back leaves nothing behind', async () => {
    expect(await claimRecord(place.home, of(dead, ':1'), sys)).toBeNull();
    expect(await claimRecord(place.home, of(self, ':2'), sys)).toBeNull();
    expect(await liveDevServer(place.home)).toBeNull(); // It starts.
    expect((await readRecord(place.home))?.address).toBe(':2');
    await removeRecord(place.home, self, sys);
    expect(await readdir(place.home)).toEqual([]);
    expect(await claimRecord(place.home, of(self, ':3'), sys)).toBeNull();
    expect((await readRecord(place.home))?.address).toBe(':3');
  });

  test('a claim that was damaged is taken over, too', async () => {
    expect(await claimRecord(place.home, of(dead, ':1'), sys)).toBeNull();
    await writeFile(recordPath(place.home), '');
    expect(await claimRecord(place.home, of(self, ':2'), sys)).toBeNull();
    expect((await readRecord(place.home))?.address).toBe(':2');
  });
});
