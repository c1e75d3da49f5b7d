/** The parts of a request: text blocks, cache marks, fences that no content can close. */
import { Buffer } from 'node:buffer';
import type { ModelRequest, TextBlock } from '../ports.js';
import type { Create } from '../../shared/pick.js';
import { isRecord } from '../../shared/text.js';
import type { StopReason } from '../../edits/index.js';
import { withoutThinking } from '../../edits/internal.js';

const CACHE_MARKS = 4; // bound: The Messages API takes at most four marks.

/** A block of the prompt; `cached`: what stands up to its end is the same for later calls of the step. */
export interface Part {
  readonly text: string;
  readonly cached?: boolean;
}

/** Weighs what a nonce weighs; never sent. */
export const SAMPLE_NONCE = '01234567';

interface RequestParts {
  readonly model: string;
  readonly outputBudget_tokens: number;
  readonly system: string;
  /** In order; empty ones are left out. */
  readonly parts: readonly Part[];
}

/** A request but its last block, as plain data: it can be made in another thread. */
export interface OpenRequest extends Omit<RequestParts, 'parts'> {
  readonly blocks: readonly TextBlock[];
}

/** A request without its nonce: `request(nonce)` appends the last block, which alone holds the nonce. */
export interface BuiltRequest {
  readonly request: (nonce: string) => ModelRequest;
  /** All text of the request but the last block: a nonce must be nowhere in it. */
  readonly haystack: string;
}

export function openRequest({ parts, ...rest }: RequestParts): OpenRequest {
  const told = parts.filter((part) => part.text.trim() !== '');
  let marks = 1;
  const blocks = told.map((part): TextBlock => {
    const marked = part.cached === true && marks < CACHE_MARKS;
    if (marked) marks += 1;
    return {
      type: 'text',
      text: part.text,
      ...(marked ? { cache_control: { type: 'ephemeral' as const } } : {}),
    };
  });
  return { ...rest, blocks };
}

/** With its last block, by the nonce. */
export function closeRequest(
  { model, outputBudget_tokens, system, blocks }: OpenRequest,
  tail: (nonce: string) => string,
): BuiltRequest {
  const request = (nonce: string): ModelRequest => ({
    model,
    max_tokens: outputBudget_tokens,
    system: [{ type: 'text', text: system, cache_control: { type: 'ephemeral' } }],
    messages: [{ role: 'user', content: [...blocks, { type: 'text', text: tail(nonce) }] }],
  });
  return { request, haystack: [system, ...blocks.map((block) => block.text)].join('\n') };
}

/** Content between fences longer than any run of backticks in it, so that it cannot end early. */
export function fenced(content: string): string {
  const longest = (content.match(/`{3,}/g) ?? []).reduce(
    (length, run) => Math.max(length, run.length),
    2,
  );
  const fence = '`'.repeat(longest + 1);
  return `${fence}\n${content === '' || content.endsWith('\n') ? content : `${content}\n`}${fence}`;
}

/** At most `max_bytes` of a text: its head and its end, with a line between them that says what is left out. */
export function bounded(text: string, max_bytes: number): string {
  const bytes = Buffer.from(text, 'utf8');
  if (bytes.length <= max_bytes) return text;
  const half = Math.floor(max_bytes / 2);
  const decoded = (part: Buffer): string =>
    new TextDecoder('utf-8').decode(part).replace(/^\uFFFD+|\uFFFD{1,3}$/g, '');
  const left = bytes.length - 2 * half;
  return `${decoded(bytes.subarray(0, half))}\n[… ${left} bytes left out here …]\n${decoded(bytes.subarray(bytes.length - half))}`;
}

export const section = (title: string, body: string): string =>
  body.trim() === '' ? '' : `# ${title}\n\n${body}\n`;

// The completeness marker of answers that are no edits (brief, pick): the last line `EMEND-COMPLETE <nonce> 0 0`.

export const markerLine = (nonce: string, files: string, edits: string): string =>
  `EMEND-COMPLETE ${nonce} ${files} ${edits}`;

/** The tail of such a request; its last word of 8 hex digits is the nonce. */
export const plainTail = (nonce: string): string =>
  `End your answer with this line, exactly as it stands here, and nothing after it:\n${markerLine(nonce, '0', '0')}`;

export interface PlainAnswer {
  readonly text: string;
  readonly stopReason: StopReason;
  readonly nonce: string;
  /** Use an answer without its marker? (`requireCompleteSentinel: false`) */
  readonly requireMarker: boolean;
}
export type PlainReading =
  | { readonly outcome: 'complete'; readonly body: string }
  | { readonly outcome: 'truncated' | 'unmarked' | 'declined'; readonly message: string };

/** The JSON object: all of the text, or what stands from the first `{` to the last `}` (a code fence or a sentence round it). */
export function jsonIn(text: string): Record<string, unknown> | null {
  for (const part of [text, text.slice(text.indexOf('{'), text.lastIndexOf('}') + 1)]) {
    try {
      const value: unknown = JSON.parse(part);
      if (isRecord(value)) return value;
    } catch {
      // Not JSON as it stands: the next reading may be.
    }
  }
  return null;
}

const WHOLE: readonly StopReason[] = ['end_turn', 'stop_sequence'];

/** The rows of the table in src/edits/apply-answer.ts for an answer that is plain text: nothing of a cut one is used. */
export function readPlain(answer: PlainAnswer): PlainReading {
  const { stopReason, nonce, requireMarker } = answer;
  if (stopReason === 'refusal')
    return { outcome: 'declined', message: 'the model declined to answer' };
  if (!WHOLE.includes(stopReason))
    return {
      outcome: 'truncated',
      message: `the answer was cut off (stop reason ${stopReason ?? 'none'}, ${answer.text.length} characters)`,
    };
  // Such an answer is prose or JSON, so an object is the only content in which tags are text.
  const { text, fault } = withoutThinking(answer.text, 'string-replace', nonce);
  if (fault !== null)
    return { outcome: fault.open ? 'truncated' : 'unmarked', message: fault.reason.message };
  const lines = text.trimEnd().split('\n');
  const wanted = markerLine(nonce, '0', '0');
  if (lines.at(-1)?.trimEnd() === wanted)
    return { outcome: 'complete', body: lines.slice(0, -1).join('\n').trim() };
  if (!requireMarker) return { outcome: 'complete', body: text.trim() };
  return {
    outcome: 'unmarked',
    message: `expected the last line ${wanted}, received ${JSON.stringify((lines.at(-1) ?? '').slice(0, 80))}`,
  };
}

/** Where new files may be made, in words for a model; '' for anywhere. */
export const wherePlaced = (create: Create): string =>
  create instanceof Array
    ? ` Only paths that match these gitignore-style patterns: ${create.join(', ')}.`
    : '';
