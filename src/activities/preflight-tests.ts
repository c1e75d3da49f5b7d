/** Which commands verify a step. A found command is asked for once, and again when what defines it changes. */
import type { TestPlan } from '../shared/protocol.js';
import { isKnown } from '../shared/versions.js';
import { discoverTestCommand } from '../workspace/discover.js';
import { canonicalJson, sha256 } from '../workspace/hash.js';
import type { ActivityDependencies } from './dependencies.js';

/** Record under which a person's approval of a found command is remembered: workspace, command and the bytes that define it. */
export async function approvalKey(workspace: string, command: string): Promise<string | null> {
  const found = await discoverTestCommand(workspace);
  if (found?.command !== command) return null;
  return `test-commands/${sha256(canonicalJson({ workspace, ...found }))}`;
}

export async function testPlan(
  { records }: ActivityDependencies,
  workspace: string,
  wanted: readonly string[] | 'auto',
): Promise<TestPlan> {
  if (wanted !== 'auto') return { commands: wanted, found: null };
  const found = await discoverTestCommand(workspace);
  if (found === null) return { commands: [], found: null };
  const key = await approvalKey(workspace, found.command);
  const approved = key === null ? null : await records.get(key);
  // A later version's approval may mean something else: the person is asked again.
  return !isKnown(approved) ? { commands: [], found: found.command } : { commands: [found.command], found: null };
}
