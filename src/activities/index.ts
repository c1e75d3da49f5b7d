/** The steps' outside work. Workflows see these as types only; ◆ none is renamed or removed while a kept history names it. */
import type { StepActivities } from '../shared/protocol.js';
import { apply } from './apply.js';
import { activity } from './boundary.js';
import { brief } from './brief.js';
import { commit } from './commit.js';
import type { ActivityDependencies } from './dependencies.js';
import { pick } from './pick.js';
import { preflight } from './preflight.js';
import { propose } from './propose.js';
import { rebase } from './rebase.js';
import { rollback } from './rollback.js';
import { seal } from './seal.js';
import { tally } from './tally.js';
import { verify } from './verify.js';

export { archiveSink } from './archive-sink.js';
export type { ActivityDependencies } from './dependencies.js';
export { createEditRunner } from './edit-runner.js';

type HostActivities = Omit<StepActivities, 'pick' | 'brief' | 'propose' | 'tally'>;
type ModelActivities = Pick<StepActivities, 'pick' | 'brief' | 'propose' | 'tally'>;

/** `host` runs where the workspace is, `model` on any worker that may call models; a worker takes one or both. */
export function createActivities(dependencies: ActivityDependencies): { host: HostActivities; model: ModelActivities } {
  const { timings } = dependencies;
  // A third of the time-out: two beats may be lost before the activity is taken for dead.
  const hostBeat_ms = Math.max(50, Math.floor(timings.hostHeartbeatTimeout_ms / 3));
  const modelBeat_ms = Math.min(timings.heartbeat_ms, Math.max(50, Math.floor(timings.heartbeatTimeout_ms / 3)));
  return {
    host: {
      preflight: activity('preflight', dependencies, hostBeat_ms, preflight(dependencies)),
      seal: activity('seal', dependencies, hostBeat_ms, seal(dependencies)),
      apply: activity('apply', dependencies, hostBeat_ms, apply(dependencies)),
      rebase: activity('rebase', dependencies, hostBeat_ms, rebase(dependencies)),
      verify: activity('verify', dependencies, hostBeat_ms, verify(dependencies)),
      rollback: activity('rollback', dependencies, hostBeat_ms, rollback(dependencies)),
      commit: activity('commit', dependencies, hostBeat_ms, commit(dependencies)),
    },
    model: {
      pick: activity('pick', dependencies, modelBeat_ms, pick(dependencies)),
      brief: activity('brief', dependencies, modelBeat_ms, brief(dependencies)),
      propose: activity('propose', dependencies, modelBeat_ms, propose(dependencies)),
      tally: activity('tally', dependencies, modelBeat_ms, tally(dependencies)),
    },
  };
}
