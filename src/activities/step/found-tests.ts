/** Which commands test a step. Commands that were found need confirmation once, and again when what defines them changes. */
import type { FoundTests, TestPlan } from '../../shared/test-plan.js';
import { canonicalJson, sha256 } from '../../system/hash.js';
import { discoverTests, type DiscoveredTests } from '../../workspace/commands/index.js';
import type { ActivityPorts } from '../frame/ports.js';

/**
 * Returns found commands, and whether they may run: the user confirmed these, or `trusts` is set and a commit of a person brought them to
 * `paths` of the base commit.
 */
export async function foundTests(
  { records, repository }: Pick<ActivityPorts, 'records' | 'repository'>,
  workspace: string,
  { commands, source, definedBy, read }: DiscoveredTests,
  { trusts, paths }: { readonly trusts: boolean; readonly paths: readonly string[] },
): Promise<FoundTests> {
  const key = `test-commands/${sha256(canonicalJson({ workspace, commands, definedBy }))}`;
  let confirmed = (await records.get(key)) !== null;
  if (!confirmed && trusts && read !== undefined) {
    const committed = await Promise.all(paths.map((path) => repository.committed(workspace, path)));
    const stands = new Set(committed.flatMap((text) => (text === null ? [] : read(text))));
    const words = commands.map((command) => repository.isPersons(workspace, command, paths));
    confirmed =
      commands.every((command) => stands.has(command)) && (await Promise.all(words)).every(Boolean);
  }
  return { commands, source, key, confirmed };
}

export async function testPlan(
  ports: Pick<ActivityPorts, 'records' | 'repository' | 'workspace'>,
  workspace: string,
  requested: readonly string[] | 'auto',
  trusts = false,
): Promise<TestPlan> {
  if (requested !== 'auto') return { commands: requested, found: null };
  const found = await discoverTests(await ports.workspace.root(workspace));
  if (found === null) return { commands: [], found: null };
  const paths = found.definedBy.map(({ path }) => path);
  return testPlanOf(await foundTests(ports, workspace, found, { trusts, paths }));
}
export const testPlanOf = (from: FoundTests): TestPlan =>
  from.confirmed
    ? { commands: from.commands, found: null, from }
    : { commands: [], found: from.commands.join(' && '), from };

/** Records that the user confirmed found commands. They are not asked for again while the files that define them stay the same. */
export async function remember(
  { records }: ActivityPorts,
  stepKey: string,
  keys: readonly string[],
): Promise<void> {
  for (const key of keys) await records.putIfAbsent(key, { stepKey });
}
