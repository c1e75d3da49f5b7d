import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { readMarkdown } from '../../../src/documents/plan/markdown.js';
import { parsePlan } from '../../../src/documents/plan/parse-plan.js';
import { splice } from '../../../src/documents/plan/text-spans.js';
import { addMarker, partHeading, removeMarker } from '../../../src/documents/plan/headings.js';
import { fuzz } from '../../support/fuzz.js';
import { EVERYTHING } from './support.js';

const plan = parsePlan(EVERYTHING, 'p.md');
const [first, second, third] = plan.phases;

describe('every construct', () => {
  test('phases with names, markers, lines; code and comments are text', () => {
    expect(
      plan.phases.map(({ heading: { number, name, markers, line } }) => [
        number,
        name,
        markers,
        line,
      ]),
    ).toEqual([
      [1, 'Foundation', ['COMPLETED'], 16],
      [2, 'Core Logic (API)', ['INCOMPLETE'], 33],
      [3, 'Testing', [], 53],
    ]);
    expect(plan.faults).toEqual([]);
    expect(plan.title).toBe('Feature Implementation Plan');
  });

  const SANDBOX = {
    network: true,
    read: [],
    write: ['/data'],
    memory_mib: null,
    disk_mib: null,
    processes: null,
  };
  test.each([
    ['---\nrepair: false\n---\n', { repair: false }],
    ['---\nrequireCompleteSentinel: false\n---\n', { requireCompleteSentinel: false }],
    ['---\naudit: false\n---\n', { audit: false }],
    ['---\naudit: m\n---\n', { audit: { model: 'm', when: 'after_tests' } }],
    ['---\nsecrets: send # all of it\nauthor: me\n---\n', { secrets: 'send' }],
    ['\uFEFF---\r\nsecrets: "ask"\r\nsandbox: off\r\n---\r\n', { secrets: 'ask', sandbox: 'off' }],
    ['---\nsandbox:\n  network: true\n  write: [/data]\n...\n', { sandbox: SANDBOX }],
    ['---\n---\n', {}],
    ['secrets: send\n\n', {}],
  ])('%j before the title sets %j', (front, settings) => {
    const read = parsePlan(`${front}${EVERYTHING}`, 'p.md');
    expect(read.settings).toEqual(settings);
    expect(read.faults).toEqual([]);
  });

  test.each([
    ['a: 1\nsecrets: hide', 3, 'secrets: expected one of mask, ask, send, received "hide"'],
    ['sandbox: { netwrk: true }', 2, 'sandbox.netwrk: unknown key; did you mean `network`?'],
    ['repair: no', 2, 'repair: expected true or false, received "no"'],
    ['a: 1\nsandbox: [', 3, 'bad YAML: '],
  ])('%j in the front matter is a fault', (front, line, message) => {
    const read = parsePlan(`---\n${front}\n---\n${EVERYTHING}`, 'p.md');
    expect(read.faults).toEqual([
      { file: 'p.md', line, message: expect.stringContaining(message) },
    ]);
    expect(read.settings).toEqual({});
  });

  test.each([
    ['\n---\nsecrets: ask\n---\n', 2, 'expected front matter to start on line 1'],
    ['---\nsecrets: ask\n\n', 1, 'is never closed'],
    ['---\rsecrets: hide\r---\r', 2, 'secrets: expected one of mask, ask, send, received "hide"'],
  ])('%j is front matter that cannot be read: a fault', (front, line, message) => {
    expect(parsePlan(`${front}# P\n\n### Phase 1: A\n`, 'p.md').faults).toEqual([
      { file: 'p.md', line, message: expect.stringContaining(message) },
    ]);
  });

  test('a key of the front matter that looks like a setting, and is none of a plan, is a note', () => {
    const front =
      '---\nsandbx: off\nauthor: me\ntest: npm test\nexpanded_phases: 0\nsecrets: ask\n---\n';
    const read = parsePlan(front + EVERYTHING, 'p.md');
    expect(read.settings).toEqual({ secrets: 'ask' });
    expect(read.faults).toEqual([]);
    expect(read.notes.filter(({ line }) => line < 8)).toEqual([
      {
        file: 'p.md',
        line: 2,
        message: '`sandbx` in the front matter is ignored; did you mean `sandbox`?',
      },
      {
        file: 'p.md',
        line: 4,
        message: '`test` in the front matter is ignored; for a plan it belongs in emend.yaml',
      },
    ]);
  });

  test('what people write of a document is no setting, however near one its name is', () => {
    const keys = [
      'created',
      'updated',
      'author',
      'date',
      'title',
      'status',
      'version',
      'tags',
      'id',
      'owner',
      'priority',
    ];
    const more = [
      'plan',
      'comment',
      'contact',
      'approved',
      'approver',
      'reviewers',
      'last_updated',
      'due',
      'related',
    ];
    const front = `---\n${[...keys, ...more].map((key) => `${key}: x\n`).join('')}---\n`;
    expect(
      parsePlan(front + EVERYTHING, 'p.md').notes.filter(({ message }) =>
        message.includes('front matter'),
      ),
    ).toEqual([]);
  });

  test('a setting of a project or a job is told where it belongs', () => {
    const front =
      '---\nbudget_usd: 5\nhooks: false\ntarget_files: [a.js]\ncreat: false\nbudgt_usd: 5\n---\n';
    const notes = parsePlan(front + EVERYTHING, 'p.md')
      .notes.slice(0, 5)
      .map(({ message }) => message);
    expect(notes).toEqual([
      '`budget_usd` in the front matter is ignored; for a plan it belongs in emend.yaml',
      '`hooks` in the front matter is ignored; for a plan it belongs in emend.yaml',
      '`target_files` in the front matter is ignored; only jobs have it',
      '`creat` in the front matter is ignored; did you mean `create`?',
      '`budgt_usd` in the front matter is ignored; did you mean `budget_usd`? for a plan it belongs in emend.yaml',
    ]);
  });

  test.each([
    [
      '**Dependancies**: [1]',
      '**Dependancies** is treated as text; did you mean **Dependencies**?',
    ],
    [
      '- **Dependecies:** [1]',
      '**Dependecies** is treated as text; did you mean **Dependencies**?',
    ],
    ['**Depends on**: 1', '**Depends on** is treated as text; did you mean **Dependencies**?'],
    ['Dependencies: [1]', 'expected `**Dependencies**: [1, 3]`, treated as text'],
    ['*Dependencies*: Phase 1', 'expected `**Dependencies**: [1, 3]`, treated as text'],
    ['**Objectve**: x', '**Objectve** is treated as text; did you mean **Objective**?'],
    ['- [] x', 'expected a task as `- [ ] …` or `- [x] …`, treated as text'],
    ['-[ ] x', 'expected a task as `- [ ] …` or `- [x] …`, treated as text'],
    ['- [x ] x', 'expected a task as `- [ ] …` or `- [x] …`, treated as text'],
    ['  * [ ]x', 'expected a task as `- [ ] …` or `- [x] …`, treated as text'],
    ['1. [] x', 'expected a task as `- [ ] …` or `- [x] …`, treated as text'],
  ])('what reads like a field or a task to a person and is text is a note: %s', (line, message) => {
    const own = `### Phase 2: Two\n**Objective**: two\n\n${line}\n`;
    const nested = `### Phase 2: Two\n#### Stage 1: S\n\n${line}\n`;
    for (const [text, at] of [
      [own, 8],
      [nested, 8],
    ] as const) {
      const read = parsePlan(`### Phase 1: One\n\n- [ ] y\n\n${text}`, 'p.md');
      expect([read.faults, read.notes]).toEqual([[], [{ file: 'p.md', line: at, message }]]);
    }
  });

  test.each(['completed', 'Completed', 'complete', 'done', 'COMPLETE', 'skiped', ' COMPLETED '])(
    'a marker in other letters is a note: [%s]',
    (word) => {
      const { notes, phases } = parsePlan(`### Phase 1: One [${word}]\n`, 'p.md');
      const message = `[${word.trim()}] is not a marker; treated as part of the name`;
      expect([notes, phases[0]!.heading.markers]).toEqual([
        [{ file: 'p.md', line: 1, message }],
        [],
      ]);
    },
  );

  test('what is no field and no task is not noted', () => {
    const text = [
      ...[
        '**Status**: open',
        '**Tasks**: 3 tasks',
        '**Summary**: x',
        '**See**: y',
        '**Owner**: me',
        '**Date**: 2026-01-02',
        '**Objects**: three',
        '**Estimated Cost**: 3',
        '**Dependents**: 4',
      ],
      ...[
        '- [notes](a.md)',
        '- [x](a.md)',
        '- [x]: a.md',
        '- [1] cited',
        '- [ ] task',
        '* [X] done',
        '> - [] quoted',
      ],
      ...[
        '- it depends: on much',
        'This depends on: Postgres',
        'dependency_count: 3',
        'Dependents: 4',
        '',
        '```',
        '- [] code',
        'Dependencies: [1]',
        '```',
        '<!--',
        '- [] x',
        '-->',
        '',
        '    - [] code',
      ],
    ].join('\n');
    for (const word of ['optional', 'gone', 'Zone', 'Extended'])
      expect(parsePlan(`### Phase 1: One [${word}]\n\n${text}\n`, 'p.md').notes).toEqual([]);
  });

  test('of a plan without phases the headings that look like one are named', () => {
    const message = (text: string) =>
      `expected a heading \`### Phase N: Name\`, received ${JSON.stringify(text)}, treated as text`;
    expect(
      parsePlan('# P\n\n### Phase1: A\n\n### Phase 2 - B\n\n### phase 3: C\n', 'p.md').faults,
    ).toEqual([
      { file: 'p.md', line: 3, message: message('Phase1: A') },
      { file: 'p.md', line: 5, message: message('Phase 2 - B') },
      { file: 'p.md', line: 7, message: message('phase 3: C') },
      { file: 'p.md', line: 1, message: 'expected a heading `### Phase N: Name`, found none' },
    ]);
    expect(
      parsePlan('# P\n\n```\n### Phase 1: A\n', 'p.md').faults.map(({ line }) => line),
    ).toEqual([3, 1]);
  });

  test('objective over lines, dependencies, time, prerequisites', () => {
    expect(first?.objective).toBe('Lay the ground for everything.');
    expect(plan.phases.map(({ dependencies }) => dependencies?.on)).toEqual([[], [1], [1]]);
    expect(first?.estimatedTime).toBe('2 hours');
    expect(second?.complexity).toBe('High');
    expect(second?.prerequisites).toEqual(['Phase 1 complete', 'A test database']);
  });

  test('tasks of any bullet, nested; the mark is where it says', () => {
    expect(first?.tasks.map(({ text, done, depth }) => [text, done, depth])).toEqual([
      ['Task 1 in `src/a.ts`', true, 0],
      ['Task 2', true, 0],
      ['a nested one', false, 1],
      ['deeper', false, 2],
    ]);
    for (const { mark, done } of plan.phases.flatMap(({ tasks }) => tasks))
      expect(EVERYTHING.slice(mark - 1, mark + 2)).toMatch(done ? /^\[[xX]\]$/ : /^\[ \]$/);
  });

  test('stages with their own dependencies, which are not the phase’s', () => {
    expect(
      second?.stages.map(({ heading, dependencies, tasks }) => [
        heading.name,
        dependencies?.on,
        tasks.length,
      ]),
    ).toEqual([
      ['Tables', undefined, 1],
      ['Endpoints', [], 2],
      ['Tests', [1, 2], 1],
    ]);
    expect(third?.stages).toEqual([]);
  });

  test('metadata, counter, progress and revision sections', () => {
    expect(plan.metadata.map(({ name, value }) => [name, value])).toEqual([
      ['Date', '2026-01-02'],
      ['Expanded Phases', '0'],
      ['Estimated Time', '6-8 hours'],
    ]);
    expect(plan.counter).toMatchObject({ value: 0, line: 5 });
    expect(EVERYTHING.slice(plan.progress?.from, plan.progress?.to)).toMatch(
      /^## Implementation Progress\n[^#]*$/,
    );
    expect(EVERYTHING.slice(plan.revisions?.from, plan.revisions?.to)).toBe(
      '## Revision History\n\nNone.\n',
    );
  });

  test.each(['\r\n', '\r'])('the same with line ends %j', (eol) => {
    const other = parsePlan(EVERYTHING.replaceAll('\n', eol), 'p.md');
    const told = ({ phases }: typeof plan) =>
      phases.map(({ heading: { name, line, markers }, objective, tasks, stages }) => ({
        name,
        line,
        markers,
        objective,
        tasks: tasks.map(({ text, line: at }) => [text, at]),
        stages: stages.length,
      }));
    expect(told(other)).toEqual(told(plan));
  });

  test('a byte order mark and front matter move nothing', () => {
    const front = '\uFEFF---\ntitle: x\nexpanded_phases: 3\n### Phase 7: in YAML\n---\n';
    const other = parsePlan(front + EVERYTHING, 'p.md');
    expect(other.phases.map(({ heading }) => heading.line)).toEqual([21, 38, 58]);
    expect(other.counter).toMatchObject({ value: 3, line: 3 });
    const { words } = other.phases[0]!.heading;
    expect(other.source.slice(words.from, words.to)).toBe('Phase 1: Foundation [COMPLETED]');
  });
});

