/**
 * Results of activities that are too large for a payload in the history: the archive, and everything that reads it, has all of them. The real
 * wrapper of activities writes into a real archive.
 */
import { expect, test } from '@jest/globals';
import { MockActivityEnvironment } from '@temporalio/testing';
import { activity } from '../../../src/activities/frame/activity.js';
import type { ActivityPorts } from '../../../src/activities/frame/ports.js';
import { reportFacts } from '../../../src/client/archive/report.js';
import { instructionsOf, keptText } from '../../../src/client/runs/proposal.js';
import { resolveRun, type ResolvedRun } from '../../../src/client/runs/resolve.js';
import { diffText, runDiff, showRun } from '../../../src/client/runs/show.js';
import type { Emend } from '../../../src/client/types.js';
import type { ActivityName } from '../../../src/shared/activities.js';
import type { Finding } from '../../../src/shared/formats.js';
import { BOUNDS } from '../../../src/shared/limits.js';
import type { ProposalSummary } from '../../../src/shared/proposal-activities.js';
import { VERSION } from '../../../src/shared/problems.js';
import { NO_USAGE } from '../../../src/shared/usage.js';
import { putJson } from '../../../src/stores/ports.js';
import { fakeEmend, FakeServer, startedData } from '../fake.js';

const KEY = 'abcd1234'.padEnd(32, '0');
const USAGE = { ...NO_USAGE, calls: 7, input_tokens: 1_000, output_tokens: 70 };
const WORKFLOW_ID = 'emend-1';

const pathsOf = (files: number): readonly string[] =>
  Array.from({ length: files }, (_, index) => `src/part-${String(index).padStart(4, '0')}.ts`);

const findingAt = (path: string): Finding => ({
  guard: 'protected',
  severity: 'ask',
  path,
  message: `protected path ${path}`,
});

/** A proposal that changes so many files, with a finding for each of them. */
const proposalOf = async (emend: Emend, files: number): Promise<ProposalSummary> => {
  const text = pathsOf(files).map((path) => `--- a/${path}\n+++ b/${path}\n@@ -1 +1 @@\n-a\n+b\n`);
  return {
    id: '9'.repeat(64),
    ref: await putJson(emend.blobs, { stepKey: KEY, files: [], renames: [] }),
    diff: await emend.blobs.put(new TextEncoder().encode(text.join(''))),
    files: pathsOf(files).map((path, index) => ({
      path,
      change: 'edit',
      by: 'model',
      added: 1,
      removed: 1,
      changes: 1,
      key: index.toString(16).padStart(12, '0'),
    })),
    findings: pathsOf(files).map(findingAt),
    tolerances: ['trailing_space src/part-0000.ts'],
    mustAsk: ['the change touches protected paths'],
  };
};

/** Archives a result as the activity of this name does in a worker. */
const archiveResult = async (emend: Emend, name: ActivityName, result: object): Promise<void> => {
  const ports = {
    archive: emend.archive,
    blobs: emend.blobs,
    records: emend.records,
    edits: { run: async () => [] },
    timings: emend.timings,
    clock: { time_ms: () => 0 },
    checkHome: () => Promise.resolve(),
    logger: { warn: () => undefined },
  } as unknown as ActivityPorts;
  const environment = new MockActivityEnvironment({ activityId: name });
  await environment.run(
    activity(name, ports, async () => result),
    { v: VERSION, stepKey: KEY, log: [], workspace: '/nowhere' },
  );
};

/** Returns the sizes of its parts, so that a failure shows four numbers and not thousands of lines. */
const sizesOf = (proposal: ProposalSummary | null | undefined): object => ({
  files: proposal?.files.length,
  findings: proposal?.findings.length,
  tolerances: proposal?.tolerances.length,
  mustAsk: proposal?.mustAsk.length,
});

interface LargeRun {
  readonly emend: Emend;
  readonly server: FakeServer;
  readonly proposal: ProposalSummary;
  readonly resolve: () => Promise<ResolvedRun>;
}

