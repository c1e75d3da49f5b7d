/**
 * What a terminal says of a decision, the review page says: every reason of the table of decisions, in a real browser. No run pauses for
 * each of them in seconds, so the server here is a map that holds one waiting run a reason; page, page server and terminal text are real.
 */
import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import type { Browser, Page } from 'playwright-core';
import { decisionHead } from '../../src/cli/render/decision.js';
import type { StepStatus } from '../../src/shared/run.js';
import { problem } from '../../src/shared/problems.js';
import { resultLines } from '../../src/cli/render/run.js';
import { plain } from '../../src/cli/render/text.js';
import type { Emend } from '../../src/client/index.js';
import {
  ANSWERS_BY_REASON,
  type DecisionPoint,
  type PauseReason,
} from '../../src/shared/decisions.js';
import type { ProposalSummary } from '../../src/shared/proposal-activities.js';
import { FakeServer, fakeEmend, refusedResult, type FakeRun } from '../client/fake.js';
import {
  inBrowser,
  launch,
  openPage,
  picture,
  servePage,
  violations,
  type ServedPage,
} from './page-support.js';

jest.setTimeout(120_000);

const DIFF = `diff --git a/a.ts b/a.ts
--- a/a.ts
+++ b/a.ts
@@ -1,1 +1,1 @@
-let a = 1;
+let a = 2;
diff --git a/b.ts b/b.ts
new file mode 100644
--- /dev/null
+++ b/b.ts
@@ -0,0 +1,3 @@
+1
+2
+3
diff --git a/c.ts b/c.ts
deleted file mode 100644
`;
const SAME_BYTES =
  'the proposal is ready, but the tests already failed with exactly these changes: 3 files, +4 -1 lines';
const reasons = Object.keys(ANSWERS_BY_REASON) as PauseReason[];
const keyOf = (reason: PauseReason): string =>
  reasons.indexOf(reason).toString(16).padStart(32, 'a');

/** Everything that a decision may have, hidden characters and long lines included. */
const decisionOf = (reason: PauseReason, proposalId: string): DecisionPoint => ({
  id: `2-${keyOf(reason).slice(0, 8)}-${proposalId.slice(0, 8)}`,
  n: 2,
  reason,
  message:
    reason === 'approval'
      ? SAME_BYTES
      : `why it waits: ${reason} \u202e<b>\n${'word '.repeat(60)}end`,
  files: ['a.ts', 'b.ts', 'c.ts'].map((path) => ({
    path,
    reason,
    message: `${path} is late \u2066`,
  })),
  accepts: [...ANSWERS_BY_REASON[reason], 'abort'],
  proposalId,
  answered: { 'c.ts': 'skip' },
  openedAt: 0,
  subject: 'maxTotalChunks',
  ...(reason === 'plan_start'
    ? { parts: [{ name: 'tests', message: 'npm test', accepts: ['run', 'none'] }] }
    : {}),
  mustSign: true,
});
const proposalOf = (diff: ProposalSummary['diff']): ProposalSummary => ({
  id: '9'.repeat(64),
  ref: diff,
  diff,
  files: [
    { path: 'a.ts', change: 'edit', by: 'model', added: 1, removed: 1, key: 'a' },
    { path: 'b.ts', change: 'create', by: 'model', added: 3, removed: 0, key: 'b' },
    { path: 'c.ts', change: 'delete', by: 'model', added: 0, removed: 0, key: 'c' },
  ],
  findings: [
    {
      guard: 'doubled_block',
      severity: 'ask',
      path: 'a.ts',
      lines: [1, 1],
      message: 'stands twice \u202e',
    },
    { guard: 'dangling', severity: 'note', path: 'other.ts', message: 'names what is gone' },
  ],
  tolerances: ['indent a.ts:3'],
  mustAsk: ['protected path a.ts: by default'],
});

const ENDED = 'e'.repeat(32);
const RESULT = {
  ...refusedResult(ENDED, problem('aborted', 'its problem')),
  notRestored: ['a.ts'],
  note: 'your index lags \u202e behind',
  unchanged: [{ path: 'b.ts', reason: 'it has it' }],
};

/** One waiting run a reason, and one that has ended. */
const waitingRuns = async () => {
  const server = new FakeServer();
  const emend = await fakeEmend(server);
  const proposal = proposalOf(await emend.blobs.put(new TextEncoder().encode(DIFF)));
  const add = async (
    stepKey: string,
    title: string,
    status: Partial<StepStatus>,
  ): Promise<FakeRun> => {
    const workflowId = `emend-${stepKey.slice(-16)}`;
    const run = server.add(stepKey, workflowId, {}, status);
    const started = {
      workflowId,
      runId: null,
      namespace: 'default',
      address: '',
      queues: emend.queues,
    };
    const data = { ...started, workspace: '/w', jobPath: 'job.md', title };
    await emend.archive.append(stepKey, [
      { id: 'started', at: new Date(0).toISOString(), kind: 'started', data },
    ]);
    return run;
  };
  for (const reason of reasons)
    await add(keyOf(reason), reason, {
      state: 'waiting',
      decision: decisionOf(reason, proposal.id),
    });
  const ended = await add(ENDED, 'ended', { state: 'aborted', stage: 'closed', result: RESULT });
  server.close(ended, { status: 'COMPLETED', result: RESULT, message: null });
  server.proposal = proposal;
  // Nothing changes any more.
  server.follow = (_ref, _after, signal) =>
    new Promise((resolve) => {
      signal.addEventListener('abort', () => {
        resolve();
      });
    });
  return { emend, proposal, server };
};
/** Lines as they are read: no layout, no capital at a heading's start. */
const flat = (text: string): string => plain(text).replace(/\s+/g, ' ').trim().toLowerCase();

