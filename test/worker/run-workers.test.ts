/** Workers that live and end together, over workers that do as they are told and workers that do not. */
import { expect, test } from '@jest/globals';
import { runWorkers, type OneWorker } from '../../src/worker/run-workers.js';

interface Fake extends OneWorker {
  readonly asked: () => number;
  readonly end: (error?: Error) => void;
}
/** `listens`: it ends when it is asked to. `atWork`: activities that have not ended. */
const fake = (listens: boolean, atWork = listens ? 0 : 1): Fake => {
  let state = 'RUNNING';
  let asked = 0;
  let end: (error?: Error) => void = () => undefined;
  const ended = new Promise<void>((resolve, reject) => {
    end = (error) => {
      state = error === undefined ? 'STOPPED' : 'FAILED';
      if (error === undefined) resolve();
      else reject(error);
    };
  });
  return {
    run: () => ended,
    getState: () => state,
    getStatus: () => ({ numInFlightActivities: atWork }),
    shutdown: () => {
      state = 'STOPPING';
      asked += 1;
      if (listens) end();
    },
    asked: () => asked,
    end: (error) => {
      end(error);
    },
  };
};
const never = new Promise<void>(() => undefined);
const bounds = { stop_ms: 40, close_ms: 40 };
const stuck = (says: RegExp) => ({
  problem: { code: 'worker_stuck', message: expect.stringMatching(says) },
});

test('a stop that all listen to ends, and closes what they used once they have ended', async () => {
  const workers = [fake(true), fake(true)];
  const states: string[] = [];
  const close = (): Promise<void> => {
    states.push(...workers.map((worker) => worker.getState()));
    return Promise.resolve();
  };
  const running = runWorkers(workers, { ...bounds, close });
  await running.stop();
  await running.done;
  expect(states).toEqual(['STOPPED', 'STOPPED']);
  expect(workers.map((worker) => worker.asked())).toEqual([1, 1]);
});

test('a worker that does not listen is left behind, and that is said', async () => {
  let closed = false;
  const close = (): Promise<void> => {
    closed = true;
    return Promise.reject(new Error('still in use'));
  };
  const running = runWorkers([fake(true), fake(false)], { ...bounds, close });
  await expect(running.stop()).rejects.toMatchObject(stuck(/has not ended 40 ms after/));
  await expect(running.done).rejects.toMatchObject(stuck(/has not ended/));
  expect(closed).toBe(true);
});

test('a connection that does not close is left behind, and that is said', async () => {
  const running = runWorkers([fake(true)], { ...bounds, close: () => never });
  await expect(running.stop()).rejects.toMatchObject(stuck(/closing its connection/));
});

test.each([
  ['its own word for it', new Error('Worker still in use: Expected 1 reference, but got 3')],
  ['it says nothing', undefined],
])(
  'a worker that ends late though no activity is at work waits for a silent server: %s',
  async (_how, error) => {
    const waits = fake(false, 0);
    const running = runWorkers([waits], { ...bounds, close: () => Promise.resolve() });
    const stopped = running.stop();
    if (error !== undefined) waits.end(error);
    await expect(stopped).rejects.toMatchObject(stuck(/the Temporal server does not answer/));
  },
);

test('where one breaks the others are asked to stop, waited for within the bound, and its own error is told', async () => {
  const broken = fake(true);
  const good = fake(true);
  const deaf = fake(false);
  const states: string[] = [];
  const close = (): Promise<void> => {
    states.push(good.getState());
    return Promise.resolve();
  };
  const running = runWorkers([broken, good, deaf], { ...bounds, close });
  broken.end(new Error('the server hung up'));
  await expect(running.done).rejects.toThrow('the server hung up');
  expect([good.asked(), deaf.asked()]).toEqual([1, 1]);
  expect(states).toEqual(['STOPPED']);
});
