/** `emend stats`: what the runs and plans of this machine's archive came to, or one of them with tokens and money per phase. */
import { phaseCosts, type PhaseCost } from '../../client/archive/phase-costs.js';
import { recordedUsage } from '../../client/archive/recorded-usage.js';
import { METRIC_NAMES, sumRunCounts, type RunStats } from '../../client/archive/statistics.js';
import { runIndex } from '../../client/run-index/index.js';
import type { RowFacts } from '../../client/run-index/row.js';
import { reading } from '../../client/open.js';
import { resolveRun } from '../../client/runs/resolve.js';
import type { Emend } from '../../client/types.js';
import { runEvents } from '../../client/runs/show.js';
import { statsOf, sumPlanStats, type PlanStats, type Ratio } from '../../documents/plan/index.js';
import { fail } from '../../shared/problems.js';
import type { Io, JsonFlag } from '../io.js';
import { printFound } from '../json.js';
import { table, count, plain } from '../render/text.js';
import { withEmend } from '../session.js';
import { tokensIn } from '../../shared/usage.js';

// Statistics over runs, on a terminal. Pure.

const statsLines = ({ runs, counts, usage, medianAnswer_s }: RunStats): readonly string[] => [
  count(runs, 'run'),
  ...table(
    METRIC_NAMES.flatMap((name) => {
      const words = Object.entries(counts[name]).map(([word, n]) => `${plain(word)} ${n}`);
      return words.length === 0 ? [] : [[`  ${name}`, words.join(', ')]];
    }),
  ),
  ...table([
    ['  model calls', String(usage.calls)],
    [
      '  tokens',
      `${tokensIn(usage).toLocaleString('en-US')} in, ${usage.output_tokens.toLocaleString('en-US')} out`,
    ],
    ['  money', usage.usd === null ? 'not known' : `$${usage.usd.toFixed(4)}`],
    ...(medianAnswer_s === null
      ? []
      : [['  answered after', `${Math.round(medianAnswer_s)} s (median)`]]),
  ]),
];

type StatsFlags = JsonFlag & { readonly since?: string };
export const stats = (io: Io, run: string | undefined, flags: StatsFlags): Promise<void> =>
  withEmend(io, async (emend) => {
    const { since } = flags;
    if (
      since !== undefined &&
      (!/^\d{4}-\d{2}-\d{2}$/.test(since) || Number.isNaN(Date.parse(since)))
    )
      return fail('usage', `--since ${since.slice(0, 40)}: expected a day as YYYY-MM-DD.`);
    const all = run === undefined ? await rowsSince(io, emend, since ?? '') : null;
    const events =
      run === undefined
        ? null
        : await reading(emend, async (told) => runEvents(told, await resolveRun(told, run)));
    // Over all runs, those of plans themselves and of their phases among them.
    const steps = all && sumRunCounts(all.map(({ counts }) => counts));
    const plans =
      all === null
        ? statsOf(events === null ? [] : [events])
        : sumPlanStats(all.flatMap(({ planStats }) => planStats ?? []));
    const phases =
      events && (await phaseCosts(events, (child) => recordedUsage(emend.calls, child)));
    const found = {
      v: 1,
      ...plans,
      ...(phases && { costs: phases }),
      ...(steps && { steps }),
    } as const;
    printFound({ io, flags }, 'stats', found, [
      ...(steps === null ? [] : [...statsLines(steps), '']),
      ...lines(plans),
      ...(phases === null ? [] : costLines(phases)),
    ]);
  });

type StatsRow = Pick<RowFacts, 'counts' | 'planStats'>;

async function rowsSince(io: Io, emend: Emend, since: string): Promise<readonly StatsRow[]> {
  const rows: StatsRow[] = [];
  for (const { facts } of (await runIndex(emend)).rows()) {
    const { omitted, startedAt, counts, planStats } = facts;
    if (omitted !== null) io.err(omitted);
    if (startedAt !== null && startedAt >= since) rows.push({ counts, planStats });
  }
  return rows;
}

const share = ({ count, of }: Ratio): string =>
  of === 0 ? 'none yet' : `${count} of ${of} (${Math.round((count / of) * 100)} %)`;

const lines = (told: PlanStats): readonly string[] =>
  table([
    ['plans', String(told.plans)],
    ['phases started', String(told.phases)],
    ['replans', String(told.replans)],
    ['phases with replans', String(told.phasesReplanned)],
    ['second scores', `${told.secondScores}, ${told.discrepancies} of them far from the first`],
    ['failed verifications', String(told.failures)],
    ['phases without tests (no_tests)', String(told.noTests)],
    ['loops stopped', String(told.loopStops)],
    ['replans that helped', share(told.replanSuccess)],
    ['failure patterns caught within two failures', share(told.caughtWithinTwo)],
    ['expansions that needed no other replan', share(told.expansionAccuracy)],
  ]);

const costLines = (phases: readonly PhaseCost[]): readonly string[] => [
  '',
  ...table([
    ['phase', 'runs', 'calls', 'input tokens', 'output tokens', 'US dollars'],
    ...phases.map(({ phase, runs, usage }) => [
      ...[
        String(phase),
        String(runs),
        String(usage.calls),
        String(usage.input_tokens),
        String(usage.output_tokens),
      ],
      usage.usd === null ? 'not known' : usage.usd.toFixed(4),
    ]),
  ]),
];