/** A run that waits for approval of so many files. */
const largeRun = async (files: number): Promise<LargeRun> => {
  const server = new FakeServer();
  const emend = await fakeEmend(server);
  const proposal = await proposalOf(emend, files);
  const startedAt = '2026-01-01T00:00:00.000Z';
  const data = startedData({ workflowId: WORKFLOW_ID });
  await emend.archive.append(KEY, [{ id: 'started', at: startedAt, kind: 'started', data }]);
  const instructions = await emend.blobs.put(new TextEncoder().encode('Say good day.'));
  await archiveResult(emend, 'preflight', {
    outcome: 'ready',
    targets: pathsOf(files).map((path) => ({ path, format: 'search-replace', lines: 120 })),
    snapshot: await putJson(emend.blobs, { instructions }),
    usage: USAGE,
  });
  await archiveResult(emend, 'buildProposal', { outcome: 'built', proposal });
  return { emend, server, proposal, resolve: () => resolveRun(emend, KEY) };
};

test('the results of these tests are larger than what a history holds', async () => {
  const { proposal } = await largeRun(130);
  expect(JSON.stringify(proposal).length).toBeGreaterThan(BOUNDS.inlinePayload_bytes);
});

test.each([130, 160, 300, 3_000])(
  'a proposal of %d files is complete in the archive: files, findings, reasons to ask, tokens, instructions',
  async (files) => {
    const { emend, proposal, resolve } = await largeRun(files);
    const offline = { ...emend, runs: null };
    const run = await resolve();

    const view = await showRun(offline, run);
    expect(view).toMatchObject({ source: 'archive', note: expect.stringContaining('No Temporal') });
    expect(sizesOf(view.proposal)).toEqual(sizesOf(proposal));
    expect(view.proposal).toEqual(proposal);
    expect(view.versions.map((version) => version.proposal)).toEqual([proposal]);
    expect(view.status.usage).toEqual(USAGE);
    expect(await runDiff(offline, run)).toMatchObject({ proposal });
    expect(await instructionsOf(offline, run)).toMatchObject({ text: 'Say good day.' });
    expect(reportFacts(run.archived)).toMatchObject({
      usage: USAGE,
      byFile: [{ file: '(preflight)', usage: USAGE }],
    });
  },
);

test.each([130, 160, 300, 3_000])(
  'the last version of a run that waits with %d files is the proposal of the run itself',
  async (files) => {
    const { emend, server, proposal, resolve } = await largeRun(files);
    server.add(KEY, WORKFLOW_ID);
    server.proposal = { ...proposal, mustAsk: ['as the run says'] };
    const view = await showRun(emend, await resolve());
    expect(view.source).toBe('run');
    expect(sizesOf(view.versions.at(-1)?.proposal)).toEqual(sizesOf(proposal));
    expect(view.versions.at(-1)?.proposal).toEqual(server.proposal);
    expect(view.proposal).toEqual(server.proposal);
  },
);

test('a run that was terminated after it applied 1,000 files names them as applied, and how to undo them', async () => {
  const { emend, server, resolve } = await largeRun(1_000);
  const lock = { token: 1, head: null, headRef: null, takenAt: '' };
  await archiveResult(emend, 'applyProposal', { outcome: 'applied', files: pathsOf(1_000), lock });
  const started = server.add(KEY, WORKFLOW_ID);
  server.close(started, { status: 'TERMINATED', result: null, message: null });
  server.workers = false;
  const { status } = await showRun(emend, await resolve());
  expect(status.doing).toMatch(
    /^terminated, 1,000 files applied \(emend recover --undo abcd1234\): /,
  );
});

test('instructions and a diff whose blobs are lost are named as not known, with the reason', async () => {
  const { emend, proposal, resolve } = await largeRun(130);
  const { blobs } = await fakeEmend(null);
  const run = await resolve();
  expect(await instructionsOf({ blobs }, run)).toEqual({
    text: null,
    reason: expect.stringMatching(/sha256:[0-9a-f]{64}.*\./),
  });
  expect(await keptText(() => diffText({ blobs }, proposal))).toEqual({
    text: null,
    reason: expect.stringContaining(proposal.diff),
  });
  expect(await keptText(() => diffText(emend, proposal))).toMatchObject({ reason: null });
});

test('a run that has not read its job gives that as the reason why its instructions are not known', async () => {
  const emend = await fakeEmend(null);
  const startedAt = '2026-01-01T00:00:00.000Z';
  await emend.archive.append(KEY, [
    { id: 'started', at: startedAt, kind: 'started', data: startedData({}) },
  ]);
  expect(await instructionsOf(emend, await resolveRun(emend, KEY))).toEqual({
    text: null,
    reason: 'The run has not read its job yet.',
  });
});