inBrowser()('a decision on the review page', () => {
  let emend: Emend;
  let server: FakeServer;
  let proposal: ProposalSummary;
  let browser: Browser;
  let served: ServedPage;
  beforeAll(async () => {
    ({ emend, proposal, server } = await waitingRuns());
    served = await servePage(emend);
    browser = await launch();
  }, 60_000);
  afterAll(async () => {
    await browser.close();
    await served.close();
    expect(served.errors).toEqual([]);
  });

  const open = async (page: Page, reason: PauseReason): Promise<string> => {
    const place = reason === 'approval' ? '/review' : '';
    await page.goto(`http://127.0.0.1:${served.port}/#/run/${keyOf(reason)}${place}`);
    await page.getByRole('heading', { name: `Waiting for you: ${reason}`, exact: true }).waitFor();
    if (reason === 'approval')
      await page.getByRole('navigation', { name: 'Changed files' }).waitFor();
    return flat(await page.locator('body').innerText());
  };

  test('of a result it says all that the terminal says', async () => {
    const { page } = await openPage(await browser.newContext(), served);
    await page.goto(`http://127.0.0.1:${served.port}/#/run/${ENDED}`);
    const shown = flat(await page.getByRole('region', { name: 'Result' }).innerText());
    const said = resultLines(RESULT, 'eeee', '/w').map(flat);
    const notes = said.filter((text) => /^(?:not restored|note|unchanged|its problem)/.test(text));
    expect([notes.length, notes.filter((text) => !shown.includes(text))]).toEqual([4, []]);
    await page.context().close();
  });

  test('a refusal is told with what to do next; the draft of a question that is answered goes', async () => {
    const { page } = await openPage(await browser.newContext(), served);
    await open(page, 'attempts_exhausted');
    const { answer } = server;
    server.answer = { kind: 'refused', message: 'Somebody was faster.' };
    await page.getByRole('button', { name: 'Abort the run' }).click();
    await page.getByRole('button', { name: 'Abort', exact: true }).click();
    await page.getByText(/^Somebody was faster. See `emend show/).waitFor({ timeout: 10_000 });
    server.answer = answer;
    await page.getByRole('radio', { name: /^retry/ }).check();
    await page.getByRole('textbox', { name: 'A hint for the model' }).fill('a hint');
    const drafts = () =>
      page.evaluate<string[]>(
        'Object.keys(sessionStorage).filter((key) => /^emend-note/.test(key))',
      );
    expect((await drafts()).length).toBe(1);
    await page.getByRole('button', { name: 'Send the answer' }).click();
    await page.getByText('done', { exact: true }).waitFor({ timeout: 10_000 });
    expect(await drafts()).toEqual([]);
    await page.context().close();
  });

  test.each([
    ['light', 1920, reasons],
    ['dark', 400, ['approval', 'tests_failed', 'plan_start'] as const],
    ['light', 1024, ['approval', 'audit'] as const],
  ] as const)(
    'says all that the terminal says: %s, %i pixels wide',
    async (colorScheme, width, looked) => {
      const context = await browser.newContext({ viewport: { width, height: 900 }, colorScheme });
      const { page, faults } = await openPage(context, served);
      for (const reason of looked) {
        const decision = decisionOf(reason, proposal.id);
        const shown = await open(page, reason);
        const terminal = decisionHead(decision, { width: 10_000, proposal });
        // Where a host is gone, both name it (`aboutHost`), which the run itself cannot.
        const isOfHost = (text: string): boolean =>
          reason === 'workspace_unreachable' && text.startsWith('about: ');
        const missing = terminal
          .flatMap((text) => text.split(/ {2,}/))
          .map(flat)
          .filter((text) => !isOfHost(text) && !shown.includes(text));
        if (reason === 'workspace_unreachable') expect(shown).toContain('about: host ');
        expect({ reason, missing }).toEqual({ reason, missing: [] });
        if (reason === 'approval')
          expect(shown).toContain('already failed with exactly these changes');
        // What is given by buttons at each file is no list of answers.
        else
          for (const answer of decision.accepts.filter(
            (each) => each !== 'abort' && each !== 'select',
          ))
            expect(shown).toContain(flat(answer.replaceAll('_', ' ')));
      }
      for (const reason of looked.slice(0, 2)) {
        await open(page, reason);
        await picture(page, `decision-${reason}-${colorScheme}-${width}`);
        expect(await violations(page)).toEqual([]);
        expect(
          await page.evaluate<boolean>('document.documentElement.scrollWidth <= innerWidth'),
        ).toBe(true);
      }
      expect(faults).toEqual([]);
      await context.close();
    },
  );
});
