/** A commit in a process of its own, whose TMPDIR it works in. Prints what came of it. */
import { createCommitter } from '../../src/workspace/git/commit.js';
import { Blobs, hookPorts, Repo, requestFor } from './git-fixture.js';

const [dir = ''] = process.argv.slice(2);
const blobs = new Blobs();
const request = await requestFor(new Repo(dir), [blobs.file('f', '1\n', '2\n')], { hooks: true });
process.stdout.write((await createCommitter({ ...hookPorts(), blobs })(request)).outcome);
