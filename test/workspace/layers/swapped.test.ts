/** What a command left is copied into a workspace in which another process swaps a directory for a link. */
import { mkdirSync, mkdtempSync, readdirSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from '@jest/globals';
import { writeOut } from '../../../src/workspace/layers/write-out.js';
import { testIf } from '../../support/skipped.js';
import { whileSwapped } from '../../support/swapping.js';

const FILES = 10;
const TURNS = 150;

testIf(process.platform === 'linux', 'needs /proc')(
  'B6: files are written and removed only in the workspace while one of its directories is swapped for a link',
  async () => {
    const base = realpathSync(mkdtempSync(join(tmpdir(), 'emend-swapped-')));
    const [upper, workspace, outside] = ['upper', 'workspace', 'outside'].map((name) =>
      join(base, name),
    );
    if (upper === undefined || workspace === undefined || outside === undefined) return;
    for (const dir of [join(upper, 'out', 'in'), join(workspace, 'out', 'in'), outside])
      mkdirSync(dir, { recursive: true });
    const place = {
      upper,
      workspace,
      programs: [],
      shownNames: () => Promise.resolve(new Map<string, ReadonlySet<string>>()),
    };
    const request = { paths: ['out'], except: [], protectedPatterns: [] };
    try {
      const outcomes = await whileSwapped(
        join(workspace, 'out', 'in'),
        outside,
        async (turn) => {
          // What is already there is not written again.
          for (let file = 0; file < FILES; file++)
            writeFileSync(join(upper, 'out', 'in', `f${file}`), String(turn));
          const { written, refused } = await writeOut(place, request);
          if (written.length === FILES) return 'all';
          return refused.length > 0 ? 'refused' : 'other';
        },
        TURNS,
      );
      expect(readdirSync(outside)).toEqual([]);
      expect(outcomes.get('refused')).toBeGreaterThan(0);
    } finally {
      rmSync(base, { recursive: true, force: true });
    }
  },
);
