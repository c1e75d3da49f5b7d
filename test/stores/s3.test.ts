/** Tests stores in a bucket of a real SeaweedFS: the contract of all stores, every fault of a network, and wrong settings. */
import * as fs from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { findUnused, removeUnused } from '../../src/client/gc/index.js';
import { ProblemError } from '../../src/shared/problems.js';
import { homePaths, hostId, resolveHome } from '../../src/stores/home.js';
import { guardHome } from '../../src/stores/guard-home.js';
import { openStores, resolveStore } from '../../src/stores/location.js';
import { tryStore } from '../../src/stores/try-store.js';
import { objectsAt, type Objects, createS3Files } from '../../src/stores/s3/index.js';
import { ObjectLog, readLog } from '../../src/stores/s3/object-log.js';
import { asidePath } from '../../src/stores/directory/blobs.js';
import { TIMES } from '../../src/stores/s3/objects.js';
import { fakeEmend, FakeServer } from '../client/fake.js';
import { holds } from '../support/blobs.js';
import {
  next,
  startFaultyProxy,
  type Asked,
  type Fault,
  type FaultyProxy,
} from '../support/faulty-proxy.js';
import { sampled } from '../support/seeded.js';
import { findSeaweed, startSeaweed, type Seaweed } from '../support/seaweed.js';
import { describeIf, longOnly } from '../support/skipped.js';
import { storeContract } from './contract.js';

const found = await findSeaweed();
const long = longOnly('the contract and faults that pass show the promise');
const describeS3 = describeIf('path' in found, 'path' in found ? '' : found.why);

let dir: string;
let seaweed: Seaweed;
let proxy: FaultyProxy;
/** Variables by which the bucket is reached through the proxy. */
let env: Readonly<Record<string, string>>;

const AWS = /^(AWS|EMEND_STORE)/;
const setEnv = (variables: Readonly<Record<string, string>>): void => {
  for (const name of Object.keys(process.env))
    if (AWS.test(name)) Reflect.deleteProperty(process.env, name);
  // The SDK asks this service last for credentials, and waits long if it does not exist.
  Object.assign(process.env, {
    AWS_EC2_METADATA_DISABLED: 'true',
    AWS_CONFIG_FILE: '/dev/null',
    ...variables,
  });
  process.env.AWS_SHARED_CREDENTIALS_FILE = '/dev/null';
};

const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text);
const textOf = (bytes: Uint8Array | null): string | null =>
  bytes === null ? null : new TextDecoder().decode(bytes);
let keys = 0;
const freshKey = (): string => `faults/${(keys += 1)}`;

const SHORT = { ...TIMES, answer_ms: 700, try_ms: 1_000, tries: 3, pause_ms: 20 };
const objects = (more: Partial<typeof TIMES> = {}): Objects =>
  objectsAt(
    `s3://${seaweed.bucket}/objects`,
    { EMEND_STORE_PATH_STYLE: '1' },
    { ...SHORT, ...more },
  );
const failure = async (work: Promise<unknown>): Promise<{ message: string; next: string }> => {
  const error = await work.then(
    () => new Error('it worked'),
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof ProblemError)) throw error;
  expect(error.problem.code).toBe('store_unusable');
  const texts = { message: error.message, next: error.problem.next ?? '' };
  for (const secret of [env.AWS_ACCESS_KEY_ID ?? '', env.AWS_SECRET_ACCESS_KEY ?? ''])
    expect(JSON.stringify(texts)).not.toContain(secret);
  return texts;
};

