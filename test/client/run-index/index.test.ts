/** The index of all runs: always what a scan of all archives finds, whatever happened to its files. */
import * as fs from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { runIndex } from '../../../src/client/run-index/index.js';
import {
  chooseRuns,
  cursorOf,
  cursorText,
  placesOf,
} from '../../../src/client/run-index/choose.js';
import { phaseKey } from '../../../src/shared/ids.js';
import type { Emend } from '../../../src/client/types.js';
import { homePaths } from '../../../src/stores/home.js';
import { storePaths } from '../../../src/stores/location.js';
import { randomFrom, seed } from '../../support/seeded.js';
import { fakeEmend, FakeServer } from '../fake.js';
import {
  endOf,
  fitting,
  indexed,
  keyOf,
  planStarted,
  randomFilter,
  rowsOf,
  scanned,
  startOf,
} from './runs.js';

const random = randomFrom(seed);
const opened = (): Promise<Emend> => fakeEmend(new FakeServer());
const fileOf = ({ home }: Emend): string => join(homePaths(home).index, 'runs.log');

/** `n` runs of which most have ended. */
const filled = async (n: number): Promise<Emend> => {
  const emend = await opened();
  for (let run = 0; run < n; run += 1) {
    const entries = [startOf(random, run), ...(random() < 0.8 ? [endOf(random, run)] : [])];
    await emend.archive.append(keyOf(run), entries);
  }
  return emend;
};

/** Counts what is read of archives. */
const counting = (emend: Emend) => {
  const read: string[] = [];
  const stamped: string[] = [];
  let named = 0;
  const archive: Emend['archive'] = {
    ...emend.archive,
    read: (stepKey) => {
      read.push(stepKey);
      return emend.archive.read(stepKey);
    },
    stamp: (stepKey) => {
      stamped.push(stepKey);
      return emend.archive.stamp(stepKey);
    },
    names: () => {
      named += 1;
      return emend.archive.names();
    },
  };
  const clear = (): void => {
    read.length = 0;
    stamped.length = 0;
    named = 0;
  };
  return { emend: { ...emend, archive }, read, stamped, named: () => named, clear };
};

/** Expects of the index what a scan finds, also after all that this process knew of it is gone. */
const expectRight = async (emend: Emend): Promise<void> => {
  const all = await scanned(emend);
  expect(rowsOf(await runIndex(emend))).toEqual(all);
};

