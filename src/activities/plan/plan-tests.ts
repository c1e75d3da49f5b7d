/** The test commands of a plan, as they were found: which of them run, and which a person is asked about. */
import type { ProjectConfig } from '../../documents/job/index.js';
import type { PhaseReport } from '../../documents/plan/index.js';
import type { ReadPlanInput } from '../../shared/plan-activities.js';
import type { PhaseId, PlanTests } from '../../shared/plan.js';
import { discoverPlanTests, pathsOfPlan, type ReadPlan } from '../../workspace/documents/index.js';
import type { ActivityPorts } from '../frame/ports.js';
import { foundTests, testPlanOf } from '../step/verify.js';

/** `phases` with their ids in the same order. */
export async function testsOfPlan(
  ports: ActivityPorts,
  { workspace, reading, planPath }: Pick<ReadPlanInput, 'workspace' | 'reading' | 'planPath'>,
  { plan, root, config }: { plan: ReadPlan; root: string; config: Pick<ProjectConfig, 'test' | 'trustsTests'> },
  { phases, ids }: { phases: readonly PhaseReport[]; ids: readonly PhaseId[] },
): Promise<PlanTests> {
  if (Array.isArray(config.test)) return { commands: config.test, found: null };
  // What a replan of this run wrote is committed by now: only the first reading looks at the base.
  const trusts = config.trustsTests === true && reading === 1;
  // Where they may have stood before an expansion, too.
  const own = [...new Set([`${planPath}.md`, ...pathsOfPlan(plan, root)])];
  let all: PlanTests = { commands: [], found: null, phases: {} };
  for (const { phase, ...found } of await discoverPlanTests(plan, root, phases)) {
    const paths = phase === null ? found.definedBy.map(({ path }) => path) : own;
    const tests = await foundTests(ports, workspace, found, { trusts, paths });
    if (phase !== null) {
      const id = ids[phases.findIndex(({ number }) => number === phase)] ?? '';
      all = { ...all, phases: { ...all.phases, [id]: tests } };
    } else all = found.commands.length === 0 ? { ...all, unset: true } : { ...all, ...testPlanOf(tests) };
  }
  return all;
}
