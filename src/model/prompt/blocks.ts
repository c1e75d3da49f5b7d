/** The parts of a request: text blocks, cache marks, fences that no content can close. */
import { Buffer } from 'node:buffer';
import type { ModelRequest, TextBlock } from '../types.js';
import { estimateTokens } from './tokens.js';
import { MODEL_BOUNDS } from '../../shared/bounds.js';

/** A block of the prompt; `cached`: what stands up to its end is the same for later calls of the step. */
export interface Part {
  readonly text: string;
  readonly cached?: boolean;
}

/** Weighs what a nonce weighs; never sent. */
export const SAMPLE_NONCE = '0123456789abcdef0123';

interface RequestParts {
  readonly model: string;
  readonly outputBudget_tokens: number;
  readonly system: string;
  /** In order; empty ones are left out. */
  readonly parts: readonly Part[];
}

/** A request but its last block, as plain data: it can be made in another thread. */
export interface OpenRequest {
  readonly model: string;
  readonly outputBudget_tokens: number;
  readonly system: string;
  readonly blocks: readonly TextBlock[];
  readonly estimated_tokens: number;
}

/** A request without its nonce: `request(nonce)` appends the last block, which alone holds the nonce. */
export interface BuiltRequest {
  readonly request: (nonce: string) => ModelRequest;
  /** All text of the request but the last block: a nonce must be nowhere in it. */
  readonly haystack: string;
  readonly estimatedInput_tokens: number;
}

export function openRequest({ parts, ...rest }: RequestParts): OpenRequest {
  const told = parts.filter((part) => part.text.trim() !== '');
  let marks = 1;
  const blocks = told.map((part): TextBlock => {
    const marked = part.cached === true && marks < MODEL_BOUNDS.cacheMarks;
    if (marked) marks += 1;
    return { type: 'text', text: part.text, ...(marked ? { cache_control: { type: 'ephemeral' as const } } : {}) };
  });
  const estimated_tokens = estimateTokens(haystackOf(rest.system, blocks));
  return { ...rest, blocks, estimated_tokens };
}

const haystackOf = (system: string, blocks: readonly TextBlock[]): string =>
  [system, ...blocks.map((block) => block.text)].join('\n');

/** With its last block, by the nonce. */
export function closeRequest(
  { model, outputBudget_tokens, system, blocks, estimated_tokens }: OpenRequest,
  tail: (nonce: string) => string,
): BuiltRequest {
  const request = (nonce: string): ModelRequest => ({
    model,
    max_tokens: outputBudget_tokens,
    system: [{ type: 'text', text: system, cache_control: { type: 'ephemeral' } }],
    messages: [{ role: 'user', content: [...blocks, { type: 'text', text: tail(nonce) }] }],
  });
  const estimatedInput_tokens = estimated_tokens + estimateTokens(tail(SAMPLE_NONCE));
  return { request, haystack: haystackOf(system, blocks), estimatedInput_tokens };
}

export const requestWith = (parts: RequestParts, tail: (nonce: string) => string): BuiltRequest =>
  closeRequest(openRequest(parts), tail);

/** Content between fences longer than any run of backticks in it, so that it cannot end early. */
export function fenced(content: string): string {
  const longest = (content.match(/`{3,}/g) ?? []).reduce((length, run) => Math.max(length, run.length), 2);
  const fence = '`'.repeat(longest + 1);
  return `${fence}\n${content === '' || content.endsWith('\n') ? content : `${content}\n`}${fence}`;
}

/** At most `max_bytes` of a text: its head and its end, with a line between them that says what is left out. */
export function bounded(text: string, max_bytes: number): string {
  const bytes = Buffer.from(text, 'utf8');
  if (bytes.length <= max_bytes) return text;
  const half = Math.floor(max_bytes / 2);
  const decoded = (part: Buffer): string => new TextDecoder('utf-8').decode(part).replace(/^\uFFFD+|\uFFFD+$/g, '');
  const left = bytes.length - 2 * half;
  return `${decoded(bytes.subarray(0, half))}\n[… ${left} bytes left out here …]\n${decoded(bytes.subarray(bytes.length - half))}`;
}

export const section = (title: string, body: string): string => (body.trim() === '' ? '' : `# ${title}\n\n${body}\n`);
