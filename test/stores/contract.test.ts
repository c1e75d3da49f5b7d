/** Tests the contract of the stores with a home that several processes open. s3.test.ts does so with a bucket and several hosts. */
import * as fs from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll } from '@jest/globals';
import { resolveHome } from '../../src/stores/home.js';
import { openStores, resolveStore } from '../../src/stores/location.js';
import { storeContract } from './contract.js';

let dir: string;
beforeAll(() => {
  dir = fs.realpathSync(fs.mkdtempSync(join(tmpdir(), 'emend contract-')));
});
afterAll(() => {
  fs.rmSync(dir, { recursive: true, force: true });
});

storeContract('a home', () => ({
  open: async () => {
    const home = await resolveHome({ EMEND_HOME: join(dir, 'home') });
    return openStores(home, await resolveStore({}, home));
  },
  plant: async (name, bytes) => {
    const path = join(dir, 'home', name);
    fs.mkdirSync(dirname(path), { recursive: true });
    if (fs.existsSync(path)) fs.chmodSync(path, 0o600);
    fs.writeFileSync(path, bytes);
  },
}));