describe(`the index (seed ${seed})`, () => {
  test('finds what a naive scan over random archives finds, while runs start, end and go', async () => {
    const emend = await filled(120);
    for (let round = 0; round < 12; round += 1) {
      for (let n = 0; n < 5; n += 1) {
        const run = Math.floor(random() * 140);
        await emend.archive.append(keyOf(run), [
          startOf(random, run),
          ...(random() < 0.5 ? [endOf(random, run)] : []),
        ]);
      }
      const gone = keyOf(Math.floor(random() * 140));
      await emend.archive.announce(gone);
      fs.rmSync(join(storePaths(emend.store).archive, gone), { recursive: true, force: true });
      const all = await scanned(emend);
      for (let n = 0; n < 5; n += 1) {
        const filter = randomFilter(random);
        expect([filter, await indexed(emend, filter)]).toEqual([filter, fitting(all, filter)]);
      }
      await expectRight(emend);
    }
  });

  test('reads each archive once, and one that changed once more', async () => {
    const { emend, read, stamped, named, clear } = counting(await filled(30));
    await runIndex(emend);
    expect([new Set(read).size, read.length]).toEqual([30, 30]);
    clear();
    await runIndex(emend);
    expect([read, named()]).toEqual([[], 0]);
    await emend.archive.append(keyOf(3), [{ ...endOf(random, 3), id: 'closed-run-2' }]);
    clear();
    await runIndex(emend);
    expect([read, named()]).toEqual([[keyOf(3)], 0]);
    await emend.archive.append(keyOf(77), [startOf(random, 77)]);
    clear();
    await runIndex(emend);
    // A new name: the names are compared, and no archive but the new one is read.
    expect([read, named()]).toEqual([[keyOf(77)], 1]);
    expect(stamped.length).toBeLessThan(35);
  });

  test('adds a row to its file for a run that ends, and does not write the others again', async () => {
    const emend = await filled(200);
    await runIndex(emend);
    const { size, ino } = fs.statSync(fileOf(emend));
    await emend.archive.append(keyOf(500), [startOf(random, 500), endOf(random, 500)]);
    await runIndex(emend);
    const after = fs.statSync(fileOf(emend));
    expect(after.ino).toBe(ino);
    expect(after.size - size).toBeLessThan(4 * (size / 200));
  });

  test('is written again without outdated rows when most of it is outdated', async () => {
    const emend = await filled(3);
    await runIndex(emend);
    const { ino } = fs.statSync(fileOf(emend));
    const line = fs.readFileSync(fileOf(emend));
    const lines: Buffer[] = [];
    for (let n = 0; n < 2_000; n += 1) lines.push(line);
    fs.appendFileSync(fileOf(emend), Buffer.concat(lines));
    await expectRight(emend);
    expect(fs.statSync(fileOf(emend)).ino).not.toBe(ino);
    expect(fs.statSync(fileOf(emend)).size).toBeLessThan(2 * line.length);
    await expectRight(emend);
  });

  test('is made again where it, or the journal of changes, was removed', async () => {
    const emend = await filled(20);
    await expectRight(emend);
    fs.rmSync(homePaths(emend.home).index, { recursive: true });
    await expectRight(emend);
    fs.rmSync(join(emend.store, 'changes'), { recursive: true });
    // Announced before it was removed, by a process that remembers it.
    await emend.archive.append(keyOf(2), [{ ...endOf(random, 2), id: 'closed-run-2' }]);
    await expectRight(emend);
    await emend.archive.append(keyOf(2), [{ ...endOf(random, 2), id: 'closed-run-3' }]);
    await expectRight(emend);
  });

  test('believes no byte that was flipped, cut off, or left by a writer that died', async () => {
    const emend = await filled(40);
    await expectRight(emend);
    const whole = fs.readFileSync(fileOf(emend));
    for (let n = 0; n < 60; n += 1) {
      const damaged = Buffer.from(whole);
      const place = Math.floor(random() * whole.length);
      damaged[place] = damaged[place]! ^ (1 << Math.floor(random() * 8));
      const cut = random() < 0.3 ? damaged.subarray(0, place) : damaged;
      const torn = random() < 0.3 ? Buffer.concat([cut, whole.subarray(0, place)]) : cut;
      // A new file: this process knows nothing of it.
      fs.rmSync(fileOf(emend));
      fs.writeFileSync(fileOf(emend), torn);
      await expectRight(emend);
      // Whatever was wrong is repaired in the file.
      fs.copyFileSync(fileOf(emend), `${fileOf(emend)}.copy`);
      fs.renameSync(`${fileOf(emend)}.copy`, fileOf(emend));
      await expectRight(emend);
    }
  });

  test('compares all archives where lines of the journal of changes are damaged or missing', async () => {
    const emend = await filled(10);
    await runIndex(emend);
    const [name = ''] = fs.readdirSync(join(emend.store, 'changes'));
    const journal = join(emend.store, 'changes', name);
    for (const damage of [
      () => fs.writeFileSync(journal, ''),
      () => fs.writeFileSync(journal, fs.readFileSync(journal, 'utf8').replace(/ \d/, ' 9')),
      () => fs.rmSync(journal),
    ]) {
      await emend.archive.append(keyOf(2), [{ ...endOf(random, 2), id: `closed-${random()}` }]);
      await runIndex(emend);
      // Changed behind the back of the archive, so that only stamps tell.
      const log = join(storePaths(emend.store).archive, keyOf(1), 'log.jsonl');
      fs.appendFileSync(
        log,
        `${JSON.stringify({ v: 2, ...endOf(random, 1), id: `closed-${random()}` })}\n`,
      );
      damage();
      await expectRight(emend);
    }
  });

  test('is not believed in another boot, nor for another store', async () => {
    const { emend, stamped, clear } = counting(await filled(10));
    await runIndex(emend);
    const other = fs.readFileSync(fileOf(emend), 'latin1');
    const boot = fs.readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
    expect(other).toContain(boot);
    clear();
    // With a wrong checksum it would be damaged: another home has an index of this content.
    const moved = { ...emend, store: `${emend.store}-elsewhere` };
    await runIndex(moved);
    expect(new Set(stamped).size).toBe(10);
  });

  test('goes on where a build was cut off', async () => {
    const { emend, read, clear } = counting(await filled(1_200));
    const cut = runIndex(
      {
        ...emend,
        archive: {
          ...emend.archive,
          read: (stepKey) =>
            read.length > 700
              ? Promise.reject(new TypeError('cut off'))
              : emend.archive.read(stepKey),
        },
      },
      {},
    );
    await expect(cut).rejects.toThrow('cut off');
    clear();
    const progress: number[] = [];
    await runIndex(emend, { onProgress: (done) => progress.push(done) });
    expect(read.length).toBe(700);
    expect(progress.at(-1)).toBe(1_200);
    await expectRight(emend);
  }, 30_000);

  test('answers from memory where its directory cannot be written', async () => {
    const emend = await filled(10);
    fs.writeFileSync(homePaths(emend.home).index, 'a file in the place of a directory');
    await expectRight(emend);
    await emend.archive.append(keyOf(3), [{ ...endOf(random, 3), id: 'closed-run-2' }]);
    await expectRight(emend);
    fs.rmSync(homePaths(emend.home).index);
    await expectRight(emend);
    expect(fs.existsSync(fileOf(emend))).toBe(true);
  });

  test('two readers that know different things of one file keep all rows', async () => {
    const emend = await filled(20);
    await runIndex(emend);
    const early = fs.readFileSync(fileOf(emend));
    await emend.archive.append(keyOf(100), [startOf(random, 100), endOf(random, 100)]);
    await runIndex(emend);
    // Another process replaces the file from what it knew before.
    fs.writeFileSync(`${fileOf(emend)}.new`, early);
    fs.renameSync(`${fileOf(emend)}.new`, fileOf(emend));
    await emend.archive.append(keyOf(101), [startOf(random, 101)]);
    await expectRight(emend);
  });

  test('sees what was changed in an archive by hand before it shows it', async () => {
    const emend = await filled(10);
    const index = await runIndex(emend);
    const log = join(storePaths(emend.store).archive, keyOf(1), 'log.jsonl');
    fs.writeFileSync(log, 'no JSON\n');
    await index.check([keyOf(1)]);
    expect(index.row(keyOf(1))?.facts.omitted).toContain('Damaged entries of its archive');
  });
});

