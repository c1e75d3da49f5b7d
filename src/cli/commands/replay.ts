/** `emend replay`: whether open runs continue with the workflows of this build. */
import { EXIT, type ExitCode } from '../../shared/problems.js';
import { count } from '../../shared/text.js';
import { resolveHome } from '../../stores/home.js';
import { build } from '../../system/version.js';
import { connectClient, type ClientConnection } from '../../temporal/connection.js';
import { resolveTimings } from '../../temporal/settings.js';
import type { Io, JsonFlag } from '../io.js';
import { printFound } from '../json.js';
import { plain } from '../render/text.js';

const replayed = async (
  io: Io,
  connection: ClientConnection,
  flags: JsonFlag,
): Promise<ExitCode> => {
  const { replayOpen } = await import('../../worker/index.js');
  const found = await replayOpen(connection);
  const { runs, failed } = found;
  const which = `of ${count(runs, 'open run')} in namespace ${connection.namespace}`;
  printFound({ io, flags }, 'replay', { v: 1, build: build(), ...found }, [
    ...failed.map(({ workflowId, why: reason }) => `${plain(workflowId)}\n  ${plain(reason)}`),
    failed.length === 0
      ? `All ${which} replay with build ${build()}.`
      : `${failed.length} ${which} would not replay with build ${build()}.`,
  ]);
  return failed.length === 0 ? EXIT.done : EXIT.refused;
};

export const replay = async (io: Io, flags: JsonFlag): Promise<ExitCode> => {
  const { env } = io;
  const { connect_ms } = resolveTimings(env);
  const connection = await connectClient({ env, home: await resolveHome(env), connect_ms });
  try {
    return await replayed(io, connection, flags);
  } finally {
    await connection.close();
  }
};
