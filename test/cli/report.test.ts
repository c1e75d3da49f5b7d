/** Reports and statistics from archives, without a run: what is told, and that nothing in it is markup. */
import { describe, expect, test } from '@jest/globals';
import { reportDocument } from '../../src/cli/report/document.js';
import { renderHtml, renderMarkdown } from '../../src/cli/commands/report.js';
import { archivedRun } from '../../src/client/archive/run.js';
import { phaseCosts } from '../../src/client/archive/phase-costs.js';
import { reportFacts } from '../../src/client/archive/report.js';
import { runStats } from '../../src/client/archive/statistics.js';
import type { EventBody } from '../../src/shared/events.js';
import { NO_USAGE } from '../../src/shared/usage.js';
import type { ArchiveEntry } from '../../src/stores/ports.js';

const EVIL = '<script>alert(1)</script>';
const at = (second: number): string => new Date(Date.UTC(2026, 0, 2, 3, 4, second)).toISOString();
let ids = 0;
const entry = (kind: ArchiveEntry['kind'], second: number, data: unknown): ArchiveEntry => ({
  id: `e${(ids += 1)}`,
  at: at(second),
  kind,
  data,
});
const event = (seq: number, second: number, body: EventBody): ArchiveEntry =>
  entry('event', second, { ...body, seq, at: Date.parse(at(second)) });
const usage = (output_tokens: number) => ({
  ...NO_USAGE,
  calls: 1,
  output_tokens,
  usd: output_tokens / 1000,
  seconds: 2,
});
const ENTRIES: readonly ArchiveEntry[] = [
  entry('started', 0, {
    workflowId: 'emend-x',
    runId: 'r',
    namespace: 'default',
    address: 'a',
    queues: { workflow: 'q', model: 'm', host: 'h' },
    workspace: '/w',
    jobPath: 'job.md',
    title: `Greet ${EVIL}`,
  }),
  event(1, 1, {
    type: 'format_chosen',
    bucket: 'A',
    file_path: `a|${EVIL}.js`,
    line_count: 3,
    format: 'whole-file',
  }),
  entry('activity', 2, {
    name: 'proposeEdit',
    attempt: 1,
    file: 'a.js',
    result: { outcome: 'refused', usage: usage(100) },
  }),
  event(2, 2, {
    type: 'answer_refused',
    file: 'a.js',
    outcome: 'refused',
    attempt: 1,
    message: EVIL,
  }),
  entry('activity', 3, {
    name: 'proposeEdit',
    attempt: 1,
    file: 'a.js',
    result: { outcome: 'edited', usage: usage(300) },
  }),
  entry('activity', 3, {
    name: 'pickFiles',
    attempt: 1,
    result: { outcome: 'picked', usage: usage(50) },
  }),
  event(3, 4, {
    type: 'edit_step_paused',
    reason: 'approval',
    progress: { done: 1, failed: 0, skipped: 0, total: 1 },
    decision: '1-abc',
  }),
  entry('decision', 9, {
    request: { decision: '1-abc', answer: 'revise', note: `why ${EVIL}`, files: ['a.js'] },
    result: {},
  }),
  event(4, 10, {
    type: 'decided',
    decision: '1-abc',
    answer: 'revise',
    files: 1,
    skipped: [],
    by: 'ann (cli)',
  }),
  entry('activity', 11, {
    name: 'runTests',
    attempt: 1,
    result: {
      on: 'applied',
      outcome: 'fail_soft',
      seconds: 1.5,
      summary: '1 failed',
      output: `sha256:${'0'.repeat(64)}`,
    },
  }),
];
const facts = reportFacts(archivedRun('abcd'.repeat(8), ENTRIES));
const texts = {
  diff: {
    text: `--- a/a.js\n+++ b/a.js\n@@ -1 +1 @@\n-x\n+\`\`\`\` ${EVIL}\n`,
    reason: null,
  },
  instructions: { text: 'Say it <loudly>.\n', reason: null },
  mustAsk: [`protected path a.js: ${EVIL}`],
  tests: [
    {
      at: at(11),
      on: 'change' as const,
      outcome: 'fail_soft',
      seconds: 1.5,
      summary: '1 failed',
      output: null,
      failed: [`not ok 1 - ${EVIL}`],
      text: `not ok ${EVIL}`,
      leftOut: 3,
    },
  ],
  phases: [],
};
const made = reportDocument(facts, texts);

