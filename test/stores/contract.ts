/** The contract of every adapter of the stores. `open` opens one store again, as another host (of a bucket) or process (of a home). */
import { randomBytes } from 'node:crypto';
import { describe, expect, test } from '@jest/globals';
import { createCallJournal } from '../../src/model/journal/index.js';
import { CallFiles, callKey } from '../../src/model/journal/records.js';
import type { BlobRef } from '../../src/shared/ids.js';
import type { ArchiveEntry, Stores } from '../../src/stores/ports.js';
import { holds } from '../support/blobs.js';
import { drawn } from '../support/seeded.js';
import { longOnly } from '../support/skipped.js';
import { askFor, eventually, keyParts, modelAt, rule, withRehearsal } from '../model/support.js';

export interface OpenStore {
  open(host: string): Promise<Stores>;
  /** Writes bytes without the adapter at the place where the store keeps a name, which is relative and the same for both adapters. */
  plant(name: string, bytes: Uint8Array): Promise<void>;
}

const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text);
const textOf = (bytes: Uint8Array): string => new TextDecoder().decode(bytes);
const fresh = (): string => randomBytes(16).toString('hex');
const entry = (
  id: string,
  time = '2026-01-01T00:00:00.000Z',
  data: unknown = id,
): ArchiveEntry => ({
  id,
  at: time,
  kind: 'event',
  data,
});
const problem = (code: string) =>
  expect.objectContaining({ problem: expect.objectContaining({ code }) });

/** Lets several writers put their own numbers under each of several keys at once. */
const race = async (stores: readonly Stores[], keys: number): Promise<void> => {
  const names = Array.from({ length: keys }, () => `race/${fresh()}`);
  const results = await Promise.all(
    names.map((key) =>
      Promise.all(stores.map(({ records }, writer) => records.putIfAbsent(key, { writer }))),
    ),
  );
  for (const [index, all] of results.entries()) {
    const winners = all.flatMap(({ created }, writer) => (created ? [writer] : []));
    expect(winners).toHaveLength(1);
    expect(new Set(all.map(({ value }) => value.writer))).toEqual(new Set(winners));
    expect(await stores[0]?.records.get(names[index] ?? '')).toEqual({ writer: winners[0] });
  }
};

