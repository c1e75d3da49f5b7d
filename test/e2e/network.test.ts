/** The network between a worker or a client and the Temporal server fails, and comes back. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, expect, test } from '@jest/globals';
import { decide, openEmend, resolveRun, type ResolvedRun } from '../../src/client/index.js';
import { sampled } from '../support/seeded.js';
import { longOnly } from '../support/skipped.js';
import { cutProxy, type CutProxy } from '../support/cut-proxy.js';
import { withHandle } from './ends.js';
import { scene, whole, type Scene } from './support.js';

let open: Scene | null = null;
let proxy: CutProxy | null = null;
afterEach(async () => {
  await open?.close();
  proxy?.close();
  open = proxy = null;
});

const EDIT = {
  name: 'a',
  match: { contains: '- a.js' },
  answer: whole({ 'a.js': 'const a = 2;\n' }),
};
const job = (...keys: readonly string[]): string =>
  [
    '---',
    'target_files: [a.js]',
    'approval: auto',
    'commit: true',
    ...keys,
    '---',
    '# Raise',
    '',
    'Two.',
    '',
  ].join('\n');

/** No beat gets through until the server has given up what the worker is at, and given it the next attempt of it. */
const giveUp = async (s: Scene, run: ResolvedRun, net: CutProxy): Promise<void> => {
  const pending = () =>
    withHandle(
      s,
      run,
      async (handle) =>
        (await handle.describe()).raw.pendingActivities?.[0] ?? { attempt: 0, state: 0 },
    );
  const { attempt } = await pending();
  net.hold();
  for (
    let now = await pending();
    now.attempt === attempt || now.state !== STARTED;
    now = await pending()
  )
    await sleep(50);
  // It begins.
  await sleep(1_000);
  net.letGo();
};
/** `temporal.api.enums.v1.PendingActivityState` */
const STARTED = 2;

const long = longOnly(
  'each holds beats for seconds; stores/contract.test.ts shows that an answer is paid for once',
);

long(
  'during a model call: the answer that comes meanwhile is the only one that is paid for',
  async () => {
    const held = { ...EDIT, name: 'held', fault: { kind: 'hold' as const, after_bytes: 400 } };
    const s = (open = await scene({ 'a.js': 'const a = 1;\n' }, [held]));
    const net = (proxy = await cutProxy(s.env.TEMPORAL_ADDRESS!));
    await s.worker(undefined, { TEMPORAL_ADDRESS: net.address });
    const run = await s.start('job.md', job());
    await s.until(() => s.rehearsal.requests().some(({ state }) => state === 'held'));
    await giveUp(s, run, net);
    // Each beat of both attempts got through some times by now.
    await sleep(5_000);
    s.rehearsal.release();
    await sleep(1_000);
    s.rehearsal.release();
    expect(await s.end(run)).toMatchObject({
      outcome: 'committed',
      usage: { calls: 1, unknownCalls: 0 },
    });
    expect(s.rehearsal.requests()).toHaveLength(1);
  },
  120_000,
);

long(
  'during tests: the next attempt runs them when the first has ended',
  async () => {
    const s = (open = await scene({ 'a.js': 'const a = 1;\n' }, [EDIT]));
    const net = (proxy = await cutProxy(s.env.TEMPORAL_ADDRESS!));
    await s.worker(undefined, { TEMPORAL_ADDRESS: net.address });
    const noted = join(s.home, 'noted');
    // Whoever begins while another is at work says so.
    const lines = [
      `const fs = require('fs'), pids = '${noted}';`,
      "const others = fs.existsSync(pids) ? fs.readFileSync(pids, 'utf8').trim().split(' ').map(Number) : [];",
      // A process that has ended and is not yet waited for has no command line.
      "const alive = (pid) => { try { return fs.readFileSync('/proc/' + pid + '/cmdline', 'utf8') !== ''; } catch { return false; } };",
      "fs.appendFileSync(pids, process.pid + (others.some(alive) ? ' clash ' : ' '));",
      'setTimeout(() => undefined, 6000);',
    ];
    s.write('test.js', `${lines.join('\n')}\n`);
    s.git('add', '-A');
    s.git('commit', '-q', '-m', 'tests');
    const run = await s.start(
      'job.md',
      job('sandbox: off', 'baseline: off', `test: exec node test.js`),
    );
    const said = () => {
      try {
        return readFileSync(noted, 'utf8');
      } catch {
        return '';
      }
    };
    await s.until(() => said() !== '');
    await giveUp(s, run, net);
    await s.end(run);
    expect(said()).toMatch(/^\d+ \d+ $/);
  },
  120_000,
);

long.each(['abort', 'stop of the worker'])(
  'during a model call that then nobody wants (%s): it is cut off',
  async (how) => {
    const held = { ...EDIT, name: 'held', fault: { kind: 'hold' as const, after_bytes: 400 } };
    const s = (open = await scene({ 'a.js': 'const a = 1;\n' }, [held]));
    const net = (proxy = await cutProxy(s.env.TEMPORAL_ADDRESS!));
    const worker = await s.worker(undefined, { TEMPORAL_ADDRESS: net.address });
    const run = await s.start('job.md', job());
    await s.until(() => s.rehearsal.requests().some(({ state }) => state === 'held'));
    await giveUp(s, run, net);
    await sleep(3_000);
    expect(s.rehearsal.requests().map(({ state }) => state)).toEqual(['held']);
    if (how === 'abort') {
      await s.answer(run, 'abort');
      expect(await s.end(run)).toMatchObject({
        outcome: 'aborted',
        usage: { calls: 1, unknownCalls: 1 },
      });
    } else {
      await worker.kill('SIGTERM');
      expect([worker.child.exitCode, worker.child.signalCode]).toEqual([0, null]);
    }
    await s.until(() => s.rehearsal.requests()[0]?.state === 'cut');
  },
  120_000,
);

const ANSWERS = ['approve', 'revise'] as const;
test.each(sampled('answers that nobody hears of', ANSWERS, 1))(
  '%s, told to nobody: what came of it is asked, not reported as too late or on its way, and no second one is sent',
  async (answer) => {
    const s = (open = await scene({ 'a.js': 'const a = 1;\n' }, [EDIT]));
    const net = (proxy = await cutProxy(s.env.TEMPORAL_ADDRESS!));
    await s.worker();
    const run = await s.start('job.md', job().replace('approval: auto\n', ''));
    const decision = (await s.settle(run)).status.decision!.id;
    const far = await openEmend({
      env: { ...s.env, TEMPORAL_ADDRESS: net.address, EMEND_ACCEPTWAIT_MS: '1000' },
    });
    try {
      const there = await resolveRun(far, run.stepKey);
      net.holdAnswers();
      const told = decide(far, there, { answer, decision, note: 'Two.' });
      // Asked about once more, or sent again, by then.
      await sleep(2_000);
      net.drop();
      expect(await told).toMatchObject({ outcome: 'resolved', via: 'update' });
      if (answer === 'approve') await s.end(run);
      expect((await s.settle(run)).status.ignored).toEqual([]);
    } finally {
      await far.close();
    }
  },
  60_000,
);
