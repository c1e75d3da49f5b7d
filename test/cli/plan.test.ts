/** `emend plan` on real files: no server, no model, no home. */
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { main } from '../../src/cli/main.js';
import { EVERYTHING } from '../documents/plan/support.js';
import { fakeIo } from './io.js';

const folderWith = (files: Readonly<Record<string, string | Uint8Array>>): string => {
  const cwd = mkdtempSync(join(tmpdir(), 'emend-plan-'));
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(cwd, path)), { recursive: true });
    writeFileSync(join(cwd, path), content);
  }
  return cwd;
};
const emend = async (cwd: string, ...args: readonly string[]) => {
  const io = fakeIo({ cwd, env: { EMEND_HOME: join(cwd, 'no-home') } });
  const exit = await main(['plan', ...args], io);
  return { exit, ...io.printed };
};
const TWO = '### Phase 1: A\n**See**: [x](phase_1_a.md)\n';
const PHASE = TWO.replace(': A', ': A [EXPANDED]');
const STAGE = '# Phase 1: A\n## Stage 1: S [EXPANDED]\n**See**: [s](stage_1_s.md)\n';
const CIRCLE =
  '### Phase 1: A\n#### Stage 1: S\n**Dependencies**: [2]\n#### Stage 2: T\n**Dependencies**: [1]\n';

