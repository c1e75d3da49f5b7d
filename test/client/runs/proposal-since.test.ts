/** A proposal beside an earlier version of it, and which versions an archive knows. */
import { describe, expect, test } from '@jest/globals';
import { archivedRun } from '../../../src/client/archive/run.js';
import { proposalSince } from '../../../src/client/runs/proposal.js';
import { versionsTo } from '../../../src/client/runs/show.js';
import { filesSince, parseDiff } from '../../../src/web/page/model/diff.js';
import { type ArchiveEntry, putJson } from '../../../src/stores/ports.js';
import { fakeEmend } from '../fake.js';

type Sides = Readonly<Record<string, readonly [base: string | null, result: string | null]>>;
const KEY = 'ab'.repeat(16);
const REF = `sha256:${'0'.repeat(64)}` as const;

const since = async (earlier: Sides, later: Sides) => {
  const { blobs } = await fakeEmend(null);
  const side = async (text: string | null) =>
    text === null ? null : { ref: await blobs.put(new TextEncoder().encode(text)), mode: 0o644 };
  const put = async (sides: Sides) => {
    const files = Object.entries(sides).map(async ([path, [base, result]]) => {
      return { path, base: await side(base), result: await side(result), by: 'model' };
    });
    return {
      ref: await putJson(blobs, { stepKey: KEY, files: await Promise.all(files), renames: [] }),
    };
  };
  return proposalSince({ blobs }, await put(earlier), await put(later));
};

describe('a proposal since an earlier one', () => {
  test('says of each file whether it is changed, as it was, new or gone, and whether its base moved', async () => {
    const { files, diff } = await since(
      {
        'a.js': ['a\n', 'A\n'],
        'b.js': ['b\n', 'B\n'],
        'c.js': ['c\n', 'C\n'],
        'd.js': ['d\n', null],
      },
      {
        'b.js': ['b0\n', 'B\n'],
        'c.js': ['c\n', 'CC\n'],
        'd.js': ['d\n', 'D\n'],
        'e.js': [null, 'e\n'],
      },
    );
    expect(files).toEqual([
      { path: 'a.js', is: 'gone', baseMoved: false },
      { path: 'b.js', is: 'same', baseMoved: true },
      { path: 'c.js', is: 'changed', baseMoved: false },
      { path: 'd.js', is: 'changed', baseMoved: false },
      { path: 'e.js', is: 'new', baseMoved: false },
    ]);
    // From what was proposed to what is: a file that is taken out goes back to its base.
    expect(
      parseDiff(diff).map(({ path, hunks }) => [
        path,
        ...hunks[0]!.lines.map((l) => l.sign + l.text),
      ]),
    ).toEqual([
      ['a.js', '-A', '+a'],
      ['c.js', '-C', '+CC'],
      ['d.js', '+D'],
      ['e.js', '+e'],
    ]);
    const whole = parseDiff(
      'diff --git a/b.js b/b.js\n--- a/b.js\n+++ b/b.js\n@@ -1,1 +1,1 @@\n-b0\n+B\n',
    );
    expect(filesSince(whole, { files, diff }).map(({ path }) => path)).toEqual(
      files.map(({ path }) => path),
    );
  });
});

describe('versions', () => {
  let at = 0;
  const entry = (kind: ArchiveEntry['kind'], data: unknown): ArchiveEntry => {
    at += 1;
    return { id: `e${at}`, at: new Date(at).toISOString(), kind, data };
  };
  const proposal = (digit: string) => ({
    id: digit.repeat(64),
    ref: REF,
    diff: REF,
    files: [],
    findings: [],
    tolerances: [],
    mustAsk: [],
  });
  const built = (digit: string) =>
    entry('activity', {
      name: 'buildProposal',
      result: { outcome: 'built', proposal: proposal(digit) },
    });
  const sent = (note: string, outcome: string) =>
    entry('decision', { request: { decision: '1', answer: 'revise', note }, result: { outcome } });
  const decided = entry('event', {
    seq: 1,
    at: 0,
    type: 'decided',
    decision: '1',
    answer: 'revise',
    files: 1,
    by: 'ann',
    skipped: [],
  });

  test('are proposals in order, with the notes that counted and led to each; the same one again is none', () => {
    const run = archivedRun(KEY, [
      ...[
        built('a'),
        built('a'),
        sent('be brief', 'resolved'),
        sent('late', 'already_resolved'),
        decided,
        built('b'),
      ],
      ...[built('a')],
    ]);
    expect(run.versions.map((each) => [each.proposal.id[0], each.notes, each.answered])).toEqual([
      ['a', [], true],
      ['b', ['be brief'], false],
      ['a', [], false],
    ]);
    const resolved = { stepKey: KEY, live: null, archived: run };
    // The archive may be ahead of the run, or behind it.
    expect(versionsTo(resolved, proposal('b'))).toHaveLength(2);
    expect(versionsTo(resolved, proposal('c')).map((each) => each.proposal.id[0])).toEqual([
      'a',
      'b',
      'a',
      'c',
    ]);
    expect(versionsTo(resolved, null)).toEqual([]);
  });
});
