/** A report as a list of sections, said once for Markdown and HTML. A new section is a function here. Pure. */
import type { PhaseCost } from '../../client/archive/phase-costs.js';
import type { ReportFacts } from '../../client/archive/report.js';
import type { KeptText } from '../../client/runs/proposal.js';
import type { TestRun } from '../../client/runs/show.js';
import { auditLines, type AuditReport } from '../../shared/audit.js';
import { ACTIVITIES } from '../../shared/activities.js';
import { formatText, sizeText, testsText } from '../../shared/event-text.js';
import { shownKey } from '../../shared/ids.js';
import { count, eventText, plain } from '../render/text.js';
import { tokensOf, type StepUsage } from '../../shared/usage.js';

const PLOT_ROWS = 30; // bound: Files in a plot of a report; the rest is summed.

export type Block =
  | {
      readonly kind: 'table';
      readonly head: readonly string[];
      readonly rows: readonly (readonly string[])[];
    }
  | { readonly kind: 'text'; readonly text: string }
  /** `diff`: coloured by its signs. */
  | { readonly kind: 'code'; readonly text: string; readonly language: 'diff' | 'text' }
  | { readonly kind: 'plot'; readonly title: string; readonly bars: readonly Bar[] };
export interface Section {
  readonly title: string;
  readonly blocks: readonly Block[];
}
export interface ReportDocument {
  readonly title: string;
  readonly sections: readonly Section[];
}

/** What is beside a run's own archive. */
export interface ReportMore {
  /** Combined diff of the proposal. */
  readonly diff: KeptText;
  /** Why a person must look at it. */
  readonly mustAsk: readonly string[];
  /** Text of the job. */
  readonly instructions: KeptText;
  readonly tests: readonly TestRun[];
  /** Of a plan; else empty. */
  readonly phases: readonly PhaseCost[];
}

const number = (n: number): string => n.toLocaleString('en-US');
const money = (usd: number | null): string => (usd === null ? 'not known' : `$${usd.toFixed(4)}`);
const seconds = (s: number): string => `${s.toFixed(1)} s`;

export const reportDocument = (facts: ReportFacts, more: ReportMore): ReportDocument => ({
  title: facts.title === '' ? `Run ${shownKey(facts.stepKey)}` : facts.title,
  sections: [
    summary(facts),
    instructionsSection(more),
    files(facts),
    decisions(facts),
    refusals(facts),
    tests(more),
    costs(
      'file',
      facts.byFile.map(({ file, usage }) => ({ label: costOf(file), more: [], usage })),
    ),
    costs(
      'phase',
      more.phases.map(({ phase, runs, usage }) => ({
        label: `Phase ${phase}`,
        more: [String(runs)],
        usage,
      })),
    ),
    changes(more),
    events(facts),
  ].filter((section) => section !== null),
});

/** A section that is a table; `none` stands where it has no rows. */
const tabular = (
  title: string,
  head: readonly string[],
  rows: readonly (readonly string[])[],
  none = '',
): Section => ({
  title,
  blocks: [rows.length === 0 ? { kind: 'text', text: none } : { kind: 'table', head, rows }],
});

const summary = (facts: ReportFacts): Section =>
  tabular(
    'Summary',
    ['', ''],
    [
      ['state', facts.outcome ?? facts.state],
      ...(facts.commit === null ? [] : [['commit', facts.commit]]),
      ...(facts.verification === null ? [] : [['tests', facts.verification]]),
      ...auditRows(facts.audit),
      ...facts.notes.map((note) => ['note', note]),
      ['money', money(facts.usage.usd)],
      ['tokens', number(tokensOf(facts.usage))],
      [
        'model calls',
        `${facts.usage.calls}${facts.usage.unknownCalls === 0 ? '' : `, ${facts.usage.unknownCalls} cut off`}`,
      ],
      ['time of models', seconds(facts.usage.seconds)],
      ['began', facts.startedAt ?? 'not known'],
      ['ended', facts.endedAt ?? 'not yet'],
      ['run', shownKey(facts.stepKey)],
      ['job', facts.jobPath],
      ['workspace', facts.workspace],
    ],
  );

/** The verdict, and a row for each finding. */
const auditRows = (audit: AuditReport | null): readonly (readonly string[])[] =>
  audit === null
    ? []
    : [['audit', audit.verdict], ...auditLines(audit).map((finding) => ['audit finding', finding])];

/** A kept text, or the reason why it cannot be shown. Null: there is no such text. */
const textBlock = ({ text, reason }: KeptText, language: 'diff' | 'text'): Block | null => {
  if (text !== null) return { kind: 'code', text, language };
  return reason === null ? null : { kind: 'text', text: `Not known: ${reason}` };
};

const instructionsSection = ({ instructions }: ReportMore): Section | null => {
  const block = textBlock(instructions, 'text');
  return block === null ? null : { title: 'Instructions', blocks: [block] };
};

const files = ({ ledger }: ReportFacts): Section | null =>
  ledger.length === 0
    ? null
    : tabular(
        'Files',
        ['file', 'status', 'format', 'lines', 'reason'],
        ledger.map((row) => [
          row.path,
          row.status,
          formatText(row),
          sizeText(row),
          row.reason ?? '',
        ]),
      );

const decisions = (facts: ReportFacts): Section => {
  const rows = facts.decisions.flatMap((decision) => {
    const asked = [`${decision.reason} (${decision.id})`, decision.openedAt ?? ''];
    if (decision.answers.length === 0) return [[...asked, 'waits', '', '', '', '']];
    return decision.answers.map(({ answer, files: about, by, at, note }) => {
      const said = [answer, about.join(', '), by, at, note ?? ''];
      return [...asked, ...said];
    });
  });
  return tabular(
    'Decisions',
    ['decision', 'asked', 'answer', 'for', 'who', 'when', 'why'],
    rows,
    'No decisions.',
  );
};

