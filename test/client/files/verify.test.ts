/** `emend doctor --deep`: each file that is damaged or missing is named, with its run, what that means and what to type. */
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { main } from '../../../src/cli/main.js';
import { verifyFiles } from '../../../src/client/files/verify.js';
import { hostId } from '../../../src/stores/home.js';
import { diskFiles } from '../../../src/stores/index.js';
import { sha256 } from '../../../src/system/hash.js';
import { sealed } from '../../../src/system/sealed.js';
import { fakeIo } from '../../cli/io.js';
import { faultsOf } from '../../support/json-schema.js';

const RUN = 'a'.repeat(32);
const CALL = `calls/${RUN}/${'b'.repeat(64)}`;
const LOST = sha256('lost');
const blobOf = (hash: string): string => `blobs/${hash.slice(0, 2)}/${hash}`;
const KEPT = sha256('kept');

let home: string;
beforeEach(async () => {
  home = realpathSync(mkdtempSync(join(tmpdir(), 'emend verify-')));
  await hostId(home);
  put(`archive/${RUN}/log.jsonl`, line({ ref: `sha256:${KEPT}` }) + line({ id: 'b' }));
  put(`archive/${RUN}/evidence.json`, '{"payload":"x"}\n');
  put(`${CALL}/answer.json`, line({ text: 'an answer' }));
  put(`records/steps/${RUN}/preflight-1.json`, line({ commit: 'c' }));
  put(`transactions/${RUN}/p-1/verdict-1.json`, line({ verdict: 'committed' }));
  put('trust/ab/baseline.json', line({ hashes: [] }));
  put(blobOf(KEPT), 'kept');
});
afterEach(() => {
  rmSync(home, { recursive: true, force: true });
});

const line = (value: object): string => `${sealed({ v: 2, ...value })}\n`;
const put = (path: string, text: string): void => {
  mkdirSync(dirname(join(home, path)), { recursive: true });
  writeFileSync(join(home, path), text, { mode: 0o600 });
};
const damaged = async () => {
  const { damaged: found } = await verifyFiles({ home, store: home, files: diskFiles });
  return found.map(({ path, run, fault }) => [path.slice(home.length + 1), run, fault]);
};

test('a whole home has nothing to name', async () => {
  expect(await damaged()).toEqual([]);
});

test.each<[string, string, string | null, string]>([
  [blobOf(KEPT), 'Kept', null, 'it no longer matches its hash'],
  [
    `${CALL}/answer.json`,
    line({ text: 'an answer' }).replace('an', 'no'),
    RUN,
    'its checksum does not match its content',
  ],
  [`records/steps/${RUN}/preflight-1.json`, '{"v":2,"com', RUN, 'it is no JSON'],
  [`transactions/${RUN}/p-1/verdict-1.json`, '{"v":3}\n', RUN, 'another version of Emend wrote it'],
  [
    `archive/${RUN}/log.jsonl`,
    line({ id: 'a' }) + line({ id: 'b' }).replace('"b"', '"c"'),
    RUN,
    'line 2 was changed after it was written',
  ],
  [`archive/${RUN}/log.jsonl`, '', RUN, 'it is empty'],
  ['host-id', 'nonsense', null, 'it contains no id'],
])('%s with %j', async (path, text, run, fault) => {
  put(path, text);
  expect(await damaged()).toEqual([[path, run, fault]]);
});

test('a line that a killed writer left half is no damage', async () => {
  put(`archive/${RUN}/log.jsonl`, `${line({ id: 'a' })}{"v":2,"id\n${line({ id: 'b' })}{"v"`);
  expect(await damaged()).toEqual([]);
});

test('a content that is named and missing is named with the file that names it', async () => {
  put(`records/steps/${RUN}/preflight-1.json`, line({ ref: `sha256:${LOST}` }));
  expect(await damaged()).toEqual([
    [blobOf(LOST), RUN, `it is missing, and records/steps/${RUN}/preflight-1.json names it`],
  ]);
});

test('the log of a run that has recorded calls is named if it is missing', async () => {
  rmSync(join(home, `archive/${RUN}/log.jsonl`));
  expect(await damaged()).toEqual([
    [`archive/${RUN}/log.jsonl`, RUN, 'it is missing, and the run has recorded calls'],
  ]);
});

test('a log that is shorter than when the index read it is named', async () => {
  const log = line({ ref: `sha256:${KEPT}` });
  const bytes = 2 * log.length;
  put('index/runs.log', `R${RUN}\t0\tclosed\tended\t\t\t{"stamp":"${bytes}-k1"}\t\n`);
  put(`archive/${RUN}/log.jsonl`, log.repeat(2));
  expect(await damaged()).not.toContainEqual(expect.arrayContaining([`archive/${RUN}/log.jsonl`]));
  put(`archive/${RUN}/log.jsonl`, log);
  expect(await damaged()).toContainEqual([
    `archive/${RUN}/log.jsonl`,
    RUN,
    `it has ${log.length} bytes, and had ${bytes} when the index read it`,
  ]);
});

test('the command prints run, meaning and what to type, and exits with 7; whole, with 0', async () => {
  const run = async (...args: readonly string[]) => {
    const io = fakeIo({ env: { EMEND_HOME: home } });
    return { code: await main(['doctor', '--deep', ...args], io), out: io.printed.out };
  };
  expect(await run()).toMatchObject({ code: 0, out: expect.stringMatching(/^ok .*9 files/) });
  truncateSync(join(home, CALL, 'answer.json'), 9);
  chmodSync(join(home, CALL, 'answer.json'), 0o600);
  const found = await run();
  expect(found.code).toBe(7);
  expect(found.out).toMatch(
    /^damaged .*answer\.json \(run aaaaaaaa\): it is no JSON\. Put aside, the response is read [^]*mv '.*answer\.json' '.*answer\.json\.damaged'\n1 damaged or missing file of 9 files/,
  );
  const json = await run('--json');
  expect(json.code).toBe(7);
  expect(faultsOf('doctor --deep', JSON.parse(json.out))).toEqual([]);
});
