/** Deploys of workers: whether open runs go on with this build's workflows, and which build serves them. */
import { queuesFor } from '../../shared/names.js';
import { EXIT, type ExitCode } from '../../shared/problems.js';
import { count } from '../../shared/text.js';
import { hostId, resolveHome } from '../../stores/home.js';
import { build } from '../../system/version.js';
import { connectClient, type ClientConnection } from '../../temporal/connection.js';
import { makeCurrent } from '../../temporal/deployment.js';
import { resolveTimings } from '../../temporal/settings.js';
import type { Io, JsonFlag } from '../io.js';
import { printFound } from '../json.js';
import { plain } from '../render/text.js';

const connected = async (
  io: Io,
  use: (at: ClientConnection, home: string) => Promise<ExitCode>,
): Promise<ExitCode> => {
  const home = await resolveHome(io.env);
  const at = await connectClient({
    env: io.env,
    home,
    connect_ms: resolveTimings(io.env).connect_ms,
  });
  try {
    return await use(at, home);
  } finally {
    await at.close();
  }
};

const replayed = async (io: Io, at: ClientConnection, flags: JsonFlag = {}): Promise<ExitCode> => {
  const { replayOpen } = await import('../../worker/index.js');
  const found = await replayOpen(at);
  const { runs, failed } = found;
  const which = `of ${count(runs, 'open run')} in namespace ${at.namespace}`;
  printFound({ io, flags }, 'replay', { v: 1, build: build(), ...found }, [
    ...failed.map(({ workflowId, why }) => `${plain(workflowId)}\n  ${plain(why)}`),
    failed.length === 0
      ? `All ${which} replay with build ${build()}.`
      : `${failed.length} ${which} would not replay with build ${build()}.`,
  ]);
  return failed.length === 0 ? EXIT.done : EXIT.refused;
};

export const replay = (io: Io, flags: JsonFlag): Promise<ExitCode> =>
  connected(io, (at) => replayed(io, at, flags));

export const promote = (
  io: Io,
  { unversioned }: { readonly unversioned?: true },
): Promise<ExitCode> =>
  connected(io, async (at, home) => {
    if (unversioned === true) {
      await makeCurrent(at, null);
      io.out('No build is current: workers without --deployment serve all runs.');
      return EXIT.done;
    }
    const exit = await replayed(io, at);
    if (exit !== EXIT.done) return exit;
    const { workflow, model } = queuesFor(io.env, await hostId(home), at.own);
    await makeCurrent(at, [...new Set([workflow, model])]);
    io.out(`Build ${build()} is current.`);
    return EXIT.done;
  });
