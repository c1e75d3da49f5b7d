/** Reading and checking a rehearsal script (YAML or JSON): every mistake is told with its line and what was expected. */
import { dirname, resolve } from 'node:path';
import { LineCounter, parseDocument, type Document } from 'yaml';
import { fail } from '../../shared/problems.js';
import { scriptSchema, type Fault, type RehearsalScript, type Rule } from './schema.js';
import { readGiven } from '../../workspace/given-file.js';

/** A rule as the server uses it: the answer's text at hand, faults as a list. */
export interface ReadyRule {
  readonly name: string;
  readonly match: Rule['match'];
  readonly answer: string;
  readonly stopReason: string;
  readonly usage: NonNullable<Rule['usage']>;
  readonly faults: readonly Fault[];
  readonly chunk_bytes: number;
}
export interface ReadyScript {
  readonly models: readonly string[];
  readonly enforceMaxTokens: boolean;
  /** Infinity: nothing is cut. */
  readonly context_tokens: number;
  readonly rules: readonly ReadyRule[];
  readonly fallback: ReadyRule | null;
}

const someBytes = 48;

/** Throws ProblemError `usage`: not there, no YAML, or not as the format says. */
export const readScript = async (path: string): Promise<ReadyScript> => {
  const text = await readGiven(path)
    .then(String)
    .catch((error: unknown) =>
      fail(
        'usage',
        `The rehearsal script ${path} cannot be read: ${error instanceof Error ? error.message : String(error)}.`,
      ),
    );
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, uniqueKeys: true });
  const broken = document.errors[0];
  if (broken !== undefined)
    return fail('usage', `${path}:${lines.linePos(broken.pos[0]).line}: ${broken.message.split('\n')[0] ?? 'no YAML'}`);
  const lineOf = (where: readonly PropertyKey[]): number => lineAt(document, lines, where);
  return makeReady(document.toJS() as unknown, path, lineOf);
};

/** Checks a script given as a value; `answer_file`s are relative to the working directory. */
export const checkScript = (script: RehearsalScript): Promise<ReadyScript> => makeReady(script, 'script', () => 0);

const makeReady = async (
  value: unknown,
  path: string,
  lineOf: (where: readonly PropertyKey[]) => number,
): Promise<ReadyScript> => {
  const checked = scriptSchema.safeParse(value);
  if (!checked.success) {
    const said = checked.error.issues.slice(0, 10).map((issue) => {
      const line = lineOf(issue.path);
      return `${path}${line > 0 ? `:${line}` : ''}: ${issue.path.map(String).join('.') || 'script'}: ${issue.message}`;
    });
    return fail('usage', said.join('\n'), 'docs/rehearsal.md says what a script holds.');
  }
  const script = checked.data;
  const ready = async (rule: Omit<Rule, 'name' | 'match'>, name: string, match: Rule['match']): Promise<ReadyRule> => {
    const faults = rule.fault === undefined ? [] : [rule.fault].flat();
    return {
      name,
      match,
      answer: await answerOf(rule, faults, path, name),
      stopReason: rule.stop_reason ?? 'end_turn',
      usage: rule.usage ?? {},
      faults,
      chunk_bytes: rule.chunk_bytes ?? someBytes,
    };
  };
  return {
    models: script.models ?? ['rehearsal'],
    enforceMaxTokens: script.enforce_max_tokens ?? false,
    context_tokens: script.context_tokens ?? Infinity,
    rules: await Promise.all(script.rules.map((rule) => ready(rule, rule.name, rule.match))),
    fallback: script.default === undefined ? null : await ready(script.default, 'default', {}),
  };
};

const NEEDS_NO_ANSWER: ReadonlySet<Fault['kind']> = new Set([
  'refusal',
  'overload',
  'rate_limit',
  'server_error',
  'status',
  'drop',
  'silence',
]);

const answerOf = async (
  { answer, answer_file }: Pick<Rule, 'answer' | 'answer_file'>,
  faults: readonly Fault[],
  path: string,
  name: string,
): Promise<string> => {
  if (answer !== undefined && answer_file !== undefined)
    return fail('usage', `${path}: rule "${name}" has both answer and answer_file; expected one.`);
  if (answer !== undefined) return answer;
  if (answer_file === undefined)
    return faults.some((fault) => NEEDS_NO_ANSWER.has(fault.kind))
      ? ''
      : fail('usage', `${path}: rule "${name}" has neither answer nor answer_file.`);
  const file = resolve(dirname(path), answer_file);
  return readGiven(file)
    .then(String)
    .catch(() => fail('usage', `${path}: rule "${name}": answer_file ${file} cannot be read.`));
};

/** The line of the place, or of the nearest thing around it that is there; 0 where nothing is. */
const lineAt = (document: Document, lines: LineCounter, where: readonly PropertyKey[]): number => {
  for (let depth = where.length; depth >= 0; depth--) {
    const node: unknown = depth === 0 ? document.contents : document.getIn(where.slice(0, depth), true);
    if (typeof node === 'object' && node !== null && 'range' in node && Array.isArray(node.range))
      return lines.linePos(Number(node.range[0])).line;
  }
  return 0;
};
