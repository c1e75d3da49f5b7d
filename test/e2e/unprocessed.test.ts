/** An answer that a worker's task ended without looking at: nobody has said no, so it is sent in the other way and kept. */
import { expect, test } from '@jest/globals';
import { decide } from '../../src/client/index.js';
import { withHandle } from './ends.js';
import { scene } from './support.js';

test('an update that the server withdrew because no worker processed it goes as a signal', async () => {
  const s = await scene({ 'a.js': 'let a = 1;\n' }, [], { env: { EMEND_ACCEPTWAIT_MS: '20000' } });
  try {
    const run = await s.start('job.md', '---\ntarget_files: [a.js]\n---\n# Change\n\nIt.\n');
    await withHandle(s, run, async (handle, { connection, workflowService, options }) => {
      const soon = <T>(call: () => Promise<T>): Promise<T> =>
        connection.withDeadline(Date.now() + 30_000, call);
      const { namespace } = options;
      const taskQueue = { name: s.emend.queues.workflow };
      const identity = 'a worker that looks at nothing';
      const task = () =>
        soon(() => workflowService.pollWorkflowTaskQueue({ namespace, taskQueue, identity }));
      const done = ({ taskToken }: Awaited<ReturnType<typeof task>>) =>
        soon(() => workflowService.respondWorkflowTaskCompleted({ namespace, taskToken }));
      await done(await task());
      const deciding = decide(s.emend, run, { answer: 'abort' });
      await done(await task());
      expect(await deciding).toMatchObject({ outcome: 'sent', via: 'signal' });
      const { events } = await handle.fetchHistory();
      expect(
        events?.some(
          ({ workflowExecutionSignaledEventAttributes: signaled }) =>
            signaled?.signalName === 'answer',
        ),
      ).toBe(true);
    });
  } finally {
    await s.close();
  }
}, 60_000);
