/** A report as Markdown. Words of others are code spans or fences, in which nothing is markup. Pure. */
import { plain } from '../render/text.js';
import type { Block, ReportDocument } from './document.js';

/** A cell: one line, no column breaks, nothing that Markdown or HTML reads. */
const cell = (text: string): string =>
  plain(text)
    .replace(/\s+/g, ' ')
    .replace(/[\\`*_{}[\]()<>#+!|~&]/g, (character) => `\\${character}`)
    .trim();

export const renderMarkdown = ({ title, sections }: ReportDocument): string =>
  [
    `# ${cell(title)}`,
    ...sections.flatMap((section) => [`## ${cell(section.title)}`, ...section.blocks.flatMap(blockText)]),
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
        rows.map((row, index) => `| ${row.map((each) => (index === 1 ? each : cell(each))).join(' | ')} |`).join('\n'),
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
