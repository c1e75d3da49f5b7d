/**
 * The door of preflight: which files, which formats, which limits, what it may cost. All of it is recorded before the first call is paid for.
 * ◆ The result is kept under (stepKey, snapshot number). Later calls return it unchanged, whatever files, config or code are by then.
 */
import type { PreflightInput, PreflightResult } from '../../../shared/step-activities.js';
import { putJson } from '../../../stores/ports.js';
import type { ActivityScope } from '../../frame/activity.js';
import type { ActivityPorts } from '../../frame/ports.js';
import { asRefused, recordOnce } from '../../frame/recorded.js';
import { estimateCalls } from './call-estimate.js';
import { planCalls } from './calls.js';
import { planCommands } from './commands.js';
import { readConfiguration, type TrustedConfiguration } from './configuration.js';
import { createContext, type PreflightContext } from './context.js';
import { pickResult } from './pick.js';
import { recordKey } from './record.js';
import { readyResult } from './result.js';
import { routeTargets } from './routing.js';
import { resolveSettings } from './settings.js';
import { takeSnapshot } from './take-snapshot.js';
import { chooseStepTargets } from './target-choice.js';

export const preflight = async (
  ports: ActivityPorts,
  input: PreflightInput,
  { signal }: Pick<ActivityScope, 'signal'>,
): Promise<PreflightResult> => {
  const key = recordKey(input.stepKey, input.snapshotNumber);
  const recorded = await ports.records.get<PreflightResult>(key);
  if (recorded !== null) return recorded;
  const root = await ports.workspace.root(input.workspace);
  const configuration = await readConfiguration(ports, input, root).catch(asRefused);
  if ('outcome' in configuration) return configuration;
  const context = createContext({ ports, input, root, signal });
  return recordOnce(ports.records, key, () => prepareStep(context, configuration).catch(asRefused));
};

/** Goes through the stages. A step without targets ends after the second one, until a model has picked them. */
async function prepareStep(
  context: PreflightContext,
  configuration: TrustedConfiguration,
): Promise<PreflightResult> {
  const { ports, input } = context;
  const { checkedFiles } = configuration;
  const settings = await resolveSettings(context, configuration);
  const choice = await chooseStepTargets(context, settings);
  if (choice.outcome === 'pick') return pickResult(context, settings, choice.files);
  const routing = await routeTargets(context, settings, choice);
  const calls = planCalls(input, settings, routing);
  const { snapshot, signatures_bytes } = await takeSnapshot(context, settings, {
    routing,
    calls,
    checkedFiles,
  });
  const commands = await planCommands(context, settings);
  const callEstimate = estimateCalls(input, settings, {
    routing,
    calls,
    snapshot,
    signatures_bytes,
  });
  return readyResult(settings, {
    snapshot: await putJson(ports.blobs, snapshot),
    routing,
    calls,
    commands,
    callEstimate,
    refusedFiles: choice.refusedFiles,
  });
}
