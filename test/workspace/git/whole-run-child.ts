/**
 * Run by a test as some user: makes the calls of a run in a workspace, and prints the user and whether the last commit was made. A third
 * argument is the id of an object that the repository lacks.
 */
import { Repo } from '../git-fixture.js';
import { commitChange, readMissing, wholeRun } from './whole-run.js';

export interface WholeRunSeen {
  readonly uid: number;
  readonly outcome: string;
}
const [, , directory = '', outside = '', missing] = process.argv;
const repo = new Repo(directory);
if (missing !== undefined) await readMissing(repo, missing);
await wholeRun(repo, outside);
const { outcome } = await commitChange(repo, outside);
const seen: WholeRunSeen = { uid: process.getuid?.() ?? 0, outcome };
process.stdout.write(JSON.stringify(seen));