describe('a report', () => {
  test('names a diff and instructions that cannot be read as not known, and does not deny the proposal', () => {
    const lost = { text: null, reason: 'The blob sha256:00 is lost. Restore it from a backup.' };
    const { sections } = reportDocument(facts, { ...texts, diff: lost, instructions: lost });
    const blocks = sections
      .filter(({ title }) => title === 'Change' || title === 'Instructions')
      .map((section) => section.blocks.at(-1));
    const block = { kind: 'text', text: `Not known: ${lost.reason}` };
    expect(blocks).toEqual([block, block]);
  });

  test('begins with outcome, commit, tests, audit, notes and cost', () => {
    const finding = { guard: 'audit', severity: 'note', path: 'a.js', message: 'unused' } as const;
    const ended = {
      ...facts,
      outcome: 'committed',
      commit: 'c0ffee',
      verification: 'pass_with_warnings',
      audit: { verdict: 'pass_with_warnings', findings: [finding], partly: [] },
      notes: ['warning of the tests: x is deprecated'],
    } as const;
    const [summary] = reportDocument(ended, texts).sections;
    const [table] = summary?.blocks ?? [];
    const rows = table?.kind === 'table' ? table.rows : [];
    expect(rows.slice(0, 7)).toEqual([
      ['state', 'committed'],
      ['commit', 'c0ffee'],
      ['tests', 'pass_with_warnings'],
      ['audit', 'pass_with_warnings'],
      ['audit finding', 'a.js: unused'],
      ['note', 'warning of the tests: x is deprecated'],
      ['money', '$0.4500'],
    ]);
  });

  test('tells who decided what, when and why, refused answers, tests, and what each file cost', () => {
    expect(facts.decisions).toEqual([
      {
        id: '1-abc',
        reason: 'approval',
        openedAt: at(4),
        answers: [
          { answer: 'revise', files: ['a.js'], by: 'ann (cli)', at: at(10), note: `why ${EVIL}` },
        ],
      },
    ]);
    expect(facts.refusals).toEqual([
      { at: at(2), file: 'a.js', outcome: 'refused', message: EVIL },
    ]);
    expect(facts.verifications).toMatchObject([{ outcome: 'fail_soft', summary: '1 failed' }]);
    expect(facts.byFile.map(({ file, usage: of }) => [file, of.calls, of.output_tokens])).toEqual([
      ['a.js', 2, 400],
      ['(pickFiles)', 1, 50],
    ]);
  });

  test('as HTML holds nothing of others as markup and loads nothing', () => {
    const html = renderHtml(made);
    expect(html).not.toContain('<script');
    expect(html).toContain('&lt;script&gt;alert(1)&lt;/script&gt;');
    expect(html).toContain("default-src 'none'");
    expect(html.match(/(?:src|href)=|url\(|@import/g)).toBeNull();
    expect(html.match(/<figure>/g)).toHaveLength(3);
    expect(html).toContain('<rect ');
    expect(html).toContain('class="n">+');
    expect(html).toContain('tests of the change: fail_soft in 1.5 s: 1 failed');
    expect(html).toContain('<span>not ok &lt;script&gt;');
    expect(html).toContain('3 lines of the output omitted; --whole shows all of it.');
    expect(html).toContain('<p>check: protected path a.js: ');
  });

  test('as Markdown holds words of others in cells and fences that they cannot leave', () => {
    const markdown = renderMarkdown(made);
    expect(markdown).toContain('`````diff\n');
    const outside = markdown.replace(/^(`{3,})[^]*?^\1$/gm, '');
    expect(outside).toContain('script');
    expect(outside).not.toMatch(/(?<!\\)</);
    const row = markdown.split('\n').find((line) => line.startsWith('| a\\|')) ?? '';
    expect(row.replaceAll('\\|', '').split('|')).toHaveLength(7);
  });
});

describe('a report of a plan', () => {
  const child = (phase: number, run: number): string => `${'abcd'.repeat(8)}-p${phase}-${run}`;
  const editing = (seq: number, phase: number, run: number): ArchiveEntry =>
    event(seq, seq, { type: 'phase_editing', phase, run, child: child(phase, run) });
  const events = archivedRun('abcd'.repeat(8), [
    editing(1, 2, 1),
    editing(2, 1, 1),
    editing(3, 2, 2),
    editing(4, 3, 1),
  ]).events;
  const asked: string[] = [];
  const phases = () =>
    phaseCosts(events, async (run) => {
      asked.push(run);
      return run === child(3, 1) ? null : usage(run.endsWith('-p2-2') ? 300 : 100);
    });

  test('sums the runs of each phase; what cannot be read is left out; a job has none', async () => {
    expect(
      (await phases()).map(({ phase, runs, usage: of }) => [
        phase,
        runs,
        of.calls,
        of.output_tokens,
      ]),
    ).toEqual([
      [1, 1, 1, 100],
      [2, 2, 2, 400],
    ]);
    expect(asked).toEqual([child(2, 1), child(1, 1), child(2, 2), child(3, 1)]);
    expect(await phaseCosts(facts.events, async () => usage(1))).toEqual([]);
  });

  test('says what a call was for that is of no file alone', () => {
    const byFile = ['*', '(writeBrief)', '(auditChange)', 'src/a.js'].map((file) => ({
      file,
      usage: usage(1),
    }));
    const markdown = renderMarkdown(reportDocument({ ...facts, byFile }, { ...texts, phases: [] }));
    for (const label of [
      'all files',
      'the model call that agrees on names and parts',
      'the model call that audits the change',
      'src/a.js',
    ])
      expect(markdown).toContain(`| ${label} | 1 |`);
  });

  test('draws tokens, money and time by phase beside those by file', async () => {
    const plan = reportDocument(facts, { ...texts, phases: await phases() });
    expect(
      plan.sections
        .filter(({ title }) => title.startsWith('What it cost'))
        .map(({ title }) => title),
    ).toEqual(['What it cost, by file', 'What it cost, by phase']);
    const html = renderHtml(plan);
    expect(html.match(/<figure>/g)).toHaveLength(6);
    for (const bar of ['Phase 2: 400', 'Phase 2: $0.4000', 'Phase 2: 4.0 s', 'Phase 1: 100'])
      expect(html).toContain(`<title>${bar}</title>`);
    expect(renderMarkdown(plan)).toContain('| Phase 2 | 2 | 2 | 400 | $0.4000 | 4.0 s |');
    expect(made.sections.map(({ title }) => title)).not.toContain('What it cost, by phase');
  });
});

describe('statistics', () => {
  test('count and sum over runs; the median of how long people took', () => {
    const stats = runStats([facts, facts]);
    expect(stats).toMatchObject({
      runs: 2,
      counts: {
        decisions: { approval: 2 },
        answers: { revise: 2 },
        refusals: { refused: 2 },
        tests: { fail_soft: 2 },
      },
      medianAnswer_s: 6,
      usage: { calls: 6 },
    });
    // A plan's run tells what its phases paid; here it counts with what it paid itself: the pick's call and the two edits'.
    const started = {
      type: 'plan_started',
      seq: 1,
      at: 0,
    } as unknown as (typeof facts.events)[number];
    const plan = { ...facts, events: [started], usage: { ...facts.usage, calls: 100 } };
    expect(runStats([facts, plan]).usage.calls).toBe(6);
    expect(runStats([])).toMatchObject({ runs: 0, medianAnswer_s: null });
  });
});
