/** Finds or removes in a process of its own what a killed one left: as `doctor`, `recover` or `gc`. */
import { leftoversFinding } from '../../../src/cli/commands/doctor-layers.js';
import { recover } from '../../../src/cli/commands/recover.js';
import { processIo } from '../../../src/cli/io.js';
import { findUnused, removeUnused } from '../../../src/client/gc/index.js';
import { hostId, resolveHome } from '../../../src/stores/home.js';
import { fakeEmend, FakeServer } from '../../client/fake.js';

const HOUR_MS = 3_600_000;
const { env } = process;
const home = await resolveHome(env);
await hostId(home);

for (const work of process.argv.slice(2)) {
  if (work === 'doctor') process.stdout.write(JSON.stringify(await leftoversFinding(env, home)));
  if (work === 'recover') await recover(processIo(), {});
  if (work === 'gc') {
    const emend = { ...(await fakeEmend(new FakeServer())), home, store: home };
    const found = await findUnused(emend, { olderThan_ms: HOUR_MS });
    const { files, bytes } = await removeUnused(emend, found);
    process.stdout.write(JSON.stringify({ found: found.layers, files, bytes }));
  }
  process.stdout.write('\n');
}
process.exit();
