import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { ownProcess } from '../../src/system/process.js';
import { realSys } from '../../src/system/sys.js';
import { claimRecord } from '../../src/temporal/dev-record.js';
import { ownAddresses } from '../../src/temporal/own-addresses.js';
import { recordPage } from '../../src/temporal/page-record.js';
import { newHome } from './support/server.js';

let place: Awaited<ReturnType<typeof newHome>>;
beforeEach(async () => {
  place = await newHome();
});
afterEach(() => place.remove());

const NO_FILE = { TEMPORAL_CONFIG_FILE: 'none' };

test('a home without a server has only the usual port', async () => {
  expect(await ownAddresses(NO_FILE, place.home)).toEqual(['localhost:7233']);
});

test('D5: the dev server, its UI, each page and the configured server are known', async () => {
  const process = await ownProcess(realSys);
  await claimRecord(place.home, {
    state: 'serving',
    process,
    owner: process,
    address: '127.0.0.1:41233',
    clusterId: null,
    hiddenUi: '127.83.201.9:8233',
  });
  await recordPage(place.home, {
    pageUrl: 'http://127.0.0.1:4700/',
    uiUrl: 'http://localhost:4701',
  });
  await recordPage(place.home, { pageUrl: 'https://box.example/', uiUrl: null });
  const env = { ...NO_FILE, TEMPORAL_ADDRESS: 'temporal.internal:7233' };
  expect(new Set(await ownAddresses(env, place.home))).toEqual(
    new Set([
      'localhost:7233',
      '127.0.0.1:41233',
      '127.83.201.9:8233',
      'temporal.internal:7233',
      '127.0.0.1:4700',
      'localhost:4701',
      'box.example:443',
    ]),
  );
});