describeS3('a store in a bucket', () => {
  beforeAll(async () => {
    dir = fs.realpathSync(fs.mkdtempSync(join(tmpdir(), 'emend s3-')));
    seaweed = await startSeaweed('path' in found ? found.path : '');
    proxy = await startFaultyProxy(seaweed.port);
    env = {
      ...seaweed.env,
      AWS_ENDPOINT_URL_S3: `http://127.0.0.1:${proxy.port}`,
      EMEND_STORE_PATH_STYLE: '1',
    };
  }, 300_000);
  afterAll(async () => {
    await proxy.close();
    await seaweed.close();
    fs.rmSync(dir, { recursive: true, force: true });
  });
  beforeEach(() => {
    setEnv(env);
    proxy.fault = () => null;
  });
  afterEach(() => setEnv({}));

  const url = (prefix: string): string => `s3://${seaweed.bucket}/${prefix}`;
  const storeAt = async (host: string, prefix: string) => {
    const home = await resolveHome({ EMEND_HOME: join(dir, host) });
    return { home, store: await resolveStore({ ...env, EMEND_STORE: url(prefix) }, home) };
  };

  storeContract('a bucket', () => ({
    open: async (host) => {
      const { home, store } = await storeAt(host, 'contract');
      return openStores(home, store);
    },
    plant: async (name, bytes) => {
      await objectsAt(url('contract'), env).put(name, bytes);
    },
  }));

  // ------------------------------------------------------------------------------------------------------------ faults on the way

  const PUTS: readonly (readonly [string, Fault])[] = [
    ['no answer', 'hang'],
    ['a connection that is reset', 'reset'],
    ['a lost reply', 'reply lost'],
    ['a partial upload', 'partial upload'],
    ['status 500', { status: 500 }],
    ['SlowDown', { status: 503, body: '<Error><Code>SlowDown</Code></Error>' }],
    [
      'a conditional put beside another',
      { status: 409, body: '<Error><Code>ConditionalRequestConflict</Code></Error>' },
    ],
  ];
  test.each(sampled('puts with faults', PUTS, 3))(
    'a put with %s is sent again; it is whole, and ours',
    async (_, fault) => {
      const key = freshKey();
      proxy.fault = next(fault, new RegExp(`^PUT .*${key}\\b`));
      const bytes = bytesOf(`bytes of ${key} `.repeat(1_000));
      expect(await objects().putIfAbsent(key, bytes)).toMatchObject({ created: true });
      expect(textOf(await objects().get(key))).toBe(textOf(bytes));
      expect(
        proxy.seen.filter((item) => item.startsWith('PUT') && item.includes(`${key}?`)),
      ).toHaveLength(2);
      // The same bytes of another writer are another put.
      expect(await objects().putIfAbsent(key, bytes)).toMatchObject({ created: false });
    },
  );

  const READS: readonly (readonly [string, Fault])[] = [
    ['no answer', 'hang'],
    ['a connection that is reset', 'reset'],
    ['a body that is cut off', 'cut'],
    ['a body that stops coming', 'slow'],
    ['a damaged byte', 'damaged'],
    ['status 502', { status: 502 }],
  ];
  test.each(sampled('reads with faults', READS, 2))(
    'a read with %s is made again',
    async (_, fault) => {
      const key = freshKey();
      await objects().put(key, bytesOf('what was put'));
      proxy.fault = next(fault, new RegExp(`^GET .*${key}\\b`));
      expect(textOf(await objects().get(key))).toBe('what was put');
    },
  );

  long.each<readonly [string, Fault, RegExp]>([
    ['no answer', 'hang', /failed: no answer in time \(3 tries\)\.$/],
    ['a body that stops coming', 'slow', /failed: no answer in time \(3 tries\)\.$/],
    ['a body that is cut off', 'cut', /failed: no answer, \w+ \(3 tries\)\.$/],
    ['damaged bytes', 'damaged', /failed: its bytes do not match their hash \(3 tries\)\.$/],
    ['status 500', { status: 500 }, /failed: status 500, \w+ \(3 tries\)\.$/],
  ])('a read that always has %s says so, and what to do', async (_, fault, says) => {
    const key = freshKey();
    await objects().put(key, bytesOf('what was put'));
    proxy.fault = next(fault, /^GET/, Infinity);
    const { message, next: what } = await failure(objects().get(key));
    expect(message).toMatch(says);
    expect(message).toContain(`s3://${seaweed.bucket}/objects/${key}`);
    expect(what).toMatch(/retry|Restore/);
  });

  test('of an upload that is always cut off nothing is there', async () => {
    const key = freshKey();
    proxy.fault = next('partial upload', /^PUT/, Infinity);
    await failure(objects().putIfAbsent(key, bytesOf('x'.repeat(100_000))));
    proxy.fault = () => null;
    expect(await objects().get(key)).toBeNull();
  });

  test('an object that somebody else put there, without its hash, is not believed', async () => {
    const key = freshKey();
    // `aws s3 cp` makes such objects, without a hash.
    proxy.fault = next({ status: 200, body: 'x' }, /^GET/, Infinity);
    expect((await failure(objects().get(key))).message).toMatch(
      /has no hash, so Emend did not write it\.$/,
    );
  });

  test('a log goes on in a new object after a put that was sent twice, since the first may still arrive', async () => {
    const key = freshKey();
    const log = new ObjectLog(objects(), key);
    await log.append(bytesOf('1\n'));
    await log.append(bytesOf('2\n'));
    proxy.fault = next('reply lost', /^PUT/);
    await log.append(bytesOf('3\n'));
    await log.append(bytesOf('4\n'));
    expect((await objects().list(`${key}/`)).map((item) => item.key)).toEqual([
      `${key}/000001`,
      `${key}/000002`,
    ]);
    expect(textOf(await readLog(objects(), key))).toBe('1\n2\n3\n4\n');
    proxy.fault = next({ status: 500 }, /^PUT/, Infinity);
    await failure(log.append(bytesOf('5\n')));
    proxy.fault = () => null;
    await log.append(bytesOf('5\n'));
    expect(textOf(await readLog(objects(), key))).toBe('1\n2\n3\n4\n5\n');
  });

  long('more objects than a page of a list has', async () => {
    const many = objects();
    const names = Array.from({ length: 1_050 }, (_, n) => `many/${String(n).padStart(4, '0')}/x`);
    for (let first = 0; first < names.length; first += 50)
      await Promise.all(names.slice(first, first + 50).map((key) => many.put(key, bytesOf('x'))));
    expect((await many.list('many/')).map(({ key }) => key)).toEqual(names);
    expect(await many.names('many/')).toHaveLength(names.length);
  });

  // -------------------------------------------------------------------------------------------------------- what is set up wrongly

  const without = (...names: readonly string[]) =>
    Object.fromEntries(Object.entries(env).filter(([name]) => !names.includes(name)));

  test.each(['s3://', 's3:///prefix', 's3://Upper/x', 's3://bucket/a b', 's3://bucket/../x//y'])(
    '%s names no bucket, and the message says how to write it',
    async (wrong) => {
      const home = await resolveHome({ EMEND_HOME: join(dir, 'wrong') });
      const { message, next: what } = await failure(
        resolveStore({ ...env, EMEND_STORE: wrong }, home),
      );
      expect(message).toContain(JSON.stringify(wrong));
      expect(what).toContain('s3://BUCKET/PREFIX');
    },
  );

  const redirect: Fault = {
    status: 301,
    headers: { 'x-amz-bucket-region': 'eu-central-1' },
    body: '<Error><Code>PermanentRedirect</Code></Error>',
  };
  const WRONG: readonly (readonly [
    string,
    () => Readonly<Record<string, string>>,
    Fault | null,
    RegExp,
    RegExp,
  ])[] = [
    [
      'no credentials',
      () => without('AWS_ACCESS_KEY_ID', 'AWS_SECRET_ACCESS_KEY'),
      null,
      /no credentials were found/,
      /export AWS_ACCESS_KEY_ID=/,
    ],
    [
      'no region',
      () => without('AWS_REGION'),
      null,
      /no region is set/,
      /export AWS_REGION=us-east-1/,
    ],
    [
      'another region',
      () => env,
      redirect,
      /is in region eu-central-1/,
      /export AWS_REGION=eu-central-1/,
    ],
    [
      'a key that is unknown',
      () => ({ ...env, AWS_ACCESS_KEY_ID: 'stranger' }),
      null,
      /it denies access/,
      /Check the credentials/,
    ],
    [
      'nobody at the endpoint',
      () => ({ ...env, AWS_ENDPOINT_URL_S3: 'http://127.0.0.1:1' }),
      null,
      /http:\/\/127\.0\.0\.1:1 cannot be reached \(3 tries\)/,
      /AWS_ENDPOINT_URL_S3/,
    ],
    [
      'an endpoint that has no address',
      () => ({ ...env, AWS_ENDPOINT_URL_S3: 'http://nowhere.invalid' }),
      null,
      /http:\/\/nowhere\.invalid cannot be reached/,
      /AWS_ENDPOINT_URL_S3/,
    ],
    [
      'a service without conditional writes',
      () => env,
      { status: 501, body: '<Error><Code>NotImplemented</Code></Error>' },
      /conditional writes/,
      /another service/,
    ],
  ];
  test.each(sampled('wrong settings', WRONG, 3))(
    'with %s the message says what to type',
    async (_, variablesOf, fault, says, type) => {
      setEnv(variablesOf());
      proxy.fault = () => fault;
      const { message, next: what } = await failure(
        objects().putIfAbsent(freshKey(), bytesOf('x')),
      );
      expect(message).toMatch(says);
      expect(what).toMatch(type);
    },
  );

  test('with a bucket that is missing the message says how to create it', async () => {
    const home = await resolveHome({ EMEND_HOME: join(dir, 'missing') });
    const { message, next: what } = await failure(
      resolveStore({ ...env, EMEND_STORE: 's3://no-such-bucket-here' }, home),
    );
    expect(message).toMatch(
      /there is no bucket no-such-bucket-here at http:\/\/127\.0\.0\.1:\d+\.$/,
    );
    expect(what).toContain('aws s3 mb s3://no-such-bucket-here');
  });

  // ------------------------------------------------------------------------------------------------------------- homes and stores

  test('homes share it, remember it, and refuse another one', async () => {
    const a = await storeAt('remembers', 'homes');
    expect(a.store).toMatchObject({
      dir: url('homes'),
      id: expect.stringMatching(/^[0-9a-f]{32}$/),
      objects: expect.anything(),
    });
    expect((await storeAt('remembers too', 'homes/')).store.id).toBe(a.store.id);
    expect((await resolveStore(env, a.home)).id).toBe(a.store.id);
    const elsewhere = failure(resolveStore({ ...env, EMEND_STORE: url('elsewhere') }, a.home));
    expect((await elsewhere).message).toMatch(/uses store .*but there is no store/);
    expect(fs.existsSync('s3:')).toBe(false);
  });

  test('of several logs of a run, each keeps its order, and the earliest next entry comes first', async () => {
    const [a, b] = await Promise.all(['order a', 'order b'].map((host) => storeAt(host, 'order')));
    const entry = (id: string, minute: number, data = id) => ({
      id,
      at: `2026-01-01T00:0${minute}:00.000Z`,
      kind: 'event' as const,
      data,
    });
    const archives = await Promise.all(
      [a!, b!].map(async ({ home, store }) => (await openStores(home, store)).archive),
    );
    const key = 'f'.repeat(32);
    await archives[0]!.append(key, [entry('a1', 1), entry('a2', 5), entry('a3', 2)]);
    await archives[1]!.append(key, [entry('b1', 3), entry('b2', 6), entry('a1', 7, 'again')]);
    for (const archive of archives) {
      const read = await archive.read(key);
      expect(read.map(({ id }) => id)).toEqual(['a1', 'b1', 'a2', 'a3', 'b2']);
      expect(read[0]?.data).toBe('a1');
    }
  });

  test('a home that used a bucket is not its own store afterwards', async () => {
    const { home } = await storeAt('stays with it', 'homes');
    const { message, next: what } = await failure(resolveStore({ EMEND_STORE: home }, home));
    expect(message).toContain(
      `EMEND_STORE names ${JSON.stringify(home)} as the store, expected s3://`,
    );
    expect(what).toContain('unset EMEND_STORE');
  });

  test('a damaged store-id is written again by a home that has used the bucket, and refuses a new home', async () => {
    const { home, store } = await storeAt('knows the id', 'damaged-id');
    const objectsOf = store.objects!;
    const whole = Buffer.from((await objectsOf.get('store-id'))!).toString();
    const flipped = whole.replace(store.id[0]!, store.id.startsWith('a') ? 'b' : 'a');
    for (const [index, damage] of ['nonsense', flipped].entries()) {
      await objectsOf.put('store-id', bytesOf(damage));
      const refused = await failure(storeAt(`new to it ${index}`, 'damaged-id'));
      expect(refused.message).toContain('contains no store id');
      expect((await resolveStore(env, home)).id).toBe(store.id);
      expect(Buffer.from((await objectsOf.get('store-id'))!).toString()).toBe(whole);
    }
    await objectsOf.remove('store-id');
    expect((await failure(resolveStore(env, home))).message).toMatch(/but there is no store/);
  });

  test('a bucket that another Emend made is refused, whichever home works with it', async () => {
    const { store } = await storeAt('made it', 'of-another-version');
    await store.objects!.put('store-id', bytesOf(`3 ${'a'.repeat(32)}\n`));
    for (const host of ['made it', 'new to it'])
      await expect(storeAt(host, 'of-another-version')).rejects.toMatchObject({
        problem: {
          code: 'version_unknown',
          message: `The store at ${store.dir} has version 3; this Emend reads version 2.`,
        },
      });
  });

  test('a home whose store.json has v 3 works with no store; extra fields are no matter', async () => {
    const { home, store } = await storeAt('notes', 'homes');
    const note = homePaths(home).storeNote;
    const { sum: _, ...kept } = JSON.parse(fs.readFileSync(note, 'utf8')) as { sum?: string };
    const plant = (value: object) => {
      fs.rmSync(note);
      fs.writeFileSync(note, JSON.stringify(value));
    };
    plant({ ...kept, v: 3 });
    for (const setting of [{ EMEND_STORE: url('homes') }, {}])
      await expect(resolveStore({ ...env, ...setting }, home)).rejects.toMatchObject({
        problem: { code: 'version_unknown', message: expect.stringContaining(note) },
      });
    plant({ ...kept, laterField: { v: 3 } });
    expect((await resolveStore(env, home)).id).toBe(store.id);
  });

  test('a home with runs of its own is not pointed to a bucket without a word', async () => {
    const home = await resolveHome({ EMEND_HOME: join(dir, 'has runs') });
    const { archive } = await openStores(home, await resolveStore({}, home));
    await archive.append('0123456789abcdef', [{ id: '1', at: '', kind: 'event', data: null }]);
    const { message, next: what } = await failure(
      resolveStore({ ...env, EMEND_STORE: url('homes') }, home),
    );
    expect(message).toMatch(/contains its own store \(archive\)/);
    expect(what).toContain('another EMEND_HOME');
  });

  test('a worker sees that its store was emptied or replaced', async () => {
    const { home, store } = await storeAt('guarded', 'guarded');
    await hostId(home);
    const { check } = await guardHome(
      home,
      store,
      (await import('../../src/system/sys.js')).realSys,
    );
    await check();
    await store.objects!.remove('store-id');
    expect((await failure(check())).message).toMatch(/was removed or emptied/);
    await store.objects!.put('store-id', bytesOf(`2 ${'a'.repeat(32)}\n`));
    expect((await failure(check())).message).toMatch(/was replaced/);
    expect(fs.existsSync(homePaths(home).hostId)).toBe(true);
  });

  // -------------------------------------------------------------------------------------------------------------------------- gc

  test('a blob is read while another gc puts it back', async () => {
    const all = objects();
    const files = createS3Files(all);
    const path = `${all.place.url}/blobs/ab/${'ab'.repeat(32)}`;
    await all.put(asidePath(path).slice(all.place.url.length + 1), bytesOf('it names others'));
    const get: Objects['get'] = async (key) => {
      const bytes = await all.get(key);
      if (bytes === null) await files.restoreBlob(asidePath(path));
      return bytes;
    };
    expect(await createS3Files({ ...all, get }).readText(path)).toBe('it names others');
  });

  long(
    'gc takes what nothing names in two rounds: what is named in between comes back',
    async () => {
      const { home, store } = await storeAt('collected', 'collected');
      const stores = await openStores(home, store);
      const emend = { ...(await fakeEmend(new FakeServer())), home, store: store.dir, ...stores };
      const key = 'abcd1234'.padEnd(32, '0');
      const put = (text: string) => stores.blobs.put(bytesOf(text));
      const inner = await put('named by a blob');
      const [named, late, gone] = [
        await put(JSON.stringify({ inner })),
        await put('named too late'),
        await put('unnamed'),
      ];
      const name = (ref: string) =>
        stores.archive.append(key, [{ id: ref, at: '', kind: 'activity', data: { ref } }]);
      await name(named);
      const blobNames = async () =>
        (await store.objects!.list('blobs/')).map((item) => item.key.replace(/.*\//, ''));
      const hex = (ref: string): string => ref.slice('sha256:'.length);
      const wide = { olderThan_ms: -60_000 };

      expect((await removeUnused(emend, await findUnused(emend, wide))).files).toBe(2);
      expect((await blobNames()).sort()).toEqual(
        [hex(inner), hex(named), `${hex(late)}.GC`, `${hex(gone)}.GC`].sort(),
      );
      // Both can still be read; one is named now.
      for (const ref of [late, gone])
        expect([await holds(stores.blobs, ref), (await stores.blobs.get(ref)).length > 0]).toEqual([
          true,
          true,
        ]);
      await name(late);
      const second = await findUnused(emend, wide);
      await removeUnused(emend, second);
      expect((await blobNames()).sort()).toEqual([hex(inner), hex(named), hex(late)].sort());
      await expect(stores.blobs.get(gone)).rejects.toMatchObject({
        problem: { code: 'blob_lost' },
      });

      // A blob that was put again since it was found stays.
      const again = await put('put again');
      const third = await findUnused(emend, wide);
      expect(third.blobs).toHaveLength(1);
      await new Promise((resolve) => setTimeout(resolve, 1_100));
      await put('put again');
      expect((await removeUnused(emend, third)).files).toBe(0);
      expect(await holds(stores.blobs, again)).toBe(true);
    },
  );

  test('gc removes the calls, records and archive of a step that has ended, and nothing of another', async () => {
    const { home, store } = await storeAt('collected too', 'collected-steps');
    const stores = await openStores(home, store);
    const emend = { ...(await fakeEmend(new FakeServer())), home, store: store.dir, ...stores };
    const steps = ['a', 'b'].map((start) => start.repeat(32));
    for (const step of steps) {
      const type = step === steps[0] ? 'step_finished' : 'step_started';
      await stores.archive.append(step, [
        { id: '1', at: '', kind: 'event', data: { seq: 1, at: 0, type, outcome: 'done' } },
      ]);
      await stores.records.putIfAbsent(`steps/${step}/x`, {});
      await stores.calls.putIfAbsent(`${step}/${'c'.repeat(64)}/call`, {});
    }
    const found = await findUnused(emend, { olderThan_ms: -60_000, archivesOlderThan_ms: -60_000 });
    expect(found.steps).toMatchObject([{ stepKey: steps[0], archive: true }]);
    expect((await removeUnused(emend, found)).files).toBe(3);
    const all = (await store.objects!.list('')).map((item) => item.key);
    const stored = all.filter((key) => !key.startsWith('changes/'));
    expect(stored).toHaveLength(4);
    for (const key of stored) expect(key).toMatch(/^store-id$|b{32}/);
  });

  // ------------------------------------------------------------------------------------------------------------------- the doctor

  long('a sound store passes the trial and nothing of it stays; a slow one is slow', async () => {
    const { home, store } = await storeAt('tried', 'tried');
    expect(await tryStore(home, store)).toEqual({ ms: expect.any(Number), slow: false });
    expect(await store.objects!.list('records/')).toEqual([]);
    proxy.fault = ({ method }) => (method === 'PUT' ? { delay_ms: 400 } : null);
    expect(await tryStore(home, store)).toMatchObject({ slow: true });
  });

  /** Makes a service in memory that stores objects, but ignores the conditions of puts. */
  const careless = (
    put: (stored: Map<string, Asked>, request: Asked) => number,
  ): FaultyProxy['fault'] => {
    const stored = new Map<string, Asked>();
    return (request) => {
      const path = request.url.replace(/\?.*/, '');
      if (!path.includes('/records/')) return null;
      if (request.method === 'PUT') return { status: put(stored, { ...request, url: path }) };
      const found = stored.get(path);
      if (found === undefined)
        return { status: 404, body: '<Error><Code>NoSuchKey</Code></Error>' };
      const meta = Object.entries(found.headers).filter(([name]) => name.startsWith('x-amz-meta-'));
      return {
        status: 200,
        headers: Object.fromEntries(meta) as Record<string, string>,
        body: found.body.toString(),
      };
    };
  };

  long('one where all writers win is refused, and one where none does', async () => {
    const { home, store } = await storeAt('tried', 'tried');
    proxy.fault = careless((stored, request) => (stored.set(request.url, request), 200));
    const all = await failure(tryStore(home, store));
    expect(all.message).toMatch(
      /of 4 writers of one key at once, 4 won.*; exactly one must win\.$/,
    );
    expect(all.next).toContain('conditional writes');
    proxy.fault = careless(() => 412);
    expect((await failure(tryStore(home, store))).message).toMatch(
      /refused as already there, but is not there/,
    );
  });
});
