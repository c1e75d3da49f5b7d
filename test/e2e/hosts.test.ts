/**
 * Two homes on one store, as on two machines (their names and boots are told to the workers): whoever looks from one of them sees the other
 * by name, hears within 10 s that nobody serves it any more, and a new home takes the place of one that is lost.
 */
import { cpSync, rmSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { randomUUID } from 'node:crypto';
import { afterEach, expect } from '@jest/globals';
import type { WorkflowHandle } from '@temporalio/client';
import { openEmend } from '../../src/client/index.js';
import { connectClient, type ClientConnection } from '../../src/temporal/connection.js';
import { HOST_SILENT_MS, WORKER_BEAT_MS } from '../../src/temporal/live-workers.js';
import { longInBucket, testInBucket } from './bucket-store.js';
import { eventually } from './ends.js';
import { inBrowser, listAndRun, inPages } from './page-support.js';
import { groupOf, type Group } from './group.js';
import { whole, type WorkerProcess } from './support.js';

/** 10 s where the machine is idle (src/temporal/live-workers.ts: two beats of 2 s, and one more look); a busy one is given more. */
const TOLD_MS = 30_000;
const AFTER = 'let a = 2;\n';
const JOB = '---\ntarget_files: [a.js]\ncommit: true\n---\n# Grow\n\nRaise it.\n';
const RULES = [{ name: 'a', match: { contains: '- a.js' }, answer: whole({ 'a.js': AFTER }) }];

interface Hosts extends Group {
  /** Of that home, on a machine of its name; rejects where it does not start, with what it said. */
  workerAt(home: string, boot?: string, machine?: string): Promise<WorkerProcess>;
}
const inBucket = testInBucket();
let open: Hosts | null = null;
let connection: ClientConnection | null = null;
afterEach(async () => {
  await connection?.close();
  await open?.close();
  open = connection = null;
});

const hosts = async (env: Record<string, string> = {}): Promise<Hosts> => {
  const s = await groupOf({ 'a.js': 'let a = 1;\n' }, RULES, { env });
  open = {
    ...s,
    workerAt: (name, boot = 'b1', machine = name) =>
      s.worker(undefined, {
        EMEND_HOME: s.homeAt(name),
        EMEND_TEST_MACHINE: `${machine} ${boot} ${machine}`,
      }),
  };
  return open;
};

/** The commands, until all of them say so, each as often as it takes. */
const allSay = async (
  s: Hosts,
  home: string,
  since: number,
  said: Readonly<Record<string, RegExp>>,
): Promise<void> => {
  for (const [command, wanted] of Object.entries(said))
    for (;;) {
      const told = await s.emendAt(home, ...command.split(' '));
      if (wanted.test(told.said)) break;
      if (performance.now() - since > TOLD_MS) expect(`${command}: ${told.said}`).toMatch(wanted);
    }
};

inBucket(
  'a host that ended is named by all that look from another; a new home takes its place, and its run goes on',
  async () => {
    const s = await hosts();
    const alpha = await s.workerAt('alpha');
    const run = await s.start('job.md', JOB);
    await s.settle(run);
    // A person with one host reads of none.
    const shown = run.stepKey.slice(0, 8);
    const alone = await Promise.all(
      ['list', `show ${shown}`].map((line) => s.emendAt('alpha', ...line.split(' '))),
    );
    for (const { said } of alone) expect(said).not.toMatch(/host| on alpha/);

    await s.workerAt('beta');
    const name = `alpha \\(${s.id('alpha').slice(0, 8)}\\)`;
    const begun = performance.now();
    await allSay(s, 'beta', begun, {
      hosts: new RegExp(
        `^beta \\S+ this home +workflows, model, hosts +0\\.1\\.0\\S* +now +0\\n${name} +workflows, model, hosts +0\\.1\\.0\\S* +now +1 ${shown}$`,
        'm',
      ),
      list: new RegExp(`^${shown} +waiting +\\S+ \\S+ +job.md on ${name} `, 'm'),
      [`show ${shown}`]: new RegExp(`^ {2}workspace +\\S.* on ${name}$`, 'm'),
      doctor: new RegExp(`^ok +hosts +beta \\(\\w+\\), ${name}$`, 'm'),
    });
    expect(JSON.parse((await s.emendAt('beta', 'hosts', '--json')).said)).toMatchObject({
      v: 1,
      hosts: [
        { name: 'beta', here: true, runs: [], doubles: [] },
        {
          id: s.id('alpha'),
          name: 'alpha',
          here: false,
          roles: ['workflows', 'model', 'hosts'],
          runs: [run.stepKey],
        },
      ],
      note: null,
    });

    expect(await s.emendAt('gamma', 'hosts', 'adopt', s.id('alpha').slice(0, 8))).toMatchObject({
      code: 5,
      said: expect.stringMatching(
        new RegExp(`Host ${name} may still work: \\d+@alpha.*, heard \\d+ s ago`),
      ),
    });
    await alpha.kill('SIGTERM');
    const told = new RegExp(
      `No worker serves the task queue \\S+-host-${s.id('alpha')} \\(host ${name}\\)[^]*\`emend worker\` on ${name}[^]*emend hosts adopt`,
    );
    const ended = performance.now();
    await allSay(s, 'beta', ended, {
      hosts: new RegExp(`^${name} +none +0\\.1\\.0\\S* +\\d{4}\\S+ \\S+ +1 ${shown}$`, 'm'),
      list: told,
      [`show ${shown}`]: told,
      doctor: new RegExp(
        `^missing +hosts +No worker serves host ${name}, last seen \\S+; open runs that need it: 1`,
        'm',
      ),
    });

    const lost = s.id('alpha');
    rmSync(s.home, { recursive: true, force: true });
    expect(await s.emendAt('gamma', 'hosts', 'adopt', 'ffff')).toMatchObject({ code: 2 });
    expect(await s.emendAt('beta', 'hosts', 'adopt', lost.slice(0, 8))).toMatchObject({
      code: 5,
      said: expect.stringContaining('is a host of its own'),
    });
    const adopted = await s.emendAt('gamma', 'hosts', 'adopt', lost.slice(0, 8));
    expect(adopted).toMatchObject({
      code: 0,
      said: expect.stringContaining(`run ${shown} needs ${s.repo}\n`),
    });
    expect(s.id('gamma')).toBe(lost);
    await s.workerAt('gamma');
    await s.answer(run, 'approve');
    expect(await s.end(run)).toMatchObject({ outcome: 'committed', files: ['a.js'] });
    expect([s.read('a.js'), s.rehearsal.requests().length]).toEqual([AFTER, 1]);
    expect(s.git('log', '--format=%s').trim().split('\n')).toHaveLength(2);
    await allSay(s, 'beta', performance.now(), {
      hosts: new RegExp(`^gamma \\(${lost.slice(0, 8)}\\) .* now +0$`, 'm'),
    });
  },
  240_000,
);

/** Task queues of hosts that the activities of a run were scheduled on. */
const hostQueuesOf = async (handle: WorkflowHandle): Promise<readonly string[]> => {
  const { events } = await handle.fetchHistory();
  const queues = (events ?? []).map(
    ({ activityTaskScheduledEventAttributes: scheduled }) => scheduled?.taskQueue?.name ?? '',
  );
  return [...new Set(queues.filter((queue) => queue.includes('-host-')))];
};

inBucket(
  'a typed run names its host only where several hosts serve the task queue',
  async () => {
    const s = await hosts();
    const { client } = (connection = await connectClient({
      env: s.env,
      home: s.home,
      connect_ms: 5000,
    }));
    const queue = s.emend.queues.workflow;
    const start = (host?: string): Promise<WorkflowHandle> => {
      const task = { task: 'Raise it.', targetFiles: ['a.js'], test: false, commit: true };
      const place = { workspace: s.repo, ...(host === undefined ? {} : { host }) };
      const args = [{ ...place, ...task, approval: 'auto' }];
      return client.workflow.start('editStep', {
        taskQueue: queue,
        workflowId: randomUUID(),
        args,
      });
    };
    const expectRunOn = async (home: string, host?: string): Promise<void> => {
      const handle = await start(host);
      expect(await handle.result()).toMatchObject({ outcome: 'committed', files: ['a.js'] });
      expect(await hostQueuesOf(handle)).toEqual([`${queue}-host-${s.id(home)}`]);
      s.write('a.js', 'let a = 1;\n');
      s.git('commit', '-qam', 'back');
    };
    const failure = async (host?: string): Promise<{ type: string; message: string }> => {
      const error: { cause: { type: string; message: string } } = await (
        await start(host)
      )
        .result()
        .then(
          () => {
            throw new Error('the run did not fail');
          },
          (cause: unknown) => cause as typeof error,
        );
      return error.cause;
    };

    await s.workerAt('alpha');
    await expectRunOn('alpha');
    const beta = await s.workerAt('beta');
    const isListed = /^beta \(\w+\) .* now +0$/m;
    await allSay(s, 'alpha', performance.now(), { hosts: isListed });
    const digits = (home: string): string => s.id(home).slice(0, 8);
    const listed = [`alpha (${digits('alpha')})`, `beta (${digits('beta')})`];
    for (const [host, fault] of [
      [
        undefined,
        `expected the host that has the workspace, as several hosts serve the task queue`,
      ],
      ['gamma', 'no host is called "gamma"'],
    ] as const) {
      const { type, message } = await failure(host);
      expect(type).toBe('InvalidInput');
      for (const part of ['`host`: ', fault, ...listed, '"host": "'])
        expect(message).toContain(part);
    }
    await expectRunOn('beta', 'beta');
    await expectRunOn('alpha', digits('alpha'));
    await expectRunOn('beta', s.id('beta'));

    await beta.kill('SIGTERM');
    await allSay(s, 'alpha', performance.now(), { hosts: /^beta \(\w+\) +none /m });
    await expectRunOn('alpha');
  },
  180_000,
);

longInBucket('a minute of silence')(
  'killed: the decision names the host, and its place is free a minute later',
  async () => {
    const s = await hosts({ EMEND_SCHEDULETOSTART_MS: '3000' });
    const [alpha] = await Promise.all([s.workerAt('alpha'), s.workerAt('beta')]);
    const run = await s.start('job.md', JOB);
    await s.settle(run);
    const watched = s.emendAt('beta', 'watch', run.stepKey.slice(0, 8), '--wait', '--json');
    // Before its first beat a worker is known by its poll alone.
    await sleep(2 * WORKER_BEAT_MS);
    const killed = performance.now();
    await alpha.kill('SIGKILL');
    const lost = s.id('alpha').slice(0, 8);
    const adopt = () => s.emendAt('gamma', 'hosts', 'adopt', lost);
    await s.answer(run, 'approve');
    await eventually(
      'asked',
      async () => (await s.show(run)).status.decision?.reason === 'workspace_unreachable',
      60,
    );
    const asked = await s.emendAt('beta', 'show', run.stepKey.slice(0, 8));
    expect(asked.said).toMatch(
      new RegExp(
        `about: host alpha \\(${lost}\\); if it is lost, in a new home: emend hosts adopt ${lost}`,
      ),
    );
    rmSync(s.home, { recursive: true, force: true });
    let said = await adopt();
    for (; said.code !== 0; said = await adopt()) {
      expect(said).toMatchObject({ code: 5, said: expect.stringContaining('may still work') });
      expect(performance.now() - killed).toBeLessThan(2 * HOST_SILENT_MS);
    }
    expect(performance.now() - killed).toBeGreaterThan(HOST_SILENT_MS - 10_000);
    await s.workerAt('gamma');
    await s.answer(run, 'wait');
    expect(await s.end(run)).toMatchObject({ outcome: 'committed' });
    expect((await watched).said).toMatch(
      new RegExp(`"note":"No worker serves .*host alpha \\(${lost}\\)`),
    );
  },
  300_000,
);

longInBucket('ten starts of workers')(
  'a second machine with the id of a host that polls is refused; a restart and a boot of the first are not; what is alike is found',
  async () => {
    const s = await hosts();
    await s.workerAt('alpha');
    cpSync(s.home, s.home.replace(/home$/, 'copy'), { recursive: true });
    const second = (home: string, boot?: string, machine?: string): Promise<string> =>
      s.workerAt(home, boot, machine).then(
        () => 'started',
        () => 'refused',
      );
    // Elsewhere; the home that both machines mount; a machine made from an image of the first.
    expect(await second('copy', 'b2', 'beta')).toBe('refused');
    expect(await second('alpha', 'b2', 'beta')).toBe('refused');
    expect(await second('alpha', 'b2', 'alpha')).toBe('refused');
    // Beside it on the same machine. They end in good order: their place is free at once, and taken back.
    expect(await second('alpha')).toBe('started');
    for (const worker of s.workers()) await worker.kill('SIGTERM');
    expect(await second('copy', 'b3', 'beta')).toBe('started');
    for (const worker of s.workers()) await worker.kill('SIGTERM');
    // Killed: started again at once; after a boot of the machine, too. Another machine waits.
    expect(await second('alpha')).toBe('started');
    await s.workers().at(-1)!.kill('SIGKILL');
    expect(await second('alpha')).toBe('started');
    await s.workers().at(-1)!.kill('SIGKILL');
    expect(await second('copy', 'b3', 'beta')).toBe('refused');
    expect(await second('alpha', 'b2')).toBe('started');
    const refusal = await s.emendAt('alpha', 'worker');
    expect(refusal.code).toBe(1);
    const { msg, next } = JSON.parse(refusal.said) as {
      readonly msg: string;
      readonly next: string;
    };
    expect(msg).toMatch(/that another machine serves: \d+@alpha, \S+, host /);
    expect(next).toMatch(/^Two machines must not work as one host\. /);
  },
  300_000,
);

inBrowser()('the page', () => {
  longInBucket('a browser and two workers')(
    'names the hosts where there are several, and says within 10 s which one nobody serves',
    async () => {
      const s = await hosts();
      const alpha = await s.workerAt('alpha');
      const run = await s.start('job.md', JOB);
      await s.settle(run);
      await s.workerAt('beta');
      const emend = await openEmend({
        env: { ...s.env, EMEND_HOME: s.home.replace(/home$/, 'beta') },
      });
      await inPages({ emend, close: () => emend.close() }, async (browser, served) => {
        const [list, one] = await listAndRun(browser, served, /Grow/);
        const name = `alpha (${s.id('alpha').slice(0, 8)})`;
        await list.getByText(name).first().waitFor();
        const note = (page: typeof list) =>
          page.getByText(new RegExp(`No worker serves .*host alpha .*emend worker`));
        expect([await note(list).count(), await note(one).count()]).toEqual([0, 0]);
        await alpha.kill();
        await Promise.all([list, one].map((page) => note(page).waitFor({ timeout: TOLD_MS })));
        await one.evaluate(`location.hash = '#/run/${run.stepKey}'`);
        await one.getByText(` on ${name}`).first().waitFor();
      });
    },
    240_000,
  );
});