describe('headings', () => {
  test.each([
    ['### Phase 4: A [EXPANDED] [COMPLETED] ###\n', 'A', ['EXPANDED', 'COMPLETED']],
    ['## Phase 4 : A: b\n', 'A: b', []],
    ['Phase 4: A\n---\n', 'A', []],
    ['### Phase 4: A [x](y) [SKIPPED]', 'A [x](y)', ['SKIPPED']],
  ])('%j', (source, name, markers) => {
    expect(
      parsePlan(source, 'p.md').phases.map(({ heading }) => [heading.name, heading.markers]),
    ).toEqual([[name, markers]]);
  });

  test.each([
    '### Phase 4',
    '### Phase four: A',
    '- ### Phase 4: A',
    '> ### Phase 4: A',
    '    ### Phase 4: A',
    '### Phase 4: [COMPLETED]',
  ])('no phase: %s', (source) => {
    expect(parsePlan(source, 'p.md').faults.at(-1)).toEqual({
      file: 'p.md',
      line: 1,
      message: 'expected a heading `### Phase N: Name`, found none',
    });
  });

  test.each([
    '### Phase 4: A',
    '### Phase 4: A ##\r\n',
    'Phase 4: A\n===',
    'Phase 4: A\r\n===\r\n',
    'Phase 4: A\r===\r',
    '### Phase 4: A [SKIPPED]',
  ])('a marker is added and taken away again: %j', (source) => {
    const heading = parsePlan(source, 'p.md').phases[0]!.heading;
    const marked = splice(source, addMarker(heading, 'EXPANDED'));
    const again = parsePlan(marked, 'p.md').phases[0]!.heading;
    expect(again.markers).toEqual([...heading.markers, 'EXPANDED']);
    expect(again.name).toBe('A');
    expect(splice(marked, removeMarker(again, 'EXPANDED'))).toBe(source);
  });

  test.each(['\n', '\r\n', ' \n ', '\r'])(
    'an underlined heading over two lines has one name: %j',
    (eol) => {
      const source = `Phase 4: A${eol}and B [SKIPPED]${eol}===${eol}`;
      expect(parsePlan(source, 'p.md').phases[0]!.heading).toMatchObject({
        name: 'A and B',
        markers: ['SKIPPED'],
      });
    },
  );
});