/** Makes the tests. `store` is made before the first of them runs. */
export const storeContract = (adapter: string, store: () => OpenStore): void => {
  const opened = (hosts = ['0a', '0b']) => Promise.all(hosts.map((host) => store().open(host)));

  describe(`blobs in ${adapter}`, () => {
    test('what was put is there for everybody, byte for byte, under its hash', async () => {
      const [a, b] = await opened();
      for (const bytes of [bytesOf('one\r\n\0'), new Uint8Array(), randomBytes(1_000_000)]) {
        const ref = await a!.blobs.put(bytes);
        expect(await b!.blobs.put(bytes)).toBe(ref);
        expect(Buffer.from(await b!.blobs.get(ref)).equals(Buffer.from(bytes))).toBe(true);
        expect(await holds(b!.blobs, ref)).toBe(true);
      }
    });

    test('one that is absent, and what is no reference, is lost', async () => {
      const [a] = await opened();
      const ref: BlobRef = `sha256:${fresh()}${fresh()}`;
      expect(await holds(a!.blobs, ref)).toBe(false);
      for (const reference of [ref, 'sha256:../../x' as BlobRef])
        await expect(a!.blobs.get(reference)).rejects.toEqual(problem('blob_lost'));
    });

    test('one whose bytes are others is lost, and the right bytes take its place', async () => {
      const [a] = await opened();
      const ref = await a!.blobs.put(bytesOf(`right ${fresh()}`));
      const hex = ref.slice('sha256:'.length);
      await store().plant(`blobs/${hex.slice(0, 2)}/${hex}`, bytesOf('wrong'));
      await expect(a!.blobs.get(ref)).rejects.toEqual(problem('blob_lost'));
      const again = bytesOf(`once more ${fresh()}`);
      const other = await a!.blobs.put(again);
      const otherHex = other.slice('sha256:'.length);
      await store().plant(`blobs/${otherHex.slice(0, 2)}/${otherHex}`, bytesOf('wrong'));
      await a!.blobs.put(again);
      expect(textOf(await a!.blobs.get(other))).toBe(textOf(again));
    });
  });

  describe(`records in ${adapter}`, () => {
    test('the first writer wins, and all see what JSON made of its value', async () => {
      const [a, b] = await opened();
      const folder = `steps/${fresh()}`;
      const key = `${folder}/r.1`;
      expect(await b!.records.get(key)).toBeNull();
      expect(await b!.records.names(folder)).toEqual([]);
      expect(await a!.records.putIfAbsent(key, { n: 1, gone: undefined })).toEqual({
        value: { n: 1 },
        created: true,
      });
      expect(await b!.records.putIfAbsent(key, { n: 2 })).toEqual({
        value: { n: 1 },
        created: false,
      });
      // The same value does not make a second writer the first.
      expect(await b!.records.putIfAbsent(key, { n: 1 })).toEqual({
        value: { n: 1 },
        created: false,
      });
      expect(await b!.records.get(key)).toEqual({ n: 1 });
      expect(await b!.records.names(folder)).toEqual(['r.1.json']);
    });

    test('of 4 writers on 8 keys one wins each key, every time', async () => {
      const stores = await opened(['0a', '0b', '0c', '0d']);
      for (let round = 0; round < drawn(1, 3); round++) await race(stores, 8);
    });

    longOnly('16 writers on 20 keys')('of 16 writers on 20 keys, once', async () => {
      await race(await opened(Array.from({ length: 16 }, (_, i) => `${i}`)), 20);
    });

    test('a key that is none, and a record of another version, are refused', async () => {
      const [a] = await opened();
      for (const key of ['../x', 'a//b', 'A', ''])
        await expect(a!.records.putIfAbsent(key, {})).rejects.toEqual(problem('internal'));
      const key = `other/${fresh()}`;
      await store().plant(`records/${key}.json`, bytesOf('{"v":999}\n'));
      await expect(a!.records.get(key)).rejects.toEqual(problem('version_unknown'));
      await expect(a!.records.putIfAbsent(key, {})).rejects.toEqual(problem('version_unknown'));
    });
  });

  describe(`archives in ${adapter}`, () => {
    test('all append, all read every entry once, and what one appended keeps its order', async () => {
      const [a, b] = await opened();
      const key = fresh();
      expect(await a!.archive.read(key)).toEqual([]);
      const minute = (n: number) => `2026-01-01T00:0${n}:00.000Z`;
      await a!.archive.append(
        key,
        [entry('a1', minute(1)), entry('a2', minute(5))],
        'with_next_append',
      );
      await a!.archive.append(key, [entry('a3', minute(2))]);
      await b!.archive.append(key, [
        entry('b1', minute(3)),
        entry('b2', minute(6)),
        entry('a1', minute(7), 'again'),
      ]);
      await a!.archive.append(key, []);
      for (const { archive } of [a!, b!]) {
        const read = await archive.read(key);
        const ids = read.map(({ id }) => id);
        expect(ids.filter((id) => id.startsWith('a'))).toEqual(['a1', 'a2', 'a3']);
        expect(ids.filter((id) => id.startsWith('b'))).toEqual(['b1', 'b2']);
        expect(read.find(({ id }) => id === 'a1')?.data).toBe('a1');
      }
    });

    test('many appends at once from two hosts lose nothing', async () => {
      const stores = await opened();
      const key = fresh();
      const ids = Array.from({ length: 60 }, (_, i) => `${i}`);
      await Promise.all(
        ids.map((id, i) =>
          stores[i % 2]!.archive.append(key, [entry(id, undefined, 'x'.repeat(9000))]),
        ),
      );
      expect((await stores[0]!.archive.read(key)).map(({ id }) => id).sort()).toEqual(
        [...ids].sort(),
      );
    });

    test('runs are found by the beginning of their key, the newest first; what is of a later version is counted', async () => {
      const [a, b] = await opened();
      const start = fresh().slice(0, 12);
      const keys = ['1', '2'].map((end) => `${start}${end}`.padEnd(32, '0'));
      expect(await b!.archive.find(start)).toEqual([]);
      for (const key of keys) {
        await a!.archive.append(key, [entry('1')]);
        // The clocks of stores distinguish seconds.
        await new Promise((resolve) => setTimeout(resolve, 1_100));
      }
      expect(await b!.archive.find(start)).toEqual([...keys].reverse());
      expect(await b!.archive.names()).toEqual(expect.arrayContaining(keys));
      await a!.archive.append(keys[0]!, [{ ...entry('2'), v: 999 } as ArchiveEntry]);
      expect((await b!.archive.read(keys[0]!)).map(({ kind, data }) => [kind, data])).toEqual([
        ['event', '1'],
        ['newer', { entries: 1, damaged: 0 }],
      ]);
      expect((await b!.archive.find(start))[0]).toBe(keys[0]);
    });

    test('kept files are written once, and are no logs: alone they are a run whose log is lost', async () => {
      const [a, b] = await opened();
      const key = fresh();
      expect(await a!.archive.lastFile(key, 'checkpoint-')).toBeNull();
      const put = await a!.archive.putFile(key, 'checkpoint-0002', { n: 2 });
      expect(put).toEqual({
        path: expect.stringContaining('checkpoint-0002.json'),
        value: { n: 2 },
        created: true,
      });
      expect(await b!.archive.putFile(key, 'checkpoint-0002', { n: 3 })).toMatchObject({
        value: { n: 2 },
        created: false,
      });
      await b!.archive.putFile(key, 'checkpoint-0001', { n: 1 });
      await b!.archive.putFile(key, 'other', { n: 0 });
      expect(await a!.archive.lastFile(key, 'checkpoint-')).toEqual({ n: 2 });
      expect(await a!.archive.find(key)).toEqual([key]);
      expect(await a!.archive.read(key)).toMatchObject([
        { kind: 'newer', data: { entries: 0, damaged: 1 } },
      ]);
      await store().plant(`archive/${key}/checkpoint-0003.json`, bytesOf('{"v":999}\n'));
      expect(await a!.archive.lastFile(key, 'checkpoint-')).toBeNull();
      await expect(async () => a!.archive.putFile(key, '../x', {})).rejects.toEqual(
        problem('internal'),
      );
    });
  });

  describe(`recorded calls in ${adapter}`, () => {
    test('a stream is read as it grows, from any byte on', async () => {
      const [a, b] = await opened();
      const call = `${fresh()}/${fresh()}${fresh()}`;
      const key = `${call}/attempt-1.events`;
      await a!.calls.putIfAbsent(`${call}/attempt-1`, {});
      expect([await b!.calls.size(key), textOf(await b!.calls.read(key))]).toEqual([-1, '']);
      const stream = await a!.calls.begin(key, bytesOf('begin\n'));
      let all = 'begin\n';
      for (let n = 0; n < 12; n++) {
        const piece = `${n} ${'x'.repeat(50_000)}\n`;
        await stream.append(bytesOf(piece), n % 2 === 0 ? 'with_next_append' : undefined);
        all += piece;
        expect(await b!.calls.size(key)).toBe(all.length);
      }
      expect(textOf(await b!.calls.read(key))).toBe(all);
      for (const from of [1, 262_144, 300_000, all.length])
        expect(textOf(await b!.calls.read(key, from))).toBe(all.slice(from));
    });

    test('records and streams of a call are found by name', async () => {
      const [a, b] = await opened();
      const [step, call] = [fresh(), `${fresh()}${fresh()}`];
      expect(await b!.calls.names(step)).toEqual([]);
      await a!.calls.putIfAbsent(`${step}/${call}/call`, { n: 1 });
      expect(await b!.calls.putIfAbsent(`${step}/${call}/call`, { n: 2 })).toEqual({
        value: { n: 1 },
        created: false,
      });
      await a!.calls.putIfAbsent(`${step}/${call}/attempt-1`, { n: 1 });
      await a!.calls.begin(`${step}/${call}/attempt-1.events`, bytesOf('x\n'));
      expect(await b!.calls.names(step)).toEqual([call]);
      expect(await b!.calls.names(`${step}/${call}`)).toEqual(
        expect.arrayContaining(['attempt-1.json', 'call.json']),
      );
      // Only the log shows an attempt whose claim is lost.
      await a!.calls.begin(`${step}/${call}/attempt-2.events`, bytesOf('x\n'));
      expect(await new CallFiles(b!.calls, `${step}/${call}`).attempts()).toEqual([1, 2]);
      expect(await b!.calls.get(`${step}/${call}/call`)).toEqual({ n: 1 });
    });
  });

  describe(`the call journal over ${adapter}`, () => {
    const journal = ({ calls }: Stores, url: string, callOwner_ms = 20_000) =>
      createCallJournal({ calls, model: modelAt(url), callOwner_ms });
    const requestOf = (regeneration: number, stepKey: string) =>
      askFor({ key: { ...keyParts, stepKey, regeneration } });

    test('two hosts that want one answer pay for it once, and a third finds it recorded', async () => {
      const stores = await opened(['0a', '0b', '0c']);
      await withRehearsal([rule('the answer')], async ({ url, requests }) => {
        const step = fresh();
        const two = stores.slice(0, 2).map((store) => journal(store, url).ask(requestOf(0, step)));
        const outcomes = await Promise.all(two);
        for (const outcome of outcomes)
          expect(outcome).toMatchObject({ outcome: 'answered', answer: { text: 'the answer' } });
        expect(await journal(stores[2]!, url).ask(requestOf(0, step))).toMatchObject({
          outcome: 'answered',
          recorded: true,
        });
        expect(requests()).toHaveLength(1);
        expect(
          await stores[2]!.calls.get(`${step}/${callKey(requestOf(0, step).key)}/answer`),
        ).toMatchObject({
          attempt: 1,
        });
      });
    });

    test('an owner that is silent loses its attempt; what it writes later is not the answer', async () => {
      const [a, b] = await opened();
      await withRehearsal([rule('the answer')], async ({ url, requests }) => {
        const step = fresh();
        const call = `${step}/${callKey(requestOf(1, step).key)}`;
        // Another host sent the request, received a word, and stopped there.
        await journal(a!, url).ask(requestOf(0, step));
        const key = `${step}/${callKey(requestOf(0, step).key)}`;
        const other = (await a!.calls.get<{ readonly owner: { readonly process: object } }>(
          `${key}/attempt-1`,
        ))!;
        const owner = {
          ...other.owner,
          process: { ...other.owner.process, boot: 'of another machine' },
        };
        const recorded = await a!.calls.get(`${key}/call`);
        await a!.calls.putIfAbsent(`${call}/call`, recorded!);
        await a!.calls.putIfAbsent(`${call}/attempt-1`, { ...other, owner });
        const stream = await a!.calls.begin(
          `${call}/attempt-1.events`,
          bytesOf('{"v":2,"attempt":1,"at":""}\n'),
        );

        const started = performance.now();
        let done = false;
        const taken = journal(b!, url, 2_000)
          .ask(requestOf(1, step))
          .finally(() => (done = true));
        for (let n = 0; n < 3; n++) {
          await new Promise((resolve) => setTimeout(resolve, 500));
          await stream.append(bytesOf(`{"t":${n}}\n`));
        }
        // It gave signs of life, so no other host has taken it over.
        expect({ done, requests: requests().length }).toEqual({ done: false, requests: 1 });
        expect(await taken).toMatchObject({
          outcome: 'answered',
          answer: { text: 'the answer' },
          recorded: false,
        });
        expect(performance.now() - started).toBeGreaterThan(3_000);
        expect(requests()).toHaveLength(2);

        await stream.append(bytesOf('{"t":9,"e":{"type":"message_stop"}}\n'));
        expect(await journal(a!, url).ask(requestOf(1, step))).toMatchObject({
          answer: { text: 'the answer' },
          recorded: true,
        });
        expect(await a!.calls.get(`${call}/answer`)).toMatchObject({ attempt: 2 });
        expect(requests()).toHaveLength(2);
      });
    });

    test('events are there within a second of their coming, before the call has ended', async () => {
      const [a, b] = await opened();
      const fault = { kind: 'hold', after_bytes: 2_000 } as const;
      await withRehearsal(
        [rule('an answer of some length\n'.repeat(400), { fault })],
        async (rehearsal) => {
          const step = fresh();
          const answer = journal(a!, rehearsal.url).ask(requestOf(0, step));
          const key = `${step}/${callKey(requestOf(0, step).key)}/attempt-1.events`;
          await eventually('events of a call that is held', async () =>
            textOf(await b!.calls.read(key)).includes('content_block_delta'),
          );
          expect(
            await b!.calls.get(`${step}/${callKey(requestOf(0, step).key)}/answer`),
          ).toBeNull();
          rehearsal.release();
          expect(await answer).toMatchObject({ outcome: 'answered' });
        },
      );
    });
  });
};
