/** Which files a phase is about, by its words and by what is there. */
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { filesOf } from '../../src/activities/plan/phase-job.js';
import { isolateGit, Repo } from '../workspace/git-fixture.js';

isolateGit();
let repo: Repo;
beforeEach(async () => {
  repo = await Repo.make();
  for (const path of ['a.js', 'b.js', 'c.js', 'd.js']) await repo.write(path, 'x\n');
});
afterEach(() => repo.remove());
const of = (text: string) =>
  filesOf(
    repo.dir,
    [...text.matchAll(/`([^`]+)`/g)].map(([, path = '']) => path),
    text,
    new Set(),
  );

test.each([
  ['Delete the file `a.js`', { there: [], fresh: [], gone: ['a.js'] }],
  ['- [ ] Remove file `a.js`; mend `b.js`', { there: ['b.js'], fresh: [], gone: ['a.js'] }],
  [
    'Deletes the files `a.js`, `b.js` and `c.js`, not `d.js`',
    { there: ['d.js'], fresh: [], gone: ['a.js', 'b.js', 'c.js'] },
  ],
  // Said of what is in a file, or of one that is not there.
  ['Remove `old` from `a.js`', { there: ['a.js'], fresh: [], gone: [] }],
  ['Delete `a.js` from the list in `b.js`', { there: ['a.js', 'b.js'], fresh: [], gone: [] }],
  ['Remove the file list from `a.js`', { there: ['a.js'], fresh: [], gone: [] }],
  ['Delete the file `gone.js`', { there: [], fresh: [], gone: [] }],
  ['Create `src/new.js`', { there: [], fresh: ['src/new.js'], gone: [] }],
])('%s', async (text, files) => {
  expect(await of(text)).toEqual(files);
});
