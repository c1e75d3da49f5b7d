/** Writes the partial summary of a plan that runs (`summaries/NNN_partial.md`). It has one line per phase. Other lines of the file stay. */
import type { PartHeading } from './types.js';
import { planNumber } from '../../shared/text.js';

/**
 * Returns two possible paths of a summary. The folder `summaries` is next to the folder `plans` (`specs/plans/010.md` has `specs/summaries/`), or
 * in the plan's own folder if that has another name. The second path is for a plan whose number another plan also has.
 */
export const summaryFiles = (planPath: string): readonly [string, string] => {
  const parts = planPath.split('/');
  const stem = parts.pop() ?? planPath;
  if (parts.at(-1) === 'plans') parts.pop();
  const folder = [...parts, 'summaries'].join('/');
  return [`${folder}/${planNumber(stem) ?? stem}_partial.md`, `${folder}/${stem}_partial.md`];
};

/** Returns the path of the plan to which a summary belongs. */
export const planOfSummary = (text: string): string | undefined =>
  /^\*\*Plan\*\*: `([^`\r\n]+)`/m.exec(text)?.[1];

/** Returns the first 12 digits of the last commit that the line of a phase names. */
export const commitInSummary = (text: string, number: number): string | undefined =>
  new RegExp(`^- Phase ${number} \\(.*\\): .*\\bcommit ([\\da-f]{12})`, 'm').exec(text)?.[1];

interface SummaryLine extends Pick<PartHeading, 'number' | 'name'> {
  /** Result of the phase in words. */
  readonly text: string;
}

/** Returns the summary with a new line for the phase and the current status. `before` is null if there is no summary yet. */
export function withSummary(
  before: string | null,
  plan: { readonly title: string; readonly path: string; readonly status: string },
  line: SummaryLine,
): string {
  const status = `**Status**: ${plan.status}`;
  const entry = `- Phase ${line.number} (${line.name}): ${line.text}`;
  if (before === null)
    return `# Partial summary: ${plan.title}\n\n**Plan**: \`${plan.path}\`\n${status}\n\n## Phases\n\n${entry}\n`;
  const eol = before.includes('\r\n') ? '\r\n' : '\n';
  const lines = before.split(/\r\n|\n/);
  const index = lines.findIndex((text) => text.startsWith(`- Phase ${line.number} (`));
  if (index >= 0) lines[index] = entry;
  else {
    const last = lines.findLastIndex((text) => /^- Phase \d+ \(/.test(text));
    if (last >= 0) lines.splice(last + 1, 0, entry);
    else lines.splice(lines.at(-1) === '' ? lines.length - 1 : lines.length, 0, entry);
  }
  const statusIndex = lines.findIndex((text) => text.startsWith('**Status**: '));
  if (statusIndex >= 0) lines[statusIndex] = status;
  return lines.join(eol);
}
