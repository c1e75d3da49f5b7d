/** A change is applied and rolled back while another process swaps the directory of its files for a link. */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from '@jest/globals';
import { testIf } from '../../support/skipped.js';
import { whileSwapped } from '../../support/swapping.js';
import { makeScene, requestOf, type SceneFile } from '../apply-scene.js';

const TURNS = 50;

testIf(process.platform === 'linux', 'needs /proc')(
  'writes, links and removes nothing outside of the workspace',
  async () => {
    const files: SceneFile[] = [
      { path: 'src/in/changed.txt', before: 'old\n', after: 'new\n' },
      { path: 'src/in/made.txt', before: null, after: 'made\n' },
      { path: 'src/in/removed.txt', before: 'gone\n', after: null },
    ];
    const scene = await makeScene(files);
    const outside = join(scene.root, 'outside');
    mkdirSync(outside);
    // Outside are the same bytes: what is checked by them alone would be changed there.
    for (const { path, before } of files)
      if (before !== null) writeFileSync(join(outside, path.slice('src/in/'.length)), before);
    const engine = scene.engine();
    const seen: string[] = [];
    const outcomes = await whileSwapped(
      scene.at('src/in'),
      outside,
      async (turn) => {
        const request = requestOf(scene.workspace, files, turn + 1);
        const { outcome } = await engine
          .apply(request)
          .catch(() => ({ outcome: 'thrown' }) as const);
        await engine.rollback(request).catch(() => undefined);
        seen.push(...readdirSync(outside).filter((name) => name.startsWith('.emend-')));
        return outcome;
      },
      TURNS,
    );
    expect(seen).toEqual([]);
    expect(readdirSync(outside).sort()).toEqual(['changed.txt', 'removed.txt']);
    expect(readFileSync(join(outside, 'changed.txt'), 'utf8')).toBe('old\n');
    expect(outcomes.size).toBeGreaterThan(1);
    scene.remove();
  },
);
