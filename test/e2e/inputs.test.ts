/**
 * Runs of a release, whose activity inputs and results are kept for ever in test/inputs, with the stores and files they are about:
 * EMEND_RECORD_INPUTS=1 writes those that are not kept yet. Without it there is nothing to do here; what is kept is carried out by
 * today's activities in test/versions/inputs.test.ts.
 */
import { cpSync, existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, test } from '@jest/globals';
import { KEPT, packPlace, type KeptEvent } from '../support/kept-inputs.js';
import { connectClient } from '../../src/temporal/connection.js';
import { buildWorker, endBuildWorkers, unpacked } from './builds.js';
import { numbered, scene, whole, type Scene } from './support.js';

const RELEASE = '0.1.0';
let open: Scene | null = null;
afterEach(async () => {
  await endBuildWorkers();
  await open?.close();
  open = null;
});

type Run = Awaited<ReturnType<Scene['start']>>;
type Save = (path: string, content: string) => void;
interface Case {
  readonly files: Record<string, string>;
  readonly rules: Parameters<typeof scene>[1];
  readonly job: string;
  readonly lead: (s: Scene, run: Run, save: Save) => Promise<void>;
}
const js = (n: number): string => `module.exports = ${n};\n`;
const CASES: Record<string, Case> = {
  committed: {
    files: { 'a.js': js(1), 'b.js': js(1) },
    rules: [
      {
        name: 'brief',
        match: { contains: 'Now write the brief' },
        answer: 'Numbers grow.\nEMEND-COMPLETE {{nonce}} 0 0\n',
      },
      { name: 'a', match: { contains: '- a.js' }, answer: whole({ 'a.js': js(2) }) },
      { name: 'b', match: { contains: '- b.js' }, answer: whole({ 'b.js': js(2) }) },
    ],
    job: `---\ntarget_files: [a.js, b.js]\ntest: node -e "require('assert').strictEqual(require('./a.js') + require('./b.js'), 4)"\ncommit: true\n---\n# Grow\n\nGrow.\n`,
    lead: async (s, run) => {
      await s.settle(run);
      await s.answer(run, 'approve');
    },
  },
  rebased: {
    files: { 'n.txt': numbered(40) },
    rules: [
      {
        name: 'n',
        match: { contains: '- n.txt' },
        answer: whole({ 'n.txt': numbered(40).replace('line 30\n', 'line thirty\n') }),
      },
    ],
    job: '---\ntarget_files: [n.txt]\n---\n# Words\n\nThirty in words, please.\n',
    lead: async (s, run, save) => {
      await s.settle(run);
      save('n.txt', numbered(40).replace('line 2\n', 'line two\n'));
      await s.answer(run, 'approve');
      expect((await s.settle(run)).status.decision?.reason).toBe('conflict');
      await s.answer(run, 'rebase');
      expect((await s.settle(run)).status.decision?.reason).toBe('approval');
      await s.answer(run, 'approve');
    },
  },
  'rolled-back': {
    files: { 'x.js': js(1), 'y.js': js(1) },
    rules: [
      {
        name: 'pick',
        match: { contains: 'Files of the project' },
        answer: '["y.js"]\nEMEND-COMPLETE {{nonce}} 0 0\n',
      },
      { name: 'y', match: { contains: '- y.js', times: 1 }, answer: whole({ 'y.js': js(5) }) },
      {
        name: 'held',
        match: { contains: '- y.js' },
        answer: whole({ 'y.js': js(2) }),
        fault: { kind: 'hold', after_bytes: 10 },
      },
    ],
    job: `---\ntest: node -e "require('assert').strictEqual(require('./y.js'), 2)"\ncommit: true\napproval: auto\n---\n# Two\n\nThe second constant shall be two.\n`,
    lead: async (s, run) => {
      await s.until(() => s.rehearsal.requests().some(({ rule }) => rule === 'held'));
      await s.answer(run, 'abort');
    },
  },
};

interface Dated {
  readonly at: number;
  readonly event: KeptEvent;
}
/** Scheduled activities with their results, in the order in which they ended, from a run's history. */
const eventsOf = async (s: Scene, workflowId: string): Promise<Dated[]> => {
  const connected = await connectClient({ env: s.env, home: s.home, connect_ms: 5000 });
  const history = await connected.client.workflow.getHandle(workflowId).fetchHistory();
  await connected.close();
  const events = history.events ?? [];
  const json = (payload: { data?: Uint8Array | null } | null | undefined): unknown =>
    JSON.parse(Buffer.from(payload?.data ?? []).toString('utf8'));
  return events.flatMap((event) => {
    const done = event.activityTaskCompletedEventAttributes;
    if (done == null) return [];
    const from = events.find(({ eventId }) => String(eventId) === String(done.scheduledEventId))!;
    const { activityType, input } = from.activityTaskScheduledEventAttributes!;
    const { seconds, nanos } = event.eventTime!;
    const kept = {
      activity: activityType!.name!,
      input: json(input!.payloads![0]) as { stepKey: string },
      result: json(done.result?.payloads?.[0]),
    };
    return [{ at: Number(seconds) * 1000 + Number(nanos) / 1e6, event: kept }];
  });
};

const wanted = process.env.EMEND_RECORD_INPUTS === undefined ? [] : Object.keys(CASES);
test.each(wanted.length === 0 ? ['nothing to record'] : wanted)(
  '%s',
  async (name) => {
    const found = CASES[name];
    if (found === undefined) {
      for (const each of Object.keys(CASES)) expect(existsSync(join(KEPT, `${RELEASE}-${each}.json`))).toBe(true);
      return;
    }
    if (existsSync(join(KEPT, `${RELEASE}-${name}.json`)))
      throw new Error(`${name} is kept already: never written again`);
    const s = (open = await scene(found.files, found.rules));
    const before = join(s.home, '..', 'before');
    mkdirSync(before);
    await buildWorker(s, unpacked(RELEASE));
    const saves: Dated[] = [];
    s.write('job.md', found.job);
    cpSync(s.repo, join(before, 'workspace'), { recursive: true });
    const run = await s.start('job.md', found.job);
    await found.lead(s, run, (path, content) => {
      s.write(path, content);
      saves.push({ at: Date.now(), event: { save: path, content } });
    });
    await s.end(run, 90);
    const all = [...(await eventsOf(s, (await s.show(run)).workflowId!)), ...saves];
    const events = all.sort((a, b) => a.at - b.at).map(({ event }) => event);
    packPlace(name, s.home, before, { v: 1, release: RELEASE, events }, s.repo);
  },
  150_000,
);