describe('choosing', () => {
  const plan = 'c'.repeat(32);
  const withPlan = async (): Promise<Emend> => {
    const emend = await filled(5);
    const jobPath = 'plans/010_demo.md';
    await emend.archive.append(plan, [
      startOf(random, 1, { jobPath, workspace: '/w/plan' }),
      planStarted(jobPath),
    ]);
    await emend.archive.append(phaseKey(plan, 'p1', 1), [
      startOf(random, 2, { jobPath: 'phase 1' }),
    ]);
    return emend;
  };

  test('takes the runs of a plan and its phases, by its document or its key', async () => {
    const emend = await withPlan();
    const runs = [plan, phaseKey(plan, 'p1', 1)].sort();
    for (const typed of ['plans/010_demo.md', 'plans/010_demo', './plans/010_demo.md', 'cccc'])
      expect([...(await indexed(emend, { plan: typed }))].sort()).toEqual(runs);
    expect(await indexed(emend, { plan: 'plans/other' })).toEqual([]);
    expect(placesOf(await runIndex(emend), 10)).toMatchObject({
      plans: ['plans/010_demo.md'],
      repositories: expect.arrayContaining(['/w/plan']),
    });
    expect(placesOf(await runIndex(emend), 1).repositories).toHaveLength(1);
  });

  test('searches title, task, id, repository, plan, files and outcome for each word', async () => {
    const emend = await opened();
    const job = await emend.blobs.put(
      new TextEncoder().encode('Rename the Frobnicator\n\nin all modules, ähnlich "so"'),
    );
    await emend.archive.append(keyOf(1), [
      startOf(() => 0, 1, {
        title: 'Tidy up',
        job,
        jobPath: 'jobs/tidy.md',
        workspace: '/w/house',
      }),
      endOf(() => 0, 1),
    ]);
    for (const text of [
      'TIDY',
      'frobnicator modules',
      'Ähnlich "so"',
      keyOf(1).slice(0, 9),
      '/w/house',
      'jobs/tidy',
      'src/greeting.ts',
      'committed',
      '  tidy   up ',
      'emend/1',
    ])
      expect([text, await indexed(emend, { text })]).toEqual([text, [keyOf(1)]]);
    for (const text of ['tidy nothing', 'frobnicators', 'aborted'])
      expect([text, await indexed(emend, { text })]).toEqual([text, []]);
  });

  test('goes through all runs page by page, also those of one time', async () => {
    const emend = await opened();
    const time = new Date(1e12).toISOString();
    for (let n = 0; n < 25; n += 1)
      await emend.archive.append(keyOf(n), [{ ...startOf(random, n), at: time }]);
    const index = await runIndex(emend);
    const seen: string[] = [];
    let cursor = null;
    for (;;) {
      const [...page] = chooseRuns(index, {}, cursor).slice(0, 7);
      if (page.length === 0) break;
      seen.push(...page);
      cursor = cursorOf(cursorText({ last_ms: 1e12, stepKey: page.at(-1)! }));
    }
    expect(seen).toEqual(index.keys());
    expect(chooseRuns(index, {}, cursorOf('2001-09-10'))).toHaveLength(25);
    expect(chooseRuns(index, {}, cursorOf('2001-09-09T01:46:40Z'))).toEqual([]);
    for (const typed of ['', 'yesterday', '2026-13-45', '1a2b3c4d'])
      expect(() => cursorOf(typed)).toThrow('is no day or time');
  });
});
