/** Archives of random runs, and what a search over all of them finds if each is read and compared. */
import { planOf, type StepKey } from '../../../src/shared/ids.js';
import type { RunFilter } from '../../../src/shared/run.js';
import { archivedRun } from '../../../src/client/archive/run.js';
import type { Emend } from '../../../src/client/types.js';
import type { RunRow } from '../../../src/client/run-index/row.js';
import { rowOf } from '../../../src/client/run-index/row-of-archive.js';
import { runIndex, type RunIndex } from '../../../src/client/run-index/index.js';
import { chooseRuns, wordsOf } from '../../../src/client/run-index/choose.js';
import type { ArchiveEntry } from '../../../src/stores/ports.js';
import { NO_USAGE } from '../../../src/shared/usage.js';
import { startedData } from '../fake.js';

export const keyOf = (n: number): StepKey => n.toString(16).padStart(8, '0').padEnd(32, 'a');

const WORDS = [
  'Greeting',
  'ärger',
  'MODULE',
  'tests',
  'fix\tthe\nthing',
  'a"quote',
  '東京',
  'x\\y',
];
const WORKSPACES = ['/w/one', '/w/two', 'https://example.org/r.git'];
const OUTCOMES = ['committed', 'applied', 'refused', 'aborted'] as const;

export type Random = () => number;
const pick = <T>(random: Random, items: readonly T[]): T =>
  items[Math.floor(random() * items.length)]!;

/** What a run appends first, and at its end. */
export const startOf = (random: Random, n: number, data: object = {}): ArchiveEntry => ({
  id: 'started',
  at: new Date(Math.floor(random() * 1e9) * 1000).toISOString(),
  kind: 'started',
  data: startedData({
    workflowId: `emend/${n}`,
    title: `${pick(random, WORDS)} ${pick(random, WORDS)} ${n}`,
    workspace: pick(random, WORKSPACES),
    jobPath: `jobs/${n % 7}.md`,
    ...data,
  }),
});
export const endOf = (random: Random, n: number): ArchiveEntry => {
  const outcome = pick(random, OUTCOMES);
  const result = {
    v: 2,
    stepKey: keyOf(n),
    outcome,
    files: [`src/${pick(random, WORDS)}.ts`],
    skipped: [],
    wasSplit: false,
    usage: NO_USAGE,
    commit: null,
    proposalId: null,
    verification: null,
    problem: null,
    pausedFor_ms: 0,
  };
  return {
    id: 'closed-run-1',
    at: new Date(Math.floor(1e9 + random() * 1e9) * 1000).toISOString(),
    kind: 'closed',
    data: { status: 'COMPLETED', result, message: null },
  };
};
export const planStarted = (plan: string): ArchiveEntry => ({
  id: 'event-run-1-1',
  at: new Date(1e12).toISOString(),
  kind: 'event',
  data: {
    seq: 1,
    at: 1e12,
    type: 'plan_started',
    plan,
    phases: 1,
    done: 0,
    mode: 'sequential',
    waves: [[1]],
  },
});

/** Reads each archive of the store, whatever an index says. Newest first. */
export const scanned = async ({ archive, blobs }: Emend): Promise<readonly RunRow[]> => {
  const rows: RunRow[] = [];
  for (const stepKey of await archive.names()) {
    const stamp = await archive.stamp(stepKey);
    if (stamp === null) continue;
    rows.push(await rowOf(blobs, archivedRun(stepKey, await archive.read(stepKey)), stamp));
  }
  return rows.sort((a, b) => b.last_ms - a.last_ms || (a.stepKey < b.stepKey ? 1 : -1));
};

/** The naive search. */
export const fitting = (rows: readonly RunRow[], filter: RunFilter): readonly StepKey[] => {
  const plans = rows.filter(
    ({ plan, stepKey }) =>
      plan !== '' &&
      (plan.replace(/\.md$/, '') === filter.plan?.replace(/\.md$/, '') ||
        stepKey.startsWith(filter.plan ?? '-')),
  );
  return rows
    .filter(
      (row) =>
        (filter.state === undefined || !row.isEnded || row.state === filter.state) &&
        (filter.workspace === undefined || row.workspace === filter.workspace) &&
        (filter.plan === undefined ||
          plans.some(({ stepKey }) => stepKey === planOf(row.stepKey))) &&
        wordsOf(filter.text ?? '').every((word) => row.text.includes(word)),
    )
    .map(({ stepKey }) => stepKey);
};

export const randomFilter = (random: Random): RunFilter => ({
  ...(random() < 0.4 ? { state: pick(random, ['done', 'failed', 'aborted']) } : {}),
  ...(random() < 0.4 ? { workspace: pick(random, WORKSPACES) } : {}),
  ...(random() < 0.6
    ? { text: `${pick(random, WORDS)}  ${pick(random, ['', 'SRC', '1', 'ended'])}` }
    : {}),
});

export const rowsOf = (index: RunIndex): readonly RunRow[] => [...index.rows()];

/** The rows of an index that is brought up to date, and what it finds. */
export const indexed = async (emend: Emend, filter: RunFilter = {}): Promise<readonly StepKey[]> =>
  chooseRuns(await runIndex(emend), filter);
