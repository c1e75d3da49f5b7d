/** Puts under a shared key and takes a shared lock, together with others; prints what it got. */
import { createBlobStore } from '../../src/stores/directory/blobs.js';
import { hostId } from '../../src/stores/home.js';
import { createLocks } from '../../src/workspace/apply/lock.js';
import { createRecordStore } from '../../src/stores/directory/records.js';

export interface ChildAnswer {
  readonly puts: readonly { readonly value: { readonly by: string }; readonly created: boolean }[];
  readonly blob: string;
  readonly host: string;
  readonly lock: 'held' | 'busy';
}

const [home = '', workspace = '', name = ''] = process.argv.slice(2);
const records = createRecordStore({ dir: `${home}/records` });
const blobs = createBlobStore({ dir: `${home}/blobs` });
const keys = Array.from({ length: 20 }, (_, i) => `shared/key-${i}`);
const puts = await Promise.all(keys.map((key) => records.putIfAbsent(key, { by: name })));
const blob = await blobs.put(new TextEncoder().encode('the same bytes'));
const lock = await createLocks({ home }).take(workspace, `step-${name}-0000`, {
  workflowId: name,
  namespace: 'n',
});
const answer: ChildAnswer = { puts, blob, host: await hostId(home), lock: lock.outcome };
process.stdout.write(JSON.stringify(answer));