describe('emend plan check', () => {
  test('structure, waves, scores and notes', async () => {
    const cwd = folderWith({ '010_demo.md': EVERYTHING });
    const { exit, out, err } = await emend(cwd, 'check', '010_demo.md');
    expect([exit, err]).toEqual([0, '']);
    expect(out.split('\n')).toEqual([
      '010 Feature Implementation Plan (level 0, 3 phases, 0 expanded)',
      '  Phase 1: Foundation [COMPLETED]         2/4 tasks  1 (Low)',
      '  Phase 2: Core Logic (API) [INCOMPLETE]  0/4 tasks  19.4 (High)  score 19.4 is above 8',
      '  Phase 3: Testing                        0/1 task   2.4 (Low)',
      'Waves',
      '  1: 1',
      '  2: 2, 3',
      'Tests',
      '  - (none found, none configured)',
      'Notes',
      '  010_demo.md:53: Phase 3 has no **Objective**',
      '',
    ]);
    expect(readdirSync(cwd)).toEqual(['010_demo.md']);
  });

  test('test commands, each with its source; a configured one wins', async () => {
    const files = {
      '010_demo.md':
        '### Phase 1: A\n- [ ] Run `npm test -- auth`\n- [ ] Run `pytest x.py`\n### Phase 2: B\n- [ ] b\n',
      'AGENTS.md': '## Testing Protocols\n- `make check`\n',
    };
    const { out } = await emend(folderWith(files), 'check', '010_demo.md');
    expect(out).toContain(
      'Tests\n  npm test -- auth && pytest x.py (tasks of Phase 1)\n  make check (AGENTS.md, Testing Protocols)\n',
    );
    const cwd = folderWith({ ...files, 'emend.yaml': 'test: [a, b]\n' });
    expect((await emend(cwd, 'check', '010_demo.md')).out).toContain(
      'Tests\n  a && b (emend.yaml)\n',
    );
    const json = await emend(folderWith(files), 'check', '010_demo.md', '--json');
    expect(JSON.parse(json.out)).toMatchObject({
      tests: [
        { phase: 1, commands: ['npm test -- auth', 'pytest x.py'], source: 'tasks of Phase 1' },
        { phase: null, commands: ['make check'], source: 'AGENTS.md, Testing Protocols' },
      ],
    });
  });

  test('--json', async () => {
    const { exit, out } = await emend(
      folderWith({ '010_demo.md': EVERYTHING }),
      'check',
      '010_demo',
      '--json',
    );
    const report = JSON.parse(out) as {
      number: string;
      level: number;
      phases: { score: { score: number } }[];
    };
    expect([
      exit,
      report.number,
      report.level,
      report.phases.map(({ score }) => score.score),
    ]).toEqual([0, '010', 0, [1, 19.4, 2.4]]);
  });

  test.each([
    [
      'no phases',
      { 'p.md': '# A\n' },
      'p.md:1: expected a heading `### Phase N: Name`, found none',
    ],
    ['an empty file', { 'p.md': '' }, 'p.md:1: expected a heading'],
    [
      '5 MB',
      { 'p.md': '### Phase 1: A\n'.repeat(350_000) },
      'p.md:1: expected at most 1048576 bytes, but p.md has 5250000; split the plan',
    ],
    [
      'not UTF-8',
      { 'p.md': Uint8Array.of(0x23, 0xff, 0xfe) },
      'p.md:1: expected UTF-8, but p.md has another encoding',
    ],
    [
      'a NUL',
      { 'p.md': '### Phase 1: A\0\n' },
      'p.md:1: expected text, but p.md contains a NUL character',
    ],
    [
      'no **See**',
      { 'p/p.md': '### Phase 1: A [EXPANDED]\n' },
      'p/p.md:1: expected `**See**: [file](file)` under a heading that is [EXPANDED], received none',
    ],
    [
      'a missing phase file',
      { 'p/p.md': PHASE },
      'p/p.md:2: expected a file p/phase_1_a.md, but it does not exist',
    ],
    [
      'a link out of the folder',
      { 'p/p.md': PHASE.replace('(p', '(../p') },
      `p/p.md:2: **See**: expected a file in the plan's folder p/, received "../phase_1_a.md"`,
    ],
    [
      'a link to a site',
      { 'p/p.md': PHASE.replace('(p', '(http://p') },
      "p/p.md:2: **See**: expected a file in the plan's folder p/",
    ],
    [
      'another phase’s file',
      { 'p/p.md': PHASE, 'p/phase_1_a.md': '# Phase 2: A\n' },
      'p/phase_1_a.md:1: expected the title `# Phase 1: A`, received "# Phase 2: A"',
    ],
    [
      'a stage’s link out of the folder',
      { 'p/p.md': PHASE, 'p/phase_1_a.md': STAGE.replace('(s', '(../s') },
      `p/phase_1_a.md:3: **See**: expected a file in the plan's folder p/, received "../stage_1_s.md"`,
    ],
    [
      'another stage’s file',
      { 'p/p.md': PHASE, 'p/phase_1_a.md': STAGE, 'p/stage_1_s.md': '# Stage 2: T\n' },
      'p/stage_1_s.md:1: expected the title `# Stage 1: S`, received "# Stage 2: T"',
    ],
    [
      'a stage that leads to itself',
      {
        'p/p.md': PHASE,
        'p/phase_1_a.md': STAGE,
        'p/stage_1_s.md': '# Stage 1: S\n## Stage 1: S [EXPANDED]\n**See**: [s](stage_1_s.md)\n',
      },
      'p/stage_1_s.md:3: **See**: expected a separate file, but p/stage_1_s.md already belongs to another part',
    ],
    [
      'a phase that leads to the plan',
      { 'p/p.md': PHASE.replace('phase_1_a', 'p') },
      'p/p.md:2: **See**: expected a separate file, but p/p.md already belongs to another part',
    ],
    [
      'two phases with one file',
      { 'p/p.md': PHASE + PHASE.replace('1: A', '2: B'), 'p/phase_1_a.md': '# Phase 1: A\n' },
      'p/p.md:4: **See**: expected a separate file, but p/phase_1_a.md already belongs to another part',
    ],
    ['stages that wait for each other', { 'p.md': CIRCLE }, /p\.md:3: .*[^]*p\.md:5: /],
    [
      'a stage that waits for one that is not there',
      { 'p.md': '### Phase 1: A\n#### Stage 1: S\n**Dependencies**: [4]\n' },
      'p.md:3: **Dependencies**: ',
    ],
    [
      'one number twice',
      { 'p.md': '### Phase 1: A\n### Phase 1: B\n' },
      'p.md:2: expected each number once, but line 1 is already Phase 1',
    ],
    [
      'a phase that waits for itself, in a file of its own',
      {
        'p/p.md': PHASE,
        'p/phase_1_a.md': '# Phase 1: A\n<!-- emend:body -->\n**Dependencies**: [1]\n',
      },
      'p/phase_1_a.md:3: **Dependencies**: ',
    ],
    [
      'two plans',
      { 'p.md': '### Phase 1: A\n', 'p/p.md': '### Phase 1: A\n' },
      'expected one of them',
    ],
    [
      'bad config',
      { 'p.md': '### Phase 1: A\n', 'emend.yaml': 'plan: {expansion: many}\n' },
      'emend.yaml:1: plan.expansion: expected a score from 0 to 1000, received "many"',
    ],
  ] as readonly (readonly [
    string,
    Readonly<Record<string, string | Uint8Array>>,
    string | RegExp,
  ])[])('refused: %s', async (_, files, message) => {
    const { exit, err } = await emend(folderWith(files), 'check', 'p.md');
    if (typeof message === 'string') expect(err).toContain(message);
    else expect(err).toMatch(message);
    expect(exit).toBe(2);
  });

  test('a missing plan', async () => {
    const { exit, err } = await emend(folderWith({}), 'check', 'p.md');
    expect(exit).toBe(2);
    expect(err).toContain('Plan p.md');
  });

  test.each(['../../secret.md', 'other.md'])('a phase file that is a link to %s', async (to) => {
    const text = '# Phase 1: A\n';
    const cwd = folderWith({ 'in/p/p.md': PHASE, 'in/p/other.md': text, 'secret.md': text });
    symlinkSync(to, join(cwd, 'in/p/phase_1_a.md'));
    const { exit, err } = await emend(cwd, 'check', 'in/p');
    expect([exit, err]).toEqual([2, expect.stringContaining('p/phase_1_a.md is a link')]);
  });
  test('a plan that is a link: its marks could not be written', async () => {
    const cwd = folderWith({ 'plans/one.md': '### Phase 1: A\n- [ ] x\n' });
    symlinkSync('one.md', join(cwd, 'plans/010_a.md'));
    const { exit, err } = await emend(cwd, 'check', 'plans/010_a.md');
    expect([exit, err]).toEqual([2, expect.stringContaining('010_a.md is a link')]);
  });

  test('dependencies: each phase’s line, all at once, in JSON too', async () => {
    const cwd = folderWith({
      'p.md': '### Phase 1: A\n**Dependencies**: [2]\n### Phase 2: B\n**Dependencies**: [1]\n',
    });
    const { exit, out } = await emend(cwd, 'check', 'p.md', '--json');
    const { error } = JSON.parse(out) as {
      error: { problems: { code: string; message: string }[] };
    };
    expect(exit).toBe(2);
    expect(error.problems.map(({ code, message }) => [code, message.slice(0, 7)])).toEqual([
      ['plan_invalid', 'p.md:2:'],
      ['plan_invalid', 'p.md:4:'],
    ]);
  });
});