const refusals = (facts: ReportFacts): Section =>
  tabular(
    'Refused answers',
    ['when', 'file', 'what', 'why'],
    facts.refusals.map(({ at, file, outcome, message }) => [at, file, outcome, message]),
    'No model answer was refused, truncated or discarded.',
  );

const tests = ({ tests: runs }: ReportMore): Section | null =>
  runs.length === 0
    ? null
    : {
        title: 'Tests',
        blocks: runs.flatMap(({ at, leftOut, text, ...run }): readonly Block[] => {
          const notes = [
            `${at}: ${testsText(run)}`,
            ...(leftOut === 0
              ? []
              : [`${count(leftOut, 'line')} of the output omitted; --whole shows all of it.`]),
            ...(text === null ? ['Its output is not available.'] : []),
          ];
          const printed: readonly Block[] =
            text === null ? [] : [{ kind: 'code', text, language: 'text' }];
          return [...notes.map((note): Block => ({ kind: 'text', text: note })), ...printed];
        }),
      };

/** Of a call that is of no file alone: what it is for. */
const costOf = (file: string): string =>
  Object.entries(ACTIVITIES).find(([name]) => file === `(${name})`)?.[1].work ??
  (file === '*' ? 'all files' : file);

interface Cost {
  readonly label: string;
  /** Cells of its own, between the label and the calls. */
  readonly more: readonly string[];
  readonly usage: StepUsage;
}
type Of<T> = (of: StepUsage) => T;
const PLOTS: readonly (readonly [title: string, value: Of<number>, text: Of<string>])[] = [
  ['Tokens', tokensOf, (of) => number(tokensOf(of))],
  ['Money', (of) => of.usd ?? 0, (of) => money(of.usd)],
  ['Time', (of) => of.seconds, (of) => seconds(of.seconds)],
];
/** A table and bars of tokens, money and time; null: there is nothing that cost. */
const costs = (by: 'file' | 'phase', all: readonly Cost[]): Section | null => {
  if (all.length === 0) return null;
  return {
    title: `What it cost, by ${by}`,
    blocks: [
      {
        kind: 'table',
        head: [by, ...(by === 'phase' ? ['runs'] : []), 'calls', 'tokens', 'money', 'time'],
        rows: all.map(({ label, more, usage }) => [
          label,
          ...more,
          String(usage.calls),
          number(tokensOf(usage)),
          money(usage.usd),
          seconds(usage.seconds),
        ]),
      },
      ...PLOTS.map(([title, value, text]): Block => {
        const bars = all.map(({ label, usage }) => ({
          label,
          value: value(usage),
          text: text(usage),
        }));
        return { kind: 'plot', title, bars };
      }),
    ],
  };
};

const changes = ({ diff, mustAsk }: ReportMore): Section => ({
  title: 'Change',
  blocks: [
    ...mustAsk.map((reason): Block => ({ kind: 'text', text: `check: ${reason}` })),
    textBlock(diff, 'diff') ?? { kind: 'text', text: 'There is no proposal.' },
  ],
});

const events = (facts: ReportFacts): Section =>
  tabular(
    'Events',
    ['when', 'what'],
    facts.events.map((event) => [new Date(event.at).toISOString(), eventText(event)]),
    'No events.',
  );

// Text of others in HTML: never markup, never a change of direction or an invisible character. Pure.

const ENTITY: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

export const html = (text: string): string =>
  plain(text).replace(/[&<>"']/g, (character) => ENTITY[character] ?? '');

// Bars as inline SVG, with their numbers as text: nothing is loaded, and a reader of screens reads the rows. Pure.

export interface Bar {
  readonly label: string;
  readonly value: number;
  /** As shown: `1,204`, `$0.0031`. */
  readonly text: string;
}

const ROW = 22;
const LEFT = 260;
const WIDTH = 760;
const LABEL_CHARS = 38;

/** Largest first. Empty where there is nothing to draw. */
export const bars = (title: string, rows: readonly Bar[]): string => {
  const sorted = [...rows].sort((a, b) => b.value - a.value).slice(0, PLOT_ROWS);
  const most = Math.max(...sorted.map(({ value }) => value), 0);
  if (most === 0) return '';
  const room = WIDTH - LEFT - 110;
  const drawn = sorted.map(({ label, value, text }, index) => {
    const y = index * ROW;
    const width = Math.max(1, Math.round((value / most) * room));
    const short = label.length <= LABEL_CHARS ? label : `…${label.slice(1 - LABEL_CHARS)}`;
    return [
      `<text x="${LEFT - 8}" y="${y + 15}" text-anchor="end">${html(short)}</text>`,
      `<rect x="${LEFT}" y="${y + 4}" width="${width}" height="14"><title>${html(`${label}: ${text}`)}</title></rect>`,
      `<text x="${LEFT + width + 6}" y="${y + 15}">${html(text)}</text>`,
    ].join('');
  });
  const left = rows.length - sorted.length;
  const more = left > 0 ? `<p>and ${left} more</p>` : '';
  const size = `viewBox="0 0 ${WIDTH} ${sorted.length * ROW}" width="${WIDTH}"`;
  return `<figure><figcaption>${html(title)}</figcaption><svg ${size} role="img" aria-label="${html(title)}">${drawn.join('')}</svg>${more}</figure>`;
};
