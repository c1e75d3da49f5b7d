/** What `npm run bench:tokens` plays: real commits of one code file each, by its size, and the one edit in every form that Emend or aider may be answered in. */
import { execFileSync } from 'node:child_process';
import type { AnswerFormat } from '../../../src/shared/formats.js';
import { SAY } from '../../edits/formats.js';
import { uniqueFinds } from '../../edits/say-finds.js';
import type { TrueChange } from '../../edits/true-change.js';
import { changeOf } from '../history/change.js';
import { tasksOf } from '../pick/exam.js';

/** Lines of the file: each up to its number, over the one before. At 500 and 1,000 Emend changes its format. */
export const SIZES = [100, 500, 1000, 10_000] as const;
const LOOKED_AT = 1500; // Commits of a repository, newest first.
const MESSAGE_CHARS = 4000;

export interface TokenTask {
  readonly id: string;
  readonly repo: string;
  readonly commit: string;
  readonly parent: string;
  readonly path: string;
  readonly message: string;
  readonly size: (typeof SIZES)[number];
  readonly base: string;
  readonly result: string;
  readonly change: TrueChange;
}

const show = (repo: string, commit: string, path: string): Buffer =>
  execFileSync('git', ['-C', repo, 'show', `${commit}:${path}`], { maxBuffer: 2 ** 28 });

/** A message that aider takes for a command, and text in which either side's fences would end early, are no task. */
const isPlain = (message: string, texts: readonly string[]): boolean =>
  /^[^/!]/.test(message) &&
  message.length <= MESSAGE_CHARS &&
  !texts.some((text) => /^`{3}|^[<=>]{5,9}( |$)/m.test(text));

/** Of each size `count`, the newest of each repository in turn. */
export function tokenTasks(repos: readonly string[], count: number): readonly TokenTask[] {
  const found = SIZES.map((): TokenTask[] => []);
  const most = Math.ceil(count / repos.length);
  for (const [at, repo] of repos.entries())
    for (const { commit, parent, message: said, changed } of tasksOf(repo, 'HEAD', LOOKED_AT)) {
      const [path = '', ...others] = changed;
      const message = said.trim();
      if (others.length > 0 || found.flat().some((task) => task.message === message)) continue;
      const file = {
        commit,
        status: 'M',
        oldMode: '100644',
        newMode: '100644',
        oldId: '',
        newId: '',
        path,
      };
      const sides = { base: show(repo, parent, path), result: show(repo, commit, path) };
      const sayable = changeOf(file, sides, undefined);
      const size = SIZES.findIndex(
        (lines) => typeof sayable !== 'string' && sayable.baseText.lines.length <= lines,
      );
      const [base, result] = [String(sides.base), String(sides.result)];
      const own = found[size];
      if (
        typeof sayable === 'string' ||
        own === undefined ||
        own.length >= Math.min(count, most * (at + 1))
      )
        continue;
      const { change, endsMayDiffer } = sayable;
      if (
        endsMayDiffer ||
        change.final === false ||
        change.baseFinal === false ||
        change.edits.length === 0
      )
        continue;
      if (!isPlain(message, [base, result])) continue;
      const id = `task-${size}-${own.length}`;
      own.push({
        id,
        repo,
        commit,
        parent,
        path,
        message,
        size: SIZES[size] ?? (0 as never),
        base,
        result,
        change,
      });
    }
  return found.flat();
}

/** A rule of a rehearsal (docs/rehearsal.md). */
interface Rule {
  readonly name: string;
  readonly match: { readonly contains: readonly string[]; readonly times?: number };
  readonly answer: string;
  readonly fault?: 'missing_nonce';
}

/** What a request says of the form of its answer. */
const FORMS = {
  'whole-file': 'Form of the answer: whole files',
  'unified-diff': 'Form of the answer: one unified diff',
  'structured-edit': 'Form of the answer: one JSON object',
  'search-replace': 'Form of the answer: blocks',
} as const satisfies Partial<Record<AnswerFormat, string>>;
const NONCE = '{{nonce}}';

/** Emend's answers. Of a listing that does not hold all lines of the edit these are asked for. `refusedFirst`: the first answer lacks its marker. */
export function ourRules(
  { id, path, message, change }: TokenTask,
  refusedFirst: boolean,
): readonly Rule[] {
  return Object.entries(FORMS).flatMap(([format, form]) => {
    const said = SAY[format as AnswerFormat](path, change.base, change.edits, {
      nonce: NONCE,
      careful: true,
    });
    // As the prompt asks for it where one file is offered.
    const answer = said
      .replaceAll(`"file_path":${JSON.stringify(path)},`, '')
      .replace(/^--- .*\n\+\+\+ .*\n/, '');
    const quoted = [...answer.matchAll(/"(\d+[a-z]{3})"/g)].map(([, quote = '']) => `\n${quote}| `);
    const name = `${id} ${format}`;
    const asks = [message, form, `## ${path} (`];
    const given = {
      name,
      match: { contains: [...asks, ...(format === 'structured-edit' ? quoted : [])] },
      answer,
    };
    const first = {
      ...given,
      match: { ...given.match, times: 1 },
      fault: 'missing_nonce' as const,
    };
    const ranges = change.edits.map(({ from, to }) => [
      Math.min(from + 1, change.base.length),
      Math.max(Math.min(from + 1, change.base.length), to),
    ]);
    const wanted = { needs_lines: { ranges, symbols: [] }, complete: true, nonce: NONCE };
    const asking = {
      name: `${name} asks`,
      match: { contains: asks },
      answer: JSON.stringify(wanted),
    };
    return [...(refusedFirst ? [first] : []), given, asking];
  });
}

/** aider's, with no word beside the edit, by its own names of its forms. */
export function peerRule(
  { id, path, message, change, result }: TokenTask,
  form: 'whole' | 'diff',
): Rule {
  const blocks = uniqueFinds(change, false).map(({ find, replace }) => {
    const body = (lines: readonly string[]): string => lines.map((line) => `${line}\n`).join('');
    return `${path}\n\`\`\`\n<<<<<<< SEARCH\n${body(find)}=======\n${body(replace)}>>>>>>> REPLACE\n\`\`\`\n`;
  });
  const answer = form === 'whole' ? `${path}\n\`\`\`\n${result}\`\`\`\n` : blocks.join('\n');
  return { name: `${id} ${form}`, match: { contains: [message] }, answer };
}

/** A block of a request of the Messages API. */
export interface Block {
  readonly text: string;
  readonly cache_control?: object;
}
interface Body {
  readonly system?: string | readonly Block[];
  readonly messages: readonly { readonly content: string | readonly Block[] }[];
}
/** In the order in which a server reads them. */
export const blocksOf = ({ system = [], messages }: Body): readonly Block[] =>
  [system, ...messages.map(({ content }) => content)].flatMap((said) =>
    typeof said === 'string' ? [{ text: said }] : said,
  );

/** The text that a call could read from the cache that the one before filled: the same blocks, up to the last that is marked in both. */
export function readableFromCache(before: readonly Block[], call: readonly Block[]): string {
  const differs = call.findIndex(({ text }, at) => before[at]?.text !== text);
  const same = call.slice(0, differs < 0 ? call.length : differs);
  const last = same.findLastIndex(
    ({ cache_control }, at) => cache_control && before[at]?.cache_control,
  );
  return same
    .slice(0, last + 1)
    .map(({ text }) => text)
    .join('\n');
}