describe('emend plan score', () => {
  test('every addend, and where the thresholds come from', async () => {
    const cwd = folderWith({
      'plans/010_demo.md': EVERYTHING,
      'emend.yaml': 'plan:\n  tasks: 3\n',
      'plans/AGENTS.md': '# Adaptive Planning Configuration\nExpansion Threshold: 20.0\n',
      '.git/HEAD': 'ref: refs/heads/main\n',
    });
    const { exit, out } = await emend(join(cwd, 'plans'), 'score', '010_demo.md');
    expect(exit).toBe(0);
    expect(out).toContain('expansion 20 (');
    expect(out).toContain('AGENTS.md)');
    expect(out).toMatch(
      / {2}\+ 12 +database x2, schema x2, 3 each\n {2}\+ 6 +API x2, 3 each\n {2}\+ 0\.8 +4 tasks \/ 5\n/,
    );
    expect(out).toMatch(/extensive tests: "extensive tests"/);
  });
});

describe('emend plan show', () => {
  const FILES = {
    '025_f/025_f.md':
      '# F\n\n### Phase 1: A\n- [ ] t\n### Phase 2: Core Logic [EXPANDED]\n**See**: [phase_2_overview.md](phase_2_core_logic/phase_2_overview.md)\n',
    '025_f/phase_2_core_logic/phase_2_overview.md':
      '# Phase 2: Core Logic Implementation\n\n**Part of**: [025_f.md](../025_f.md)\n**Structure**: 2 stages\n\n## Overview\n\nX.\n\n## Stages\n\n### Stage 1: Database [EXPANDED]\n**See**: [stage_1_database.md](stage_1_database.md)\n\n### Stage 2: API\n- [ ] u\n',
    '025_f/phase_2_core_logic/stage_1_database.md': '# Stage 1: Database\n\n- [ ] v\n- [x] w\n',
  };

  test.each(['025_f', '025_f/', '025_f/025_f.md', '025_f.md', '025_f/phase_2_core_logic'])(
    'level 2, by %s',
    async (typed) => {
      const { exit, out, err } = await emend(folderWith(FILES), 'show', typed);
      expect([exit, err]).toEqual([0, '']);
      expect(out.split('\n')).toEqual([
        '025 F (level 2, 2 phases, 1 expanded)',
        '  Phase 1: A                      0/1 task   025_f/025_f.md:3',
        '  Phase 2: Core Logic [EXPANDED]  1/3 tasks  025_f/phase_2_core_logic/phase_2_overview.md',
        '    Stage 1: Database [EXPANDED]             025_f/phase_2_core_logic/stage_1_database.md',
        '    Stage 2: API                             025_f/phase_2_core_logic/phase_2_overview.md:15',
        '',
      ]);
    },
  );

  test('--json answers the queries', async () => {
    const { out } = await emend(folderWith(FILES), 'show', '025_f', '--json');
    const report = JSON.parse(out) as {
      expanded: boolean;
      expandedPhases: number[];
      phases: {
        expanded: boolean;
        file: string;
        expandedStages: number[];
        tasks: unknown[];
        stages: { file: string }[];
      }[];
    };
    expect([report.expanded, report.expandedPhases]).toEqual([true, [2]]);
    expect(
      report.phases.map(({ expanded, file, expandedStages, tasks }) => [
        expanded,
        file,
        expandedStages,
        tasks.length,
      ]),
    ).toEqual([
      [false, '025_f/025_f.md', [], 1],
      [true, '025_f/phase_2_core_logic/phase_2_overview.md', [1], 3],
    ]);
  });

  test('a plan file is read by its bytes: nothing is written', async () => {
    const cwd = folderWith(FILES);
    for (const command of ['check', 'score', 'show'])
      expect((await emend(cwd, command, '025_f')).exit).toBe(0);
    for (const [path, text] of Object.entries(FILES))
      expect(readFileSync(join(cwd, path), 'utf8')).toBe(text);
    expect(readdirSync(cwd)).toEqual(['025_f']);
  });
});
