/** Those ports of activities that reach a workspace, as a worker has them for a directory. */
import { createTrust } from '../../src/workspace/trust/index.js';
import type { ActivityPorts } from '../../src/activities/frame/ports.js';
import type { BlobStore } from '../../src/stores/ports.js';
import { systemClock } from '../../src/system/clock.js';
import { createApplyEngine } from '../../src/workspace/apply/index.js';
import { createLocalRunner } from '../../src/workspace/commands/index.js';
import { createLayers } from '../../src/workspace/layers/index.js';
import { createRepository } from '../../src/workspace/landing/repository.js';

export const workspacePorts = (
  home: string,
  blobs: BlobStore,
): Pick<
  ActivityPorts,
  'blobs' | 'workspace' | 'repository' | 'commands' | 'layers' | 'trust' | 'clock'
> => {
  const trust = createTrust({ home });
  const commands = createLocalRunner(process.env, {
    beforeWriting: (workspace) => trust.recordBeforeCommand(workspace),
  });
  const engine = createApplyEngine({ home, blobs });
  const layers = createLayers({ home, blobs, commands });
  const repository = createRepository({ home, blobs, engine, commands, layers });
  return {
    blobs,
    workspace: engine,
    repository,
    commands,
    layers,
    trust,
    clock: systemClock,
  };
};