describe('what is wrong is told with its line, all at once', () => {
  test('levels, dependencies, doubled lines, doubled stages', () => {
    const source = [
      '### Phase 1: A',
      '**Dependencies**: soon',
      '#### Phase 2: B',
      '### Phase 3: C',
      '**Dependencies**: [1]',
      '',
      '**Dependencies**: [1]',
      '#### Stage 1: a',
      '#### Stage 1: b',
      '### Phase 4 without its colon',
      '### Phase 5: E [COMPLETE]',
      '```',
    ].join('\n');
    const { faults, notes } = parsePlan(source, 'p.md');
    expect(faults.map(({ line, message }) => `${line}: ${message}`).sort()).toEqual([
      '2: **Dependencies**: expected numbers like `[1, 3]`, or `[]` for none, received "soon"',
      "3: expected ###, the level of this plan's first phase, received #### before Phase 2",
      '7: expected one **Dependencies** line, but line 5 is already one',
      '9: expected each stage number once in a phase, but line 8 is already Stage 1',
    ]);
    expect(notes.map(({ line }) => line)).toEqual([12, 10, 11]);
  });
});

describe('parse, change nothing: the same bytes', () => {
  const readmes = readdirSync('node_modules', { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .flatMap((entry) =>
      entry.name.startsWith('@')
        ? readdirSync(join('node_modules', entry.name)).map((name) =>
            join('node_modules', entry.name, name, 'README.md'),
          )
        : [join('node_modules', entry.name, 'README.md')],
    )
    .filter((path) => (statSync(path, { throwIfNoEntry: false })?.size ?? 0) > 2_000)
    .slice(0, 40);

  test('READMEs of installed packages', () => {
    expect(readmes.length).toBeGreaterThanOrEqual(20);
    for (const path of readmes) {
      const source = readFileSync(path, 'utf8');
      const read = parsePlan(source, path);
      expect(splice(read.source, [])).toBe(source);
      const { headings, links } = readMarkdown(source);
      // Offsets are true: every heading's words and every link's target stand where they say.
      for (const { words, text } of headings) expect(source.slice(words.from, words.to)).toBe(text);
      for (const { from, to, target } of links) expect(source.slice(from, to)).toBe(target);
      // Made a phase of a plan, the document is its body, byte for byte, up to the first heading that ends it.
      const phase = parsePlan(`###### Phase 1: X\n${source.replace(/^#+/gm, '')}`, path).phases[0];
      expect(phase?.heading.name).toBe('X');
    }
  });

  test('any text is read without an error, and markers of its phases come and go', () => {
    const piece = fc.oneof(
      fc.constantFrom(
        '### Phase 1: A\n',
        '### Phase 2: B [EXPANDED]\r\n',
        '```\n',
        '- [ ] t\n',
        '**Dependencies**: [1]\n',
        '<!--',
        '-->\n',
        '---\n',
        '\t',
        '> ',
        '1. ',
        '[a](b)',
        '\r',
      ),
      fc.string({ unit: 'binary', maxLength: 8 }),
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 30 }), (pieces) => {
        const source = pieces.join('');
        const read = parsePlan(source, 'p.md');
        for (const { heading, body } of read.phases) {
          expect(partHeading(heading)).not.toBeNull();
          expect(body.from).toBeLessThanOrEqual(body.to);
          if (heading.markers.includes('SKIPPED')) continue;
          const marked = splice(source, addMarker(heading, 'SKIPPED'));
          const again = parsePlan(marked, 'p.md').phases.find(
            ({ heading: { from } }) => from === heading.from,
          );
          expect(splice(marked, removeMarker(again!.heading, 'SKIPPED'))).toBe(source);
        }
      }),
      fuzz('plans', 300),
    );
  });
});
