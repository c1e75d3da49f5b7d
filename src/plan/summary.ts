/** The partial summary of a plan that runs: `summaries/NNN_partial.md`, one line a phase. A person's other lines stay. */
import { planNumber } from './names.js';

/** Beside the folder `plans` where the plan lies in one (`specs/plans/010.md` -> `specs/summaries/`), else in the plan's own folder. */
export const summaryFile = (planPath: string): string => {
  const parts = planPath.split('/');
  const stem = parts.pop() ?? planPath;
  if (parts.at(-1) === 'plans') parts.pop();
  return [...parts, 'summaries', `${planNumber(stem) ?? stem}_partial.md`].join('/');
};

export interface SummaryLine {
  readonly number: number;
  readonly name: string;
  /** What became of it, in words. */
  readonly text: string;
}

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
  const at = lines.findIndex((text) => text.startsWith(`- Phase ${line.number} (`));
  if (at >= 0) lines[at] = entry;
  else {
    const last = lines.findLastIndex((text) => /^- Phase \d+ \(/.test(text));
    if (last >= 0) lines.splice(last + 1, 0, entry);
    else lines.splice(lines.at(-1) === '' ? lines.length - 1 : lines.length, 0, entry);
  }
  const said = lines.findIndex((text) => text.startsWith('**Status**: '));
  if (said >= 0) lines[said] = status;
  return lines.join(eol);
}
