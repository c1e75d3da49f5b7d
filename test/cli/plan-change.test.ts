/** `emend plan expand|collapse` on real files: one transaction, the plan's own files, no commit. */
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { main } from '../../src/cli/main.js';
import { EVERYTHING } from '../documents/plan/support.js';
import { fakeIo } from './io.js';

const folderWith = (files: Readonly<Record<string, string>>): string => {
  const cwd = mkdtempSync(join(tmpdir(), 'emend-plan-'));
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(cwd, path)), { recursive: true });
    writeFileSync(join(cwd, path), content);
  }
  return cwd;
};
const homes = new Map<string, string>();
const emend = async (cwd: string, ...args: readonly string[]) => {
  const home = homes.get(cwd) ?? mkdtempSync(join(tmpdir(), 'emend-home-'));
  homes.set(cwd, home);
  const io = fakeIo({ cwd, env: { EMEND_HOME: home, HOME: home } });
  const exit = await main(['plan', ...args], io);
  return { exit, ...io.printed };
};
const tree = (cwd: string): readonly string[] =>
  readdirSync(cwd, { recursive: true, encoding: 'utf8' })
    .filter((path) => !path.startsWith('.'))
    .sort();
const MANY = EVERYTHING;

describe('expand and collapse', () => {
  test('a phase and a stage, there and back: the same bytes and mode, no folder left', async () => {
    const cwd = folderWith({ '010_demo.md': EVERYTHING, 'other.md': 'x' });
    chmodSync(join(cwd, '010_demo.md'), 0o640);
    const one = await emend(cwd, 'expand', 'phase', '010_demo.md', '2');
    expect([one.exit, one.err]).toEqual([0, '']);
    expect(one.out.split('\n')).toEqual([
      'expanded Phase 2',
      '  delete  010_demo.md',
      '  create  010_demo/010_demo.md',
      '  create  010_demo/phase_2_core_logic_api.md',
      '',
    ]);
    // The old path still names the plan, and so does the phase's file.
    const two = await emend(cwd, 'expand', 'stage', '010_demo/phase_2_core_logic_api.md', '1');
    expect([two.exit, two.err]).toEqual([0, '']);
    expect(tree(cwd)).toEqual([
      '010_demo',
      '010_demo/010_demo.md',
      '010_demo/phase_2_core_logic_api',
      '010_demo/phase_2_core_logic_api/phase_2_overview.md',
      '010_demo/phase_2_core_logic_api/stage_1_tables.md',
      'other.md',
    ]);
    expect((await emend(cwd, 'collapse', 'phase', '010_demo.md', '2')).err).toContain(
      '010_demo/phase_2_core_logic_api/phase_2_overview.md:1: expected no expanded stages',
    );
    expect((await emend(cwd, 'collapse', 'stage', '010_demo.md', '2.1')).exit).toBe(0);
    expect((await emend(cwd, 'collapse', 'phase', '010_demo', '2')).exit).toBe(0);
    expect(tree(cwd)).toEqual(['010_demo.md', 'other.md']);
    expect(readFileSync(join(cwd, '010_demo.md'), 'utf8')).toBe(EVERYTHING);
  });

  test("a person's file in the plan's folder stays, and the folder with it", async () => {
    const cwd = folderWith({ '010_demo.md': EVERYTHING });
    await emend(cwd, 'expand', 'phase', '010_demo.md', '1');
    writeFileSync(join(cwd, '010_demo/notes.md'), 'mine');
    expect((await emend(cwd, 'collapse', 'phase', '010_demo', '1')).exit).toBe(0);
    expect(tree(cwd)).toEqual(['010_demo', '010_demo.md', '010_demo/notes.md']);
  });

  test('a file that is in the way: nothing is changed, exit code 5', async () => {
    const cwd = folderWith({ '010_demo.md': EVERYTHING, '010_demo/phase_1_foundation.md': 'mine' });
    const { exit, err } = await emend(cwd, 'expand', 'phase', '010_demo.md', '1');
    expect([exit, err]).toEqual([5, expect.stringContaining('010_demo/phase_1_foundation.md')]);
    expect(tree(cwd)).toEqual(['010_demo', '010_demo.md', '010_demo/phase_1_foundation.md']);
    expect(readFileSync(join(cwd, '010_demo.md'), 'utf8')).toBe(EVERYTHING);
  });

  test.each([
    [['expand', 'part', 'p.md', '1'], 'Allowed choices are phase, stage.'],
    [['expand', 'phase', 'p.md'], 'Give its number, or --auto'],
    [['expand', 'phase', 'p.md', '1.2'], 'expected the number of a phase'],
    [['expand', 'stage', 'p.md', '1'], 'expected PHASE.STAGE'],
    [['expand', 'phase', 'p.md', '7'], 'p.md:1: Phase 7'],
    [['collapse', 'phase', 'p.md', '1'], 'p.md:16: Phase 1 is not expanded'],
    [['expand', 'phase', 'gone.md', '1'], 'Plan gone.md'],
  ])('refused: %j', async (args, message) => {
    const cwd = folderWith({ 'p.md': EVERYTHING });
    const { exit, err } = await emend(cwd, ...args);
    expect([exit, err]).toEqual([2, expect.stringContaining(message)]);
    expect(tree(cwd)).toEqual(['p.md']);
  });
});

