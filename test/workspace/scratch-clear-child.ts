/** What `emend recover` and `emend gc` clear up, in a process of its own with its TMPDIR. */
import { removeUnused } from '../../src/client/gc/index.js';
import { recover } from '../../src/cli/commands/recover.js';
import { processIo } from '../../src/cli/io.js';
import { hostId, resolveHome } from '../../src/stores/home.js';
import { diskFiles } from '../../src/stores/directory/blobs.js';

const [work = ''] = process.argv.slice(2);
if (work === 'recover') {
  await hostId(await resolveHome(process.env));
  await recover(
    { ...processIo(), out: () => undefined, err: () => undefined, write: () => undefined },
    {},
  );
} else {
  await removeUnused(
    { files: diskFiles, home: await resolveHome(process.env) },
    { steps: [], blobs: [], temps: [], caches: [], named: [], hosts: [], layers: [], notes: [] },
  );
}
