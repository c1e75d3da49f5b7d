/** Rules, hints and reference files, as every prompt of a step shows them. */
import { fenced, section } from './blocks.js';
import { estimateTokens } from './tokens.js';

export interface Reference {
  readonly path: string;
  readonly content: string;
}

/** Whole files, in order, as many as fit; `omitted` names the others. */
export function showReferences(
  files: readonly Reference[],
  budget_tokens: number,
): { readonly text: string; readonly omitted: readonly string[] } {
  const omitted: string[] = [];
  const texts: string[] = [];
  let left_tokens = budget_tokens;
  for (const { path, content } of files) {
    const tokens = estimateTokens(content);
    if (tokens > left_tokens) {
      omitted.push(path);
      continue;
    }
    left_tokens -= tokens;
    texts.push(`## ${path}\n${fenced(content)}\n`);
  }
  return { text: texts.join('\n'), omitted };
}

/** CLAUDE.md, AGENTS.md and what `rules:` names, always whole; and the hints. */
export const rulesText = (rules: readonly Reference[], hints: readonly string[]): string =>
  section('Project rules', showReferences(rules, Infinity).text) +
  section('Hints', hints.map((hint) => `- ${hint}`).join('\n'));
