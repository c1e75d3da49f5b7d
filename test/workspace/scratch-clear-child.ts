/** What `emend recover` and `emend gc` clear up, in a process of its own with its TMPDIR. */
import { removeUnused } from '../../src/client/gc/index.js';
import { recover } from '../../src/cli/commands/recover.js';
import { processIo } from '../../src/cli/io.js';
import { hostId, resolveHome } from '../../src/stores/home.js';
import { createArchive } from '../../src/stores/directory/archive.js';
import { diskFiles } from '../../src/stores/directory/blobs.js';
import { storePaths } from '../../src/stores/location.js';

const [work = ''] = process.argv.slice(2);
if (work === 'recover') {
  await hostId(await resolveHome(process.env));
  await recover(
    { ...processIo(), out: () => undefined, err: () => undefined, write: () => undefined },
    {},
  );
} else {
  const home = await resolveHome(process.env);
  await removeUnused(
    { files: diskFiles, home, archive: createArchive({ dir: storePaths(home).archive }) },
    {
      steps: [],
      blobs: [],
      temps: [],
      caches: [],
      named: [],
      hosts: [],
      layers: [],
      isMore: false,
      notes: [],
    },
  );
}
