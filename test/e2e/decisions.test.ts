import { execFileSync } from 'node:child_process';
import { afterEach, describe, expect, test } from '@jest/globals';
import { defineSearchAttributeKey } from '@temporalio/common';
import { SEARCH_ATTRIBUTES } from '../../src/shared/names.js';
import { connectClient } from '../../src/temporal/connection.js';
import { scene, whole, type Scene } from './support.js';
import { longOnly } from '../support/skipped.js';

const long = longOnly('each starts a run of its own; the tests that stay show the promise');

const STATE = defineSearchAttributeKey(SEARCH_ATTRIBUTES.state, 'KEYWORD');
const REASON = defineSearchAttributeKey(SEARCH_ATTRIBUTES.reason, 'KEYWORD');
const DECISION = defineSearchAttributeKey(SEARCH_ATTRIBUTES.decision, 'KEYWORD');
const OUTCOME = defineSearchAttributeKey(SEARCH_ATTRIBUTES.outcome, 'KEYWORD');

let open: Scene | null = null;
afterEach(async () => {
  await open?.close();
  open = null;
});

const FILES = { 'a.js': 'const a = 1;\n', 'b.js': 'const b = 1;\n' };
const RULES = [
  {
    name: 'brief',
    match: { contains: 'Now write the brief' },
    answer: 'Numbers grow.\nEMEND-COMPLETE {{nonce}} 0 0\n',
  },
  {
    name: 'a-revised',
    match: { contains: ['- a.js', 'make it four'] },
    answer: whole({ 'a.js': 'const a = 4;\n' }),
  },
  { name: 'a', match: { contains: '- a.js' }, answer: whole({ 'a.js': 'const a = 2;\n' }) },
  { name: 'b', match: { contains: '- b.js' }, answer: whole({ 'b.js': 'const b = 2;\n' }) },
];
const JOB = '---\ntarget_files: [a.js, b.js]\n---\n# Grow\n\nRaise the numbers.\n';
const ONE = '---\ntarget_files: [a.js]\n---\n# Grow\n\nRaise the number.\n';

/** What a person types: `temporal workflow signal`, as the docs say it. */
const signal = (workflowId: string, name: string, input?: string): void => {
  const args = [
    'workflow',
    'signal',
    '--address',
    process.env.EMEND_TEST_ADDRESS!,
    '--workflow-id',
    workflowId,
    '--name',
    name,
  ];
  execFileSync(
    process.env.EMEND_TEST_CLI!,
    [...args, ...(input === undefined ? [] : ['--input', input])],
    {
      stdio: 'pipe',
    },
  );
};

/** What the server's list can be filtered by: the reason of the pause where the run is marked as waiting, else null. */
const markedAs = async (s: Scene, workflowId: string): Promise<string | null> => {
  const connected = await connectClient({ env: s.env, home: s.home, connect_ms: 5000 });
  try {
    const { typedSearchAttributes: marks } = await connected.client.workflow
      .getHandle(workflowId)
      .describe();
    const [state, reason] = [marks.get(STATE) ?? null, marks.get(REASON) ?? null];
    expect(state).toBe(reason === null ? null : 'waiting');
    expect(marks.get(DECISION) === undefined).toBe(reason === null);
    expect(marks.get(OUTCOME) === undefined).toBe(reason !== null);
    return reason;
  } finally {
    await connected.close();
  }
};

/** Types of the events in the archive, in order. */
const archived = async (s: Scene, stepKey: string): Promise<string[]> =>
  (await s.emend.archive.read(stepKey))
    .filter((entry) => entry.kind === 'event')
    .map((entry) => (entry.data as { type: string }).type);

