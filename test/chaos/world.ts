/** Everything that a chaos run has at hand: the stage, its processes, and the log of what the person in it did. */
import type { Emend } from '../../src/client/types.js';
import type { Answer } from '../../src/shared/decisions.js';
import type { Rehearsal } from '../../src/model/rehearsal/server.js';
import type { Server } from './server.js';
import type { Traps } from './traps.js';
import type { WorkerPool } from './workers.js';

/** Bytes that a person put under a path. */
export interface Save {
  readonly carrier: string;
  readonly workspace: string;
  readonly path: string;
  readonly bytes: string;
  readonly how: string;
}
/** An answer that a person gave, and what they were told. */
export interface Given {
  readonly carrier: string;
  readonly stepKey: string;
  readonly decision: string;
  readonly answer: Answer;
  /** Name of the person, one an answer, so that the run's own log can be searched for it. */
  readonly by: string;
  /** `sent`: told that it is on its way; `unclear`: the server went away while it was given. */
  readonly told: 'counted' | 'resolved before' | 'sent' | 'refused' | 'unclear';
  readonly said: string;
}

export interface World {
  readonly dir: string;
  readonly home: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly emend: Emend;
  readonly rehearsal: Rehearsal;
  readonly server: Server;
  readonly workers: WorkerPool;
  readonly traps: Traps;
  readonly saves: Save[];
  readonly given: Given[];
  /** Lines that a person wrote into the document of a plan, by carrier. */
  readonly notes: Map<string, string>;
  note(line: string): void;
}

/** Time-outs of seconds, also for an owner of a call that is silent; attempts enough for all that stopped workers swallow. */
const HEARTBEAT_TIMEOUT_MS = 3_000;
/** A worker that sleeps longer than this was taken for dead. */
export const SLEEP_MS = HEARTBEAT_TIMEOUT_MS + 3_000;
const HOST_ACTIVITY_MS = 30_000;
/** A lid is closed for longer than that, and so than every time-out here. */
export const LID_MS = HOST_ACTIVITY_MS + 5_000;
export const FAST: Readonly<Record<string, string>> = {
  EMEND_HEARTBEAT_MS: '300',
  EMEND_HEARTBEATTIMEOUT_MS: String(HEARTBEAT_TIMEOUT_MS),
  EMEND_HOSTHEARTBEATTIMEOUT_MS: String(HEARTBEAT_TIMEOUT_MS),
  EMEND_COMMANDHEARTBEATTIMEOUT_MS: String(HEARTBEAT_TIMEOUT_MS),
  // What hangs in an activity is ended a few seconds before this.
  EMEND_HOSTACTIVITYTIMEOUT_MS: String(HOST_ACTIVITY_MS),
  EMEND_CALLOWNER_MS: '2000',
  EMEND_STREAMIDLE_MS: '2000',
  EMEND_RETRYINITIAL_MS: '100',
  EMEND_RETRYMAXIMUM_MS: '1000',
  EMEND_OUTAGEWAIT_MS: '100',
  EMEND_OUTAGEMAXWAIT_MS: '1000',
  EMEND_STICKYWAIT_MS: '1000',
  EMEND_LOCKPOLL_MS: '200',
  EMEND_ACCEPTWAIT_MS: '2000',
  EMEND_SHUTDOWNGRACE_MS: '1000',
  EMEND_MODELCALLATTEMPTS: '40',
  EMEND_HOSTACTIVITYATTEMPTS: '40',
};
