/** What a worker tells a new run of its group, with real records of pages. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { createGroup } from '../../../src/client/runs/group.js';
import type { Emend } from '../../../src/client/types.js';
import { queueNames, queuesFor } from '../../../src/shared/names.js';
import { recordPage } from '../../../src/temporal/page-record.js';

let home: string;
beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), 'emend-group-'));
});
afterEach(() => rm(home, { recursive: true, force: true }));

const HOST = '11111111'.repeat(4);
const OWN_SERVER = queuesFor({}, HOST, true);
const TEAM = queueNames('emend', HOST);
test.each([
  ['of a home with its own server', OWN_SERVER, 'http://127.0.0.1:8260', 'http://127.0.0.1:8260'],
  ['that only its own host can open', TEAM, 'http://127.0.0.1:8260', null],
  ['that only its own host can open, in IPv6', TEAM, 'http://[::1]:8260', null],
  ['with a public address', TEAM, 'https://emend.example.org/', 'https://emend.example.org'],
])('a page %s', async (_, queues, pageUrl, page) => {
  const emend = {
    home,
    queues,
    address: 'localhost:7233',
    runs: { searchAttributes: () => Promise.resolve(true) },
  } as unknown as Emend;
  const group = createGroup(() => Promise.resolve(emend));
  expect(await group.facts()).toMatchObject({ page: null });
  const forget = await recordPage(home, { pageUrl, uiUrl: null });
  expect(await group.facts()).toMatchObject({ page });
  await forget();
});