describe('decisions', () => {
  long(
    'verdicts are kept per file; revise asks again for one; the first verdict on a file stands',
    async () => {
      const s = (open = await scene(FILES, RULES));
      await s.worker();
      const run = await s.start('job.md', JOB);
      const first = await s.settle(run);
      const old = first.status.decision!.id;
      expect(await s.answer(run, 'approve', { files: ['b.js'] })).toMatchObject({
        outcome: 'recorded',
      });
      await expect(s.answer(run, 'skip', { files: ['b.js'] })).rejects.toThrow(
        /first answer counts/,
      );
      await expect(s.answer(run, 'revise', { files: ['a.js'] })).rejects.toThrow(/note/);
      await s.answer(run, 'revise', { files: ['a.js'], note: 'make it four' });
      const second = await s.settle(run);
      expect(second.status.decision!.id).not.toBe(old);
      // Only the revised file is asked about: the other one's bytes are those that were approved.
      expect(second.status.decision!.files.map((file) => file.path)).toEqual(['a.js']);
      await expect(s.answer(run, 'approve', { decision: old })).rejects.toThrow(/resolved/);
      await s.answer(run, 'approve');
      expect(await s.end(run)).toMatchObject({ outcome: 'applied', files: ['a.js', 'b.js'] });
      expect(s.read('a.js') + s.read('b.js')).toBe('const a = 4;\nconst b = 2;\n');
    },
  );

  long(
    'a plain `temporal workflow signal` of an approval counts with the id of the decision; bare, or with an old id, it does not',
    async () => {
      const s = (open = await scene(FILES, RULES));
      await s.worker();
      const run = await s.start('job.md', ONE);
      const paused = await s.settle(run);
      const workflowId = paused.workflowId!;
      expect(workflowId).toMatch(/^emend\/job\/job\/[0-9a-f]{12}$/);
      expect(await markedAs(s, workflowId)).toBe('approval');
      signal(workflowId, 'approve', '{"decision": "1-00000000-deadbeef"}');
      const still = await s.settle(run);
      expect(still.status.decision?.id).toBe(paused.status.decision?.id);
      expect(still.status.ignored.join()).toContain('1-00000000-deadbeef');
      signal(workflowId, 'approve', JSON.stringify({ decision: paused.status.decision!.id }));
      expect(await s.end(run)).toMatchObject({ outcome: 'applied' });
      expect(await markedAs(s, workflowId)).toBeNull();

      const again = await s.start('job2.md', ONE.replace('a.js', 'b.js'));
      const second = await s.settle(again);
      for (const name of ['approve', 'revise', 'retry']) signal(second.workflowId!, name);
      const json = `{"decision": "${second.status.decision!.id}"`;
      const waits = await s.settle(again);
      expect(waits.status.decision?.id).toBe(second.status.decision!.id);
      // Each that would count with another body shows that body.
      expect(waits.status.ignored).toEqual([
        expect.stringMatching(/^approve: /),
        expect.stringMatching(/^revise: /),
        'retry: retry is not an answer to approval; answers are: approve, skip, revise, abort',
      ]);
      expect(waits.status.ignored.filter((text) => text.includes(`send ${json}`))).toHaveLength(2);
      signal(second.workflowId!, 'skip');
      expect(await s.end(again)).toMatchObject({ outcome: 'skipped' });
      const third = await s.start('job3.md', ONE.replace('a.js', 'b.js'));
      await s.settle(third);
      signal((await s.show(third)).workflowId!, 'abort');
      expect(await s.end(third)).toMatchObject({ outcome: 'aborted' });
      for (const ended of [again, third])
        expect(await markedAs(s, (await s.show(ended)).workflowId!)).toBeNull();
    },
  );

  long('signals with no body, a string, null, 1 MiB, wrong types: the run goes on', async () => {
    const s = (open = await scene(FILES, RULES));
    await s.worker();
    const run = await s.start('job.md', ONE);
    const paused = await s.settle(run);
    const id = paused.workflowId!;
    for (const body of [
      undefined,
      '"approve"',
      'null',
      '17',
      '[]',
      '{}',
      '{"decision": 5}',
      '{"decision": null, "files": 3}',
    ])
      signal(id, 'retry', body);
    for (const body of ['"x"', '[1,2]', '{"decision": ["x"]}', '{"decision": "x", "note": 5}'])
      signal(id, 'approve', body);
    for (const body of [
      'null',
      '{"v": 9}',
      '{"v": 2, "decision": "x", "answer": "explode", "requestId": "r"}',
    ])
      signal(id, 'answer', body);
    const gateway = s.emend.runs!;
    await gateway.signal({ workflowId: id, runId: null }, 'approve', {
      decision: 'x'.repeat(1024 * 1024),
    });
    const view = await s.settle(run);
    expect(view.status.decision?.id).toBe(paused.status.decision?.id);
    expect(view.status.ignored.length).toBeGreaterThanOrEqual(16);
    await s.answer(run, 'approve');
    expect(await s.end(run)).toMatchObject({ outcome: 'applied' });
  });

  long('decided while no worker runs: honoured when one starts, and counted once', async () => {
    const s = (open = await scene(FILES, RULES, { env: { EMEND_ACCEPTWAIT_MS: '500' } }));
    const worker = await s.worker();
    const run = await s.start('job.md', ONE);
    const paused = await s.settle(run);
    await worker.kill('SIGKILL');
    // The archive alone, with no worker to ask, knows what the run waits for.
    expect(await archived(s, run.stepKey)).toContain('edit_step_paused');
    const sent = await s.answer(run, 'approve', { decision: paused.status.decision!.id });
    expect(sent).toMatchObject({ outcome: 'sent', via: 'signal' });
    expect(s.read('a.js')).toBe(FILES['a.js']);
    await s.worker();
    expect(await s.end(run)).toMatchObject({ outcome: 'applied' });
    // The update that nobody accepted arrives too: the same request, counted once.
    const events = await s.events(run);
    expect(events.filter((event) => event.type === 'decided')).toHaveLength(1);
    expect(events.filter((event) => event.type === 'applied')).toHaveLength(1);
    expect(await archived(s, run.stepKey)).toContain('step_finished');
  });

  long(
    'abort ends the run and leaves the files alone; a second start shows the open run; --again starts another beside it',
    async () => {
      const s = (open = await scene(FILES, RULES));
      await s.worker();
      const run = await s.start('job.md', ONE);
      await s.settle(run);
      const same = await s.start('job.md', ONE);
      expect(same.stepKey).toBe(run.stepKey);
      const beside = await s.start('job.md', ONE, { again: true });
      expect(beside.stepKey).not.toBe(run.stepKey);
      await s.answer(run, 'abort');
      expect(await s.end(run)).toMatchObject({ outcome: 'aborted', files: [] });
      await s.settle(beside);
      await s.answer(beside, 'approve');
      expect(await s.end(beside)).toMatchObject({ outcome: 'applied' });
      // The other run was given up: it asked for the same answer under its own key, and its own was not used.
      expect(s.rehearsal.requests()).toHaveLength(2);
    },
  );

  test('a file changed between proposal and apply is a conflict, not overwritten; each answer does what it says', async () => {
    const s = (open = await scene({ 'a.txt': 'one\ntwo\nthree\nfour\nfive\nsix\n' }, [
      {
        name: 'edit',
        match: { contains: '- a.txt' },
        answer: whole({ 'a.txt': 'ONE\ntwo\nthree\nfour\nfive\nsix\n' }),
      },
    ]));
    await s.worker();
    const run = await s.start(
      'job.md',
      '---\ntarget_files: [a.txt]\n---\n# Shout\n\nThe first line in capitals.\n',
    );
    await s.settle(run);
    s.write('a.txt', 'one\ntwo\nthree\nfour\nfive\nSIX by hand\n');
    await s.answer(run, 'approve');
    const conflict = await s.settle(run);
    expect(conflict.status.decision?.reason).toBe('conflict');
    expect(s.read('a.txt')).toContain('SIX by hand');
    expect(s.read('a.txt')).toContain('one\n');
    await s.answer(run, 'rebase');
    const merged = await s.settle(run);
    expect(merged.status.decision?.reason).toBe('approval');
    await s.answer(run, 'approve');
    expect(await s.end(run)).toMatchObject({ outcome: 'applied' });
    expect(s.read('a.txt')).toBe('ONE\ntwo\nthree\nfour\nfive\nSIX by hand\n');
    expect(s.rehearsal.requests()).toHaveLength(1);
  });
});
