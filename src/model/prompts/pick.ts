/** The request that lets a model pick the files to edit from those that a task's words lead to, and the reading of its (hostile) answer. */
import { z } from 'zod';
import type { Candidate, Create, PickedFile } from '../../shared/pick.js';
import type { CheckedPath } from '../../edits/index.js';
import { count, cut, quoted } from '../../shared/text.js';
import { estimateTokens } from '../tokens.js';
import { oneLine } from './audit.js';
import { wherePlaced, type BuiltRequest } from './blocks.js';
import { rulesText } from './files.js';
import { buildJsonRequest, type JsonPrompt } from './plan.js';
import type { PromptInput } from './edit.js';

const PICK_LIST_TOKENS = 4000; // bound: Files that a model picks from, with reasons and names.
const PICKED_REASONS_CHARS = 240; // bound: Reasons of one of them,
const PICKED_NAMES_CHARS = 160; // bound: and names that it defines.
const LOOK_FOR_WORDS = 20; // bound: Words that a model asks to look for,
const LOOK_FOR_CHARS = 64; // bound: each so long.

const SYSTEM = `You are given a task for a software project, and the files that the task's words lead to, best first: each with the reasons and, indented, names that it defines. Say which files have to be changed to carry the task out.
- Answer with {"files": [{"path", "why"}]}, the most important first. "path" is spelled exactly as in the list, "why" is a few words. For example {"files": [{"path": "example-only/menu.txt", "why": "holds the menu"}]}.
- Name only files of the list, and as few as the task needs. Files that only need reading do not count. If none has to change, answer {"files": []}.`;
const MAY_LOOK = `
- If the files to change are not in the list, answer {"look_for": ["word", "other_name"]} instead: the project is searched for these words once more.`;

const mayName = (create: Create): string => `
- Files that the task needs and that do not exist yet stand in "new_files" beside "files": {"files": [], "new_files": [{"path": "example-only/desserts.txt", "why": "the task asks for it"}]}, each with its path from the top of the project.${wherePlaced(create)}`;

/** `why`: as the model says it, on one line. */
export const newFile = (path: string, why: string): PickedFile => ({ path, why: `new file: ${why}`, isNew: true });

/** Rows while they fit; what is left out is counted. */
export function candidateList(candidates: readonly Candidate[], files: number) {
  let left_tokens = PICK_LIST_TOKENS;
  const rows: string[] = [];
  for (const { path, reasons, symbols } of candidates) {
    const names = symbols.length === 0 ? '' : `\n  ${cut(symbols.join(', '), PICKED_NAMES_CHARS)}`;
    const row = `${path}: ${cut(reasons.join('; '), PICKED_REASONS_CHARS)}${names}`;
    left_tokens -= estimateTokens(`${row}\n`);
    if (left_tokens < 0) break;
    rows.push(row);
  }
  const left = files - rows.length;
  const text = rows.join('\n') + (left > 0 ? `\n(${count(left, 'more file')} of the project left out)` : '');
  return { text, listed: candidates.slice(0, rows.length).map(({ path }) => path) };
}

export interface PickPrompt extends Omit<JsonPrompt, 'system' | 'parts'>, Omit<PromptInput, 'inputBudget_tokens'> {
  readonly list: string;
  /** Words that were looked for beside the task's; null: the model may ask once. */
  readonly lookedFor: readonly string[] | null;
  readonly create: Create;
}

export const buildPickRequest = ({ instructions, rules, hints, list, lookedFor, ...input }: PickPrompt): BuiltRequest =>
  buildJsonRequest({
    ...input,
    system: SYSTEM + (input.create === false ? '' : mayName(input.create)) + (lookedFor === null ? MAY_LOOK : ''),
    parts: [
      ['Files of the project', list],
      ['What was looked for beside the words of the task', (lookedFor ?? []).join('\n')],
      ['The task', rulesText(rules, hints) + instructions.trim()],
    ],
  });

export type Picked = { readonly files: readonly PickedFile[] } | { readonly words: readonly string[] };

/** Files of the list, each once, in the answer's order, then new ones that `check` takes. Others alone cannot be used; none: nothing is to change. */
export const pickSchema = (listed: readonly string[], check: (path: string) => CheckedPath): z.ZodType<Picked> => {
  const file = z.object({
    path: z.string().transform((path) => path.replace(/^\.\//, '')),
    why: z.string().catch('').transform(oneLine),
  });
  const picks = z.object({ files: z.array(file), new_files: z.array(file).default([]) });
  const picked = picks.transform(({ files, new_files: fresh }, context) => {
    const named = [...files, ...fresh];
    const known = new Map<string, PickedFile>();
    for (const each of named) if (listed.includes(each.path)) known.set(each.path, each);
    for (const { path, why } of fresh) {
      const checked = check(path);
      if (checked.ok && !known.has(checked.path)) known.set(checked.path, newFile(checked.path, why));
    }
    const shown = named.slice(0, 5).map(({ path }) => quoted(path, 80));
    if (known.size === 0 && named.length > 0) context.addIssue(`files of the list, received ${shown.join(', ')}`);
    return { files: [...known.values()] };
  });
  const words = z.array(z.string().transform((word) => cut(oneLine(word), LOOK_FOR_CHARS))).min(1);
  const wish = z
    .object({ look_for: words, files: z.array(z.never()).optional() })
    .transform(({ look_for: asked }) => ({ words: asked.slice(0, LOOK_FOR_WORDS) }));
  return z.union([wish, picked]);
};
