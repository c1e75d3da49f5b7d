/** `emend report`: from the archive of this machine, so that it works for runs that no server knows any more. */
import { writeFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { phaseCosts } from '../../client/archive/phase-costs.js';
import { recordedUsage } from '../../client/archive/recorded-usage.js';
import { reportFacts } from '../../client/archive/report.js';
import { reading } from '../../client/open.js';
import { refreshRun, resolveRun } from '../../client/runs/resolve.js';
import { instructionsOf, keptText, type KeptText } from '../../client/runs/proposal.js';
import { diffText, runProposal, testRuns } from '../../client/runs/show.js';
import type { Emend } from '../../client/types.js';
import { fail } from '../../shared/problems.js';
import { redact } from '../../system/environment.js';
import { type Io, type JsonFlag, asides, type QuietFlag } from '../io.js';
import { jsonText } from '../json.js';
import { plain } from '../render/text.js';
import { reportDocument, type Block, type ReportDocument, html, bars } from '../report/document.js';
import { withEmend } from '../session.js';

export interface ReportFlags extends JsonFlag, QuietFlag {
  readonly html?: true;
  readonly markdown?: true;
  readonly out?: string;
  readonly whole?: true;
}

export const report = (io: Io, run: string, { out, ...flags }: ReportFlags): Promise<void> =>
  withEmend(io, async (emend) => {
    const { facts, omitted, ...found } = await reading(emend, (told) => toldOf(told, run, flags));
    if (omitted !== null) io.err(omitted);
    const phases = await phaseCosts(facts.events, (child) => recordedUsage(emend.calls, child));
    const texts = { ...found, phases };
    const render = flags.html === true ? renderHtml : renderMarkdown;
    const asJson = flags.json === true ? `${jsonText('report', { ...facts, ...texts })}\n` : null;
    const written = redact(asJson ?? render(reportDocument(facts, texts)), io.env);
    if (out === undefined) io.write(written);
    else {
      await writeFile(resolve(io.cwd, out), written).catch((error: unknown) =>
        fail(
          'disk',
          `Cannot write ${out}: ${String(error).split(/: |, /)[2]}.`,
          'Name another file with --out.',
        ),
      );
      asides(io, flags).err(`wrote ${plain(out)}`);
    }
  });

const toldOf = async (emend: Emend, text: string, { whole }: Pick<ReportFlags, 'whole'>) => {
  const run = await refreshRun(emend, await resolveRun(emend, text));
  const facts = reportFacts(run.archived);
  const proposal = await runProposal(emend, run);
  const diff: KeptText =
    proposal === null
      ? { text: null, reason: null }
      : await keptText(() => diffText(emend, proposal));
  const tests = await testRuns(emend, run, { whole });
  const instructions = await instructionsOf(emend, run);
  return {
    facts,
    omitted: run.archived.omitted,
    diff,
    mustAsk: proposal?.mustAsk ?? [],
    instructions,
    tests,
  };
};

// A report as one HTML file: no script, nothing loaded from elsewhere (its own policy forbids it), all content escaped. Pure.

const STYLE = `:root{color-scheme:light dark;--ink:#1b1f24;--paper:#fff;--line:#d0d7de;--soft:#f6f8fa;--new:#116329;--newbg:#e6ffec;--old:#82071e;--oldbg:#ffebe9;--bar:#0969da}
@media (prefers-color-scheme:dark){:root{--ink:#e6edf3;--paper:#0d1117;--line:#30363d;--soft:#161b22;--new:#7ee787;--newbg:#12261e;--old:#ffa198;--oldbg:#25171c;--bar:#4493f8}}
body{font:15px/1.5 system-ui,sans-serif;color:var(--ink);background:var(--paper);max-width:70rem;margin:2rem auto;padding:0 1rem}
table{border-collapse:collapse;display:block;overflow-x:auto}td,th{border:1px solid var(--line);padding:.25rem .5rem;text-align:left;vertical-align:top}
pre{background:var(--soft);border:1px solid var(--line);padding:.5rem;overflow-x:auto;font:13px/1.4 ui-monospace,monospace}
pre span{display:block;min-height:1.4em}.n{color:var(--new);background:var(--newbg)}.o{color:var(--old);background:var(--oldbg)}.h{font-weight:bold}
figure{margin:1rem 0}svg{max-width:100%;font:12px system-ui,sans-serif;fill:var(--ink)}svg rect{fill:var(--bar)}`;

export const renderHtml = ({ title, sections }: ReportDocument): string =>
  [
    '<!doctype html>',
    '<html lang="en"><head><meta charset="utf-8">',
    `<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">`,
    '<meta name="viewport" content="width=device-width,initial-scale=1">',
    `<title>${html(title)}</title><style>${STYLE}</style></head><body><main>`,
    `<h1>${html(title)}</h1>`,
    ...sections.map(
      (section) =>
        `<section><h2>${html(section.title)}</h2>${section.blocks.map(blockHtml).join('\n')}</section>`,
    ),
    '</main></body></html>',
    '',
  ].join('\n');

const blockHtml = (block: Block): string => {
  switch (block.kind) {
    case 'text':
      return `<p>${html(block.text)}</p>`;
    case 'plot':
      return bars(block.title, block.bars);
    case 'code':
      return `<pre tabindex="0">${block.text.replace(/\n$/, '').split('\n').map(lineHtml(block.language)).join('')}</pre>`;
    case 'table': {
      const head = block.head.every((cell) => cell === '')
        ? ''
        : `<tr>${block.head.map((cell) => `<th scope="col">${html(cell)}</th>`).join('')}</tr>`;
      return `<table>${head}${block.rows.map((row) => `<tr>${row.map((cell) => `<td>${html(cell)}</td>`).join('')}</tr>`).join('\n')}</table>`;
    }
  }
};

const lineHtml =
  (language: 'diff' | 'text') =>
  (line: string): string => {
    const kind = language === 'diff' ? classOf(line) : '';
    return `<span${kind === '' ? '' : ` class="${kind}"`}>${html(line)}</span>`;
  };

const classOf = (line: string): string => {
  if (/^(?:diff |\+\+\+ |--- |@@ )/.test(line)) return 'h';
  if (line.startsWith('+')) return 'n';
  return line.startsWith('-') ? 'o' : '';
};

// A report as Markdown. Words of others are code spans or fences, in which nothing is markup. Pure.

/** A cell: one line, no column breaks, nothing that Markdown or HTML reads. */
const cell = (text: string): string =>
  plain(text)
    .replace(/\s+/g, ' ')
    .replace(/[\\`*_{}[\]()<>#+!|~&]/g, (character) => `\\${character}`)
    .trim();

export const renderMarkdown = ({ title, sections }: ReportDocument): string =>
  [
    `# ${cell(title)}`,
    ...sections.flatMap((section) => [
      `## ${cell(section.title)}`,
      ...section.blocks.flatMap(blockText),
    ]),
  ].join('\n\n') + '\n';

const blockText = (block: Block): readonly string[] => {
  switch (block.kind) {
    case 'text':
      return [cell(block.text)];
    case 'plot':
      // The numbers stand in the table before it.
      return [];
    case 'code':
      return [fenced(plain(block.text.replace(/\n$/, '')), block.language)];
    case 'table': {
      const rows = [block.head, block.head.map(() => '---'), ...block.rows];
      return [
        rows
          .map(
            (row, index) =>
              `| ${row.map((each) => (index === 1 ? each : cell(each))).join(' | ')} |`,
          )
          .join('\n'),
      ];
    }
  }
};

/** A fence longer than any in the text. */
const fenced = (text: string, language: string): string => {
  const longest = Math.max(2, ...(text.match(/`+/g) ?? []).map((run) => run.length));
  const fence = '`'.repeat(longest + 1);
  return `${fence}${language === 'text' ? '' : language}\n${text}\n${fence}`;
};
