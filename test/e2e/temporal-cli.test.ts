/** What somebody types into Temporal's own command line: queries print JSON, and an update needs no more than decision and answer. */
import { execFile } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, expect, test } from '@jest/globals';
import { BOUNDS } from '../../src/shared/limits.js';
import { longOnly } from '../support/skipped.js';
import { scene, whole, type Scene } from './support.js';

const MANY = 150;
const names = Array.from({ length: MANY }, (_, index) => `src/a-file-with-a-long-name-${index}.js`);
const RULES = [
  { name: 'a', match: { contains: '- a.js' }, answer: whole({ 'a.js': 'const a = 2;\n' }) },
];

let open: Scene | null = null;
afterEach(async () => {
  await open?.close();
  open = null;
});

const job = (files: readonly string[]): string =>
  `---\ntarget_files: [${files.join(', ')}]\n---\n# Grow\n\nRaise the number.\n`;
/** `temporal workflow …` on a run; its standard output. */
const temporal = async (workflowId: string, ...args: readonly string[]): Promise<string> => {
  const where = ['--address', process.env.EMEND_TEST_ADDRESS ?? '', '--workflow-id', workflowId];
  const { stdout } = await promisify(execFile)(process.env.EMEND_TEST_CLI ?? '', [
    'workflow',
    ...args,
    ...where,
  ]);
  return stdout;
};
const queried = async (workflowId: string, name: string): Promise<unknown> => {
  const printed = await temporal(workflowId, 'query', '--name', name, '--output', 'json');
  return (JSON.parse(printed) as { readonly queryResult: readonly unknown[] }).queryResult[0];
};

test('`temporal workflow query` prints an answer as JSON, and an update without version and request id counts once', async () => {
  const s = (open = await scene({ 'a.js': 'const a = 1;\n' }, RULES));
  await s.worker();
  const run = await s.start('job.md', job(['a.js']));
  const { status, workflowId } = await s.settle(run);
  const id = workflowId ?? '';
  const decision = status.decision?.id ?? '';
  expect(await queried(id, 'status')).toMatchObject({
    stepKey: run.stepKey,
    decision: { id: decision },
  });
  expect(await queried(id, 'ledger')).toMatchObject([{ path: 'a.js' }]);

  const decide = (body: object, ...more: readonly string[]): Promise<string> =>
    temporal(id, 'update', 'execute', '--name', 'decide', '--input', JSON.stringify(body), ...more);
  await expect(decide({ answer: 'approve' })).rejects.toThrow(
    `it must name the decision you saw: send {"decision": "${decision}"}`,
  );
  await expect(decide({ v: 3, answer: 'approve', decision })).rejects.toThrow(/has version 3/);
  expect(await decide({ answer: 'approve', decision }, '--update-id', 'typed')).toContain(
    'outcome:resolved',
  );
  expect(await s.end(run)).toMatchObject({ outcome: 'applied' });
  const decided = (await s.events(run)).filter(({ type }) => type === 'decided');
  expect(decided).toMatchObject([{ answer: 'approve', by: 'unknown (unknown)' }]);
});

const long = longOnly(
  'read-signal.test.ts shows what a signal needs, payloads.test.ts what is large',
);

long('a signal `decide` without a version counts', async () => {
  const s = (open = await scene({ 'a.js': 'const a = 1;\n' }, RULES));
  await s.worker();
  const run = await s.start('job.md', job(['a.js']));
  const { status, workflowId } = await s.settle(run);
  const body = { decision: status.decision?.id, answer: 'skip', requestId: 'typed' };
  const signal = ['signal', '--name', 'decide', '--input', JSON.stringify(body)];
  await temporal(workflowId ?? '', ...signal);
  expect(await s.end(run, 40)).toMatchObject({ outcome: 'skipped' });
});

long(
  'an answer to a query that is larger than a payload may be is read by the client and leaves nothing in the store',
  async () => {
    const s = (open = await scene(
      Object.fromEntries(names.map((name) => [name, 'const a = 1;\n'])),
      [],
    ));
    await s.worker();
    const run = await s.start('job.md', job(names));
    const blobs = () => readdirSync(join(s.store, 'blobs'), { recursive: true }).length;
    await s.settle(run);
    const before = blobs();
    const view = await s.show(run);
    expect(view.ledger).toHaveLength(MANY);
    expect(JSON.stringify(view.ledger).length).toBeGreaterThan(BOUNDS.inlinePayload_bytes);
    expect(blobs()).toBe(before);
  },
);