describe('--auto', () => {
  test('expands what is above a threshold and not completed; all in one go', async () => {
    const cwd = folderWith({
      '010_demo.md': EVERYTHING,
      'emend.yaml': 'plan: { expansion: 2, tasks: 2 }\n',
    });
    const { exit, out } = await emend(cwd, 'expand', 'phase', '010_demo.md', '--auto', '--json');
    const told = JSON.parse(out) as {
      parts: { phase: number; why: string }[];
      files: { path: string; change: string }[];
    };
    expect([exit, told.parts.map(({ phase }) => phase), told.files.length]).toEqual([0, [2, 3], 4]);
    expect(told.parts[0]?.why).toBe('score 19.4 is above 2, 4 tasks are more than 2');
    expect((await emend(cwd, 'expand', 'phase', '010_demo', '--auto')).out).toBe(
      'The rules select no phase to be expanded.\n',
    );
  });

  test('stages: more than three in an expanded phase', async () => {
    const cwd = folderWith({
      '010_demo.md': MANY.replace(
        '### Phase 3: Testing',
        '#### Stage 4: More\n- [ ] m\n### Phase 3: Testing',
      ),
    });
    expect((await emend(cwd, 'expand', 'stage', '010_demo.md', '--auto')).out).toContain(
      'no stage',
    );
    await emend(cwd, 'expand', 'phase', '010_demo.md', '2');
    const { out } = await emend(cwd, 'expand', 'stage', '010_demo.md', '--auto');
    expect(out.match(/^expanded Stage \d of Phase 2: 4 stages are more than 3$/gm)).toHaveLength(4);
    expect(existsSync(join(cwd, '010_demo/phase_2_core_logic_api/stage_4_more.md'))).toBe(true);
  });

  test('collapses what is completed and small', async () => {
    const cwd = folderWith({ '010_demo.md': EVERYTHING });
    await emend(cwd, 'expand', 'phase', '010_demo.md', '1');
    await emend(cwd, 'expand', 'phase', '010_demo.md', '3');
    expect((await emend(cwd, 'collapse', 'phase', '010_demo.md', '3', '--auto')).out).toContain(
      'no phase to be collapsed',
    );
    expect((await emend(cwd, 'collapse', 'phase', '010_demo.md', '--auto')).out).toContain(
      'collapsed Phase 1: completed',
    );
    expect(readdirSync(join(cwd, '010_demo')).sort()).toEqual([
      '010_demo.md',
      'phase_3_testing.md',
    ]);
    expect(statSync(join(cwd, '010_demo')).isDirectory()).toBe(true);
  });
});
